// What holds when things break: rules K1, K3 and K4, and a ledger that cannot write. The files of
// runs and the ledger are the world's; the engine is thrown away and made again.
#include "support/job_world.h"

namespace rota::job::test {
namespace {

using kind = engine_event::kind;
using names = std::vector<std::string>;
using file = run_files::file;

rules allowing() {
  rules r;
  r.overlap = overlap_rule::allow;
  return r;
}

TEST(EngineCrash, K1RowsCursorsAndLaunchesOfATickAreOneTransaction) {
  world w{{.max_active = 2}};
  w.e->set_jobs({job_of("a", "* * * * *"), job_of("b", "* * * * *"), job_of("c", "* * * * *"),
                 job_of("d", "@every 20s")},
                w.now);
  w.jump(1min);
  EXPECT_EQ(w.book.commits, 2);  // the table's was the first
  EXPECT_EQ(w.book.last.jobs.size(), 4u);
  EXPECT_EQ(w.book.last.runs.size(), 6u);  // d: two missed
  EXPECT_EQ(std::count_if(w.book.last.runs.begin(), w.book.last.runs.end(),
                          [](const run& r) { return r.phase == phase::launched; }),
            2);
}

TEST(EngineCrash, K1NothingIsStartedBeforeTheLedgerHasIt) {
  world w;
  w.launch->on_start = [&](const run& r) {
    ASSERT_TRUE(w.book.rows.contains(r.id));
    EXPECT_EQ(w.book.rows.at(r.id).phase, phase::launched);
    EXPECT_EQ(w.book.rows.at(r.id).boot, "boot 1");
  };
  w.book.on_commit = [&] { EXPECT_TRUE(w.launch->started.empty()); };
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(1min);
  EXPECT_EQ(w.launch->started.size(), 1u);
}

TEST(EngineCrash, K1AnEndAndWhatFollowsFromItAreOneTransaction) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", ""), job_of("b", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  const int commits = w.book.commits;
  w.book.on_commit = [&] { EXPECT_TRUE(w.launch->forgotten.empty()); };
  w.ends("a");
  EXPECT_EQ(w.book.commits, commits + 1);
  EXPECT_EQ(w.book.last.runs.size(), 2u);
  EXPECT_EQ(w.launch->forgotten, std::vector<run_id>{1});
}

TEST(EngineCrash, ALedgerThatFailsStartsNothingLosesNothingAndDoesNotGrow) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *"), job_of("b", "* * * * *")}, w.now);
  w.book.broken = true;
  w.go(1min);
  EXPECT_EQ(w.told(kind::ledger_failed), 1);
  EXPECT_TRUE(w.launch->started.empty());
  EXPECT_EQ(w.told(kind::run_launched), 0);
  EXPECT_EQ(w.e->wake_at(), w.now + 1s);
  EXPECT_EQ(w.e->find("a")->status, job_status::run);
  for (int n = 0; n < 100; ++n) w.jump(1min);
  EXPECT_EQ(w.told(kind::ledger_failed), 1);
  EXPECT_EQ(w.e->running().size() + w.e->waiting().size(), 2u);
  w.book.broken = false;
  w.jump(1s);
  EXPECT_EQ(w.told(kind::ledger_works), 1);
  EXPECT_EQ(w.told(kind::clock_forward), 0);
  EXPECT_EQ(w.launch->started.size(), 2u);
  w.jump(1s);
  // What passed meanwhile was missed: all but the first overlap with it, and each has its row.
  std::uint32_t rows = 0;
  for (const run& r : w.book.of("a")) rows += r.count;
  EXPECT_EQ(rows, 101u);
}

