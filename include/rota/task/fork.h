// Fork-join inside a task, at the cost of a few function calls.
//
//   rota::task<long> fib(int n) {
//     if (n < 2) co_return n;
//     rota::fork_scope forks;
//     long a = 0;
//     co_await forks.fork(a, fib(n - 1));   // may run beside what follows; its result goes to a
//     long b = co_await fib(n - 2);
//     co_await forks.join();                // now a is there
//     co_return a + b;
//   }
//
// The child runs first; meanwhile another worker may take over the rest of the parent. If nobody
// did, fork and join are two transfers on one worker and nothing is shared.
//
// Promised: join() returns when all children have ended, and rethrows the first exception of one of
// them. Forking gives way to other tasks that wait after some thousand transfers or 5 ms.
// Forgetting join() ends the program with a message. An exception that leaves the scope first waits
// for the children, running other work meanwhile.
// Not promised: which worker goes on with the parent.
//
// Threads: a scope belongs to the task that made it; only that one forks and joins.
#ifndef ROTA_TASK_FORK_H
#define ROTA_TASK_FORK_H

#include <rota/base/sync.h>
#include <rota/task/core.h>
#include <rota/task/task.h>

#include <coroutine>
#include <cstdint>
#include <exception>

namespace rota {

class [[nodiscard("fork in it and join it")]] fork_scope {
 public:
  fork_scope() noexcept {}
  fork_scope(const fork_scope&) = delete;
  fork_scope& operator=(const fork_scope&) = delete;
  ~fork_scope() {
    if (root_) [[unlikely]]
      left_open();
  }

  class fork_awaiter {
   public:
    fork_awaiter(fork_scope& scope, std::coroutine_handle<> child) noexcept
        : scope_(scope), child_(child) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> parent) const noexcept {
      scope_.start(parent, child_);
    }
    void await_resume() const noexcept {}

   private:
    fork_scope& scope_;
    std::coroutine_handle<> child_;
  };

  // Begins `child`; its result is assigned to `result` when it ends. Await what this returns at
  // once: the child begins then.
  template <class T>
  [[nodiscard("co_await it")]] fork_awaiter fork(T& result, task<T> child) noexcept {
    const auto frame = child.release();
    frame.promise().follow(detail::promise_base::follower::fork, this);
    frame.promise().set_out(&result);
    return {*this, frame};
  }
  [[nodiscard("co_await it")]] fork_awaiter fork(task<void> child) noexcept {
    const auto frame = child.release();
    frame.promise().follow(detail::promise_base::follower::fork, this);
    return {*this, frame};
  }

  class join_awaiter {
   public:
    explicit join_awaiter(fork_scope& scope) noexcept : scope_(scope) {}
    bool await_ready() const noexcept { return scope_.taken_ == 0; }
    bool await_suspend(std::coroutine_handle<> parent) const noexcept {
      return scope_.wait(parent);
    }
    void await_resume() const { scope_.close(); }

   private:
    fork_scope& scope_;
  };

  // Waits until every child has ended. The scope can be forked in again afterwards.
  [[nodiscard("co_await it")]] join_awaiter join() noexcept { return join_awaiter{*this}; }

 private:
  friend struct fork_access;

  void start(std::coroutine_handle<> parent, std::coroutine_handle<> child) noexcept;
  bool wait(std::coroutine_handle<> parent) noexcept;
  void left_open() noexcept;
  void close() {
    root_ = nullptr;
    taken_ = 0;
    // relaxed: the join has acquired.
    if (error_.load(sync::memory_order_relaxed)) [[unlikely]]
      rethrow();
  }
  [[noreturn]] void rethrow();

  // Where the parent goes on. Written by the parent before it can be taken.
  std::coroutine_handle<> parent_;

  // The task's activity; null while nothing is forked.
  detail::activity* root_ = nullptr;

  // How often the parent went on before its child had ended. Whoever runs the parent owns it.
  std::int32_t taken_ = 0;

  // Minus the children that ended after the parent went on without them; join() adds taken_, so the
  // child that brings it to zero is the last, and goes on with the parent.
  sync::atomic<std::int32_t> balance_{0};

  // The first exception of a child.
  sync::atomic<std::exception_ptr*> error_{nullptr};
};

}  // namespace rota

#endif
