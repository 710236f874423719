// A sleep that can be ended early, from anywhere, without an exception.
//
//   rota::async_alarm retry;
//   bool elapsed = co_await retry.sleep_for(30s);   // false: somebody called cancel()
//   retry.cancel();                                 // any thread; this sleep and later ones
//   retry.reset();                                  // ... until this
//
// One task sleeps on an alarm at a time. Setting and cancelling take constant time. If the sleeping
// task is asked to stop, the sleep throws rota::cancelled as any other.
//
// Threads: cancel and reset are anyone's; sleeping is for tasks.
// Lifetime: outlives the sleep and every cancel() under way.
#ifndef ROTA_TIME_ALARM_H
#define ROTA_TIME_ALARM_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/task/core.h>
#include <rota/time/sleep.h>
#include <rota/time/timer.h>

#include <chrono>
#include <coroutine>

namespace rota {

namespace detail {
class timers;
}

class async_alarm {
 public:
  async_alarm() noexcept = default;
  async_alarm(const async_alarm&) = delete;
  async_alarm& operator=(const async_alarm&) = delete;

  class [[nodiscard("co_await it")]] awaiter {
   public:
    awaiter(async_alarm& a, sync::time_point deadline) noexcept : alarm_(a), deadline_(deadline) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf);
    bool await_resume();

   private:
    async_alarm& alarm_;
    sync::time_point deadline_;
    bool stopped_ = false;
  };

  // The await gives true when the time is over and false when the alarm was cancelled.
  awaiter sleep_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return awaiter{*this, deadline};
  }
  template <class Rep, class Period>
  awaiter sleep_for(std::chrono::duration<Rep, Period> duration) noexcept {
    return awaiter{*this, detail::after(duration)};
  }

  void cancel() noexcept;
  void reset() noexcept;

 private:
  detail::spin_lock lock_;
  bool cancelled_ = false;            // guarded by lock_
  detail::timers* timers_ = nullptr;  // guarded by lock_: of the sleep under way, else null
  detail::timer timer_;
};

}  // namespace rota

#endif
