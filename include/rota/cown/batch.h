// Behaviours that are requested atomically: nobody comes between them on any of their cowns.
//
//   (rota::when(a) << f) + (rota::when(b) << g);
//
//   rota::batch all;
//   for (auto& c : cowns) all += rota::when(c) << f;
//   all.send();                                          // or at the end of its scope
//
// Awaited, it waits for all of them and throws the first exception.
//
// Threads: a batch is put together by one; its members run on any.
#ifndef ROTA_COWN_BATCH_H
#define ROTA_COWN_BATCH_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/cown/core.h>
#include <rota/cown/request.h>
#include <rota/cown/result.h>
#include <rota/task/errors.h>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace rota {

namespace detail {

// A batch has ended when its members have. The first exception is its own.
class batch_state : public result_state<void> {
 public:
  batch_state() noexcept : result_state("of a batch") {}
  std::uint32_t members = 0;

  void fail_once(std::exception_ptr error) noexcept {
    spin_guard guard{lock_};
    if (!failed_) fail(std::move(error));
    failed_ = true;
  }
  void one_ended() noexcept {
    const std::uint32_t all = members;  // once we are counted, the last one may end the batch
    if (ended_.fetch_add(1, sync::memory_order_acq_rel) + 1 != all) return;
    if (!failed_) set_value();
    publish();
  }

 private:
  spin_lock lock_;
  bool failed_ = false;  // guarded by lock_
  sync::atomic<std::uint32_t> ended_{0};
};

struct count_down {
  batch_state* state;

  template <class... Args>
  void set_value(Args&&...) const noexcept {}
  void fail(std::exception_ptr error, const char*) const noexcept {
    state->fail_once(std::move(error));
  }
  void cancel() const noexcept { state->fail_once(std::make_exception_ptr(cancelled{})); }
  void publish() const noexcept { state->one_ended(); }
};

}  // namespace detail

// Behaviours that are requested atomically.
class batch {
 public:
  batch() noexcept = default;
  batch(batch&& other) noexcept
      : home_(std::exchange(other.home_, nullptr)),
        members_(std::move(other.members_)),
        state_(std::exchange(other.state_, nullptr)) {}
  batch& operator=(batch&&) = delete;
  ~batch() { send(); }

  template <detail::any_request R>
  batch& operator+=(R&& r) {
    if (!state_) {
      home_ = r.home();
      state_ = new detail::batch_state;
    }
    members_.reserve(members_.size() + 1);
    members_.push_back(&r.make(detail::count_down{state_}));
    r.take_home();
    return *this;
  }

  // Sends all of them now, unless that was done.
  void send();

  // Sends all of them and gives a handle of their common end.
  when_result<void> with_result();

  class awaiter {
   public:
    explicit awaiter(when_result<void> r) noexcept
        : result_(std::move(r)), inner_(result_.operator co_await()) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    bool await_ready() const noexcept { return inner_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept { return inner_.await_suspend(leaf); }
    void await_resume() { inner_.await_resume(); }

   private:
    when_result<void> result_;
    when_result<void>::awaiter inner_;
  };
  awaiter operator co_await() { return awaiter{with_result()}; }

 private:
  void send_members();

  detail::pool* home_ = nullptr;
  std::vector<detail::behaviour*> members_;
  detail::batch_state* state_ = nullptr;
};

namespace detail {

template <any_request A, any_request B>
rota::batch operator+(A&& a, B&& b) {
  rota::batch both;
  both += a;
  both += b;
  return both;
}
template <any_request B>
rota::batch operator+(rota::batch&& first, B&& b) {
  rota::batch all{std::move(first)};
  all += b;
  return all;
}

}  // namespace detail

}  // namespace rota

#endif
