// What mappings to models read of the runtime's objects, without taking a step of the schedule.
// Only in programs that link rota_explored.
#ifndef ROTA_TESTS_SUPPORT_INSPECT_H
#define ROTA_TESTS_SUPPORT_INSPECT_H

#include <rota/base/inspect.h>
#include <rota/cown/core.h>
#include <rota/event/core.h>
#include <rota/park/event_notifier.h>
#include <rota/queue/fork_deque.h>
#include <rota/queue/inbox.h>
#include <rota/queue/run_queue.h>

#include <cstdint>

#include "cown/cown_side.h"
#include "event/schedule.h"
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

  // --- the schedule of handlers ---

  using handler_phase = handler::phase;
  static handler_phase phase_of(const handler& h) { return h.phase_; }
  static bool again(const handler& h) { return h.again_; }
  static bool has_group(const handler& h) { return h.has_group_; }
  static void forget_resumed(handler& h) { h.resumes_ = nullptr; }  // as aftermath::settle
  static std::uint64_t runs(const handler& h) { return h.runs_; }
  static const handler* holder(const handler_group& g) { return g.holder_; }
  static const auto& locked(const handler_schedule& s) { return locked(s.lock_); }
  static unsigned idle(const handler_schedule& s) { return s.idle_; }
  static void set_idle(handler_schedule& s, unsigned runners) { s.idle_ = runners; }

  // Calls f with every handler in the list, the first first.
  template <class F>
  static void each_in(const handler_list& l, F f) {
    for (const handler* h = l.first_; h; h = h->next_) f(*h);
  }
  template <class F>
  static void each_queued(const handler_schedule& s, F f) {
    each_in(s.run_queue_, f);
  }
  template <class F>
  static void each_grouped(const handler_group& g, F f) {
    each_in(g.queue_, f);
  }
  // By bucket: not in the order of the triggers.
  template <class F>
  static void each_triggered(const handler_schedule& s, F f) {
    for (const handler_list& l : s.wait_set_) each_in(l, f);
  }

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

  // --- cowns ---

  static const slot* tail(const cown_base& c) { return c.tail_.peek(); }
  static std::uint32_t sent(const cown_base& c) {
    return cown_base::sent_of(c.refs_.peek()) + c.came_.peek();
  }
  static bool is_high(const cown_base& c) { return (c.state_.peek() & cown_base::high) != 0; }
  static bool is_low(const cown_base& c) { return (c.state_.peek() & cown_base::low) != 0; }
  static const cown_base* blocker(const cown_base& c) { return c.blocker_.peek(); }
  // Calls f with every cown that c has muted. Only while nobody has the lock of the board.
  template <class F>
  static void each_muted(const cown_base& c, F f) {
    const cown_side* const side = c.side_.peek();
    if (!side) return;
    for (behaviour* token = side->muted.first(); token; token = muted_list::after(*token))
      for (std::uint32_t i = 0; i < token->count; ++i)
        if (!token->slots()[i].is_released()) f(token->slots()[i].cown());
  }
};

}  // namespace rota::detail

#endif
