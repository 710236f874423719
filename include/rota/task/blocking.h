// Code that blocks, away from the workers.
//
//   std::string text = co_await rota::run_blocking([&] { return read_file(path); });
//
// A worker that blocks keeps everybody behind it waiting; so what may block (files, name lookup, a
// library that sleeps) runs on a thread of its own, and only the task waits. The function's result
// or exception is the await's.
//
// Not cancelled: a blocking call cannot be taken back, so the task waits for its end also when it
// is asked to stop. g++ 12: a closure that owns something is named first, then moved in.
//
// Promised: at most options::blocking_threads calls at once; more wait, first come, first served.
// While one is under way the runtime is not at rest, and no deadlock is reported.
// Threads: to await is for tasks; the function runs on a thread that is no worker.
#ifndef ROTA_TASK_BLOCKING_H
#define ROTA_TASK_BLOCKING_H

#include <rota/pool/blocking_call.h>
#include <rota/task/core.h>

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace rota {

namespace detail {

// A call that a task waits for.
struct awaited_call : blocking_call {
  activity* who = nullptr;
};

// Hands the call to a thread; the running task waits.
bool submit(awaited_call& call, std::coroutine_handle<> leaf) noexcept;

// The call has ended: wakes the task.
void finish_call(awaited_call& call) noexcept;

}  // namespace detail

template <class F>
class [[nodiscard("co_await it")]] blocking_awaiter : detail::awaited_call {
  using result = std::invoke_result_t<F&>;

 public:
  explicit blocking_awaiter(F f) : function_(std::move(f)) { run = &blocking_awaiter::execute; }
  // Movable until it is awaited: g++ 12 moves what await_transform passes through.
  blocking_awaiter(blocking_awaiter&&) = default;
  blocking_awaiter& operator=(blocking_awaiter&&) = delete;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept { return detail::submit(*this, leaf); }
  result await_resume() {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<result>) return std::move(*value_);
  }

 private:
  struct nothing {};

  static void execute(detail::blocking_call& call) noexcept {
    auto& self = static_cast<blocking_awaiter&>(call);
    try {
      if constexpr (std::is_void_v<result>)
        self.function_();
      else
        self.value_.emplace(self.function_());
    } catch (...) {
      self.error_ = std::current_exception();
    }
    detail::finish_call(self);
  }

  F function_;
  std::conditional_t<std::is_void_v<result>, nothing, std::optional<result>> value_{};
  std::exception_ptr error_;
};

template <class F>
blocking_awaiter<std::decay_t<F>> run_blocking(F&& f) {
  return blocking_awaiter<std::decay_t<F>>{std::forward<F>(f)};
}

}  // namespace rota

#endif
