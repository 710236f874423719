// A worker: one thread that runs jobs, one step at a time, fairly.
//
// A step is from one scheduling point to the next: resume a job until it gives way. At each
// scheduling point the worker chooses the next job:
//
//   next slot   a job that was just made ready, before the others, at most `bypass` times between
//               two renewals of its credit; then it goes to the rear as well
//   run queue   first in, first out
//
// and every `look_every` points, and whenever it is dry, it looks at what comes from outside: the
// injector, due timers. All of that goes to the rear of the run queue. So with N live
// tasks a ready one runs within N + look_every + 2 bypass (+ a few) points: `quiescent_fair`.
//
// Threads: a worker's members are for the thread that it runs on, except where they say otherwise.
#ifndef ROTA_POOL_WORKER_H
#define ROTA_POOL_WORKER_H

#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/rng.h>
#include <rota/base/sync.h>
#include <rota/base/trace.h>
#include <rota/park/event_notifier.h>
#include <rota/pool/stats.h>
#include <rota/queue/fork_deque.h>
#include <rota/queue/run_queue.h>
#include <rota/queue/strict_queue.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

#include "pool/idle_set.h"
#include "pool/rest_policy.h"

namespace rota::detail {

class pool;

struct task_identity {
  std::uint32_t number = 0;
  const char* name = nullptr;  // null, or a text that lasts as long as the runtime
};

// What a worker is at, for another thread: it may be at something else at once.
struct worker_glance {
  std::uint64_t points = 0;
  std::uint64_t parks = 0;
  std::uint64_t steals = 0;
  std::size_t queued = 0;
  bool is_asleep = false;
  bool is_running = false;
  // What runs, if workers keep names: a behaviour if that is not null, otherwise a task.
  const char* behaviour = nullptr;
  task_identity task;
  std::source_location where{};
  bool is_exact = false;  // all of it belongs to one step
};

class alignas(64) worker {
 public:
  worker(pool& home, unsigned index);

  // The worker that runs on this thread, or null. Not from the body of a coroutine.
  static worker* here() noexcept { return sync::thread_slot<worker>::get(); }

  pool& home() const noexcept { return home_; }
  unsigned index() const noexcept { return index_; }

  // --- for the job that runs: the end of its step ---

  // The job that runs, or null between steps.
  job* current() const noexcept { return current_.load(sync::memory_order_relaxed); }
  // release: pairs with running().
  void set_current(job* j) noexcept { current_.store(j, sync::memory_order_release); }

  // Goes on with `frame` in the same step once the running frame has returned.
  void hand_over(std::coroutine_handle<> frame) noexcept { hand_over_ = frame; }

  // Queues a job behind everything that is queued.
  void push(job* j) {
    if (!plain_) [[unlikely]]
      return push_specially(j);
    line_up(j);
  }

  // Queues a job that was just made ready; it may bypass the queue within the credit.
  void ready(job* j);

  // In strict order: the job is blocked and keeps its place.
  void hold(job* j);

  // In strict order: the job gives its place up, since it goes on at once.
  void forget(job* j);

  // In strict order: who has a place; otherwise null. For tests.
  const strict_queue* places() const noexcept { return strict_queue_.get(); }

  // True once the running step has had its share of immediately ready awaits.
  bool share_is_spent() noexcept { return --ready_awaits_ <= 0; }

  // The step that runs was only a look at a guard: it changed nothing.
  void step_was_a_look() noexcept { ++looks_; }

  // A scheduling point inside of the running job, between two pieces of its work. True: nobody else
  // is ready here, and the job may go on. False: it gives way.
  bool pass_point();

  // Whether somebody wants to know what the running job is busy with: a watchdog, or a trace.
  bool wants_names() const noexcept { return !plain_; }
  // Null, or a text that stays for ever.
  void set_running_name(const char* name) noexcept {
    name_.store(name, sync::memory_order_relaxed);
  }
  // Where to write what happens here; null while there is no trace.
  trace_ring* trace() const noexcept { return trace_; }

