// The model of the event layer's executor, and with the bound. The counts are those of tla-checker
// on specs/scheduler_built: a step that is missing or one too many changes them. A mutant that
// nothing catches is a hole in the properties.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

// Three handlers, all of them in the group, two of them coroutines that may call.
const std::vector<setting> calling{
    {"Grouped", "3"}, {"Async", "2"}, {"Calls", "1"}, {"Putters", "1"}};

const char* const only_detached = "consume_detached finish_detached leave_group enter_group";
const char* const only_mutants = "look_first consume_more";

TEST(SchedulerBuiltModel, HasTheStatesThatTlaCheckerCounts) {
  struct row {
    std::vector<setting> settings;
    const char* counts;
  };
  const std::vector<row> rows{
      {{}, "10851 distinct, 50479 generated, depth 23"},
      {{{"Clients", "0"}, {"Putters", "1"}}, "417 distinct, 1095 generated, depth 15"},
      {{{"Workers", "1"}, {"Putters", "1"}}, "1120 distinct, 2797 generated, depth 23"},
      {{{"Events", "1"}}, "1554 distinct, 5635 generated, depth 23"},
      {{{"Clients", "0"}, {"Putters", "1"}, {"Events", "3"}, {"Budget", "2"}},
       "759 distinct, 2149 generated, depth 18"},
      {{{"Clients", "0"}, {"Putters", "1"}, {"Grouped", "0"}, {"Workers", "3"}},
       "1801 distinct, 6252 generated, depth 21"},
      {{{"Clients", "0"}, {"Putters", "1"}, {"Async", "2"}},
       "436 distinct, 1401 generated, depth 15"},
      {{{"Clients", "0"}, {"Putters", "1"}, {"Async", "1"}, {"Calls", "1"}},
       "1152 distinct, 3754 generated, depth 18"},
      {{{"Putters", "1"}, {"Events", "1"}, {"Grouped", "3"}, {"Async", "2"}, {"Calls", "1"}},
       "4431 distinct, 15852 generated, depth 24"},
  };
  for (const row& r : rows)
    EXPECT_EQ(check_model("scheduler_built", r.settings).counts(), r.counts);
}

TEST(SchedulerBuiltModel, KeepsAllPromises) {
  struct row {
    std::vector<setting> settings;
    std::string never_taken;
  };
  const std::string none_detached = std::string(only_detached) + " " + only_mutants;
  const std::vector<row> rows{
      {{}, none_detached},
      {{{"Workers", "3"}}, none_detached},
      {{{"Putters", "3"}, {"Grouped", "3"}}, none_detached},
      {{{"Subscribers", "2"}, {"Workers", "4"}, {"Putters", "1"}, {"Events", "1"}}, none_detached},
      {calling, only_mutants},
      {{{"Grouped", "3"}, {"Async", "3"}, {"Calls", "2"}, {"Putters", "1"}, {"Events", "1"}},
       std::string("consume finish_and_take ") + only_mutants},
      {{{"Subscribers", "2"},
        {"Workers", "3"},
        {"Putters", "1"},
        {"Events", "1"},
        {"Grouped", "3"},
        {"Async", "2"},
        {"Calls", "1"}},
       only_mutants},
  };
  for (const row& r : rows) {
    const auto seen = check_model("scheduler_built", r.settings);
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
    EXPECT_EQ(seen.never_taken(), r.never_taken);
  }
}

// Each fairness is needed: of the runners, of who has to trigger, of what is detached.
TEST(SchedulerBuiltModel, StarvesWithoutFairness) {
  struct row {
    const char* group;
    const char* property;
  };
  for (const row& r : {row{"runner", "starvation_free"}, row{"detached", "starvation_free"},
                       row{"trigger", "EventConsumed"}, row{"detached", "CallReturns"}}) {
    const auto seen =
        check_model("scheduler_built", calling,
                    {.properties = {r.property}, .fairness = {{r.group, fairness::none}}});
    EXPECT_TRUE(seen.fails(r.property)) << r.group;
  }
}

