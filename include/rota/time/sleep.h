// Sleeping, and limits on time. A sleeping task costs no thread.
//
//   co_await rota::sleep_for(10ms);
//   auto reply = co_await rota::with_timeout(200ms, ask(server));   // throws rota::timed_out
//
// Promised: never early; late by the wake-up of a worker (some 10 us) if one is idle, else by at
// most fairness_slack scheduling points and the queue. Setting and cancelling take constant time;
// millions are ordinary. Tasks whose time comes in the same microsecond go on in the order in which
// they began to sleep.
//
// Threads: for tasks. A task that is asked to stop while it sleeps gets rota::cancelled.
#ifndef ROTA_TIME_SLEEP_H
#define ROTA_TIME_SLEEP_H

#include <rota/base/sync.h>
#include <rota/task/core.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>
#include <rota/time/timer.h>

#include <chrono>
#include <coroutine>
#include <utility>

namespace rota {

namespace detail {

// Now plus a duration, without running over the end of the clock.
sync::time_point after(std::chrono::nanoseconds d) noexcept;

// The same for durations that do not fit into nanoseconds.
template <class Rep, class Period>
sync::time_point after(std::chrono::duration<Rep, Period> d) noexcept {
  using std::chrono::nanoseconds;
  if (std::chrono::duration<double>(d) > std::chrono::duration<double>(nanoseconds::max()) / 2)
    return sync::time_point::max();
  return after(std::chrono::duration_cast<nanoseconds>(d));
}

}  // namespace detail

class [[nodiscard("co_await it")]] sleep_until {
 public:
  explicit sleep_until(std::chrono::steady_clock::time_point deadline) noexcept
      : deadline_(deadline) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf);
  void await_resume();

 private:
  sync::time_point deadline_;
  detail::timer timer_;
  bool stopped_ = false;
};

template <class Rep, class Period>
sleep_until sleep_for(std::chrono::duration<Rep, Period> duration) noexcept {
  return sleep_until{detail::after(duration)};
}

namespace detail {

// Waits for the end of a task, but not beyond a deadline.
class [[nodiscard("co_await it")]] timed_join : join_awaiter_base {
 public:
  enum class result { ended, timed_out, cancelled };

  timed_join(activity* target_task, sync::time_point deadline) noexcept
      : join_awaiter_base{target_task}, deadline_(deadline) {}
  using join_awaiter_base::await_ready;
  bool await_suspend(std::coroutine_handle<> leaf);
  result await_resume() noexcept;

 private:
  sync::time_point deadline_;
  timer timer_;
  bool timed_ = false;
};

}  // namespace detail

// Runs a task, but stops it when the time is over, waits until it has ended, and throws
// rota::timed_out. A failure of the task, also while it stops, is thrown instead.
template <class Rep, class Period, class T>
task<T> with_timeout(std::chrono::duration<Rep, Period> limit, task<T> t) {
  auto child = spawn(std::move(t));
  const auto result = co_await detail::timed_join{child.get(), detail::after(limit)};
  if (result == detail::timed_join::result::ended) co_return co_await child;
  child.request_stop();
  {
    shield waiting_for_child;
    try {
      (void)co_await child;
    } catch (const cancelled&) {
      // As asked.
    }
  }
  if (result == detail::timed_join::result::timed_out) throw timed_out{};
  throw cancelled{};
}

}  // namespace rota

#endif
