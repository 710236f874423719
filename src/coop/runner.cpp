// One coroutine for each task, all with the same body: they differ in where in the program they
// are. What a task does between two waits is a plain function that holds the lock throughout, so
// that one task is active at a time whatever the number of workers, and so that nothing of a
// coroutine's is kept across a suspension but what it waits for.
//
// How a run is cut off, by an error or the limit: nothing is logged or changed any more, and each
// task ends as soon as it gets a turn; guards let it pass. Tasks that await each other in a circle
// cannot end. Then the runtime reports a deadlock, which is no news, and destroys them.

#include <rota/coop/runner.h>

#include <rota/base/assert.h>
#include <rota/base/sync.h>
#include <rota/coop/configuration.h>
#include <rota/coop/local.h>
#include <rota/task/errors.h>
#include <rota/task/event.h>
#include <rota/task/guard.h>
#include <rota/task/runtime.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>

#include <deque>
#include <exception>
#include <utility>
#include <vector>

namespace rota::coop {

namespace {

class runner {
 public:
  runner(const program& p, const runner_options& options, log_sink* log)
      : program_(p), options_(options), log_(log), globals_(p.globals().size()) {}

  outcome run() {
    try {
      // Ends before what its tasks refer to.
      rota::runtime rt{rota::options{}.with_order(options_.order).with_workers(options_.workers)};
      rt.run(host(*this));
    } catch (const rota::deadlock&) {
      halt(ending::deadlock);
    }
    if (thrown_) std::rethrow_exception(thrown_);
    return result();
  }

 private:
  using handles = std::vector<rota::join_handle<>>;

  enum class wait : std::uint8_t { none, turn, end_by_handle, end_by_event, guard };

  // Where a task has stopped: what it waits for, or nothing if it has ended.
  struct stop {
    wait until = wait::none;
    rota::join_handle<> handle = {};
    rota::async_event* event = nullptr;
  };

  struct task_state {
    std::uint32_t procedure = no_procedure;
    continuation rest = empty_continuation;
    bool started = false;
    bool ended = false;
    bool bound = false;
    bool has_follower = false;  // somebody has taken its handle
    value argument = {};
    value parameter = {};
    rota::async_event end = rota::async_event{};
  };

  // --- the coroutines ---------------------------------------------------------------------------

  // What run() waits for. The handles that nobody awaits live here: after a deadlock the runtime
  // destroys the tasks that refer to them before it destroys their ancestors.
  static rota::task<> host(runner& r) {
    handles all;
    r.begin_main(all);
    co_await r.all_ended_.wait();
  }

  static rota::task<> body(runner& r, task_id f) {
    try {
      stop next = r.go_on(f);
      while (next.until != wait::none) {
        // To await and to stand at a guard is to give way, whatever holds; in strict order they do
        // so by themselves.
        const bool gives_way = r.options_.order != rota::order::strict;
        if (next.until == wait::turn || gives_way) co_await rota::suspend();
        if (next.until == wait::end_by_handle) co_await next.handle;
        if (next.until == wait::end_by_event) co_await next.event->wait();
        if (next.until == wait::guard) co_await rota::guard([&r, f] { return r.may_pass(f); });
        next = r.go_on(f);
      }
    } catch (...) {
      // The log failed, or there was no memory.
      r.give_up(std::current_exception());
    }
    r.leave(f);
  }

  void begin_main(handles& all) {
    std::lock_guard locked{mutex_};
    handles_ = &all;
    add_task(no_procedure, program_.main(), {});
  }

  // Until the task stops again; it has not begun, or what it waited for may have come.
  stop go_on(task_id f) {
    std::lock_guard locked{mutex_};
    if (halted_) return {};
    if (!tasks_[f].started) return start(f);
    const local_step step = evaluate(f);
    // Out of strict order, or if the variable was overwritten, the world may have changed since the
    // task was woken.
    if (is_blocked(step)) return wait_at(f);
    if (is_at_limit()) return {};
    if (step.outcome == local_outcome::failed) return fail(f, step.error);
    ++steps_;
    if (step.effect == local_effect::reaction)
      add({.kind = log_kind::completion_reaction, .task = step.result.as_task(), .by = f});
    else
      add({.kind = log_kind::resume, .task = f});
    tasks_[f].rest = step.rest;
    return run_active(f);
  }

  // Whether what the task stands at lets it go on.
  bool may_pass(task_id f) {
    std::lock_guard locked{mutex_};
    return halted_ || !is_blocked(evaluate(f));
  }

  void give_up(std::exception_ptr error) {
    std::lock_guard locked{mutex_};
    if (!thrown_) thrown_ = error;
    halted_ = true;
  }

  // The last statement of a task is behind it.
  void leave(task_id f) {
    std::lock_guard locked{mutex_};
    tasks_[f].end.set();
    if (--live_ == 0) all_ended_.set();
  }

  // --- with the lock held -----------------------------------------------------------------------

