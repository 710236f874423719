// Functions on a scheduler, mostly with a clock that the test sets. A broken promise shows as a
// function that ran too often, or as a wait that ends after ten seconds.
#include <rota/job/scheduler.h>

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>

#include "support/scratch_folder.h"
#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::test::eventually;
namespace job = rota::job;

rota::instant at(const char* text) { return rota::parse_instant(text).value(); }

// A runtime, a clock and a scheduler on it.
struct scheduled {
  explicit scheduled(rota::scheduler_options o = {}) {
    o.clock = [this] { return rota::instant{std::chrono::milliseconds{now.load()}}; };
    s.emplace(rt, std::move(o));
    s->on_event([this](const job::engine_event& e) {
      const std::lock_guard guard{mutex};
      events.push_back(e);
    });
  }

  void set(const char* text) { now = at(text).time_since_epoch().count(), s->clock_changed(); }
  void forward(std::chrono::milliseconds d) { now += d.count(), s->clock_changed(); }

  // How many rows have ended so.
  std::size_t ends(job::outcome o) {
    using kind = job::engine_event::kind;
    const std::lock_guard guard{mutex};
    std::size_t n = 0;
    for (const auto& e : events)
      if ((e.what == kind::run_over || e.what == kind::run_skipped) && e.run && e.run->outcome == o)
        ++n;
    return n;
  }
  bool ended(job::outcome o, std::size_t times) {
    return eventually([&] { return ends(o) == times; });
  }

  std::atomic<std::int64_t> now{at("2026-01-01T00:00:00Z").time_since_epoch().count()};
  rota::runtime rt{rota::test::with_workers(2)};
  std::mutex mutex;
  std::vector<job::engine_event> events;
  std::optional<rota::scheduler> s;  // last: it ends first
};

const rota::schedule minutely() { return rota::schedule::parse("* * * * *"); }

TEST(Scheduler, AFunctionRunsWhenItIsDueAndNotBefore) {
  scheduled t;
  std::atomic<int> runs{0};
  t.s->add("minutely", minutely(), [&] { ++runs; });
  EXPECT_EQ(t.s->next("minutely"), at("2026-01-01T00:01:00Z"));
  t.set("2026-01-01T00:00:59Z");
  EXPECT_EQ(t.s->next("minutely"), at("2026-01-01T00:01:00Z"));
  EXPECT_EQ(runs, 0);
  t.set("2026-01-01T00:01:00Z");
  EXPECT_TRUE(t.ended(job::outcome::success, 1));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(t.s->next("minutely"), at("2026-01-01T00:02:00Z"));
}

TEST(Scheduler, ACoroutineGetsTheRunAndItsInstant) {
  scheduled t;
  std::atomic<std::int64_t> when{0};
  t.s->add("hourly", rota::schedule::parse("@hourly"), [&](const job::run& r) -> rota::task<void> {
    co_await rota::suspend();
    when = r.scheduled.time_since_epoch().count();
  });
  t.set("2026-01-01T01:00:07Z");
  EXPECT_TRUE(t.ended(job::outcome::success, 1));
  EXPECT_EQ(when, at("2026-01-01T01:00:00Z").time_since_epoch().count());
}

TEST(Scheduler, C1AtMostMaxActiveFunctionsRun) {
  rota::scheduler_options o;
  o.max_active = 2;
  std::atomic<int> active{0};
  std::atomic<int> most{0};
  std::atomic<bool> open{false};
  scheduled t{std::move(o)};
  for (int i = 0; i < 8; ++i)
    t.s->add("job" + std::to_string(i), minutely(), [&]() -> rota::task<void> {
      const int n = ++active;
      for (int seen = most; seen < n && !most.compare_exchange_weak(seen, n);) {
      }
      while (!open) co_await rota::sleep_for(1ms);
      --active;
    });
  t.forward(1min);
  EXPECT_TRUE(eventually([&] { return active == 2; }));
  EXPECT_EQ(t.s->running().size(), 2U);
  EXPECT_EQ(t.s->waiting().size(), 6U);
  open = true;
  EXPECT_TRUE(t.ended(job::outcome::success, 8));
  EXPECT_EQ(most, 2);
}

TEST(Scheduler, O1AFunctionThatStillRunsIsNotStartedAgain) {
  std::atomic<bool> open{false};
  std::atomic<int> runs{0};
  scheduled t;
  t.s->add("slow", minutely(), [&]() -> rota::task<void> {
    ++runs;
    while (!open) co_await rota::sleep_for(1ms);
  });
  t.forward(1min);
  EXPECT_TRUE(eventually([&] { return runs == 1; }));
  t.forward(1min);
  EXPECT_TRUE(t.ended(job::outcome::skipped, 1));
  open = true;
  EXPECT_TRUE(t.ended(job::outcome::success, 1));
  EXPECT_EQ(runs, 1);
}

TEST(Scheduler, R1AFunctionThatThrowsHasFailedAndIsTriedAgain) {
  std::atomic<int> attempts{0};
  scheduled t;
  job::rules rules;
  rules.retry.count = 2;
  rules.retry.delay = 10s;
  rules.retry.jitter = 0;
  t.s->add("fails", rota::schedule::parse("@hourly"), rules, [&](const job::run& r) {
    attempts = static_cast<int>(r.attempt);
    if (r.attempt < 3) throw std::runtime_error("no luck");
  });
  t.set("2026-01-01T01:00:00Z");
  EXPECT_TRUE(t.ended(job::outcome::failed, 1));
  t.forward(9s);
  EXPECT_EQ(attempts, 1);
  t.forward(1s);
  EXPECT_TRUE(t.ended(job::outcome::failed, 2));
  t.forward(20s);
  EXPECT_TRUE(t.ended(job::outcome::success, 1));
  EXPECT_EQ(attempts, 3);
  const std::lock_guard guard{t.mutex};
  bool said = false;
  for (const auto& e : t.events) said = said || (e.run && e.run->note == "no luck");
  EXPECT_TRUE(said);
}

