// The schedulers without a look at every rule for every step. Why it counts the same steps:
//
// R1  While no task is active, rotating changes neither state nor trace, so what is enabled stays
//     so. The scheduler rotates until the first enabled element is at the front; these steps are
//     counted, not taken.
// R2  A blocked element becomes enabled only by the end of the task it awaits or by a change of a
//     global that its await or guard reads: its parameter is its own. So it is left alone until one
//     of these happens, and evaluated at its place then, in the state of that moment.
// R3  If no element is enabled, the run ends here, before any rotating, even at the limit. So the
//     first enabled element is looked for before steps are counted.

#include <rota/coop/run.h>

#include <rota/base/assert.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "place_ring.h"

namespace rota::coop {

namespace {

class machine {
 public:
  machine(const program& p, std::uint64_t limit, log_sink* log)
      : program_(p),
        limit_(limit),
        log_(log),
        globals_(p.globals().size()),
        readers_(p.globals().size()) {
    tasks_.emplace_back();
    tasks_[0].rest = p.main();
    tasks_[0].started = true;
  }

  outcome run() {
    switch (program_.language()) {
      case language::while_:
        return run_sequential();
      case language::spawn:
      case language::guard:
        return run_interleaved();
      case language::coopwhile:
        break;
    }
    return is_sos(program_.semantics()) ? run_cooperative<true>() : run_cooperative<false>();
  }

 private:
  // Whom a change may wake. Out of date if the task was woken since it went to wait.
  struct waiter {
    task_id task;
    std::uint32_t ticket;
  };

  struct task {
    std::uint32_t procedure = no_procedure;
    continuation rest = empty_continuation;
    bool started = false;
    bool bound = false;
    bool ended = false;
    bool parked = false;
    std::uint32_t ticket = 0;  // counts how often it went to wait
    value argument = {};
    value parameter = {};
    std::vector<waiter> awaited_by = {};
  };

  // --- the languages ----------------------------------------------------------------------------

  // Rule (2).
  outcome run_sequential() {
    while (tasks_[0].rest != empty_continuation) {
      if (steps_ == limit_) return end(ending::limit);
      const local_step step = evaluate(0);
      if (step.outcome == local_outcome::failed) return fail(0, step.error);
      ++steps_;
      if (step.effect == local_effect::update) assign(0, step.target, step.result);
      tasks_[0].rest = step.rest;
    }
    return end(ending::done);
  }

  // Rules (6)-(8), (10).
  outcome run_interleaved() {
    ring_.push(0);
    while (!ring_.empty()) {
      if (!find_enabled<false>()) return end_deadlocked();
      if (!rotate()) return end(ending::limit);
      const task_id f = ring_.first();
      if (tasks_[f].rest == empty_continuation) {
        take_first();
        continue;
      }
      const local_step step = is_waiting(f) ? visited_ : evaluate(f);
      if (step.outcome == local_outcome::failed) return fail(f, step.error);
      take_first();
      tasks_[f].rest = step.rest;
      ring_.push(f);
      if (step.effect == local_effect::update) assign(f, step.target, step.result);
      if (step.effect != local_effect::call) continue;
      add({log_kind::call, no_task, step.procedure, step.result});
      if (steps_ == limit_) return end(ending::limit);
      ++steps_;
      const task_id called = call(step);
      start(called, no_task);
      ring_.push(called);
    }
    return end(ending::done);
  }

  // Rules (18)-(24), or Figures 5 and 7.
  template <bool Sos>
  outcome run_cooperative() {
    task_id active = 0;
    for (;;) {
      switch (run_active<Sos>(active)) {
        case ran::to_the_limit:
          return end(ending::limit);
        case ran::into_an_error:
          return fail(active, visited_.error);
        case ran::to_a_stop:
          break;
      }
      if (ring_.empty()) return end(ending::done);
      if (!find_enabled<Sos>()) return end_deadlocked();
      if (!rotate()) return end(ending::limit);
      active = ring_.first();
      const bool waiting = (Sos || tasks_[active].started) && is_waiting(active);
      if (waiting && visited_.outcome == local_outcome::failed) return fail(active, visited_.error);
      take_first();
      go_on<Sos>(active, waiting);
    }
  }

