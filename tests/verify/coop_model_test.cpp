// The scheduler of CoopWhile, and how a worker of the pool chooses. Both must keep a task from
// being overtaken for ever; the bounds are exact, so that one less fails. A mutant that nothing
// catches is a hole in the properties.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

std::vector<setting> program(int tasks, int steps, int values, int watched = -1) {
  return {{"Tasks", std::to_string(tasks)},
          {"Steps", std::to_string(steps)},
          {"Values", std::to_string(values)},
          {"Watched", std::to_string(watched)}};
}

std::vector<setting> worker(int tasks, int bypass, int look_every, int watched = 0) {
  return {{"Tasks", std::to_string(tasks)},
          {"Bypass", std::to_string(bypass)},
          {"LookEvery", std::to_string(look_every)},
          {"Watched", std::to_string(watched)}};
}

// --- coop ---------------------------------------------------------------------------------------

// The same numbers come from an independent checker on specs/coop.
TEST(CoopModel, HasTheStatesOfItsSpec) {
  EXPECT_EQ(check_model("coop", program(2, 1, 2)).counts(),
            "886 distinct, 2007 generated, depth 14");
  EXPECT_EQ(check_model("coop", program(2, 1, 2, 0)).counts(),
            "920 distinct, 2111 generated, depth 14");
  EXPECT_EQ(check_model("coop", program(3, 1, 1)).counts(),
            "7513 distinct, 18239 generated, depth 20");
}

TEST(CoopModel, KeepsAllPromises) {
  for (const auto& setting :
       {program(1, 2, 2), program(2, 3, 2, 1), program(3, 1, 2, 0), program(3, 2, 2, 1)}) {
    const auto seen = check_model("coop", setting);
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
  }
  EXPECT_EQ(check_model("coop", program(3, 1, 2, 0)).never_taken(), "");
}

TEST(CoopModel, StandsStillWithoutFairness) {
  const auto seen = check_model("coop", program(2, 1, 2), {.fairness = {{"run", fairness::none}}});
  EXPECT_EQ(seen.violated(), "DeadlockReported GivesWay quiescent_fair");
  EXPECT_TRUE(check_model("coop", program(2, 1, 2), {.fairness = {{"report", fairness::none}}})
                  .fails("DeadlockReported"));
}

// The overtaking bound, all others once, is reached.
TEST(CoopModel, OvertakingBoundIsTight) {
  for (int tasks : {2, 3})
    EXPECT_TRUE(
        check_model("coop", program(tasks, 1, 1, tasks - 1), {.properties = {"OvertakenByFewer"}})
            .fails("OvertakenByFewer"));
}

// Weakly and quiescent fair, not strongly: guards may be false whenever they are looked at. Awaits
// alone cannot, since a task that has ended has ended.
TEST(CoopModel, IsStronglyFairWithoutGuardsOnly) {
  const how asked{.properties = {"RunsOnceEnabled"}};
  EXPECT_TRUE(check_model("coop", program(3, 1, 2), asked).fails("RunsOnceEnabled"));
  EXPECT_TRUE(check_model("coop", program(3, 1, 1), asked).holds("RunsOnceEnabled"));
}

// The distance as the paper defines it rises when a task that is about to give way has a call
// pending; ours does not.
TEST(CoopModel, ThePapersDistanceRises) {
  auto setting = program(2, 1, 1);
  setting.push_back({"Distance", "paper"});
  const auto seen = check_model("coop", setting);
  EXPECT_EQ(seen.violated(), "DistanceFalls");
  EXPECT_EQ(seen.of("DistanceFalls").counterexample.steps.size(), 3u);
}

TEST(CoopModel, TasksAreInterchangeable) {
  for (int watched : {-1, 1}) {
    const auto all = check_model("coop", program(3, 1, 2, watched));
    const auto some = check_model("coop", program(3, 1, 2, watched), {.symmetry = true});
    EXPECT_LT(some.result.representatives, all.result.distinct * (watched < 0 ? 2 : 6) / 10);
    EXPECT_EQ(some.violated(), "");
  }
  auto mutant = program(3, 1, 1, 0);
  mutant.push_back({"Mutant", "waiter_in_front"});
  EXPECT_EQ(check_model("coop", mutant, {.symmetry = true}).violated(),
            "DistanceFalls BoundedOvertaking OvertakingBound");
}

