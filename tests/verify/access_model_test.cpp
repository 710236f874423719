// The models of cowns that are read or written, by single behaviours and by batches. Their counts
// are those of specs/runs.txt and of the tables beside the specs: a step that is missing or one
// too many changes them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

// How many states there are, all of which are as they should be.
std::uint64_t distinct_states(const char* model, const std::vector<setting>& settings) {
  const auto seen = check_model(model, settings);
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  return seen.result.distinct;
}

std::vector<setting> cown(int readers, int writers, const char* batch = "none") {
  return {
      {"Readers", std::to_string(readers)}, {"Writers", std::to_string(writers)}, {"Batch", batch}};
}

TEST(AccessModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct_states("access", {}), 10637u);
  EXPECT_EQ(distinct_states("access", cown(2, 1)), 1067u);
  EXPECT_EQ(distinct_states("access", cown(1, 2)), 597u);
  EXPECT_EQ(distinct_states("access", cown(3, 1)), 23378u);
  EXPECT_EQ(distinct_states("access", cown(1, 3)), 6370u);
  EXPECT_EQ(distinct_states("access", cown(1, 1, "rr")), 3201u);
  EXPECT_EQ(distinct_states("access", cown(2, 1, "rr")), 79432u);
  EXPECT_EQ(distinct_states("access", cown(2, 1, "rw")), 16395u);
  EXPECT_EQ(distinct_states("access", cown(2, 1, "wr")), 24730u);
  EXPECT_EQ(distinct_states("access", cown(2, 1, "ww")), 14551u);
}

TEST(AccessModel, TakesEveryStep) {
  EXPECT_EQ(check_model("access", cown(2, 1, "wr")).never_taken(), "CountLate");
  EXPECT_EQ(check_model("access").never_taken(), "CountLate Spread Splice TakeOver GiveMembers");
  EXPECT_EQ(check_model("access", {{"Mutant", "count_late"}}).never_taken(),
            "Count Spread Splice TakeOver GiveMembers");
}

TEST(AccessModel, MutantsAreCaught) {
  const char* let_in_too_early = "deadlock_free TypeOK Alone InOrder SlotsAlive AllRun";
  expect_caught(
      "access", cown(2, 1),
      {{"ignore_closed", let_in_too_early},
       {"two_words", "Alone InOrder SlotsAlive", cown(3, 1)},
       {"forget_chain", "deadlock_free ReadersShare AllRun"},
       {"no_look", "Alone InOrder"},
       {"count_late", let_in_too_early},
       {"open_by_store", "deadlock_free ReadersShare AllRun"},
       {"bit_first", "deadlock_free AllRun"},
       {"members_uncounted", "deadlock_free TypeOK Alone InOrder AllRun", cown(1, 1, "rr")},
       {"forget_successor", "deadlock_free ReadersShare SlotsAlive AllRun", cown(1, 1, "wr")}});
}

TEST(AccessModel, RefusesWhatItHasNoRoomForAndMutantsThatCannotShow) {
  EXPECT_THROW(model_named("access").make(cown(0, 0)), bad_setting);
  EXPECT_THROW(model_named("access").make(cown(3, 2, "rr")), bad_setting);
  EXPECT_THROW(model_named("access").make({{"Mutant", "forget_successor"}}), bad_setting);
  EXPECT_THROW(model_named("access").make({{"Batch", "ww"}, {"Mutant", "members_uncounted"}}),
               bad_setting);
}

TEST(AccessModel, AllRunOnlyIfEverybodyGoesOn) {
  EXPECT_TRUE(check_model("access", cown(1, 1),
                          {.properties = {"AllRun"}, .fairness = {{"Step", fairness::none}}})
                  .fails("AllRun"));
}

std::vector<setting> cowns(int number, int pairs, int singles, const char* open = "at_once") {
  return {{"Cowns", std::to_string(number)},
          {"Pairs", std::to_string(pairs)},
          {"Singles", std::to_string(singles)},
          {"Open", open}};
}

TEST(BatchModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct_states("batch", {}), 32934u);
  EXPECT_EQ(distinct_states("batch", cowns(2, 0, 2)), 1608u);
  EXPECT_EQ(distinct_states("batch", cowns(3, 0, 2)), 20556u);
  EXPECT_EQ(distinct_states("batch", cowns(2, 1, 1, "after_next")), 29934u);
  EXPECT_EQ(distinct_states("batch", cowns(3, 0, 2, "after_next")), 18716u);
}

TEST(BatchModel, TakesEveryStep) { EXPECT_EQ(check_model("batch").never_taken(), ""); }

TEST(BatchModel, MutantsAreCaught) {
  expect_caught(
      "batch", {},
      {{"descending", "deadlock_free AllRun"},
       {"one_at_a_time", "deadlock_free OneOrder OwnBatchOnly LeastOrders AllRun"},
       {"members_at_tail", "deadlock_free FirstCome OneOrder OwnBatchOnly LeastOrders AllRun"},
       {"members_apart",
        "deadlock_free FirstCome NothingBetween OneOrder OwnBatchOnly LeastOrders AllRun"},
       {"read_if_any_reads", "deadlock_free Alone FirstCome OneOrder OwnBatchOnly AllRun"}});
}

// Two that only read their least cown have it at the same time, and who enters the queue of the
// next one first is anybody's guess.
TEST(BatchModel, ReadersOfTheLeastCownMayOvertakeEachOther) {
  const how asked{.properties = {"SameCownsOrder", "SameLeastOrder"}};
  EXPECT_EQ(check_model("batch", cowns(2, 0, 2), asked).violated(),
            "SameCownsOrder SameLeastOrder");
  EXPECT_EQ(check_model("batch", cowns(3, 0, 2, "after_next"), asked).violated(), "SameLeastOrder");
}

TEST(BatchModel, AllRunOnlyIfEverybodyGoesOn) {
  for (const char* group : {"Acquire", "Run"})
    EXPECT_TRUE(check_model("batch", cowns(1, 0, 2),
                            {.properties = {"AllRun"}, .fairness = {{group, fairness::none}}})
                    .fails("AllRun"))
        << group;
}

TEST(BatchModel, RefusesWhatItHasNoRoomFor) {
  EXPECT_THROW(model_named("batch").make(cowns(2, 0, 0)), bad_setting);
  EXPECT_THROW(model_named("batch").make(cowns(2, 2, 1)), bad_setting);
  EXPECT_THROW(model_named("batch").make({{"Pairs", "0"}, {"Mutant", "members_apart"}}),
               bad_setting);
}

}  // namespace
}  // namespace rota::verify::test