  // Rules (19) and (20), or one of Sos that schedules.
  template <bool Sos>
  void go_on(task_id f, bool waiting) {
    task& t = tasks_[f];
    const bool starts = !t.started;
    if (starts) start(f, f);
    if (waiting) {
      t.rest = visited_.rest;
      if (visited_.effect == local_effect::reaction)
        return add(
            {.kind = log_kind::completion_reaction, .task = visited_.result.as_task(), .by = f});
    } else if (!Sos && !starts) {
      t.rest = program_.at(t.rest).next;  // a suspend
    }
    if (!starts) add({.kind = log_kind::resume, .task = f});
  }

  enum class ran { to_a_stop, to_the_limit, into_an_error };

  // The active task, until it gives way or ends.
  template <bool Sos>
  ran run_active(task_id f) {
    for (;;) {
      if (steps_ == limit_) return ran::to_the_limit;
      const instruction& i = program_.at(tasks_[f].rest);
      switch (i.head) {
        case statement_kind::suspend:  // (24), or one of Sos that yields
          if (Sos) tasks_[f].rest = i.next;
          [[fallthrough]];
        case statement_kind::await:
        case statement_kind::guard:
          ring_.push(f);
          [[fallthrough]];
        case statement_kind::end:  // (23)
          ++steps_;
          return ran::to_a_stop;
        default:
          break;
      }
      visited_ = evaluate(f);
      if (visited_.outcome == local_outcome::failed) return ran::into_an_error;
      ++steps_;
      tasks_[f].rest = visited_.rest;
      switch (visited_.effect) {
        case local_effect::update:
          assign(f, visited_.target, visited_.result);
          break;
        case local_effect::call: {
          const task_id called = call(visited_);
          add({log_kind::call, called, visited_.procedure, visited_.result});
          if (Sos) bind(called);
          if (visited_.target != no_variable) assign(f, visited_.target, value::task(called));
          if (!Sos && steps_ == limit_) return ran::to_the_limit;
          if (!Sos) ++steps_;  // (18)
          ring_.push(called);
          break;
        }
        case local_effect::completion:
          complete(f);
          if (Sos) return ran::to_a_stop;
          break;
        case local_effect::none:
        case local_effect::reaction:
          break;
      }
    }
  }

  // --- tasks ------------------------------------------------------------------------------------

  local_step evaluate(task_id f) const {
    return evaluate_statement(program_, tasks_[f].rest, {globals_.data(), &tasks_[f].parameter});
  }

  task_id call(const local_step& step) {
    const auto f = static_cast<task_id>(tasks_.size());
    tasks_.push_back({.procedure = step.procedure,
                      .rest = program_.procedures()[step.procedure].body,
                      .argument = step.result});
    return f;
  }

  void bind(task_id f) {
    tasks_[f].parameter = tasks_[f].argument;
    tasks_[f].bound = true;
  }

  // A call reaction. Under Sos the parameter is bound already, and not changed since.
  void start(task_id f, task_id named) {
    bind(f);
    tasks_[f].started = true;
    add({log_kind::call_reaction, named, tasks_[f].procedure, tasks_[f].argument});
  }

  void complete(task_id f) {
    if (f == 0) return;  // nobody awaits main
    tasks_[f].ended = true;
    add({.kind = log_kind::completion, .task = f});
    wake_all(tasks_[f].awaited_by);
  }

  void assign(task_id f, variable v, const value& to) {
    if (v == own_parameter) {
      tasks_[f].parameter = to;
    } else if (!(globals_[v] == to)) {
      globals_[v] = to;
      wake_all(readers_[v]);
    }
  }

  void add(const log_record& r) {
    if (log_) log_->add(r);
  }

  // --- waiting ----------------------------------------------------------------------------------

  bool is_waiting(task_id f) const {
    const statement_kind head = program_.at(tasks_[f].rest).head;
    return head == statement_kind::await || head == statement_kind::guard;
  }

