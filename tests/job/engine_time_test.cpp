// When rows appear: rules T1, T4, T5, M1, M2 and M3. A broken promise shows as a row too many, too
// few, or with another reason; the ledger in support/job_world.h complains about a key that is used
// twice.
#include "support/job_world.h"
#include "support/zone_folder.h"

namespace rota::job::test {
namespace {

using kind = engine_event::kind;

std::string told_of(const std::vector<run>& rows) {
  std::string all;
  for (const run& r : rows) {
    const auto offset =
        std::chrono::duration_cast<std::chrono::seconds>(r.scheduled - noon).count();
    all += (all.empty() ? "" : " ") + std::to_string(offset) + ":" +
           std::string(r.outcome == outcome::skipped ? to_text(r.reason) : to_text(r.phase));
    if (r.count > 1) all += "*" + std::to_string(r.count);
  }
  return all;
}

rules with_catchup(catchup_rule c) {
  rules r;
  r.catchup = c;
  return r;
}

TEST(EngineTime, T1EachInstantIsOneRowThatRuns) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  EXPECT_EQ(w.e->wake_at(), noon + 1min);
  EXPECT_TRUE(w.book.rows.empty());
  w.go(1min);
  ASSERT_EQ(told_of(w.book.of("a")), "60:launched");
  EXPECT_EQ(w.book.rows.at(1).why, trigger::schedule);
  EXPECT_EQ(w.launch->started, std::vector<run_id>{1});
  w.ends("a");
  EXPECT_EQ(told_of(w.book.of("a")), "60:over");
  EXPECT_EQ(w.book.rows.at(1).outcome, outcome::success);
  EXPECT_EQ(w.book.jobs.at("a").cursor, noon + 1min);
  EXPECT_EQ(w.e->wake_at(), noon + 2min);
}

TEST(EngineTime, T1AManualRunTakesAKeyThatNobodyHas) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(1min);
  w.ends("a");
  // At the very instant that has a row, and twice in one millisecond.
  ASSERT_TRUE(w.e->run_job("a", "me", false, w.now));
  ASSERT_TRUE(w.e->run_job("a", "me", false, w.now));
  const auto rows = w.book.of("a");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].scheduled, noon + 1min + 1ms);
  EXPECT_EQ(rows[2].scheduled, noon + 1min + 2ms);
  EXPECT_EQ(rows[1].requested_by, "me");
}

TEST(EngineTime, T1EveryCountsWithoutDrift) {
  world w;
  w.e->set_jobs({job_of("a", "@every 90s")}, w.now);
  for (int n = 1; n <= 5; ++n) {
    w.now = noon + n * 90s + 700ms;  // always late
    w.e->advance(w.now);
    w.ends("a");
  }
  EXPECT_EQ(told_of(w.book.of("a")), "90:over 180:over 270:over 360:over 450:over");
}

TEST(EngineTime, T2ByDebiansRuleAGapIsMadeUpForMinuteByMinute) {
  world w;
  rules r;
  r.overlap = overlap_rule::allow;
  definition d = job_of("a", "", r);
  d.when = schedule::parse(
      "0,20,40 2 * * *",
      {.name = "a", .zone = time_zone::find("Europe/Paris").value(), .dst = dst_rule::vixie});
  const instant before = parse_instant("2027-03-28T00:30:00Z").value();
  w.now = before;
  w.e->set_jobs({d}, w.now);
  w.go(1h);
  EXPECT_EQ(w.book.of("a").size(), d.when.times(before + 30min));
  EXPECT_EQ(w.book.of("a").size(), 3u);
}

TEST(EngineTime, T4AClockSetForwardIsMissedInstantsAndNoStorm) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(30s);
  w.jump(5min);
  EXPECT_EQ(w.launch->started.size(), 1u);
  EXPECT_EQ(told_of(w.book.of("a")), "60:missed 120:missed 180:missed 240:missed 300:launched");
  EXPECT_EQ(w.told(kind::clock_forward), 1);
}

TEST(EngineTime, T4ASmallStepBackRunsNothingAgain) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(10min);
  w.ends("a");
  const auto rows = w.book.rows.size();
  w.jump(-2h);
  for (int n = 0; n < 120; ++n) w.jump(1min);
  EXPECT_EQ(w.book.rows.size(), rows);
  w.jump(1min);
  EXPECT_EQ(w.book.rows.size(), rows + 1);
}

