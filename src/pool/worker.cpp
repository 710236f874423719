#include "pool/worker.h"

#include <rota/base/assert.h>
#include <rota/base/block_cache.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "pool/pool.h"

namespace rota::detail {

namespace {

using namespace std::chrono_literals;

// Scheduling points between two looks at inbox, injector and timers. A look costs a clock read,
// some 30 ns: below 2 ns a point.
constexpr std::uint64_t look_every = 24;

// Runs of the next slot ahead of the queue per renewal. Two renewals can fall into one wait.
constexpr unsigned bypass = 12;

static_assert(look_every + 2 * bypass + 4 <= fairness_slack);

// Calls, returns, forks and joins that a step may make before the worker looks whether others wait.
// Steps whose transfers are slow look more often, see give_up().
constexpr int longest_slice = 256;
constexpr auto slice_target = 500us;

// A step gives way to others that wait after this many transfers, or after this time.
constexpr int transfers_per_step = 1024;
constexpr auto time_per_step = 5ms;

// Awaits that were ready at once, per step: then the task gives way.
constexpr int ready_awaits_per_step = 64;

// Thieves bring home at most this many jobs from one visit.
constexpr std::size_t loot_size = 256;

// Rounds over all victims before a worker prepares to sleep. A wake-up takes 13 to 20 us; searching
// about as long pays for itself.
constexpr auto search_time = 15us;

// Looks between two looks at the clock, for whether it is time for a rest.
constexpr unsigned looks_a_weighing = sync::is_explored ? 1 : 16;

// Whoever has begun a trial and does not come back to it for so long leaves it to others.
constexpr auto trial_patience = 2ms;

// With more jobs in all queues nobody rests.
constexpr std::size_t backlog_size = 128;

// How long jobs may wait in a queue whose owner works while somebody rests.
constexpr auto patience = sync::is_explored ? 0us : 250us;

// A lookout's naps double from here to there.
constexpr auto first_nap = 1ms;
constexpr unsigned nap_doublings = 6;

}  // namespace

worker::worker(pool& home, unsigned index)
    : home_(home),
      idle_(home.idle_),
      index_(index),
      strict_(home.is_strict()),
      shared_(home.workers_.capacity() > 1),
      plain_(!strict_ && !home.watched_),
      ring_(shared_),
      strict_queue_(strict_ ? std::make_unique<strict_queue>() : nullptr),
      random_(index * 7919u + 1),
      may_rest_(shared_ && !strict_ && home.longest_rest_ > 0ns),
      rests_when_(home.longest_rest_, sync::now()),
      seen_points_(home.workers_.capacity(), ~std::uint64_t{0}),
      named_(home.watched_) {}

// --- queueing -----------------------------------------------------------------------------------

[[gnu::noinline]] void worker::push_specially(job* j) {
  if (trace_) note(trace_kind::ready, j);
  if (strict_)
    strict_queue_->push(j);
  else
    line_up(j);
}

void worker::wake_one() noexcept { home_.wake_one(index_); }

void worker::ready(job* j) {
  if (!plain_) [[unlikely]] {
    if (trace_) note(trace_kind::ready, j);
    if (strict_) {
      if (strict_queue_->has_place(j))
        strict_queue_->enable(j);
      else
        strict_queue_->push(j);
      return;
    }
  }
  // relaxed: only we fill the slot.
  if (next_.load(sync::memory_order_relaxed) != nullptr || !may_bypass()) {
    line_up(j);
    return;
  }
  j->ready_at = static_cast<std::uint32_t>(points_.load(sync::memory_order_relaxed));
  // release: a lookout may take it.
  next_.store(j, sync::memory_order_release);
  if (shared_) {
    // Either we see that there is no lookout, or the one that resigns sees us running.
    sync::light_fence();
    if (home_.lookout_.load(sync::memory_order_relaxed) == idle_set::nobody) [[unlikely]]
      if (idle_.any()) home_.wake_one(index_);
  }
}

void worker::hold(job* j) {
  if (strict_) [[unlikely]]
    strict_queue_->hold(j);
}

void worker::forget(job* j) {
  if (strict_) [[unlikely]]
    strict_queue_->remove(j);
}

inline job* worker::take_next() noexcept {
  if (!shared_) {
    job* j = next_.load(sync::memory_order_relaxed);
    next_.store(nullptr, sync::memory_order_relaxed);
    return j;
  }
  // A lookout may have been faster. relaxed: what we find there, we have put there.
  return next_.exchange(nullptr, sync::memory_order_relaxed);
}

// --- choosing -----------------------------------------------------------------------------------

[[gnu::always_inline]] inline job* worker::pick() {
  const std::uint64_t point = points_.load(sync::memory_order_relaxed) + 1;
  // release: the last step has ended; a watcher that reads this sees what it did.
  points_.store(point, sync::memory_order_release);
  if (point - last_look_ >= look_every) [[unlikely]]
    look();
  if (strict_) [[unlikely]]
    return pick_strict();
  if (next_.load(sync::memory_order_relaxed) != nullptr)
    if (job* j = bypass_queue()) return j;
  return ring_.pop();
}

[[gnu::noinline]] job* worker::pick_strict() {
  // Guards are looked at at every point, each at its place.
  look_at_watchers();
  return strict_queue_->pop();
}

// Whether a job in the next slot could run ahead of the queue now: nobody is bypassed, or there is
// credit.
inline bool worker::may_bypass() noexcept {
  const std::uint64_t head = ring_.head();
  if (head == ring_.tail()) return true;
  if (head >= mark_) {
    mark_ = ring_.tail();
    credit_ = bypass;
  }
  return credit_ > 0;
}

// The next slot is filled: its job, if it may run ahead of the queue. Otherwise it lines up.
inline job* worker::bypass_queue() {
  if (ring_.empty()) return take_next();  // nobody is bypassed
  may_bypass();
  job* j = take_next();
  if (!j) return nullptr;
  if (credit_ > 0) {
    --credit_;
    return j;
  }
  ring_.push(j);
  return nullptr;
}

bool worker::pass_point() {
  if (strict_) return false;
  const std::uint64_t point = points_.load(sync::memory_order_relaxed) + 1;
  // release: as in pick().
  points_.store(point, sync::memory_order_release);
  if (point - last_look_ >= look_every) [[unlikely]]
    look();
  if (stopping_ || next_.load(sync::memory_order_relaxed) != nullptr || !ring_.empty())
    return false;
  ready_awaits_ = ready_awaits_per_step;
  return true;
}

void worker::look_at_watchers() {
  // Looks at guards change nothing, so they are no reason for more looks: guards that do not hold
  // would keep each other, and the worker, awake.
  const std::uint64_t ended = points() - looks_;
  if (ended == shown_) return;
  shown_ = ended;
  // Either we see the watcher or it sees the step that we have ended.
  sync::light_fence();
  if (home_.has_watchers_.load(sync::memory_order_relaxed)) home_.release_watchers(*this);
}

[[gnu::noinline]] void worker::look() {
  // What is found now came after the last look.
  const std::uint64_t since = last_look_;
  last_look_ = points_.load(sync::memory_order_relaxed);
  if constexpr (!sync::is_explored) look_for_observers();
  look_at_watchers();
  take_mail(since);
  if (timer_driver* t = home_.timers(); t && t->next(index_) != sync::time_point::max())
    t->fire(*this, index_, sync::now());
  if (home_.resting_.load(sync::memory_order_relaxed) != 0) [[unlikely]]
    call_for_help();
  if (++looks_at_points_ % looks_a_weighing == 0) weigh();
  // relaxed: stop() notifies too, and the flag is looked at before sleeping.
  stopping_ = home_.stopping_.load(sync::memory_order_relaxed);
}

void worker::take_mail(std::uint64_t since) {
  job* j = home_.injector_.take_all();
  if (!j) return;
  while (j) {
    job* next = j->link;
    j->link = nullptr;
    if (strict_) {
      ready(j);
    } else {
      j->ready_at = static_cast<std::uint32_t>(since) - j->ready_at;
      ring_.push(j);
    }
    j = next;
  }
  if (shared_) offer_work();
}

[[gnu::noinline]] void worker::record_long_delay(std::uint32_t delay) noexcept {
  bump(long_delays_[static_cast<unsigned>(std::bit_width(delay))]);
  if (delay > max_delay_.load(sync::memory_order_relaxed))
    max_delay_.store(delay, sync::memory_order_relaxed);
}

// --- running ------------------------------------------------------------------------------------

[[gnu::always_inline]] inline void worker::run(job* j) {
  if (plain_) [[likely]]
    record_delay(j);
  else
    prepare_step(j);
  set_current(j);
  ready_awaits_ = ready_awaits_per_step;
  std::coroutine_handle<> frame = j->frame;
  for (;;) {
    hand_over_ = nullptr;
    frame.resume();
    frame = hand_over_;
    if (!frame) break;
    if (--slice_ == 0 && give_up(frame)) [[unlikely]]
      break;
  }
  if (!forks_.empty()) [[unlikely]]
    settle_forks();
}

// A slice of transfers is over: gives way if others wait and the step has had its share.
[[gnu::noinline]] bool worker::give_up(std::coroutine_handle<> frame) {
  const auto now = sync::now();
  const std::uint64_t step = points();
  if (step != long_step_) {
    // The slice began in an earlier step: this one is timed from here.
    long_step_ = step;
    step_began_ = now;
    transfers_ = 0;
    slice_size_ = longest_slice;
  } else {
    transfers_ += slice_size_;
    // Slow transfers make shorter slices, so that the clock is looked at often enough.
    const auto took = std::max<std::chrono::nanoseconds>(now - slice_began_, 1ns);
    const std::int64_t wanted = slice_size_ * std::chrono::nanoseconds(slice_target) / took;
    slice_size_ = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, longest_slice));
  }
  slice_began_ = now;
  slice_ = slice_size_;
  if (strict_) return false;
  if (transfers_ < transfers_per_step && now - step_began_ < time_per_step) return false;
  transfers_ = 0;
  step_began_ = now;
  look();
  if (ring_.empty() && next_.load(sync::memory_order_relaxed) == nullptr) return false;
  job* j = current();
  j->frame = frame;
  push(j);
  return true;
}

