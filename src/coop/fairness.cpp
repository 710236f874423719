#include "fairness.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mapping.h"

namespace rota::coop {

namespace {

productions intersection(const productions& a, const productions& b) {
  productions both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

productions difference(const productions& a, const productions& b) {
  productions rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

void insert(productions& into, production made) {
  const auto at = std::lower_bound(into.begin(), into.end(), made);
  if (at == into.end() || *at != made) into.insert(at, made);
}

void normalize(productions& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

void fairness_reading::enabled(const productions& now, bool quiescent) {
  always_ = seen_ ? intersection(always_, now) : now;
  seen_ = true;
  for (const production& one : now) insert(ever_, one);
  if (!quiescent) return;
  always_when_quiescent_ = seen_quiescent_ ? intersection(always_when_quiescent_, now) : now;
  seen_quiescent_ = true;
}

void fairness_reading::produced(production made) { insert(produced_, made); }

fairness_verdict fairness_reading::verdict_on(const productions& due, const program& p,
                                              const configuration& c) const {
  fairness_verdict v{.is = verdict::fair, .whom = {}};
  for (const production& missed : difference(due, produced_)) {
    v.is = verdict::unfair;
    const bool any_step = missed.what == empty_continuation;
    v.whom.push_back({missed.task, p.at(any_step ? c.tasks[missed.task].rest : missed.what).at});
  }
  return v;
}

fairness_verdicts fairness_reading::verdicts(const program& p, const configuration& c) const {
  fairness_verdicts all{verdict_on(always_, p, c), verdict_on(ever_, p, c),
                        verdict_on(always_when_quiescent_, p, c)};
  if (!seen_quiescent_) all.quiescent = {.is = verdict::none, .whom = {}};
  return all;
}

fairness_watch::fairness_watch(const program& p, const configuration& initial)
    : program_(p), relation_(relation_of(p)), rules_(rules_of(relation_)) {
  keep(0, initial);
}

bool fairness_watch::step(std::uint64_t n, const derivation& d, const configuration& c) {
  ++length_;
  if (const auto rule = mapped(d.by->name); rule && rule->is_visible()) {
    tasks_.produced({d.task});
    if (d.rest != empty_continuation) continuations_.produced({d.task, d.rest});
  }
  if (c == kept_) return true;
  if (length_ < patience_) {
    note_enabled(c);
  } else {
    patience_ *= 2;
    keep(n, c);
  }
  return false;
}

void fairness_watch::keep(std::uint64_t n, const configuration& c) {
  kept_ = c;
  kept_at_ = n;
  length_ = 0;
  tasks_.clear();
  continuations_.clear();
  note_enabled(c);
}

void fairness_watch::note_enabled(const configuration& c) {
  const configuration seen = mapped(program_, c);
  find_steps(rules_, relation_, seen, possible_);
  productions by_task;
  productions by_continuation;
  for (const derivation& d : possible_) {
    if (d.error) continue;  // moves nobody
    by_task.push_back({d.task});
    if (d.rest != empty_continuation) by_continuation.push_back({d.task, d.rest});
  }
  normalize(by_task);
  normalize(by_continuation);
  // Nobody is active where every statement takes a turn; there it would be weak fairness again.
  const bool quiescent = program_.language() == language::coopwhile && is_quiescent(seen);
  tasks_.enabled(by_task, quiescent);
  continuations_.enabled(by_continuation, quiescent);
}

fairness_verdicts fairness_watch::verdicts(const fairness_reading& of) const {
  return of.verdicts(program_, kept_);
}

fairness_verdicts fairness_watch::by_tasks() const { return verdicts(tasks_); }

fairness_verdicts fairness_watch::by_continuations() const { return verdicts(continuations_); }

}  // namespace rota::coop
