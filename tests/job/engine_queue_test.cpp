// Who runs beside whom, and in which order: rules O1, O2, C1, C2 and C3.
#include "support/job_world.h"

namespace rota::job::test {
namespace {

using kind = engine_event::kind;
using names = std::vector<std::string>;

rules overlapping(overlap_rule o, std::uint32_t length = 1) {
  rules r;
  r.overlap = o;
  r.queue_length = length;
  return r;
}

rules in_group(std::string g, overlap_rule o = overlap_rule::allow) {
  rules r;
  r.overlap = o;
  r.group = std::move(g);
  return r;
}

// The reasons of the rows of a job that were skipped, in order.
std::vector<reason> skip_reasons(const world& w, std::string_view job) {
  std::vector<reason> all;
  for (const run& r : w.book.of(job))
    if (r.outcome == outcome::skipped) all.push_back(r.reason);
  return all;
}

TEST(EngineQueue, O1SkipRecordsWhatIsDueWhileTheJobRunsOrWaits) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "* * * * *"), job_of("b", "* * * * *")}, w.now);
  w.go(3min);
  // One runs, the other waits for the slot; both are busy.
  EXPECT_EQ(w.launch->started.size(), 1u);
  EXPECT_EQ(w.waiting().size(), 1u);
  EXPECT_EQ(skip_reasons(w, "a"), (std::vector{reason::overlap, reason::overlap}));
  EXPECT_EQ(skip_reasons(w, "b"), (std::vector{reason::overlap, reason::overlap}));
}

TEST(EngineQueue, O1QueueKeepsAsManyAsItIsLong) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *", overlapping(overlap_rule::queue, 2))}, w.now);
  w.go(4min);
  EXPECT_EQ(w.e->find("a")->running, 1u);
  EXPECT_EQ(w.e->find("a")->waiting, 2u);
  EXPECT_EQ(skip_reasons(w, "a"), std::vector{reason::queue_full});
  w.ends("a");
  EXPECT_EQ(w.e->find("a")->running, 1u);
  EXPECT_EQ(w.e->find("a")->waiting, 1u);
}

TEST(EngineQueue, O1AllowRunsBoth) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *", overlapping(overlap_rule::allow))}, w.now);
  w.go(3min);
  EXPECT_EQ(w.e->running().size(), 3u);
  EXPECT_TRUE(skip_reasons(w, "a").empty());
}

TEST(EngineQueue, O1AllowDoesNotLetTheQueueGrowForEver) {
  world w{{.max_active = 1}};
  rules r = overlapping(overlap_rule::allow);
  r.catchup_most = 3;
  w.e->set_jobs({job_of("a", "* * * * *", r)}, w.now);
  w.go(10min);
  EXPECT_EQ(w.e->waiting().size(), 3u);
  EXPECT_EQ(skip_reasons(w, "a").size(), 6u);
}

TEST(EngineQueue, O1ReplaceStopsTheOneUnderWayThenStarts) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *", overlapping(overlap_rule::replace))}, w.now);
  w.go(2min);
  EXPECT_EQ(w.launch->stopped, std::vector<run_id>{1});
  EXPECT_EQ(w.launch->started, std::vector<run_id>{1});  // not before the other is over
  EXPECT_EQ(w.e->find("a")->waiting, 1u);
  // Another one comes while the first still has its grace.
  w.go(1min);
  EXPECT_EQ(w.book.rows.at(2).outcome, outcome::replaced);
  w.ends(1, outcome::cancelled);
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::replaced);
  EXPECT_EQ(w.launch->started, (std::vector<run_id>{1, 3}));
  EXPECT_FALSE(w.e->find("a")->row.failing);
}

TEST(EngineQueue, O2ARunHasItsSlotUntilTheLauncherSaysThatItIsOver) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "0 * * * *"), job_of("b", "1 * * * *")}, w.now);
  w.go(1h + 5min);
  w.launch->says_started(1, 42, w.now);
  EXPECT_EQ(w.told(kind::run_started), 1);
  EXPECT_EQ(w.e->running().at(0).pid, 42);
  EXPECT_EQ(w.waiting(), names{"a"});
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"b", "a"}));
}

TEST(EngineQueue, C1NeverMoreThanTheCap) {
  world w{{.max_active = 3}};
  std::vector<definition> jobs;
  for (int n = 0; n < 20; ++n)
    jobs.push_back(job_of("j" + std::to_string(n), "* * * * *", overlapping(overlap_rule::allow)));
  w.e->set_jobs(jobs, w.now);
  w.go(1min);
  for (unsigned n = 0; n < 18; ++n) {
    EXPECT_EQ(w.e->running().size(), std::min(3u, 20u - n));
    w.ends(w.e->running().front().id);
  }
  EXPECT_EQ(w.launch->started.size(), 20u);
}

