// The two ends of a topic.
//
//   rota::publisher<scan> out = node.advertise<scan>("/scan");
//   out.publish(scan{...});                    // from anywhere; never waits
//   co_await out.publish(scan{...});           // in a task: waits for subscribers that are full
//
//   rota::subscription in = node.subscribe<scan>("/scan", rota::qos{}.with_depth(4), f);
//   in.counters().dropped;
//   in.remove();                               // f does not run any more; also from inside of f
//
// Promised: subscribers of one topic get its messages in the same order, each at most once, those
// of one publisher in the order in which it published. Nobody copies a message. A subscriber whose
// queue is full gets what its overflow says (qos.h); one with overflow::block
//   - makes a task that awaits the publication wait until it has room, first come, first served;
//   - mutes a behaviour that publishes without awaiting: its cowns run nothing more until half of
//     the queue is empty (`bounded_queues`);
//   - does not get what anybody else publishes without awaiting: delivery::refused says so.
// Not promised: where a message that waited for room stands among those of other publishers.
//
// Threads: everything is anyone's; to await is for tasks.
#ifndef ROTA_EVENT_TOPIC_H
#define ROTA_EVENT_TOPIC_H

#include <rota/event/core.h>
#include <rota/event/message.h>
#include <rota/event/registration.h>
#include <rota/event/subscription.h>
#include <rota/event/transport.h>
#include <rota/task/task.h>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota {

// What became of a message. Awaiting it waits for those who had no room; dropping it gives them up,
// or, in a behaviour, makes them take the message and mutes the behaviour.
class delivery {
 public:
  delivery() noexcept = default;
  explicit delivery(detail::written outcome) noexcept : outcome_(std::move(outcome)) {}
  delivery(delivery&&) noexcept = default;
  delivery& operator=(delivery&& other) noexcept {
    if (!outcome_.full.empty()) give_up();
    outcome_ = std::exchange(other.outcome_, {});
    return *this;
  }
  ~delivery() {
    if (!outcome_.full.empty()) give_up();
  }

  // Subscribers that have got it.
  std::size_t taken() const noexcept { return outcome_.taken; }

  // Subscribers that have no room: not those who drop silently.
  std::size_t refused() const noexcept { return outcome_.refused + outcome_.full.size(); }

  // Whether nobody refused it.
  explicit operator bool() const noexcept { return refused() == 0; }

  class awaiter {
   public:
    explicit awaiter(detail::written&& outcome) noexcept : outcome_(std::move(outcome)) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf);
    void await_resume() const {
      if (call_) call_->await_resume();
    }

   private:
    static task<void> wait(std::vector<detail::blocked> all);

    detail::written outcome_;
    std::optional<task<void>> wait_;
    std::optional<task<void>::awaiter> call_;
  };

  // Returns when all that refused have it, or have gone.
  awaiter operator co_await() && noexcept { return awaiter{std::exchange(outcome_, {})}; }

 private:
  void give_up() noexcept;

  detail::written outcome_;
};

namespace detail {

// One end of a topic, shared by the copies of a publisher.
struct publisher_state : counted {
  counted_ptr<counted> keep;  // what the writer is part of
  std::string topic;
  std::unique_ptr<writer> to;
};

}  // namespace detail

// Publishes messages. Copies share one end of the topic.
template <class M>
class publisher {
 public:
  publisher() noexcept = default;
  explicit publisher(detail::counted_ptr<detail::publisher_state> s) noexcept
      : state_(std::move(s)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  const std::string& topic() const noexcept { return state_->topic; }

  delivery publish(M value) const {
    return send(rota::loan<M>{std::in_place, std::move(value)}.release());
  }
  delivery publish(rota::loan<M> filled) const { return send(filled.release()); }
  delivery publish(const message<M>& received) const { return send(received.ref()); }

  // A message to fill in place and publish.
  template <class... Args>
  rota::loan<M> loan(Args&&... args) const {
    return rota::loan<M>{std::in_place, std::forward<Args>(args)...};
  }

 private:
  delivery send(detail::message_ref m) const {
    detail::written outcome;
    state_->to->write(std::move(m), outcome);
    return delivery{std::move(outcome)};
  }

  detail::counted_ptr<detail::publisher_state> state_;
};

using subscription = registration;

}  // namespace rota

#endif
