// The explorer's memory against a second opinion: random programs, every execution of which is
// tried and judged by axioms (axioms.h).
//
// A mistake on either side shows as a program in a line, with the outcomes that only one of the two
// has. The explorer does exactly what its own rule says, never more than RC11, and the same as RC11
// where nothing is sequentially consistent.

#include "explore/axioms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include "explore/random_programs.h"
#include "support/stress.h"

namespace {

using rota::test::allowed;
using rota::test::explored;
using rota::test::flavour;
using rota::test::outcome_set;
using rota::test::program;
using rota::test::text_of;

outcome_set without(const outcome_set& a, const outcome_set& b) {
  outcome_set rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(rest, rest.end()));
  return rest;
}

std::string differences(const program& p, const outcome_set& one, const outcome_set& other) {
  return "\n  " + text_of(p) + "\n  only explored: " + text_of(without(one, other)) +
         "\n  only by axioms: " + text_of(without(other, one)) + "\n";
}

struct totals {
  std::uint64_t programs = 0;
  std::uint64_t outcomes = 0;
  std::uint64_t schedules = 0;
  std::uint64_t racy = 0;
  std::uint64_t stronger = 0;
};

// Whether both agree.
bool compare(const program& p, const flavour& f, totals& sum) {
  const allowed a = rota::test::allowed_by_axioms(p);
  rota::explore::options o;
  o.shrink = false;
  const explored e = rota::test::explore_all(p, o);
  ++sum.programs;
  sum.schedules += e.result.schedules;
  if (e.result.failed || a.explored_races) {
    ++sum.racy;
    EXPECT_EQ(e.result.failed, a.explored_races) << text_of(p) << "\n" << e.result.text();
    if (e.result.failed) {
      EXPECT_EQ(e.result.failure->kind, rota::explore::failure_kind::data_race) << text_of(p);
      EXPECT_TRUE(a.rc11_races) << text_of(p);
    }
    return !testing::Test::HasFailure();
  }
  EXPECT_TRUE(e.result.exhaustive) << text_of(p);
  sum.outcomes += e.outcomes.size();
  EXPECT_EQ(e.outcomes, a.explored) << differences(p, e.outcomes, a.explored);
  const outcome_set beyond = without(e.outcomes, a.rc11);
  EXPECT_TRUE(beyond.empty()) << "RC11 forbids " << text_of(beyond) << "\n  " << text_of(p);
  const bool weak_only = !f.sc_fences && !f.sc_accesses && !f.light_heavy;
  if (weak_only) {
    EXPECT_EQ(e.outcomes, a.rc11) << differences(p, e.outcomes, a.rc11);
  }
  if (e.outcomes.size() < a.rc11.size()) ++sum.stronger;
  return !testing::Test::HasFailure();
}

void compare_many(const flavour& f, std::uint64_t programs) {
  totals sum;
  const std::uint64_t seed = rota::test::seed();
  rota::test::random_program random(seed, f);
  for (std::uint64_t i = 0; i < programs; ++i)
    if (!compare(random.next(), f, sum)) {
      ADD_FAILURE() << "program " << i << " of seed " << seed;
      return;
    }
  std::printf(
      "%llu programs, %llu racy, %llu outcomes, %llu schedules; RC11 allows more in %llu\n",
      static_cast<unsigned long long>(sum.programs), static_cast<unsigned long long>(sum.racy),
      static_cast<unsigned long long>(sum.outcomes), static_cast<unsigned long long>(sum.schedules),
      static_cast<unsigned long long>(sum.stronger));
}

TEST(axioms, relaxed_acquire_and_release_are_those_of_rc11) {
  compare_many({.name = "accesses"}, rota::test::rounds(2'000, 200'000));
}

TEST(axioms, release_and_acquire_fences_are_those_of_rc11) {
  compare_many({.name = "fences", .fences = true}, rota::test::rounds(2'000, 200'000));
}

TEST(axioms, sequentially_consistent_fences_take_the_order_of_the_schedule) {
  compare_many({.name = "sc fences", .fences = true, .sc_fences = true},
               rota::test::rounds(2'000, 200'000));
}

TEST(axioms, sequentially_consistent_accesses_take_the_order_of_the_schedule) {
  compare_many({.name = "sc accesses", .sc_accesses = true}, rota::test::rounds(2'000, 200'000));
}

TEST(axioms, sequentially_consistent_accesses_and_fences_take_one_order) {
  compare_many({.name = "sc", .fences = true, .sc_fences = true, .sc_accesses = true},
               rota::test::rounds(2'000, 200'000));
}

TEST(axioms, light_and_heavy_fences_order_each_other) {
  compare_many(
      {.name = "light and heavy", .sc_fences = true, .sc_accesses = true, .light_heavy = true},
      rota::test::rounds(2'000, 200'000));
}

TEST(axioms, a_race_is_reported_if_and_only_if_there_is_one) {
  compare_many({.name = "plain memory",
                .fences = true,
                .sc_fences = true,
                .sc_accesses = true,
                .plain = true},
               rota::test::rounds(2'000, 200'000));
}

}  // namespace
