// Watches a scheduler at every step, and decides whether its run is fair.
//
//   const check_report r = check(p, rules_of(p), {.limit = 10'000});
//   for (const violation& v : r.violations) complain(v);
//   if (r.by_tasks.strong.is == verdict::unfair) ...  // r.by_tasks.strong.whom starves
//
// The scheduler is a table of rules, so that one with a mistake in it can be checked as well. What
// it does is held against the relation that it chooses from, and against what the checker itself
// has noted of the run; not against another scheduler.
//
// Promised: a violation is one of the run that was checked. Not promised: that a scheduler without
// one is right on other programs, or beyond the limit.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_CHECK_H
#define ROTA_COOP_CHECK_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>
#include <rota/coop/source.h>
#include <rota/coop/value.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

// What is asserted. All but the last concern single steps.
enum class check_kind : std::uint8_t {
  determinism,        // there is exactly one step
  well_formedness,    // of the trace, and the life of every task in it
  shape,              // who is where; Lemma 5
  mapping,            // the step is one of the relation, or invisible there
  distance,           // Lemmas 2 and 3, and their like for coopwhile
  overtaking,         // while a task is enabled, every other goes on at most once
  local_computation,  // a task gives way after so many steps
  fairness,           // what the theorems promise: weak, or quiescent in coopwhile
};
inline constexpr std::size_t check_kinds = 8;

// "well-formedness".
std::string_view name_of(check_kind kind) noexcept;

struct violation {
  check_kind check = check_kind::determinism;
  std::uint64_t step = 0;  // from 1
  std::string rule;        // none if there was no step
  task_id task = no_task;
  position at;  // what the task was at
  std::string expected;
  std::string found;
};

enum class verdict : std::uint8_t {
  fair,
  unfair,
  undecided,  // the run neither ended nor became periodic
  none        // there is no such fairness here: no configuration is quiescent
};

// "fair".
std::string_view name_of(verdict v) noexcept;

struct starving_task {
  task_id task = no_task;
  position at;  // where it waits; or what is never produced

  bool operator==(const starving_task&) const = default;
};

struct fairness_verdict {
  verdict is = verdict::undecided;
  std::vector<starving_task> whom;  // if it is unfair
};

struct fairness_verdicts {
  fairness_verdict weak;
  fairness_verdict strong;
  fairness_verdict quiescent;
};

struct period {
  std::uint64_t from = 0;  // the configuration after this step returns
  std::uint64_t length = 0;

  bool operator==(const period&) const = default;
};

struct check_options {
  std::uint64_t limit = 10'000;  // steps
  std::uint64_t bound = 5'000;   // local steps until a task gives way
};

struct check_report {
  // Of a run that is periodic, or was given up for a violation: ending::limit.
  outcome end;
  std::optional<period> repeats;
  std::vector<violation> violations;  // the first of each check
  // How often each check was asserted; 0 if it does not apply to the semantics.
  std::array<std::uint64_t, check_kinds> asserted{};
  // The two readings: tasks that can move, and continuations that a step can produce.
  fairness_verdicts by_tasks;
  fairness_verdicts by_continuations;

  std::uint64_t times(check_kind k) const { return asserted[static_cast<std::size_t>(k)]; }
  const violation* find(check_kind k) const;
};

// The program's semantics is a scheduler; the rules claim to be those of it. The run goes on after
// a violation to look for those of the other checks, as long as the configuration makes sense.
check_report check(const program& p, const rule_table& rules, const check_options& options);

}  // namespace rota::coop

#endif
