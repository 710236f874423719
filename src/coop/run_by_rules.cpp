#include <rota/base/rng.h>
#include <rota/coop/run.h>

#include <utility>

namespace rota::coop {

std::string_view name_of(ending e) noexcept {
  switch (e) {
    case ending::done:
      return "done";
    case ending::deadlock:
      return "deadlock";
    case ending::limit:
      return "limit";
    case ending::error:
      break;
  }
  return "error";
}

std::vector<blocked_task> blocked_tasks(const program& p, const configuration& c) {
  std::vector<blocked_task> all;
  for (task_id f : c.queue) {
    const instruction& i = p.at(c.tasks[f].rest);
    const bool awaits = i.head == statement_kind::await;
    all.push_back({f, i.head, i.at, awaits ? environment_of(c, f)[i.target].as_task() : no_task});
  }
  return all;
}

outcome run_by_rules(const program& p, const rule_table& rules, const run_options& options,
                     const std::vector<run_observer*>& observers) {
  configuration c = initial_configuration(p);
  rota::detail::rng choice{options.seed};
  std::vector<derivation> possible;
  outcome o;
  const auto end = [&](ending how) {
    o.end = how;
    o.state = state_of(p, c);
    for (run_observer* seen_by : observers) seen_by->end(o);
    return std::move(o);
  };
  for (run_observer* seen_by : observers) seen_by->start(c);
  for (;;) {
    if (is_final(p, c)) return end(ending::done);
    find_steps(rules, p, c, possible);
    // Rules of our own always leave a step; those of a mutant may not.
    if (possible.empty() || is_deadlocked(p, c, possible)) {
      o.blocked = blocked_tasks(p, c);
      return end(ending::deadlock);
    }
    if (o.steps == options.limit) return end(ending::limit);
    const std::size_t count = possible.size();
    const std::size_t index = count > 1 ? choice.below(count) : 0;
    const derivation& next = possible[index];
    if (next.error) {
      o.task = next.task;
      o.error = *next.error;
      return end(ending::error);
    }
    next.by->take(p, c, next);
    ++o.steps;
    for (run_observer* seen_by : observers) seen_by->step({o.steps, next, index, count}, c);
  }
}

}  // namespace rota::coop
