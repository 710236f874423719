// What the end of a run brings: retries (R1), what is due after it, and what is said about the job.
#include "support/job_world.h"

namespace rota::job::test {
namespace {

using kind = engine_event::kind;
using names = std::vector<std::string>;

rules retried(std::uint32_t count, milliseconds delay = 10s) {
  rules r;
  r.retry.count = count;
  r.retry.delay = delay;
  r.retry.jitter = 0;
  return r;
}

definition after(std::string name, std::string other, dependency_on on, rules r = {}) {
  r.after = {{std::move(other), on}};
  return job_of(std::move(name), "", std::move(r));
}

std::vector<outcome> outcomes(const world& w, std::string_view job) {
  std::vector<outcome> all;
  for (const run& r : w.book.of(job)) all.push_back(r.outcome);
  return all;
}

TEST(EngineEnd, R1AttemptNPlus1OfTheSameKeyAfterAGrowingDelay) {
  world w;
  rules r = retried(3);
  r.retry.most = 30s;
  w.e->set_jobs({job_of("a", "", r)}, w.now);
  w.e->run_job("a", "me", false, w.now);
  for (const milliseconds delay : {10'000ms, 20'000ms, 30'000ms}) {
    const instant failed_at = w.now;
    w.ends("a", outcome::failed, 1);
    EXPECT_EQ(w.e->wake_at(), failed_at + delay);
    EXPECT_TRUE(w.e->running().empty());
    w.go(delay - 1ms);
    EXPECT_TRUE(w.e->running().empty());
    w.go(1ms);
    ASSERT_EQ(w.e->running().size(), 1u);
  }
  w.ends("a", outcome::failed, 1);
  EXPECT_FALSE(w.e->wake_at());
  const auto rows = w.book.of("a");
  ASSERT_EQ(rows.size(), 4u);
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(rows[n].attempt, n + 1);
    EXPECT_EQ(rows[n].scheduled, rows[0].scheduled);
    EXPECT_EQ(rows[n].why, n == 0 ? trigger::manual : trigger::retry);
  }
  EXPECT_EQ(w.told(kind::job_failed), 1);  // the last attempt's, not each
}

TEST(EngineEnd, R1ARetryWaitsWithoutASlot) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "", retried(1)), job_of("b", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.ends("a", outcome::failed, 1);
  EXPECT_EQ(w.launched(), (names{"a", "b"}));
  w.go(10s);
  EXPECT_EQ(w.waiting(), names{"a"});  // in the queue now
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"a", "b", "a"}));
}

TEST(EngineEnd, R1JitterIsSeededAndBounded) {
  const auto delay_with = [](std::uint64_t seed) {
    world w{{.seed = seed}};
    rules r = retried(1, 100s);
    r.retry.jitter = 0.5;
    w.e->set_jobs({job_of("a", "", r)}, w.now);
    w.e->run_job("a", "me", false, w.now);
    w.ends("a", outcome::failed, 1);
    return *w.e->wake_at() - w.now;
  };
  std::set<milliseconds> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const milliseconds d = delay_with(seed);
    EXPECT_GE(d, 50s);
    EXPECT_LE(d, 150s);
    EXPECT_EQ(d, delay_with(seed));
    seen.insert(d);
  }
  EXPECT_GT(seen.size(), 40u);
}

TEST(EngineEnd, R1WhichEndsAreTriedAgain) {
  const auto again = [](outcome o, int code, std::vector<int> codes) {
    world w;
    rules r = retried(1);
    r.retry.codes = std::move(codes);
    w.e->set_jobs({job_of("a", "", r)}, w.now);
    w.e->run_job("a", "me", false, w.now);
    w.ends("a", o, code);
    return w.e->waiting().size() == 1;
  };
  EXPECT_FALSE(again(outcome::success, 0, {}));
  EXPECT_TRUE(again(outcome::failed, 3, {}));
  EXPECT_TRUE(again(outcome::signalled, 0, {}));
  EXPECT_TRUE(again(outcome::timed_out, 0, {}));
  EXPECT_TRUE(again(outcome::not_started, 0, {}));
  EXPECT_FALSE(again(outcome::cancelled, 0, {}));
  EXPECT_FALSE(again(outcome::replaced, 0, {}));
  EXPECT_FALSE(again(outcome::lost, 0, {}));
  EXPECT_TRUE(again(outcome::failed, 75, {75, 76}));
  EXPECT_FALSE(again(outcome::failed, 1, {75, 76}));
  EXPECT_FALSE(again(outcome::timed_out, 75, {75, 76}));
}

