// Schedulers with one mistake each: the table of rules with one of them replaced.
#ifndef ROTA_TESTS_COOP_MUTANTS_H
#define ROTA_TESTS_COOP_MUTANTS_H

#include <rota/coop/configuration.h>
#include <rota/coop/local.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop::test {

struct mutant {
  std::string name;
  std::string_view rule;  // which one it replaces
  rule::finder find = nullptr;
  rule::taker take = nullptr;
};

// The rules of the program with the mistake in it. Throws if the rule is not among them.
inline rule_table mutated(const program& p, const mutant& m) {
  rule_table rules = rules_of(p);
  const auto at =
      std::find_if(rules.begin(), rules.end(), [&](const rule& r) { return r.name == m.rule; });
  if (at == rules.end()) throw std::runtime_error("there is no rule " + std::string(m.rule));
  if (m.find) at->find = m.find;
  if (m.take) at->take = m.take;
  return rules;
}

namespace mistakes {

inline void push_to_front(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  c.queue.pop_back();
  c.queue.push_front(d.task);
}

// Without doneEv the last event is still the call.
inline void forget_done(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  c.pending = d.task;
}

inline void drop_instead_of_rotate(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  c.queue.pop_back();
}

inline void wake_to_the_rear(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  if (d.events.empty() || d.events[0].kind != event_kind::completion) return;
  std::deque<task_id> others;
  std::deque<task_id> woken;
  for (task_id f : c.queue) {
    const instruction& i = p.at(c.tasks[f].rest);
    const bool awaits = i.head == statement_kind::await && c.tasks[f].phase == phase::live &&
                        environment_of(c, f)[i.target] == value::task(d.task);
    (awaits ? woken : others).push_back(f);
  }
  c.queue = others;
  c.queue.insert(c.queue.end(), woken.begin(), woken.end());
}

inline void end_at_once(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  if (c.tasks[d.task].rest == empty_continuation) c.queue.pop_back();
}

inline derivation give_way(const program& p, const configuration& c) {
  const continuation rest = c.tasks[c.active].rest;
  return {.task = c.active, .at = p.at(rest).at, .rest = rest, .to = place::queue, .c = c.c};
}

inline bool gives_way(const program& p, const configuration& c) {
  return c.pending == no_task && c.active != no_task && is_suspended(p, c.tasks[c.active].rest);
}

// Goes on if the awaited task has ended.
inline void await_without_yield(const program& p, const configuration& c,
                                std::vector<derivation>& found) {
  if (!gives_way(p, c)) return;
  derivation d = give_way(p, c);
  const instruction& i = p.at(d.rest);
  if (i.head == statement_kind::await && !is_blocked(p, c, c.active)) {
    d.rest = i.next;
    d.to = place::active;
  }
  found.push_back(d);
}

// A guard that holds when its task gives way is not looked at again.
inline void guard_too_early(const program& p, const configuration& c,
                            std::vector<derivation>& found) {
  if (!gives_way(p, c)) return;
  derivation d = give_way(p, c);
  const instruction& i = p.at(d.rest);
  if (i.head == statement_kind::guard && !is_blocked(p, c, c.active)) d.rest = i.next;
  found.push_back(d);
}

// Goes on if the guard holds.
inline void guard_without_yield(const program& p, const configuration& c,
                                std::vector<derivation>& found) {
  if (!gives_way(p, c)) return;
  derivation d = give_way(p, c);
  const instruction& i = p.at(d.rest);
  if (i.head == statement_kind::guard && !is_blocked(p, c, c.active)) {
    d.rest = i.next;
    d.to = place::active;
  }
  found.push_back(d);
}

}  // namespace mistakes

// Of the scheduler of coopwhile, rules (18)-(24).
inline const std::vector<mutant>& cooperative_mutants() {
  using namespace mistakes;
  static const std::vector<mutant> all{
      {"push to the front", "24", nullptr, push_to_front},
      {"start new tasks first", "18", nullptr, push_to_front},
      {"forget doneEv", "18", nullptr, forget_done},
      {"rotate to the front", "21", nullptr, push_to_front},
      {"rotate that drops", "21", nullptr, drop_instead_of_rotate},
      {"await that does not yield", "24", await_without_yield, nullptr},
      {"guard that does not yield", "24", guard_without_yield, nullptr},
      {"guards evaluated too early", "24", guard_too_early, nullptr},
      {"waking to the rear", "22", nullptr, wake_to_the_rear},
  };
  return all;
}

// Of the scheduler of spawn and guard, rules (6)-(8), (10).
inline const std::vector<mutant>& interleaved_mutants() {
  using namespace mistakes;
  static const std::vector<mutant> all{
      {"push to the front", "6", nullptr, push_to_front},
      {"start new tasks first", "7", nullptr, push_to_front},
      {"end without a turn", "6", nullptr, end_at_once},
      {"rotate to the front", "10", nullptr, push_to_front},
      {"rotate that drops", "10", nullptr, drop_instead_of_rotate},
  };
  return all;
}

}  // namespace rota::coop::test

#endif
