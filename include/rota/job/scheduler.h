// Functions that run when they are due: cron for the inside of a program.
//
//   rota::runtime rt;
//   rota::scheduler s{rt};
//   s.add("report", rota::schedule::parse("0 4 * * mon-fri"), [] { write_report(); });
//   s.add("poll", rota::every(500ms), [](const rota::job::run& r) -> rota::task<> {
//     co_await ask_the_device(r.scheduled);
//   });
//
// The engine is that of `rota serve` (engine.h), so a job has the same rules: what happens when it
// is due while it still runs, what is made up for after the machine slept, retries, timeouts,
// groups, dependencies, at most max_active at once. Functions run as tasks on the runtime; one that
// blocks should use run_blocking(). One that throws has failed. One that takes longer than its
// timeout, or is cancelled, is asked to stop (it gets rota::cancelled out of what it waits for),
// and keeps its slot until it has ended: a function cannot be killed.
//
// Promised: `bounded_programs` and `every_due_run`, for functions: at most max_active at once, and
// each due instant runs once or says why not. Not promised: that a function which has begun is
// finished if the program ends.
//
// With `store` what was due is remembered over a restart of the program (catchup); a function that
// was under way then is recorded as lost. Without, nothing is.
//
// Threads: everything is anyone's; calls may wait some milliseconds for the store. Events are told
// on a thread of the scheduler's own. Lifetime: shorter than the runtime; the destructor asks the
// functions that run to stop and waits for them, so it is not for tasks of the same runtime with
// one worker.
#ifndef ROTA_JOB_SCHEDULER_H
#define ROTA_JOB_SCHEDULER_H

#include <rota/cron/schedule.h>
#include <rota/job/engine.h>
#include <rota/task/runtime.h>
#include <rota/task/task.h>

#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota {

// Every so often, counted from when the job was added, without drift.
inline schedule every(std::chrono::milliseconds period) { return schedule::every(period); }

class scheduler_options {
 public:
  // At most so many functions run at once.
  std::uint32_t max_active = 16;
  // How often a run that waits for its own job or group is passed by those behind it.
  std::uint32_t passes = job::no_limit;
  // Caps of the groups that jobs name in their rules.
  std::map<std::string, std::uint32_t> groups;
  // A file that remembers; empty: nothing is remembered.
  std::string store;
  // Another clock than the wall's, for tests: call clock_changed() when it has moved.
  std::function<instant()> clock;
};

class scheduler {
 public:
  explicit scheduler(runtime& rt, scheduler_options o = {});
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler();

  using function = std::function<task<void>(const job::run&)>;

  // Adds a job, or gives the one of that name another schedule, rules and function; what runs goes
  // on. f takes nothing or the run, and gives nothing or a task<void>.
  template <class F>
  void add(std::string name, schedule when, F f) {
    add(std::move(name), std::move(when), job::rules{}, std::move(f));
  }
  template <class F>
  void add(std::string name, schedule when, job::rules rules, F f) {
    put(std::move(name), std::move(when), std::move(rules), as_function(std::move(f)));
  }

  // False: there is no such job. What runs goes on.
  bool remove(std::string_view name);

  // Runs it now, as soon as the cap allows. Nothing: there is no such job.
  std::optional<job::run_id> run(std::string_view name);
  bool cancel(job::run_id id);
  bool pause(std::string_view name);
  bool resume(std::string_view name);

  // When it is due next.
  std::optional<instant> next(std::string_view name) const;
  std::vector<job::run> waiting() const;
  std::vector<job::run> running() const;

  // Everything that happens from now on. Called on the scheduler's thread, one at a time; may call
  // the scheduler.
  void on_event(std::function<void(const job::engine_event&)> f);

  // The clock of the options has moved.
  void clock_changed();

 private:
  struct state;

  template <class F>
  static function as_function(F f) {
    if constexpr (std::is_invocable_v<F&, const job::run&>) {
      if constexpr (std::is_void_v<std::invoke_result_t<F&, const job::run&>>)
        return
            [f = std::move(f)](const job::run& r) mutable -> task<void> { return call_with(f, r); };
      else
        return function{std::move(f)};
    } else {
      static_assert(std::is_invocable_v<F&>, "a job's function takes nothing or a const job::run&");
      if constexpr (std::is_void_v<std::invoke_result_t<F&>>)
        return [f = std::move(f)](const job::run&) mutable -> task<void> { return call(f); };
      else
        return [f = std::move(f)](const job::run&) mutable -> task<void> { return f(); };
    }
  }
  // The function outlives the task: it is the job's, which the run keeps.
  template <class F>
  static task<void> call(F& f) {
    f();
    co_return;
  }
  template <class F>
  static task<void> call_with(F& f, const job::run& r) {
    f(r);
    co_return;
  }

  void put(std::string name, schedule when, job::rules rules, function f);

  const std::shared_ptr<state> state_;
};

}  // namespace rota

#endif
