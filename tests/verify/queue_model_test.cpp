// The models of Rota's own queues and of its idle set. Their counts are those of specs/runs.txt
// and of the tables beside the specs: a step that is missing or one too many changes them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

// How many states there are, all of which are as they should be.
std::uint64_t distinct(const char* model, const std::vector<setting>& settings) {
  const auto seen = check_model(model, settings);
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  return seen.result.distinct;
}

std::vector<setting> ring(int jobs, int thieves, int capacity) {
  return {{"Jobs", std::to_string(jobs)},
          {"Thieves", std::to_string(thieves)},
          {"Capacity", std::to_string(capacity)},
          {"Loot", "2"}};
}

TEST(RunQueueModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct("run_queue", {}), 14192u);
  EXPECT_EQ(distinct("run_queue", ring(3, 1, 2)), 2988u);
  EXPECT_EQ(distinct("run_queue", ring(4, 1, 2)), 14192u);
  EXPECT_EQ(distinct("run_queue", ring(5, 1, 2)), 70611u);
  EXPECT_EQ(distinct("run_queue", ring(4, 1, 1)), 19702u);
  EXPECT_EQ(distinct("run_queue", ring(3, 2, 2)), 11105u);
  EXPECT_EQ(distinct("run_queue", ring(4, 2, 2)), 72114u);
}

TEST(RunQueueModel, TakesEveryStep) { EXPECT_EQ(check_model("run_queue").never_taken(), ""); }

TEST(RunQueueModel, MutantsAreCaught) {
  expect_caught("run_queue", ring(4, 1, 2),
                {{"no_pin", "SlotIntact AtMostOnce NoneLost"},
                 {"pin_after_claim", "SlotIntact AtMostOnce NoneLost"},
                 {"reading_before_head", "SlotIntact AtMostOnce NoneLost"},
                 {"resize_without_lock", "SlotIntact AtMostOnce NoneLost"},
                 {"claim_by_store", "SlotIntact QueuedIntact AtMostOnce NoneLost"}});
}

TEST(RunQueueModel, ComesToRestOnlyIfEverybodyGoesOn) {
  for (const char* group : {"OwnerStep", "ThiefStep"})
    EXPECT_TRUE(check_model("run_queue", ring(3, 2, 2),
                            {.properties = {"ComesToRest"}, .fairness = {{group, fairness::none}}})
                    .fails("ComesToRest"))
        << group;
}

std::vector<setting> deque(int elements, int thieves, int capacity) {
  return {{"Elements", std::to_string(elements)},
          {"Thieves", std::to_string(thieves)},
          {"Capacity", std::to_string(capacity)}};
}

TEST(ForkDequeModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct("fork_deque", {}), 38069u);
  EXPECT_EQ(distinct("fork_deque", deque(3, 1, 1)), 3557u);
  EXPECT_EQ(distinct("fork_deque", deque(4, 1, 1)), 13466u);
  EXPECT_EQ(distinct("fork_deque", deque(5, 1, 2)), 44830u);
  EXPECT_EQ(distinct("fork_deque", deque(4, 2, 1)), 155194u);
}

TEST(ForkDequeModel, TakesEveryStep) { EXPECT_EQ(check_model("fork_deque").never_taken(), ""); }

TEST(ForkDequeModel, MutantsAreCaught) {
  expect_caught(
      "fork_deque", deque(3, 1, 1),
      {{"ignore_conflict", "AtMostOnce ExactlyOnce SlotIntact EndsMeet"},
       {"settle_without_lock", "AtMostOnce ExactlyOnce RefusedMeansTaken SlotIntact"},
       {"bottom_not_restored", "ExactlyOnce RefusedMeansTaken EndsMeet"},
       {"no_step_back", "ExactlyOnce RefusedMeansTaken EndsMeet"},
       {"owner_reads_first", "AtMostOnce ExactlyOnce RefusedMeansTaken SlotIntact EndsMeet"},
       {"thief_reads_first", "AtMostOnce ExactlyOnce RefusedMeansTaken SlotIntact EndsMeet"},
       {"room_without_lock", "AtMostOnce ExactlyOnce RefusedMeansTaken SlotIntact"}});
}

TEST(ForkDequeModel, SettlesOnlyIfEverybodyGoesOn) {
  for (const char* group : {"OwnerStep", "ThiefStep"})
    EXPECT_TRUE(check_model("fork_deque", deque(3, 2, 1),
                            {.properties = {"Settles"}, .fairness = {{group, fairness::none}}})
                    .fails("Settles"))
        << group;
}

std::vector<setting> box(int putters, int jobs, int takers) {
  return {{"Putters", std::to_string(putters)},
          {"Jobs", std::to_string(jobs)},
          {"Takers", std::to_string(takers)}};
}

TEST(InboxModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct("inbox", {}), 804u);
  EXPECT_EQ(distinct("inbox", box(2, 2, 1)), 364u);
  EXPECT_EQ(distinct("inbox", box(2, 3, 1)), 2328u);
  EXPECT_EQ(distinct("inbox", box(3, 1, 2)), 551u);
}

TEST(InboxModel, TakesEveryStep) {
  EXPECT_EQ(check_model("inbox").never_taken(), "Clear");
  EXPECT_EQ(check_model("inbox", {{"Mutant", "take_by_load"}}).never_taken(), "");
}

TEST(InboxModel, MutantsAreCaught) {
  expect_caught("inbox", box(2, 2, 2),
                {{"swap_by_store", "EachOnce InOrder"},
                 {"stale_link", "EachOnce InOrder"},
                 {"take_by_load", "EachOnce InOrder"},
                 {"newest_first", "InOrder"}});
}

