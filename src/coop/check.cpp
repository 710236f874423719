#include <rota/coop/check.h>

#include <rota/base/assert.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "fairness.h"
#include "step_checks.h"

namespace rota::coop {

std::string_view name_of(check_kind kind) noexcept {
  switch (kind) {
    case check_kind::determinism:
      return "determinism";
    case check_kind::well_formedness:
      return "well-formedness";
    case check_kind::shape:
      return "shape";
    case check_kind::mapping:
      return "mapping";
    case check_kind::distance:
      return "distance";
    case check_kind::overtaking:
      return "overtaking";
    case check_kind::local_computation:
      return "local-computation";
    case check_kind::fairness:
      break;
  }
  return "fairness";
}

std::string_view name_of(verdict v) noexcept {
  switch (v) {
    case verdict::fair:
      return "fair";
    case verdict::unfair:
      return "unfair";
    case verdict::undecided:
      return "undecided";
    case verdict::none:
      break;
  }
  return "none";
}

const violation* check_report::find(check_kind k) const {
  const auto at = std::find_if(violations.begin(), violations.end(),
                               [k](const violation& v) { return v.check == k; });
  return at == violations.end() ? nullptr : &*at;
}

namespace {

class checker {
 public:
  checker(const program& p, const rule_table& rules, const check_options& options)
      : program_(p),
        rules_(rules),
        limit_(options.limit),
        now_(initial_configuration(p)),
        checks_(step_checks(p, now_, options)),
        watch_(p, now_) {}

  check_report run() {
    for (;;) {
      if (is_final(program_, now_)) return end_finite(ending::done);
      find_steps(rules_, program_, now_, possible_);
      if (is_deadlocked(program_, now_, possible_)) return end_finite(ending::deadlock);
      if (report_.end.steps == limit_) return end(ending::limit);
      if (!check_determinism()) return end(ending::limit);
      if (possible_[0].error) return end_finite(ending::error);
      take(possible_[0]);
      if (is_senseless()) return end(ending::limit);
    }
  }

 private:
  // --- steps ------------------------------------------------------------------------------------

  bool check_determinism() {
    assert_once(check_kind::determinism);
    if (possible_.size() == 1) return true;
    std::string found = possible_.empty() ? "none" : "";
    for (const derivation& d : possible_)
      found += (found.empty() ? "rule " : ", rule ") + std::string(d.by->name) + " for " +
               name_of_task(d.task);
    const derivation* const first = possible_.empty() ? nullptr : &possible_[0];
    complain(check_kind::determinism, report_.end.steps + 1, first, {"one step", found});
    return false;
  }

  void take(const derivation& d) {
    for (const auto& check : checks_) {
      if (report_.find(check->kind())) continue;
      assert_once(check->kind());
      if (opinion wrong = check->allow(d))
        return complain(check->kind(), report_.end.steps + 1, &d, *wrong);
    }
    const configuration before = now_;
    d.by->take(program_, now_, d);
    const std::uint64_t n = ++report_.end.steps;
    for (const auto& check : checks_) {
      if (report_.find(check->kind())) continue;
      if (opinion wrong = check->step({n, d, before, now_})) complain(check->kind(), n, &d, *wrong);
      if (is_senseless()) return;
    }
    if (!report_.repeats && watch_.step(n, d, now_)) become_periodic(d);
  }

  // What follows from such a configuration makes no sense either; even the rules may not apply.
  bool is_senseless() const {
    return report_.find(check_kind::well_formedness) || report_.find(check_kind::shape);
  }

