#include <rota/task/group.h>

#include <rota/base/assert.h>

#include "pool/worker.h"
#include "task/activity.h"

namespace rota {

using detail::activity;
using detail::spin_guard;
using detail::worker;

void task_group::spawn(task<void> child) {
  auto owned = std::make_unique<member>();
  member* m = owned.get();
  task<void> wrapped = run_child(*this, std::move(child), std::move(owned));
  // Under the lock, so that the child cannot end before it is listed.
  spin_guard guard{lock_};
  auto handle = rota::spawn(std::move(wrapped));
  m->who = handle.get();
  m->next = first_;
  if (first_) first_->prev = m;
  first_ = m;
  ++running_;
  joined_ = false;
  if (stopping_) stop(*m);
}

task<void> task_group::run_child(task_group& group, task<void> child,
                                 std::unique_ptr<member> self) {
  std::exception_ptr error;
  try {
    co_await std::move(child);
  } catch (const cancelled&) {
    // It was asked to stop, and did.
  } catch (...) {
    error = std::current_exception();
  }
  group.ended(*self, std::move(error));
}

// With the lock held, but not during the request: callbacks of the stop token run in it. The member
// is held meanwhile.
void task_group::stop(member& m) noexcept {
  ++m.held;
  lock_.unlock();
  detail::request_stop(*m.who);
  lock_.lock();
  --m.held;
}

void task_group::request_stop() noexcept {
  spin_guard guard{lock_};
  if (stopping_) return;
  stopping_ = true;
  for (member* m = first_; m; m = m->next) stop(*m);
}

void task_group::ended(member& self, std::exception_ptr error) noexcept {
  if (error) {
    bool first = false;
    {
      spin_guard guard{lock_};
      first = !error_;
      if (first) error_ = std::move(error);
    }
    if (first) request_stop();
  }
  spin_guard guard{lock_};
  while (self.held > 0) {
    lock_.unlock();
    sync::yield_thread();
    lock_.lock();
  }
  (self.prev ? self.prev->next : first_) = self.next;
  if (self.next) self.next->prev = self.prev;
  if (--running_ > 0) return;
  activity* joiner = detail::claim_first(waiters_);
  if (joiner) static_cast<all_ended*>(detail::awaiter_of(*joiner))->served_ = true;
  // The group may be gone once the lock is given back and the joiner goes on.
  guard.release();
  if (joiner) detail::make_ready(*joiner);
}

bool task_group::all_ended::await_suspend(std::coroutine_handle<> leaf) noexcept {
  spin_guard guard{group_.lock_};
  if (group_.running_ > 0)
    return detail::begin_wait(group_.waiters_, leaf, detail::wait_kind::group, this);
  served_ = true;
  guard.release();
  return detail::go_on(leaf);
}

bool task_group::all_ended::await_resume() noexcept {
  if (served_) return true;
  spin_guard guard{group_.lock_};
  detail::end_wait(group_.waiters_);
  return false;
}

task<void> task_group::join() {
  const bool all = co_await all_ended{*this};
  if (!all) {
    // We were asked to stop: so are the children, and we still wait for them.
    request_stop();
    shield waiting_for_children;
    (void)co_await all_ended{*this};
  }
  std::exception_ptr error;
  {
    spin_guard guard{lock_};
    error = std::exchange(error_, nullptr);
    stopping_ = false;
    joined_ = true;
  }
  if (error) std::rethrow_exception(error);
  if (!all) throw cancelled{};
}

void task_group::left_open() noexcept {
  worker* w = worker::here();
  if (!w) return;  // the runtime ends and destroys what could not be stopped
  ROTA_CHECK(std::uncaught_exceptions() > 0,
             "a task_group ends without join(): co_await group.join() on every path");
  request_stop();
  while (size() > 0) w->help();
}

}  // namespace rota
