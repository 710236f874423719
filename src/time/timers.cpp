#include "time/timers.h"

#include <rota/base/assert.h>

#include <algorithm>
#include <chrono>

#include "task/activity.h"

namespace rota::detail {

namespace {

constexpr std::uint64_t tick_ns = 1024;

// Tasks woken per holding of the lock, so that others can cancel meanwhile.
constexpr std::size_t batch = 128;

}  // namespace

timers::timers(pool& p) : began_(sync::now()) {
  for (unsigned i = 0; i < p.size(); ++i) wheels_.push_back(std::make_unique<wheel>());
}

timers& timers::here() {
  worker* w = worker::here();
  ROTA_CHECK(w, "timers are for tasks");
  return static_cast<timers&>(w->home().timers_or(
      [](pool& p) -> std::unique_ptr<timer_driver> { return std::make_unique<timers>(p); }));
}

// Rounds up: never early.
std::uint64_t timers::tick_of(sync::time_point t) const noexcept {
  if (t <= began_) return 0;
  const auto ns = std::chrono::nanoseconds(t - began_).count();
  return (static_cast<std::uint64_t>(ns) + tick_ns - 1) / tick_ns;
}

void timers::cancel(timer& t) noexcept {
  wheel& w = *wheels_[t.wheel];
  spin_guard guard{w.lock};
  w.timers.remove(t);
  // Otherwise `next` may stay too early: a look then finds nothing, and sets it right.
  // release: as in fire().
  if (w.timers.empty()) w.next.store(timer_wheel::never, sync::memory_order_release);
}

bool timers::fire(worker& w, unsigned of, sync::time_point now) {
  wheel& from = *wheels_[of];
  const auto ns = std::chrono::nanoseconds(now - began_).count();
  const std::uint64_t tick = ns > 0 ? static_cast<std::uint64_t>(ns) / tick_ns : 0;
  bool any = false;
  while (from.next.load(sync::memory_order_relaxed) <= tick) {
    activity* first = nullptr;
    activity* last = nullptr;
    {
      spin_guard guard{from.lock};
      timer* due = from.timers.advance(tick, batch);
      // release: who sees no timer any more sees that we have left the idle set.
      from.next.store(from.timers.next(), sync::memory_order_release);
      while (due) {
        timer* t = due;
        due = t->next;
        t->next = nullptr;
        activity* who = t->who;
        if (!who->claim()) continue;
        t->fired = true;
        who->link = nullptr;
        if (last)
          last->link = who;
        else
          first = who;
        last = who;
      }
    }
    while (first) {
      auto* who = first;
      first = static_cast<activity*>(who->link);
      who->link = nullptr;
      any = true;
      w.home().is_strict() ? w.ready(who) : w.push(who);
    }
  }
  return any;
}

sync::time_point timers::next(unsigned of) const noexcept {
  // acquire: pairs with fire() and cancel().
  const std::uint64_t tick = wheels_[of]->next.load(sync::memory_order_acquire);
  // Beyond this many ticks a deadline does not fit into the clock.
  constexpr std::uint64_t far = std::uint64_t{1} << 52;
  if (tick >= far) return sync::time_point::max();
  return began_ + std::chrono::nanoseconds(tick * tick_ns);
}

}  // namespace rota::detail