TEST(EngineQueue, C2ByScheduledInstantThenById) {
  world w{{.max_active = 1}};
  // `late` is due in the middle of the night and was missed; it is older than the others.
  w.e->set_jobs({job_of("block", "@every 30s", overlapping(overlap_rule::skip)),
                 job_of("b", "1 * * * *"), job_of("c", "2 * * * *"), job_of("a", "1 * * * *")},
                w.now);
  w.go(2min);
  const auto order = w.waiting();
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[2], "c");
  const auto rows = w.e->waiting();
  EXPECT_LT(rows[0].id, rows[1].id);
  w.e->pause("block", w.now);
  w.ends("block");
  w.ends(order[0]);
  w.ends(order[1]);
  EXPECT_EQ(w.launched(), (names{"block", order[0], order[1], "c"}));
}

TEST(EngineQueue, C2AFullGroupIsPassedSoOftenAndNoMore) {
  world w{{.max_active = 2, .passes = 3, .groups = {{"g", 1}}}};
  w.e->set_jobs({job_of("g1", "", in_group("g")), job_of("g2", "", in_group("g")),
                 job_of("free", "", in_group(""))},
                w.now);
  w.e->run_job("g1", "me", false, w.now);
  w.e->run_job("g2", "me", false, w.now);  // held: its group is full
  for (int n = 0; n < 5; ++n) w.e->run_job("free", "me", false, w.now + 1ms + n * 1ms);
  const run_id held = w.e->waiting().front().id;
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(w.e->passed(held), static_cast<std::uint32_t>(n + 1));
    w.ends("free");
  }
  EXPECT_EQ(w.e->passed(held), 3u);
  EXPECT_EQ(w.launched(), (names{"g1", "free", "free", "free"}));
  w.ends("free");
  // A slot is free, but nobody behind it starts.
  EXPECT_EQ(w.e->running().size(), 1u);
  EXPECT_EQ(w.waiting(), (names{"g2", "free", "free"}));
  w.ends("g1");
  EXPECT_EQ(w.launched(), (names{"g1", "free", "free", "free", "g2", "free"}));
}

TEST(EngineQueue, C2ARunThatWaitsForItsOwnJobIsPassedSoOftenAndNoMore) {
  world w{{.max_active = 2, .passes = 1}};
  w.e->set_jobs({job_of("own", "", overlapping(overlap_rule::queue)),
                 job_of("free", "", overlapping(overlap_rule::allow))},
                w.now);
  w.e->run_job("own", "me", false, w.now);
  w.e->run_job("own", "me", false, w.now);
  w.e->run_job("free", "me", false, w.now + 5ms);
  w.e->run_job("free", "me", false, w.now + 5ms);
  w.ends("free");
  EXPECT_EQ(w.launched(), (names{"own", "free"}));
  w.ends("own");
  EXPECT_EQ(w.launched(), (names{"own", "free", "own", "free"}));
}

TEST(EngineQueue, C2WithoutPassesTheOrderIsStrict) {
  world w{{.max_active = 2, .passes = 0, .groups = {{"g", 1}}}};
  w.e->set_jobs({job_of("g", "", in_group("g")), job_of("free", "")}, w.now);
  w.e->run_job("g", "me", false, w.now);
  w.e->run_job("g", "me", false, w.now);
  w.e->run_job("free", "me", false, w.now + 5ms);
  EXPECT_EQ(w.launched(), names{"g"});
  w.ends("g");
  EXPECT_EQ(w.launched(), (names{"g", "g", "free"}));
}

TEST(EngineQueue, C2GroupsHaveCapsOfTheirOwn) {
  world w{{.max_active = 10, .groups = {{"g", 2}}}};
  w.e->set_jobs({job_of("a", "* * * * *", in_group("g")), job_of("b", "* * * * *", in_group("g")),
                 job_of("c", "* * * * *", in_group("g")), job_of("d", "* * * * *", in_group("h"))},
                w.now);
  w.go(1min);
  EXPECT_EQ(w.e->running().size(), 3u);
  EXPECT_EQ(w.running("d").size(), 1u);
  w.ends("d");
  EXPECT_EQ(w.e->running().size(), 2u);
}

TEST(EngineQueue, C2AChangedGroupCountsForWhatWaitsAndNotForWhatRuns) {
  world w{{.max_active = 10, .passes = 3, .groups = {{"g", 1}, {"h", 1}}}};
  w.e->set_jobs({job_of("a", "", in_group("g")), job_of("b", "", in_group("g"))}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  EXPECT_EQ(w.waiting(), names{"b"});
  w.e->add_job(job_of("b", "", in_group("h")), w.now);
  EXPECT_EQ(w.launched(), (names{"a", "b"}));
  w.e->add_job(job_of("a", "", in_group("h")), w.now);
  w.ends("a");
  // The slot was the old group's.
  w.e->run_job("a", "me", false, w.now);
  EXPECT_EQ(w.waiting(), names{"a"});
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"a", "b", "a"}));
}

