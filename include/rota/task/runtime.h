// A pool of workers that runs tasks.
//
//   int main() { return rota::run(program()); }           // a runtime for one program
//
//   rota::runtime rt{rota::options{}.with_workers(2)};    // or one to keep
//   auto h = rt.spawn(serve());                           // from any thread
//   int r = rt.run(compute());                            // and wait for it
//
// Promised: `no_lost_wakeup`, `work_conserving`, `quiescent_fair` with N + fairness_slack, and
// `deadlock_reported`; docs/guarantees.md says under which assumptions.
//
// Threads: everything is anyone's, except that run() blocks and so is not for tasks.
// Lifetime: the destructor asks the tasks that are left to stop (or, as options say, lets them
// end), waits for them and joins the workers. Handles must not outlive it; what tasks refer to,
// lambdas included, must, so declare it before.
#ifndef ROTA_TASK_RUNTIME_H
#define ROTA_TASK_RUNTIME_H

#include <rota/base/trace.h>
#include <rota/pool/options.h>
#include <rota/pool/stats.h>
#include <rota/task/core.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace rota {

class runtime;

namespace detail {

struct run_record;

struct unit {};

// Where run() finds the result. Shared with the task, which may outlive a run() that reported a
// deadlock.
template <class T>
struct outcome {
  std::optional<std::conditional_t<std::is_void_v<T>, unit, T>> value;
  std::exception_ptr error;
  std::shared_ptr<run_record> record;
};

std::shared_ptr<run_record> make_run_record();
void signal_end(run_record& record) noexcept;

// For the layers of Rota.
runtime_state& state_of(runtime& rt) noexcept;

template <class T>
task<void> run_and_signal(task<T> program, std::shared_ptr<outcome<T>> out) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(program);
      out->value.emplace();
    } else {
      out->value.emplace(co_await std::move(program));
    }
  } catch (...) {
    out->error = std::current_exception();
  }
  signal_end(*out->record);
}

}  // namespace detail

class runtime {
 public:
  explicit runtime(options o = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  // Runs a task to its end and gives its result or throws its exception. Throws rota::deadlock if
  // it can never end; the tasks concerned then stay as they are until the runtime ends, which
  // destroys them. Blocks the calling thread, which is not a worker.
  template <class T>
  T run(task<T> program) {
    auto out = std::make_shared<detail::outcome<T>>();
    out->record = detail::make_run_record();
    wait_for(spawn(detail::run_and_signal(std::move(program), out)), *out->record);
    if (out->error) std::rethrow_exception(out->error);
    if constexpr (!std::is_void_v<T>) return std::move(*out->value);
  }

  // Begins a task of its own. From any thread.
  template <class T>
  join_handle<T> spawn(task<T> t) {
    detail::activity* a = detail::spawn(t.frame(), t.frame().promise(), state_.get());
    return {a, t.release()};
  }

  // Waits until nothing can run: nothing is queued or running, no timer is set and nothing outside
  // is expected. Tasks may still wait for each other or for somebody. Blocks the calling thread.
  void quiesce();

  // What was counted so far.
  stats statistics() const;

  // Every task: its number, name, state, what it waits for and where, innermost call first.
  std::string dump() const;

  // Writes down what happens from now on, in a file for https://ui.perfetto.dev: the steps of tasks
  // and behaviours on each worker with arrows from who woke them, sleep, steals, handlers, muted
  // cowns. Ends with stop_trace() or with the runtime. Throws std::runtime_error if the file cannot
  // be made, or if there is a trace already.
  void trace_to(const std::string& file);

  // Ends the trace; its file is whole. Gives how many records it has, and how many were lost since
  // they came too fast. Throws std::runtime_error if the file could not be written.
  trace_summary stop_trace();

  unsigned workers() const noexcept;

 private:
  friend class outside;
  friend detail::runtime_state& detail::state_of(runtime& rt) noexcept;

  // Waits until the record is signalled; throws rota::deadlock.
  void wait_for(join_handle<void> root, detail::run_record& record);

  std::unique_ptr<detail::runtime_state> state_;
};

// Says that a thread which is none of the runtime's may still wake a task: while one of these
// lives, a standstill is not reported as a deadlock.
//
//   std::jthread reader([&, expected = rota::outside{rt}] { channel.try_send(read()); });
class outside {
 public:
  explicit outside(runtime& rt) noexcept;
  outside() noexcept;  // inside a task: of its runtime
  outside(const outside& other) noexcept;
  outside& operator=(const outside&) = delete;
  ~outside();

 private:
  detail::runtime_state* state_;
};

// Runs one program on a runtime of its own.
template <class T>
T run(task<T> program, options o = {}) {
  runtime rt{std::move(o)};
  return rt.run(std::move(program));
}

}  // namespace rota

#endif