TEST(EngineCrash, WhileTheLedgerFailsAManualRunIsRefusedAndOtherRequestsHold) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", ""), job_of("b", ""), job_of("c", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  const run_id waits = *w.e->run_job("b", "me", false, w.now);
  w.book.broken = true;
  EXPECT_THROW(w.e->run_job("b", "me", false, w.now), ledger_error);
  EXPECT_THROW(w.e->run_job("c", "me", true, w.now), ledger_error);
  EXPECT_EQ(w.waiting(), names{"b"});
  EXPECT_TRUE(w.e->cancel(waits, w.now));
  EXPECT_TRUE(w.e->pause("c", w.now));
  EXPECT_TRUE(w.e->remove_job("b", w.now));
  w.ends("a");
  EXPECT_EQ(w.book.rows.at(1).phase, phase::launched);
  EXPECT_TRUE(w.launch->forgotten.empty());
  w.book.broken = false;
  w.jump(1s);
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::success);
  EXPECT_EQ(w.book.rows.at(waits).outcome, outcome::cancelled);
  EXPECT_TRUE(w.book.jobs.at("c").paused);
  EXPECT_FALSE(w.book.jobs.contains("b"));
  EXPECT_EQ(w.launch->forgotten, std::vector<run_id>{1});
}

TEST(EngineCrash, ALaunchThatWasOnlyPlannedCanBeTakenBack) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *"), job_of("b", "* * * * *")}, w.now);
  w.book.broken = true;
  w.go(1min);
  ASSERT_EQ(w.e->running().size(), 2u);
  const run_id a = w.running("a").at(0);
  EXPECT_TRUE(w.e->cancel(a, w.now));
  EXPECT_TRUE(w.e->remove_job("b", w.now));
  EXPECT_TRUE(w.e->running().empty());
  w.book.broken = false;
  w.jump(1s);
  EXPECT_TRUE(w.launch->started.empty());
  EXPECT_TRUE(w.launch->stopped.empty());
  EXPECT_EQ(w.book.of("a").at(0).outcome, outcome::cancelled);
  EXPECT_EQ(w.book.of("b").at(0).reason, reason::removed);
}

TEST(EngineCrash, ACrashWhileTheLedgerFailsLosesNothing) {
  world w;
  const std::vector<definition> jobs = {job_of("a", "* * * * *")};
  w.e->set_jobs(jobs, w.now);
  w.book.broken = true;
  w.go(1min);
  w.book.broken = false;
  w.restart(jobs);
  EXPECT_EQ(w.launch->started.size(), 1u);
  EXPECT_EQ(w.book.of("a").size(), 1u);
}

