// The repaired scheduler with a stopwatch on one task: how many runs of others come before its own.
//
// With N tasks, of which p stand before the watched one in the order of a batch:
//
//   from the move to the run queue to the run, it is passed by at most N - 1 runs of others, those
//   under way at the move included: each other task is either running or ahead in the queue, and
//   what comes later goes behind;
//
//   from "triggered and waiting" to the run, at most N - 1 + p runs of others start: before the
//   next step of the scheduler each other task starts at most once, since only a step queues it
//   again; that step moves the watched task, behind those of the p that have ended by then;
//
//   the scheduler's delay is not counted in runs: it is one step, the next one.
//
// The number of workers does not matter. All three bounds are reached.
#ifndef ROTA_VERIFY_MODELS_SCHEDULER_BOUND_H
#define ROTA_VERIFY_MODELS_SCHEDULER_BOUND_H

#include <cstdint>
#include <string>

#include "verify/models/scheduler.h"

namespace rota::verify {

class scheduler_bound : public scheduler_consume {
 public:
  struct state : scheduler_consume::state {
    std::uint8_t passed = 0;        // starts of others since "triggered and waiting"
    std::uint8_t queue_passed = 0;  // the same since the move, and runs under way then
    std::uint8_t left_behind = 0;   // steps of the scheduler that did not move it
  };

  int watched = 2;

  template <class C>
  void constants(C& c) {
    scheduler_consume::constants(c);
    c("Watched", watched, 0, int{most_tasks} - 1, "the task whose wait is counted, from 0");
  }

  std::string complaint() const {
    if (watched >= static_cast<int>(tasks())) return "there is no task to be watched";
    return scheduler_consume::complaint();
  }

  template <class Emit>
  void initial(Emit emit) const {
    scheduler_consume::initial([&](const scheduler_consume::state& s) { emit(state{s, 0, 0, 0}); });
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    scheduler_consume::next(s, [&](act a, unsigned p, const scheduler_consume::state& t) {
      emit(a, p, counted(s, a, p, t));
    });
  }

  template <class P>
  void properties(P& p) const {
    scheduler_consume::properties(p);
    p.invariant("PassedInQueue", [this](const state& s) { return s.queue_passed <= tasks() - 1; });
    p.invariant("PassedSinceTrigger", [this](const state& s) { return s.passed <= bound(); });
    p.invariant("NextStepMovesIt", [](const state& s) { return s.left_behind == 0; });
    // The bounds are tight: one less is too little.
    p.known_to_fail();
    p.invariant("PassedInQueueByFewer",
                [this](const state& s) { return s.queue_passed + 1u <= tasks() - 1; });
    p.invariant("PassedSinceTriggerByFewer",
                [this](const state& s) { return s.passed + 1u <= bound(); });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    scheduler_consume::permuted(s, [&](const scheduler_consume::state& t) {
      f(state{t, s.passed, s.queue_passed, s.left_behind});
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    scheduler_consume::fields(s, f);
    f("passed", s.passed);
    f("queue_passed", s.queue_passed);
    f("left_behind", s.left_behind);
  }

 private:
  unsigned bound() const { return tasks() - 1 + count(watched); }

  bool waits(const scheduler_consume::state& s) const {
    return (s.wait_set & s.waiting & bit(count(watched))) != 0;
  }
  bool queued(const scheduler_consume::state& s) const {
    return (s.queued() & bit(count(watched))) != 0;
  }

  // One more, and no further than just above the bound.
  static std::uint8_t more(unsigned n, unsigned most) {
    return static_cast<std::uint8_t>(std::min(n + 1, most + 1));
  }

  state counted(const state& s, act a, unsigned p, const scheduler_consume::state& after) const {
    state t{after, s.passed, s.queue_passed, s.left_behind};
    if (a == start_worker && after.task[p] != watched) {
      if (waits(s) || queued(s)) t.passed = more(s.passed, bound());
      if (queued(s)) t.queue_passed = more(s.queue_passed, tasks() - 1);
    }
    if (a == start_sched && waits(s) && waits(after)) t.left_behind = 1;
    if (queued(after) && !queued(s))
      t.queue_passed = static_cast<std::uint8_t>(std::popcount(after.running));
    if (!queued(after)) t.queue_passed = 0;
    if (!queued(after) && !waits(after)) t.passed = t.left_behind = 0;
    return t;
  }
};

}  // namespace rota::verify

#endif
