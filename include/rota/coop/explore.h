// All that a program can do under a semantics in which nothing is scheduled.
//
//   const rule_table rules = rules_of(p);
//   const exploration all{p, rules, {.max_states = 10'000}};
//   for (const found_end& e : all.ends()) {
//     const pick_list picks = all.witness(e).picks();
//     run_by_rules(p, rules, {.picks = &picks});  // ends like e.what
//   }
//   if (!all.complete()) ...  // there is more
//
// Breadth first over configurations, each of which is met once; so witnesses are as short as can
// be. Two configurations are one state if nothing that can come differs, nor what is left of the
// variables at the end: how a state was reached does not count, nor the order of open calls, nor
// the argument of a call once it was answered. Ended tasks do count, by their parameters, which
// stay. Tasks of coopwhile keep their numbers, which are values; those of spawn and guard are known
// by what they were called with, and have in an end the numbers of its witness. So a program has
// finitely many states if its values are bounded and it spawns finitely often.
//
// Promised: every end and every endless run that is reported exists, and its witness leads there.
// If the exploration is complete, there are no others: no end that is not among those reported, and
// no endless run if none is.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_EXPLORE_H
#define ROTA_COOP_EXPLORE_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>
#include <rota/coop/source.h>
#include <rota/coop/value.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

struct explore_options {
  std::uint64_t max_states = 100'000;
  std::uint64_t max_bytes =
      500'000'000;  // of the states: they grow where tasks are spawned for ever
};

// One way that a run can end.
struct found_end {
  // As its witness ends. Errors are one if kind, task and place are, whatever the state.
  outcome what;
  std::vector<std::vector<task_id>> cycles;  // of a deadlock: who awaits whom awaits whom ...

  // Where it was found: a state, and the step of it that fails.
  std::uint32_t state = 0;
  std::uint32_t step = 0;
};

// One time that there were several steps.
struct choice {
  std::uint64_t step = 0;  // from 1
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  std::string what;  // in words
};

// A part of a run: all there was to choose.
struct schedule {
  std::uint64_t steps = 0;
  std::vector<choice> choices;

  pick_list picks() const;
};

enum class endless_kind : std::uint8_t {
  local,      // the active task never gives way
  fair,       // no task is passed over for ever: a fair scheduler may do this
  unfair,     // only if a task is passed over for ever
  undecided,  // fair only if states that were not explored make it so
};

// "fair".
std::string_view name_of(endless_kind kind) noexcept;

// A task that could go on whenever no task is active, and does not.
struct passed_over_task {
  task_id task = no_task;
  position at;

  bool operator==(const passed_over_task&) const = default;
};

// A run that comes back to a state.
struct endless_run {
  endless_kind kind = endless_kind::undecided;
  schedule prefix;
  schedule cycle;
  std::vector<passed_over_task> whom;  // if it is unfair
};

struct dot_options {
  std::string title;
  bool all_states = false;     // those with an active task as well
  std::uint64_t most = 2'000;  // states
};

class state_graph;

class exploration {
 public:
  // The program's semantics is lagc or sos, the rules are those of it. Both outlive this.
  exploration(const program& p, const rule_table& rules, const explore_options& options);
  ~exploration();
  exploration(const exploration&) = delete;
  exploration& operator=(const exploration&) = delete;

  bool complete() const noexcept { return complete_; }
  std::uint64_t states() const noexcept;
  std::uint64_t steps() const noexcept;    // from state to state
  std::uint64_t choices() const noexcept;  // states with several steps

  // The nearest first.
  const std::vector<found_end>& ends() const noexcept { return ends_; }
  schedule witness(const found_end& e) const;

  // The nearest of each kind.
  const std::vector<endless_run>& endless() const noexcept { return endless_; }

  // A graph for Graphviz. A stretch in which there is nothing to choose is one edge, from one state
  // without active task to the next. False, and nothing is written, if there are too many states.
  bool write_dot(std::ostream& out, const dot_options& options) const;

 private:
  void search();
  void name_tasks_of_ends();
  void find_endless_runs();
  position place_of(std::uint32_t state, task_id f) const;

  const program& program_;
  const rule_table& rules_;
  std::unique_ptr<state_graph> graph_;
  bool complete_ = true;
  std::vector<found_end> ends_;
  std::vector<endless_run> endless_;
};

// The cycles of tasks that await each other, each from its smallest task on.
std::vector<std::vector<task_id>> waiting_cycles(const std::vector<blocked_task>& blocked);

}  // namespace rota::coop

#endif
