#include "event/inspector_taps.h"

namespace rota::detail {

message_tap::message_tap(std::string name, std::size_t depth, bool keeps_messages)
    : handler(handler_class::subscriber, std::move(name)),
      keeps_messages_(keeps_messages),
      ring_(depth) {}

message_sink::outcome message_tap::offer(message_ref& m, trigger_list& first) noexcept {
  const auto now = sync::now();
  spin_guard guard{lock_};
  if (count_ == ring_.size()) {
    first.discard(std::move(ring_[first_].message));
    first_ = (first_ + 1) % ring_.size();
    --count_;
    ++news_;
    ++dropped_;
  }
  one& slot = ring_[(first_ + count_++) % ring_.size()];
  if (keeps_messages_) slot.message = m;
  slot.at = now;
  return outcome::taken;
}

void message_tap::missed(trigger_list&) noexcept {
  spin_guard guard{lock_};
  ++news_;
  ++dropped_;
}

bool message_tap::take(one& out) noexcept {
  out.message = {};  // may be the last to have it, so without the lock
  spin_guard guard{lock_};
  if (count_ == 0) return false;
  one& slot = ring_[first_];
  out.message = std::move(slot.message);
  out.at = slot.at;
  out.dropped = std::exchange(news_, 0);
  first_ = (first_ + 1) % ring_.size();
  --count_;
  ++events_;
  return true;
}

handler_counters message_tap::counters() const {
  handler_counters c;
  spin_guard guard{lock_};
  c.events = events_;
  c.dropped = dropped_;
  c.pending = count_;
  return c;
}

}  // namespace rota::detail
