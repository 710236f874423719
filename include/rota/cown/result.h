// What a behaviour leaves behind: its value or its exception, for who awaits it.
//
//   rota::when_result<int> r = rota::when(account) << [](int& b) { return b; };
//   int balance = co_await r;                                    // in a task
//
// Promised: when the result is there, the behaviour has given its cowns back. An exception is kept
// for who awaits the result; if nobody does, it goes to options::on_unobserved (to stderr, if the
// handle is dropped after the end of the runtime). A behaviour that was dropped before it began
// (its stop token, the end of the runtime) throws rota::cancelled. Dropping the result does not
// stop the behaviour.
//
// Threads: a result belongs to one thread or task at a time. Only tasks can wait for it, those that
// run behaviours included.
#ifndef ROTA_COWN_RESULT_H
#define ROTA_COWN_RESULT_H

#include <rota/base/assert.h>
#include <rota/cown/core.h>
#include <rota/task/errors.h>
#include <rota/task/event.h>

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace rota {

namespace detail {

// What all results have in common, shared by the behaviour and the handle.
class result_base {
 public:
  result_base() noexcept = default;
  result_base(const result_base&) = delete;
  result_base& operator=(const result_base&) = delete;
  virtual ~result_base() = default;  // a batch has more to it

  // On a thread of the runtime.
  void fail(std::exception_ptr error) noexcept {
    error_ = std::move(error);
    listener_ = listener_here();
  }
  void cancel() noexcept { error_ = std::make_exception_ptr(cancelled{}); }

  bool is_done() const noexcept { return done_.is_set(); }
  async_event& done() noexcept { return done_; }
  void rethrow_if_failed() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 protected:
  // True for who leaves last. An exception that nobody has seen is reported.
  bool leave(const char* name) noexcept {
    if (refs_.fetch_sub(1, sync::memory_order_acq_rel) != 1) return false;
    if (error_) report_unobserved(std::exchange(error_, nullptr), name, listener_);
    return true;
  }

 private:
  sync::atomic<std::uint32_t> refs_{2};
  async_event done_{wait_kind::behaviour};
  std::exception_ptr error_;
  listener listener_;
};

struct no_value {};

template <class R>
class result_state : public result_base {
 public:
  using value_type = std::conditional_t<std::is_void_v<R>, no_value, R>;

  explicit result_state(const char* name) noexcept : name_(name) {}

  template <class... Args>
  void set_value(Args&&... args) {
    value_.emplace(std::forward<Args>(args)...);
  }
  value_type take() {
    rethrow_if_failed();
    return std::move(*value_);
  }
  // The behaviour has ended; the handle is gone.
  void publish() noexcept {
    done().set();
    drop();
  }
  void drop() noexcept {
    if (leave(name_)) delete this;
  }

 private:
  const char* name_;
  std::optional<value_type> value_;
};

}  // namespace detail

template <class R = void>
class when_result {
 public:
  when_result() noexcept = default;
  explicit when_result(detail::result_state<R>* adopted) noexcept : state_(adopted) {}
  when_result(when_result&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  when_result& operator=(when_result&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~when_result() {
    if (state_) state_->drop();
  }

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool done() const noexcept { return state_ && state_->is_done(); }

  class awaiter {
   public:
    explicit awaiter(detail::result_state<R>* s) noexcept : state_(s), done_(s->done().wait()) {}
    bool await_ready() const noexcept { return done_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept { return done_.await_suspend(leaf); }
    R await_resume() {
      done_.await_resume();
      if constexpr (std::is_void_v<R>)
        state_->take();
      else
        return state_->take();
    }

   private:
    detail::result_state<R>* state_;
    async_event::awaiter done_;
  };

  // Waits for the end of the behaviour. Once.
  awaiter operator co_await() const noexcept {
    ROTA_CHECK(state_, "an empty when_result is awaited");
    return awaiter{state_};
  }

 private:
  detail::result_state<R>* state_ = nullptr;
};

}  // namespace rota

#endif
