// What a runtime is made of: the pool, the control blocks of its tasks, and who waits for it.
#ifndef ROTA_TASK_RUNTIME_STATE_H
#define ROTA_TASK_RUNTIME_STATE_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/pool/options.h>
#include <rota/task/observer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <source_location>
#include <stop_token>
#include <string>
#include <vector>

#include "pool/blocking_pool.h"
#include "pool/pool.h"
#include "task/activity.h"

namespace rota::detail {

// A thread that waits in run(): shared with the task that it waits for.
struct run_record {
  sync::atomic<std::uint32_t> ended{0};  // a futex
  std::string deadlock_report;           // written before `ended` is set

  void signal() noexcept;
  void wait() noexcept;
};

class runtime_state {
 public:
  explicit runtime_state(options o);
  ~runtime_state();

  // The runtime of a task, of the worker on this thread (or null).
  static runtime_state& of(const activity& a) noexcept;
  static runtime_state* here() noexcept;

  pool& workers() noexcept { return pool_; }

  // Called when the runtime begins to end, before it waits for what is left.
  using stop_hook = void (*)(pool& workers) noexcept;
  void set_stop_hook(stop_hook h) noexcept { stop_hook_.store(h, sync::memory_order_release); }
  const options& settings() const noexcept { return options_; }
  blocking_pool& blocking() noexcept { return blocking_; }

  // A control block, live and with a number, for `w` (null: another thread).
  activity* allocate(worker* w);
  void free(activity* a, worker* w) noexcept;

  // Calls f(activity&) for every control block that is live at that moment.
  template <class F>
  void for_each_live(F f) {
    for (slab* s = slabs_.load(sync::memory_order_acquire); s; s = s->next)
      for (activity& a : s->blocks)
        if (a.state_.load(sync::memory_order_acquire) & activity::live) f(a);
  }

  // A copy of a task's stop source, without state if the task has none or is gone.
  std::stop_source stop_source_of(const activity& a);

  // A copy of a name for the watchdog, which may look at it after its owner is gone: it stays as
  // long as the runtime. There are as many as there are different names.
  const char* lasting(const std::string& name);

  // An exception that nobody awaits, for on_unobserved or, without that, for stderr.
  using unobserved = std::function<void(std::exception_ptr, const std::string&)>;
  void report_unobserved(std::exception_ptr error, const activity& a) noexcept;
  static void report_unobserved(std::exception_ptr error, const std::string& who,
                                const unobserved* listener) noexcept;
  const std::shared_ptr<const unobserved>& on_unobserved() const noexcept { return unobserved_; }

  // A thread begins or ends waiting: for a task, which may turn out to be in a deadlock, or until
  // nothing can run any more.
  void begin_run(run_record& record, bool waits_for_task);
  void end_run(run_record& record) noexcept;
  void wait_for_standstill();

  // Texts for people; report.cpp.
  std::string describe(const activity& a);
  std::string dump();
  std::string deadlock_report();
  overview look(std::size_t most_tasks);
  void change_parts(overview_part& part, bool is_there);

 private:
  static constexpr std::size_t slab_bytes = sync::is_explored ? 4096 : 64 * 1024;

  // A run of control blocks, aligned so that a block finds its runtime.
  struct alignas(64) slab {
    runtime_state* home = nullptr;
    slab* next = nullptr;
    activity blocks[(slab_bytes - 64) / sizeof(activity)];
  };
  static_assert(sizeof(slab) == slab_bytes || sync::is_explored);

  struct alignas(64) free_list {
    activity* first = nullptr;
    std::uint32_t count = 0;
    std::uint32_t next_id = 0;
    std::uint32_t last_id = 0;
  };

  static activity* next_free(const activity& a) noexcept {
    return reinterpret_cast<activity*>(a.follower_.load(sync::memory_order_relaxed));
  }
  void begin_life(activity& a) noexcept;
  void refill(free_list& list);
  void take_from_depot(free_list& list);
  void add_slab();
  static bool claim_job(job& j);
  static std::source_location where(const job& j);
  static task_identity identify(const job& j);
  static void quiet(void* self, std::uint64_t departures);
  void drop_extras(activity& a) noexcept;
  std::string name_of(const activity& a);
  static std::string place_text(std::source_location where);
  std::string line(activity& a);
  std::string wait_text(const activity& a);
  static std::vector<std::source_location> frames_of(const activity& a);
  static bool is_internal(std::source_location where);
  void find_deadlock(std::uint64_t departures);
  void stop_all() noexcept;
  void destroy_rest() noexcept;
  void watch_steps();

  static void print_unobserved(std::exception_ptr error, const std::string& who) noexcept;

  const options options_;
  const std::shared_ptr<const unobserved> unobserved_;  // null: to stderr
  pool pool_;
  blocking_pool blocking_;

  std::vector<free_list> lists_;  // one a worker
  sync::atomic<slab*> slabs_{nullptr};
  std::vector<void*> regions_;  // what slabs are cut from; guarded by depot_lock_
  std::size_t slabs_left_ = 0;  // in the last region; guarded by depot_lock_
  spin_lock depot_lock_;
  free_list depot_;              // guarded by depot_lock_; also serves other threads
  std::uint32_t ids_given_ = 0;  // guarded by depot_lock_

  sync::mutex names_mutex_;        // held while extras are deleted, or read by another thread
  std::set<std::string> lasting_;  // guarded by names_mutex_

  sync::mutex parts_mutex_;            // held while parts are asked
  std::vector<overview_part*> parts_;  // guarded by parts_mutex_

  sync::mutex runs_mutex_;
  struct running_call {
    run_record* record;
    bool waits_for_task;
  };
  std::vector<running_call> runs_;  // guarded by runs_mutex_
  sync::atomic<bool> deadlocked_{false};
  sync::atomic<bool> stopping_{false};  // all tasks, and those to come, are asked to stop

  sync::atomic<stop_hook> stop_hook_{nullptr};

  sync::atomic<std::uint32_t> watchdog_off_{0};  // a futex
  sync::thread watchdog_;
};

}  // namespace rota::detail

#endif
