// What the explorer leaves out, it may leave out: random programs have the same outcomes with its
// reduction and without.
//
// The reduction has three parts: of schedules that differ in the order of independent steps one is
// run (strategies.cpp), an old value is not offered where another schedule stands for the choice
// (memory.cpp), and, if asked for, schedules that meet in a state go on once (signature.cpp). A
// mistake in one shows as a program in a line with the outcomes that were lost. How much each
// program saved is printed.
//
// Where a program can fail, both have to find it failing; which failure is found first may differ.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "explore/programs.h"
#include "explore/random_programs.h"
#include "support/stress.h"

namespace {

using rota::test::explored;
using rota::test::flavour;
using rota::test::outcome_set;
using rota::test::program;
using rota::test::text_of;

struct totals {
  std::uint64_t compared = 0;
  std::uint64_t failing = 0;
  std::uint64_t too_long = 0;
  std::uint64_t reduced = 0;
  std::uint64_t pruned = 0;
  std::uint64_t unreduced = 0;
  std::uint64_t merged = 0;
  std::uint64_t given_up = 0;
};

// More schedules than this are not run without the reduction.
constexpr std::uint64_t enough_schedules = 30'000;

bool compare(const program& p, const rota::explore::options& wanted, totals& sum) {
  rota::explore::options o = wanted;
  o.shrink = false;
  const explored with = rota::test::explore_all(p, o);
  o.merge_states = true;
  const explored merged = rota::test::explore_all(p, o);
  EXPECT_EQ(with.result.failed, merged.result.failed) << text_of(p) << "\n"
                                                      << with.result.text() << "\n"
                                                      << merged.result.text();
  if (!with.result.failed) {
    EXPECT_EQ(with.outcomes, merged.outcomes) << text_of(p) << "\n" << merged.result.text();
  }
  sum.merged += merged.result.schedules;
  sum.given_up += merged.result.pruned;
  o.merge_states = false;
  o.reduce = false;
  o.max_schedules = enough_schedules;
  const explored without = rota::test::explore_all(p, o);
  if (!without.result.failed && !without.result.exhaustive) {
    ++sum.too_long;
    // Still, what was seen is not lost.
    const outcome_set& all = with.outcomes;
    EXPECT_TRUE(
        with.result.failed ||
        std::includes(all.begin(), all.end(), without.outcomes.begin(), without.outcomes.end()))
        << text_of(p) << "\n  with: " << text_of(all)
        << "\n  without: " << text_of(without.outcomes);
    return !testing::Test::HasFailure();
  }
  EXPECT_EQ(with.result.failed, without.result.failed) << text_of(p) << "\n"
                                                       << with.result.text() << "\n"
                                                       << without.result.text();
  if (with.result.failed || without.result.failed) {
    ++sum.failing;
    return !testing::Test::HasFailure();
  }
  EXPECT_TRUE(with.result.exhaustive) << text_of(p);
  EXPECT_EQ(with.outcomes, without.outcomes) << text_of(p) << "\n" << with.result.text();
  ++sum.compared;
  sum.reduced += with.result.schedules;
  sum.pruned += with.result.pruned;
  sum.unreduced += without.result.schedules;
  return !testing::Test::HasFailure();
}

void compare_many(const flavour& f, std::uint64_t programs, const rota::explore::options& o = {}) {
  totals sum;
  const std::uint64_t seed = rota::test::seed();
  rota::test::random_program random(seed, f);
  for (std::uint64_t i = 0; i < programs; ++i)
    if (!compare(random.next(), o, sum)) {
      ADD_FAILURE() << "program " << i << " of seed " << seed;
      return;
    }
  EXPECT_GT(sum.compared, programs / 8) << "hardly any program could be compared";
  std::printf(
      "%llu programs: %llu schedules and %llu given up instead of %llu; %llu fail either way, of "
      "%llu only a part was run; with states merged %llu schedules and %llu given up in all\n",
      static_cast<unsigned long long>(sum.compared), static_cast<unsigned long long>(sum.reduced),
      static_cast<unsigned long long>(sum.pruned), static_cast<unsigned long long>(sum.unreduced),
      static_cast<unsigned long long>(sum.failing), static_cast<unsigned long long>(sum.too_long),
      static_cast<unsigned long long>(sum.merged), static_cast<unsigned long long>(sum.given_up));
}

TEST(reduction, keeps_the_outcomes_of_relaxed_acquire_and_release) {
  compare_many({.name = "accesses", .fences = true, .most_accesses = 6},
               rota::test::rounds(2'000, 50'000));
}

TEST(reduction, keeps_the_outcomes_of_sequentially_consistent_accesses_and_fences) {
  compare_many({.name = "sc",
                .fences = true,
                .sc_fences = true,
                .sc_accesses = true,
                .light_heavy = true,
                .most_accesses = 6},
               rota::test::rounds(2'000, 50'000));
}

TEST(reduction, keeps_races) {
  compare_many({.name = "plain memory",
                .fences = true,
                .sc_accesses = true,
                .plain = true,
                .most_accesses = 7},
               rota::test::rounds(2'000, 50'000));
}

TEST(reduction, keeps_the_outcomes_of_mutexes_futexes_and_spinning) {
  compare_many({.name = "blocking", .blocking = true, .most_accesses = 6},
               rota::test::rounds(500, 50'000));
}

TEST(reduction, keeps_the_outcomes_where_futexes_wake_for_no_reason) {
  rota::explore::options o;
  o.spurious = 1;
  compare_many({.name = "spurious", .blocking = true, .most_accesses = 5},
               rota::test::rounds(500, 50'000), o);
}

TEST(reduction, keeps_the_outcomes_of_interleavings) {
  rota::explore::options o;
  o.memory = rota::explore::memory::sc;
  compare_many({.name = "interleavings", .sc_accesses = true, .blocking = true, .most_accesses = 7},
               rota::test::rounds(500, 50'000), o);
}

// The other strategies leave out more, but do nothing that the exhaustive search does not.
TEST(reduction, other_strategies_find_no_more_and_the_bounded_one_all_of_it_if_it_may) {
  rota::test::random_program random(rota::test::seed(), {.name = "strategies",
                                                         .fences = true,
                                                         .sc_fences = true,
                                                         .sc_accesses = true,
                                                         .most_accesses = 6});
  for (std::uint64_t i = 0; i < rota::test::rounds(300, 20'000); ++i) {
    const program p = random.next();
    const outcome_set all = rota::test::explore_all(p).outcomes;
    rota::explore::options o;
    o.how = rota::explore::strategy::bounded;
    o.preemptions = 20;
    ASSERT_EQ(rota::test::explore_all(p, o).outcomes, all) << text_of(p);
    o.max_schedules = 100;
    o.seed = i;
    for (const auto how : {rota::explore::strategy::random, rota::explore::strategy::pct}) {
      o.how = how;
      const outcome_set some = rota::test::explore_all(p, o).outcomes;
      ASSERT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()))
          << text_of(p) << "\n  all: " << text_of(all) << "\n  some: " << text_of(some);
    }
  }
}

}  // namespace
