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

  // --- the pool ---

  // Calls f with every job that is queued there.
  template <class F>
  static void each_posted(const pool& p, F f) {
    for (job* j = p.injector_.newest_.peek(); j; j = j->link) f(j);
  }
  template <class F>
  static void each_in_ring(const worker& w, F f) {
    const run_queue& q = w.ring_;
    const std::uint64_t end = q.tail_.peek();
    for (std::uint64_t i = q.head_.peek(); i < end; ++i) f(q.slots_[i & q.mask_].peek());
  }
  static job* in_slot(const worker& w) { return w.next_.peek(); }

  // Where a worker is on its way to sleep: its notifier's word, and whether it is in the idle set.
  enum class ticket : std::uint8_t { running, prepared, parked, notified };
  static ticket ticket_of(const worker& w) {
    return static_cast<ticket>(w.notifier_.state_.peek());
  }
  static bool is_idle(const pool& p, unsigned w) {
    return (p.idle_.word_of(w).bits.peek() & idle_set::bit(w)) != 0;
  }
  static unsigned lookout(const pool& p) { return p.lookout_.peek(); }
  static bool is_stopping(const pool& p) { return p.stopping_.peek(); }
};

}  // namespace rota::detail

#endif
