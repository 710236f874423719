// The deterministic schedulers of Lagc: rules (6)-(8), (10) for spawn and guard, (18)-(24) for
// coopwhile. In every configuration that is not final exactly one of them has one derivation.

#include "rule_parts.h"

namespace rota::coop {

namespace {

// --- spawn, guard -------------------------------------------------------------------------------

// The first of the queue, if no call is open; none otherwise.
task_id turn_of(const configuration& c) {
  return c.open.empty() && !c.queue.empty() ? c.queue.front() : no_task;
}

// (6): the first runs one statement and goes to the rear, also if nothing is left of it.
void rule_6_run(const program& p, const configuration& c, derivations& found) {
  const task_id f = turn_of(c);
  if (f == no_task || c.tasks[f].rest == empty_continuation) return;
  const local_step step = local_step_of(p, c, f);
  if (step.outcome != local_outcome::blocked)
    found.push_back(evaluate(p, c, f, step, place::queue));
}

// (7): a new task for the open call, at the rear.
void rule_7_start(const program& p, const configuration& c, derivations& found) {
  if (c.open.empty()) return;
  derivation d = start(p, c, c.open.front());
  d.to = place::queue;
  found.push_back(d);
}

// (8): an empty continuation leaves the queue at its turn.
void rule_8_dispose(const program& p, const configuration& c, derivations& found) {
  const task_id f = turn_of(c);
  if (f == no_task || c.tasks[f].rest != empty_continuation) return;
  found.push_back(visit(p, c, f, place::nowhere));
}

// (10): a first element that cannot move goes to the rear.
void rule_10_rotate(const program& p, const configuration& c, derivations& found) {
  const task_id f = turn_of(c);
  if (f != no_task && is_blocked(p, c, f)) found.push_back(visit(p, c, f, place::queue));
}

// --- coopwhile ----------------------------------------------------------------------------------

// The active task, if no call is pending.
task_id active_of(const configuration& c) { return c.pending == no_task ? c.active : no_task; }

// The first of the queue, if no task is active and no call is pending: it is visited.
task_id visited_of(const configuration& c) {
  const bool idle = c.pending == no_task && c.active == no_task;
  return idle && !c.queue.empty() ? c.queue.front() : no_task;
}

bool is_marker(const configuration& c, task_id f) { return c.tasks[f].phase == phase::called; }

// (18): a call that was just made gets its marker.
void rule_18_marker(const program&, const configuration& c, derivations& found) {
  if (c.pending == no_task) return;
  derivation d{.task = c.pending, .rest = c.tasks[c.pending].rest, .to = place::queue, .c = c.c};
  d.events.push_back({.kind = event_kind::done});
  found.push_back(d);
}

// (19): the first is a marker; its task starts.
void rule_19_start(const program& p, const configuration& c, derivations& found) {
  const task_id f = visited_of(c);
  if (f == no_task || !is_marker(c, f)) return;
  derivation d = start(p, c, f);
  d.c = 0;
  found.push_back(d);
}

// (20): the first is a suspended task that is enabled; it goes on.
void rule_20_resume(const program& p, const configuration& c, derivations& found) {
  const task_id f = visited_of(c);
  if (f == no_task || is_marker(c, f) || is_blocked(p, c, f)) return;
  derivation d = evaluate(p, c, f, local_step_of(p, c, f), place::active);
  d.resumes = true;
  d.c = 0;
  found.push_back(d);
}

// (21): the first is blocked; it goes to the rear.
void rule_21_rotate(const program& p, const configuration& c, derivations& found) {
  const task_id f = visited_of(c);
  if (f == no_task || is_marker(c, f) || !is_blocked(p, c, f)) return;
  found.push_back(visit(p, c, f, place::queue));
}

// (22): the active task takes a local step.
void rule_22_local(const program& p, const configuration& c, derivations& found) {
  const task_id f = active_of(c);
  if (f == no_task || c.tasks[f].rest == empty_continuation || is_suspended(p, c.tasks[f].rest))
    return;
  derivation d = evaluate(p, c, f, local_step_of(p, c, f), place::active);
  d.c = c.c - 1;
  if (!d.events.empty() && d.events[0].kind == event_kind::call) d.pending = d.events[0].task;
  found.push_back(d);
}

// (23): nothing is left of the active task.
void rule_23_end(const program& p, const configuration& c, derivations& found) {
  const task_id f = active_of(c);
  if (f == no_task || c.tasks[f].rest != empty_continuation) return;
  found.push_back(visit(p, c, f, place::nowhere));
}

// (24): the active task has come to a suspended statement; it gives way, whatever holds.
void rule_24_give_way(const program& p, const configuration& c, derivations& found) {
  const task_id f = active_of(c);
  if (f == no_task || !is_suspended(p, c.tasks[f].rest)) return;
  found.push_back(visit(p, c, f, place::queue));
}

}  // namespace

rule_table lagc_scheduler_rules(language l) {
  switch (l) {
    case language::while_:
      return lagc_rules(l);  // nothing to schedule
    case language::spawn:
    case language::guard:
      return {{"6", rule_6_run, take_step},
              {"7", rule_7_start, take_step},
              {"8", rule_8_dispose, take_step},
              {"10", rule_10_rotate, take_step}};
    case language::coopwhile:
      break;
  }
  return {{"18", rule_18_marker, take_step},  {"19", rule_19_start, take_step},
          {"20", rule_20_resume, take_step},  {"21", rule_21_rotate, take_step},
          {"22", rule_22_local, take_step},   {"23", rule_23_end, take_step},
          {"24", rule_24_give_way, take_step}};
}

}  // namespace rota::coop
