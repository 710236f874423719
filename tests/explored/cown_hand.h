// What the scenarios of cowns share: a hand that runs what became ready, and cowns in their order.
//
// There are no workers: each thread has a pool of its own that is never started, and runs what it
// has made ready itself. So nothing is shared but the cowns, and schedules stay short.
#ifndef ROTA_TESTS_EXPLORED_COWN_HAND_H
#define ROTA_TESTS_EXPLORED_COWN_HAND_H

#include <rota/cown/cown.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "cown/dispatch.h"
#include "cown/pressure_board.h"
#include "explored/scenarios.h"
#include "pool/pool.h"

namespace rota::scenarios {

// A pool whose only worker is the thread that calls it.
class hand {
 public:
  hand() : pool_(rota::options{}.with_workers(1), rota::detail::pool_hooks{}) {}

  // Calls f as somebody who belongs here, and runs what became ready.
  template <class F>
  void act(F f) {
    {
      const detail::stand_in here{pool_, nullptr};
      f();
    }
    run_all();
  }

  // Also inside of a behaviour: then what is ready runs before it ends.
  void run_all() {
    while (detail::job* j = take()) run(j);
  }

  // The next that is ready, or null. Another thread may run it.
  detail::job* take() { return pool_.take_left(); }
  void run(detail::job* j) {
    const detail::stand_in here{pool_, j};
    j->frame.resume();
  }

  template <class T>
  void press(const cown_ptr<T>& c) {
    detail::dispatch d{pool_};
    detail::pressure_board::get().press(d, *c.get(), source_);
    d.finish();
    run_all();
  }
  void relieve() {
    detail::pressure_board::get().relieve(source_);
    run_all();
  }

 private:
  detail::pool pool_;
  detail::pressure_source source_;
};

inline void bump(number& n) { n.set(n.get() + 1); }
inline int look(const number& n) { return n.get(); }

// A value that says when it ends.
struct watched {
  number value{0};
  word* ended;
  explicit watched(word& count) : ended(&count) {}
  ~watched() {
    value.set(-1);
    ended->fetch_add(1, std::memory_order_relaxed);
  }
};

// Does f, and sees what its sender did before.
template <class F>
auto carrying(F f) {
  return [f, letter = std::make_unique<number>(1)](auto&... values) {
    explore::check(letter->get() == 1, "a behaviour sees what its sender did");
    f(values...);
  };
}

// N cowns, in the order in which behaviours take them.
template <std::size_t N>
std::array<cown_ptr<number>, N> ordered() {
  std::array<cown_ptr<number>, N> all;
  for (auto& c : all) c = make_cown<number>(0);
  std::sort(all.begin(), all.end());
  return all;
}

template <class T>
bool is_normal(const cown_ptr<T>& c) {
  const rota::cown_counters now = c.counters();
  // Not `pending`, which hides that more have left than came.
  return !now.muted && !now.overloaded && c.get()->load() == 0;
}

}  // namespace rota::scenarios

#endif
