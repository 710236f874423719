// `same_order`, step by step: programs that chance writes run on a runtime in strict order, and at
// every event what the runtime holds is mapped to the paper's scheduler (the model `coop`, rules 18
// to 24), which has to have a step there. A broken promise shows as a divergence, with both sides.
//
// The mapping, from what the runtime holds:
//   queue      who has a place in the strict queue, from its cursor on
//   active     who runs and has no place. A task whose guard is being looked at has left its place
//              but does not go on yet: it is the first of the queue
//   heads      what the tasks were told to do next; `absent` once their coroutine has ended
//   pending    a coroutine that was made and not yet spawned
//   steps      counted: local steps since the task went on
//   reported   run() has thrown rota::deadlock
// Left to the model, as ghosts: wrong, watching, ahead, passed. So is `turned`, how many rotations
// in a row the model's scheduler has made, since the runtime visits no blocked task but guards, and
// may look at a guard once more than a turn. Forgetting it allows more turns of the queue before a
// report; a report still needs a turn that finds all blocked.
//
// Hidden: `rotate`; `end_of_task` and, at guards, `give_way`, after which no code of ours runs.
//
// An await goes by the task's handle. Only one task can have that: the others wait by a guard that
// asks whether the task has ended, which the rules do not tell apart.

#include <rota/base/rng.h>
#include <rota/rota.h>
#include <rota/verify/conform/refinement.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "pool/worker.h"
#include "support/stress.h"
#include "support/tasks.h"
#include "task/activity.h"
#include "verify/models/coop.h"

namespace rota::verify::test {
namespace {

using rota::detail::job;
using rota::detail::rng;
using rota::detail::worker;

using follower = refinement<coop>;

follower::options what_is_hidden() {
  return {
      .hidden = {coop::rotate, coop::end_of_task, coop::give_way},
      .forget = [](coop::state& s) { s.turned = s.wrong = s.watching = s.ahead = s.passed = 0; }};
}

// A program while it runs. Its tasks draw what they do from a generator each, so a seed is a
// program, up to the choice of whom to await.
class program {
 public:
  program(follower& follow, std::uint64_t seed) : follow_(follow), seed_(seed) {}

  // Runs it; whether it ended, that is, did not deadlock.
  bool run(rota::runtime& rt) {
    try {
      rt.run(host(*this));
    } catch (const rota::deadlock&) {
      observe("the standstill", coop::nobody);
      reported_ = true;
      observe("the report", coop::nobody);
    }
    return !reported_;
  }

  // What went wrong, and how it came to that.
  std::string fault() const {
    std::string text = fault_;
    if (follow_.diverged()) text += follow_.diverged()->text;
    if (text.empty()) return text;
    text += "the events:";
    for (const auto& [what, f] : trail_)
      text += "\n  " + (f == coop::nobody ? "" : "task " + std::to_string(f) + ": ") + what;
    return "seed " + std::to_string(seed_) + ": " + text;
  }

 private:
  // A task of the model; another one once it has ended and nobody awaits it.
  struct slot {
    std::uint8_t head = coop::absent;
    const job* who = nullptr;  // once it is spawned
    bool returned = false;
    bool joined = false;  // somebody has its handle
    bool used = false;
    unsigned statements = 0;  // left
    rng random{0};
  };

  // Shows the state between the end of a step and the next one.
  template <class Awaiter>
  struct shown {
    program& p;
    unsigned f;
    const char* what;
    Awaiter inner;

    bool await_ready() { return inner.await_ready(); }
    bool await_suspend(std::coroutine_handle<> leaf) {
      const bool waits = inner.await_suspend(leaf);
      p.observe(what, f);
      return waits;
    }
    void await_resume() { inner.await_resume(); }
  };

  // What run() waits for. It keeps its place and runs again when all tasks have ended; the handles
  // live here, since after a deadlock the runtime destroys what refers to them first.
  static task<> host(program& p) {
    handles all;
    p.handles_ = &all;
    p.enter();
    p.call(0);
    all[0] = rota::spawn(body(p, 0));
    p.is_queued(0);
    while (p.live_ > 0) co_await p.wait_for_all();
    p.observe("all have ended", coop::nobody);
  }
  task<> wait_for_all() {
    try {
      co_await all_ended_.wait();
    } catch (const rota::cancelled&) {
      fail(woken_too_early, coop::nobody);
    }
  }

  static task<> body(program& p, unsigned f) {
    try {
      p.goes_on(f);
      while (!p.slots_[f].returned) {
        if (p.slots_[f].head == coop::going) {
          p.local_step(f);
        } else {
          co_await p.wait(f);
          p.goes_on(f);
        }
      }
    } catch (const rota::cancelled&) {
      p.fail(woken_too_early, f);
    }
    p.ends();
  }