// The step is over and left continuations of forks behind. They are ready like anybody: if others
// wait they line up, otherwise we go on with the youngest.
[[gnu::noinline]] void worker::settle_forks() {
  if (ring_.empty() && next_.load(sync::memory_order_relaxed) == nullptr) {
    if (void* fork = forks_.pop_any()) {
      bump(forks_taken_);
      push(home_.hooks_.adopt_fork(*this, fork));
    }
    return;
  }
  // The oldest first, as a thief would.
  while (!forks_.empty()) {
    if (void* fork = forks_.steal()) {
      bump(forks_taken_);
      push(home_.hooks_.adopt_fork(*this, fork));
    }
  }
}

void worker::main() {
  sync::thread_slot<worker>::set(this);
  sync::adopt_worker_thread(index_);
  while (!stopping_) {
    job* j = pick();
    if (!j) [[unlikely]] {
      set_current(nullptr);
      j = search();
      if (!j) continue;
    }
    run(j);
  }
  end_traced_step();
  sync::thread_slot<worker>::set(nullptr);
}

job* worker::take_left() noexcept {
  if (strict_) return strict_queue_->pop();
  if (next_.load(sync::memory_order_relaxed) != nullptr) return take_next();
  return ring_.pop();
}

bool worker::help() {
  job* const outer = current();
  job* j = pick();
  if (!j) j = scan();
  if (!j) {
    look();
    sync::yield_thread();
    return false;
  }
  const trace_record outer_step = end_traced_step();
  run(j);
  set_current(outer);
  resume_traced_step(outer_step);
  return true;
}