TEST(EngineQueue, C3AManualRunJoinsTheQueue) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "0 * * * *"), job_of("b", "")}, w.now);
  w.go(1h);
  const auto id = w.e->run_job("b", "me", false, w.now + 1s);
  ASSERT_TRUE(id);
  EXPECT_EQ(w.waiting(), names{"b"});
  EXPECT_EQ(w.book.rows.at(*id).phase, phase::due);
  EXPECT_EQ(w.book.rows.at(*id).why, trigger::manual);
  EXPECT_FALSE(w.e->run_job("nobody", "me", false, w.now));
  w.ends("a");
  EXPECT_EQ(w.launched(), (names{"a", "b"}));
}

TEST(EngineQueue, C3AtOnceStartsBeyondTheCapAndSaysSo) {
  world w{{.max_active = 1, .groups = {{"g", 1}}}};
  w.e->set_jobs(
      {job_of("a", "", in_group("g")), job_of("b", "", in_group("g", overlap_rule::skip))}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "you", true, w.now);
  EXPECT_EQ(w.launched(), (names{"a", "b"}));
  EXPECT_EQ(w.events.back().what, kind::run_launched);
  EXPECT_NE(w.events.back().text.find("asked for by you"), std::string::npos);
  // Two runs of a job that does not allow it there are not, even so.
  w.e->run_job("b", "you", true, w.now);
  EXPECT_EQ(w.e->running().size(), 2u);
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"a", "b", "b"}));
  // And others wait until there is room again.
  w.e->run_job("a", "me", false, w.now);
  w.ends("a");
  EXPECT_EQ(w.e->running().size(), 1u);
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"a", "b", "b", "a"}));
}

TEST(EngineQueue, C3CancelWorksInEveryState) {
  world w{{.max_active = 1}};
  rules retry;
  retry.retry.count = 1;
  w.e->set_jobs({job_of("a", ""), job_of("b", ""), job_of("c", "", retry)}, w.now);
  const run_id runs = *w.e->run_job("a", "me", false, w.now);
  const run_id waits = *w.e->run_job("b", "me", false, w.now);
  EXPECT_TRUE(w.e->cancel(waits, w.now));
  EXPECT_EQ(w.book.rows.at(waits).outcome, outcome::cancelled);
  EXPECT_TRUE(w.e->cancel(runs, w.now));
  EXPECT_EQ(w.launch->stopped, std::vector<run_id>{runs});
  EXPECT_EQ(w.book.rows.at(runs).phase, phase::launched);  // until its launcher says so
  w.ends(runs, outcome::cancelled);
  EXPECT_EQ(w.book.rows.at(runs).outcome, outcome::cancelled);
  EXPECT_FALSE(w.e->cancel(runs, w.now));
  EXPECT_FALSE(w.e->cancel(1234, w.now));
  // A retry before its time.
  const run_id fails = *w.e->run_job("c", "me", false, w.now);
  w.ends(fails, outcome::failed, 1);
  const run_id again = w.e->waiting().at(0).id;
  EXPECT_TRUE(w.e->cancel(again, w.now));
  EXPECT_EQ(w.book.rows.at(again).outcome, outcome::cancelled);
  EXPECT_FALSE(w.e->wake_at());
  EXPECT_TRUE(w.e->waiting().empty());
}

TEST(EngineQueue, C4TimedOutIsAnOutcomeOfItsOwn) {
  world w;
  w.e->set_jobs({job_of("a", "")}, w.now);
  const run_id id = *w.e->run_job("a", "me", false, w.now);
  w.ends(id, outcome::timed_out);
  EXPECT_EQ(w.book.rows.at(id).outcome, outcome::timed_out);
  EXPECT_TRUE(w.book.jobs.at("a").failing);
}

TEST(EngineQueue, ADrainedEngineLaunchesNothingMore) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.e->drain();
  w.go(1min);
  EXPECT_EQ(w.book.of("a").size(), 1u);
  EXPECT_TRUE(w.launch->started.empty());
}

// --- owners ------------------------------------------------------------------------------------

definition owned_by(std::string owner, std::string name, std::string_view when = "* * * * *",
                    rules r = overlapping(overlap_rule::allow)) {
  definition d = job_of(std::move(name), when, std::move(r));
  d.owner = std::move(owner);
  return d;
}