// Nothing ends and nobody naps, so that all that is left to wake a sleeper is the protocol.
std::vector<setting> pool(int workers, int posters, int spawns, int start,
                          const std::vector<setting>& more = {}) {
  std::vector<setting> all = {{"Workers", std::to_string(workers)},
                              {"Posters", std::to_string(posters)},
                              {"Spawns", std::to_string(spawns)},
                              {"Start", std::to_string(start)},
                              {"Ends", "0"},
                              {"Naps", "FALSE"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(IdleSetModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct("idle_set", {}), 12113u);
  EXPECT_EQ(distinct("idle_set", {{"Spawns", "2"}}), 19302u);
  EXPECT_EQ(distinct("idle_set", pool(2, 2, 0, 0)), 64896u);
  EXPECT_EQ(distinct("idle_set", pool(3, 0, 1, 2)), 3823u);
  EXPECT_EQ(distinct("idle_set", pool(4, 0, 0, 3)), 28841u);
  EXPECT_EQ(distinct("idle_set", pool(3, 0, 2, 1, {{"Ends", "1"}})), 44559u);
  EXPECT_EQ(distinct("idle_set", pool(3, 1, 2, 0, {{"Ends", "2"}})), 967489u);
}

TEST(IdleSetModel, TakesEveryStep) {
  // A late push is a mutant's, and mail another way to post.
  EXPECT_EQ(check_model("idle_set").never_taken(), "LatePush TakeMail PutIntoMail");
  EXPECT_EQ(check_model("idle_set", {{"Post", "mail_then_offer"}}).never_taken(), "LatePush");
  EXPECT_EQ(check_model("idle_set", {{"Mutant", "wake_before_push"}}).never_taken(),
            "TakeMail PutIntoMail");
}

TEST(IdleSetModel, MutantsAreCaught) {
  expect_caught("idle_set", {{"Naps", "FALSE"}},
                {{"no_second_look", "WorkConserving"},
                 {"no_heavy_fence", "WorkConserving"},
                 {"wake_before_push", "WorkConserving"},
                 {"no_surplus_look", "WorkConserving", pool(2, 2, 0, 0)},
                 {"steal_without_offer", "WorkConserving", pool(4, 0, 0, 3)},
                 {"leave_uncounted", "WorkConserving", pool(3, 0, 2, 1, {{"Ends", "1"}})}});
  EXPECT_EQ(check_model("idle_set", {{"Spawns", "0"}, {"Mutant", "no_second_look"}}).violated(),
            "WorkConserving");
}

TEST(IdleSetModel, RefusesMutantsThatCannotShow) {
  for (const char* mutant : {"no_surplus_look", "steal_without_offer", "leave_uncounted"})
    EXPECT_THROW(model_named("idle_set").make({{"Mutant", mutant}}), bad_setting) << mutant;
  EXPECT_THROW(model_named("idle_set").make({{"Spawns", "0"}, {"Mutant", "wake_before_push"}}),
               bad_setting);
}

// Choosing a sleeper is not waking it: who puts a job into its inbox has to look again.
TEST(IdleSetModel, MailIsLeftBehindUnlessItsPosterLooksAgain) {
  EXPECT_EQ(check_model("idle_set", pool(2, 2, 0, 0, {{"Post", "mail"}})).violated(),
            "WorkConserving");
  EXPECT_EQ(distinct("idle_set", pool(2, 2, 0, 0, {{"Post", "mail_then_offer"}})), 244563u);
  EXPECT_EQ(distinct("idle_set", {{"Post", "mail_then_offer"}}), 19255u);
}

// Where one of them begins with all the jobs, only the others are.
TEST(IdleSetModel, WorkersAndPostersAreInterchangeable) {
  for (const auto& size : {pool(2, 2, 0, 0), pool(4, 0, 0, 3)}) {
    const auto all = check_model("idle_set", size);
    const auto few = check_model("idle_set", size, {.symmetry = true});
    EXPECT_EQ(few.result.distinct, all.result.distinct);
    EXPECT_EQ(few.result.generated, all.result.generated);
    EXPECT_LT(few.result.representatives, all.result.distinct);
  }
}

TEST(PoolModel, HasTheStatesOfTheSpec) {
  EXPECT_EQ(distinct("pool", {}), 23313u);
  EXPECT_EQ(distinct("pool", {{"Workers", "1"}, {"Jobs", "1"}}), 200u);
  EXPECT_EQ(distinct("pool", {{"Workers", "3"}, {"Jobs", "1"}}), 13848u);
  EXPECT_EQ(distinct("pool", {{"Workers", "3"}}), 219886u);
  EXPECT_EQ(distinct("pool", {{"Jobs", "3"}}), 312597u);
}

TEST(PoolModel, TakesEveryStep) { EXPECT_EQ(check_model("pool").never_taken(), ""); }

TEST(PoolModel, MutantsAreCaught) {
  expect_caught("pool", {},
                {{"wake_dropped", "WorkConserving"},
                 {"no_surplus_look", "WorkConserving"},
                 {"no_second_look", "WorkConserving"},
                 {"thief_drops", "NoJobLost"},
                 {"taken_twice", "OnceOnly"},
                 {"stop_forgets", "deadlock_free StopWakesAll"}});
  EXPECT_THROW(model_named("pool").make({{"Jobs", "1"}, {"Mutant", "no_surplus_look"}}),
               bad_setting);
}

}  // namespace
}  // namespace rota::verify::test