// A member of a group that ends its run and hands the group over makes two ready; but it cannot run
// itself until the other has ended, whose runner then takes again. So one wake would do.
TEST(SchedulerBuiltModel, OneWakeIsEnoughAtTheEndOfADetachedRun) {
  auto setting = calling;
  setting.push_back({"OneWake", "TRUE"});
  EXPECT_EQ(check_model("scheduler_built", setting).violated(), "");
}

// That no runner is idle while anything is queued is more than holds: the group may be held.
TEST(SchedulerBuiltModel, AQueuedHandlerMayWaitForItsGroupByAnIdleRunner) {
  const std::string name = "NobodyIdlesByTheQueue";
  EXPECT_TRUE(check_model("scheduler_built", {}, {.properties = {name}}).fails(name));
  EXPECT_TRUE(
      check_model("scheduler_built", {{"Grouped", "0"}}, {.properties = {name}}).holds(name));
}

TEST(SchedulerBuiltModel, RefusesSettingsThatDoNotFit) {
  EXPECT_THROW(
      check_model("scheduler_built", {{"Subscribers", "0"}, {"Servers", "0"}, {"Clients", "0"}}),
      bad_setting);
  EXPECT_THROW(check_model("scheduler_built", {{"Subscribers", "4"}, {"Servers", "3"}}),
               bad_setting);
  EXPECT_THROW(check_model("scheduler_built", {{"Grouped", "4"}}), bad_setting);
  EXPECT_THROW(check_model("scheduler_built", {{"Async", "4"}}), bad_setting);
  EXPECT_THROW(check_model("scheduler_built_bound", {{"Watched", "3"}}), bad_setting);
  // Mutants of what is not there.
  for (const char* mutant : {"finish_wakes_nobody", "leave_wakes_nobody", "skip_busy_group",
                             "handover_to_rear", "enter_without_waiting"})
    EXPECT_THROW(check_model("scheduler_built", {{"Mutant", mutant}}), bad_setting);
}

// Runners are interchangeable, and putters; with their names forgotten the verdicts stay.
TEST(SchedulerBuiltModel, RunnersAndPuttersAreInterchangeable) {
  for (const char* model : {"scheduler_built", "scheduler_built_bound"}) {
    const auto all = check_model(model, {{"Workers", "3"}});
    const auto some = check_model(model, {{"Workers", "3"}}, {.symmetry = true});
    EXPECT_LT(some.result.representatives * 4, all.result.distinct);
    EXPECT_EQ(some.result.distinct, all.result.distinct);
    EXPECT_EQ(some.violated(), all.violated());
    const how invariants{.properties = {"OneState", "NeverReentered"}, .symmetry = true};
    EXPECT_EQ(check_model(model, {{"Mutant", "trigger_running"}}, invariants).violated(),
              "OneState NeverReentered")
        << model;
  }
}

// With N handlers at most N - 1 runs of others start between a trigger and the run, or the queue of
// the group; with g in the group at most g - 1 others have it before a handler in that queue. For
// each handler and whatever the number of runners, and none can be improved, where there is such a
// queue.
TEST(SchedulerBuiltModel, BoundsTheWaitOfEveryHandler) {
  struct row {
    std::vector<setting> settings;
    int handlers;
    int waiting_for_group;  // the first so many may have to
  };
  const std::vector<row> rows{
      {{{"Workers", "1"}}, 3, 0},
      {{}, 3, 2},
      {{{"Grouped", "3"}}, 3, 3},
      {{{"Grouped", "0"}, {"Workers", "3"}, {"Putters", "1"}}, 3, 0},
      {{{"Workers", "1"}, {"Grouped", "3"}, {"Async", "3"}, {"Putters", "1"}}, 3, 3},
      {calling, 3, 3},
      {{{"Subscribers", "2"}, {"Grouped", "4"}, {"Putters", "1"}, {"Events", "1"}}, 4, 4},
      {{{"Subscribers", "2"}, {"Workers", "3"}, {"Putters", "1"}, {"Events", "1"}}, 4, 2},
  };
  const how all{.properties = {"PassedSinceTrigger", "PassedInQueue", "PassedInGroup",
                               "NextToStart", "PassedSinceTriggerByFewer", "PassedInQueueByFewer",
                               "PassedInGroupByFewer"}};
  for (const row& r : rows) {
    for (int watched = 0; watched < r.handlers; ++watched) {
      auto settings = r.settings;
      settings.push_back({"Watched", std::to_string(watched)});
      std::string tight = "PassedSinceTriggerByFewer PassedInQueueByFewer";
      if (watched < r.waiting_for_group) tight += " PassedInGroupByFewer";
      EXPECT_EQ(check_model("scheduler_built_bound", settings, all).violated(), tight);
    }
  }
}

