// Why nobody starves: what is triggered is moved by the next step, whoever makes it, and a step
// puts it behind what was queued before and in front of whatever is triggered later. In front of it
// are then at most the other handlers, each once; those that come back by hand-over were taken from
// the queue before.
//
// Why no runner sleeps beside a handler that waits: each handler that comes into the wait set, and
// each that comes back into the run queue, wakes a runner if one is idle, and a runner becomes idle
// only in the step that finds both empty.

#include "event/schedule.h"

#include <rota/base/assert.h>
#include <rota/base/job.h>

#include <algorithm>
#include <bit>

#include "pool/worker.h"
#include "task/activity.h"

namespace rota::detail {

// --- lists --------------------------------------------------------------------------------------

void handler_list::push(handler& h) noexcept {
  h.next_ = nullptr;
  if (last_)
    last_->next_ = &h;
  else
    first_ = &h;
  last_ = &h;
}

void handler_list::push_front(handler& h) noexcept {
  h.next_ = first_;
  first_ = &h;
  if (!last_) last_ = &h;
}

void handler_list::take_out(handler& h) noexcept {
  handler_list kept;
  while (handler* const one = pop())
    if (one != &h) kept.push(*one);
  *this = kept;
}

handler* handler_list::pop() noexcept {
  handler* const h = first_;
  if (!h) return nullptr;
  first_ = std::exchange(h->next_, nullptr);
  if (!first_) last_ = nullptr;
  return h;
}

void handler_list::append(handler_list& other) noexcept {
  if (other.empty()) return;
  if (last_)
    last_->next_ = other.first_;
  else
    first_ = other.first_;
  last_ = other.last_;
  other.first_ = other.last_ = nullptr;
}

// --- who waits for the end ----------------------------------------------------------------------

void idle_watch::signal() noexcept {
  if (by_ == by::task) return event_.set();
  // relaxed: the last store says more.
  done_.store(called, sync::memory_order_relaxed);
  sync::futex_wake(done_, 1);
  // release: pairs with wait(); the watch may be gone after this.
  done_.store(over, sync::memory_order_release);
}

void idle_watch::wait() noexcept {
  worker* const w = worker::here();
  // acquire: pairs with signal(); shows what the last run did.
  for (std::uint32_t now; (now = done_.load(sync::memory_order_acquire)) != over;) {
    if (w)
      w->help();
    else if (now == called)
      sync::yield_thread();
    else
      sync::futex_wait(done_, 0);
  }
}

void aftermath::settle() noexcept {
  // A run that was resumed may end, so what it waits for is taken out first.
  while (handler* h = resumed.pop()) make_ready(*std::exchange(h->resumes_, nullptr));
  while (watches) std::exchange(watches, watches->next_)->signal();
  while (handler* h = dropped.pop()) h->drop_ref();
}

// --- the schedule -------------------------------------------------------------------------------

void handler_schedule::add(handler& h) noexcept {
  const std::size_t bucket = static_cast<std::size_t>(h.class_) * handler::priorities +
                             static_cast<std::size_t>(1 - h.priority_);
  h.phase_ = phase::triggered;
  h.since_ = starts_;
  wait_set_[bucket].push(h);
  occupied_ |= 1u << bucket;
  ++queued_;
}

aftermath handler_schedule::trigger(handler*& all, handler*& kept) noexcept {
  aftermath then;
  handler* removed = nullptr;
  kept = nullptr;
  spin_guard guard{lock_};
  while (handler* const h = all) {
    all = h->trigger_next_;
    if (h->removed_) {
      h->trigger_next_ = std::exchange(removed, h);
      continue;
    }
    if (h->phase_ == phase::running) {
      h->again_ = true;
    } else {
      ROTA_ASSERT(h->phase_ == phase::waiting, "a handler is triggered that is triggered already");
      add(*h);
      wake(then);
    }
    // Never the last pointer: its owner lets go only after it was removed.
    if (handler* const before = std::exchange(kept, h)) before->drop_ref();
  }
  all = removed;
  return then;
}

// One scheduling step: start_sched of the spec.
void handler_schedule::step() noexcept {
  if (!occupied_) return;
  ++steps_;
  for (; occupied_; occupied_ &= occupied_ - 1) {
    handler_list& bucket = wait_set_[static_cast<std::size_t>(std::countr_zero(occupied_))];
    for (handler* h = bucket.first(); h; h = h->next_) h->phase_ = phase::queued;
    run_queue_.append(bucket);
  }
}

// Whether the first of the queue may run. Otherwise it has lined up for its group.
bool handler_schedule::begin(handler& h) noexcept {
  const std::uint64_t passed = starts_ - h.since_;
  if (!h.has_group_) {  // one that was handed its group was counted when it lined up
    h.max_passed_ = std::max(h.max_passed_, passed);
    max_passed_ = std::max(max_passed_, passed);
  }
  if (h.group_ && !h.has_group_) {
    if (h.group_->holder_) {
      h.phase_ = phase::grouped;
      h.group_->queue_.push(h);
      return false;
    }
    h.group_->holder_ = &h;
    h.has_group_ = true;
  }
  h.phase_ = phase::running;
  --queued_;
  ++starts_;
  ++h.runs_;
  h.runs_as_nobody();  // who is to run it has not said so yet
  return true;
}

// One that was removed while it was queued.
void handler_schedule::skip(handler& h, aftermath& then) noexcept {
  --queued_;
  if (h.has_group_) hand_over(h, then);
  rest(h, then);
}

handler* handler_schedule::take_first(aftermath& then) noexcept {
  step();
  while (handler* h = run_queue_.pop()) {
    if (h->removed_)
      skip(*h, then);
    else if (begin(*h))
      return h;
  }
  ++idle_;
  return nullptr;
}

handler* handler_schedule::take(aftermath& then) noexcept {
  spin_guard guard{lock_};
  return take_first(then);
}

// The handler has nothing to do, and who waits for that is told.
void handler_schedule::rest(handler& h, aftermath& then) noexcept {
  h.phase_ = phase::waiting;
  h.guest_ = false;
  h.again_ = false;
  while (idle_watch* const w = h.watches_) {
    h.watches_ = w->next_;
    w->next_ = std::exchange(then.watches, w);
  }
  if (h.removed_) then.dropped.push(h);
}

// Gives the group to the first that waits for it. True if that one is to be run.
bool handler_schedule::hand_over(handler& h, aftermath& then) noexcept {
  handler_group& g = *h.group_;
  h.has_group_ = false;
  handler* const next = g.queue_.pop();
  g.holder_ = next;
  if (!next) return false;
  next->has_group_ = true;
  if (next->resumes_) {
    then.resumed.push(*next);
    return false;
  }
  next->phase_ = phase::queued;
  run_queue_.push_front(*next);
  return true;
}

// Gives how many handlers have come into the wait set or back into the run queue.
unsigned handler_schedule::end(handler& h, bool more, aftermath& then) noexcept {
  ROTA_ASSERT(h.phase_ == phase::running, "a run ends that has not begun");
  unsigned came = 0;
  if (h.has_group_ && hand_over(h, then)) ++came;
  if ((more || h.again_) && !h.removed_) {
    h.again_ = false;
    add(h);
    ++came;
  } else {
    rest(h, then);
  }
  return came;
}

handler* handler_schedule::finish_and_take(handler& h, bool more, aftermath& then) noexcept {
  spin_guard guard{lock_};
  end(h, more, then);
  return take_first(then);
}

aftermath handler_schedule::finish(handler& h, bool more) noexcept {
  aftermath then;
  spin_guard guard{lock_};
  wake(then, end(h, more, then));
  return then;
}

bool handler_schedule::leave_group(handler& h, aftermath& then) noexcept {
  spin_guard guard{lock_};
  if (!h.has_group_) return false;
  if (hand_over(h, then)) wake(then);
  return true;
}

aftermath handler_schedule::wait_for(handler& h, const job* who) noexcept {
  aftermath then;
  spin_guard guard{lock_};
  handler_group* const g = h.group_.get();
  if (!g || h.has_group_ || h.phase_ != phase::running) return then;
  const handler* const holder = g->holder_;
  // relaxed: equal to `who` only if that has stored it.
  if (!holder || holder->phase_ != phase::running || !who ||
      holder->runs_as_.load(sync::memory_order_relaxed) != who)
    return then;
  h.guest_ = true;
  if (h.resumes_) {
    g->queue_.take_out(h);
    then.resumed.push(h);
  }
  return then;
}

void handler_schedule::remove(handler& h) noexcept {
  spin_guard guard{lock_};
  if (std::exchange(h.removed_, true)) return;
  --handlers_;
  if (h.phase_ != phase::waiting) h.add_ref();  // until it rests
}

aftermath handler_schedule::drop_removed() noexcept {
  aftermath then;
  handler_list kept;
  spin_guard guard{lock_};
  step();
  while (handler* h = run_queue_.pop()) {
    if (h->removed_)
      skip(*h, then);
    else
      kept.push(*h);
  }
  run_queue_.append(kept);
  return then;
}

bool handler_schedule::watch(handler& h, idle_watch& w) noexcept {
  spin_guard guard{lock_};
  // One that was removed is not begun any more, so only a run under way is waited for.
  if (h.removed_ && h.phase_ != phase::running) return false;
  // Events of a handler that waits: somebody is about to trigger it.
  if (h.phase_ == phase::waiting && !h.has_events()) return false;
  w.next_ = std::exchange(h.watches_, &w);
  return true;
}

handler_schedule::totals handler_schedule::statistics() const noexcept {
  spin_guard guard{lock_};
  return {starts_, steps_, max_passed_, queued_, handlers_, most_handlers_};
}

bool handler_schedule::unwatch(handler& h, idle_watch& w) noexcept {
  spin_guard guard{lock_};
  for (idle_watch** at = &h.watches_; *at; at = &(*at)->next_) {
    if (*at != &w) continue;
    *at = w.next_;
    return true;
  }
  return false;
}

void handler_schedule::enlist() noexcept {
  spin_guard guard{lock_};
  most_handlers_ = std::max(most_handlers_, ++handlers_);
}

bool handler_schedule::is_removed(const handler& h) const noexcept {
  spin_guard guard{lock_};
  return h.removed_;
}

bool handler_schedule::is_over(const handler& h) const noexcept {
  spin_guard guard{lock_};
  return h.removed_ && h.phase_ == phase::waiting;
}

void handler_schedule::add_counters(const handler& h, handler_counters& to) const noexcept {
  spin_guard guard{lock_};
  to.runs = h.runs_;
  to.max_passed = h.max_passed_;
}

}  // namespace rota::detail
