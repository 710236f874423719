// What node::subscribe, serve and every give.
//
//   auto timer = node.every(10ms, step);
//   timer.counters().dropped;              // firings that were missed
//   timer.remove();
//
// Threads: everything is anyone's. Lifetime: may outlive node, bus and runtime, to be counted and
// dropped.
#ifndef ROTA_EVENT_REGISTRATION_H
#define ROTA_EVENT_REGISTRATION_H

#include <rota/event/core.h>

#include <string>
#include <utility>

namespace rota {

// A handler of a node: a subscription, a server or a timer. The node keeps it; dropping the handle
// does nothing.
class registration {
 public:
  registration() noexcept = default;
  registration(detail::executor& home, detail::counted_ptr<detail::handler> h) noexcept
      : home_(&home), handler_(std::move(h)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(handler_); }
  const std::string& name() const noexcept { return handler_->name(); }
  handler_counters counters() const { return handler_->counters(); }

  // Takes the handler out of use: its function does not run any more when this returns, except if
  // it is called by that function itself. What waits is dropped. On a worker the wait runs other
  // jobs: if one of those removes the handler that waits here, or two remove each other, they wait
  // for ever.
  void remove() noexcept;

 private:
  detail::executor* home_ = nullptr;
  detail::counted_ptr<detail::handler> handler_;
};
}  // namespace rota

#endif