// --- running dry --------------------------------------------------------------------------------

// Looks everywhere once: first what is ours, then what can be taken from others.
job* worker::scan() {
  look();
  if (strict_) return strict_queue_->pop();
  if (next_.load(sync::memory_order_relaxed) != nullptr)
    if (job* j = take_next()) return j;
  if (job* j = ring_.pop()) return j;
  if (!shared_) return nullptr;
  const unsigned n = home_.size();
  const auto first = static_cast<unsigned>(random_.below(n));
  timer_driver* const timers = home_.timers();
  const auto now = timers ? sync::now() : sync::time_point::min();
  for (unsigned i = 0; i < n; ++i) {
    worker& victim = home_.at((first + i) % n);
    if (&victim == this) continue;
    if (steal_from(victim)) return ring_.pop();
    // Timers of a worker whose step runs long.
    if (timers && timers->next(victim.index_) <= now && timers->fire(*this, victim.index_, now))
      return ring_.pop();
  }
  return nullptr;
}

bool worker::steal_from(worker& victim) {
  job* loot[loot_size];
  if (const std::size_t n = victim.ring_.steal(loot, loot_size)) {
    // Their waits go on counting here.
    const auto there = static_cast<std::uint32_t>(victim.points());
    const auto here = static_cast<std::uint32_t>(points());
    for (std::size_t i = 0; i < n; ++i) {
      loot[i]->ready_at += here - there;
      ring_.push(loot[i]);
    }
    bump(steals_);
    bump(stolen_, n);
    if (trace_) note(trace_kind::steal, &victim, static_cast<std::uint32_t>(n));
    // While we carried it nobody saw it, and we may not count as a searcher (specs/idle_set).
    if (n > 1) offer_work();
    return true;
  }
  if (void* fork = victim.forks_.steal()) {
    bump(forks_taken_);
    if (trace_) note(trace_kind::steal, &victim, 1);
    job* j = home_.hooks_.adopt_fork(*this, fork);
    j->ready_at = static_cast<std::uint32_t>(points());
    ring_.push(j);
    return true;
  }
  return false;
}

