// A scheduler with a mistake must not go unnoticed: each mutant's trace or log differs from that of
// the reference programs. A mutant that none of them catches is a hole in the programs.

#include "mutants.h"

#include <gtest/gtest.h>

#include "support.h"

namespace rota::coop::test {
namespace {

constexpr run_options options{.limit = 200};

// The reference programs that tell a mutant from the scheduler.
std::vector<std::string> caught_by(const mutant& m, bool cooperative) {
  std::vector<std::string> names;
  for (const std::string& name : reference_programs()) {
    const program p = compiled(reference_source(name));
    const bool fits = p.language() == language::while_
                          ? false
                          : (p.language() == language::coopwhile) == cooperative;
    if (!fits) continue;
    if (run_shown(p, mutated(p, m), options).trace != run_shown(p, options).trace)
      names.push_back(name);
  }
  return names;
}

bool log_differs(const std::string& name, const mutant& m) {
  const program p = compiled(reference_source(name));
  return run_shown(p, mutated(p, m), options).log != run_shown(p, options).log;
}

TEST(Mutants, OfTheCooperativeSchedulerAreCaughtByTraces) {
  for (const mutant& m : cooperative_mutants())
    EXPECT_FALSE(caught_by(m, true).empty()) << m.name << " is not noticed";
}

TEST(Mutants, OfTheInterleavingSchedulerAreCaughtByTraces) {
  for (const mutant& m : interleaved_mutants())
    EXPECT_FALSE(caught_by(m, false).empty()) << m.name << " is not noticed";
}

// No mistake, no difference: the comparison itself is sound.
TEST(Mutants, TheSchedulerIsNotCaught) {
  EXPECT_TRUE(caught_by({"none", "24", nullptr, take_step}, true).empty());
  EXPECT_TRUE(caught_by({"none", "6", nullptr, take_step}, false).empty());
}

// The place rule: log 231, not 321.
TEST(Mutants, WakingToTheRearShowsInTheLog) {
  for (const mutant& m : cooperative_mutants()) {
    if (m.name == "waking to the rear") {
      EXPECT_TRUE(log_differs("04_place_in_queue", m));
    }
    if (m.name == "await that does not yield") {
      EXPECT_TRUE(log_differs("03_await_finished", m));
    }
  }
}

}  // namespace
}  // namespace rota::coop::test
