// Event, semaphore and mutex. All three follow one pattern: under the lock, take what is there or
// join the list; who gives wakes the first that still waits and marks its awaiter as served; who
// was resumed unserved was cancelled and leaves the list.

#include <rota/task/event.h>
#include <rota/task/mutex.h>
#include <rota/task/semaphore.h>

#include "task/activity.h"

namespace rota {

using detail::activity;
using detail::spin_guard;
using detail::wait_kind;

// --- async_event --------------------------------------------------------------------------------

void async_event::set() noexcept {
  // One at a time: a task that was woken may destroy the event once it is out of the list, but not
  // while others are still in it.
  for (;;) {
    activity* next = nullptr;
    {
      spin_guard guard{lock_};
      set_ = true;
      next = detail::claim_first(waiters_);
      if (!next) return;
      static_cast<awaiter*>(detail::awaiter_of(*next))->event_ = nullptr;
      if (waiters_.empty()) {
        guard.release();
        detail::make_ready(*next);
        return;
      }
    }
    detail::make_ready(*next);
  }
}

void async_event::reset() noexcept {
  spin_guard guard{lock_};
  set_ = false;
}

bool async_event::is_set() const noexcept {
  spin_guard guard{lock_};
  return set_;
}

bool async_event::awaiter::await_suspend(std::coroutine_handle<> leaf) noexcept {
  spin_guard guard{event_->lock_};
  if (!event_->set_) return detail::begin_wait(event_->waiters_, leaf, event_->shown_as_, this);
  guard.release();
  event_ = nullptr;
  return detail::go_on(leaf);
}

void async_event::awaiter::leave() const {
  {
    spin_guard guard{event_->lock_};
    detail::end_wait(event_->waiters_);
  }
  throw cancelled{};
}

// --- async_semaphore ----------------------------------------------------------------------------

void async_semaphore::release(std::size_t count) noexcept {
  for (; count > 0; --count) {
    activity* next = nullptr;
    {
      spin_guard guard{lock_};
      next = detail::claim_first(waiters_);
      if (!next) {
        permits_ += count;
        return;
      }
      static_cast<awaiter*>(detail::awaiter_of(*next))->semaphore_ = nullptr;
    }
    detail::make_ready(*next);
  }
}

bool async_semaphore::try_acquire() noexcept {
  spin_guard guard{lock_};
  if (permits_ == 0) return false;
  --permits_;
  return true;
}

bool async_semaphore::awaiter::await_suspend(std::coroutine_handle<> leaf) noexcept {
  spin_guard guard{semaphore_->lock_};
  if (semaphore_->permits_ == 0)
    return detail::begin_wait(semaphore_->waiters_, leaf, wait_kind::semaphore, this);
  --semaphore_->permits_;
  guard.release();
  semaphore_ = nullptr;
  return detail::go_on(leaf);
}

void async_semaphore::awaiter::leave() const {
  {
    spin_guard guard{semaphore_->lock_};
    detail::end_wait(semaphore_->waiters_);
  }
  throw cancelled{};
}

// --- async_mutex --------------------------------------------------------------------------------

namespace {

std::uint32_t id_of(const activity& a) noexcept { return a.id_.load(sync::memory_order_relaxed); }

}  // namespace

bool async_mutex::awaiter::await_suspend(std::coroutine_handle<> leaf) noexcept {
  spin_guard guard{mutex_->lock_};
  if (mutex_->held_) return detail::begin_wait(mutex_->waiters_, leaf, wait_kind::mutex, this);
  mutex_->held_ = true;
  mutex_->holder_.store(id_of(*detail::current_activity()), sync::memory_order_relaxed);
  guard.release();
  held_ = true;
  return detail::go_on(leaf);
}

void async_mutex::awaiter::leave() const {
  {
    spin_guard guard{mutex_->lock_};
    detail::end_wait(mutex_->waiters_);
  }
  throw cancelled{};
}

void async_mutex::unlock() noexcept {
  activity* next = nullptr;
  {
    spin_guard locked{lock_};
    next = detail::claim_first(waiters_);
    if (!next) {
      held_ = false;
      holder_.store(0, sync::memory_order_relaxed);
      return;
    }
    holder_.store(id_of(*next), sync::memory_order_relaxed);
    static_cast<awaiter*>(detail::awaiter_of(*next))->held_ = true;
  }
  detail::make_ready(*next);
}

std::uint32_t async_mutex::holder_of(const void* waiting) noexcept {
  return static_cast<const awaiter*>(waiting)->mutex_->holder_.load(sync::memory_order_relaxed);
}

}  // namespace rota
