// Programs of coopwhile on simulated workers: whichever worker goes on when, in strict order the
// log is the scheduler's, and in fair order with two workers it is one of a run of the relation. A
// broken promise shows with the seed of a schedule that breaks it.

#include <rota/coop/runner.h>

#include <rota/coop/check_log.h>
#include <rota/verify/explore/sim.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "coop/support.h"
#include "support/strength.h"

namespace rota::coop::test {
namespace {

// Tasks that await one another, one task that many await, a deadlock, an error beside tasks that
// await each other, guards of which one makes the other false, an endless run.
const std::vector<std::string>& sources() {
  static const std::vector<std::string> all{
      reference_source("04_place_in_queue"),
      reference_source("06_deadlock"),
      reference_source("07_bounded_buffer"),
      "slow(x) { suspend } wait(x) { await x; n := n + 1 }"
      "{ n := 0; spawn(slow, 0, t); spawn(wait, t); spawn(wait, t); await t }",
      "left(x) { await u } right(x) { await t } bad(x) { suspend; a := 1 / x }"
      "{ spawn(left, 0, t); spawn(right, 0, u); spawn(bad, 0); :: a == 1; skip }",
      "take(x) { :: n > 0; n := n - 1 }"
      "{ n := 0; spawn(take, 0); spawn(take, 0); suspend; n := 1; suspend; n := n + 1 }",
      "m(x) { while true { suspend } } { spawn(m, 0); spawn(m, 0) }",
  };
  return all;
}

constexpr std::uint64_t limit = 120;
// More seeds if there is time.
const std::uint64_t seeds = rota::test::long_tests() ? 20'000 : 400;

TEST(RunnerExplored, IsExactInStrictOrder) {
  for (const std::string& source : sources()) {
    const program p = compiled(source);
    log_keeper reference;
    const outcome wanted = run(p, {.limit = limit}, &reference);
    const auto found = rota::sim::explore(seeds, [&] {
      log_keeper log;
      const outcome end = run_on_tasks(p, {.limit = limit}, &log);
      // Tasks do not rotate, so they come at least as far.
      const auto& mine = log.records();
      const auto& theirs = reference.records();
      rota::sim::check(
          mine.size() >= theirs.size() && std::equal(theirs.begin(), theirs.end(), mine.begin()),
          "the log begins with the scheduler's");
      if (wanted.end == ending::limit) return;
      rota::sim::check(mine.size() == theirs.size() && end.end == wanted.end &&
                           end.state == wanted.state && end.error == wanted.error,
                       "the run ends as the scheduler's");
    });
    EXPECT_FALSE(found.failed) << found.text() << source;
  }
}

TEST(RunnerExplored, IsOneOfTheRelationWithTwoWorkers) {
  std::uint64_t others = 0;  // logs that the scheduler does not write
  for (const std::string& source : sources()) {
    const program p = compiled(source);
    log_keeper reference;
    run(p, {.limit = limit}, &reference);
    const auto found = rota::sim::explore(seeds, [&] {
      log_keeper log;
      const outcome end =
          run_on_tasks(p, {.order = order::fair, .workers = 2, .limit = limit}, &log);
      log_options claim{.end = end.end, .overtaking = overtaking::any};
      if (end.end != ending::limit) claim.state = end.state;
      const auto fault = check_log(p, log.records(), claim);
      if (log.records() != reference.records()) ++others;
      rota::sim::check(!fault, fault ? fault->expected + ", not " + fault->found : "");
    });
    EXPECT_FALSE(found.failed) << found.text() << source;
  }
  EXPECT_GT(others, seeds) << "two workers do not show";
}

}  // namespace
}  // namespace rota::coop::test
