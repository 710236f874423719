// A worker that is of no use rests; one that is of use is left alone. A broken promise shows as a
// rest that should not be, or one that is missing. Time and steps are made up.

#include "pool/rest_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace {

using namespace std::chrono_literals;
using rota::detail::rest_policy;
using ns = std::chrono::nanoseconds;

// A pool in made-up time: how many steps it takes a microsecond with the worker, and without.
struct made_up {
  rest_policy policy{2ms};
  rota::sync::time_point now{};
  std::uint64_t steps = 0;
  double with = 10;
  double without = 10;
  unsigned others = 1;

  void pass(ns time, double rate) {
    now += time;
    steps += static_cast<std::uint64_t>(rate * static_cast<double>(time.count()) / 1000);
  }
  // Works for as long, and looks every 10 us. True: it wants to rest before that.
  bool works(ns time) {
    for (const auto end = now + time; now < end; pass(10us, with))
      if (policy.is_due(now) && policy.wants_rest(now, steps)) return true;
    return false;
  }
  // Works until it wants to rest.
  ns works_until_tired() {
    const auto begin = now;
    while (!works(10us)) {
    }
    return now - begin;
  }
  // Rests. True: it was of use.
  bool rests() {
    pass(policy.rest_length(), without);
    return policy.rested(now, steps, others, true);
  }
};

TEST(RestPolicy, AWorkerOfNoUseRestsLongerEachTime) {
  made_up p;
  p.works_until_tired();
  for (const ns length : {200us, 400us, 800us, 1600us, 2000us, 2000us}) {
    EXPECT_EQ(p.policy.rest_length(), length);
    EXPECT_FALSE(p.rests());
    EXPECT_LE(p.works_until_tired(), 220us);
  }
}

TEST(RestPolicy, AWorkerOfUseIsTriedMoreAndMoreRarely) {
  made_up p;
  p.with = 20;
  p.works_until_tired();
  for (const ns pause : {20ms, 40ms, 80ms, 100ms, 100ms}) {
    EXPECT_EQ(p.policy.rest_length(), 200us);
    EXPECT_TRUE(p.rests());
    EXPECT_GE(p.works_until_tired(), pause);
  }
}

TEST(RestPolicy, WhoBecomesOfUseIsLeftAlone) {
  made_up p;
  p.works_until_tired();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(p.rests());
    p.works_until_tired();
  }
  p.with = 20;
  EXPECT_FALSE(p.rests());
  p.works_until_tired();
  EXPECT_TRUE(p.rests());
  EXPECT_FALSE(p.works(10ms));
}

TEST(RestPolicy, WhoRestsComesBackWhenStepsBecomeLong) {
  made_up p;
  p.works_until_tired();
  // As many steps as short ones allow, and just not.
  p.pass(rest_policy::glance, 0.21);
  EXPECT_TRUE(p.policy.may_rest_on(p.now, p.steps));
  p.pass(rest_policy::glance, 0.19);
  EXPECT_FALSE(p.policy.may_rest_on(p.now, p.steps));
  // Each glance is only at what happened since the last.
  p.pass(rest_policy::glance, 10);
  EXPECT_TRUE(p.policy.may_rest_on(p.now, p.steps));
  p.pass(rest_policy::glance, 0);
  EXPECT_FALSE(p.policy.may_rest_on(p.now, p.steps));
}

TEST(RestPolicy, LongStepsAreNoReasonToTry) {
  made_up p;
  p.with = p.without = 0.19;
  EXPECT_FALSE(p.works(1s));
  p.with = 0.25;
  EXPECT_TRUE(p.works(1s));
}

TEST(RestPolicy, ARestThatIsCutShortSaysNothing) {
  made_up p;
  p.works_until_tired();
  EXPECT_FALSE(p.rests());
  p.works_until_tired();
  EXPECT_EQ(p.policy.rest_length(), 400us);
  p.pass(1us, 1000);
  EXPECT_TRUE(p.policy.rested(p.now, p.steps, p.others, false));
  EXPECT_EQ(p.policy.rest_length(), 200us);
  EXPECT_FALSE(p.works(10ms));
  EXPECT_TRUE(p.works(1ms));
}

// With seven others a worker brings a seventh at best.
TEST(RestPolicy, AThirdOfAFairShareIsEnough) {
  for (const unsigned others : {1u, 3u, 7u}) {
    made_up p;
    p.others = others;
    p.works_until_tired();
    p.without = p.with / (1 + 0.30 / others);
    EXPECT_FALSE(p.rests()) << others;
    p.works_until_tired();
    p.without = p.with / (1 + 0.37 / others);
    EXPECT_TRUE(p.rests()) << others;
  }
}

TEST(RestPolicy, WhatCannotBeTriedNowIsTriedLater) {
  made_up p;
  p.works(100us);
  p.policy.postpone(p.now);
  EXPECT_FALSE(p.policy.counts());
  EXPECT_FALSE(p.works(10ms));
  EXPECT_TRUE(p.works(1ms));
}

TEST(RestPolicy, NobodyRestsLongerThanAllowed) {
  made_up p{.policy = rest_policy{50us}};
  p.works_until_tired();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(p.policy.rest_length(), 50us);
    EXPECT_FALSE(p.rests());
    p.works_until_tired();
  }
}

}  // namespace