  // Makes the first enabled element the first candidate, visited_ its step if it is waiting, and
  // ahead_ the number of rotations on the way to it (R1). False if there is none (R3).
  template <bool Sos>
  bool find_enabled() {
    ahead_ = 0;
    for (task_id f = ring_.first(); f != no_task; f = ring_.first()) {
      ahead_ += ring_.ahead();
      const bool is_marker = !Sos && !tasks_[f].started;
      if (is_marker || !is_waiting(f)) return true;
      visited_ = evaluate(f);
      const bool awaits = visited_.effect == local_effect::reaction;
      if (awaits ? tasks_[visited_.result.as_task()].ended
                 : visited_.outcome != local_outcome::blocked)
        return true;
      ring_.park_first();
      ++ahead_;
      wait(f, awaits ? visited_.result.as_task() : no_task);
    }
    return false;
  }

  // R2: leaves word wherever a change may enable f.
  void wait(task_id f, task_id awaited) {
    task& t = tasks_[f];
    t.parked = true;
    const waiter me{f, ++t.ticket};
    if (awaited != no_task) add_to(tasks_[awaited].awaited_by, me);
    for (variable v : program_.reads(program_.at(t.rest))) add_to(readers_[v], me);
  }

  bool is_current(const waiter& w) const {
    return tasks_[w.task].parked && tasks_[w.task].ticket == w.ticket;
  }

  // A list does not grow by those who were woken from elsewhere.
  void add_to(std::vector<waiter>& list, waiter w) {
    if (list.size() == list.capacity()) {
      std::erase_if(list, [this](const waiter& old) { return !is_current(old); });
      if (list.size() > list.capacity() / 2) list.reserve(2 * list.capacity());
    }
    list.push_back(w);
  }

  void wake_all(std::vector<waiter>& list) {
    for (const waiter& w : list) {
      if (!is_current(w)) continue;
      tasks_[w.task].parked = false;
      ring_.wake(w.task);
    }
    list.clear();
  }

  // --- steps ------------------------------------------------------------------------------------

  // Counts the rotations; false if the limit comes first.
  bool rotate() {
    if (ahead_ >= limit_ - steps_) {
      steps_ = limit_;
      return false;
    }
    steps_ += ahead_;
    return true;
  }

  void take_first() {
    ring_.take_first();
    ++steps_;
  }

  // --- the end ----------------------------------------------------------------------------------

  outcome end(ending how) const {
    outcome o{.end = how, .steps = steps_, .error = {}, .blocked = {}, .state = {}};
    configuration c;
    c.globals = globals_;
    for (const task& t : tasks_)
      c.tasks.push_back({.procedure = t.procedure,
                         .bound = t.bound,
                         .argument = t.argument,
                         .parameter = t.parameter});
    o.state = state_of(program_, c);
    return o;
  }

  outcome fail(task_id f, const failure& error) const {
    outcome o = end(ending::error);
    o.task = f;
    o.error = error;
    return o;
  }

  outcome end_deadlocked() const {
    outcome o = end(ending::deadlock);
    // Those that were passed in search of an enabled one stand last, but were the first.
    std::vector<task_id> order = ring_.blocked_at_rear();
    std::rotate(order.begin(), order.end() - static_cast<std::ptrdiff_t>(ahead_), order.end());
    for (task_id f : order) {
      const instruction& i = program_.at(tasks_[f].rest);
      const bool awaits = i.head == statement_kind::await;
      const environment seen{globals_.data(), &tasks_[f].parameter};
      o.blocked.push_back({f, i.head, i.at, awaits ? seen[i.target].as_task() : no_task});
    }
    return o;
  }

  const program& program_;
  const std::uint64_t limit_;
  log_sink* const log_;
  std::vector<value> globals_;
  std::vector<std::vector<waiter>> readers_;  // of each global: who waits for it to change
  std::vector<task> tasks_;
  place_ring ring_;
  local_step visited_;
  std::uint64_t ahead_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace

outcome run(const program& p, const run_options& options, log_sink* log) {
  ROTA_CHECK(is_scheduler(p.semantics()), "run() needs a scheduler, not a relation");
  return machine{p, options.limit, log}.run();
}

}  // namespace rota::coop