TEST(CoopModel, RefusesToWatchNobody) {
  EXPECT_THROW(check_model("coop", program(2, 1, 1, 2)), bad_setting);
  EXPECT_THROW(check_model("coop_bypass", worker(2, 1, 1, 2)), bad_setting);
}

TEST(CoopModel, CatchesEveryMutant) {
  expect_caught(
      "coop", program(3, 2, 2, 0),
      {
          {"lifo",
           "DistanceFalls BoundedOvertaking OvertakingBound NoFalseDeadlock quiescent_fair"},
          {"blocked_in_front", "DistanceFalls NoFalseDeadlock quiescent_fair"},
          {"spawn_in_front", "DistanceFalls BoundedOvertaking OvertakingBound quiescent_fair"},
          {"drop_blocked", "EachOnce DeadlockReported quiescent_fair"},
          {"run_blocked", "RunsOnlyEnabled DeadlockReported"},
          {"child_first", "DistanceFalls"},
          {"ready_goes_on", "DistanceFalls GivesWay quiescent_fair"},
          {"waiter_in_front", "DistanceFalls BoundedOvertaking OvertakingBound"},
          {"endless", "DistanceFalls GivesWay quiescent_fair"},
          {"forget_call", "EachOnce quiescent_fair"},
          {"early_report", "NoFalseDeadlock quiescent_fair"},
          {"turns_not_reset", "NoFalseDeadlock quiescent_fair"},
          {"no_report", "DeadlockReported"},
      });
}

// --- coop_bypass --------------------------------------------------------------------------------

TEST(CoopBypassModel, KeepsAllPromises) {
  const auto seen = check_model("coop_bypass", worker(4, 2, 2));
  EXPECT_EQ(seen.counts(), "18727 distinct, 45256 generated, depth 28");
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  EXPECT_EQ(seen.never_taken(), "");
}

TEST(CoopBypassModel, StarvesWithoutFairness) {
  EXPECT_EQ(check_model("coop_bypass", worker(3, 1, 2), {.fairness = {{"worker", fairness::none}}})
                .violated(),
            "quiescent_fair");
}

// N + K + 2B - 2 points (N + K - 1 if B is 0), for whichever task, and not one less.
TEST(CoopBypassModel, BoundsTheDelay) {
  struct row {
    int tasks, bypass, look_every;
  };
  for (const row& r : {row{3, 0, 2}, row{4, 0, 3}, row{3, 1, 1}, row{4, 1, 3}, row{4, 2, 1},
                       row{5, 2, 2}, row{5, 3, 3}}) {
    const auto seen = check_model(
        "coop_bypass", worker(r.tasks, r.bypass, r.look_every, r.tasks - 1),
        {.properties = {"ReadyDelay", "MailSeen", "ReadyDelayByFewer", "MailSeenSooner"},
         .symmetry = true});
    EXPECT_EQ(seen.violated(), "ReadyDelayByFewer MailSeenSooner")
        << r.tasks << "/" << r.bypass << "/" << r.look_every;
  }
}

TEST(CoopBypassModel, TasksAreInterchangeable) {
  const auto all = check_model("coop_bypass", worker(4, 1, 2));
  const auto some = check_model("coop_bypass", worker(4, 1, 2), {.symmetry = true});
  EXPECT_LT(some.result.representatives, all.result.distinct / 4);
  EXPECT_EQ(some.violated(), all.violated());
}

TEST(CoopBypassModel, CatchesEveryMutant) {
  expect_caught("coop_bypass", worker(4, 2, 2),
                {
                    {"bypass_without_limit", "ReadyDelay quiescent_fair"},
                    {"renew_at_each_pop", "ReadyDelay"},
                    {"spent_in_front", "ReadyDelay quiescent_fair"},
                    {"never_look", "ReadyDelay MailSeen quiescent_fair"},
                    {"no_look_when_dry", "deadlock_free quiescent_fair"},
                    {"mail_in_front", "ReadyDelay quiescent_fair"},
                    {"drop_mail", "EachOnce quiescent_fair"},
                    {"lifo", "ReadyDelay quiescent_fair"},
                    {"ready_in_front", "ReadyDelay quiescent_fair"},
                    {"overwrite_next", "EachOnce quiescent_fair"},
                });
}

}  // namespace
}  // namespace rota::verify::test
