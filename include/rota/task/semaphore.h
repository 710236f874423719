// A number of permits, given first come, first served.
//
//   rota::async_semaphore slots{4};
//   co_await slots.acquire();   ...   slots.release();
//
// A released permit is handed to the task that has waited longest; nobody slips in between.
// Threads: release and try_acquire are anyone's; acquire is for tasks.
// Lifetime: outlives the tasks that wait in it.
#ifndef ROTA_TASK_SEMAPHORE_H
#define ROTA_TASK_SEMAPHORE_H

#include <rota/task/core.h>

#include <coroutine>
#include <cstddef>

namespace rota {

class async_semaphore {
 public:
  explicit async_semaphore(std::size_t permits) noexcept : permits_(permits) {}
  async_semaphore(const async_semaphore&) = delete;
  async_semaphore& operator=(const async_semaphore&) = delete;

  void release(std::size_t count = 1) noexcept;
  bool try_acquire() noexcept;

  class [[nodiscard("co_await it")]] awaiter {
   public:
    explicit awaiter(async_semaphore& semaphore) noexcept : semaphore_(&semaphore) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept;
    void await_resume() const {
      // Whoever hands us a permit clears the pointer, so who still has it was cancelled.
      if (semaphore_) [[unlikely]]
        leave();
    }

   private:
    friend class async_semaphore;
    [[noreturn]] void leave() const;
    async_semaphore* semaphore_;
  };

  awaiter acquire() noexcept { return awaiter{*this}; }

 private:
  detail::spin_lock lock_;
  std::size_t permits_;        // guarded by lock_
  detail::wait_list waiters_;  // guarded by lock_
};

}  // namespace rota

#endif