  // --- fork-join ---

  fork_deque& forks() noexcept { return forks_; }

  // Wakes a sleeper if one is worth waking; called after publishing work.
  void offer_work() noexcept {
    // Either we see the sleeper or its look, behind a heavy fence, sees what we published.
    sync::light_fence();
    if (idle_.worth_waking()) [[unlikely]]
      wake_one();
  }

  // --- anyone's ---

  event_notifier& notifier() noexcept { return notifier_; }
  std::uint64_t points() const noexcept { return points_.load(sync::memory_order_relaxed); }
  std::uint64_t messages() const noexcept { return messages_.load(sync::memory_order_relaxed); }

  // Scheduling points: each but the first ends a step. acquire: shows what the steps did.
  std::uint64_t steps() const noexcept { return points_.load(sync::memory_order_acquire); }
  // The job that runs, for other threads: it may be another one at once.
  const job* running() const noexcept { return current_.load(sync::memory_order_acquire); }
  std::source_location running_where() const noexcept {
    return where_.load(sync::memory_order_relaxed);
  }
  // With a watchdog: the name of the behaviour that runs, or null if it is a task.
  const char* running_name() const noexcept { return name_.load(sync::memory_order_relaxed); }
  void add_to(stats& sum) const noexcept;
  worker_glance glance() const noexcept;

  // A behaviour was sent from here.
  void count_message() noexcept { bump(messages_); }
  void count_spawn() noexcept { bump(spawned_); }
  void count_finish() noexcept { bump(finished_); }

  // Ends the rest of a worker. False if it does not rest.
  bool end_rest() noexcept;

  // After the thread's end: what is queued here and was never run, one by one; then null.
  job* take_left() noexcept;

  // The thread's life: runs jobs until the pool stops.
  void main();

  // Runs one other job if there is one, inside the running step. For the rare caller that must
  // wait without being able to suspend.
  bool help();

 private:
  using counter = sync::atomic<std::uint64_t>;
  static constexpr std::uint32_t short_delays = 64;

  // Only this thread writes, so no read-modify-write; others read statistics.
  static void bump(counter& c, std::uint64_t by = 1) noexcept {
    c.store(c.load(sync::memory_order_relaxed) + by, sync::memory_order_relaxed);
  }

  // The rear of the run queue.
  void line_up(job* j) {
    j->ready_at = static_cast<std::uint32_t>(points_.load(sync::memory_order_relaxed));
    ring_.push(j);
    if (shared_) offer_work();
  }
  void push_specially(job* j);
  void wake_one() noexcept;
  job* pick();
  job* pick_strict();
  void look_at_watchers();
  bool may_bypass() noexcept;
  job* bypass_queue();
  job* take_next() noexcept;
  void run(job* j);
  void prepare_step(job* j);

  // See worker_observed.cpp.
  void look_for_observers() noexcept;
  void note(trace_kind kind, const void* subject, std::uint32_t number = 0) noexcept;
  void begin_traced_step(const job& j, task_identity who) noexcept;
  trace_record end_traced_step() noexcept;
  void resume_traced_step(const trace_record& outer) noexcept;

  // A time in which the worker does nothing.
  class traced_pause {
   public:
    traced_pause(const worker& w, trace_kind kind) noexcept : to_(w.trace_), kind_(kind) {
      if (to_) began_ = trace_time();
    }
    traced_pause(const traced_pause&) = delete;
    traced_pause& operator=(const traced_pause&) = delete;
    ~traced_pause() {
      if (to_) to_->add({.at = began_, .until = trace_time(), .kind = kind_});
    }

   private:
    trace_ring* const to_;
    const trace_kind kind_;
    std::int64_t began_ = 0;
  };
  bool give_up(std::coroutine_handle<> frame);
  void settle_forks();
  void look();
  void take_mail(std::uint64_t since);

