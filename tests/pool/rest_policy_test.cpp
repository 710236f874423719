// A worker that is of no use rests; one that is of use is left alone. A broken promise shows as a
// rest that should not be, or one that is missing. Time and steps are made up.

#include "pool/rest_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace {

using namespace std::chrono_literals;
using rota::detail::rest_policy;
using rota::detail::work_done;
using view = rest_policy::view;
using ns = std::chrono::nanoseconds;

// A pool in made-up time: how many steps it takes a microsecond with the worker, and without; and
// how many messages are sent.
struct made_up {
  rest_policy policy{2ms, {}};
  rota::sync::time_point now{};
  work_done work{};
  double with = 10;
  double without = 10;
  double sent_with = 0;
  double sent_without = 0;
  unsigned others = 1;

  void pass(ns time, double rate, double sends = 0) {
    const auto count = [time](double r) {
      return static_cast<std::uint64_t>(r * static_cast<double>(time.count()) / 1000);
    };
    now += time;
    work.steps += count(rate);
    work.messages += count(sends);
  }
  // Works for as long, and looks every 10 us. True: it wants to rest before that.
  bool works(ns time) {
    for (const auto end = now + time; now < end; pass(10us, with, sent_with))
      if (policy.is_due(now) && policy.wants_rest(now, work)) return true;
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
    pass(policy.rest_length(), without, sent_without);
    return policy.rested(now, work, others, true);
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
  EXPECT_EQ(p.policy.look(p.now, p.work), view::short_steps);
  p.pass(rest_policy::glance, 0.19);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::long_steps);
  // Each glance is only at what happened since the last.
  p.pass(rest_policy::glance, 10);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::short_steps);
  p.pass(rest_policy::glance, 0);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::long_steps);
}

// One long step sends, and the worker takes the messages from under its hands.
TEST(RestPolicy, WhoHoldsUpASenderIsOfNoUse) {
  made_up p{.with = 8, .without = 0, .sent_with = 8, .sent_without = 11};
  p.works_until_tired();
  for (const ns length : {200us, 400us, 800us}) {
    EXPECT_EQ(p.policy.rest_length(), length);
    EXPECT_FALSE(p.rests());
    EXPECT_LE(p.works_until_tired(), 220us);
  }
}

TEST(RestPolicy, WhoHardlyHoldsUpASenderIsOfUse) {
  made_up p{.with = 8, .without = 0, .sent_with = 8, .sent_without = 10};
  p.works_until_tired();
  EXPECT_TRUE(p.rests());
  EXPECT_FALSE(p.works(10ms));
}

TEST(RestPolicy, MessagesThatAreSentRarelySayNothing) {
  made_up p{.with = 8, .without = 0, .sent_with = 0.1, .sent_without = 0.19};
  p.works_until_tired();
  EXPECT_TRUE(p.rests());
}

// Jobs may wait behind the step that sends: the rest is over, and another one may follow.
TEST(RestPolicy, WhoRestsComesBackToALongStepThatSends) {
  made_up p;
  p.works_until_tired();
  p.pass(rest_policy::glance, 0.19, 10);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::a_sender);
  p.pass(rest_policy::glance, 0.19, 0.19);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::long_steps);
  p.pass(rest_policy::glance, 10, 10);
  EXPECT_EQ(p.policy.look(p.now, p.work), view::short_steps);
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
  EXPECT_TRUE(p.policy.rested(p.now, p.work, p.others, false));
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
  made_up p{.policy = rest_policy{50us, {}}};
  p.works_until_tired();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(p.policy.rest_length(), 50us);
    EXPECT_FALSE(p.rests());
    p.works_until_tired();
  }
}

}  // namespace
