// Subscriptions underneath: a queue of messages, and three ways to handle them. A program needs
// none of it; node.h has what it calls.
//
// Who takes a message out has made room: publishers that wait are let in, first come, first served,
// and those that were muted are freed once half of the queue is empty.
#ifndef ROTA_EVENT_SUBSCRIPTION_H
#define ROTA_EVENT_SUBSCRIPTION_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/core.h>
#include <rota/event/handled.h>
#include <rota/event/message.h>
#include <rota/event/options.h>
#include <rota/event/qos.h>
#include <rota/event/transport.h>
#include <rota/task/core.h>
#include <rota/task/task.h>
#include <rota/time/alarm.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota {

namespace detail {

// Calls a function with a message, in the way that it can take it: as a handle that it may keep, to
// read, or as its own.
template <class M, class F, class... More>
auto call_with(F& f, message<M>&& m, More&... more) {
  if constexpr (std::is_invocable_v<F&, More&..., message<M>>) {
    return f(more..., std::move(m));
  } else if constexpr (std::is_invocable_v<F&, More&..., const M&>) {
    return f(more..., *m);
  } else {
    static_assert(std::is_invocable_v<F&, More&..., M>,
                  "the function takes const M&, message<M> or M&&");
    return f(more..., std::move(m).take());
  }
}

// The same for a coroutine: `m` stays where it is, and there if it was not given away, while the
// coroutine runs, which may refer to it.
template <class M, class F>
auto call_later(F& f, message_ref& m) {
  if constexpr (!std::is_invocable_v<F&, message<M>> && std::is_invocable_v<F&, const M&>)
    return f(static_cast<const message_of<M>&>(*m).value);
  else
    return call_with<M>(f, message<M>{std::move(m)});
}

template <class M, class F, class... More>
using call_result_of = decltype(call_with<M>(std::declval<F&>(), std::declval<message<M>&&>(),
                                             std::declval<More&>()...));

// A publishing task that waits for room: part of its awaiter.
struct room_wait {
  message_ref message;
  bool served = false;
};

class subscription_base : public handler, public message_sink {
 public:
  subscription_base(executor& home, std::string name, const qos& q, const handler_options& o,
                    bool held);

  // --- publishers ---
  outcome offer(message_ref& m, trigger_list& first) noexcept final;
  void missed(trigger_list& first) noexcept final;
  handler& owner() noexcept final { return *this; }

  // The running behaviour has published more than there is room for: it is taken all the same, and
  // the behaviour's cowns are muted when it ends.
  void force(message_ref m) noexcept;

  // The running task waits for room. False: it need not, since its message was taken, or nobody
  // wants it any more. After a wait that was cancelled it takes itself out.
  bool begin_wait(std::coroutine_handle<> leaf, room_wait& w) noexcept;
  void end_wait() noexcept;

  // --- the handler's life ---
  void close() noexcept override;
  void drain() noexcept final;
  bool open() noexcept final;
  bool has_events() const noexcept final;
  handler_counters counters() const final;

  // Its place on the topic, which it leaves when it is closed. Begins to watch the deadline.
  void attach(std::unique_ptr<reader> from);

  executor& home() const noexcept { return home_; }

 protected:
  ~subscription_base() override;

  // --- the source of a handler: handled.h ---
  using event = message_ref;
  bool take_one(event& e) noexcept {
    message_base* m = nullptr;
    if (take(&m, 1, false) == 0) return false;
    e = message_ref{m};
    return true;
  }
  std::size_t budget() const noexcept { return budget_; }
  template <class Deliver>
  run_end run_batch(Deliver&& deliver) noexcept;
  bool rest() noexcept;
  bool is_gone() const noexcept { return gone_.load(sync::memory_order_relaxed); }
  void give_up(std::size_t taken) noexcept;  // so many that were taken, since it is gone
  void failed() noexcept;
  void failed(event&) noexcept { failed(); }