TEST(EngineTime, T4EachStepBackIsToldOnceWithWhereSchedulesGoOn) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(10min);
  w.jump(-59s);  // nobody's schedule waits long for that
  EXPECT_EQ(w.told(kind::clock_back), 0);
  w.jump(59s);
  w.jump(-90min);
  w.jump(0s);
  w.jump(1min);
  ASSERT_EQ(w.told(kind::clock_back), 1);
  EXPECT_EQ(std::find_if(w.events.begin(), w.events.end(),
                         [](const engine_event& n) { return n.what == kind::clock_back; })
                ->text,
            "the clock was set back by 1 h 30 min: nothing runs again, schedules go on at "
            "2026-11-17T12:10:00Z");
  w.jump(-1min);
  EXPECT_EQ(w.told(kind::clock_back), 2);
  EXPECT_EQ(w.book.of("a").size(), 10u);
}

TEST(EngineTime, T4AStepBackOfThreeHoursRebasesTheCursorAndSaysSo) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *"), job_of("b", "@every 1m")}, w.now);
  for (int n = 0; n < 5; ++n) {
    w.go(1min);
    w.ends("a");
    w.ends("b");
  }
  const auto rows = w.book.of("a").size();
  w.jump(-3h);
  EXPECT_EQ(w.told(kind::clock_back), 1);
  EXPECT_EQ(w.book.jobs.at("a").cursor, w.now);
  w.go(1min);
  EXPECT_EQ(w.book.of("a").size(), rows + 1);
  w.ends("a");
  w.ends("b");
  // The instants that were used before come again, under keys of their own.
  w.go_to(noon + 3min + 1s);
  EXPECT_EQ(w.told(kind::clock_back), 1);
  EXPECT_TRUE(std::any_of(w.book.rows.begin(), w.book.rows.end(),
                          [](const auto& r) { return r.second.scheduled == noon + 1min + 1ms; }));
}

TEST(EngineTime, T4AClockSetBackWhileTheDaemonWasDownIsNoticed) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(1min);
  w.ends("a");
  w.now -= 5h;
  w.restart({job_of("a", "* * * * *")});
  EXPECT_EQ(w.told(kind::clock_back), 1);
  EXPECT_EQ(w.e->wake_at(), w.now + 59min - 58min);
}

TEST(EngineTime, T5OneTimerForTheEarliestInstant) {
  world w;
  w.e->set_jobs({job_of("a", "0 13 * * *"), job_of("b", "30 12 * * *"), job_of("c", "")}, w.now);
  EXPECT_EQ(w.e->wake_at(), noon + 30min);
  EXPECT_EQ(w.e->find("b")->status, job_status::yes);
  EXPECT_EQ(w.e->find("c")->status, job_status::no);
  EXPECT_TRUE(w.e->remove_job("b", w.now));
  EXPECT_EQ(w.e->wake_at(), noon + 1h);
  const int commits = w.book.commits;
  w.jump(59min);  // nobody looks at the table, and nothing is written
  EXPECT_EQ(w.book.commits, commits);
}

TEST(EngineTime, M1OneRunsTheLastThatWasMissed) {
  world w;
  const definition d = job_of("a", "0 * * * *", with_catchup(catchup_rule::one));
  w.e->set_jobs({d}, w.now);
  w.now += 3h + 30min;
  w.restart({d});
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed 10800:launched");
  EXPECT_EQ(w.book.of("a").back().why, trigger::catchup);
}

TEST(EngineTime, M1NoneSkipsThemButNotOneThatIsOnTime) {
  world w;
  const definition d = job_of("a", "0 * * * *", with_catchup(catchup_rule::none));
  w.e->set_jobs({d}, w.now);
  w.now += 2h + 30min;
  w.restart({d});
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed");
  w.jump(30min + 59s);
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed 10800:launched");
  w.ends("a");
  w.jump(1h + 2s);
  EXPECT_EQ(w.book.of("a").back().reason, reason::missed);
}

TEST(EngineTime, M1AllRunsTheNewestOldestFirstOneAfterTheOther) {
  world w;
  rules r = with_catchup(catchup_rule::all);
  r.catchup_most = 3;
  const definition d = job_of("a", "0 * * * *", r);
  w.e->set_jobs({d}, w.now);
  w.now += 5h + 30min;
  w.restart({d});
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed 10800:launched 14400:due 18000:due");
  w.ends("a");
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed 10800:over 14400:launched 18000:due");
  w.ends("a");
  w.ends("a");
  EXPECT_EQ(told_of(w.book.of("a")), "3600:missed 7200:missed 10800:over 14400:over 18000:over");
}

TEST(EngineTime, M1TheDeadlineBoundsAge) {
  world w;
  rules r = with_catchup(catchup_rule::all);
  r.deadline = 90min;
  const definition d = job_of("a", "0 * * * *", r);
  w.e->set_jobs({d}, w.now);
  w.now += 3h + 10min;
  w.restart({d});
  EXPECT_EQ(told_of(w.book.of("a")), "3600:too_old 7200:launched 10800:due");
}

