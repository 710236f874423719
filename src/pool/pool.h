// The workers together: waking, watching, and what comes from outside.
//
// Promised (`work_conserving`): while a worker sleeps and a job is queued anywhere, somebody is
// being woken or searches. One job may wait unseen in a worker's next slot behind a step that runs
// long: for it, one idle worker, the lookout, naps instead of sleeping while others run, and takes
// what it finds stuck. And a worker without which the others get as much done may rest, for
// options::longest_rest at most (pool/rest_policy.h): to the others it seems to be busy.
//
// An idle pool burns no CPU: without a running step the lookout sleeps as well.
#ifndef ROTA_POOL_POOL_H
#define ROTA_POOL_POOL_H

#include <rota/base/block_cache.h>
#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/base/trace.h>
#include <rota/pool/options.h>
#include <rota/pool/stats.h>
#include <rota/queue/inbox.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

#include "pool/idle_set.h"
#include "pool/worker.h"

namespace rota::detail {

// What wakes jobs when their time has come. Installed by the time layer.
class timer_driver {
 public:
  virtual ~timer_driver() = default;

  // Queues on `w` what is due in the timers of worker `of`. True if there was something.
  virtual bool fire(worker& w, unsigned of, sync::time_point now) = 0;

  // When the timers of worker `of` want to be looked at next; max() if never. fire() releases what
  // next() acquires: who sees no timer any more sees that the one who fired it is out of the idle
  // set.
  virtual sync::time_point next(unsigned of) const noexcept = 0;
};

// What the pool asks of the layer above.
struct pool_hooks {
  // Makes a job of a fork that was taken over. Runs on the worker that took it.
  job* (*adopt_fork)(worker& w, void* fork) = nullptr;

  // Whether the pool, and nobody else, will queue a job that watches. Called under a lock.
  bool (*claim)(job& j) = nullptr;

  // Where a suspended job will go on. Asked only if there is a watchdog or a trace.
  std::source_location (*where)(const job& j) = nullptr;

  // The number of a task, and its name. Asked only if somebody looks.
  task_identity (*identify)(const job& j) = nullptr;

  // Nothing runs, nothing is queued, no timer is set and nothing outside is expected.
  // If is_quiet(departures) still holds, that is so.
  void (*quiet)(void* context, std::uint64_t departures) = nullptr;
  void* context = nullptr;
};

// A thread that runs a job of a pool, or ends one, without being one of its workers.
class stand_in {
 public:
  stand_in(pool& home, job* running) noexcept
      : home_(home), running_(running), outer_(sync::thread_slot<stand_in>::get()) {
    sync::thread_slot<stand_in>::set(this);
  }
  stand_in(const stand_in&) = delete;
  stand_in& operator=(const stand_in&) = delete;
  ~stand_in() { sync::thread_slot<stand_in>::set(outer_); }

  // Null on threads that stand in for nobody.
  static stand_in* current() noexcept { return sync::thread_slot<stand_in>::get(); }

  pool& home() const noexcept { return home_; }
  job* running() const noexcept { return running_; }
  void end_running() noexcept { running_ = nullptr; }

 private:
  pool& home_;
  job* running_;
  stand_in* const outer_;
};

class pool {
 public:
  pool(const options& o, pool_hooks hooks);
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool();

  // Starts the threads; the constructor does not, so that the layer above can be ready first.
  void start();

  // Ends the threads after their current step and joins them. Queued jobs stay where they are.
  void stop();

  // After stop(): a job that was queued and never run, or null.
  job* take_left() noexcept;

  void* context() const noexcept { return hooks_.context; }
  unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
  worker& at(unsigned i) noexcept { return *workers_[i]; }
  bool is_strict() const noexcept { return strict_; }

  // Whether senders to overloaded cowns are muted, and whether behaviours that have not begun are
  // to be dropped: for the layer of cowns.
  bool mutes_senders() const noexcept { return mutes_senders_; }
  bool drops_behaviours() const noexcept {
    return drops_behaviours_.load(sync::memory_order_relaxed);
  }
  void drop_behaviours() noexcept { drops_behaviours_.store(true, sync::memory_order_relaxed); }

  // Queues a job from any thread.
  void post(job* j);

  // Queues `j` again after some step of another job has ended, for it may have changed what j
  // looks at. `seen` is progress() from before j looked; `begin`, called under the lock, makes j
  // wait, or gives false and nothing happens.
  template <class Begin>
  bool watch(worker& w, job* j, std::uint64_t seen, Begin&& begin) {
    {
      spin_guard guard{watch_lock_};
      watchers_.push_back(j);
      if (!begin()) {
        watchers_.pop_back();
        return false;
      }
      has_watchers_.store(true, sync::memory_order_relaxed);
    }
    // Either a worker that ends a step sees us, or we see its step.
    sync::heavy_fence();
    if (progress() != seen) release_watchers(w);
    return true;
  }

