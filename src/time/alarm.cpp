#include <rota/time/alarm.h>

#include <rota/base/assert.h>

#include "task/activity.h"
#include "time/timers.h"

namespace rota {

using detail::activity;
using detail::spin_guard;
using detail::timers;

bool async_alarm::awaiter::await_suspend(std::coroutine_handle<> leaf) {
  timers& all = timers::here();
  spin_guard guard{alarm_.lock_};
  ROTA_CHECK(!alarm_.timers_, "two tasks sleep on one alarm");
  alarm_.timer_.fired = deadline_ <= sync::now();
  if (alarm_.cancelled_ || alarm_.timer_.fired) {
    guard.release();
    return detail::go_on(leaf);
  }
  alarm_.timer_.who = detail::current_activity();
  alarm_.timers_ = &all;
  const bool waits = all.set(alarm_.timer_, deadline_, [&] {
    return detail::begin_wait(leaf, detail::wait_kind::timer, this);
  });
  if (!waits) {
    alarm_.timers_ = nullptr;
    stopped_ = true;
  }
  return waits;
}

bool async_alarm::awaiter::await_resume() {
  spin_guard guard{alarm_.lock_};
  if (alarm_.timers_) {
    alarm_.timers_->cancel(alarm_.timer_);
    alarm_.timers_ = nullptr;
    // Neither the time was over nor cancel() called: the task was asked to stop.
    if (!alarm_.timer_.fired && !alarm_.cancelled_) stopped_ = true;
  }
  const bool elapsed = alarm_.timer_.fired;
  guard.release();
  if (stopped_) throw cancelled{};
  return elapsed;
}

void async_alarm::cancel() noexcept {
  activity* who = nullptr;
  {
    spin_guard guard{lock_};
    cancelled_ = true;
    // The sleeper leaves under the lock, so while timers_ is set it is in this sleep.
    if (timers_ && timer_.who->claim()) who = timer_.who;
  }
  if (who) detail::make_ready(*who);
}

void async_alarm::reset() noexcept {
  spin_guard guard{lock_};
  cancelled_ = false;
}

}  // namespace rota
