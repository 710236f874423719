// The Sos of coopwhile: Figure 4 as a relation, Figure 5 as a scheduler, both with the guards of
// Figure 7. What the active task does is the same in both; they differ in who is scheduled.

#include "rule_parts.h"

namespace rota::coop {

namespace {

// --- the active task ----------------------------------------------------------------------------

bool active_at(const program& p, const configuration& c, statement_kind head) {
  return c.active != no_task && head_of(p, c, c.active) == head;
}

void local(const program& p, const configuration& c, derivations& found) {
  if (c.active == no_task) return;
  switch (head_of(p, c, c.active)) {
    case statement_kind::skip:
    case statement_kind::assign:
    case statement_kind::if_:
    case statement_kind::while_:
      found.push_back(evaluate(p, c, c.active, local_step_of(p, c, c.active), place::active));
      break;
    default:
      break;
  }
}

// The parameter is bound here, before the variable of the spawn.
void spawn_start(const program& p, const configuration& c, derivations& found) {
  if (!active_at(p, c, statement_kind::spawn)) return;
  derivation d = evaluate(p, c, c.active, local_step_of(p, c, c.active), place::active);
  if (!d.error) {
    const pair_list<update> of_spawn = d.updates;
    d.updates = {};
    d.updates.push_back({d.events[0].task, own_parameter, d.events[0].argument});
    for (const update& u : of_spawn) d.updates.push_back(u);
    d.queues_call = true;
  }
  found.push_back(d);
}

void return_(const program& p, const configuration& c, derivations& found) {
  if (!active_at(p, c, statement_kind::return_)) return;
  found.push_back(evaluate(p, c, c.active, local_step_of(p, c, c.active), place::nowhere));
}

// Drops the suspend; the other two keep their statement.
void yield_suspend(const program& p, const configuration& c, derivations& found) {
  if (!active_at(p, c, statement_kind::suspend)) return;
  found.push_back(evaluate(p, c, c.active, local_step_of(p, c, c.active), place::queue));
}

void yield_await(const program& p, const configuration& c, derivations& found) {
  if (active_at(p, c, statement_kind::await)) found.push_back(visit(p, c, c.active, place::queue));
}

void yield_guard(const program& p, const configuration& c, derivations& found) {
  if (active_at(p, c, statement_kind::guard)) found.push_back(visit(p, c, c.active, place::queue));
}

// --- who is scheduled ---------------------------------------------------------------------------

// The events that we attach: the first time that a spawned task is scheduled, its call reaction.
void mark_first(const configuration& c, derivation& d) {
  const task_record& t = c.tasks[d.task];
  d.resumes = true;
  if (t.phase != phase::called) return;
  const pair_list<event> own = d.events;
  d.events = {};
  d.events.push_back({event_kind::call_reaction, d.task, t.procedure, t.argument});
  for (const event& e : own) d.events.push_back(e);
}

void schedule_simple(const program& p, const configuration& c, task_id f, derivations& found) {
  const statement_kind head = head_of(p, c, f);
  if (head == statement_kind::await || head == statement_kind::guard) return;
  derivation d = visit(p, c, f, place::active);
  mark_first(c, d);
  found.push_back(d);
}

// Passes an await of an ended task or a true guard. A task is live as long as it has not ended, the
// visited one included.
void schedule_waiting(const program& p, const configuration& c, task_id f, statement_kind head,
                      derivations& found) {
  if (head_of(p, c, f) != head || is_blocked(p, c, f)) return;
  derivation d = evaluate(p, c, f, local_step_of(p, c, f), place::active);
  if (!d.error) mark_first(c, d);
  found.push_back(d);
}

void rotate_waiting(const program& p, const configuration& c, task_id f, statement_kind head,
                    derivations& found) {
  if (head_of(p, c, f) == head && is_blocked(p, c, f))
    found.push_back(visit(p, c, f, place::queue));
}

// Figure 5: the first of the queue.
task_id visited_of(const configuration& c) {
  return c.active == no_task && !c.queue.empty() ? c.queue.front() : no_task;
}

void first_simple(const program& p, const configuration& c, derivations& found) {
  if (const task_id f = visited_of(c); f != no_task) schedule_simple(p, c, f, found);
}

void first_await_done(const program& p, const configuration& c, derivations& found) {
  if (const task_id f = visited_of(c); f != no_task)
    schedule_waiting(p, c, f, statement_kind::await, found);
}

void first_await_wait(const program& p, const configuration& c, derivations& found) {
  if (const task_id f = visited_of(c); f != no_task)
    rotate_waiting(p, c, f, statement_kind::await, found);
}

void first_guard_done(const program& p, const configuration& c, derivations& found) {
  if (const task_id f = visited_of(c); f != no_task)
    schedule_waiting(p, c, f, statement_kind::guard, found);
}

void first_guard_wait(const program& p, const configuration& c, derivations& found) {
  if (const task_id f = visited_of(c); f != no_task)
    rotate_waiting(p, c, f, statement_kind::guard, found);
}

// Figure 4: any of them.
void each_waiting(const configuration& c, const auto& visit_task) {
  if (c.active != no_task) return;
  for (task_id f : c.queue) visit_task(f);
}

void any_simple(const program& p, const configuration& c, derivations& found) {
  each_waiting(c, [&](task_id f) { schedule_simple(p, c, f, found); });
}

void any_await(const program& p, const configuration& c, derivations& found) {
  each_waiting(c, [&](task_id f) { schedule_waiting(p, c, f, statement_kind::await, found); });
}

void any_guard(const program& p, const configuration& c, derivations& found) {
  each_waiting(c, [&](task_id f) { schedule_waiting(p, c, f, statement_kind::guard, found); });
}

rule_table rules_of_the_active() {
  return {{"LOCAL", local, take_step},
          {"SPAWNSTART", spawn_start, take_step},
          {"RETURN", return_, take_step},
          {"YIELDSUSPEND", yield_suspend, take_step},
          {"YIELDAWAIT", yield_await, take_step},
          {"YIELDGUARD", yield_guard, take_step}};
}

rule_table operator+(rule_table rules, const rule_table& more) {
  rules.insert(rules.end(), more.begin(), more.end());
  return rules;
}

}  // namespace

rule_table sos_rules() {
  return rules_of_the_active() + rule_table{{"SCHEDULESIMPLE", any_simple, take_step},
                                            {"SCHEDULEAWAIT", any_await, take_step},
                                            {"SCHEDULEGUARD", any_guard, take_step}};
}

rule_table sos_scheduler_rules() {
  return rules_of_the_active() + rule_table{{"SCHEDULESIMPLE", first_simple, take_step},
                                            {"SCHEDULEAWAITDONE", first_await_done, take_step},
                                            {"SCHEDULEAWAITWAIT", first_await_wait, take_step},
                                            {"SCHEDULEGUARDDONE", first_guard_done, take_step},
                                            {"SCHEDULEGUARDWAIT", first_guard_wait, take_step}};
}

}  // namespace rota::coop
