// The tasks that run handlers: one a worker, asleep while there is nothing to do.
//
// Each handler that a runner runs is a scheduling point of its worker: whoever else is ready there
// has its turn in between (`quiescent_fair`), and handlers are first come, first served among
// themselves (`starvation_free`, src/event/schedule.h).
#ifndef ROTA_EVENT_EXECUTOR_H
#define ROTA_EVENT_EXECUTOR_H

#include <rota/base/sync.h>
#include <rota/event/core.h>
#include <rota/task/runtime.h>
#include <rota/task/semaphore.h>
#include <rota/task/task.h>

#include <coroutine>
#include <exception>
#include <utility>

#include "event/schedule.h"

namespace rota::detail {

class executor {
 public:
  explicit executor(runtime& rt);
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  // Ends the runners. All handlers were removed, and have nothing to do any more; what is triggered
  // later is not run.
  void stop() noexcept;

  // Triggers a list of handlers, by trigger_next_, and drops its pointers.
  void trigger(handler* all) noexcept;

  // A run that went on by itself has ended.
  void finish(handler& h, bool more) noexcept { settle(schedule_.finish(h, more)); }

  // Takes a handler out of use. Returns when it does not run any more; at once if that would be to
  // wait for oneself.
  void remove(handler& h) noexcept;

  // The group of a run that waits for something. leave gives false if it has none to leave.
  bool leave_group(handler& h) noexcept;
  static executor& home_of(const handler& h) noexcept { return *h.runs_on_; }  // while it runs
  class [[nodiscard("co_await it")]] entry;
  entry enter_group(handler& h) noexcept;

  handler_schedule& schedule() noexcept { return schedule_; }
  runtime& home() const noexcept { return runtime_; }

  // The handler whose run this is, or null.
  static handler* running_here() noexcept;

 private:
  // What a runner has in hand: given back also if the runtime ends and destroys its frame.
  struct hand {
    executor* home;
    handler* taken = nullptr;

    explicit hand(executor& e) noexcept : home(&e) {}
    hand(hand&& other) noexcept : home(std::exchange(other.home, nullptr)), taken(other.taken) {}
    ~hand() {
      if (!home) return;
      if (taken) home->finish(*taken, true);
      home->leave();
    }
  };

  task<void> runner(unsigned number, hand in);
  run_end run(handler& h) noexcept;
  void settle(aftermath then) noexcept;
  void leave() noexcept;

  runtime& runtime_;
  handler_schedule schedule_;
  async_semaphore wakes_{0};
  sync::atomic<bool> stopping_{false};
  sync::atomic<std::uint32_t> runners_;  // that have not ended; also a futex
  sync::atomic<std::uint32_t> leaving_;  // that may still touch this
};

class executor::entry {
 public:
  entry(handler_schedule& s, handler& h) noexcept : schedule_(s), handler_(h) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept;
  void await_resume() const noexcept {}

 private:
  handler_schedule& schedule_;
  handler& handler_;
};

inline executor::entry executor::enter_group(handler& h) noexcept { return {schedule_, h}; }

}  // namespace rota::detail

#endif