  // What the task stands at, until it may go on.
  task<> wait(unsigned f) {
    const unsigned at = slots_[f].head;
    if (at == coop::suspend) {
      shown<rota::suspend> gives_way{*this, f, "suspends", {}};
      co_await gives_way;
    } else if (at >= coop::guard) {
      const unsigned value = at - coop::guard;
      co_await rota::guard([this, f, value] { return looks(f, x_ == value); });
    } else if (const unsigned g = at - coop::await; takes_handle(g)) {
      shown<rota::join_handle<>::awaiter> waits{*this, f, "awaits",
                                                (*handles_)[g].operator co_await()};
      co_await waits;
    } else {
      co_await rota::guard([this, f, g] { return looks(f, has_ended(g)); });
    }
  }

  // --- what tasks do ---

  // An assignment, a call or the return.
  void local_step(unsigned f) {
    slot& me = slots_[f];
    if (steps_ < most_steps()) ++steps_;
    if (me.statements == 0) {
      me.returned = true;
      return observe("returns", f);
    }
    --me.statements;
    const unsigned child = free_slot();
    if (child != coop::nobody && calls_ < most_calls && me.random.below(2) == 0) {
      call(child);
      me.head = draw(f);
      task<> fresh = body(*this, child);
      pending_ = static_cast<std::uint8_t>(child);
      observe("calls", f);
      (*handles_)[child] = rota::spawn(std::move(fresh));
      is_queued(child);
      pending_ = coop::nobody;
      observe("has spawned", f);
    } else {
      x_ = static_cast<std::uint8_t>(me.random.below(values()));
      me.head = draw(f);
      observe("assigns", f);
    }
  }

  // The last statement of a task is behind it.
  void ends() {
    if (--live_ == 0) all_ended_.set();
  }

  // The task begins, or goes on behind what it waited for.
  void goes_on(unsigned f) {
    slot& me = slots_[f];
    const bool begins = me.head == coop::marker;
    steps_ = 0;
    looked_at_ = coop::nobody;
    if (begins && f == 0 && !begun_) {
      begun_ = true;
      me.head = coop::going;
      trail_.emplace_back("begins", f);
      gave_up_ = !follow_.begin(mapped());
    } else {
      me.head = draw(f);
      observe(begins ? "starts" : "goes on", f);
    }
  }

  // Where the task stands next, after `steps_` local steps.
  std::uint8_t draw(unsigned f) {
    slot& me = slots_[f];
    const auto at = [](std::uint64_t head) { return static_cast<std::uint8_t>(head); };
    if (gave_up_) me.statements = 0;
    const bool may_go = steps_ < most_steps();
    if (may_go && (me.statements == 0 || me.random.below(2) == 0)) return coop::going;
    if (me.statements == 0) return coop::suspend;
    // Some programs wait rarely, and so run long before they end or deadlock.
    const std::uint64_t kind = me.random.below(8 + 16 * (seed_ % 4));
    if (kind < 2) return at(coop::guard + me.random.below(values()));
    if (kind < 5) {
      const std::uint64_t g = me.random.below(tasks());
      // Whoever awaits itself is stuck: now and then.
      if (slots_[g].used && (g != f || me.random.below(20) == 0)) return at(coop::await + g);
    }
    return coop::suspend;
  }

  bool looks(unsigned f, bool holds) {
    looked_at_ = f;
    observe("looks at its guard", f);
    return holds || gave_up_;
  }

  bool takes_handle(unsigned g) { return !std::exchange(slots_[g].joined, true); }

  bool has_ended(unsigned g) const {
    const auto& handle = (*handles_)[g];
    return !handle || handle.done();
  }

