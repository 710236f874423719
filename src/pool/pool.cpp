#include "pool/pool.h"

#include <rota/base/assert.h>

#include <algorithm>
#include <utility>

namespace rota::detail {

namespace {

unsigned worker_count(const options& o) {
  if (o.order == order::strict) return 1;
  if (o.workers != 0) return o.workers;
  return std::max(1u, sync::thread::hardware_concurrency());
}

}  // namespace

pool::pool(const options& o, pool_hooks hooks)
    : strict_(o.order == order::strict),
      watched_(o.watchdog.count() > 0),
      mutes_senders_(o.backpressure),
      longest_rest_(o.longest_rest),
      hooks_(hooks),
      idle_(worker_count(o)) {
  sync::prepare_fences();
  const unsigned n = worker_count(o);
  workers_.reserve(n);
  for (unsigned i = 0; i < n; ++i) workers_.push_back(std::make_unique<worker>(*this, i));
}

pool::~pool() { stop(); }

void pool::start() {
  threads_.reserve(workers_.size());
  for (auto& w : workers_) threads_.emplace_back([&self = *w] { self.main(); });
}

void pool::stop() {
  stopping_.store(true, sync::memory_order_relaxed);
  for (auto& w : workers_) {
    w->notifier().notify();
    w->end_rest();
  }
  for (auto& t : threads_) t.join();
  threads_.clear();
}

job* pool::take_left() noexcept {
  for (auto& w : workers_)
    if (job* j = w->take_left()) return j;
  if (!left_) left_ = injector_.take_all();
  job* const j = left_;
  if (j) left_ = std::exchange(j->link, nullptr);
  return j;
}

void pool::post(job* j) {
  if (worker* w = worker::here(); w && &w->home() == this) {
    w->ready(j);
    return;
  }
  visitors_.fetch_add(1, sync::memory_order_relaxed);
  j->ready_at = 0;  // it has not waited elsewhere
  if constexpr (!sync::is_explored)
    if (tracer* const t = existing_tracer(); t && t->is_on()) [[unlikely]]
      t->add({.at = trace_time(), .subject = j, .kind = trace_kind::ready});
  // Published first, then somebody is chosen: the other way round a worker that was chosen, and is
  // awake already, could look too early (specs/idle_set).
  injector_.put(j);
  // Either we see the sleeper or its last look sees the job.
  sync::light_fence();
  if (idle_.worth_waking())
    wake_one(idle_set::nobody);
  else if (resting_.load(sync::memory_order_relaxed) != 0) [[unlikely]]
    end_a_rest();
  // release: the last access; see wait_for_visitors().
  visitors_.fetch_sub(1, sync::memory_order_release);
}

work_done pool::work() const noexcept {
  work_done sum;
  for (const auto& w : workers_) {
    sum.steps += w->points();
    sum.messages += w->messages();
  }
  return sum;
}

void pool::end_a_rest() noexcept {
  for (auto& w : workers_)
    if (w->end_rest()) return;
}

void pool::wake_one(unsigned waker) noexcept {
  const unsigned sleeper = idle_.choose(waker, lookout_.load(sync::memory_order_relaxed));
  if (sleeper == idle_set::nobody) return;
  wakes_.fetch_add(1, sync::memory_order_relaxed);
  workers_[sleeper]->notifier().notify();
}

void pool::unwatch(job* j) noexcept {
  spin_guard guard{watch_lock_};
  std::erase(watchers_, j);
  if (watchers_.empty()) has_watchers_.store(false, sync::memory_order_relaxed);
}

void pool::release_watchers(worker& w) {
  std::vector<job*> all;
  {
    spin_guard guard{watch_lock_};
    all.swap(watchers_);
    has_watchers_.store(false, sync::memory_order_relaxed);
    // Claimed under the lock: a job that was cancelled takes itself out before it waits elsewhere.
    std::erase_if(all, [this](job* j) { return !hooks_.claim(*j); });
  }
  for (job* j : all) {
    if (strict_)
      w.ready(j);
    else
      w.push(j);
  }
}

std::uint64_t pool::progress() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& w : workers_) sum += w->steps();
  return sum;
}

void pool::expect_outside(int change) noexcept {
  visitors_.fetch_add(1, sync::memory_order_relaxed);
  // release: pairs with is_quiet(); who sees us gone sees what we posted before.
  const int before = outside_.fetch_add(change, sync::memory_order_release);
  // With the last expectation gone a standstill may have become a deadlock: somebody has to notice.
  if (change < 0 && before + change == 0) {
    // Either we see the sleeper or its last look sees the change.
    sync::light_fence();
    wake_one(idle_set::nobody);
  }
  // release: the last access; see wait_for_visitors().
  visitors_.fetch_sub(1, sync::memory_order_release);
}

void pool::wait_for_visitors() const noexcept {
  // acquire: what they did here comes before the end of the pool.
  while (visitors_.load(sync::memory_order_acquire) != 0) sync::yield_thread();
}

void pool::await_quiet(int change) noexcept {
  // release: pairs with check_quiet(); who sees us waiting sees what we expect from outside.
  quiet_callers_.fetch_add(change, sync::memory_order_release);
  if (change > 0) {
    // As in expect_outside().
    sync::light_fence();
    wake_one(idle_set::nobody);
  }
}

timer_driver& pool::timers_or(std::unique_ptr<timer_driver> (*make)(pool&)) {
  if (timer_driver* t = timers()) return *t;
  std::lock_guard guard{timers_mutex_};
  if (!owned_timers_) {
    owned_timers_ = make(*this);
    timers_.store(owned_timers_.get(), sync::memory_order_release);
  }
  return *owned_timers_;
}

tracer& pool::tracer_or_new() {
  std::lock_guard guard{timers_mutex_};
  if (!owned_tracer_) {
    owned_tracer_ = std::make_unique<tracer>(size());
    tracer_.store(owned_tracer_.get(), sync::memory_order_release);
  }
  return *owned_tracer_;
}

bool pool::timers_pending() const noexcept {
  const timer_driver* t = timers();
  for (unsigned i = 0; t && i < size(); ++i)
    if (t->next(i) != sync::time_point::max()) return true;
  return false;
}

// Nobody takes a job while in the idle set, so if everybody is in it, nobody left it meanwhile and
// there is nothing to take, nothing runs.
bool pool::is_quiet(std::uint64_t departures) const noexcept {
  if (outside_.load(sync::memory_order_acquire) != 0 || timers_pending()) return false;
  for (const auto& w : workers_)
    if (!w->ring_.empty() || !w->forks_.empty()) return false;
  return injector_.empty() && idle_.all() && idle_.departures() == departures;
}

// Called by a worker that is about to sleep and saw everybody in the idle set.
void pool::check_quiet() {
  const std::uint64_t departures = idle_.departures();
  // Asked again: somebody may have been out when we counted.
  if (quiet_callers_.load(sync::memory_order_acquire) == 0 || !idle_.all()) return;
  if (is_quiet(departures)) hooks_.quiet(hooks_.context, departures);
}

stats pool::statistics() const {
  stats sum;
  for (const auto& w : workers_) w->add_to(sum);
  sum.wakes = wakes_.load(sync::memory_order_relaxed);
  sum.spawned += spawned_.load(sync::memory_order_relaxed);
  return sum;
}

}  // namespace rota::detail