TEST(Scheduler, C4AFunctionThatTakesTooLongIsStopped) {
  scheduled t;
  job::rules rules;
  rules.timeout = 5ms;
  t.s->add("long", minutely(), rules, []() -> rota::task<void> { co_await rota::sleep_for(1h); });
  t.forward(1min);
  EXPECT_TRUE(t.ended(job::outcome::timed_out, 1));
}

TEST(Scheduler, C3AManualRunCanBeCancelled) {
  std::atomic<bool> begun{false};
  scheduled t;
  t.s->add("asked", rota::schedule{}, [&]() -> rota::task<void> {
    begun = true;
    co_await rota::sleep_for(1h);
  });
  EXPECT_FALSE(t.s->run("another"));
  const auto id = t.s->run("asked");
  ASSERT_TRUE(id);
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  EXPECT_TRUE(t.s->cancel(*id));
  EXPECT_TRUE(t.ended(job::outcome::cancelled, 1));
  EXPECT_FALSE(t.s->cancel(*id));
}

TEST(Scheduler, M3WhatAPausedJobMissesIsRecordedAsSkipped) {
  std::atomic<int> runs{0};
  scheduled t;
  t.s->add("paused", minutely(), [&] { ++runs; });
  EXPECT_TRUE(t.s->pause("paused"));
  t.forward(1min);
  EXPECT_TRUE(t.ended(job::outcome::skipped, 1));
  EXPECT_TRUE(t.s->resume("paused"));
  t.forward(1min);
  EXPECT_TRUE(t.ended(job::outcome::success, 1));
  EXPECT_EQ(runs, 1);
}

TEST(Scheduler, AFunctionThatRunsOutlivesItsJob) {
  std::atomic<bool> open{false};
  std::atomic<int> seen{0};
  auto kept = std::make_shared<int>(7);
  scheduled t;
  t.s->add("removed", minutely(), [&seen, &open, kept]() -> rota::task<void> {
    while (!open) co_await rota::sleep_for(1ms);
    seen = *kept;
  });
  t.forward(1min);
  EXPECT_TRUE(eventually([&] { return t.s->running().size() == 1; }));
  EXPECT_TRUE(t.s->remove("removed"));
  EXPECT_FALSE(t.s->remove("removed"));
  open = true;
  EXPECT_TRUE(eventually([&] { return seen == 7; }));
  EXPECT_TRUE(eventually([&] { return kept.use_count() == 1; }));
}

TEST(Scheduler, TheDestructorStopsFunctionsAndWaitsForThem) {
  std::atomic<int> alive{0};
  {
    scheduled t;
    t.s->add("waits", minutely(), [&]() -> rota::task<void> {
      ++alive;
      try {
        co_await rota::sleep_for(1h);
      } catch (const rota::cancelled&) {
        --alive;
        throw;
      }
    });
    t.forward(1min);
    EXPECT_TRUE(eventually([&] { return alive == 1; }));
  }
  EXPECT_EQ(alive, 0);
}

TEST(Scheduler, M1WithAStoreTheLastOfTheMissedInstantsRuns) {
  const rota::test::scratch_folder folder;
  rota::scheduler_options o;
  o.store = folder / "jobs.db";
  std::atomic<int> runs{0};
  std::atomic<std::int64_t> last{0};
  const auto add = [&](scheduled& t) {
    t.s->add("hourly", rota::schedule::parse("@hourly"), [&](const job::run& r) {
      ++runs;
      last = r.scheduled.time_since_epoch().count();
    });
  };
  {
    scheduled t{o};
    add(t);
    t.set("2026-01-01T01:00:00Z");
    EXPECT_TRUE(t.ended(job::outcome::success, 1));
  }
  {
    scheduled t{o};
    t.set("2026-01-01T04:30:00Z");
    add(t);
    EXPECT_TRUE(t.ended(job::outcome::success, 1));
    EXPECT_TRUE(t.ended(job::outcome::skipped, 2));
    EXPECT_EQ(last, at("2026-01-01T04:00:00Z").time_since_epoch().count());
  }
  EXPECT_EQ(runs, 2);
}

TEST(Scheduler, T4EveryKeepsItsPhaseOnTheRealClock) {
  rota::runtime rt{rota::test::with_workers(2)};
  std::mutex mutex;
  std::vector<std::int64_t> instants;
  rota::scheduler s{rt};
  s.add("often", rota::every(20ms), [&](const job::run& r) {
    const std::lock_guard guard{mutex};
    instants.push_back(r.scheduled.time_since_epoch().count());
  });
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard guard{mutex};
    return instants.size() >= 5;
  }));
  const std::lock_guard guard{mutex};
  for (std::size_t i = 1; i < instants.size(); ++i)
    EXPECT_EQ((instants[i] - instants[0]) % 20, 0) << "run " << i;
  EXPECT_EQ(std::set<std::int64_t>(instants.begin(), instants.end()).size(), instants.size());
}

TEST(Scheduler, ATaskThatWaitsForAScheduledFunctionIsNoDeadlock) {
  rota::runtime rt{rota::test::with_workers(1)};
  rota::async_event done;
  rota::scheduler s{rt};
  s.add("sets", rota::every(5ms), [&] { done.set(); });
  rt.run([](rota::async_event& e) -> rota::task<void> { co_await e.wait(); }(done));
}

}  // namespace
