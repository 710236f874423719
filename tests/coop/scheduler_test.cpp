// Two ways to run a scheduler, by its rules and fast, must count the same steps, show the same log
// and end the same way, wherever the limit cuts them. A broken promise shows with the program that
// breaks it.

#include <rota/base/rng.h>
#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include "support.h"
#include "support/strength.h"

namespace rota::coop::test {
namespace {

// More programs if there is time.
std::uint64_t repeats(std::uint64_t n) { return rota::test::long_tests() ? 50 * n : n; }

void expect_same(const program& p, const run_options& options, const std::string& source) {
  const shown_run slow = run_shown(p, options);
  const shown_run fast = run_fast(p, options);
  ASSERT_EQ(fast.log, slow.log) << name_of(p.semantics()) << ", limit " << options.limit << "\n"
                                << source;
  ASSERT_EQ(end_record(fast.end), end_record(slow.end))
      << name_of(p.semantics()) << ", limit " << options.limit << "\n"
      << source;
}

TEST(Scheduler, IsTheSameFastAndByRulesAtEveryLimit) {
  for (const std::string& name : reference_programs()) {
    const std::string source = reference_source(name);
    for (semantics how : schedulers_for(parse(source).tree.language)) {
      const program p = compiled(source, how);
      for (std::uint64_t limit = 0; limit < 100; ++limit) expect_same(p, {.limit = limit}, source);
    }
  }
}

class RandomPrograms : public testing::TestWithParam<language> {};

TEST_P(RandomPrograms, RunTheSameFastAndByRules) {
  std::array<std::uint64_t, 4> ended{};
  for (std::uint64_t seed = 0; seed < repeats(1500); ++seed) {
    const std::string source = random_program(seed, {.in = GetParam()});
    for (semantics how : schedulers_for(GetParam())) {
      const program p = compiled(source, how);
      const std::uint64_t limit = 1 + rota::detail::rng{seed}.below(400);
      expect_same(p, {.limit = limit}, source);
      ++ended[static_cast<std::size_t>(run(p, {.limit = limit}).end)];
      if (HasFatalFailure()) return;
    }
  }
  // Programs that all end the same way would show little.
  const bool can_wait = GetParam() == language::guard || GetParam() == language::coopwhile;
  for (ending e : {ending::done, ending::deadlock, ending::limit, ending::error}) {
    if (e != ending::deadlock || can_wait) {
      EXPECT_GT(ended[static_cast<std::size_t>(e)], 20u) << name_of(e);
    }
  }
}

// Proposition 1: exactly one rule has exactly one derivation, unless the run ends.
TEST_P(RandomPrograms, HaveOneStepAtATime) {
  for (std::uint64_t seed = 0; seed < repeats(200); ++seed) {
    const std::string source = random_program(seed, {.in = GetParam()});
    for (semantics how : schedulers_for(GetParam())) {
      const program p = compiled(source, how);
      const rule_table rules = rules_of(p);
      configuration c = initial_configuration(p);
      std::vector<derivation> found;
      for (int n = 0; n < 200 && !is_final(p, c); ++n) {
        find_steps(rules, p, c, found);
        ASSERT_EQ(found.size(), 1u) << "step " << n << " of\n" << source;
        if (is_deadlocked(p, c, found) || found[0].error) break;
        found[0].by->take(p, c, found[0]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, RandomPrograms,
                         testing::Values(language::while_, language::spawn, language::guard,
                                         language::coopwhile),
                         [](const auto& test) { return std::string(name_of(test.param)) + "_"; });

// --- what the fast way must not overlook --------------------------------------------------------

outcome run_source(const std::string& source, std::uint64_t limit = 1000) {
  const program p = compiled(source);
  expect_same(p, {.limit = limit}, source);
  return run(p, {.limit = limit});
}

value value_of(const outcome& o, const std::string& name) {
  for (const auto& [n, v] : o.state)
    if (n == name) return v;
  return value::integer(-1);
}

// A guard that was true while somebody else ran is false at its place.
TEST(Scheduler, LooksAtGuardsWhenTheirTurnComes) {
  const outcome o = run_source(
      "wait(x) { :: b; seen := true }\n"
      "flip(x) { while x > 0 { b := true; b := false; suspend; x := x - 1 } }\n"
      "{ b := false; spawn(wait, 0); spawn(flip, 5); skip }");
  EXPECT_EQ(o.end, ending::deadlock);
  EXPECT_EQ(value_of(o, "seen"), value::integer(0));
}

TEST(Scheduler, ReadsAnAwaitedVariableAnew) {
  const outcome o = run_source(
      "never(x) { :: false; skip }\n"
      "quick(x) { suspend; suspend }\n"
      "again(x) { suspend; spawn(quick, 0, t) }\n"
      "{ spawn(never, 0, t); spawn(again, 0); await t; on := true }");
  EXPECT_EQ(value_of(o, "on"), value::boolean(true));
  EXPECT_EQ(o.end, ending::deadlock);
}

TEST(Scheduler, ATaskThatAwaitsItselfWaitsForEver) {
  for (semantics how : {semantics::lagc_sched, semantics::sos_sched}) {
    const outcome o = run(compiled("m(x) { await t } { spawn(m, 0, t) }", how), {});
    EXPECT_EQ(o.end, ending::deadlock);
    ASSERT_EQ(o.blocked.size(), 1u);
    EXPECT_EQ(o.blocked[0].on, 1u);
  }
}

// A guard that cannot be evaluated is visited and reported, but only when it is reached.
TEST(Scheduler, ReportsAGuardThatFailsAtItsPlace) {
  const outcome o = run_source(
      "bad(x) { :: 1 / n > 0; skip }\n"
      "{ n := 1; n := 0; spawn(bad, 0); suspend; first := true; suspend; skip }");
  EXPECT_EQ(o.end, ending::error);
  EXPECT_EQ(o.error, (failure{run_time_error::division_by_zero, {1, 15}}));
  EXPECT_EQ(value_of(o, "first"), value::boolean(true));
}

// Many wait for one task, one for each of many: all in the order of their places.
TEST(Scheduler, WakesManyAtTheirPlaces) {
  const outcome o = run_source(
      "work(x) { while x > 0 { suspend; x := x - 1 } }\n"
      "wait(x) { await t; order := order * 10 + x; spawn(work, x, x); await x; "
      "order := order * 10 + 9 }\n"
      "{ spawn(work, 4, t); spawn(wait, 1); spawn(wait, 2); spawn(wait, 3); spawn(wait, 4) }",
      10'000);
  EXPECT_EQ(o.end, ending::done);
  EXPECT_EQ(value_of(o, "order"), value::integer(12349999));
}

// A million steps of which nearly all are rotations: counted, not taken.
TEST(Scheduler, CountsRotationsWithoutTakingThem) {
  const program p = compiled(
      "stuck(x) { :: false; skip }\n"
      "run(x) { while true { suspend } }\n"
      "{ n := 100000; while n > 0 { spawn(stuck, 0); n := n - 1 }; spawn(run, 0) }");
  const outcome o = run(p, {.limit = 1'000'000'000'000});
  EXPECT_EQ(o.end, ending::limit);
  EXPECT_EQ(o.steps, 1'000'000'000'000u);
}

}  // namespace
}  // namespace rota::coop::test
