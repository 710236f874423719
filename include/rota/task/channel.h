// A bounded queue between tasks.
//
//   rota::channel<int> ch{16};
//   co_await ch.send(7);                             // waits while it is full
//   while (auto m = co_await ch.receive()) use(*m);  // until it is closed and empty
//   ch.close();
//
// Promised: messages leave in the order in which they came; senders and receivers that wait are
// served first come, first served, by hand-over, so nobody slips in between. A cancelled send has
// not sent, a cancelled receive has not taken. Capacity 0 hands over from sender to receiver.
//
// Threads: send and receive are for tasks; try_send, try_receive and close are anyone's.
// Lifetime: outlives the tasks that wait in it.
#ifndef ROTA_TASK_CHANNEL_H
#define ROTA_TASK_CHANNEL_H

#include <rota/base/spin_lock.h>
#include <rota/task/core.h>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace rota {

template <class T>
class channel {
 public:
  explicit channel(std::size_t capacity) : capacity_(capacity) {
    if (capacity > 0) slots_ = std::make_unique<std::optional<T>[]>(capacity);
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  class send_awaiter;
  class receive_awaiter;

  // Waits for room. The await gives false if the channel is closed; the message is then dropped.
  [[nodiscard("co_await it")]] send_awaiter send(T message) {
    return send_awaiter{*this, std::move(message)};
  }

  // Waits for a message. The await gives nothing once the channel is closed and empty.
  [[nodiscard("co_await it")]] receive_awaiter receive() noexcept { return receive_awaiter{*this}; }

  // Sends if there is room now. The message is moved from only if it was sent.
  bool try_send(T&& message) {
    detail::spin_guard guard{lock_};
    if (closed_) return false;
    if (detail::activity* receiver = detail::claim_first(receivers_)) {
      deliver(*receiver, std::move(message));
      guard.release();
      detail::make_ready(*receiver);
      return true;
    }
    if (count_ == capacity_) return false;
    put(std::move(message));
    return true;
  }
  bool try_send(const T& message) {
    T copy{message};
    return try_send(std::move(copy));
  }

  std::optional<T> try_receive() {
    detail::spin_guard guard{lock_};
    std::optional<T> message;
    detail::activity* sender = take(message);
    guard.release();
    if (sender) detail::make_ready(*sender);
    return message;
  }

  // No more messages: senders get false, receivers what is left and then nothing.
  void close() noexcept {
    for (bool more = true; more;) {
      detail::activity* waiter = nullptr;
      {
        detail::spin_guard guard{lock_};
        closed_ = true;
        if ((waiter = detail::claim_first(receivers_)))
          static_cast<receive_awaiter*>(detail::awaiter_of(*waiter))->served_ = true;
        else if ((waiter = detail::claim_first(senders_)))
          static_cast<send_awaiter*>(detail::awaiter_of(*waiter))->served_ = true;
        // Who is woken last may destroy the channel, so it is not touched after that.
        more = !receivers_.empty() || !senders_.empty();
      }
      if (waiter) detail::make_ready(*waiter);
    }
  }

  bool is_closed() const noexcept {
    detail::spin_guard guard{lock_};
    return closed_;
  }
  std::size_t size() const noexcept {
    detail::spin_guard guard{lock_};
    return count_;
  }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  // --- with the lock held ---

  void put(T&& message) {
    slots_[(first_ + count_) % capacity_].emplace(std::move(message));
    ++count_;
  }

  void deliver(detail::activity& receiver, T&& message) {
    auto& r = *static_cast<receive_awaiter*>(detail::awaiter_of(receiver));
    r.message_.emplace(std::move(message));
    r.served_ = true;
  }

  // Takes the oldest message, if any, and lets the first sender that waits have its place. Gives
  // the sender to wake.
  detail::activity* take(std::optional<T>& message) {
    if (count_ > 0) {
      message = std::move(slots_[first_]);
      slots_[first_].reset();
      first_ = (first_ + 1) % capacity_;
      --count_;
    }
    detail::activity* sender = detail::claim_first(senders_);
    if (!sender) return nullptr;
    auto& s = *static_cast<send_awaiter*>(detail::awaiter_of(*sender));
    if (capacity_ > 0)
      put(std::move(s.message_));
    else
      message.emplace(std::move(s.message_));
    s.sent_ = s.served_ = true;
    return sender;
  }

  mutable detail::spin_lock lock_;
  const std::size_t capacity_;
  // All below: guarded by lock_.
  bool closed_ = false;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::unique_ptr<std::optional<T>[]> slots_;
  detail::wait_list senders_;
  detail::wait_list receivers_;
};

template <class T>
class channel<T>::send_awaiter {
 public:
  send_awaiter(channel& c, T&& message) : channel_(c), message_(std::move(message)) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) {
    detail::spin_guard guard{channel_.lock_};
    detail::activity* receiver = nullptr;
    if (channel_.closed_) {
      served_ = true;
    } else if ((receiver = detail::claim_first(channel_.receivers_))) {
      channel_.deliver(*receiver, std::move(message_));
      sent_ = served_ = true;
    } else if (channel_.count_ < channel_.capacity_) {
      channel_.put(std::move(message_));
      sent_ = served_ = true;
    } else {
      return detail::begin_wait(channel_.senders_, leaf, detail::wait_kind::send, this);
    }
    guard.release();
    if (receiver) detail::make_ready(*receiver);
    return detail::go_on(leaf);
  }
  bool await_resume() {
    if (!served_) [[unlikely]] {
      detail::spin_guard guard{channel_.lock_};
      detail::end_wait(channel_.senders_);
      guard.release();
      throw cancelled{};
    }
    return sent_;
  }

 private:
  friend class channel;
  channel& channel_;
  T message_;
  bool served_ = false;
  bool sent_ = false;
};

template <class T>
class channel<T>::receive_awaiter {
 public:
  explicit receive_awaiter(channel& c) noexcept : channel_(c) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) {
    detail::spin_guard guard{channel_.lock_};
    detail::activity* sender = channel_.take(message_);
    if (!message_ && !channel_.closed_)
      return detail::begin_wait(channel_.receivers_, leaf, detail::wait_kind::receive, this);
    served_ = true;
    guard.release();
    if (sender) detail::make_ready(*sender);
    return detail::go_on(leaf);
  }
  std::optional<T> await_resume() {
    if (!served_) [[unlikely]] {
      detail::spin_guard guard{channel_.lock_};
      detail::end_wait(channel_.receivers_);
      guard.release();
      throw cancelled{};
    }
    return std::move(message_);
  }

 private:
  friend class channel;
  channel& channel_;
  std::optional<T> message_;
  bool served_ = false;
};

}  // namespace rota

#endif