// Due one a minute, in this order.
std::vector<definition> jobs_of_owners() {
  std::vector<definition> all;
  for (const char* name : {"a1", "a2", "a3", "a4", "b1", "r1"}) {
    const std::string when = std::to_string(all.size() + 1) + " * * * *";
    const char* const owner = *name == 'a' ? "alice" : *name == 'b' ? "bob" : "root";
    all.push_back(owned_by(owner, name, when));
  }
  return all;
}

TEST(EngineQueue, C2WhoIsAtTheOwnersCapWaitsAndIsPassed) {
  world w{{.max_active = 3, .owner_cap = 2}};
  w.e->set_jobs(jobs_of_owners(), w.now);
  w.go(6min);
  EXPECT_EQ(w.launched(), (names{"a1", "a2", "b1"}));
  w.ends("b1");
  EXPECT_EQ(w.launched().back(), "r1") << "passes a3 and a4, which could not use the slot";
  w.ends("a1");
  EXPECT_EQ(w.launched().back(), "a3");
  EXPECT_EQ(w.waiting(), names{"a4"});
  w.ends("r1");
  EXPECT_EQ(w.waiting(), names{"a4"}) << "a slot is free, but not alice's";
  w.ends("a2");
  EXPECT_EQ(w.launched().back(), "a4");
}

TEST(EngineQueue, C1TheOwnersCapHoldsOverARestart) {
  world w{{.max_active = 8, .owner_cap = 2}};
  w.e->set_jobs(jobs_of_owners(), w.now);
  w.go(6min);
  // a2 is gone; its run has alice's slot all the same.
  std::vector<definition> fewer = jobs_of_owners();
  fewer.erase(fewer.begin() + 1);
  w.restart(fewer);
  w.e->advance(w.now);
  EXPECT_EQ(w.e->running().size(), 4u);
  EXPECT_EQ(w.waiting(), (names{"a3", "a4"}));
  w.ends("a2");
  EXPECT_EQ(w.waiting(), names{"a4"});
  w.ends("a1");
  EXPECT_TRUE(w.waiting().empty());
}

TEST(EngineQueue, C1RootAndTheDefaultHaveNoOwnersCap) {
  world w{{.owner_cap = 1, .owner_waiting = 1}};
  w.e->set_jobs(
      {owned_by("root", "r1"), owned_by("root", "r2"), owned_by("", "n1"), owned_by("", "n2")},
      w.now);
  w.go(1min);
  EXPECT_EQ(w.launched().size(), 4u);
  world free;
  free.e->set_jobs(jobs_of_owners(), free.now);
  free.go(6min);
  EXPECT_EQ(free.launched().size(), 6u);
}

TEST(EngineQueue, C2AGroupsCapIsSharedByOwnersAndBothCapsCount) {
  world w{{.max_active = 9, .owner_cap = 2, .groups = {{"g", 2}}}};
  w.e->set_jobs(
      {owned_by("alice", "a1", "", in_group("g")), owned_by("alice", "a2", "", in_group("g")),
       owned_by("alice", "a3", ""), owned_by("root", "r1", "", in_group("g"))},
      w.now);
  for (const char* name : {"a1", "r1", "a2", "a3"}) w.e->run_job(name, "me", false, w.now);
  EXPECT_EQ(w.launched(), (names{"a1", "r1", "a3"})) << "a2 waits for the group";
  w.ends("r1");
  EXPECT_EQ(w.waiting(), names{"a2"}) << "and now for its owner's cap";
  w.ends("a3");
  EXPECT_EQ(w.launched().back(), "a2");
  w.e->run_job("r1", "me", false, w.now);
  EXPECT_EQ(w.waiting(), names{"r1"}) << "root's job is in alice's group, and it is full";
}

TEST(EngineQueue, WhatWaitsOfAnOwnerIsBounded) {
  world w{{.owner_cap = 1, .owner_waiting = 2}};
  w.e->set_jobs(jobs_of_owners(), w.now);
  w.go(6min);
  EXPECT_EQ(w.launched(), (names{"a1", "b1", "r1"}));
  EXPECT_EQ(w.waiting(), (names{"a2", "a3"}));
  EXPECT_EQ(skip_reasons(w, "a4"), std::vector{reason::queue_full});
  EXPECT_THROW(w.e->run_job("a4", "alice", false, w.now), too_many_waiting);
  EXPECT_TRUE(w.e->run_job("b1", "bob", false, w.now));
  EXPECT_TRUE(w.e->run_job("r1", "root", false, w.now));
  w.ends("a1");
  EXPECT_TRUE(w.e->run_job("a4", "alice", false, w.now));
}

}  // namespace
}  // namespace rota::job::test
