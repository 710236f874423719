// How a wait ends exactly once. A task that waits has `waiting` set; whoever clears it, in one
// compare-exchange, has claimed the task and queues it: the channel, the timer, or the request to
// stop. The others find the bit clear and go on to somebody else. A task that was claimed past the
// owner of its wait list is still linked there; it unlinks itself, under the owner's lock, before
// it goes on (end_wait), so a list never holds a task that waits elsewhere.

#include "task/activity.h"

#include <rota/base/assert.h>

#include "pool/pool.h"
#include "pool/worker.h"
#include "task/runtime_state.h"

namespace rota::detail {

bool activity::begin_wait(worker& w, std::coroutine_handle<> leaf, wait_kind kind, void* awaiter,
                          bool can_be_cancelled) noexcept {
  frame = leaf;
  if (can_be_cancelled && may_be_stopped() && stop_requested()) [[unlikely]]
    return false;
  link = reinterpret_cast<job*>((static_cast<std::uintptr_t>(kind) << 56) |
                                reinterpret_cast<std::uintptr_t>(awaiter));
  if (w.home().is_strict()) w.hold(this);
  const std::uint32_t also = can_be_cancelled ? waiting | cancellable : waiting;
  // release: whoever claims us sees the frame and the awaiter.
  // seq_cst: of us and a request to stop, one sees the other.
  const std::uint32_t before = state_.fetch_or(also, sync::memory_order_seq_cst);
  if (can_be_cancelled && (before & (stop | branch))) [[unlikely]] {
    // A request came in between, or may have: take the wait back unless it was claimed already.
    if ((root_of(*this).state_.load(sync::memory_order_seq_cst) & stop) && claim()) {
      w.forget(this);
      return false;
    }
  }
  return true;
}

bool activity::claim() noexcept {
  std::uint32_t s = state_.load(sync::memory_order_relaxed);
  for (;;) {
    if (!(s & waiting)) return false;
    if (s & looked_at) [[unlikely]] {
      sync::pause();
      s = state_.load(sync::memory_order_relaxed);
      continue;
    }
    // acquire: pairs with begin_wait().
    if (state_.compare_exchange_weak(s, s & ~(waiting | cancellable), sync::memory_order_acq_rel,
                                     sync::memory_order_relaxed))
      return true;
  }
}

bool activity::claim_to_stop(const activity& root) noexcept {
  // seq_cst: see begin_wait().
  std::uint32_t s = state_.load(sync::memory_order_seq_cst);
  for (;;) {
    if (!(s & cancellable)) return false;
    if (s & looked_at) [[unlikely]] {
      sync::pause();
      s = state_.load(sync::memory_order_relaxed);
      continue;
    }
    // The wait may be over any moment, and the next one shielded; the strand may end, and its block
    // be another task's. While it is looked at it stays what it is.
    if (!state_.compare_exchange_weak(s, s | looked_at, sync::memory_order_acquire,
                                      sync::memory_order_relaxed))
      continue;
    const bool ours = &root_of(*this) == &root;
    // release: as in end_look().
    state_.fetch_and(ours ? ~(waiting | cancellable | looked_at) : ~looked_at,
                     sync::memory_order_release);
    return ours;
  }
}

bool activity::begin_look() noexcept {
  std::uint32_t s = state_.load(sync::memory_order_relaxed);
  while ((s & (live | waiting | looked_at)) == (live | waiting)) {
    if (state_.compare_exchange_weak(s, s | looked_at, sync::memory_order_acquire,
                                     sync::memory_order_relaxed))
      return true;
  }
  return false;
}

void activity::end_look() noexcept {
  // release: our reads of its frames come before its next step.
  state_.fetch_and(~looked_at, sync::memory_order_release);
}

void activity::append(wait_list& list, activity& a) noexcept {
  a.next_ = nullptr;
  a.prev_ = list.last_;
  if (list.last_)
    list.last_->next_ = &a;
  else
    list.first_ = &a;
  list.last_ = &a;
  a.linked_ = true;
}

void activity::remove(wait_list& list, activity& a) noexcept {
  if (!a.linked_) return;
  activity* next = a.next_;
  if (a.prev_)
    a.prev_->next_ = next;
  else
    list.first_ = next;
  if (next)
    next->prev_ = a.prev_;
  else
    list.last_ = a.prev_;
  a.next_ = nullptr;
  a.prev_ = nullptr;
  a.linked_ = false;
}

activity* activity::claim_first(wait_list& list) noexcept {
  while (activity* a = list.first_) {
    remove(list, *a);
    if (a->claim()) return a;
  }
  return nullptr;
}

extras& activity::get_extras() {
  if (extras* e = existing_extras()) return *e;
  auto fresh = std::make_unique<extras>();
  std::uintptr_t none = 0;
  // seq_cst: of us and a request to stop, one sees the other.
  if (!side_.compare_exchange_strong(none, reinterpret_cast<std::uintptr_t>(fresh.get()),
                                     sync::memory_order_seq_cst))
    return *reinterpret_cast<extras*>(none);
  extras& e = *fresh.release();
  if (state_.load(sync::memory_order_seq_cst) & stop) e.stop.request_stop();
  return e;
}

// --- core.h -------------------------------------------------------------------------------------

namespace {

worker& running_worker() noexcept {
  worker* w = worker::here();
  ROTA_ASSERT(w && w->current(), "this can only be done inside a task");
  return *w;
}

activity& running(worker& w) noexcept { return *static_cast<activity*>(w.current()); }

}  // namespace

void transfer(std::coroutine_handle<> frame) noexcept { running_worker().hand_over(frame); }

bool give_way(std::coroutine_handle<> leaf, bool& stopped) noexcept {
  worker& w = running_worker();
  activity& a = running(w);
  if (a.may_be_stopped() && a.stop_requested() && !a.is_shielded()) [[unlikely]] {
    stopped = true;
    return false;
  }
  a.frame = leaf;
  w.push(&a);
  return true;
}

bool take_turns(std::coroutine_handle<> leaf) noexcept {
  worker& w = running_worker();
  if (w.pass_point()) return false;
  activity& a = running(w);
  a.frame = leaf;
  w.push(&a);
  return true;
}

bool go_on(std::coroutine_handle<> leaf) noexcept {
  worker& w = running_worker();
  if (!w.home().is_strict() && !w.share_is_spent()) return false;
  activity& a = running(w);
  a.frame = leaf;
  w.push(&a);
  return true;
}

bool begin_wait(std::coroutine_handle<> leaf, wait_kind kind, void* awaiter) noexcept {
  worker& w = running_worker();
  activity& a = running(w);
  return a.begin_wait(w, leaf, kind, awaiter, !a.is_shielded());
}

bool begin_wait(wait_list& list, std::coroutine_handle<> leaf, wait_kind kind,
                void* awaiter) noexcept {
  worker& w = running_worker();
  activity& a = running(w);
  activity::append(list, a);
  if (a.begin_wait(w, leaf, kind, awaiter, !a.is_shielded())) return true;
  activity::remove(list, a);
  return false;
}

void end_wait(wait_list& list) noexcept { activity::remove(list, running(running_worker())); }

activity* claim_first(wait_list& list) noexcept { return activity::claim_first(list); }

bool claim(activity& a) noexcept { return a.claim(); }

void* awaiter_of(const activity& a) noexcept { return a.awaiter(); }

void make_ready(activity& a) noexcept { runtime_state::of(a).workers().post(&a); }

void set_purpose(void* purpose) {
  activity::root_of(running(running_worker())).get_extras().purpose = purpose;
}

void* purpose() noexcept {
  worker* const w = worker::here();
  job* const j = w ? w->current() : nullptr;
  if (!j || (j->state_.load(sync::memory_order_relaxed) & job::is_behaviour)) return nullptr;
  const extras* const e = activity::root_of(static_cast<activity&>(*j)).existing_extras();
  return e ? e->purpose : nullptr;
}

activity* current_activity() noexcept { return &running(running_worker()); }

bool stop_requested() noexcept {
  const activity& a = running(running_worker());
  return a.may_be_stopped() && a.stop_requested() && !a.is_shielded();
}

void set_shield(bool on) noexcept {
  if (!on && !worker::here()) return;  // the runtime ends and destroys what could not be stopped
  // relaxed: a strand that begins to wait at the same time has no say in the order.
  auto& shields = activity::root_of(running(running_worker())).shields_;
  if (on)
    shields.fetch_add(1, sync::memory_order_relaxed);
  else
    shields.fetch_sub(1, sync::memory_order_relaxed);
}

bool is_done(const activity& a) noexcept {
  return a.follower_.load(sync::memory_order_acquire) == activity::done;
}

void request_stop(activity& a) noexcept {
  // seq_cst: see begin_wait() and get_extras().
  const std::uint32_t before = a.state_.fetch_or(activity::stop, sync::memory_order_seq_cst);
  if (before & activity::stop) return;
  // The task may end meanwhile if nobody holds its handle, so its stop source is copied first.
  if (a.existing_extras()) runtime_state::of(a).stop_source_of(a).request_stop();
  const auto cancel = [&a](activity& strand) {
    if (strand.claim_to_stop(a)) make_ready(strand);
  };
  cancel(a);
  if (before & activity::branched)
    runtime_state::of(a).for_each_live([&](activity& other) {
      if (&other != &a) cancel(other);
    });
}

// --- joining ------------------------------------------------------------------------------------

bool join_awaiter_base::wait(std::coroutine_handle<> leaf) noexcept {
  worker& w = running_worker();
  activity& me = running(w);
  activity& t = *target;
  std::uintptr_t seen = activity::nobody;
  // Locked while we begin to wait: the target's end, and we ourselves if a request to stop resumes
  // us elsewhere meanwhile, wait for the name to stand there. acquire on failure: its result.
  if (!t.follower_.compare_exchange_strong(seen, activity::locked, sync::memory_order_acquire,
                                           sync::memory_order_acquire)) {
    ROTA_CHECK(seen == activity::done || seen == activity::ending,
               "two tasks wait for the end of one task");
    return go_on(leaf);
  }
  if (!me.begin_wait(w, leaf, wait_kind::join, target, !me.is_shielded())) {
    t.follower_.store(activity::nobody, sync::memory_order_release);
    stopped = true;
    return false;
  }
  // release: the target's end sees that we wait.
  t.follower_.store(reinterpret_cast<std::uintptr_t>(&me), sync::memory_order_release);
  return true;
}

bool join_awaiter_base::finish_wait() noexcept {
  for (;;) {
    // acquire: shows the target's result.
    std::uintptr_t seen = target->follower_.load(sync::memory_order_acquire);
    if (seen == activity::done) return !stopped;
    if (seen == activity::ending || seen == activity::locked) {  // somebody is just writing
      sync::pause();
      continue;
    }
    if (seen == activity::nobody) return false;
    // Cancelled: take our name back, unless the target ends just now.
    if (target->follower_.compare_exchange_strong(seen, activity::nobody,
                                                  sync::memory_order_acq_rel))
      return false;
  }
}

}  // namespace rota::detail
