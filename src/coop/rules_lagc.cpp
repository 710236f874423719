// The Lagc semantics as relations: rules (2), (4), (5), (16), (17). Nobody schedules: each task
// that can move may be the next.

#include <algorithm>

#include "rule_parts.h"

namespace rota::coop {

namespace {

// One step of task f that stays in a set of continuations, from which empty ones are dropped.
void evaluate_in_set(const program& p, const configuration& c, task_id f, derivations& found) {
  const local_step step = local_step_of(p, c, f);
  if (step.outcome == local_outcome::blocked) return;
  derivation d = evaluate(p, c, f, step, place::queue);
  if (d.rest == empty_continuation) d.to = place::nowhere;
  found.push_back(d);
}

// (2), the sequential language: one task, one step.
void rule_2(const program& p, const configuration& c, derivations& found) {
  if (!c.queue.empty()) evaluate_in_set(p, c, c.queue.front(), found);
}

// (4): any task whose statement has a consistent trace.
void rule_4(const program& p, const configuration& c, derivations& found) {
  for (task_id f : c.queue) evaluate_in_set(p, c, f, found);
}

// (5): a reaction to any of the different open calls.
void rule_5(const program& p, const configuration& c, derivations& found) {
  for (auto open = c.open.begin(); open != c.open.end(); ++open) {
    if (std::find(c.open.begin(), open, *open) != open) continue;
    derivation d = start(p, c, *open);
    d.to = place::queue;
    found.push_back(d);
  }
}

// Where a task of coopwhile is in a set in which all but the active one are suspended.
place place_for(const program& p, continuation rest) {
  if (rest == empty_continuation) return place::nowhere;
  return is_suspended(p, rest) ? place::queue : place::active;
}

// (16): the active task; if there is none, any suspended one that is enabled.
void rule_16(const program& p, const configuration& c, derivations& found) {
  const auto move = [&](task_id f, bool resumes) {
    if (is_blocked(p, c, f)) return;
    derivation d = evaluate(p, c, f, local_step_of(p, c, f), place::active);
    d.to = place_for(p, d.rest);
    d.resumes = resumes;
    found.push_back(d);
  };
  if (c.active != no_task) return move(c.active, false);
  for (task_id f : c.queue) move(f, true);
}

// (17): if no task is active, any that was called may start.
void rule_17(const program& p, const configuration& c, derivations& found) {
  if (c.active != no_task) return;
  for (task_id f = 0; f < c.tasks.size(); ++f) {
    if (c.tasks[f].phase != phase::called) continue;
    derivation d = start(p, c, f);
    d.to = place_for(p, d.rest);
    found.push_back(d);
  }
}

}  // namespace

rule_table lagc_rules(language l) {
  switch (l) {
    case language::while_:
      return {{"2", rule_2, take_step}};
    case language::spawn:
    case language::guard:
      return {{"4", rule_4, take_step}, {"5", rule_5, take_step}};
    case language::coopwhile:
      break;
  }
  return {{"16", rule_16, take_step}, {"17", rule_17, take_step}};
}

}  // namespace rota::coop