  // Rules (22) and (18), up to (23) or (24).
  stop run_active(task_id f) {
    for (;;) {
      if (is_at_limit()) return {};
      const continuation at = tasks_[f].rest;
      const bool stops = at == empty_continuation || is_suspended(program_, at);
      const local_step step = stops ? local_step{} : evaluate(f);
      if (step.outcome == local_outcome::failed) return fail(f, step.error);
      ++steps_;
      if (at == empty_continuation) return {};
      if (stops) return wait_at(f);
      tasks_[f].rest = step.rest;
      switch (step.effect) {
        case local_effect::update:
          assign(f, step.target, step.result);
          break;
        case local_effect::call:
          if (!call(f, step)) return {};
          break;
        case local_effect::completion:
          complete(f);
          break;
        case local_effect::none:
        case local_effect::reaction:
          break;
      }
    }
  }

  stop wait_at(task_id f) {
    const instruction& i = program_.at(tasks_[f].rest);
    if (i.head == statement_kind::guard) return {.until = wait::guard};
    if (i.head == statement_kind::suspend) return {.until = wait::turn};
    if (options_.awaits == awaits::by_guard) return {.until = wait::guard};
    const value awaited = environment_of(f)[i.target];
    if (!awaited.is_task()) return {.until = wait::turn};  // an error when its turn comes
    task_state& other = tasks_[awaited.as_task()];
    if (std::exchange(other.has_follower, true))
      return {.until = wait::end_by_event, .event = &other.end};
    return {.until = wait::end_by_handle, .handle = std::move((*handles_)[awaited.as_task()])};
  }

  bool is_blocked(const local_step& step) const {
    if (step.effect == local_effect::reaction) return !tasks_[step.result.as_task()].ended;
    return step.outcome == local_outcome::blocked;
  }

  environment environment_of(task_id f) const { return {globals_.data(), &tasks_[f].parameter}; }
  local_step evaluate(task_id f) const {
    return evaluate_statement(program_, tasks_[f].rest, environment_of(f));
  }

  void add_task(std::uint32_t procedure, continuation rest, const value& argument) {
    const auto f = static_cast<task_id>(tasks_.size());
    task_state& t = tasks_.emplace_back();
    t.procedure = procedure;
    t.rest = rest;
    t.argument = argument;
    handles_->push_back(rota::spawn(body(*this, f)));
    ++live_;
  }

  // False if the limit falls between the call and its marker.
  bool call(task_id f, const local_step& step) {
    const auto called = static_cast<task_id>(tasks_.size());
    add({log_kind::call, called, step.procedure, step.result});
    if (step.target != no_variable) assign(f, step.target, value::task(called));
    add_task(step.procedure, program_.procedures()[step.procedure].body, step.result);
    if (is_at_limit()) return false;
    ++steps_;
    return true;
  }

  // Rule (19). Main is active from the beginning.
  stop start(task_id f) {
    task_state& t = tasks_[f];
    if (f != 0) {
      if (is_at_limit()) return {};
      ++steps_;
      t.parameter = t.argument;
      t.bound = true;
      add({log_kind::call_reaction, f, t.procedure, t.argument});
    }
    t.started = true;
    return run_active(f);
  }

  void complete(task_id f) {
    if (f == 0) return;  // nobody awaits main
    tasks_[f].ended = true;
    add({.kind = log_kind::completion, .task = f});
  }

  void assign(task_id f, variable v, const value& to) {
    (v == own_parameter ? tasks_[f].parameter : globals_[v]) = to;
  }

  void add(const log_record& r) {
    if (log_) log_->add(r);
  }

  // --- the end ----------------------------------------------------------------------------------

  // If so, the run ends.
  bool is_at_limit() {
    if (steps_ == options_.limit) halt(ending::limit);
    return halted_;
  }

  stop fail(task_id f, const failure& error) {
    halt(ending::error);
    outcome_.task = f;
    outcome_.error = error;
    return {};
  }

  // The first reason counts.
  void halt(ending how) {
    if (!std::exchange(halted_, true)) outcome_.end = how;
  }

  // All tasks have ended, or are destroyed.
  outcome result() {
    outcome_.steps = steps_;
    configuration c;
    c.globals = globals_;
    for (const task_state& t : tasks_)
      c.tasks.push_back({.procedure = t.procedure,
                         .bound = t.bound,
                         .rest = t.rest,
                         .argument = t.argument,
                         .parameter = t.parameter});
    outcome_.state = state_of(program_, c);
    if (outcome_.end == ending::deadlock) {
      for (task_id f = 0; f < tasks_.size(); ++f)
        if (tasks_[f].rest != empty_continuation) c.queue.push_back(f);
      outcome_.blocked = blocked_tasks(program_, c);
    }
    return std::move(outcome_);
  }

  const program& program_;
  const runner_options options_;

  sync::mutex mutex_;
  // The rest is guarded by mutex_.
  log_sink* const log_;
  std::vector<value> globals_;
  std::deque<task_state> tasks_;
  handles* handles_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t live_ = 0;
  bool halted_ = false;
  outcome outcome_;
  std::exception_ptr thrown_;
  rota::async_event all_ended_;
};

}  // namespace

outcome run_on_tasks(const program& p, const runner_options& options, log_sink* log) {
  ROTA_CHECK(p.language() == language::coopwhile, "only coopwhile runs on tasks");
  ROTA_CHECK(p.semantics() == semantics::lagc_sched, "tasks run as under lagc-sched");
  return runner{p, options, log}.run();
}

}  // namespace rota::coop
