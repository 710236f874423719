#include "trace_history.h"

#include <algorithm>
#include <string>

namespace rota::coop {

namespace {

bool removes(std::string_view rule) { return rule == "8" || rule == "23" || rule == "RETURN"; }

}  // namespace

opinion trace_history::add(const derivation& d) {
  for (const event& e : d.events)
    if (opinion wrong = add(e)) return wrong;
  if (removes(d.by->name) && d.task < lives_.size()) lives_[d.task].gone = true;
  return {};
}

opinion trace_history::add(const event& e) {
  switch (e.kind) {
    case event_kind::call:
      return add_call(e);
    case event_kind::call_reaction:
      return add_call_reaction(e);
    case event_kind::completion:
      return add_completion(e);
    case event_kind::completion_reaction:
      return add_completion_reaction(e);
    case event_kind::done:
      break;
  }
  return add_done();
}

opinion trace_history::add_call(const event& e) {
  if (program_.language() != language::coopwhile) {
    open_.push_back({e.procedure, e.argument});
    return {};
  }
  const auto next = static_cast<task_id>(lives_.size());
  if (e.task != next)
    return complaint{"callEv of " + name_of_task(next) + ", the next number",
                     "callEv of " + name_of_task(e.task)};
  lives_.push_back({{e.procedure, e.argument}});
  pending_ = next;
  return {};
}

opinion trace_history::add_call_reaction(const event& e) {
  const call what{e.procedure, e.argument};
  if (program_.language() != language::coopwhile) {
    const auto at = std::find(open_.begin(), open_.end(), what);
    if (at == open_.end())
      return complaint{"a callEv for each callREv", "callREv without a call of its own"};
    open_.erase(at);
    lives_.push_back({what, true});
    return {};
  }
  pending_ = no_task;
  life* const of = find(e.task);
  if (!of || !(of->called_as == what))
    return complaint{"callREv after the same callEv",
                     "callREv of " + name_of_task(e.task) + ", which was not called so"};
  if (of->started) return complaint{"one callREv of " + name_of_task(e.task), "a second one"};
  of->started = true;
  return {};
}

opinion trace_history::add_completion(const event& e) {
  pending_ = no_task;
  life* const of = find(e.task);
  if (!of || !of->started)
    return complaint{"compEv after callREv",
                     "compEv of " + name_of_task(e.task) + ", which has not started"};
  if (of->completed) return complaint{"one compEv of " + name_of_task(e.task), "a second one"};
  of->completed = true;
  return {};
}

opinion trace_history::add_completion_reaction(const event& e) const {
  if (e.task != 0 && e.task < lives_.size() && lives_[e.task].completed) return {};
  return complaint{"compREv after compEv",
                   "compREv of " + name_of_task(e.task) + ", which has not ended"};
}

opinion trace_history::add_done() {
  if (pending_ == no_task)
    return complaint{"doneEv right after a callEv", "doneEv without a pending call"};
  pending_ = no_task;
  return {};
}

trace_history::life* trace_history::find(task_id f) {
  return f != 0 && f < lives_.size() ? &lives_[f] : nullptr;
}

}  // namespace rota::coop
