// The engine on a real ledger: what is written with SQLite is what is found again, and a key that
// is taken makes way (T1) instead of failing for ever.
#include <rota/job/sqlite_ledger.h>

#include "job/ledger_support.h"
#include "support/job_world.h"

namespace rota::job::test {
namespace {

ledger_options opened_at_noon() {
  ledger_options o;
  o.now = noon;
  return o;
}

// A store that cannot be asked for a while.
struct deaf_ledger final : ledger {
  explicit deaf_ledger(sqlite_ledger& l) : book(l) {}
  saved_state load() override { return book.load(); }
  void commit(const changes& c) override { book.commit(c); }
  bool has(std::string_view job, instant scheduled) override {
    if (deaf > 0 && deaf--) throw ledger_error("interrupted");
    return book.has(job, scheduled);
  }
  sqlite_ledger& book;
  int deaf = 0;
};

// The instants of a job's rows, as minutes and milliseconds after noon.
std::vector<milliseconds> instants_of(sqlite_ledger& book, const char* job) {
  std::vector<milliseconds> all;
  for (run_id id = 1; id < book.load().next_id; ++id)
    if (const auto r = book.find_run(id); r && r->job == job) all.push_back(r->scheduled - noon);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(EngineLedger, T1AKeyThatTheLedgerCouldNotTellOfIsAskedForAgain) {
  for (const std::uint32_t slots : {1u, 8u}) {
    for (const int deaf : {1, 2, 5}) {
      rota_ledger_test::folder f;
      sqlite_ledger store{f.store(), opened_at_noon()};
      deaf_ledger book{store};
      run_files files;
      fake_launcher launch{files};
      engine e{{.max_active = slots, .boot = "boot 1"}, book, launch};
      std::vector<run> told;
      e.on_event([&](const engine_event& n) {
        if (n.run) told.push_back(*n.run);
      });
      rules many;
      many.overlap = overlap_rule::allow;
      // a waits or runs, b is skipped: each instant comes twice, since the clock is set back.
      e.set_jobs({job_of("a", "* * * * *", many), job_of("b", "* * * * *"), job_of("c", "")}, noon);
      e.run_job("c", "me", false, noon);
      e.pause("b", noon);
      e.advance(noon + 1min);
      e.advance(noon - 4h);
      e.pause("a", noon - 4h);
      e.advance(noon);
      e.resume("a", noon);
      book.deaf = deaf;
      instant now = noon + 1min;
      e.advance(now);
      for (int n = 0; n < 10 && e.wake_at() && *e.wake_at() < noon + 2min; ++n)
        e.advance(now = std::max(now, *e.wake_at()));
      EXPECT_EQ(book.deaf, 0);
      EXPECT_TRUE(e.wake_at() && *e.wake_at() == noon + 2min) << "the ledger has failed";
      for (const char* job : {"a", "b"}) {
        const auto all = instants_of(store, job);
        EXPECT_EQ(std::count(all.begin(), all.end(), 1min), 1) << job;
        EXPECT_EQ(std::count(all.begin(), all.end(), 1min + 1ms), 1) << job;
      }
      for (const run& r : told)
        EXPECT_EQ(r.scheduled, store.find_run(r.id)->scheduled) << r.job << " was told otherwise";
      // The queue knows it by its new key.
      for (int n = 0; n < 10 && !e.running().empty(); ++n) {
        launch.ends(e.running().at(0).id, {.outcome = outcome::success, .note = {}});
        e.advance(now);
      }
      EXPECT_TRUE(e.waiting().empty());
    }
  }
}

TEST(EngineLedger, T1AKeyThatIsTakenMakesWay) {
  rota_ledger_test::folder f;
  sqlite_ledger book{f.store(), opened_at_noon()};
  run_files files;
  fake_launcher launch{files};
  engine e{{.boot = "boot 1"}, book, launch};
  rules r;
  r.overlap = overlap_rule::allow;
  e.set_jobs({job_of("a", "* * * * *", r)}, noon);
  e.advance(noon + 1min);
  const auto first = e.run_job("a", "me", false, noon + 1min);
  const auto second = e.run_job("a", "me", false, noon + 1min);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(book.find_run(*first)->scheduled, noon + 1min + 1ms);
  EXPECT_EQ(book.find_run(*second)->scheduled, noon + 1min + 2ms);
  EXPECT_EQ(e.running().size(), 3u);
  // The clock is set back by hours: the instant comes again.
  e.advance(noon - 4h);
  e.advance(noon + 1min);
  EXPECT_TRUE(e.wake_at() && *e.wake_at() > noon + 1min) << "the ledger has failed";
}

TEST(EngineLedger, K3WhatWasWrittenIsFoundAgain) {
  rota_ledger_test::folder f;
  run_files files;
  const auto jobs = [] {
    rules r;
    r.overlap = overlap_rule::queue;
    r.retry.count = 1;
    return std::vector{job_of("a", "* * * * *", r), job_of("b", "0 * * * *")};
  };
  {
    sqlite_ledger book{f.store(), opened_at_noon()};
    fake_launcher launch{files};
    engine e{{.max_active = 1, .boot = "boot 1"}, book, launch};
    e.restore(noon);
    e.set_jobs(jobs(), noon);
    e.advance(noon + 1min);
    e.advance(noon + 2min);
    e.pause("b", noon + 2min);
    EXPECT_EQ(e.waiting().size(), 1u);
  }
  sqlite_ledger book{f.store(), opened_at_noon()};
  fake_launcher launch{files};
  engine e{{.max_active = 1, .boot = "boot 1"}, book, launch};
  e.restore(noon + 150s);
  e.set_jobs(jobs(), noon + 150s);
  EXPECT_EQ(e.running().size(), 1u);  // adopted
  EXPECT_EQ(e.waiting().size(), 1u);
  EXPECT_TRUE(launch.started.empty());
  EXPECT_TRUE(e.find("b")->row.paused);
  EXPECT_EQ(e.find("a")->next, noon + 3min);
  launch.ends(e.running().at(0).id, {.outcome = outcome::failed, .exit_code = 1, .note = {}});
  e.advance(noon + 151s);
  EXPECT_EQ(launch.started.size(), 1u);
  EXPECT_EQ(e.waiting().size(), 1u);  // the retry
}

}  // namespace
}  // namespace rota::job::test
