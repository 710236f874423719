// Runs a program to its end, to a deadlock, to an error or for a number of steps.
//
//   const outcome o = run(p, {.limit = 1'000'000});           // fast; schedulers only
//   const outcome o = run_by_rules(p, rules_of(p), {.seed = 7}, {&trace});
//
// run_by_rules() takes the rules one by one and shows each step; run() takes the schedulers'
// decisions with a queue in which blocked tasks are passed in one go, and shows the observable log
// only. Both count the same steps and end the same way.
//
// Threads: anyone's; observers are called on the same thread.
#ifndef ROTA_COOP_RUN_H
#define ROTA_COOP_RUN_H

#include <rota/coop/configuration.h>
#include <rota/coop/log.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/value.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace rota::coop {

// Which step to take, for each time that there are several, by its number in canonical order.
using pick_list = std::vector<std::uint32_t>;

struct run_options {
  std::uint64_t limit = 1000;  // steps
  std::uint64_t seed = 1;      // for the choice among several steps
  // Instead of the seed; outlives the run. For run_by_rules().
  const pick_list* picks = nullptr;
};

// Picks that do not fit the program: there are fewer steps to choose from, or too few picks, or
// too many. Says where, and what there is to choose from.
struct wrong_picks : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class ending : std::uint8_t { done, deadlock, limit, error };

// As in traces.
std::string_view name_of(ending e) noexcept;

struct blocked_task {
  task_id task = no_task;
  statement_kind head = statement_kind::guard;
  position at;
  task_id on = no_task;  // whom it awaits

  bool operator==(const blocked_task&) const = default;
};

// Who waits for what when every element of the queue is blocked, in the order of the queue.
std::vector<blocked_task> blocked_tasks(const program& p, const configuration& c);

struct outcome {
  ending end = ending::done;
  std::uint64_t steps = 0;
  task_id task = no_task;  // of the error
  failure error;
  std::vector<blocked_task> blocked;  // of the deadlock, in the order of the queue
  named_state state;

  bool operator==(const outcome&) const = default;
};

// One step that was taken.
struct taken_step {
  std::uint64_t n = 0;  // from 1
  const derivation& what;
  std::size_t index = 0;  // which it was of how many
  std::size_t count = 1;
};

// Sees a run. The configuration is the one after the step.
class run_observer {
 public:
  virtual ~run_observer() = default;
  virtual void start(const configuration&) {}
  virtual void step(const taken_step&, const configuration&) {}
  virtual void end(const outcome&) {}
};

// Throws wrong_picks. Picks that are left at the limit are not wrong: the run was cut off.
outcome run_by_rules(const program& p, const rule_table& rules, const run_options& options,
                     const std::vector<run_observer*>& observers = {});

// The program's semantics is a scheduler.
outcome run(const program& p, const run_options& options, log_sink* log = nullptr);

}  // namespace rota::coop

#endif
