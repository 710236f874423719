#include <rota/coop/rules.h>

#include <algorithm>

#include "rule_parts.h"

namespace rota::coop {

rule_table rules_of(const program& p) {
  switch (p.semantics()) {
    case semantics::lagc_sched:
      return lagc_scheduler_rules(p.language());
    case semantics::sos_sched:
      return sos_scheduler_rules();
    case semantics::lagc:
      return lagc_rules(p.language());
    case semantics::sos:
      break;
  }
  return sos_rules();
}

void find_steps(const rule_table& rules, const program& p, const configuration& c,
                std::vector<derivation>& found) {
  found.clear();
  for (const rule& r : rules) {
    const std::size_t before = found.size();
    r.find(p, c, found);
    for (std::size_t i = before; i < found.size(); ++i) found[i].by = &r;
  }
  // Rules come one after the other; but the tasks of Sos come in their order, whichever rule moves
  // them. No task has two steps.
  if (p.semantics() == semantics::sos)
    std::sort(found.begin(), found.end(),
              [](const derivation& a, const derivation& b) { return a.task < b.task; });
}

bool is_deadlocked(const program& p, const configuration& c, const std::vector<derivation>& found) {
  if (is_final(p, c)) return false;
  if (!is_scheduler(p.semantics())) return found.empty();
  if (c.active != no_task || c.pending != no_task || !c.open.empty()) return false;
  // A marker is no continuation yet.
  const bool has_markers = p.semantics() == semantics::lagc_sched;
  return std::all_of(c.queue.begin(), c.queue.end(), [&](task_id f) {
    return !(has_markers && c.tasks[f].phase == phase::called) && is_blocked(p, c, f);
  });
}

std::string in_words(const program& p, const derivation& d) {
  std::string text = d.task == 0 ? "main" : "task " + std::to_string(d.task);
  const bool starts = !d.events.empty() && d.events[0].kind == event_kind::call_reaction;
  if (starts)
    text += " starts " + p.procedures()[d.events[0].procedure].name + '(' +
            to_string(d.events[0].argument) + ')';
  else
    text += d.at ? " goes on at " + to_string(d.at) : std::string(" ends");
  return d.error ? text + " and fails" : text;
}

namespace {

void happen(const program& p, configuration& c, const derivation& d, const event& e) {
  const bool has_identity = e.task != no_task;
  switch (e.kind) {
    case event_kind::call:
      if (!has_identity) {
        c.open.push_back({e.procedure, e.argument});
        break;
      }
      c.tasks.push_back({.procedure = e.procedure,
                         .rest = p.procedures()[e.procedure].body,
                         .argument = e.argument,
                         .parameter = {}});
      if (d.queues_call) c.queue.push_back(e.task);
      break;
    case event_kind::call_reaction:
      if (!has_identity) {
        c.open.erase(std::find(c.open.begin(), c.open.end(), call{e.procedure, e.argument}));
        c.tasks.push_back({.procedure = e.procedure, .argument = e.argument, .parameter = {}});
      }
      c.tasks[d.task].phase = phase::live;
      break;
    case event_kind::completion:
      c.tasks[e.task].phase = phase::ended;
      break;
    case event_kind::completion_reaction:
    case event_kind::done:
      break;
  }
}

void set(configuration& c, const update& u) {
  if (u.owner == no_task) {
    c.globals[u.slot] = u.to;
  } else {
    c.tasks[u.owner].parameter = u.to;
    c.tasks[u.owner].bound = true;
  }
}

// Takes a task from where it is. In the queue of a scheduler it is the first.
void take_out(configuration& c, task_id f) {
  if (c.active == f) {
    c.active = no_task;
    return;
  }
  const auto at = std::find(c.queue.begin(), c.queue.end(), f);
  if (at != c.queue.end()) c.queue.erase(at);
}

void put(const program& p, configuration& c, task_id f, place to) {
  switch (to) {
    case place::active:
      c.active = f;
      break;
    case place::queue:
      if (is_scheduler(p.semantics()))
        c.queue.push_back(f);
      else
        c.queue.insert(std::lower_bound(c.queue.begin(), c.queue.end(), f), f);
      break;
    case place::nowhere:
      c.tasks[f].phase = phase::ended;
      break;
  }
}

}  // namespace

void take_step(const program& p, configuration& c, const derivation& d) {
  for (const event& e : d.events) happen(p, c, d, e);
  for (const update& u : d.updates) set(c, u);
  c.tasks[d.task].rest = d.rest;
  // The active one stays where it is without a look at the queue.
  if (d.to != place::active || c.active != d.task) {
    take_out(c, d.task);
    put(p, c, d.task, d.to);
  }
  c.pending = d.pending;
  c.c = d.c;
}

// --- what rules are made of ---------------------------------------------------------------------

derivation visit(const program& p, const configuration& c, task_id f, place to) {
  const continuation rest = c.tasks[f].rest;
  return {.task = f, .at = p.at(rest).at, .rest = rest, .to = to, .c = c.c};
}

derivation evaluate(const program& p, const configuration& c, task_id f, const local_step& step,
                    place to) {
  derivation d = visit(p, c, f, to);
  if (step.outcome == local_outcome::failed) {
    d.error = step.error;
    return d;
  }
  d.rest = step.rest;
  const task_id owner = step.target == own_parameter ? f : no_task;
  switch (step.effect) {
    case local_effect::none:
      break;
    case local_effect::update:
      d.updates.push_back({owner, step.target, step.result});
      break;
    case local_effect::call: {
      const bool has_identity = p.language() == language::coopwhile;
      const task_id called = has_identity ? static_cast<task_id>(c.tasks.size()) : no_task;
      d.events.push_back({event_kind::call, called, step.procedure, step.result});
      if (step.target != no_variable)
        d.updates.push_back({owner, step.target, value::task(called)});
      break;
    }
    case local_effect::completion:
      // Main has no events.
      if (f != 0) d.events.push_back({.kind = event_kind::completion, .task = f});
      break;
    case local_effect::reaction:
      d.events.push_back({.kind = event_kind::completion_reaction, .task = step.result.as_task()});
      break;
  }
  return d;
}

namespace {

derivation start(const program& p, const configuration& c, task_id f, const call& what,
                 bool has_identity) {
  const procedure_code& m = p.procedures()[what.procedure];
  derivation d{.task = f, .at = m.at, .rest = m.body, .c = c.c};
  d.events.push_back(
      {event_kind::call_reaction, has_identity ? f : no_task, what.procedure, what.argument});
  d.updates.push_back({f, own_parameter, what.argument});
  return d;
}

}  // namespace

derivation start(const program& p, const configuration& c, task_id f) {
  return start(p, c, f, {c.tasks[f].procedure, c.tasks[f].argument}, true);
}

derivation start(const program& p, const configuration& c, const call& open) {
  return start(p, c, static_cast<task_id>(c.tasks.size()), open, false);
}

}  // namespace rota::coop
