// A lock of four bytes for critical sections that are short, mostly a few instructions.
//
// One read-modify-write to take it, one store to give it back. Who waits spins a little and then
// lets other threads run, so that a holder who lost its processor gets it back.
//
//   spin_guard guard{lock_};   // until the end of the scope, or guard.release()
//
// Promised: one holder at a time, who sees what the last one wrote.
// Not promised: any order of those who wait.
// Threads: anyone's.
#ifndef ROTA_BASE_SPIN_LOCK_H
#define ROTA_BASE_SPIN_LOCK_H

#include <rota/base/inspect.h>
#include <rota/base/sync.h>

#include <cstdint>

namespace rota::detail {

class spin_lock {
 public:
  bool try_lock() noexcept {
    // acquire: pairs with the release in unlock(); shows what the last holder wrote.
    return locked_.exchange(1, sync::memory_order_acquire) == 0;
  }

  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }

  void unlock() noexcept { locked_.store(0, sync::memory_order_release); }

 private:
  friend struct inspect;

  void lock_slowly() noexcept;

  sync::atomic<std::uint32_t> locked_{0};
};

// Holds a spin_lock for a scope; can be released earlier.
class spin_guard {
 public:
  explicit spin_guard(spin_lock& lock) noexcept : lock_(&lock) { lock.lock(); }
  spin_guard(const spin_guard&) = delete;
  spin_guard& operator=(const spin_guard&) = delete;
  ~spin_guard() {
    if (lock_) lock_->unlock();
  }

  void release() noexcept {
    lock_->unlock();
    lock_ = nullptr;
  }

 private:
  spin_lock* lock_;
};

}  // namespace rota::detail

#endif
