// What the inspector hangs onto a bus: sinks that keep messages, or the times at which they came,
// until its thread looks, and a call that wakes it.
//
// A sink here is a handler that no runner ever runs: to publish to it is to put a pointer into a
// ring, and no worker is needed to look at what came.
#ifndef ROTA_EVENT_INSPECTOR_TAPS_H
#define ROTA_EVENT_INSPECTOR_TAPS_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/core.h>
#include <rota/event/message.h>
#include <rota/event/transport.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "event/inspector_socket.h"

namespace rota::detail {

// The last messages, at most `depth` of them.
class message_tap final : public handler, public message_sink {
 public:
  struct one {
    message_ref message;  // none: nothing came
    sync::time_point at{};
    std::uint64_t dropped = 0;  // between the one before and this one
  };

  // Without its messages it keeps the times alone.
  message_tap(std::string name, std::size_t depth, bool keeps_messages);

  outcome offer(message_ref& m, trigger_list& first) noexcept override;
  void missed(trigger_list& first) noexcept override;
  handler& owner() noexcept override { return *this; }

  // The oldest. False if there is none.
  bool take(one& out) noexcept;

  run_end run() noexcept override { return run_end::done; }
  void close() noexcept override {}
  bool has_events() const noexcept override { return false; }
  handler_counters counters() const override;

 private:
  ~message_tap() override = default;

  const bool keeps_messages_;
  mutable spin_lock lock_;
  // All below: guarded by lock_.
  std::vector<one> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t news_ = 0;  // dropped, and not told yet
  std::uint64_t dropped_ = 0;
  std::uint64_t events_ = 0;
};

// A call whose end wakes the inspector, which may be gone by then.
class tapped_call final : public call_state {
 public:
  tapped_call(message_ref request, sync::time_point deadline,
              std::shared_ptr<const poll_waker> waker) noexcept
      : call_state(std::move(request), deadline), waker_(std::move(waker)) {}

 private:
  ~tapped_call() override = default;
  void completed() noexcept override { waker_->wake(); }

  const std::shared_ptr<const poll_waker> waker_;
};

}  // namespace rota::detail

#endif
