// Who sleeps and whom to wake. A wake-up that is lost shows as a thread that sleeps for ever, one
// that two are given as a check that fails.

#include <rota/park/event_notifier.h>

#include <array>

#include "explored/scenarios.h"
#include "explored/words.h"
#include "pool/idle_set.h"

namespace {

using namespace rota::scenarios;
using rota::detail::idle_set;

// Two wakers and two sleepers. Nobody is chosen twice, and one who wakes by itself knows whether it
// was chosen.
void two_wakers() {
  idle_set set(2);
  std::array<word, 2> chosen{};
  set.enter(0, false);
  set.enter(1, false);
  together wakers;
  word left_itself{0};
  for (unsigned w = 0; w < 2; ++w)
    wakers.run([&] {
      const unsigned c = set.choose(idle_set::nobody, idle_set::nobody);
      if (c != idle_set::nobody) chosen[c].fetch_add(1, std::memory_order_relaxed);
    });
  wakers.run([&] {
    if (set.leave(0)) left_itself.store(1, std::memory_order_relaxed);
  });
  wakers.join();
  const std::uint32_t by_wakers = chosen[0].peek() + chosen[1].peek();
  explore::check(chosen[0].peek() + left_itself.peek() == 1, "a sleeper leaves once");
  explore::check(by_wakers == 1, "nobody is woken while somebody searches");
  explore::check(set.departures() == 1, "who left has counted itself");
  explore::check(set.end_search(0), "the chosen one is the only searcher");
  explore::check(!set.all(), "who left is not in the set");
}

// A worker that goes to sleep and one that wakes; what the waker published before it chose is seen
// by the worker that finds itself chosen.
void chosen_sees_why() {
  idle_set set(2);
  explore::cell<int> data{0};
  together others;
  others.run([&] {
    data.set(1);
    if (set.choose(idle_set::nobody, idle_set::nobody) == idle_set::nobody) return;
  });
  set.enter(0, false);
  if (!set.leave(0)) {
    explore::check(data.get() == 1, "who was chosen sees what was published before");
    set.end_search(0);
  }
}

// Whoever chooses a sleeper wakes it, also one that has only just taken its ticket: else it would
// sleep on and count as a searcher, and nobody would be woken any more.
void chosen_wakes() {
  idle_set set(1);
  rota::event_notifier notifier;
  together wakers;
  wakers.run([&] {
    while (set.choose(idle_set::nobody, idle_set::nobody) == idle_set::nobody) explore::pause();
    notifier.notify();
  });
  notifier.prepare_park([&] { set.enter(0, false); });
  notifier.park();
  explore::check(!set.leave(0), "who was woken was chosen");
  explore::check(set.end_search(0), "and counts as a searcher");
}

// When everybody is in the set after departures() was read, and later that has not changed, nobody
// was out in between: what was done out there was seen from the beginning, or is not seen yet.
void departures() {
  idle_set set(1);
  word work{0};
  set.enter(0, false);
  together others;
  others.run([&] { set.choose(idle_set::nobody, idle_set::nobody); });
  others.run([&] {
    const bool searching = !set.leave(0);
    work.store(1, std::memory_order_release);
    set.enter(0, searching);
  });
  const std::uint64_t before = set.departures();
  if (!set.all()) return;
  const std::uint32_t first = work.load(std::memory_order_acquire);
  const std::uint32_t second = work.load(std::memory_order_acquire);
  if (set.all() && set.departures() == before)
    explore::check(first == second, "nobody worked while nobody left");
}

// At most half of the workers begin to search by themselves, and the last to end knows it.
void searchers() {
  idle_set set(2);
  word begun{0};
  word last{0};
  together workers;
  for (unsigned w = 0; w < 2; ++w)
    workers.run([&, w] {
      if (!set.begin_search(w)) return;
      begun.fetch_add(1, std::memory_order_relaxed);
      if (set.end_search(w)) last.fetch_add(1, std::memory_order_relaxed);
    });
  workers.join();
  explore::check(begun.peek() >= 1 && last.peek() == begun.peek(),
                 "with one searcher at a time, each is the last");
}

const add idle_sets{{
    {"pool.idle_wakers", "two wakers, two sleepers, one leaves", two_wakers, all()},
    {"pool.idle_chosen", "who is chosen sees why", chosen_sees_why, all()},
    {"pool.idle_chosen_wakes", "who is chosen wakes", chosen_wakes, all()},
    {"pool.idle_departures", "everybody was there all the time", departures, all()},
    {"pool.idle_searchers", "two workers begin and end a search", searchers, all()},
}};

}  // namespace
