// What mappings to models read of the runtime's objects, without taking a step of the schedule.
// Only in programs that link rota_explored.
#ifndef ROTA_TESTS_SUPPORT_INSPECT_H
#define ROTA_TESTS_SUPPORT_INSPECT_H

#include <rota/base/inspect.h>
#include <rota/park/event_notifier.h>
#include <rota/queue/fork_deque.h>
#include <rota/queue/inbox.h>
#include <rota/queue/run_queue.h>

#include <cstdint>

#include "pool/pool.h"

namespace rota::detail {

struct inspect {
  static const auto& word(const event_notifier& n) { return n.state_; }
  static const auto& newest(const inbox& b) { return b.newest_; }
  static const auto& locked(const spin_lock& l) { return l.locked_; }

  static const auto& head(const run_queue& q) { return q.head_; }
  static const auto& tail(const run_queue& q) { return q.tail_; }
  static const auto& reading_from(const run_queue& q) { return q.reading_from_; }
  static const auto& locked(const run_queue& q) { return locked(q.thieves_); }
  static const auto* slots(const run_queue& q) { return q.slots_.get(); }
  static std::uint64_t size(const run_queue& q) { return q.mask_ + 1; }
  static std::uint64_t free_from(const run_queue& q) { return q.free_from_; }

  static const auto& top(const fork_deque& d) { return d.top_; }
  static const auto& bottom(const fork_deque& d) { return d.bottom_; }
  static const auto& locked(const fork_deque& d) { return locked(d.thieves_); }
  static const auto* slots(const fork_deque& d) { return d.slots_.get(); }
  static std::int64_t size(const fork_deque& d) { return d.mask_ + 1; }
  static std::int64_t old_top(const fork_deque& d) { return d.old_top_; }
};

}  // namespace rota::detail

#endif
