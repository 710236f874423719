#include <rota/event/ticker.h>

#include <algorithm>

#include "event/executor.h"
#include "event/times.h"

namespace rota::detail {

void ticker::start() {
  {
    spin_guard guard{lock_};
    if (!opened_) return;  // open() will
  }
  add_ref();
  home_.home().spawn(tick(counted_ptr<ticker>{this})).detach();
}

task<void> ticker::tick(counted_ptr<ticker> self) {
  const auto period = self->period_;
  for (auto next = later(sync::now(), period);; next = later(next, period)) {
    const bool elapsed = co_await self->alarm_.sleep_until(next);
    if (!elapsed) co_return;
    // What was slept over is left out, and the phase kept.
    const auto late = std::max<std::chrono::nanoseconds>(sync::now() - next, {});
    const auto missed = late / period;
    next += missed * period;
    self->fire(next, static_cast<std::uint64_t>(missed));
  }
}

void ticker::fire(sync::time_point due, std::uint64_t missed) noexcept {
  trigger_list first{home_};
  spin_guard guard{lock_};
  if (closed_) return;
  if (pending_) ++missed;
  missed_ += missed;
  next_ = {due, pending_ ? next_.missed + missed : missed};
  pending_ = true;
  if (!std::exchange(owned_, true)) first.add(*this);
  guard.release();
}

bool ticker::take_one(event& e) noexcept {
  spin_guard guard{lock_};
  if (!std::exchange(pending_, false)) return false;
  e = next_;
  ++events_;
  return true;
}

bool ticker::rest() noexcept {
  spin_guard guard{lock_};
  return owned_ = pending_;
}

void ticker::failed(event&) noexcept {
  {
    spin_guard guard{lock_};
    ++failed_;
  }
  report_failure(home_, *this, std::current_exception());
}

void ticker::close() noexcept {
  {
    spin_guard guard{lock_};
    closed_ = true;
    pending_ = false;
  }
  alarm_.cancel();
}

void ticker::drain() noexcept {
  {
    spin_guard guard{lock_};
    closed_ = true;
  }
  alarm_.cancel();
}

bool ticker::open() noexcept {
  {
    spin_guard guard{lock_};
    if (opened_ || closed_) return false;
    opened_ = true;
  }
  start();
  return false;
}

bool ticker::has_events() const noexcept {
  spin_guard guard{lock_};
  return pending_;
}

handler_counters ticker::counters() const {
  handler_counters c;
  home_.schedule().add_counters(*this, c);
  spin_guard guard{lock_};
  c.events = events_;
  c.dropped = missed_;
  c.failed = failed_;
  c.pending = pending_ ? 1 : 0;
  return c;
}

}  // namespace rota::detail