TEST(EngineCrash, K3DueRowsAreDueAgainInTheirOrder) {
  world w{{.max_active = 1}};
  const std::vector<definition> jobs = {job_of("a", "", allowing()), job_of("b", "")};
  w.e->set_jobs(jobs, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.e->run_job("a", "me", false, w.now + 5ms);
  w.restart(jobs);
  EXPECT_EQ(w.waiting(), (names{"b", "a"}));
  EXPECT_EQ(w.e->running().size(), 1u);
  w.ends(1);
  w.ends("b");
  EXPECT_EQ(w.launched(), (names{"b", "a"}));
}

TEST(EngineCrash, M1WhatWaitedOverARestartForTooLongIsSkipped) {
  rules r;
  r.deadline = 1h;
  rules other = r;
  other.after = {{"first", dependency_on::any}};
  const std::vector<definition> jobs = {job_of("first", ""), job_of("a", "@every 2h", r),
                                        job_of("b", "", r), job_of("c", "", other)};
  for (const milliseconds down : {30min, 120min}) {
    world w{{.max_active = 1}};
    w.e->set_jobs(jobs, w.now);
    w.e->run_job("first", "me", false, w.now);
    w.go(2h);
    w.e->drain();
    w.ends("first");
    const run_id b = *w.e->run_job("b", "me", false, w.now);
    ASSERT_EQ(w.waiting(), (names{"c", "a", "b"}));  // c: by the instant of the first
    w.now += down;
    w.restart(jobs);
    const reason expected = down > 1h ? reason::too_old : reason::none;
    EXPECT_EQ(w.book.of("a").at(0).reason, expected);
    EXPECT_EQ(w.book.of("c").at(0).reason, expected);
    EXPECT_NE(w.book.rows.at(b).phase, phase::over) << "somebody asked for it";
  }
}

TEST(EngineCrash, K3ARunUnderWayIsAdoptedAndKeepsItsSlot) {
  world w{{.max_active = 1}};
  const std::vector<definition> jobs = {job_of("a", "* * * * *"), job_of("b", "")};
  w.e->set_jobs(jobs, w.now);
  w.go(1min);
  w.restart(jobs);
  EXPECT_TRUE(w.launch->started.empty());
  EXPECT_EQ(w.e->running().at(0).pid, 7);
  w.e->run_job("b", "me", false, w.now);
  EXPECT_EQ(w.waiting(), names{"b"});
  w.go(1min);  // and counts as an overlap
  EXPECT_EQ(w.book.of("a").back().reason, reason::overlap);
  w.ends("a");
  EXPECT_EQ(w.launched(), names{"b"});
}

TEST(EngineCrash, K3ARunThatHasEndedMeanwhileIsFinished) {
  world w;
  rules r;
  r.after = {{"a", dependency_on::success}};
  const std::vector<definition> jobs = {job_of("a", ""), job_of("b", "", r)};
  w.e->set_jobs(jobs, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.crash();
  w.files.all.at(1).f = file::ended;
  w.files.all.at(1).result.outcome = outcome::success;
  w.start();
  w.e->restore(w.now);
  EXPECT_EQ(w.book.rows.at(1).phase, phase::launched);  // the table is not there yet
  w.e->set_jobs(jobs, w.now);
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::success);
  EXPECT_EQ(w.launch->forgotten, std::vector<run_id>{1});
  EXPECT_EQ(w.launched(), names{"b"});
}

TEST(EngineCrash, K3ALaunchedRowWithoutAFileIsStartedAgainAndKeepsItsSlot) {
  world w{{.max_active = 1}};
  w.files.claim_at_once = false;
  const std::vector<definition> jobs = {job_of("a", ""), job_of("b", "")};
  w.e->set_jobs(jobs, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.restart(jobs);
  EXPECT_EQ(w.launch->started, std::vector<run_id>{1});
  EXPECT_EQ(w.waiting(), names{"b"});
  w.files.claim(1);
  w.files.claim(1);
  EXPECT_EQ(w.files.all.at(1).starts, 1);
}

TEST(EngineCrash, K3WithoutItsJobItIsHandedOverWithNothingToRun) {
  world w;
  w.files.claim_at_once = false;
  w.e->set_jobs({job_of("a", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.restart({});
  EXPECT_EQ(w.launch->started, std::vector<run_id>{1});
  EXPECT_TRUE(w.launch->definitions.at(1).command.argv.empty());
  EXPECT_EQ(w.e->running().size(), 1u);
  w.ends(1, outcome::not_started);
  EXPECT_TRUE(w.e->running().empty());
}

TEST(EngineCrash, K3LostUnknownAndRerun) {
  struct setting {
    file f;
    std::string boot;
    unknown_rule rule;
    outcome expected;
  };
  for (const setting& s :
       {setting{file::dead, "boot 1", unknown_rule::report, outcome::lost},
        setting{file::dead, "boot 2", unknown_rule::report, outcome::unknown},
        setting{file::absent, "boot 2", unknown_rule::report, outcome::unknown},
        setting{file::dead, "boot 1", unknown_rule::rerun, outcome::lost},
        setting{file::absent, "boot 2", unknown_rule::rerun, outcome::unknown}}) {
    world w;
    rules r;
    r.on_unknown = s.rule;
    const std::vector<definition> jobs = {job_of("a", "", r)};
    w.e->set_jobs(jobs, w.now);
    w.e->run_job("a", "me", false, w.now);
    w.files.all.at(1).f = s.f;
    w.options.boot = s.boot;
    w.restart(jobs);
    EXPECT_EQ(w.book.rows.at(1).outcome, s.expected);
    EXPECT_EQ(w.book.rows.at(1).phase, phase::over);
    ASSERT_EQ(w.book.rows.size(), s.rule == unknown_rule::rerun ? 2u : 1u);
    if (s.rule == unknown_rule::report) {
      EXPECT_EQ(w.told(kind::job_failed), 1);
      EXPECT_TRUE(w.launch->started.empty());
    } else {
      EXPECT_EQ(w.book.rows.at(2).attempt, 2u);
      EXPECT_EQ(w.launch->started, std::vector<run_id>{2});
    }
  }
}

TEST(EngineCrash, K3RerunsWaitAndComeToAnEnd) {
  for (const milliseconds asked : {0ms, 10'000ms}) {
    world w;
    rules r;
    r.on_unknown = unknown_rule::rerun;
    r.retry = {.count = 1, .delay = asked, .jitter = 0};
    w.e->set_jobs({job_of("a", "", r)}, w.now);
    w.e->run_job("a", "me", false, w.now);
    std::vector<milliseconds> waited;
    while (w.told(kind::job_failed) == 0 && waited.size() < 100) {
      const instant lost = w.now;
      w.ends("a", outcome::lost);  // it kills its runner
      if (w.running("a").empty() && w.e->wake_at()) w.go_to(*w.e->wake_at());
      waited.push_back(w.now - lost);
    }
    // Four reruns; the fifth end is reported.
    const auto expected = asked == 0ms ? std::vector<milliseconds>{0ms, 1s, 1s, 1s, 0ms}
                                       : std::vector<milliseconds>{0ms, 10s, 20s, 40s, 0ms};
    EXPECT_EQ(waited, expected);
    EXPECT_EQ(w.book.of("a").size(), 5u);
    EXPECT_TRUE(w.e->running().empty());
  }
}

TEST(EngineCrash, K3WhatWasDueOfAJobThatIsGoneIsSkipped) {
  world w{{.max_active = 1}};
  w.e->set_jobs({job_of("a", ""), job_of("b", "")}, w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.restart({job_of("a", "")});
  EXPECT_EQ(w.book.of("b").at(0).outcome, outcome::skipped);
  EXPECT_EQ(w.book.of("b").at(0).reason, reason::removed);
  EXPECT_FALSE(w.book.jobs.contains("b"));
}

TEST(EngineCrash, K3JobsMayComeOneByOne) {
  world w{{.max_active = 1}};
  w.e->add_job(job_of("a", ""), w.now);
  w.e->add_job(job_of("b", ""), w.now);
  w.e->run_job("a", "me", false, w.now);
  w.e->run_job("b", "me", false, w.now);
  w.crash();
  w.files.all.at(1).f = file::ended;
  w.files.all.at(1).result.outcome = outcome::success;
  w.start();
  w.e->restore(w.now);
  w.e->add_job(job_of("b", ""), w.now);
  EXPECT_EQ(w.book.rows.at(1).phase, phase::launched);
  EXPECT_EQ(w.launched(), names{"b"});  // nothing runs that could need the slot
  w.e->add_job(job_of("a", ""), w.now);
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::success);
  EXPECT_FALSE(w.e->wake_at());
  EXPECT_EQ(w.told(kind::job_failed), 0);
}

TEST(EngineCrash, K3ARunOfAJobThatNeverComesGivesItsSlotBackAndItsEndIsRecorded) {
  for (const file f : {file::dead, file::ended, file::locked}) {
    world w{{.max_active = 1}};
    w.e->add_job(job_of("a", ""), w.now);
    w.e->add_job(job_of("b", ""), w.now);
    w.e->run_job("a", "me", false, w.now);
    w.crash();
    w.files.all.at(1).f = f;
    w.files.all.at(1).result.outcome = outcome::success;
    w.start();
    w.e->restore(w.now);
    w.e->add_job(job_of("b", ""), w.now);
    w.e->run_job("b", "me", false, w.now);
    if (f == file::locked) {
      EXPECT_EQ(w.waiting(), names{"b"});
      w.ends(1);
    }
    EXPECT_EQ(w.launched(), names{"b"});
    EXPECT_EQ(w.e->running().size(), 1u);
    EXPECT_EQ(w.book.rows.at(1).phase, phase::launched);
    EXPECT_EQ(w.e->wake_at(), noon + 1min);  // it could still come
    w.go(1min);
    EXPECT_EQ(w.book.rows.at(1).outcome, f == file::dead ? outcome::lost : outcome::success);
    EXPECT_EQ(w.launch->forgotten, std::vector<run_id>{1});
    EXPECT_FALSE(w.e->wake_at());
    w.e->add_job(job_of("a", ""), w.now);  // later than anybody waits
    w.ends("b");
    w.e->run_job("a", "me", false, w.now);
    EXPECT_EQ(w.launched(), (names{"b", "a"}));
  }
}

TEST(EngineCrash, K3EachEndOfAJobThatIsGoneIsRecorded) {
  world w;
  w.e->set_jobs({job_of("a", "", allowing())}, w.now);
  for (int n = 0; n < 3; ++n) w.e->run_job("a", "me", false, w.now);
  for (auto& [id, entry] : w.files.all) entry.f = file::dead;
  w.restart({job_of("b", "")});
  for (const run& r : w.book.of("a")) EXPECT_EQ(r.outcome, outcome::lost);
  EXPECT_EQ(w.launch->forgotten.size(), 3u);
  EXPECT_EQ(w.e->job_count(), 1u);
}

TEST(EngineCrash, M2WhatRanWhenTheMachineWentDownIsNoOverlapAtTheNextBoot) {
  world w;
  const std::vector<definition> jobs = {job_of("a", "@reboot")};
  w.e->set_jobs(jobs, w.now);
  ASSERT_EQ(w.e->running().size(), 1u);
  w.files.all.at(1).f = file::dead;
  w.options.boot = "boot 2";
  w.go(1min);
  w.restart(jobs);
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::unknown);
  EXPECT_EQ(w.launched(), names{"a"});
}

TEST(EngineCrash, K4AReloadLeavesAloneWhatIsTheSame) {
  world w;
  const auto table = [] {
    definition a = job_of("a", "@every 1h");
    a.source.line = 7;
    return std::vector{a, job_of("b", "0 * * * *"), job_of("c", "0 * * * *")};
  };
  w.e->set_jobs(table(), w.now);
  w.go(30min);
  const int commits = w.book.commits;
  const auto events = w.events.size();
  w.e->set_jobs(table(), w.now);
  EXPECT_EQ(w.book.commits, commits);
  EXPECT_EQ(w.events.size(), events);
  EXPECT_EQ(w.e->find("a")->next, noon + 1h);  // @every did not begin anew
}

TEST(EngineCrash, K4AReloadAddsChangesAndRemoves) {
  world w;
  w.e->set_jobs({job_of("a", "0 * * * *"), job_of("b", "0 * * * *"), job_of("c", "0 * * * *")},
                w.now);
  w.go(90s);
  rules r;
  r.overlap = overlap_rule::queue;
  w.e->set_jobs(
      {job_of("a", "*/30 * * * *"), job_of("b", "0 * * * *", r), job_of("d", "5 * * * *")}, w.now);
  EXPECT_EQ(w.told(kind::job_added), 4);
  EXPECT_EQ(w.told(kind::job_changed), 2);
  EXPECT_EQ(w.told(kind::job_removed), 1);
  EXPECT_EQ(w.e->job_count(), 3u);
  EXPECT_EQ(w.e->find("a")->next, noon + 30min);
  EXPECT_EQ(w.e->find("b")->def->rules->overlap, overlap_rule::queue);
  EXPECT_FALSE(w.e->find("c"));
  EXPECT_FALSE(w.book.jobs.contains("c"));
  EXPECT_EQ(w.e->find("d")->def->command.argv, names{"true"});
  EXPECT_EQ(w.e->find("d")->def->text, "5 * * * *");
}

TEST(EngineCrash, K4AChangedScheduleDoesNotReachBack) {
  world w;
  w.e->set_jobs({job_of("a", "0 0 * * *")}, w.now);
  w.go(30min);
  w.e->set_jobs({job_of("a", "*/10 * * * *")}, w.now);
  EXPECT_TRUE(w.book.rows.empty());
  EXPECT_EQ(w.e->wake_at(), noon + 40min);
}

TEST(EngineCrash, K4AScheduleChangedWhileTheDaemonWasDownDoesNotReachBack) {
  const auto in_zone = [](const char* zone, dst_rule dst) {
    definition d = job_of("a", "*/10 * * * *");
    d.when = schedule::parse(d.text, {.zone = *time_zone::find(zone), .dst = dst});
    return d;
  };
  struct edit {
    definition from, to;
    bool reaches_back;
    instant next;
  };
  const std::string late = "@at " + rota::to_text(noon + 20min);
  const std::string same = "CRON_TZ=Asia/Kathmandu @at 2026-11-17T18:05:00";
  for (const edit& c :
       {edit{job_of("a", "0 0 * * *"), job_of("a", "*/10 * * * *"), false, noon + 40min},
        edit{job_of("a", "*/10 * * * *"), job_of("a", "*/10 * * * *"), true, noon + 40min},
        edit{in_zone("UTC", dst_rule::wall), in_zone("Europe/Paris", dst_rule::wall), false,
             noon + 40min},
        edit{in_zone("UTC", dst_rule::wall), in_zone("UTC", dst_rule::vixie), false, noon + 40min},
        edit{job_of("a", "@every 40m"), job_of("a", "@every 10m"), false, noon + 45min},
        edit{job_of("a", "@every 10m"), job_of("a", "@every 600s"), true, noon + 40min},
        edit{job_of("a", late), job_of("a", same), true, {}}}) {
    world w;
    w.e->set_jobs({c.from}, w.now);
    w.now += 35min;
    w.restart({c.to});
    EXPECT_EQ(!w.book.rows.empty(), c.reaches_back) << c.from.text << " -> " << c.to.text;
    EXPECT_EQ(w.e->find("a")->next.value_or(instant{}), c.next) << c.to.text;
    // And from then on it is the schedule that the ledger knows.
    const auto rows = w.book.rows.size();
    w.now += 1s;
    w.restart({c.to});
    EXPECT_EQ(w.book.rows.size(), rows);
    EXPECT_EQ(w.e->find("a")->next.value_or(instant{}), c.next) << c.to.text;
  }
}

TEST(EngineCrash, K4RemovalSkipsWhatWaitsAndLeavesWhatRuns) {
  world w{{.max_active = 1}};
  rules r;
  r.overlap = overlap_rule::queue;
  w.e->set_jobs({job_of("a", "* * * * *", r)}, w.now);
  w.go(2min);
  w.e->set_jobs({}, w.now);
  EXPECT_EQ(w.book.rows.at(2).reason, reason::removed);
  EXPECT_EQ(w.e->running().size(), 1u);
  EXPECT_TRUE(w.launch->stopped.empty());
  // It comes back: the old run still has the slot, and is still a run of that job.
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(1min);
  EXPECT_EQ(w.book.of("a").back().reason, reason::overlap);
  w.ends(1);
  w.go(1min);
  EXPECT_EQ(w.e->running().size(), 1u);
}

}  // namespace
}  // namespace rota::job::test