  void call(unsigned f) {
    rng random{seed_ * 1'000 + calls_++};
    const auto statements = static_cast<unsigned>(random.below(8));
    slots_[f] = {coop::marker, nullptr, false, false, true, statements, random};
    ++live_;
  }
  void is_queued(unsigned f) { slots_[f].who = (*handles_)[f].get(); }

  // A slot whose task has ended and is not awaited: the model uses it again.
  unsigned free_slot() const {
    for (unsigned f = 0; f < tasks(); ++f) {
      bool awaited = false;
      for (const slot& s : slots_) awaited |= s.head == coop::await + f;
      if (slots_[f].head == coop::absent && !awaited) return f;
    }
    return coop::nobody;
  }

  // --- what is seen ---

  void enter() {
    worker_ = worker::here();
    host_ = worker_->current();
  }

  void observe(const char* what, unsigned f) {
    if (gave_up_) return;
    trail_.emplace_back(what, f);
    gave_up_ = !follow_.observe(mapped(), what);
  }

  void fail(const char* what, unsigned f) {
    if (gave_up_) return;
    trail_.emplace_back(what, f);
    fault_ += std::string(what) + "\n";
    gave_up_ = true;
  }

  unsigned slot_of(const job* j) const {
    for (unsigned f = 0; f < slots_.size(); ++f)
      if (j && slots_[f].who == j) return f;
    return coop::nobody;
  }

  coop::state mapped() {
    const unsigned current = slot_of(worker_->current());
    for (unsigned f = 0; f < slots_.size(); ++f)
      if (slots_[f].returned && f != current) {
        slots_[f].head = coop::absent;
        slots_[f].who = nullptr;
      }

    coop::state s;
    bool has_place = false;
    worker_->places()->for_each_place([&](const job* j) {
      if (j == host_) return;
      const unsigned f = slot_of(j);
      if (f == coop::nobody || s.length == coop::most_tasks) {
        fail("a job has a place that belongs to no task", coop::nobody);
        return;
      }
      s.push(f);
      has_place |= f == current;
    });
    if (current != coop::nobody && !has_place) {
      if (looked_at_ == current)
        s.push_front(current);
      else
        s.active = static_cast<std::uint8_t>(current);
    }
    s.pending = pending_;
    s.x = x_;
    s.steps = static_cast<std::uint8_t>(steps_);
    s.reported = reported_;
    for (unsigned f = 0; f < slots_.size(); ++f)
      s.heads[f] = slots_[f].returned && f == current ? std::uint8_t{coop::ended} : slots_[f].head;
    return s;
  }

  unsigned tasks() const { return static_cast<unsigned>(follow_.model().tasks); }
  unsigned values() const { return static_cast<unsigned>(follow_.model().values); }
  unsigned most_steps() const { return static_cast<unsigned>(follow_.model().steps); }

  using handles = std::array<rota::join_handle<>, coop::most_tasks>;
  static constexpr unsigned most_calls = 12;
  static constexpr const char* woken_too_early = "woken though what it waits for has not come";

  follower& follow_;
  const std::uint64_t seed_;

  std::array<slot, coop::most_tasks> slots_{};
  std::uint8_t x_ = 0;
  std::uint8_t pending_ = coop::nobody;
  unsigned steps_ = 0;
  unsigned looked_at_ = coop::nobody;  // whose guard is, or was last, looked at
  unsigned calls_ = 0;
  unsigned live_ = 0;
  bool begun_ = false;
  bool reported_ = false;
  rota::async_event all_ended_;
  handles* handles_ = nullptr;

  worker* worker_ = nullptr;
  const job* host_ = nullptr;

  bool gave_up_ = false;  // after a divergence: the tasks hurry to their ends
  std::string fault_;
  std::vector<std::pair<const char*, unsigned>> trail_;
};

// How many programs ran, and what came of them.
struct outcome {
  std::uint64_t programs = 0;
  std::uint64_t deadlocks = 0;
  std::string fault;  // the first
};

outcome run_programs(follower& follow, std::uint64_t most) {
  outcome seen;
  std::optional<rota::runtime> rt;
  while (seen.programs < most && seen.fault.empty()) {
    program p{follow, rota::test::seed() * most + seen.programs++};
    if (!rt) rt.emplace(rota::test::strict());
    if (!p.run(*rt)) {
      ++seen.deadlocks;
      rt.reset();  // its tasks refer to the program
    }
    seen.fault = p.fault();
  }
  return seen;
}

struct size {
  int tasks, steps, values;

  coop model(coop::mistake mutant = coop::mistake::none) const {
    coop m;
    m.tasks = tasks;
    m.steps = steps;
    m.values = values;
    m.mutant = mutant;
    return m;
  }
  friend std::ostream& operator<<(std::ostream& out, const size& s) {
    return out << s.tasks << " tasks, " << s.steps << " steps, " << s.values << " values";
  }
};

class StrictOrderConform : public ::testing::TestWithParam<size> {};

INSTANTIATE_TEST_SUITE_P(Sizes, StrictOrderConform,
                         ::testing::Values(size{2, 1, 2}, size{3, 2, 2}, size{4, 1, 3},
                                           size{5, 2, 1}, size{5, 4, 3}));

TEST_P(StrictOrderConform, TheRuntimeTakesStepsOfThePapersScheduler) {
  follower follow{GetParam().model(), what_is_hidden()};
  const outcome seen = run_programs(follow, rota::test::rounds(1'000, 100'000));
  ASSERT_TRUE(seen.fault.empty()) << seen.fault;
  // What ends has no step left but to end again.
  EXPECT_EQ(follow.never_taken(), "Terminating");
  EXPECT_GT(seen.deadlocks, seen.programs / 20);
  EXPECT_LT(seen.deadlocks, seen.programs - seen.programs / 20);
  EXPECT_GT(follow.counts().steps, 10 * seen.programs) << "the programs are too short";
}

// The same runs held against the scheduler with a mistake in it: each must show, or a runtime with
// that mistake might pass above. Left out are `endless`, which only allows more, and
// `turns_not_reset`, which is about what the mapping forgets.
TEST(StrictOrderMutants, TheRuntimeIsToldFromEveryMutant) {
  using mistake = coop::mistake;
  for (const mistake m : {mistake::lifo, mistake::blocked_in_front, mistake::spawn_in_front,
                          mistake::drop_blocked, mistake::run_blocked, mistake::child_first,
                          mistake::ready_goes_on, mistake::waiter_in_front, mistake::forget_call,
                          mistake::early_report, mistake::no_report}) {
    follower follow{size{4, 2, 2}.model(m), what_is_hidden()};
    run_programs(follow, 1'000);
    EXPECT_TRUE(follow.diverged()) << "mutant " << static_cast<int>(m);
  }
}

}  // namespace
}  // namespace rota::verify::test
