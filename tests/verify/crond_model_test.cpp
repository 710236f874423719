// The models of seed 004, as written and as we build it. The seed's counts are TLC's: a step that
// is missing or one too many changes them. The other counts are those of specs/runs.txt.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

using setting_list = std::vector<setting>;

setting_list sizes(int cap, int programs, int ids, int times) {
  return {{"MAXAPROGS", std::to_string(cap)},
          {"PROGS", std::to_string(programs)},
          {"Ids", std::to_string(ids)},
          {"Times", std::to_string(times)}};
}

setting_list operator+(setting_list all, const setting_list& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(CrondModel, HasTheStatesThatTlcCounts) {
  EXPECT_EQ(check_model("crond", sizes(1, 2, 2, 2)).counts(),
            "3129 distinct, 11981 generated, depth 18");
}

// Counted by a program of its own, with TLC's way of counting steps.
TEST(CrondModel, HasTheStatesOfOtherSizes) {
  EXPECT_EQ(check_model("crond", sizes(1, 1, 1, 1)).counts(),
            "14 distinct, 26 generated, depth 10");
  EXPECT_EQ(check_model("crond", sizes(2, 2, 2, 2)).counts(),
            "4165 distinct, 17769 generated, depth 22");
  EXPECT_EQ(check_model("crond", sizes(2, 2, 3, 1)).counts(),
            "9475 distinct, 52529 generated, depth 24");
}

TEST(CrondModel, KeepsItsPromisesIfProgramsEnd) {
  const auto seen = check_model("crond", sizes(1, 2, 2, 2));
  EXPECT_EQ(seen.all(verdict::holds),
            "deadlock_free TypeInv Limit TimerRunsIffArmed NotEarly DueRuns ArmedRuns AddedRuns "
            "Rearmed");
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.decided());
  EXPECT_EQ(seen.never_taken(), "");
}

TEST(CrondModel, DeadlocksIfNoProgramEnds) {
  const auto seen = check_model("crond", sizes(1, 2, 2, 2) + setting_list{{"Finish", "FALSE"}});
  EXPECT_EQ(seen.violated(), "deadlock_free DueRuns");
  EXPECT_EQ(seen.counts(), "3129 distinct, 9909 generated, depth 18");
  EXPECT_EQ(seen.result.deadlocks, 32u);
}

TEST(CrondModel, BreaksTheSeedsTypeInvInTwoSteps) {
  const auto seen = check_model("crond", {}, {.properties = {"TypeInvSeed"}});
  ASSERT_TRUE(seen.fails("TypeInvSeed"));
  EXPECT_EQ(seen.of("TypeInvSeed").counterexample.steps.size(), 3u);
}

// With one slot and two jobs, Exec of one job is enabled again and again but not for good.
TEST(CrondModel, NeedsStrongFairnessOfExec) {
  EXPECT_EQ(check_model("crond", {}, {.fairness = {{"Exec", fairness::weak}}}).violated(),
            "DueRuns");
}

TEST(CrondModel, NeedsEveryFairness) {
  const std::vector<std::pair<const char*, const char*>> needed = {
      {"Exec", "DueRuns"},
      {"Finish", "DueRuns"},
      {"Start", "AddedRuns Rearmed"},
      {"Sched", "ArmedRuns AddedRuns"},
      {"Tick", "ArmedRuns AddedRuns"},
      {"SetJob", "AddedRuns"},
  };
  for (const auto& [action, lost] : needed)
    EXPECT_EQ(check_model("crond", {}, {.fairness = {{action, fairness::none}}}).violated(), lost)
        << action;
}

TEST(CrondModel, CatchesEveryMutant) {
  expect_caught("crond", {},
                {{"cap_not_checked", "Limit"},
                 {"remove_leaves_timer", "deadlock_free TimerRunsIffArmed AddedRuns"},
                 {"wrong_limit", "NotEarly"},
                 {"rearm_forgotten", "Rearmed"},
                 {"lose_when_full", "ArmedRuns AddedRuns"},
                 {"slot_leak", "DueRuns"},
                 {"exec_keeps_due", "DueRuns"},
                 {"add_overwrites", "deadlock_free TimerRunsIffArmed ArmedRuns AddedRuns"},
                 {"clock_stops", "ArmedRuns AddedRuns"}});
}

