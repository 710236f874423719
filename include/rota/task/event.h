// A flag that tasks wait for.
//
//   rota::async_event ready;
//   co_await ready.wait();      // a task
//   ready.set();                // any thread: all who wait go on, later ones do not wait
//
// Promised: who waits when it is set goes on; nobody waits on a set event.
// Threads: set, reset and is_set are anyone's; wait is for tasks.
// Lifetime: outlives the tasks that wait for it.
#ifndef ROTA_TASK_EVENT_H
#define ROTA_TASK_EVENT_H

#include <rota/task/core.h>

#include <coroutine>

namespace rota {

class async_event {
 public:
  explicit async_event(bool set = false) noexcept : set_(set) {}
  explicit async_event(detail::wait_kind shown_as) noexcept : shown_as_(shown_as), set_(false) {}
  async_event(const async_event&) = delete;
  async_event& operator=(const async_event&) = delete;

  void set() noexcept;
  void reset() noexcept;
  bool is_set() const noexcept;

  class [[nodiscard("co_await it")]] awaiter {
   public:
    explicit awaiter(async_event& event) noexcept : event_(&event) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept;
    void await_resume() const {
      // Whoever sets the event clears the pointer, so who still has it was cancelled.
      if (event_) [[unlikely]]
        leave();
    }

   private:
    friend class async_event;
    [[noreturn]] void leave() const;
    async_event* event_;
  };

  awaiter wait() noexcept { return awaiter{*this}; }

 private:
  mutable detail::spin_lock lock_;
  const detail::wait_kind shown_as_ = detail::wait_kind::event;
  bool set_;                   // guarded by lock_
  detail::wait_list waiters_;  // guarded by lock_
};

}  // namespace rota

#endif