// For a lookout: a job that has waited in somebody's next slot since our last nap.
job* worker::take_stuck() noexcept {
  for (unsigned i = 0; i < home_.size(); ++i) {
    worker& victim = home_.at(i);
    const std::uint64_t point = victim.points();
    if (std::exchange(seen_points_[i], point) != point || i == index_) continue;
    if (victim.next_.load(sync::memory_order_relaxed) == nullptr) continue;
    // acquire: pairs with the release in ready().
    if (job* j = victim.next_.exchange(nullptr, sync::memory_order_acquire)) {
      j->ready_at = static_cast<std::uint32_t>(points());
      return j;
    }
  }
  return nullptr;
}

// As scan(), but takes nothing: while we are in the idle set, what is queued stays queued, so that
// another worker that finds everybody idle can rely on it.
bool worker::sees_work() const noexcept {
  if (!home_.injector_.empty() || !ring_.empty()) return true;
  if (next_.load(sync::memory_order_relaxed) != nullptr) return true;
  if (strict_ && !strict_queue_->empty()) return true;
  if (home_.stopping_.load(sync::memory_order_relaxed)) return true;
  const auto now = sync::now();
  timer_driver* t = home_.timers();
  for (unsigned i = 0; i < home_.size(); ++i) {
    const worker& other = home_.at(i);
    if (t && t->next(i) <= now) return true;
    if (i == index_) continue;
    if (!other.ring_.empty() || !other.forks_.empty()) return true;
  }
  return false;
}

// --- resting ------------------------------------------------------------------------------------

// To everybody a rest looks like a long step. Who rests has no jobs: it gives them away before.

// Whether it is time to rest, see rest_policy.h. It happens when we have nothing to do.
void worker::weigh() noexcept {
  if (!may_rest_ || is_tired_) return;
  const auto now = sync::now();
  if (!rests_when_.is_due(now)) return;
  const bool on_trial = rests_when_.counts();
  if (!others_work() || is_much_to_do() || !home_.claim_trial(trial_, now, now + trial_patience)) {
    if (on_trial) home_.end_trial(trial_);
    rests_when_.postpone(now);
  } else if (rests_when_.wants_rest(now, home_.work())) {
    is_tired_ = true;
    give_away();
  } else if (on_trial) {
    home_.end_trial(trial_);
  }
}

// Whether so much is queued that everybody is needed, for a while at least.
bool worker::is_much_to_do() const noexcept {
  std::size_t queued = 0;
  for (unsigned i = 0; i < home_.size(); ++i) queued += home_.at(i).ring_.size();
  return queued > backlog_size || !forks_.empty();
}

// Whether there is anybody, but us, who neither sleeps nor rests.
bool worker::others_work() const noexcept {
  return home_.resting_.load(sync::memory_order_relaxed) + idle_.count() + 1 < home_.size();
}

