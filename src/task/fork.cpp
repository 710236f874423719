// Continuation stealing. fork() pushes the parent, which is suspended behind the fork, onto the
// worker's deque and runs the child; a child that ends takes its parent back from there. Whoever
// takes a parent otherwise (a thief, or the worker itself when the child gave way) makes it a
// strand of its own and counts it in `taken_`.
//
// Every fork pushes the parent once, and it leaves the deque either into the hands of an ending
// child or by being taken. So as many children end without finding the parent as there were takes:
// those count themselves out of balance_, and join() waits for just that many.

#include <rota/task/fork.h>

#include <rota/base/assert.h>

#include <exception>
#include <memory>
#include <vector>

#include "pool/pool.h"
#include "pool/worker.h"
#include "task/activity.h"
#include "task/fork_access.h"
#include "task/runtime_state.h"

namespace rota {

using detail::activity;
using detail::promise_base;
using detail::runtime_state;
using detail::worker;

namespace {

// A strand may end while its task goes on in others. What is known of it is noted before the count
// that lets the task go on: after that a task's own control block may be anybody's.
class ending_strand {
 public:
  explicit ending_strand(worker& w) noexcept
      : worker_(w), strand_(static_cast<activity*>(w.current())) {
    is_branch_ = (strand_->state_.load(sync::memory_order_relaxed) & activity::branch) != 0;
    // It has nowhere to go on; if it does go on after all, the next wait sets this again.
    strand_->frame = nullptr;
  }

  void end() noexcept {
    if (is_branch_) runtime_state::of(*strand_).free(strand_, &worker_);
    worker_.set_current(nullptr);
  }

 private:
  worker& worker_;
  activity* strand_;
  bool is_branch_;
};

void keep_first(sync::atomic<std::exception_ptr*>& place,
                const std::exception_ptr& error) noexcept {
  auto fresh = std::make_unique<std::exception_ptr>(error);
  std::exception_ptr* none = nullptr;
  // relaxed: published to the join by the child's end.
  if (place.compare_exchange_strong(none, fresh.get(), sync::memory_order_relaxed)) fresh.release();
}

}  // namespace

void fork_scope::start(std::coroutine_handle<> parent, std::coroutine_handle<> child) noexcept {
  worker& w = *worker::here();
  parent_ = parent;
  root_ = &activity::root_of(static_cast<activity&>(*w.current()));
  w.hand_over(child);
  w.forks().push(this);
  w.offer_work();
}

bool fork_scope::wait(std::coroutine_handle<> parent) noexcept {
  ending_strand strand{*worker::here()};
  parent_ = parent;
  const std::int32_t taken = taken_;
  // acq_rel: the last child sees parent_; we see what the children wrote.
  const std::int32_t before = balance_.fetch_add(taken, sync::memory_order_acq_rel);
  if (before + taken == 0) return false;
  // The last child goes on with the parent, so this strand ends here.
  strand.end();
  return true;
}

void fork_scope::left_open() noexcept {
  worker* w = worker::here();
  if (!w) {  // the runtime ends and destroys what could not be stopped
    delete error_.load(sync::memory_order_relaxed);
    return;
  }
  ROTA_CHECK(std::uncaught_exceptions() > 0,
             "a fork_scope ends without join(): co_await forks.join() on every path");
  // An exception leaves the scope. The children refer to what it is about to destroy, so they come
  // first.
  // acquire: shows what the children wrote.
  while (balance_.load(sync::memory_order_acquire) + taken_ != 0) w->help();
  delete error_.load(sync::memory_order_relaxed);
}

void fork_scope::rethrow() {
  const std::unique_ptr<std::exception_ptr> error{error_.exchange(nullptr)};
  std::rethrow_exception(*error);
}

detail::job* fork_access::adopt(worker& w, void* item) {
  auto& scope = *static_cast<fork_scope*>(item);
  runtime_state& home = runtime_state::of(*scope.root_);
  activity* strand = home.allocate(&w);
  strand->set_root(*scope.root_);
  strand->id_.store(scope.root_->id_.load(sync::memory_order_relaxed), sync::memory_order_relaxed);
  strand->state_.store(activity::live | activity::branch, sync::memory_order_release);
  scope.root_->state_.fetch_or(activity::branched, sync::memory_order_relaxed);
  strand->frame = scope.parent_;
  ++scope.taken_;
  return strand;
}

void fork_access::finish(std::coroutine_handle<> child, promise_base& promise) noexcept {
  worker& w = *worker::here();
  auto& scope = *static_cast<fork_scope*>(promise.who());
  if (promise.error()) [[unlikely]]
    keep_first(scope.error_, promise.error());
  child.destroy();
  if (w.forks().pop(&scope)) [[likely]] {
    w.hand_over(scope.parent_);
    return;
  }
  // The parent went on without us. acq_rel: the parent sees our result; the last sees the others'.
  ending_strand strand{w};
  if (scope.balance_.fetch_sub(1, sync::memory_order_acq_rel) == 1) {
    w.hand_over(scope.parent_);
    return;
  }
  strand.end();
}

void detail::finish_fork(std::coroutine_handle<> frame, promise_base& promise) noexcept {
  fork_access::finish(frame, promise);
}

void fork_access::collect_outermost(std::coroutine_handle<> leaf,
                                    std::unordered_map<void*, std::size_t>& frames) {
  std::vector<void*> chain;
  for (std::coroutine_handle<> frame = leaf;;) {
    const promise_base& p = promise_of(frame);
    if (p.kind() == promise_base::follower::frame) {
      frame = std::coroutine_handle<>::from_address(p.who());
      continue;
    }
    chain.push_back(frame.address());
    if (p.kind() == promise_base::follower::activity) break;
    frame = static_cast<fork_scope*>(p.who())->parent_;
  }
  for (std::size_t i = 0; i < chain.size(); ++i) frames.emplace(chain[i], chain.size() - 1 - i);
}

}  // namespace rota
