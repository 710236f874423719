// The model of seed 000, as written and repaired. The counts are TLC's: a step that is missing or
// one too many changes them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

std::vector<setting> sizes(int subscribers, int servers, int clients, int workers) {
  return {{"Subscribers", std::to_string(subscribers)},
          {"Servers", std::to_string(servers)},
          {"Clients", std::to_string(clients)},
          {"Workers", std::to_string(workers)}};
}

TEST(SchedulerModel, HasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("scheduler", sizes(1, 1, 1, 1)).counts(),
            "152 distinct, 740 generated, depth 10");
  EXPECT_EQ(check_model("scheduler", sizes(1, 1, 1, 2)).counts(),
            "638 distinct, 3644 generated, depth 13");
  EXPECT_EQ(check_model("scheduler", sizes(2, 1, 1, 2)).counts(),
            "4352 distinct, 29920 generated, depth 15");
}

TEST(SchedulerModel, RepairedHasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("scheduler_consume", sizes(1, 1, 1, 1)).counts(),
            "632 distinct, 3050 generated, depth 14");
  EXPECT_EQ(check_model("scheduler_consume", sizes(1, 1, 1, 2)).counts(),
            "3104 distinct, 17789 generated, depth 18");
}

TEST(SchedulerModel, StarvesNobody) {
  for (const char* model : {"scheduler", "scheduler_consume"}) {
    const auto seen = check_model(model, sizes(2, 1, 1, 2));
    EXPECT_EQ(seen.violated(), "");
    EXPECT_TRUE(seen.decided());
    EXPECT_EQ(seen.never_taken(), "");
  }
}

TEST(SchedulerModel, StarvesWithoutFairness) {
  for (const char* group : {"scheduler", "worker"}) {
    const auto seen =
        check_model("scheduler", sizes(1, 1, 1, 1),
                    {.properties = {"starvation_free"}, .fairness = {{group, fairness::none}}});
    EXPECT_TRUE(seen.fails("starvation_free")) << group;
  }
}

TEST(SchedulerModel, UsesEventsUpOnlyWhenRepaired) {
  EXPECT_TRUE(
      check_model("scheduler", {}, {.properties = {"EventConsumed"}}).fails("EventConsumed"));
  EXPECT_TRUE(check_model("scheduler_consume").holds("EventConsumed"));
}

}  // namespace
}  // namespace rota::verify::test
