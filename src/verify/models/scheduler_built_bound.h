// The executor of the event layer with a stopwatch on one handler: how many others come before it.
//
// With N handlers, g of them in the group:
//
//   from its trigger until it starts, or enters the queue of its group, at most N - 1 runs of
//   others start, whatever runs at the trigger: every start comes after a scheduling step, in the
//   same step, so the first of them finds the handler in the run queue; what is moved later goes
//   behind;
//
//   from its move to the run queue until then, at most N - 1 runs of others pass it, those under
//   way at the move included: each other handler either runs or is ahead of it, once, be it in the
//   run queue or in that of the group;
//
//   in the queue of the group at most g - 1 others have the group before it, the one that has it at
//   first included: each other member holds the group, or is ahead, or comes behind;
//
//   who is handed the group is the next to start.
//
// The number of runners does not matter. The first three are reached.
#ifndef ROTA_VERIFY_MODELS_SCHEDULER_BUILT_BOUND_H
#define ROTA_VERIFY_MODELS_SCHEDULER_BUILT_BOUND_H

#include <algorithm>
#include <cstdint>
#include <string>

#include "verify/models/scheduler_built.h"

namespace rota::verify {

class scheduler_built_bound : public scheduler_built {
 public:
  struct state : scheduler_built::state {
    std::uint8_t passed = 0;        // starts of others since it was triggered
    std::uint8_t queue_passed = 0;  // the same since the move, and runs under way then
    std::uint8_t group_passed = 0;  // who had the group since it waits for that
    std::uint8_t front_passed = 0;  // starts of others since it was handed the group
  };

  int watched = 1;

  template <class C>
  void constants(C& c) {
    scheduler_built::constants(c);
    c("Watched", watched, 0, int{most_handlers} - 1, "the handler whose wait is counted, from 0");
  }

  std::string complaint() const {
    if (count(watched) >= n_handlers()) return "there is no handler to be watched";
    return misfit();
  }

  template <class Emit>
  void initial(Emit emit) const {
    scheduler_built::initial([&](const base& s) { emit(state{s, 0, 0, 0, 0}); });
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    scheduler_built::next(
        s, [&](act a, unsigned p, const base& t) { emit(a, p, counted(s, a, p, t)); });
  }

  template <class P>
  void properties(P& p) const {
    promises(p);
    p.invariant("PassedSinceTrigger", [this](const state& s) { return s.passed <= others(); });
    p.invariant("PassedInQueue", [this](const state& s) { return s.queue_passed <= others(); });
    p.invariant("PassedInGroup", [this](const state& s) { return s.group_passed <= members(); });
    p.invariant("NextToStart", [](const state& s) { return s.front_passed == 0; });
    // The bounds are tight: one less is too little.
    p.known_to_fail();
    p.invariant("PassedSinceTriggerByFewer",
                [this](const state& s) { return s.passed + 1u <= others(); });
    p.invariant("PassedInQueueByFewer",
                [this](const state& s) { return s.queue_passed + 1u <= others(); });
    // Where the watched handler is in no group, or nobody waits for one, it holds.
    p.invariant("PassedInGroupByFewer", [this](const state& s) {
      return s.group_passed == 0 || s.group_passed + 1u <= members();
    });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    scheduler_built::permuted(s, [&](const base& t) {
      f(state{t, s.passed, s.queue_passed, s.group_passed, s.front_passed});
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    scheduler_built::fields(s, f);
    f("passed", s.passed);
    f("queue_passed", s.queue_passed);
    f("group_passed", s.group_passed);
    f("front_passed", s.front_passed);
  }

 private:
  using base = scheduler_built::state;

  unsigned others() const { return n_handlers() - 1; }
  unsigned members() const { return grouped ? count(grouped) - 1 : 0; }

  // Triggered, and on its way to a runner or to the queue of its group.
  bool waits(const base& s) const {
    return s.holder != watched &&
           (is(s, count(watched), phase::triggered) || is(s, count(watched), phase::queued));
  }
  bool is_queued(const base& s) const {
    return s.holder != watched && is(s, count(watched), phase::queued);
  }
  bool is_grouped(const base& s) const {
    return is(s, count(watched), phase::grouped) ||
           s.handlers[count(watched)].group == place::returning;
  }
  bool is_in_front(const base& s) const {
    return s.holder == watched && is(s, count(watched), phase::queued);
  }

  // The handler that starts in a step, or none. The runner has it, or it is a detached one.
  unsigned started(const base& s, act a, unsigned p, const base& t) const {
    if (a != take && a != finish_and_take) return none;
    if (t.runners[p].at == mode::running) return t.runners[p].task;
    for (unsigned i = 0; i < n_handlers(); ++i)
      if (is_async(i) && !is(s, i, phase::running) && is(t, i, phase::running)) return i;
    return none;
  }
  unsigned others_running(const base& s) const {
    unsigned n = 0;
    for (unsigned i = 0; i < n_handlers(); ++i)
      n += i != count(watched) && is(s, i, phase::running);
    return n;
  }

  // A sum, and no further than just above the bound.
  static std::uint8_t sum(unsigned n, bool one_more, unsigned most) {
    return static_cast<std::uint8_t>(std::min(n + one_more, most + 1));
  }

  state counted(const state& s, act a, unsigned p, const base& t) const {
    const unsigned start = started(s, a, p, t);
    const bool other = start != none && start != count(watched);
    state u{t, 0, 0, 0, 0};
    if (waits(t)) u.passed = sum(waits(s) ? s.passed : 0, other, others());
    if (is_queued(t))
      u.queue_passed = is_queued(s) ? sum(s.queue_passed, other, others())
                                    : sum(others_running(t), false, others());
    if (is_grouped(t))
      u.group_passed = sum(s.group_passed, !is_grouped(s) || t.holder != s.holder, members());
    if (is_in_front(s) || is_in_front(t)) u.front_passed = sum(s.front_passed, other, 0);
    return u;
  }
};

}  // namespace rota::verify

#endif