TEST(EngineEnd, R1ARetryWaitsOverARestart) {
  world w;
  const std::vector<definition> jobs = {job_of("a", "", retried(1, 60s))};
  w.e->set_jobs(jobs, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.ends("a", outcome::failed, 1);
  w.now += 20s;
  w.restart(jobs);
  EXPECT_TRUE(w.launch->started.empty());
  EXPECT_EQ(w.e->wake_at(), noon + 60s);
  w.go(40s);
  EXPECT_EQ(w.launch->started, std::vector<run_id>{2});
}

TEST(EngineEnd, AfterSuccessFailureAndAny) {
  for (const outcome o : {outcome::success, outcome::failed, outcome::cancelled}) {
    world w;
    w.e->set_jobs({job_of("a", "0 * * * *"), after("s", "a", dependency_on::success),
                   after("f", "a", dependency_on::failure), after("any", "a", dependency_on::any)},
                  w.now);
    w.go(1h);
    const int commits = w.book.commits;
    w.ends("a", o);
    EXPECT_EQ(w.book.commits, commits + 1);  // the end, and who is due after it, in one
    EXPECT_EQ(w.book.of("s").size(), o == outcome::success ? 1u : 0u);
    EXPECT_EQ(w.book.of("f").size(), o == outcome::failed ? 1u : 0u);
    EXPECT_EQ(w.book.of("any").size(), o == outcome::cancelled ? 0u : 1u);
    if (o != outcome::success) continue;
    EXPECT_EQ(w.book.of("s")[0].scheduled, noon + 1h);
    EXPECT_EQ(w.book.of("s")[0].why, trigger::after);
  }
}

TEST(EngineEnd, AfterTheLastAttemptOnly) {
  world w;
  w.e->set_jobs({job_of("a", "", retried(1)), after("f", "a", dependency_on::failure)}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.ends("a", outcome::failed, 1);
  EXPECT_TRUE(w.book.of("f").empty());
  w.go(10s);
  w.ends("a", outcome::failed, 1);
  EXPECT_EQ(w.book.of("f").size(), 1u);
}

TEST(EngineEnd, AfterTwoJobsWithOneInstantThereAreTwoKeys) {
  world w;
  rules r;
  r.overlap = overlap_rule::allow;
  r.after = {{"a", dependency_on::success}, {"b", dependency_on::success}};
  w.e->set_jobs({job_of("a", "0 * * * *"), job_of("b", "0 * * * *"), job_of("c", "0 * * * *", r)},
                w.now);
  w.go(1h);
  w.ends("a");
  w.ends("b");
  std::set<instant> keys;
  for (const run& row : w.book.of("c")) keys.insert(row.scheduled);
  EXPECT_EQ(keys, (std::set<instant>{noon + 1h, noon + 1h + 1ms, noon + 1h + 2ms}));
}

TEST(EngineEnd, AfterAChangeTheOldDependencyIsGone) {
  world w;
  w.e->set_jobs({job_of("a", ""), after("b", "a", dependency_on::any)}, w.now);
  w.e->add_job(job_of("b", ""), w.now);
  w.e->run_job("a", "me", false, w.now);
  w.ends("a");
  EXPECT_TRUE(w.book.of("b").empty());
}

TEST(EngineEnd, FailureIsToldEachTimeAndRecoveryOnce) {
  world w;
  w.e->set_jobs({job_of("a", "")}, w.now);
  for (const outcome o :
       {outcome::failed, outcome::signalled, outcome::success, outcome::success}) {
    w.e->run_job("a", "me", false, w.now);
    w.ends("a", o);
  }
  EXPECT_EQ(w.told(kind::job_failed), 2);
  EXPECT_EQ(w.told(kind::job_recovered), 1);
  EXPECT_EQ(w.book.jobs.at("a").last_success, w.now);
  EXPECT_FALSE(w.book.jobs.at("a").failing);
}

TEST(EngineEnd, AbsenceIsToldOnceUntilThereIsASuccess) {
  world w;
  rules r;
  r.absence = 2h;
  const std::vector<definition> jobs = {job_of("a", "", r)};
  w.e->set_jobs(jobs, w.now);
  EXPECT_EQ(w.e->wake_at(), noon + 2h);
  w.go(2h);
  EXPECT_EQ(w.told(kind::job_absent), 1);
  EXPECT_TRUE(w.book.jobs.at("a").absent);
  w.go(10h);
  w.restart(jobs);
  w.go(10h);
  EXPECT_EQ(w.told(kind::job_absent), 1);
  w.e->run_job("a", "me", false, w.now);
  w.ends("a");
  EXPECT_EQ(w.told(kind::job_recovered), 1);
  EXPECT_EQ(w.e->wake_at(), w.now + 2h);
  w.go(2h);
  EXPECT_EQ(w.told(kind::job_absent), 2);
}

TEST(EngineEnd, AbsenceDoesNotHoldUpInstantsNorTheyIt) {
  world w;
  rules r;
  r.absence = 150s;
  w.e->set_jobs({job_of("a", "* * * * *", r)}, w.now);
  for (int n = 0; n < 4; ++n) {
    w.go(1min);
    if (n < 3) w.ends("a", outcome::failed, 1);
  }
  EXPECT_EQ(w.told(kind::job_absent), 1);
  EXPECT_EQ(w.book.of("a").size(), 4u);
}

TEST(EngineEnd, ARemovedJobsRunIsRecordedNotTriedAgainAndGivesItsSlotBack) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "", retried(3)), job_of("b", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.e->set_jobs({job_of("b", "")}, w.now);
  EXPECT_EQ(w.launched(), names{"a"});
  EXPECT_FALSE(w.e->find("a"));
  w.ends(1, outcome::failed, 1);
  EXPECT_EQ(outcomes(w, "a"), std::vector{outcome::failed});
  EXPECT_EQ(w.launched(), (names{"a", "b"}));
  EXPECT_TRUE(w.e->waiting().empty());
  EXPECT_FALSE(w.book.jobs.contains("a"));
}

definition of_root(definition d) {
  d.owner = "root";
  d.command.argv = {"only root may"};
  return d;
}

TEST(EngineEnd, S1WhatWaitsUnderOneOwnerDoesNotRunTheCommandOfTheNext) {
  rules r = retried(3, 60s);
  r.overlap = overlap_rule::allow;
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", "", r)}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.ends(1, outcome::failed, 1);  // run 2 is its retry
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("a", "me", false, w.now);  // waits for run 3
  w.e->set_jobs({of_root(job_of("a", "", r))}, w.now);
  for (const run_id id : {2, 4}) {
    EXPECT_EQ(w.book.rows.at(id).outcome, outcome::skipped) << id;
    EXPECT_EQ(w.book.rows.at(id).reason, reason::removed) << id;
    EXPECT_EQ(w.book.rows.at(id).owner, "me") << id;
  }
  // What runs goes on, and is neither tried again nor a failure of root's job.
  const int before = w.told(kind::job_failed);
  w.ends(3, outcome::failed, 1);
  w.go(1h);
  EXPECT_EQ(w.launch->started, (std::vector<run_id>{1, 3}));
  EXPECT_EQ(w.told(kind::job_failed), before);
  EXPECT_EQ(w.e->find("a")->waiting, 0u);
  w.e->run_job("a", "me", false, w.now);
  EXPECT_EQ(w.launch->definitions.at(5).command.argv, names{"only root may"});
}

TEST(EngineEnd, S1NorAfterARestart) {
  world w{{.max_active = 1}};
  w.files.claim_at_once = false;  // run 1 has no file yet: it is handed over again
  w.e->set_jobs({job_of("a", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.restart({of_root(job_of("a", ""))});
  EXPECT_EQ(w.book.rows.at(2).outcome, outcome::skipped);
  EXPECT_EQ(w.book.rows.at(2).reason, reason::removed);
  EXPECT_EQ(w.launch->started, std::vector<run_id>{1});
  EXPECT_TRUE(w.launch->definitions.at(1).command.argv.empty());
}

}  // namespace
}  // namespace rota::job::test
