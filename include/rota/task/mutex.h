// Mutual exclusion between tasks that may suspend while they hold it.
//
//   rota::async_mutex m;
//   {
//     auto held = co_await m.lock();     // waits without blocking the worker
//     co_await write(data);
//   }                                    // the next in line has it now
//
// Handed over first come, first served. For state that only behaviours touch, a cown needs no lock.
// Threads: lock is for tasks; the guard may be destroyed anywhere.
// Lifetime: outlives the tasks that wait in it, and the guards.
#ifndef ROTA_TASK_MUTEX_H
#define ROTA_TASK_MUTEX_H

#include <rota/task/core.h>

#include <coroutine>
#include <cstdint>
#include <utility>

namespace rota {

class async_mutex {
 public:
  async_mutex() noexcept = default;
  async_mutex(const async_mutex&) = delete;
  async_mutex& operator=(const async_mutex&) = delete;

  // Holds the mutex until it is destroyed.
  class [[nodiscard("the mutex is held only as long as this lives")]] guard {
   public:
    guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    guard& operator=(guard&& other) noexcept {
      std::swap(mutex_, other.mutex_);
      return *this;
    }
    ~guard() { unlock(); }
    void unlock() noexcept {
      if (mutex_) std::exchange(mutex_, nullptr)->unlock();
    }

   private:
    friend class async_mutex;
    explicit guard(async_mutex& m) noexcept : mutex_(&m) {}
    async_mutex* mutex_;
  };

  class [[nodiscard("co_await it")]] awaiter {
   public:
    explicit awaiter(async_mutex& m) noexcept : mutex_(&m) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept;
    guard await_resume() const {
      if (!held_) [[unlikely]]
        leave();
      return guard{*mutex_};
    }

   private:
    friend class async_mutex;
    [[noreturn]] void leave() const;
    async_mutex* mutex_;
    bool held_ = false;
  };

  awaiter lock() noexcept { return awaiter{*this}; }

  // The number of the task that holds the mutex which the given awaiter waits for. For reports.
  static std::uint32_t holder_of(const void* waiting) noexcept;

 private:
  void unlock() noexcept;

  detail::spin_lock lock_;
  bool held_ = false;                      // guarded by lock_
  sync::atomic<std::uint32_t> holder_{0};  // a task's number, for reports only
  detail::wait_list waiters_;              // guarded by lock_
};

}  // namespace rota

#endif
