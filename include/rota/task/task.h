// A coroutine that computes a T: begins when it is awaited or spawned, and never before.
//
//   rota::task<int> answer() { co_return 42; }
//   rota::task<int> twice() { co_return 2 * co_await answer(); }   // a call
//   auto handle = rota::spawn(answer());                           // a task of its own
//
// Awaiting a task is a call: the caller goes on when it has ended, with its result or its
// exception, in the same scheduling step. A task that is neither awaited nor spawned does nothing.
//
// Parameters are kept in the frame: take them by value, and hand a coroutine lambda what it needs
// as arguments rather than captures.
//
// Promised: a frame that has not ended when its task object does is destroyed, with what it owns.
// Threads: a task object belongs to one thread at a time; once spawned or awaited it runs on any
// worker, on one at a time (`never_reentered`).
#ifndef ROTA_TASK_TASK_H
#define ROTA_TASK_TASK_H

#include <rota/base/assert.h>
#include <rota/task/core.h>

#include <concepts>
#include <coroutine>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

namespace rota {

template <class T = void>
class task;

namespace detail {

template <class T>
class task_promise;

// Suspends for the last time, then hands over or destroys in await_suspend.
struct final_awaiter {
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
    promise_base& promise = frame.promise();
    // Two tests rather than a switch: that becomes an indirect jump.
    if (promise.kind() == promise_base::follower::frame)
      return transfer(std::coroutine_handle<>::from_address(promise.who()));
    if (promise.kind() == promise_base::follower::fork) return finish_fork(frame, promise);
    finish_task(frame, promise);
  }
  void await_resume() const noexcept {}
};

template <class T>
class task_promise_common : public promise_base {
 public:
  std::suspend_always initial_suspend(
      std::source_location where = std::source_location::current()) noexcept {
    set_where(where);
    return {};
  }
  final_awaiter final_suspend() const noexcept { return {}; }

  // Notes the line of every co_await: what dumps and deadlock reports show.
  template <class Awaitable>
  Awaitable&& await_transform(Awaitable&& awaitable, std::source_location where =
                                                         std::source_location::current()) noexcept {
    set_where(where);
    return static_cast<Awaitable&&>(awaitable);
  }
};

template <class T>
class task_promise final : public task_promise_common<T> {
  static_assert(!std::is_reference_v<T>, "task<T&>: return a pointer or std::reference_wrapper");
  static_assert(alignof(T) <= 16, "coroutine frames are aligned to 16 bytes");

 public:
  task_promise() noexcept {}
  ~task_promise() {
    if (has_value_) std::destroy_at(std::addressof(value_));
  }

  task<T> get_return_object() noexcept;

  template <class U>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    if (this->kind() == promise_base::follower::fork) {
      if (out_) *out_ = std::forward<U>(value);
      return;
    }
    std::construct_at(std::addressof(value_), std::forward<U>(value));
    has_value_ = true;
  }

  T take() {
    this->rethrow_if_failed();
    return std::move(value_);
  }

  // For a fork: where the result goes.
  void set_out(T* out) noexcept { out_ = out; }

 private:
  union {
    T value_;
    T* out_;
  };
  bool has_value_ = false;
};

template <>
class task_promise<void> final : public task_promise_common<void> {
 public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() { rethrow_if_failed(); }
};

}  // namespace detail

template <class T>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_) frame_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> callee) noexcept : callee_(callee) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> caller) const noexcept {
      callee_.promise().follow(detail::promise_base::follower::frame, caller.address());
      detail::transfer(callee_);
    }
    T await_resume() const { return callee_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> callee_;
  };

  awaiter operator co_await() && noexcept {
    ROTA_CHECK(frame_, "a task is awaited that was moved from");
    return awaiter{frame_};
  }

  // The frame, and giving it away; for spawn and fork.
  std::coroutine_handle<promise_type> frame() const noexcept { return frame_; }
  std::coroutine_handle<promise_type> release() noexcept { return std::exchange(frame_, nullptr); }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace detail
}  // namespace rota

#endif