TEST(EngineTime, M1MoreThanAThousandAreOneRowWithTheirNumber) {
  world w;
  rules r;
  r.deadline = 1h;
  const definition d = job_of("a", "* * * * *", r);
  w.e->set_jobs({d}, w.now);
  w.now += 48h;
  w.restart({d});
  EXPECT_EQ(told_of(w.book.of("a")), "169140:too_old*2819 172740:missed*60 172800:launched");
  EXPECT_EQ(w.book.of("a").front().first, noon + 1min);
}

TEST(EngineTime, M1AYearOfSecondsIsCountedAndNotWalked) {
  world w;
  const std::vector<definition> jobs = {job_of("cron", "* * * * * *"),
                                        job_of("every", "@every 1s")};
  w.e->set_jobs(jobs, w.now);
  w.now += 365 * 24h;
  w.restart(jobs);
  std::uint64_t n = 0;
  for (const run& row : w.book.of("every")) n += row.count;
  EXPECT_EQ(n, 365u * 86'400);
  EXPECT_LE(w.book.of("every").size(), 3u);
  // Not all are counted here, and the row says so.
  const auto rows = w.book.of("cron");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].first, noon + 1s);
  EXPECT_EQ(rows[0].reason, reason::too_old);
  EXPECT_EQ(rows[0].note, "at least " + std::to_string(rows[0].count) + " instants");
  EXPECT_EQ(rows[2].phase, phase::launched);
}

