#include "coop_runner.h"

#include <rota/coop/check_log.h>
#include <rota/pool/stats.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "coop_parts.h"

namespace rota::app {

namespace {

using records = std::vector<coop::log_record>;

// Keeps the records, and passes them on.
class log_tee : public coop::log_sink {
 public:
  explicit log_tee(coop::log_sink* other) : other_(other) {}
  void add(const coop::log_record& r) override {
    kept_.add(r);
    if (other_) other_->add(r);
  }
  const records& kept() const { return kept_.records(); }

 private:
  coop::log_keeper kept_;
  coop::log_sink* other_;
};

// The scheduler also counts rotations, so it may need more steps to come as far. If either run was
// cut off, one log begins with the other.
bool differs_from_scheduler(const coop::program& p, const records& log, const coop::outcome& end,
                            std::uint64_t limit) {
  constexpr std::uint64_t enough = 1'000'000'000;
  for (;; limit = 2 * limit + 1) {
    coop::log_keeper by_rules;
    const coop::outcome wanted = run(p, {.limit = limit}, &by_rules);
    const records& other = by_rules.records();
    const auto [mine, theirs] = std::mismatch(log.begin(), log.end(), other.begin(), other.end());
    if (mine != log.end() && theirs != other.end()) return true;
    if (end.end == coop::ending::limit && mine == log.end()) return false;
    if (wanted.end != coop::ending::limit)
      return log.size() != other.size() || end.end != wanted.end || end.state != wanted.state ||
             end.error != wanted.error;
    if (theirs != other.end() || limit > enough) return true;
  }
}

log_verdict wrong(std::string what) { return {log_verdict::kind::wrong, std::move(what)}; }

log_verdict wrong(const coop::log_fault& fault) {
  return wrong("not admissible: record " + std::to_string(fault.record + 1) + ": expected " +
               fault.expected + ", found " + fault.found);
}

log_verdict judge(const coop::program& p, const records& log, const coop::outcome& end,
                  const coop::runner_options& options) {
  const bool is_strict = options.order == order::strict;
  // What is exact is admissible, and to replay it takes longer.
  if (is_strict && !differs_from_scheduler(p, log, end, options.limit))
    return {log_verdict::kind::exact, "exact: the scheduler lagc-sched writes the same"};
  coop::await_watch watch{p};
  coop::log_options claim{
      .end = end.end, .overtaking = coop::overtaking::any, .observers = {&watch}};
  if (end.end != coop::ending::limit) claim.state = end.state;
  const auto fault = check_log(p, log, claim);
  const bool overwritten = options.awaits == coop::awaits::by_handle && !watch.is_stable();
  // Who awaits what its variable no longer holds may wait until the end.
  if (fault && !(overwritten && fault->record == log.size())) return wrong(*fault);
  if (overwritten)
    return {log_verdict::kind::overwritten,
            "not compared: an awaited variable is overwritten (see --awaits guard)"};
  if (is_strict) return wrong("not exact: the scheduler lagc-sched writes another");
  if (options.workers > 1)
    return {log_verdict::kind::admissible, "one of a run of lagc, without a bound on turns"};
  claim.overtaking = coop::overtaking::within;
  claim.slack = fairness_slack;
  if (const auto overtaken = check_log(p, log, claim)) return wrong(*overtaken);
  return {log_verdict::kind::admissible,
          "admissible: one of a run of lagc, and nobody is overtaken for long"};
}

}  // namespace

coop::runner_options options_of(const runner_words& words, std::uint64_t limit) {
  coop::runner_options options{.workers = words.workers, .limit = limit};
  if (words.order == "fair")
    options.order = order::fair;
  else if (words.order != "strict")
    throw bad_input("--runner: expected strict or fair, not " + words.order);
  if (options.order == order::strict && words.workers != 1)
    throw bad_input("--workers: strict order has one worker, not " + std::to_string(words.workers) +
                    "; there is --runner fair");
  if (words.awaits == "guard")
    options.awaits = coop::awaits::by_guard;
  else if (words.awaits != "handle")
    throw bad_input("--awaits: expected handle or guard, not " + words.awaits);
  return options;
}

std::string_view name_of(log_verdict::kind k) noexcept {
  switch (k) {
    case log_verdict::kind::exact:
      return "exact";
    case log_verdict::kind::admissible:
      return "admissible";
    case log_verdict::kind::overwritten:
      return "overwritten";
    case log_verdict::kind::wrong:
      break;
  }
  return "wrong";
}

judged_run run_and_judge(const coop::program& p, const coop::runner_options& options,
                         coop::log_sink* log) {
  log_tee kept{log};
  judged_run r;
  r.end = run_on_tasks(p, options, &kept);
  r.verdict = judge(p, kept.kept(), r.end, options);
  return r;
}

}  // namespace rota::app
