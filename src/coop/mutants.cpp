#include <rota/coop/mutants.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>

#include "rule_parts.h"

namespace rota::coop {

namespace {

// --- steps that end wrongly ---------------------------------------------------------------------

void push_to_front(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  if (c.queue.empty()) return;
  const task_id last = c.queue.back();
  c.queue.pop_back();
  c.queue.push_front(last);
}

void newest_first(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  std::sort(c.queue.begin(), c.queue.end(), std::greater<>{});
}

// Without doneEv the last event is still the call.
void forget_done(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  c.pending = d.task;
}

void drop(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  c.queue.pop_back();
}

void wake_to_the_rear(const program& p, configuration& c, const derivation& d) {
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

void end_at_once(const program& p, configuration& c, const derivation& d) {
  take_step(p, c, d);
  if (c.tasks[d.task].rest == empty_continuation) c.queue.pop_back();
}

// --- steps that should not be -------------------------------------------------------------------

// The active task at one of these goes on if it is not blocked, and gives way if it is.
void give_way_if_blocked(const program& p, const configuration& c, statement_kind head,
                         derivations& found) {
  derivation d = visit(p, c, c.active, place::queue);
  if (p.at(d.rest).head == head && !is_blocked(p, c, c.active)) {
    d.rest = p.at(d.rest).next;
    d.to = place::active;
  }
  found.push_back(d);
}

bool gives_way(const program& p, const configuration& c) {
  return c.pending == no_task && c.active != no_task && is_suspended(p, c.tasks[c.active].rest);
}

bool gives_way_at(const program& p, const configuration& c, statement_kind head) {
  return gives_way(p, c) && head_of(p, c, c.active) == head;
}

void await_without_yield(const program& p, const configuration& c, derivations& found) {
  if (gives_way(p, c)) give_way_if_blocked(p, c, statement_kind::await, found);
}

void guard_without_yield(const program& p, const configuration& c, derivations& found) {
  if (gives_way(p, c)) give_way_if_blocked(p, c, statement_kind::guard, found);
}

// In Sos each of the statements has a rule of its own.
void sos_await_without_yield(const program& p, const configuration& c, derivations& found) {
  if (gives_way_at(p, c, statement_kind::await))
    give_way_if_blocked(p, c, statement_kind::await, found);
}

void sos_guard_without_yield(const program& p, const configuration& c, derivations& found) {
  if (gives_way_at(p, c, statement_kind::guard))
    give_way_if_blocked(p, c, statement_kind::guard, found);
}

// A guard that holds when its task gives way is not looked at again.
void guard_too_early(const program& p, const configuration& c, derivations& found) {
  if (!gives_way(p, c)) return;
  derivation d = visit(p, c, c.active, place::queue);
  if (p.at(d.rest).head == statement_kind::guard && !is_blocked(p, c, c.active))
    d.rest = p.at(d.rest).next;
  found.push_back(d);
}

void sos_guard_too_early(const program& p, const configuration& c, derivations& found) {
  if (gives_way_at(p, c, statement_kind::guard)) guard_too_early(p, c, found);
}

// --- which there are ----------------------------------------------------------------------------

namespace says {

constexpr std::string_view push_to_front = "a task that gives way goes to the front";
constexpr std::string_view newest_first = "of those that wait, the newest task is first";
constexpr std::string_view start_new_first = "a new task goes to the front";
constexpr std::string_view rotate_to_front = "a blocked task stays in front";
constexpr std::string_view rotate_drops = "a blocked task is dropped from the queue";
constexpr std::string_view await_no_yield = "an await of a task that has ended does not give way";
constexpr std::string_view guard_no_yield = "a guard that holds does not give way";
constexpr std::string_view guard_early = "a guard that holds is not looked at again at its turn";
constexpr std::string_view wake_to_rear = "a task whose await is over goes to the rear";

}  // namespace says

// Rules (18)-(24).
const std::vector<mutant>& cooperative_mutants() {
  static const std::vector<mutant> all{
      {"push-to-front", {"24"}, nullptr, push_to_front, says::push_to_front},
      {"newest-first", {"24"}, nullptr, newest_first, says::newest_first},
      {"start-new-first", {"18"}, nullptr, push_to_front, says::start_new_first},
      {"forget-done", {"18"}, nullptr, forget_done, "a call stays pending: there is no doneEv"},
      {"rotate-to-front", {"21"}, nullptr, push_to_front, says::rotate_to_front},
      {"rotate-drops", {"21"}, nullptr, drop, says::rotate_drops},
      {"await-no-yield", {"24"}, await_without_yield, nullptr, says::await_no_yield},
      {"guard-no-yield", {"24"}, guard_without_yield, nullptr, says::guard_no_yield},
      {"guard-early", {"24"}, guard_too_early, nullptr, says::guard_early},
      {"wake-to-rear", {"22"}, nullptr, wake_to_the_rear, says::wake_to_rear},
  };
  return all;
}

// Rules (6)-(8), (10).
const std::vector<mutant>& interleaved_mutants() {
  static const std::vector<mutant> all{
      {"push-to-front", {"6"}, nullptr, push_to_front, "a task goes to the front after its turn"},
      {"newest-first", {"6"}, nullptr, newest_first, says::newest_first},
      {"start-new-first", {"7"}, nullptr, push_to_front, says::start_new_first},
      {"end-at-once", {"6"}, nullptr, end_at_once, "a task leaves without a turn for its end"},
      {"rotate-to-front", {"10"}, nullptr, push_to_front, says::rotate_to_front},
      {"rotate-drops", {"10"}, nullptr, drop, says::rotate_drops},
  };
  return all;
}

// Figures 5 and 7.
const std::vector<mutant>& sos_mutants() {
  static const std::vector<mutant> all{
      {"push-to-front",
       {"YIELDSUSPEND", "YIELDAWAIT", "YIELDGUARD"},
       nullptr,
       push_to_front,
       says::push_to_front},
      {"newest-first",
       {"YIELDSUSPEND", "YIELDAWAIT", "YIELDGUARD"},
       nullptr,
       newest_first,
       says::newest_first},
      {"start-new-first", {"SPAWNSTART"}, nullptr, push_to_front, says::start_new_first},
      {"rotate-to-front",
       {"SCHEDULEAWAITWAIT", "SCHEDULEGUARDWAIT"},
       nullptr,
       push_to_front,
       says::rotate_to_front},
      {"rotate-drops",
       {"SCHEDULEAWAITWAIT", "SCHEDULEGUARDWAIT"},
       nullptr,
       drop,
       says::rotate_drops},
      {"await-no-yield", {"YIELDAWAIT"}, sos_await_without_yield, nullptr, says::await_no_yield},
      {"guard-no-yield", {"YIELDGUARD"}, sos_guard_without_yield, nullptr, says::guard_no_yield},
      {"guard-early", {"YIELDGUARD"}, sos_guard_too_early, nullptr, says::guard_early},
      {"wake-to-rear", {"RETURN"}, nullptr, wake_to_the_rear, says::wake_to_rear},
  };
  return all;
}

}  // namespace

const std::vector<mutant>& mutants_of(semantics how, language l) {
  static const std::vector<mutant> none;
  if (l == language::while_ || !is_scheduler(how)) return none;
  if (l != language::coopwhile) return interleaved_mutants();
  return is_sos(how) ? sos_mutants() : cooperative_mutants();
}

const mutant* find_mutant(const program& p, std::string_view name) {
  for (const mutant& m : mutants_of(p))
    if (m.name == name) return &m;
  return nullptr;
}

rule_table mutated(const program& p, const mutant& m) {
  rule_table rules = rules_of(p);
  for (std::string_view name : m.rules) {
    const auto at =
        std::find_if(rules.begin(), rules.end(), [&](const rule& r) { return r.name == name; });
    if (at == rules.end())
      throw std::invalid_argument("there is no rule " + std::string(name) + " to replace");
    if (m.find) at->find = m.find;
    if (m.take) at->take = m.take;
  }
  return rules;
}

}  // namespace rota::coop