TEST(EngineTime, M1ManyJobsAfterAYearShareWhatMayBeSpentOnThem) {
  world w;
  std::vector<definition> jobs;
  for (int n = 0; n < 2'000; ++n) jobs.push_back(job_of("j" + std::to_string(n), "0 * * * *"));
  w.e->set_jobs(jobs, w.now);
  w.now += 365 * 24h;
  w.restart(jobs);
  // At most three a job, and ten thousand that stand alone.
  EXPECT_LE(w.book.rows.size(), 2'000u * 3 + 10'000);
  std::set<std::string> covered;
  for (const auto& [id, r] : w.book.rows) {
    if (r.first == noon + 1h) covered.insert(r.job);
    if (r.count > 1) {
      EXPECT_TRUE(r.count >= 8'000 || r.count == 24 || !r.note.empty()) << r.count;
    }
  }
  EXPECT_EQ(covered.size(), 2'000u);  // each from its first missed instant on
}

TEST(EngineTime, M2RebootRunsOnceABoot) {
  world w;
  const std::vector<definition> jobs = {job_of("a", "@reboot")};
  w.e->restore(w.now);
  w.e->set_jobs(jobs, w.now);
  ASSERT_EQ(w.book.of("a").size(), 1u);
  EXPECT_EQ(w.book.of("a")[0].why, trigger::reboot);
  w.ends("a");
  w.go(1min);
  w.restart(jobs);
  w.e->set_jobs(jobs, w.now);
  EXPECT_EQ(w.book.of("a").size(), 1u);
  w.options.boot = "boot 2";
  w.go(1min);
  w.restart(jobs);
  EXPECT_EQ(w.book.of("a").size(), 2u);
}

TEST(EngineTime, M2AJobThatIsAddedLaterWaitsForTheNextBoot) {
  world w;
  w.e->set_jobs({}, w.now);
  const std::vector<definition> jobs = {job_of("a", "@reboot")};
  w.e->set_jobs(jobs, w.now);
  EXPECT_TRUE(w.book.of("a").empty());
  w.restart(jobs);
  EXPECT_TRUE(w.book.of("a").empty());
  w.options.boot = "boot 2";
  w.restart(jobs);
  EXPECT_EQ(w.book.of("a").size(), 1u);
}

TEST(EngineTime, M3WhilePausedInstantsAreRecordedAsSkipped) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.go(1min);
  w.ends("a");
  // The second instant has passed before, unseen.
  w.now += 1min;
  EXPECT_TRUE(w.e->pause("a", w.now));
  w.ends("a");
  EXPECT_TRUE(w.book.jobs.at("a").paused);
  w.go(1min);
  w.now += 1min;
  EXPECT_TRUE(w.e->resume("a", w.now));
  w.go(1min);
  EXPECT_EQ(told_of(w.book.of("a")), "60:over 120:over 180:paused 240:paused 300:launched");
  EXPECT_FALSE(w.e->pause("b", w.now));
  EXPECT_EQ(w.told(kind::job_paused), 1);
  EXPECT_EQ(w.told(kind::job_resumed), 1);
}

TEST(EngineTime, M3SeveralThatPassTogetherWhilePausedAreAllSkippedForThat) {
  world w;
  w.e->set_jobs({job_of("a", "* * * * *")}, w.now);
  w.e->pause("a", w.now);
  w.jump(3min);
  EXPECT_EQ(told_of(w.book.of("a")), "60:paused 120:paused 180:paused");
}

TEST(EngineTime, M3APauseSurvivesARestartAndAManualRunDoesNotCare) {
  world w;
  const std::vector<definition> jobs = {job_of("a", "* * * * *")};
  w.e->set_jobs(jobs, w.now);
  w.e->pause("a", w.now);
  w.restart(jobs);
  w.go(1min);
  EXPECT_EQ(told_of(w.book.of("a")), "60:paused");
  w.e->run_job("a", "me", false, w.now);
  EXPECT_EQ(w.e->running().size(), 1u);
}

TEST(EngineTime, T4NewDataOfAZoneMovesWhatComesNext) {
  const rota::test::zone_folder zones;
  zones.put("GMT-1", "Engine");
  definition d = job_of("a", "");
  d.when = schedule::parse("30 13 * * *", {.name = "a", .zone = time_zone::find("Engine").value()});
  world w;
  w.e->set_jobs({d, job_of("b", "@every 1h")}, w.now);
  EXPECT_EQ(w.e->wake_at(), noon + 30min);
  zones.put("GMT-2", "Engine");
  ASSERT_EQ(time_zone::read_again().size(), 1u);
  w.e->zones_changed(w.now);
  EXPECT_EQ(w.e->find("a")->next, noon + 23h + 30min) << "today's has been, by the new data";
  EXPECT_EQ(w.e->wake_at(), noon + 1h);
  zones.put("GMT+0", "Engine");
  ASSERT_EQ(time_zone::read_again().size(), 1u);
  w.e->zones_changed(w.now);
  w.go(1h + 30min);
  EXPECT_EQ(told_of(w.book.of("a")), "5400:launched");
}

// --- a pause is a fact about owner and name ------------------------------------------------------

const std::vector<definition> paused_jobs = {job_of("a", "* * * * *"), job_of("b", "@every 1h")};

bool is_paused(const world& w, std::string_view name) { return w.e->find(name)->row.paused; }

TEST(EngineTime, M3APauseOutlivesTheAbsenceOfItsJob) {
  for (const bool crash : {false, true}) {
    world w;
    w.e->set_jobs(paused_jobs, w.now);
    w.e->pause("a", w.now);
    if (crash)
      w.restart({paused_jobs[1]});
    else
      w.e->set_jobs({paused_jobs[1]}, w.now);
    EXPECT_FALSE(w.e->find("a"));
    w.go(24h * 29);
    if (crash) w.restart({paused_jobs[1]});
    w.e->set_jobs(paused_jobs, w.now);
    EXPECT_TRUE(is_paused(w, "a"));
    EXPECT_FALSE(is_paused(w, "b"));
    w.go(1min);
    EXPECT_EQ(w.book.of("a").at(0).reason, reason::paused);
    // It is over when it is resumed, and does not come back.
    w.e->resume("a", w.now);
    w.e->set_jobs({paused_jobs[1]}, w.now);
    EXPECT_TRUE(w.book.pauses.empty());
    w.e->set_jobs(paused_jobs, w.now);
    EXPECT_FALSE(is_paused(w, "a"));
  }
}

TEST(EngineTime, M3APauseEndsAfterThirtyDaysOfAbsence) {
  world w;
  w.e->set_jobs(paused_jobs, w.now);
  w.e->pause("a", w.now);
  w.e->pause("b", w.now);
  w.go(24h * 40);  // there, it stays paused for as long as one likes
  EXPECT_TRUE(is_paused(w, "a"));
  w.e->set_jobs({}, w.now);
  w.jump(24h * 30 + 1h);
  w.e->set_jobs({paused_jobs[0]}, w.now);
  EXPECT_FALSE(is_paused(w, "a"));
  EXPECT_TRUE(w.book.pauses.empty()) << "nothing is kept for ever";
}

TEST(EngineTime, M3APauseIsOfOneOwner) {
  world w;
  definition others = paused_jobs[0];
  others.owner = "other";
  w.e->set_jobs(paused_jobs, w.now);
  w.e->pause("a", w.now);
  w.e->set_jobs({others}, w.now);
  EXPECT_FALSE(is_paused(w, "a"));
  w.restart({others});
  EXPECT_FALSE(is_paused(w, "a"));
  w.e->set_jobs(paused_jobs, w.now);
  EXPECT_TRUE(is_paused(w, "a"));
}

TEST(EngineTime, M3APauseOfALedgerBeforePausesHadRowsIsTakenOver) {
  world w;
  w.e->set_jobs(paused_jobs, w.now);
  w.e->pause("a", w.now);
  w.book.pauses.clear();
  w.restart(paused_jobs);
  EXPECT_TRUE(is_paused(w, "a"));
  w.e->set_jobs({}, w.now);
  w.e->set_jobs(paused_jobs, w.now);
  EXPECT_TRUE(is_paused(w, "a"));
}

}  // namespace
}  // namespace rota::job::test