 private:
  struct slot {
    message_ref message;
    sync::time_point since{};  // with a lifespan
  };
  struct notices {
    std::uint64_t dropped = 0;
    std::uint64_t expired = 0;
    std::uint64_t late = 0;
    bool any() const noexcept { return dropped + expired + late > 0; }
  };
  struct admitted;  // tasks that were let in, to be woken once the lock is given back

  static constexpr std::size_t most_at_once = 16;

  // Takes messages, with their pointers, at most so many and at most most_at_once. If there are
  // none and it `rests`, the handler waits for the next.
  std::size_t take(message_base** out, std::size_t most, bool rests) noexcept;
  void drop_expired() noexcept;

  // With the lock held.
  bool push(message_ref& m) noexcept;  // takes the pointer, if there is memory for it
  message_ref pop() noexcept;
  bool claims_trigger() noexcept;
  void let_in(admitted& who) noexcept;
  void count(std::uint64_t notices::* what, std::uint64_t by = 1) noexcept;
  void count_and_tell(std::uint64_t notices::* what, trigger_list& first) noexcept;

  static task<void> watch_deadline(counted_ptr<subscription_base> self);
  sync::time_point next_deadline() const noexcept;
  void tell_late() noexcept;

  void set_pressure() noexcept;
  void tell(const notices& n) noexcept;

  executor& home_;
  const qos qos_;
  const std::size_t budget_;
  const std::function<void(const handler_event&)> on_event_;

  mutable spin_lock lock_;
  // All below: guarded by lock_.
  std::vector<slot> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool opened_;
  bool closed_ = false;
  bool owned_ = false;       // the schedule has the handler, or is about to
  sync::time_point last_{};  // with a deadline: when the last message came
  std::unique_ptr<reader> from_;
  wait_list senders_;
  notices news_;  // since the last run
  std::uint64_t events_ = 0;
  notices all_;
  std::uint64_t failed_ = 0;
  bool presses_ = false;  // senders are to be muted

  // What mutes them, if publishers are to wait. Guarded by a lock of its own.
  struct gate;
  std::unique_ptr<gate> gate_;

  async_alarm deadline_;
  bool backlog_ = false;  // the run's own: messages were left when it took some

  // Closed for good: what a run has taken and not handled yet is dropped too. Written by close(),
  // with the lock; read by the run, which may be the one that closes it.
  sync::atomic<bool> gone_{false};
};

// In growing helpings, with a look at the clock in between: until the queue is empty, or the budget
// or about a millisecond is spent.
template <class Deliver>
run_end subscription_base::run_batch(Deliver&& deliver) noexcept {
  std::array<message_base*, most_at_once> some;  // not as pointers that count: most stay unused
  run_clock clock;
  std::size_t left = budget_;
  for (std::size_t chunk = 1;;) {
    const std::size_t n = take(some.data(), chunk < left ? chunk : left, true);
    if (n == 0) return run_end::done;
    if (backlog_ || left < budget_) clock.start();  // one message alone is not timed
    for (std::size_t i = 0; i < n; ++i) {
      message_ref m{some[i]};
      if (is_gone()) [[unlikely]] {
        give_up(n - i);
        while (++i < n) some[i]->drop_ref();
        return run_end::done;
      }
      deliver(m);
    }
    left -= n;
    if (left == 0 || clock.is_over()) return rest() ? run_end::more : run_end::done;
    if (clock.has_started() && chunk < most_at_once) chunk *= 2;
  }
}

// Messages of one type.
template <class M>
class message_source : public subscription_base {
 public:
  using subscription_base::subscription_base;

  template <class F, class... More>
  using result = call_result_of<M, F, More...>;

 protected:
  ~message_source() override = default;

  template <class F, class... More>
  static void apply(F& f, event& e, More&... more) {
    call_with<M>(f, message<M>{std::move(e)}, more...);
  }
  template <class F>
  static task<void> apply_later(F& f, event& e) {
    return call_later<M>(f, e);
  }
};

}  // namespace detail
}  // namespace rota

#endif