// The jobs go on waiting at the rear of somebody else's queue: behind those who were there, none of
// whom was here.
void worker::give_away() noexcept {
  const auto here = static_cast<std::uint32_t>(points());
  bool any = false;
  for (;;) {
    job* j = ring_.pop();
    if (!j) j = take_next();
    if (!j) break;
    j->ready_at = here - j->ready_at;
    home_.injector_.put(j);
    any = true;
  }
  if (any) offer_work();
}

void worker::rest() noexcept {
  is_tired_ = false;
  // Somebody has to stay up, also if several begin at once. Others may fall asleep now, but then
  // they look around first.
  const unsigned resting = home_.resting_.fetch_add(1, sync::memory_order_relaxed) + 1;
  bool whole = false;
  if (resting + idle_.count() < home_.size()) {
    auto until = sync::now() + rests_when_.rest_length();
    if (timer_driver* t = home_.timers()) until = std::min(until, t->next(index_));
    bump(rests_);
    home_.claim_trial(trial_, sync::now(), until + trial_patience);
    const traced_pause traced{*this, trace_kind::rest};
    resting_.store(1, sync::memory_order_relaxed);
    // If who calls us misses us, the next glance is near.
    auto now = sync::now();
    auto seen = rest_policy::view::short_steps;
    while (now < until && seen == rest_policy::view::short_steps &&
           resting_.load(sync::memory_order_relaxed) != 0) {
      const auto glance = now + rest_policy::glance;
      sync::futex_wait(resting_, 1, std::min(until, glance));
      now = sync::now();
      if (now >= glance) seen = rests_when_.look(now, home_.work());
    }
    whole = resting_.exchange(0, sync::memory_order_relaxed) != 0 &&
            seen != rest_policy::view::long_steps;
  }
  home_.resting_.fetch_sub(1, sync::memory_order_relaxed);
  if (rests_when_.rested(sync::now(), home_.work(), home_.size() - resting, whole))
    home_.end_trial(trial_);
}

// Somebody rests, since we do as well without it. If what is queued here waits for long, we do not.
void worker::call_for_help() noexcept {
  const auto now = sync::now();
  if (ring_.head() >= backlog_end_) {
    backlog_end_ = ring_.tail();
    backlog_seen_ = now;
  } else if (now - backlog_seen_ > patience) {
    backlog_end_ = 0;
    home_.end_a_rest();
  }
}

bool worker::end_rest() noexcept {
  if (resting_.load(sync::memory_order_relaxed) == 0) return false;
  if (resting_.exchange(0, sync::memory_order_relaxed) == 0) return false;
  sync::futex_wake(resting_);
  return true;
}

// --- searching and sleeping ---------------------------------------------------------------------

[[gnu::noinline]] job* worker::search() {
  end_traced_step();
  ring_.trim();
  weigh();
  if (is_tired_) rest();
  trim_blocks();
  bool searching = idle_.begin_search(index_);
  for (;;) {
    if (searching) {
      const auto until = sync::now() + search_time;
      do {
        if (job* j = scan()) return found_work(true), j;
        if (stopping_) {
          idle_.end_search(index_);
          return nullptr;
        }
        for (int i = 0; i < 32; ++i) sync::pause();
      } while (sync::now() < until);
    } else if (job* j = scan()) {
      return found_work(false), j;
    }
    if (stopping_) {
      if (searching) idle_.end_search(index_);
      return nullptr;
    }

    // A ticket is dear: not if it would be given back at once.
    if (searching && sees_work()) continue;

    // Who rests may hold up those who wait until nothing runs.
    if (home_.resting_.load(sync::memory_order_relaxed) != 0 && !others_work()) home_.end_a_rest();

    // Prepare, tell the others, look again, park.
    notifier_.prepare_park([&] { idle_.enter(index_, searching); });
    searching = false;
    if (sees_work()) {
      searching = leave_to_search();
      notifier_.cancel();
      continue;
    }
    if (idle_.all()) {
      home_.check_quiet();
      if (sees_work()) {
        searching = leave_to_search();
        notifier_.cancel();
        continue;
      }
    }
    const bool napped = sleep_until_work();
    searching = napped ? !idle_.leave(index_) : leave_to_search();
    if (napped)
      if (job* j = take_stuck()) return found_work(searching), j;
  }
}