TEST(SchedulerBuiltModel, WithTheBoundKeepsAllPromises) {
  const auto seen = check_model("scheduler_built_bound");
  EXPECT_EQ(seen.counts(), "11919 distinct, 55651 generated, depth 24");
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  EXPECT_EQ(check_model("scheduler_built_bound",
                        {{"Putters", "1"}, {"Events", "1"}, {"Grouped", "3"}, {"Watched", "2"}})
                .counts(),
            "981 distinct, 2394 generated, depth 23");
}

TEST(SchedulerBuiltModel, CatchesEveryMutant) {
  struct row {
    const char* mutant;
    const char* violates;
    const char* bound;  // on top of that
    std::vector<setting> where = {};
  };
  const std::vector<setting> one_putter{{"Putters", "1"}};
  const std::vector<row> table{
      {"drop_requeue", "deadlock_free RunningIsHeld NothingGroundless GroupExclusive EventConsumed",
       ""},
      {"lifo_queue", "starvation_free EventConsumed",
       " PassedSinceTrigger PassedInQueue NextToStart"},
      {"class_order", "starvation_free EventConsumed", " PassedSinceTrigger PassedInQueue"},
      {"one_a_step", "WorkConserving starvation_free EventConsumed", " PassedSinceTrigger"},
      {"forget_pending", "deadlock_free TriggerKept EventConsumed", ""},
      {"forget_again", "deadlock_free TriggerKept EventConsumed", ""},
      {"trigger_running",
       "OneState RunningIsHeld NeverReentered TriggerKept GroupExclusive EventConsumed",
       " NextToStart"},
      {"consume_piecemeal", "TriggerFindsItFree NothingGroundless", "", one_putter},
      {"look_outside", "deadlock_free TriggerKept EventConsumed", "", one_putter},
      {"no_wake", "deadlock_free WorkConserving starvation_free EventConsumed", ""},
      {"finish_wakes_nobody",
       "deadlock_free WorkConserving starvation_free EventConsumed CallReturns", "", calling},
      {"leave_wakes_nobody",
       "deadlock_free WorkConserving starvation_free EventConsumed CallReturns", "", calling},
      {"ignore_group", "GroupExclusive", ""},
      {"skip_busy_group", "WorkConserving starvation_free EventConsumed", "", calling},
      {"no_handover", "GroupHandedOver starvation_free EventConsumed", " PassedInGroup"},
      {"handover_to_rear", "GroupExclusive", "", calling},
      {"enter_without_waiting", "GroupExclusive starvation_free EventConsumed", " PassedInGroup",
       calling},
  };
  std::vector<mutant_row> plain;
  std::vector<mutant_row> bound;
  for (const row& r : table) {
    plain.push_back({r.mutant, r.violates, r.where});
    bound.push_back({r.mutant, std::string(r.violates) + r.bound, r.where});
  }
  expect_caught("scheduler_built", {}, plain);
  expect_caught("scheduler_built_bound", {}, bound);
}

// Where nothing is detached, it takes four handlers to starve one of them so; the bound notices
// before.
TEST(SchedulerBuiltModel, AHandlerThatIsSkippedStarvesOrWaitsTooLong) {
  const std::vector<setting> four{{"Subscribers", "2"},
                                  {"Grouped", "3"},
                                  {"Putters", "1"},
                                  {"Events", "1"},
                                  {"Mutant", "skip_busy_group"}};
  EXPECT_EQ(check_model("scheduler_built", four).violated(), "starvation_free EventConsumed");
  EXPECT_EQ(check_model("scheduler_built_bound", {{"Mutant", "skip_busy_group"}}).violated(),
            "PassedSinceTrigger PassedInQueue");
}

}  // namespace
}  // namespace rota::verify::test
