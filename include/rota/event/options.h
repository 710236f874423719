// How a handler is run.
//
//   rota::group arm;                                   // handlers of which one runs at a time
//   node.every(10ms, rota::handler_options{}.with_group(arm).with_priority(1), step);
//
// Promised: of a group one handler is inside at a time, and it is handed over first come, first
// served. Priorities count among those that were triggered together, so they starve nobody.
// Threads: as any value; copies of a group are the same group.
#ifndef ROTA_EVENT_OPTIONS_H
#define ROTA_EVENT_OPTIONS_H

#include <rota/event/core.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace rota {

// Handlers that exclude each other: of a group, one runs at a time, first come, first served. A
// coroutine keeps its group while it waits, except for the answer to a call (service.h). A group is
// of one bus: to use it on another is std::invalid_argument.
class group {
 public:
  // A group of its own.
  group() : group_(detail::make_counted<detail::handler_group>()) {}

  // None: its handlers run at the same time as any others. A handler is still not run twice at
  // once.
  static group reentrant() noexcept { return group{nullptr}; }

  // For the layers of Rota.
  const detail::counted_ptr<detail::handler_group>& get() const noexcept { return group_; }

 private:
  explicit group(std::nullptr_t) noexcept {}
  detail::counted_ptr<detail::handler_group> group_;
};

// What happened in the queue of a handler since it last ran.
struct handler_event {
  std::uint64_t dropped = 0;  // messages that found the queue full
  std::uint64_t expired = 0;  // messages whose lifespan was over
  std::uint64_t late = 0;     // deadlines that passed without a message
};

// With setters rather than as an aggregate: see options.h of the pool.
class handler_options {
 public:
  // Shown in messages and by tools. Empty: made of what it is, as "subscriber of /scan in robot".
  std::string name;

  // None given: the node's own, in which one handler runs at a time.
  std::optional<rota::group> group;

  // -1, 0 or 1: larger ones first, among handlers of a class that are triggered together.
  int priority = 0;

  // Events that one run takes at most; the rest waits for the next turn.
  std::size_t budget = 64;

  // Is told what was lost, before the next message is handled.
  std::function<void(const handler_event&)> on_event;

  handler_options& with_name(std::string n) & { return name = std::move(n), *this; }
  handler_options&& with_name(std::string n) && { return name = std::move(n), std::move(*this); }
  handler_options& with_group(const rota::group& g) & { return group = g, *this; }
  handler_options&& with_group(const rota::group& g) && { return group = g, std::move(*this); }
  handler_options& with_priority(int p) & { return priority = p, *this; }
  handler_options&& with_priority(int p) && { return priority = p, std::move(*this); }
  handler_options& with_budget(std::size_t events) & { return budget = events, *this; }
  handler_options&& with_budget(std::size_t events) && { return budget = events, std::move(*this); }
  handler_options& with_on_event(std::function<void(const handler_event&)> f) & {
    return on_event = std::move(f), *this;
  }
  handler_options&& with_on_event(std::function<void(const handler_event&)> f) && {
    return on_event = std::move(f), std::move(*this);
  }
};

}  // namespace rota

#endif
