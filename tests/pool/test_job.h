// Jobs for tests of the pool: coroutines that belong to nobody and end by themselves.
//
//   detached count(std::atomic<int>& ran) { ran.fetch_add(1); co_return; }
//   pool.post(count(ran).job());
//
//   co_await give_way{};      // to the rear of the queue
//   co_await ready_again{};   // made ready: may go through the next slot
//
// A detached coroutine that was never run to its end is destroyed by whoever knows that.
#ifndef ROTA_TESTS_POOL_TEST_JOB_H
#define ROTA_TESTS_POOL_TEST_JOB_H

#include <rota/base/job.h>

#include <coroutine>
#include <cstdlib>

#include "pool/pool.h"

namespace rota::test {

class detached {
 public:
  struct promise_type {
    detail::job self;

    detached get_return_object() noexcept {
      self.frame = std::coroutine_handle<promise_type>::from_promise(*this);
      return detached{&self};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct vanish {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) noexcept { h.destroy(); }
      void await_resume() noexcept {}
    };
    vanish final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::abort(); }
  };

  detail::job* job() const noexcept { return job_; }

 private:
  explicit detached(detail::job* j) noexcept : job_(j) {}

  detail::job* job_;
};

// Functions of their own, since the body of a coroutine must not touch a thread-local.
[[gnu::noinline]] inline detail::worker& this_worker() noexcept { return *detail::worker::here(); }
[[gnu::noinline]] inline void push_here(detail::job* j) { this_worker().push(j); }
[[gnu::noinline]] inline void ready_here(detail::job* j) { this_worker().ready(j); }

struct give_way {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<detached::promise_type> h) const {
    push_here(&h.promise().self);
  }
  void await_resume() const noexcept {}
};

struct ready_again {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<detached::promise_type> h) const {
    ready_here(&h.promise().self);
  }
  void await_resume() const noexcept {}
};

}  // namespace rota::test

#endif
