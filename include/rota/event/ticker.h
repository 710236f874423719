// What node::every makes. A program needs none of it.
//
// A task sleeps until the next firing and triggers the handler: at most one firing waits, those
// that come meanwhile are counted as missed. Firings keep their phase: begin, begin + period, ...,
// however long the handler takes.
#ifndef ROTA_EVENT_TICKER_H
#define ROTA_EVENT_TICKER_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/core.h>
#include <rota/event/handled.h>
#include <rota/task/task.h>
#include <rota/time/alarm.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace rota {

// A firing of a timer, for functions that want to know.
struct firing {
  std::chrono::steady_clock::time_point due;  // when it should have been
  std::uint64_t missed = 0;                   // firings since the last one that were left out
};

namespace detail {

template <class F, class... More>
auto call_with_firing(F& f, const firing& at, More&... more) {
  if constexpr (std::is_invocable_v<F&, More&..., const firing&>)
    return f(more..., at);
  else
    return f(more...);
}

class ticker : public handler {
 public:
  ticker(executor& home, std::string name, std::chrono::nanoseconds period, bool held)
      : handler(handler_class::timer, std::move(name)),
        home_(home),
        period_(period),
        opened_(!held) {}

  // Begins to fire.
  void start();

  void close() noexcept override;
  void drain() noexcept final;
  bool open() noexcept final;
  bool has_events() const noexcept final;
  handler_counters counters() const final;
  executor& home() const noexcept { return home_; }

  template <class F, class... More>
  using result = decltype(call_with_firing(std::declval<F&>(), std::declval<const firing&>(),
                                           std::declval<More&>()...));

 protected:
  ~ticker() override = default;

  // --- the source of a handler: handled.h ---
  using event = firing;
  bool take_one(event& e) noexcept;
  static std::size_t budget() noexcept { return 1; }  // more than one firing never waits
  template <class Handle>
  run_end run_batch(Handle&& handle) noexcept {
    if (event e; take_one(e)) handle(e);
    return rest() ? run_end::more : run_end::done;
  }
  bool rest() noexcept;
  void failed(event& e) noexcept;

  template <class F, class... More>
  static void apply(F& f, event& e, More&... more) {
    call_with_firing(f, e, more...);
  }
  template <class F>
  static task<void> apply_later(F& f, event& e) {
    return call_with_firing(f, e);
  }

 private:
  static task<void> tick(counted_ptr<ticker> self);
  void fire(sync::time_point due, std::uint64_t missed) noexcept;

  executor& home_;
  const std::chrono::nanoseconds period_;
  async_alarm alarm_;
  mutable spin_lock lock_;
  // All below: guarded by lock_.
  bool opened_;
  bool closed_ = false;
  bool pending_ = false;
  bool owned_ = false;
  firing next_{};
  std::uint64_t events_ = 0;
  std::uint64_t missed_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace detail
}  // namespace rota

#endif
