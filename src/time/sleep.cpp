#include <rota/time/sleep.h>

#include "task/activity.h"
#include "time/timers.h"

namespace rota {

using detail::timers;

namespace detail {

sync::time_point after(std::chrono::nanoseconds d) noexcept {
  const auto now = sync::now();
  if (d > sync::time_point::max() - now) return sync::time_point::max();
  return now + d;
}

}  // namespace detail

bool sleep_until::await_suspend(std::coroutine_handle<> leaf) {
  if (deadline_ <= sync::now()) {
    timer_.fired = true;
    return detail::give_way(leaf, stopped_);
  }
  timer_.who = detail::current_activity();
  const bool waits = timers::here().set(
      timer_, deadline_, [&] { return detail::begin_wait(leaf, detail::wait_kind::timer, this); });
  if (!waits) stopped_ = true;
  return waits;
}

void sleep_until::await_resume() {
  if (timer_.fired && !stopped_) [[likely]]
    return;
  if (!stopped_) timers::here().cancel(timer_);
  throw cancelled{};
}

namespace detail {

bool timed_join::await_suspend(std::coroutine_handle<> leaf) {
  timer_.who = current_activity();
  bool waits = false;
  // Under the wheel's lock: if the join wakes us at once, we wait for that lock before we go on.
  const bool set = timers::here().set(timer_, deadline_, [&] {
    timed_ = true;
    waits = wait(leaf);
    return waits;
  });
  return set || waits;
}

timed_join::result timed_join::await_resume() noexcept {
  if (timed_) timers::here().cancel(timer_);
  const bool ended = finish_wait();
  if (ended) return result::ended;
  return timer_.fired ? result::timed_out : result::cancelled;
}

}  // namespace detail
}  // namespace rota
