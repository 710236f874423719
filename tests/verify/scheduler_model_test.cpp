// The model of seed 000, as written, repaired, and with the bound. The counts are TLC's: a step
// that is missing or one too many changes them. A mutant that nothing catches is a hole in the
// properties.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

std::vector<setting> population(int subscribers, int servers, int clients, int workers) {
  return {{"Subscribers", std::to_string(subscribers)},
          {"Servers", std::to_string(servers)},
          {"Clients", std::to_string(clients)},
          {"Workers", std::to_string(workers)}};
}

TEST(SchedulerModel, HasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("scheduler", population(1, 1, 1, 1)).counts(),
            "152 distinct, 740 generated, depth 10");
  EXPECT_EQ(check_model("scheduler", population(1, 1, 1, 2)).counts(),
            "638 distinct, 3644 generated, depth 13");
  EXPECT_EQ(check_model("scheduler", population(2, 1, 1, 2)).counts(),
            "4352 distinct, 29920 generated, depth 15");
}

TEST(SchedulerModel, RepairedHasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("scheduler_consume", population(1, 1, 1, 1)).counts(),
            "632 distinct, 3050 generated, depth 14");
  EXPECT_EQ(check_model("scheduler_consume", population(1, 1, 1, 2)).counts(),
            "3104 distinct, 17789 generated, depth 18");
}

TEST(SchedulerModel, StarvesNobody) {
  for (const char* model : {"scheduler", "scheduler_consume"}) {
    const auto seen = check_model(model, population(2, 1, 1, 2));
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
    EXPECT_EQ(seen.never_taken(), "");
  }
}

TEST(SchedulerModel, StarvesWithoutFairness) {
  for (const char* group : {"scheduler", "worker"}) {
    const auto seen =
        check_model("scheduler", population(1, 1, 1, 1),
                    {.properties = {"starvation_free"}, .fairness = {{group, fairness::none}}});
    EXPECT_TRUE(seen.fails("starvation_free")) << group;
  }
}

TEST(SchedulerModel, NeedsNoStrongFairnessAndNoTriggers) {
  const auto seen = check_model("scheduler", population(1, 1, 1, 2),
                                {.fairness = {{"scheduler", fairness::weak},
                                              {"worker", fairness::weak},
                                              {"trigger", fairness::none}}});
  EXPECT_EQ(seen.violated(), "");
}

TEST(SchedulerModel, UsesEventsUpOnlyWhenRepaired) {
  for (const char* property : {"EventConsumed", "RunsOnceMore"}) {
    EXPECT_TRUE(check_model("scheduler", {}, {.properties = {property}}).fails(property));
    EXPECT_TRUE(check_model("scheduler_consume").holds(property));
    EXPECT_TRUE(check_model("scheduler_consume", {},
                            {.properties = {property}, .fairness = {{"scheduler", fairness::none}}})
                    .fails(property));
  }
}

TEST(SchedulerModel, RefusesSettingsThatDoNotFit) {
  EXPECT_THROW(check_model("scheduler", population(0, 0, 0, 1)), bad_setting);
  EXPECT_THROW(check_model("scheduler", population(4, 4, 1, 1)), bad_setting);
  EXPECT_THROW(check_model("scheduler_bound", {{"Watched", "3"}}), bad_setting);
}

// Workers are interchangeable; with their names forgotten the verdicts stay.
TEST(SchedulerModel, WorkersAreInterchangeable) {
  for (const char* model : {"scheduler", "scheduler_consume", "scheduler_bound"}) {
    const auto all = check_model(model, population(1, 1, 1, 2));
    const auto some = check_model(model, population(1, 1, 1, 2), {.symmetry = true});
    EXPECT_LT(some.result.representatives, all.result.distinct);
    EXPECT_EQ(some.violated(), all.violated());
    auto mutant = population(1, 1, 1, 2);
    mutant.push_back({"Mutant", "keep_waiting"});
    const how invariants{.properties = {"OneState", "RunningIsHeld"}, .symmetry = true};
    EXPECT_EQ(check_model(model, mutant, invariants).violated(), "OneState RunningIsHeld") << model;
  }
}