  // One more round is enough for every check: whoever was overtaken in the first is so again in the
  // second.
  void become_periodic(const derivation& d) {
    report_.repeats = watch_.found();
    report_.by_tasks = watch_.by_tasks();
    report_.by_continuations = watch_.by_continuations();
    limit_ = std::min(limit_, report_.end.steps + report_.repeats->length);
    const std::uint64_t n = report_.end.steps;
    if (is_cooperative() && !watch_.has_quiescent()) {
      if (!report_.find(check_kind::local_computation))
        complain(check_kind::local_computation, n, &d,
                 {name_of_task(d.task) + " gives way", "that it repeats the last " +
                                                           std::to_string(report_.repeats->length) +
                                                           " steps for ever"});
      return;
    }
    if (program_.language() == language::while_) return;
    assert_once(check_kind::fairness);
    check_promise(d, report_.by_tasks);
    if (!report_.find(check_kind::fairness)) check_promise(d, report_.by_continuations);
  }

  // Theorem 1: weak fairness. Theorem 2: quiescent fairness.
  void check_promise(const derivation& d, const fairness_verdicts& verdicts) {
    const fairness_verdict& promised = is_cooperative() ? verdicts.quiescent : verdicts.weak;
    if (promised.is != verdict::unfair) return;
    const starving_task& who = promised.whom.front();
    complain(check_kind::fairness, report_.end.steps, &d,
             {std::string(is_cooperative() ? "quiescent" : "weak") + " fairness",
              name_of_task(who.task) + " starves", who.task, who.at});
  }

  // --- what is reported -------------------------------------------------------------------------

  bool is_cooperative() const { return program_.language() == language::coopwhile; }

  void assert_once(check_kind kind) { ++report_.asserted[static_cast<std::size_t>(kind)]; }

  void complain(check_kind kind, std::uint64_t n, const derivation* d, const complaint& what) {
    violation v{.check = kind,
                .step = n,
                .rule = d ? std::string(d->by->name) : "",
                .task = what.task != no_task ? what.task
                        : d                  ? d->task
                                             : no_task,
                .at = what.at,
                .expected = what.expected,
                .found = what.found};
    if (!v.at && d && d->task == v.task) v.at = d->at;
    if (!v.at) v.at = place_of(v.task);
    report_.violations.push_back(std::move(v));
  }

  // Where a task is, or was declared; the start of the program if there is no task to ask.
  position place_of(task_id f) const {
    if (f < now_.tasks.size()) {
      const task_record& t = now_.tasks[f];
      if (const position at = program_.at(t.rest).at) return at;
      if (t.procedure != no_procedure) return program_.procedures()[t.procedure].at;
    }
    return program_.at(program_.main()).at;
  }

  // --- the end ----------------------------------------------------------------------------------

  check_report end(ending how) {
    report_.end.end = how;
    report_.end.state = state_of(program_, now_);
    if (!is_cooperative())
      report_.by_tasks.quiescent.is = report_.by_continuations.quiescent.is = verdict::none;
    return std::move(report_);
  }

  // Finite runs are fair.
  check_report end_finite(ending how) {
    const derivation* const failed = how == ending::error ? &possible_[0] : nullptr;
    for (const auto& check : checks_)
      if (opinion wrong = check->end(now_, failed); wrong && !report_.find(check->kind()))
        complain(check->kind(), report_.end.steps, failed, *wrong);
    if (failed) {
      report_.end.task = failed->task;
      report_.end.error = *failed->error;
    }
    if (how == ending::deadlock) report_.end.blocked = blocked_tasks(program_, now_);
    if (program_.language() != language::while_) assert_once(check_kind::fairness);
    const fairness_verdict fair{.is = verdict::fair, .whom = {}};
    report_.by_tasks = report_.by_continuations = {fair, fair, fair};
    return end(how);
  }

  const program& program_;
  const rule_table& rules_;
  std::uint64_t limit_;
  configuration now_;
  std::vector<std::unique_ptr<step_check>> checks_;
  fairness_watch watch_;
  std::vector<derivation> possible_;
  check_report report_;
};

}  // namespace

check_report check(const program& p, const rule_table& rules, const check_options& options) {
  ROTA_CHECK(is_scheduler(p.semantics()), "check() needs a scheduler, not a relation");
  return checker{p, rules, options}.run();
}

}  // namespace rota::coop
