// Decides fairness for runs that become periodic, with one configuration kept.
//
//   fairness_watch watch{p, c};
//   ... watch.step(n, d, c) after each step; true once the run has repeated itself
//   watch.by_tasks()
//
// How a period is found: one configuration is kept and compared with those that follow, and is
// replaced after 1, 2, 4, 8 ... steps. Once it is on the cycle and kept for long enough, the run
// comes back to it, and all that was noted since it was kept is one period. So memory does not grow
// with the run, and a run of m steps into a cycle of n is decided after 3 max(m, n) at most.
#ifndef ROTA_SRC_COOP_FAIRNESS_H
#define ROTA_SRC_COOP_FAIRNESS_H

#include <rota/coop/check.h>
#include <rota/coop/configuration.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>

#include <compare>
#include <cstdint>
#include <vector>

namespace rota::coop {

// What may be produced: a continuation of a task, or just any step of it.
struct production {
  task_id task = no_task;
  continuation what = empty_continuation;

  auto operator<=>(const production&) const = default;
};

// Without repetition, in ascending order.
using productions = std::vector<production>;

// What a period enables and what it produces, in one of the two readings.
class fairness_reading {
 public:
  void clear() { *this = {}; }
  void enabled(const productions& now, bool quiescent);
  void produced(production made);

  bool has_quiescent() const { return seen_quiescent_; }
  fairness_verdicts verdicts(const program& p, const configuration& c) const;

 private:
  fairness_verdict verdict_on(const productions& due, const program& p,
                              const configuration& c) const;

  productions always_;
  productions ever_;
  productions always_when_quiescent_;
  productions produced_;
  bool seen_ = false;
  bool seen_quiescent_ = false;
};

class fairness_watch {
 public:
  // The program is a scheduler's and outlives the watch.
  fairness_watch(const program& p, const configuration& initial);

  // After step n, which led to c. True once the run is known to be periodic; not called again.
  bool step(std::uint64_t n, const derivation& d, const configuration& c);

  period found() const { return {kept_at_, length_}; }
  bool has_quiescent() const { return tasks_.has_quiescent(); }
  fairness_verdicts by_tasks() const;
  fairness_verdicts by_continuations() const;

 private:
  void keep(std::uint64_t n, const configuration& c);
  void note_enabled(const configuration& c);
  fairness_verdicts verdicts(const fairness_reading& of) const;

  const program& program_;
  const program relation_;
  const rule_table rules_;
  std::vector<derivation> possible_;
  configuration kept_;
  std::uint64_t kept_at_ = 0;
  std::uint64_t length_ = 0;  // steps since
  std::uint64_t patience_ = 1;
  fairness_reading tasks_;
  fairness_reading continuations_;
};

}  // namespace rota::coop

#endif