TEST(CrondModel, IsTheSameWithProgramsRenamed) {
  const auto all = check_model("crond", sizes(1, 3, 2, 1));
  const auto some = check_model("crond", sizes(1, 3, 2, 1), {.symmetry = true});
  EXPECT_EQ(all.counts(), "1485 distinct, 5578 generated, depth 17");
  EXPECT_EQ(some.counts(), all.counts());
  EXPECT_EQ(some.result.representatives, 304u);
  EXPECT_EQ(some.violated(), "");
  const setting_list wrong = sizes(1, 3, 2, 1) + setting_list{{"Mutant", "cap_not_checked"}};
  EXPECT_EQ(check_model("crond", wrong, {.symmetry = true}).violated(), "Limit");
}

TEST(CrondProcessesModel, ExceedsTheCapIfItCountsPrograms) {
  const auto seen = check_model("crond_processes", {}, {.properties = {"Limit", "ProcessCap"}});
  EXPECT_EQ(seen.violated(), "ProcessCap");
  EXPECT_EQ(seen.counts(), "786 distinct, 2434 generated, depth 25");
  EXPECT_EQ(seen.of("ProcessCap").counterexample.steps.size(), 15u);
  EXPECT_EQ(seen.never_taken(), "");
}

TEST(CrondProcessesModel, KeepsTheCapIfItCountsProcesses) {
  const auto seen = check_model("crond_processes", {{"Counts", "processes"}});
  EXPECT_EQ(seen.violated(), "");
  EXPECT_TRUE(seen.holds("ProcessCap"));
  EXPECT_EQ(seen.counts(), "417 distinct, 1189 generated, depth 21");
}

TEST(CrondProcessesModel, CatchesEveryMutant) {
  expect_caught("crond_processes", {},
                {{"cap_not_checked", "Limit"},
                 {"timer_early", "ExpiredInTime"},
                 {"finish_ends_all", "AprocsAreRunning"}});
}

// The daemon that we build.

setting_list runs(int cap, int ids, const char* overlap, int missed, int crashes) {
  return sizes(cap, 1, ids, 1) + setting_list{{"Overlap", overlap},
                                              {"Missed", std::to_string(missed)},
                                              {"Crashes", std::to_string(crashes)}};
}

TEST(CrondRunsModel, HasTheStatesOfItsSpec) {
  EXPECT_EQ(check_model("crond_runs", runs(1, 1, "skip", 1, 0)).result.distinct, 40u);
  EXPECT_EQ(check_model("crond_runs", runs(1, 2, "skip", 1, 0)).result.distinct, 1241u);
  EXPECT_EQ(check_model("crond_runs", runs(1, 2, "skip", 2, 0)).result.distinct, 2756u);
  EXPECT_EQ(check_model("crond_runs", runs(1, 2, "queue", 1, 0)).result.distinct, 2121u);
  EXPECT_EQ(check_model("crond_runs", runs(2, 1, "allow", 2, 1)).result.distinct, 2828u);
}

// Weak fairness is enough: the order of the queue does what the seed needs strong fairness for.
TEST(CrondRunsModel, LosesNothingAndStartsNothingTwiceAcrossACrash) {
  const auto seen = check_model("crond_runs", runs(1, 2, "skip", 1, 1));
  EXPECT_EQ(seen.all(verdict::holds),
            "deadlock_free TypeOK BoundedPrograms NoRunLost NoRunTwice BoundedOvertaking NoOverlap "
            "TimerRunsIffArmed NotEarly RemovedIsGone AddedRuns ArmedRuns Rearmed "
            "InstantsRecorded DueRuns LaunchedStarts RunsAreOver");
  EXPECT_EQ(seen.violated(), "");
  EXPECT_EQ(seen.never_taken(), "");
  EXPECT_EQ(seen.counts(), "4230 distinct, 20861 generated, depth 30");
  for (const action& a : seen.model->actions()) EXPECT_NE(a.fair, fairness::strong) << a.name;
}

TEST(CrondRunsModel, KeepsItsPromisesWithEveryOverlapRule) {
  for (const char* overlap : {"skip", "queue", "allow"}) {
    EXPECT_EQ(check_model("crond_runs", runs(1, 2, overlap, 1, 0)).violated(), "") << overlap;
    EXPECT_EQ(check_model("crond_runs", runs(2, 1, overlap, 1, 1)).violated(), "") << overlap;
  }
}

TEST(CrondRunsModel, BoundsOvertakingExactly) {
  for (const auto& where : {runs(1, 2, "skip", 1, 0), runs(1, 2, "queue", 1, 0),
                            runs(1, 2, "allow", 1, 0), runs(2, 2, "queue", 1, 0)}) {
    const auto seen = check_model("crond_runs", where,
                                  {.properties = {"BoundedOvertaking", "TighterOvertaking"}});
    EXPECT_TRUE(seen.holds("BoundedOvertaking"));
    EXPECT_TRUE(seen.fails("TighterOvertaking"));
  }
}

