// How cowns change hands: the steps Send, Acquire, Prerun and Complete of specs/backpressure, and
// the readers of specs/access, for one thread that takes them.
//
// A dispatch lives for one send or one completion. Behaviours that are given a cown on the way are
// lined up in it and take their next cowns before it ends, so nothing here calls itself.
//
// The steps below take no lock. Each looks at the cowns that it holds: if one of them has high
// priority, is muted or too long, the step is the board's (cown/pressure_board.h), which does the
// same under its lock.
#ifndef ROTA_COWN_DISPATCH_H
#define ROTA_COWN_DISPATCH_H

#include <rota/base/inspect.h>
#include <rota/base/sync.h>
#include <rota/cown/core.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pool/pool.h"
#include "pool/worker.h"

namespace rota::detail {

class dispatch {
 public:
  explicit dispatch(pool& home) noexcept : dispatch(home, worker_of(home)) {}
  // `w` is the worker of `home` that runs here, or null.
  dispatch(pool& home, worker* w) noexcept : home_(home), worker_(w) {}
  dispatch(const dispatch&) = delete;
  dispatch& operator=(const dispatch&) = delete;

  // Each lets all behaviours that were given something go on before it returns.
  static void send(pool& home, behaviour& b) noexcept;
  void complete(behaviour& b) noexcept;
  void release_early(behaviour& b, slot& s) noexcept;
  void hand_down(behaviour& whole, behaviour* const* members, std::size_t count) noexcept;
  void finish() noexcept {
    if (first_ || ended_ || dropped_) let_go_on();
  }

  // Where a behaviour ran: the home, and the worker if it was one.
  struct stage {
    pool& home;
    worker* here;
  };

  // The behaviour has run and will be freed. Values and results that end with it may send, but not
  // in its name.
  static stage stop_running(const behaviour& b) noexcept {
    if (stand_in* const s = stand_in::current()) [[unlikely]] {
      if (s->running() == &b) s->end_running();
      return {s->home(), nullptr};
    }
    worker& w = *worker::here();
    if (w.current() == &b) w.set_current(nullptr);
    return {w.home(), &w};
  }

  // Send and complete for one cown, at once, if its priority stays as it is. False: nothing was
  // done. `w` is the worker of `home` that runs here, or null.
  static bool send_one(pool& home, behaviour& b) noexcept;
  static bool complete_one(pool& home, worker* w, behaviour& b) noexcept;

  // --- for the board, which holds its lock ---

  // Puts slot `i` into its queue. True: it has the cown. False: it waits, and the behaviour is no
  // longer ours.
  bool line_up(behaviour& b, std::uint32_t i) noexcept;

  // Gives the cown to the next in the queue, if there is one.
  void give_on(slot& s) noexcept;

  // Frees a behaviour, or drops a pointer to a cown, once the lock is given back: both may run what
  // the user wrote.
  void free_later(behaviour& b) noexcept {
    b.link = ended_;
    ended_ = &b;
  }
  void drop_later(cown_base& c) {
    if (!dropped_) dropped_ = new std::vector<cown_base*>;
    dropped_->push_back(&c);
  }

  pool& home() const noexcept { return home_; }

  // More messages than the cown is willing to have.
  bool is_long(const cown_base& c) const noexcept { return is_long(home_, c); }
  static bool is_long(const pool& home, const cown_base& c) noexcept {
    return is_long(home, c, c.state_.load(sync::memory_order_relaxed));
  }
  static bool is_long(const pool& home, const cown_base& c, std::uint32_t state) noexcept {
    const bool lasts = (state & cown_base::strained) != 0;
    return c.load() > cown_base::mark(state >> cown_base::threshold_shift, lasts) &&
           home.mutes_senders();
  }
  // The same, whether or not it is overloaded already.
  static bool is_newly_long(const pool& home, const cown_base& c, std::uint32_t state) noexcept {
    return is_long(home, c, state & ~std::uint32_t{cown_base::strained});
  }

  // While set, pointers are dropped later.
  bool locked = false;

 private:
  friend struct inspect;

  // The worker of `home` that runs here, or null.
  static worker* worker_of(const pool& home) noexcept {
    worker* const w = worker::here();
    return w && &w->home() == &home ? w : nullptr;
  }

  static void send_closely(pool& home, worker* w, behaviour& b) noexcept;
  static void begin(pool& home, worker* w, behaviour& b) noexcept;
  bool enqueue(behaviour& b, std::uint32_t i) noexcept;
  static bool enqueue_writer(behaviour& b, std::uint32_t i, const worker* w) noexcept;
  void release(slot& s) noexcept;
  bool enqueue_reader(behaviour& b, std::uint32_t i) noexcept;
  static bool keeps_priority(const pool& home, const cown_base& c) noexcept;
  static bool keeps_ease(const cown_base& c, std::uint32_t state) noexcept;
  static void start_one(pool& home, worker* w, behaviour& b, cown_base& c) noexcept;
  static void send_pressed(pool& home, worker* w, behaviour& b) noexcept;
  static void complete_pressed(pool& home, worker* w, behaviour& b) noexcept;
  static void prerun_alone(pool& home, behaviour& b) noexcept;
  static void give_alone(pool& home, cown_base& c, slot& next) noexcept;
  static void empty_high(pool& home, cown_base& c) noexcept;
  static bool wait_for_readers(behaviour& b, std::uint32_t i) noexcept;
  void release_reader(slot& s) noexcept;
  static bool hold_rest(behaviour& b, std::uint32_t from) noexcept;
  static void count_one(cown_base& c, const worker* w) noexcept;
  static bool is_ours(const worker* w, const cown_base& c) noexcept;
  static std::uintptr_t next_of(slot& s) noexcept;
  void give(cown_base& c, slot& s) noexcept;
  void open(slot& s, bool is_ours) noexcept;
  void given(slot& s) noexcept;

  void go_on(behaviour& b, std::uint32_t i) noexcept;
  bool pass_on(behaviour& b, std::uint32_t i) noexcept;
  void prerun(behaviour& b) noexcept;
  void ready(behaviour& b, bool goes_first = true) noexcept;
  void let_go_on() noexcept;
  static void link(slot& before, std::uintptr_t name) noexcept;
  bool asks_board(behaviour& b) noexcept;
  static bool sender_can_be_muted(const pool& home) noexcept;
  static bool put_on_pump(behaviour& b) noexcept;
  void drop(cown_base& c) noexcept;
  void clean_up() noexcept;

  pool& home_;
  worker* worker_;

  // Given a cown, and not yet gone on. First come, first served.
  behaviour* first_ = nullptr;
  behaviour* last_ = nullptr;

  // Owned, and gone after finish(): nothing is left to a destructor, since every send would pay.
  behaviour* ended_ = nullptr;
  std::vector<cown_base*>* dropped_ = nullptr;
};

}  // namespace rota::detail

#endif