// The bound of events.md: with N tasks, N - 1 runs of others pass a task in the run queue, those
// under way included. Since its trigger, N - 1 and once more those that a batch puts before it.
// Both for each task and whatever the number of workers, and neither can be improved.
TEST(SchedulerModel, BoundsTheWaitOfEveryTask) {
  struct row {
    int subscribers, servers, clients, workers;
  };
  for (const row& r : {row{1, 1, 1, 1}, row{1, 1, 1, 2}, row{0, 0, 2, 3}, row{2, 1, 1, 1}}) {
    for (int watched = 0; watched < r.subscribers + r.servers + r.clients; ++watched) {
      auto setting = population(r.subscribers, r.servers, r.clients, r.workers);
      setting.push_back({"Watched", std::to_string(watched)});
      const auto seen =
          check_model("scheduler_bound", setting,
                      {.properties = {"PassedInQueue", "PassedSinceTrigger", "NextStepMovesIt",
                                      "PassedInQueueByFewer", "PassedSinceTriggerByFewer"}});
      EXPECT_EQ(seen.violated(), "PassedInQueueByFewer PassedSinceTriggerByFewer");
    }
  }
}

TEST(SchedulerModel, WithTheBoundKeepsAllPromises) {
  const auto seen = check_model("scheduler_bound", population(1, 1, 1, 2));
  EXPECT_EQ(seen.counts(), "12088 distinct, 70295 generated, depth 27");
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  EXPECT_EQ(seen.never_taken(), "");
}

TEST(SchedulerModel, CatchesEveryMutant) {
  struct row {
    const char* mutant;
    const char* scheduler;  // what violations are seen there; null: it has no such mutant
    const char* consume;
    const char* bound;  // on top of those of consume
  };
  const std::vector<row> table{
      {"drop_requeue", "OneState starvation_free",
       "OneState starvation_free RunsOnceMore EventConsumed", ""},
      {"start_without_pop", "OneState starvation_free",
       "OneState starvation_free RunsOnceMore EventConsumed", " PassedInQueue PassedSinceTrigger"},
      {"lifo_queue", "starvation_free", "starvation_free RunsOnceMore EventConsumed",
       " PassedInQueue PassedSinceTrigger"},
      {"class_order", "starvation_free", "starvation_free RunsOnceMore EventConsumed",
       " PassedInQueue PassedSinceTrigger"},
      {"one_a_step", "starvation_free", "starvation_free RunsOnceMore EventConsumed",
       " PassedSinceTrigger NextStepMovesIt"},
      {"drop_client", "OneState starvation_free",
       "OneState starvation_free RunsOnceMore EventConsumed", ""},
      {"reenter", "OneState starvation_free", "OneState starvation_free RunsOnceMore EventConsumed",
       " PassedInQueue PassedSinceTrigger"},
      {"keep_waiting", "OneState starvation_free", "OneState starvation_free",
       " PassedInQueue PassedSinceTrigger"},
      {"untriggered", "RunningWasTriggered NothingGroundless", "NothingGroundless", ""},
      {"never_finish", "starvation_free", "starvation_free RunsOnceMore EventConsumed", ""},
      {"forget_busy_trigger", nullptr, "TriggerKept RunsOnceMore", ""},
      {"clear_all", nullptr, "TriggerKept RunsOnceMore", ""},
      {"keep_event", nullptr, "NothingGroundless EventConsumed", ""},
  };
  std::vector<mutant_row> as_written;
  std::vector<mutant_row> consume;
  std::vector<mutant_row> bound;
  for (const row& r : table) {
    if (r.scheduler) as_written.push_back({r.mutant, r.scheduler});
    consume.push_back({r.mutant, r.consume});
    bound.push_back({r.mutant, std::string(r.consume) + r.bound});
  }
  expect_caught("scheduler", {}, as_written);
  expect_caught("scheduler_consume", {}, consume);
  expect_caught("scheduler_bound", {}, bound);
}

}  // namespace
}  // namespace rota::verify::test