  job* search();
  void weigh() noexcept;
  bool is_much_to_do() const noexcept;
  bool others_work() const noexcept;
  void give_away() noexcept;
  void rest() noexcept;
  void call_for_help() noexcept;
  job* scan();
  bool steal_from(worker& victim);
  job* take_stuck() noexcept;
  bool sees_work() const noexcept;
  bool leave_to_search() noexcept;
  bool sleep_until_work();
  void found_work(bool searching) noexcept;
  bool leaves_slots_alone() const noexcept;
  void record_delay(const job* j) noexcept;
  void record_long_delay(std::uint32_t delay) noexcept;

  pool& home_;
  idle_set& idle_;
  const unsigned index_;
  const bool strict_;
  const bool shared_;
  bool plain_;  // neither strict nor watched nor traced: the common case

  std::coroutine_handle<> hand_over_{};
  int slice_ = 1;         // transfers until give_up() looks
  int ready_awaits_ = 0;  // left in this step
  bool stopping_ = false;

  // What give_up() knows of the step that it saw last.
  int slice_size_ = 1;
  int transfers_ = 0;
  std::uint64_t long_step_ = 0;
  sync::time_point slice_began_{};
  sync::time_point step_began_{};

  run_queue ring_;
  fork_deque forks_;
  std::unique_ptr<strict_queue> strict_queue_;

  // Bypasses left until the run queue has moved past `mark_`.
  unsigned credit_ = 0;
  std::uint64_t mark_ = 0;
  std::uint64_t last_look_ = 0;
  rng random_;

  // Steps that were only looks at guards, and how many others had ended when we last let the
  // watchers look.
  std::uint64_t looks_ = 0;
  std::uint64_t shown_ = 0;

  const bool may_rest_;
  rest_policy rests_when_;
  std::int64_t trial_ = 0;        // ours, see pool::claim_trial()
  bool is_tired_ = false;         // it is time, and our jobs are given away
  unsigned looks_at_points_ = 0;  // how many looks there were

  // What was queued here when somebody rested: up to this number, at that time.
  std::uint64_t backlog_end_ = 0;
  sync::time_point backlog_seen_{};

  // A lookout's memory: the point at which it last saw each worker.
  std::vector<std::uint64_t> seen_points_;
  unsigned naps_ = 0;

  // Written here, read by anyone.
  sync::atomic<job*> next_{nullptr};  // also taken by a lookout when a step runs long
  sync::atomic<job*> current_{nullptr};
  sync::atomic<std::source_location> where_{};  // with a watchdog: where the step began
  sync::atomic<const char*> name_{nullptr};     // ... and the name if it is a behaviour
  sync::atomic<std::uint32_t> task_number_{0};  // with somebody who looks: which task runs
  sync::atomic<const char*> task_name_{nullptr};
  counter points_{0};
  counter messages_{0};
  counter spawned_{0}, finished_{0}, steals_{0}, stolen_{0}, forks_taken_{0};
  counter parks_{0}, rests_{0}, max_delay_{0};
  std::array<counter, short_delays> delays_{};  // waits of 0, 1, 2, ... points
  std::array<counter, 33> long_delays_{};       // longer ones, by their highest bit

  bool named_;                   // workers keep the names of what they run
  trace_ring* trace_ = nullptr;  // null while there is no trace
  trace_record step_;            // the step that runs, if it is traced

  event_notifier notifier_;
  sync::atomic<std::uint32_t> resting_{0};  // 1 while it rests; also the futex

  friend class pool;
  friend struct inspect;
};

inline void worker::record_delay(const job* j) noexcept {
  const auto delay =
      static_cast<std::uint32_t>(points_.load(sync::memory_order_relaxed)) - j->ready_at;
  // Short waits are counted one by one: finding the highest bit costs more than the rest of this.
  if (delay < short_delays) [[likely]]
    bump(delays_[delay]);
  else
    record_long_delay(delay);
}

}  // namespace rota::detail

#endif
