// Programs on the tasks of Rota. `same_order`: in strict order the log, the end and the number of
// steps are those of the paper's scheduler, wherever the limit cuts the run. In fair order, and
// with several workers, the log is admissible. A broken promise shows with the program that breaks
// it.

#include <rota/coop/runner.h>

#include <rota/base/rng.h>
#include <rota/coop/check_log.h>
#include <rota/coop/generate.h>
#include <rota/pool/stats.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "support.h"
#include "support/tasks.h"

namespace rota::coop::test {
namespace {

// More programs if there is time, fewer where each takes long.
std::uint64_t scaled(std::uint64_t n) {
  if (rota::test::sanitized) return n / 5;
  return rota::test::long_tests() ? 50 * n : n;
}

// What a run has shown, in a form that can be compared.
struct shown_end {
  outcome end;
  std::string log;
  bool is_stable = true;  // no awaited variable was overwritten

  std::string text() const { return end_record(end) + "\n" + log; }
};

class rotation_count : public run_observer {
 public:
  void step(const taken_step& s, const configuration&) override {
    count += s.what.by->name == "21";
  }
  std::uint64_t count = 0;
};

// The scheduler's run, as tasks would show it: nobody rotates, and blocked tasks are in ascending
// order.
shown_end run_by_scheduler(const program& p, std::uint64_t limit) {
  std::ostringstream text;
  log_writer lines{text, p};
  log_observer log{lines};
  await_watch watch{p};
  rotation_count rotations;
  outcome end = run_by_rules(p, rules_of(p), {.limit = limit}, {&log, &watch, &rotations});
  end.steps -= rotations.count;
  std::sort(end.blocked.begin(), end.blocked.end(),
            [](const blocked_task& a, const blocked_task& b) { return a.task < b.task; });
  return {end, text.str(), watch.is_stable()};
}

shown_end run_by_tasks(const program& p, const runner_options& options) {
  std::ostringstream text;
  log_writer lines{text, p};
  const outcome end = run_on_tasks(p, options, &lines);
  return {end, text.str()};
}

// Both, cut at the same step.
void expect_exact(const program& p, std::uint64_t limit, awaits how, const std::string& source) {
  const shown_end wanted = run_by_scheduler(p, limit);
  if (!wanted.is_stable && how == awaits::by_handle) return;
  const std::uint64_t cut = wanted.end.end == ending::limit ? wanted.end.steps : limit;
  const shown_end found = run_by_tasks(p, {.limit = cut, .awaits = how});
  ASSERT_EQ(found.text(), wanted.text()) << "limit " << limit << "\n" << source;
}

std::vector<std::string> cooperative_programs() {
  std::vector<std::string> sources;
  for (const std::string& name : reference_programs())
    if (const std::string source = reference_source(name);
        parse(source).tree.language == language::coopwhile)
      sources.push_back(source);
  return sources;
}

TEST(Runner, IsExactOnTheReferenceProgramsAtEveryLimit) {
  for (const std::string& source : cooperative_programs()) {
    const program p = compiled(source);
    for (std::uint64_t limit = 0; limit < 100; limit += rota::test::sanitized ? 5 : 1)
      for (awaits how : {awaits::by_handle, awaits::by_guard}) expect_exact(p, limit, how, source);
  }
}

TEST(Runner, IsExactOnRandomPrograms) {
  std::array<std::uint64_t, 4> ended{};
  std::uint64_t stable = 0;
  const std::uint64_t programs = scaled(2000);
  for (std::uint64_t seed = 0; seed < programs && !HasFatalFailure(); ++seed) {
    const std::string source = random_program(seed, {.in = language::coopwhile});
    const program p = compiled(source);
    const std::uint64_t limit = 1 + rota::detail::rng{seed}.below(400);
    expect_exact(p, limit, seed % 4 == 0 ? awaits::by_guard : awaits::by_handle, source);
    const shown_end wanted = run_by_scheduler(p, limit);
    stable += wanted.is_stable ? 1 : 0;
    ++ended[static_cast<std::size_t>(wanted.end.end)];
  }
  // Programs that all end the same way, or are not compared, would show little.
  for (ending e : {ending::done, ending::deadlock, ending::limit, ending::error})
    EXPECT_GT(ended[static_cast<std::size_t>(e)], programs / 100) << name_of(e);
  EXPECT_GT(stable, programs / 2);
}

TEST(Runner, KeepsThePlaceOfWhoWaits) {
  const program p = compiled(reference_source("04_place_in_queue"));
  EXPECT_EQ(run_by_tasks(p, {}).end.state.front(),
            std::pair(std::string("log"), value::integer(231)))
      << "321 is the order of a wait list that wakes to the rear";
}

TEST(Runner, LetsManyAwaitOneTask) {
  const std::string source =
      "slow(x) { suspend; suspend }"
      "wait(x) { await x; n := n * 10 + 1 }"
      "tick(x) { suspend; suspend; n := n * 10 + 2 }"
      "{ n := 0; spawn(slow, 0, t); spawn(wait, t); spawn(tick, 0); spawn(wait, t); await t }";
  expect_exact(compiled(source), 1000, awaits::by_handle, source);
}

TEST(Runner, ReadsAnOverwrittenVariableAgainIfItAwaitsByGuard) {
  const program p = compiled(reference_source("13_overwritten_await"));
  ASSERT_FALSE(run_by_scheduler(p, 1000).is_stable);
  expect_exact(p, 1000, awaits::by_guard, "13_overwritten_await");
}

// Tasks that await each other in a circle are there when another fails.
TEST(Runner, EndsWithTheErrorThoughOthersAwaitEachOther) {
  const std::string source =
      "left(x) { await u } right(x) { await t } self(x) { await v } bad(x) { suspend; a := 1 / x }"
      "{ spawn(left, 0, t); spawn(right, 0, u); spawn(self, 0, v); spawn(bad, 0); suspend;"
      "  :: false; a := 2 }";
  expect_exact(compiled(source), 1000, awaits::by_handle, source);
  EXPECT_EQ(run_by_tasks(compiled(source), {}).end.end, ending::error);
}

TEST(Runner, PassesOnWhatTheLogThrows) {
  class broken : public log_sink {
    void add(const log_record&) override { throw std::runtime_error("full"); }
  } log;
  const program p = compiled("m(x) { await x } { spawn(m, 0); suspend; :: false; skip }");
  EXPECT_THROW(run_on_tasks(p, {}, &log), std::runtime_error);
}

// --- other orders -------------------------------------------------------------------------------

// A task may await what its variable no longer holds. Then the log is still one of a run, but who
// waits too long is overtaken, and the run may deadlock.
void expect_admissible(const program& p, const runner_options& options, const std::string& source) {
  log_keeper log;
  const outcome end = run_on_tasks(p, options, &log);
  await_watch watch{p};
  log_options claim{.end = end.end,
                    .overtaking = overtaking::any,
                    .slack = fairness_slack,
                    .observers = {&watch}};
  if (end.end != ending::limit) claim.state = end.state;
  auto fault = check_log(p, log.records(), claim);
  const bool waits_rightly = watch.is_stable() || options.awaits == awaits::by_guard;
  if (!fault && waits_rightly && options.workers == 1) {
    claim.overtaking = overtaking::within;
    fault = check_log(p, log.records(), claim);
  }
  const bool only_the_end = fault && fault->record == log.records().size();
  if (only_the_end && !waits_rightly) return;
  ASSERT_FALSE(fault) << "record " << fault->record << ": expected " << fault->expected
                      << ", found " << fault->found << "\n"
                      << source;
}

class RunnerInFairOrder : public testing::TestWithParam<unsigned> {
 protected:
  static runner_options options(std::uint64_t limit, awaits how = awaits::by_handle) {
    return {.order = rota::order::fair, .workers = GetParam(), .limit = limit, .awaits = how};
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, RunnerInFairOrder, testing::Values(1u, 2u, 4u));

TEST_P(RunnerInFairOrder, IsAdmissibleOnTheReferencePrograms) {
  for (const std::string& source : cooperative_programs())
    for (awaits how : {awaits::by_handle, awaits::by_guard})
      expect_admissible(compiled(source), options(1000, how), source);
}

TEST_P(RunnerInFairOrder, IsAdmissibleOnRandomPrograms) {
  for (std::uint64_t seed = 0; seed < scaled(500) && !HasFatalFailure(); ++seed) {
    const std::string source = random_program(seed, {.in = language::coopwhile});
    const awaits how = seed % 2 == 0 ? awaits::by_handle : awaits::by_guard;
    expect_admissible(compiled(source), options(400, how), source);
  }
}

// Each of these wants more than its share: tasks that wake each other, guards that hold, awaits of
// what has ended. Others are ready all the time, and must have their turns.
TEST_P(RunnerInFairOrder, LetsNobodyBeOvertakenForLong) {
  for (const char* source :
       {"quiet(x) { while true { suspend } }"
        "eager(x) { while true { :: true; n := n + 1 } }"
        "{ n := 0; spawn(quiet, 0); spawn(eager, 0); spawn(eager, 0) }",
        "quiet(x) { while true { suspend } }"
        "ended(x) { skip }"
        "eager(x) { while true { await x } }"
        "{ spawn(ended, 0, t); spawn(quiet, 0); spawn(eager, t); spawn(quiet, 0) }",
        "ping(x) { while true { :: n == 0; n := 1 } }"
        "pong(x) { while true { :: n == 1; n := 0 } }"
        "ready(x) { while true { :: n <= 1; suspend } }"
        "{ n := 0; spawn(ping, 0); spawn(pong, 0); spawn(ready, 0) }",
        "quiet(x) { while true { suspend } }"
        "late(x) { :: n > 0; n := 2 }"
        "{ n := 0; spawn(quiet, 0); spawn(late, 0); suspend; suspend; suspend; n := 1;"
        "  while true { suspend } }",
        "leaf(x) { skip }"
        "chain(x) { while true { spawn(leaf, 0, x); await x } }"
        "quiet(x) { while true { suspend } }"
        "{ spawn(chain, 0); spawn(chain, 0); spawn(quiet, 0) }"})
    expect_admissible(compiled(source), options(5000), source);
}

}  // namespace
}  // namespace rota::coop::test