// Out of the set again, without having slept as others believe. Producers that saw us searching, or
// as the lookout, left their jobs to us: so we count as a searcher again, who looks for more than
// it takes, unless so many search that one of them will (specs/idle_set). True if we count; whoever
// took us out of the set has counted us already.
bool worker::leave_to_search() noexcept {
  return !idle_.leave(index_) || idle_.begin_search(index_);
}

// Parks until notified, or until a timer is due. True if it was the lookout's nap that is over.
bool worker::sleep_until_work() {
  auto deadline = sync::time_point::max();
  timer_driver* t = home_.timers();
  if (t) deadline = t->next(index_);
  bool lookout = false;
  if (shared_ && !idle_.all()) {
    unsigned none = idle_set::nobody;
    // relaxed: the role is a hint except when it is given up, see below.
    lookout = home_.lookout_.load(sync::memory_order_relaxed) == index_ ||
              home_.lookout_.compare_exchange_strong(none, index_, sync::memory_order_relaxed);
  } else if (home_.lookout_.load(sync::memory_order_relaxed) == index_) {
    // Nobody runs: resign, then make sure of it. Either a worker that fills its next slot sees that
    // there is no lookout, or we see that it runs.
    home_.lookout_.store(idle_set::nobody, sync::memory_order_relaxed);
    sync::heavy_fence();
    if (!idle_.all()) {
      notifier_.cancel();
      return false;
    }
    naps_ = 0;
  }
  if (lookout) {
    for (unsigned i = 0; t && i < home_.size(); ++i) deadline = std::min(deadline, t->next(i));
    deadline = std::min(deadline, sync::now() + first_nap * (1u << std::min(naps_, nap_doublings)));
  }
  bump(parks_);
  const traced_pause traced{*this, trace_kind::park};
  const bool notified = notifier_.park_until(deadline);
  // Who finds work resigns in found_work(); until then it stays the lookout.
  naps_ = notified ? 0 : naps_ + 1;
  return lookout && !notified;
}

// We leave the search with something to do. Producers that saw us searching woke nobody, and those
// that saw us as the lookout left a job in their next slot to us. So we look whether more is there
// than we take.
void worker::found_work(bool searching) noexcept {
  const bool lookout = home_.lookout_.load(sync::memory_order_relaxed) == index_;
  if (lookout) {
    home_.lookout_.store(idle_set::nobody, sync::memory_order_relaxed);
    naps_ = 0;
  }
  // Other searchers do the same when they leave.
  if (searching ? !idle_.end_search(index_) : !lookout) return;
  // Who falls asleep from now on looks around after that, and sees that there is no lookout.
  sync::light_fence();
  if (!idle_.any()) return;
  sync::heavy_fence();
  if (idle_.any() && (sees_work() || leaves_slots_alone())) home_.wake_one(index_);
}

// Whether somebody's next slot is filled and there is no lookout for it.
bool worker::leaves_slots_alone() const noexcept {
  if (home_.lookout_.load(sync::memory_order_relaxed) != idle_set::nobody) return false;
  for (unsigned i = 0; i < home_.size(); ++i)
    if (i != index_ && home_.at(i).next_.load(sync::memory_order_relaxed) != nullptr) return true;
  return false;
}

void worker::add_to(stats& sum) const noexcept {
  const auto get = [](const counter& c) { return c.load(sync::memory_order_relaxed); };
  sum.points += get(points_);
  sum.spawned += get(spawned_);
  sum.finished += get(finished_);
  sum.steals += get(steals_);
  sum.stolen += get(stolen_);
  sum.forks_taken += get(forks_taken_);
  sum.parks += get(parks_);
  sum.rests += get(rests_);
  sum.max_ready_delay = std::max(sum.max_ready_delay, get(max_delay_));
  for (std::size_t i = 0; i < long_delays_.size(); ++i) sum.ready_delay[i] += get(long_delays_[i]);
  for (std::uint64_t delay = 0; delay < short_delays; ++delay) {
    const std::uint64_t count = get(delays_[delay]);
    if (count == 0) continue;
    sum.ready_delay[static_cast<unsigned>(std::bit_width(delay))] += count;
    sum.max_ready_delay = std::max(sum.max_ready_delay, delay);
  }
}

}  // namespace rota::detail