  // Takes a job back from watch(), if it is still there.
  void unwatch(job* j) noexcept;

  // A number that grows with every step that may have changed something.
  std::uint64_t progress() const noexcept;

  // While this is above zero something outside may still wake a job, so a standstill is no
  // deadlock.
  void expect_outside(int change) noexcept;

  // The timers, made by `make` if there are none yet. Any thread.
  timer_driver& timers_or(std::unique_ptr<timer_driver> (*make)(pool&));
  timer_driver* timers() const noexcept { return timers_.load(sync::memory_order_acquire); }

  // The tracer, made when it is first asked for; the second gives null before that. Any thread.
  tracer& tracer_or_new();
  tracer* existing_tracer() const noexcept { return tracer_.load(sync::memory_order_acquire); }

  // Somebody begins or ends to look at what the workers do: meanwhile they keep names of it.
  void observe(int change) noexcept { observers_.fetch_add(change, sync::memory_order_relaxed); }
  bool is_observed() const noexcept { return observers_.load(sync::memory_order_relaxed) != 0; }

  // Whether nothing runs and nothing can: true if nobody left the idle set since `departures` was
  // read, and there is nothing for those in it to do.
  bool is_quiet(std::uint64_t departures) const noexcept;

  // Other threads may still be on their way out of post() or expect_outside() when what they did
  // has already ended the last task. Waits for them; before the pool is destroyed.
  void wait_for_visitors() const noexcept;

  // Called by threads that wait for a job, so that quiet() is worth calling.
  void await_quiet(int change) noexcept;

  // A job was begun by a thread that is no worker of ours.
  void count_spawn() noexcept { spawned_.fetch_add(1, sync::memory_order_relaxed); }

  stats statistics() const;

 private:
  friend class worker;
  friend struct inspect;

  void wake_one(unsigned waker) noexcept;
  void end_a_rest() noexcept;
  work_done work() const noexcept;

  // Trials of rests are one worker's at a time, since each changes what the others measure. Whose
  // is not renewed in time, since a step took long, may go to another. `mine` is what the last call
  // has left there, at first zero. relaxed: nothing else comes with it.
  bool claim_trial(std::int64_t& mine, sync::time_point now, sync::time_point until) noexcept {
    std::int64_t there = trial_.load(sync::memory_order_relaxed);
    const auto number = [](sync::time_point t) { return t.time_since_epoch().count() | 1; };
    if (there != mine && there > number(now)) return false;
    if (!trial_.compare_exchange_strong(there, number(until), sync::memory_order_relaxed,
                                        sync::memory_order_relaxed))
      return false;
    mine = number(until);
    return true;
  }
  void end_trial(std::int64_t& mine) noexcept {
    trial_.compare_exchange_strong(mine, 0, sync::memory_order_relaxed, sync::memory_order_relaxed);
    mine = 0;
  }

  void release_watchers(worker& w);
  void check_quiet();
  bool timers_pending() const noexcept;

  const block_keeper keeper_;
  const bool strict_;
  const bool watched_;  // there is a watchdog
  const bool mutes_senders_;
  const std::chrono::nanoseconds longest_rest_;
  sync::atomic<bool> drops_behaviours_{false};
  const pool_hooks hooks_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<sync::thread> threads_;

  idle_set idle_;
  inbox injector_;
  job* left_ = nullptr;  // see take_left()
  sync::atomic<timer_driver*> timers_{nullptr};
  sync::mutex timers_mutex_;
  std::unique_ptr<timer_driver> owned_timers_;  // guarded by timers_mutex_
  sync::atomic<tracer*> tracer_{nullptr};
  std::unique_ptr<tracer> owned_tracer_;  // guarded by timers_mutex_
  sync::atomic<int> observers_{0};
  sync::atomic<bool> stopping_{false};
  sync::atomic<unsigned> lookout_{idle_set::nobody};
  sync::atomic<unsigned> resting_{0};    // how many workers rest
  sync::atomic<std::int64_t> trial_{0};  // until when somebody tries whether it is of use, or zero
  sync::atomic<int> outside_{0};
  sync::atomic<int> visitors_{0};  // threads of others inside of our functions
  sync::atomic<int> quiet_callers_{0};
  sync::atomic<std::uint64_t> wakes_{0};
  sync::atomic<std::uint64_t> spawned_{0};  // by other threads

  // Jobs that wait for somebody else's step. The flag is read after every step.
  alignas(64) sync::atomic<bool> has_watchers_{false};
  spin_lock watch_lock_;
  std::vector<job*> watchers_;  // guarded by watch_lock_
};

}  // namespace rota::detail

#endif