// The clock waits for the daemon, so a job that is never recorded also holds up the others.
TEST(CrondRunsModel, NeedsEveryFairness) {
  const std::vector<std::pair<const char*, const char*>> needed = {
      {"SetJob", "AddedRuns"},
      {"Start", "AddedRuns ArmedRuns Rearmed InstantsRecorded"},
      {"Sched", "AddedRuns ArmedRuns InstantsRecorded"},
      {"Record", "AddedRuns ArmedRuns InstantsRecorded"},
      {"Exec", "DueRuns"},
      {"Spawn", "DueRuns LaunchedStarts RunsAreOver"},
      {"Claim", "DueRuns LaunchedStarts RunsAreOver"},
      {"End", "DueRuns RunsAreOver"},
      {"Finish", "DueRuns RunsAreOver"},
      {"Tick", "AddedRuns ArmedRuns"},
      {"Restart",
       "AddedRuns ArmedRuns Rearmed InstantsRecorded DueRuns LaunchedStarts RunsAreOver"},
  };
  for (const auto& [action, lost] : needed)
    EXPECT_EQ(check_model("crond_runs", runs(1, 2, "skip", 1, 1),
                          {.fairness = {{action, fairness::none}}})
                  .violated(),
              lost)
        << action;
}

TEST(CrondRunsModel, CatchesEveryMutant) {
  const setting_list one = runs(1, 1, "skip", 1, 0);
  const setting_list crash = runs(1, 1, "skip", 1, 1);
  const setting_list two = runs(1, 2, "skip", 1, 0);
  expect_caught("crond_runs", {},
                {{"cap_not_checked", "BoundedPrograms", two},
                 {"cap_counts_programs", "BoundedPrograms", runs(2, 1, "allow", 1, 0)},
                 {"adopted_not_counted", "BoundedPrograms", runs(1, 2, "skip", 1, 1)},
                 {"any_order", "BoundedOvertaking DueRuns", two},
                 {"pass_unbounded", "BoundedOvertaking",
                  runs(2, 2, "queue", 1, 0) + setting_list{{"Passes", "0"}}},
                 {"overlap_ignored", "NoOverlap", runs(2, 1, "skip", 1, 0)},
                 {"lose_when_full", "NoRunLost", runs(1, 1, "queue", 1, 0)},
                 {"skip_unrecorded", "NoRunLost", one},
                 {"queue_in_memory", "NoRunLost", crash},
                 {"start_before_record", "NoRunTwice DueRuns", one},
                 {"no_excl", "NoRunTwice", crash},
                 {"respawn_forgotten", "LaunchedStarts RunsAreOver", crash},
                 {"catchup_twice", "NoRunTwice InstantsRecorded", runs(1, 1, "skip", 2, 0)},
                 {"slot_leak", "RunsAreOver", one},
                 {"remove_leaves_timer", "TimerRunsIffArmed", one},
                 {"remove_leaves_due", "RemovedIsGone", one},
                 {"timer_early", "NoRunTwice NotEarly", one},
                 {"rearm_forgotten", "TimerRunsIffArmed ArmedRuns InstantsRecorded", one}});
}

TEST(CrondRunsModel, RefusesMutantsThatCannotShow) {
  EXPECT_THROW(check_model("crond_runs", {{"Crashes", "0"}, {"Mutant", "no_excl"}}), bad_setting);
  EXPECT_THROW(check_model("crond_runs", {{"Mutant", "pass_unbounded"}}), bad_setting);
}

TEST(CrondRunsModel, IsTheSameWithJobsRenamed) {
  const setting_list where = runs(1, 2, "skip", 2, 1);
  const auto all = check_model("crond_runs", where, {.properties = {"NoRunLost"}});
  const auto some = check_model("crond_runs", where, {.symmetry = true});
  EXPECT_EQ(all.result.distinct, 9193u);
  EXPECT_EQ(some.result.representatives, 4609u);
  EXPECT_EQ(some.violated(), "");
  EXPECT_EQ(check_model("crond_runs", where + setting_list{{"Mutant", "queue_in_memory"}},
                        {.symmetry = true})
                .violated(),
            "NoRunLost");
}

}  // namespace
}  // namespace rota::verify::test
