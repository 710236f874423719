// A broken promise shows as a job that does not run (each wait has a time limit), runs twice, or as
// a pool that burns processor time while there is nothing to do.

#include "pool/pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "pool/test_job.h"
#include "support/stress.h"

namespace rota::detail {

struct inspect {
  // A worker that has found itself to be of no use rests for so long. From its own step.
  static void rest(worker& w, std::chrono::nanoseconds length) {
    w.rests_when_.rest_ = length;
    w.rests_when_.glance_ = {sync::now(), w.home().work()};
    w.rest();
  }
  static bool claim_trial(pool& p, std::int64_t& mine, sync::time_point now,
                          sync::time_point until) {
    return p.claim_trial(mine, now, until);
  }
  static void end_trial(pool& p, std::int64_t& mine) { p.end_trial(mine); }
};

}  // namespace rota::detail

namespace {

using namespace std::chrono_literals;
using rota::options;
using rota::detail::inspect;
using rota::detail::job;
using rota::detail::pool;
using rota::detail::pool_hooks;
using rota::detail::timer_driver;
using rota::detail::worker;
using rota::test::detached;
using rota::test::give_way;
using rota::test::push_here;
using rota::test::ready_again;
using rota::test::ready_here;
using rota::test::this_worker;
using rota::test::wait_for;
using clock_type = std::chrono::steady_clock;

options with(unsigned workers) { return options{}.with_workers(workers); }

[[gnu::noinline]] unsigned my_index() { return this_worker().index(); }

detached count(std::atomic<std::uint64_t>& ran) {
  ran.fetch_add(1);
  co_return;
}

detached count_steps(std::atomic<std::uint64_t>& ran, int steps) {
  for (int i = 0; i < steps; ++i) {
    ran.fetch_add(1);
    if (i % 2 == 0)
      co_await give_way{};
    else
      co_await ready_again{};
  }
}

// Sleeps inside its step: the worker is taken, the processor is not.
detached block_until(std::atomic<bool>& began, const std::atomic<bool>& go_on,
                     std::atomic<bool>& ended) {
  began.store(true);
  while (!go_on.load()) std::this_thread::sleep_for(1ms);
  ended.store(true);
  co_return;
}

// What the whole process has used so far.
std::chrono::microseconds processor_time() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return std::chrono::seconds(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         std::chrono::microseconds(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

std::chrono::microseconds used_during(std::chrono::milliseconds length) {
  const auto before = processor_time();
  std::this_thread::sleep_for(length);
  return processor_time() - before;
}

class pools : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(sizes, pools, testing::Values(1u, 2u, 4u, 60u));

TEST_P(pools, every_posted_job_runs_exactly_once) {
  const std::uint64_t each = rota::test::sanitized ? 3000 : 20'000;
  std::vector<std::atomic<std::uint64_t>> ran(2 * each);
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  rota::test::run_together(2, [&](unsigned index) {
    for (std::uint64_t i = 0; i < each; ++i) p.post(count(ran[index * each + i]).job());
  });
  EXPECT_TRUE(wait_for(
      [&] { return std::all_of(ran.begin(), ran.end(), [](auto& n) { return n.load() != 0; }); }));
  p.stop();
  for (auto& n : ran) ASSERT_EQ(n.load(), 1u);
}

TEST_P(pools, jobs_that_give_way_go_on) {
  constexpr int jobs = 100;
  constexpr int steps = 50;
  std::atomic<std::uint64_t> ran{0};
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  for (int i = 0; i < jobs; ++i) p.post(count_steps(ran, steps).job());
  EXPECT_TRUE(wait_for([&] { return ran.load() == jobs * steps; })) << ran.load();
  std::this_thread::sleep_for(5ms);  // the last of them end
  p.stop();
  EXPECT_EQ(ran.load(), std::uint64_t{jobs * steps});
}

TEST_P(pools, a_job_may_be_posted_before_the_start) {
  std::atomic<std::uint64_t> ran{0};
  pool p{with(GetParam()), pool_hooks{}};
  for (int i = 0; i < 10; ++i) p.post(count(ran).job());
  p.start();
  EXPECT_TRUE(wait_for([&] { return ran.load() == 10; })) << ran.load();
}

detached post_others(pool& p, std::atomic<std::uint64_t>& ran, int others) {
  for (int i = 0; i < others; ++i) p.post(count(ran).job());
  co_return;
}

TEST_P(pools, jobs_may_post_jobs) {
  std::atomic<std::uint64_t> ran{0};
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  for (int i = 0; i < 100; ++i) p.post(post_others(p, ran, 20).job());
  EXPECT_TRUE(wait_for([&] { return ran.load() == 2000; })) << ran.load();
}

detached note_order(std::vector<int>& order, int me, int steps, std::atomic<int>& left) {
  for (int i = 0; i < steps; ++i) {
    order.push_back(me);
    co_await give_way{};
  }
  left.fetch_sub(1);
}

TEST(pool, one_worker_runs_jobs_that_give_way_in_turn) {
  for (const auto o : {rota::order::fair, rota::order::strict}) {
    std::vector<int> order;
    std::atomic<int> left{3};
    pool p{with(1).with_order(o), pool_hooks{}};
    for (int i = 0; i < 3; ++i) p.post(note_order(order, i, 10, left).job());
    p.start();
    ASSERT_TRUE(wait_for([&] { return left.load() == 0; }));
    p.stop();
    for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], order[i % 3]) << i;
    EXPECT_EQ(order.size(), 30u);
  }
}

TEST(pool, strict_order_has_one_worker) {
  pool p{with(4).with_order(rota::order::strict), pool_hooks{}};
  EXPECT_EQ(p.size(), 1u);
}

// --- stopping
// -------------------------------------------------------------------------------------

TEST_P(pools, an_idle_pool_stops) {
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  std::this_thread::sleep_for(10ms);
  p.stop();
  p.stop();  // again does no harm
}

TEST_P(pools, a_pool_that_was_never_started_stops) {
  pool p{with(GetParam()), pool_hooks{}};
  p.stop();
}

TEST_P(pools, stop_joins_with_jobs_queued) {
  constexpr int jobs = 2000;
  std::vector<job*> all;
  std::vector<std::atomic<std::uint64_t>> ran(jobs);
  {
    pool p{with(GetParam()), pool_hooks{}};
    p.start();
    for (auto& r : ran) all.push_back(count(r).job());
    for (job* j : all) p.post(j);
    p.stop();
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_LE(ran[i].load(), 1u);
    if (ran[i].load() == 0) all[i]->frame.destroy();  // stayed where it was
  }
}

detached for_ever(std::atomic<std::uint64_t>& steps) {
  for (;;) {
    steps.fetch_add(1);
    co_await give_way{};
  }
}

TEST_P(pools, stop_joins_while_jobs_go_on_for_ever) {
  std::vector<job*> all;
  std::atomic<std::uint64_t> steps{0};
  {
    pool p{with(GetParam()), pool_hooks{}};
    p.start();
    for (int i = 0; i < 5; ++i) all.push_back(for_ever(steps).job());
    for (job* j : all) p.post(j);
    EXPECT_TRUE(wait_for([&] { return steps.load() > 1000; }));
    p.stop();
  }
  for (job* j : all) j->frame.destroy();
}

// --- idleness
// -------------------------------------------------------------------------------------

constexpr auto idle_limit = 5ms;

TEST_P(pools, an_idle_pool_burns_no_processor_time) {
  std::atomic<std::uint64_t> ran{0};
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  for (int i = 0; i < 100; ++i) p.post(count_steps(ran, 10).job());
  ASSERT_TRUE(wait_for([&] { return ran.load() == 1000; }));
  std::this_thread::sleep_for(150ms);  // a lookout notices that nobody runs at the end of its nap
  EXPECT_LT(used_during(200ms), idle_limit);
}

TEST(pool, a_long_step_costs_the_idle_workers_nearly_nothing) {
  for (const unsigned workers : {2u, 4u}) {
    std::atomic<bool> began{false}, go_on{false}, ended{false};
    pool p{with(workers), pool_hooks{}};
    p.start();
    p.post(block_until(began, go_on, ended).job());
    ASSERT_TRUE(wait_for([&] { return began.load(); }));
    std::this_thread::sleep_for(150ms);
    // The blocked step itself wakes once a millisecond: some microseconds each.
    EXPECT_LT(used_during(200ms), rota::test::sanitized ? 4 * idle_limit : 2 * idle_limit)
        << workers << " workers";
    go_on.store(true);
    ASSERT_TRUE(wait_for([&] { return ended.load(); }));
  }
}

// --- work_conserving
// ------------------------------------------------------------------------------

detached busy(std::array<std::atomic<std::uint64_t>, 2>& by) {
  by[my_index()].fetch_add(1);
  const auto until = clock_type::now() + 50us;
  while (clock_type::now() < until) rota::test::spin(10);
  co_return;
}

detached burst(std::array<std::atomic<std::uint64_t>, 2>& by, int size) {
  for (int i = 0; i < size; ++i) push_here(busy(by).job());
  co_return;
}

TEST(pool, a_burst_pushed_by_one_worker_is_run_by_both) {
  constexpr int size = 2000;
  std::array<std::atomic<std::uint64_t>, 2> by{};
  pool p{with(2), pool_hooks{}};
  p.start();
  std::this_thread::sleep_for(5ms);  // both asleep
  p.post(burst(by, size).job());
  ASSERT_TRUE(wait_for([&] { return by[0].load() + by[1].load() == size; }));
  p.stop();
  const auto stats = p.statistics();
  EXPECT_GT(by[0].load(), 0u);
  EXPECT_GT(by[1].load(), 0u);
  EXPECT_GE(stats.steals, 1u);
  EXPECT_GE(stats.stolen, stats.steals);
}

// A job and the one that it makes ready: the first does not give way before the second has run.
struct stuck_pair {
  std::atomic<bool> first_began{false};
  std::atomic<bool> second_ran{false};
  std::atomic<bool> given_up{false};
  std::atomic<bool> ended{false};
  std::chrono::nanoseconds took{0};
};

detached second(stuck_pair& pair) {
  pair.second_ran.store(true);
  co_return;
}

void wait_for_second(stuck_pair& pair) {
  const auto began = clock_type::now();
  ready_here(second(pair).job());
  if (!wait_for([&] { return pair.second_ran.load(); }, 5s)) pair.given_up.store(true);
  pair.took = clock_type::now() - began;
}

detached first(stuck_pair& pair, std::chrono::milliseconds before) {
  pair.first_began.store(true);
  std::this_thread::sleep_for(before);
  wait_for_second(pair);
  pair.ended.store(true);
  co_return;
}

// Of several tries the middle one counts: a busy machine may be late by itself.
TEST(pool, a_job_stuck_in_the_next_slot_behind_a_long_step_is_taken_by_the_lookout) {
  for (const unsigned workers : {2u, 3u}) {
    for (const auto before : {0ms, 150ms}) {
      std::vector<std::chrono::nanoseconds> times;
      for (int i = 0; i < 5; ++i) {
        stuck_pair pair;
        pool p{with(workers), pool_hooks{}};
        p.start();
        p.post(first(pair, before).job());
        ASSERT_TRUE(wait_for([&] { return pair.ended.load(); }));
        ASSERT_FALSE(pair.given_up.load())
            << "a job was stuck for 5 s while a worker slept; " << workers << " workers, "
            << before.count() << " ms into the step";
        times.push_back(pair.took);
      }
      std::nth_element(times.begin(), times.begin() + 2, times.end());
      EXPECT_LT(times[2], 200ms) << workers << " workers, " << before.count()
                                 << " ms into the step";
    }
  }
}

detached rests(std::chrono::nanoseconds length) {
  inspect::rest(this_worker(), length);
  co_return;
}

// Queues the second, which anybody may take, while all others rest. A rest is short if all is well:
// it may be over before we see it, so its beginning is what counts. While it waits it sends so many
// messages each time that it looks.
detached queues_beside_a_rest(stuck_pair& pair, const pool& p, int messages) {
  pair.first_began.store(true);
  if (!wait_for([&] { return p.statistics().rests != 0; }, 5s)) pair.given_up.store(true);
  const auto began = clock_type::now();
  push_here(second(pair).job());
  const auto second_ran = [&] {
    for (int i = 0; i < messages; ++i) this_worker().count_message();
    return pair.second_ran.load();
  };
  if (!wait_for(second_ran, 5s)) pair.given_up.store(true);
  pair.took = clock_type::now() - began;
  pair.ended.store(true);
  co_return;
}

// A rest may be long, but who rests looks now and then whether steps have become long, also if what
// goes on in them is that messages are sent.
TEST(pool, a_job_behind_a_long_step_does_not_wait_for_a_rest_to_end) {
  for (const int messages : {0, 10'000}) {
    std::vector<std::chrono::nanoseconds> times;
    for (int i = 0; i < 5; ++i) {
      stuck_pair pair;
      pool p{with(2).with_longest_rest(60s), pool_hooks{}};
      p.start();
      p.post(queues_beside_a_rest(pair, p, messages).job());
      ASSERT_TRUE(wait_for([&] { return pair.first_began.load(); }));
      p.post(rests(60s).job());
      ASSERT_TRUE(wait_for([&] { return pair.ended.load(); }));
      p.stop();
      ASSERT_FALSE(pair.given_up.load()) << "a job waited for 5 s while a worker rested";
      times.push_back(pair.took);
    }
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    EXPECT_LT(times[2], 100ms) << messages;
  }
}

// Otherwise a long step would keep all others from finding out whether they are of use.
TEST(pool, a_trial_that_is_not_renewed_goes_to_another_worker) {
  pool p{with(2), pool_hooks{}};
  const rota::sync::time_point now{1s};
  std::int64_t one = 0;
  std::int64_t other = 0;
  EXPECT_TRUE(inspect::claim_trial(p, one, now, now + 2ms));
  EXPECT_FALSE(inspect::claim_trial(p, other, now + 1ms, now + 3ms));
  EXPECT_TRUE(inspect::claim_trial(p, one, now + 1ms, now + 3ms)) << "it is its own";
  EXPECT_FALSE(inspect::claim_trial(p, other, now + 2ms, now + 4ms)) << "it was renewed";
  EXPECT_TRUE(inspect::claim_trial(p, other, now + 4ms, now + 6ms));
  EXPECT_FALSE(inspect::claim_trial(p, one, now + 5ms, now + 7ms)) << "it is too late";
  inspect::end_trial(p, one);
  EXPECT_FALSE(inspect::claim_trial(p, one, now + 5ms, now + 7ms)) << "it has ended another's";
  inspect::end_trial(p, other);
  EXPECT_TRUE(inspect::claim_trial(p, one, now + 5ms, now + 7ms));
}

// A long step with a lookout for sure: somebody has taken a job out of its next slot, and with this
// step still running goes back to its naps.
detached block_with_lookout(std::atomic<bool>& began, const std::atomic<bool>& go_on,
                            std::atomic<bool>& ended) {
  stuck_pair warm_up;
  wait_for_second(warm_up);
  std::this_thread::sleep_for(20ms);
  began.store(true);
  while (!go_on.load()) std::this_thread::sleep_for(1ms);
  ended.store(true);
  co_return;
}

// A timer for one job.
class one_timer : public timer_driver {
 public:
  explicit one_timer(pool&) {}

  void set(unsigned of, job* j, rota::sync::time_point when) {
    of_ = of;
    job_.store(j);
    when_.store(when.time_since_epoch().count());
  }
  bool fire(worker& w, unsigned of, rota::sync::time_point now) override {
    if (now < next(of)) return false;
    job* j = job_.exchange(nullptr);
    when_.store(rota::sync::time_point::max().time_since_epoch().count());
    if (!j) return false;
    w.push(j);
    return true;
  }
  rota::sync::time_point next(unsigned of) const noexcept override {
    if (of != of_) return rota::sync::time_point::max();
    return rota::sync::time_point{rota::sync::clock::duration{when_.load()}};
  }

 private:
  std::atomic<unsigned> of_{0};
  std::atomic<job*> job_{nullptr};
  std::atomic<std::int64_t> when_{rota::sync::time_point::max().time_since_epoch().count()};
};

one_timer& timer_of(pool& p) {
  return static_cast<one_timer&>(p.timers_or([](pool& home) -> std::unique_ptr<timer_driver> {
    return std::make_unique<one_timer>(home);
  }));
}

// Runs by the timer on the worker that was the lookout; lets the long step end and waits until its
// worker sleeps, before it gets a job of its own stuck.
detached outlive(stuck_pair& pair, pool& p, std::atomic<bool>& let_go) {
  pair.first_began.store(true);
  const unsigned other = 1 - my_index();
  let_go.store(true);
  wait_for([&] { return p.at(other).notifier().is_parked(); }, 5s);
  std::this_thread::sleep_for(10ms);
  wait_for_second(pair);
  pair.ended.store(true);
  co_return;
}

TEST(pool, a_lookout_that_a_timer_called_to_work_hands_its_role_on) {
  for (const unsigned of : {0u, 1u}) {
    std::atomic<bool> began{false}, let_go{false}, ended{false};
    stuck_pair pair;
    pool p{with(2), pool_hooks{}};
    timer_of(p);
    p.start();
    p.post(block_with_lookout(began, let_go, ended).job());
    ASSERT_TRUE(wait_for([&] { return began.load(); }));
    timer_of(p).set(of, outlive(pair, p, let_go).job(), rota::sync::now() + 5ms);
    ASSERT_TRUE(wait_for([&] { return pair.ended.load(); }));
    EXPECT_FALSE(pair.given_up.load())
        << "a job was stuck for 5 s while the other worker slept; timer of worker " << of;
    p.stop();
  }
}

detached hold_lookouts_work(stuck_pair& pair, std::atomic<bool>& began, std::atomic<bool>& go_on) {
  ready_here(second(pair).job());
  began.store(true);
  while (!go_on.load()) std::this_thread::sleep_for(1ms);
  co_return;
}

// Three workers: one in a long step with a job in its next slot, of which the lookout knows; then
// the lookout is called away by its timer. The third has to take over.
TEST(pool, a_stuck_job_is_taken_also_when_the_lookout_is_called_away) {
  std::atomic<bool> began{false}, go_on{false}, timer_began{false}, timer_ended{false};
  stuck_pair pair;
  pool p{with(3), pool_hooks{}};
  timer_of(p);
  p.start();
  std::atomic<bool> warm_began{false}, warm_ended{false}, warm_go{false};
  p.post(block_with_lookout(warm_began, warm_go, warm_ended).job());
  ASSERT_TRUE(wait_for([&] { return warm_began.load(); }));
  timer_of(p).set(0, block_until(timer_began, go_on, timer_ended).job(), rota::sync::now() + 10ms);
  ASSERT_TRUE(wait_for([&] { return timer_began.load(); }, 5s));
  p.post(hold_lookouts_work(pair, began, go_on).job());
  ASSERT_TRUE(wait_for([&] { return began.load(); }, 5s));
  // All three are in long steps now; the first of them ends, so that one worker is free.
  warm_go.store(true);
  const bool taken = wait_for([&] { return pair.second_ran.load(); }, 3s);
  EXPECT_TRUE(taken) << "a job was stuck for 3 s while a worker slept";
  go_on.store(true);
  EXPECT_TRUE(wait_for([&] { return timer_ended.load() && pair.second_ran.load(); }));
  p.stop();
}

// --- statistics
// -----------------------------------------------------------------------------------

detached hop(std::atomic<std::uint64_t>& left, int steps) {
  for (int i = 0; i < steps; ++i) {
    rota::test::spin(20);
    if (i % 3 == 0)
      co_await ready_again{};
    else
      co_await give_way{};
  }
  left.fetch_sub(1);
}

TEST_P(pools, steals_keep_the_ready_delay_sane) {
  constexpr std::uint64_t jobs = 300;
  constexpr int steps = 40;
  std::atomic<std::uint64_t> left{jobs};
  pool p{with(GetParam()), pool_hooks{}};
  p.start();
  for (std::uint64_t i = 0; i < jobs; ++i) p.post(hop(left, steps).job());
  ASSERT_TRUE(wait_for([&] { return left.load() == 0; }));
  p.stop();
  const auto stats = p.statistics();
  // A wait that was brought along from another worker goes on counting here, so that each worker
  // may add its share.
  EXPECT_LE(stats.max_ready_delay, p.size() * (jobs + rota::fairness_slack));
  std::uint64_t waits = 0;
  for (const std::uint64_t n : stats.ready_delay) waits += n;
  EXPECT_EQ(waits, jobs * (steps + 1)) << "each step began with one wait";
  EXPECT_GE(stats.points, waits);
  EXPECT_LE(stats.ready_delay_quantile(0.5), stats.max_ready_delay);
}

TEST(pool, one_worker_keeps_the_fairness_contract) {
  constexpr std::uint64_t jobs = 100;
  std::atomic<std::uint64_t> left{jobs};
  pool p{with(1), pool_hooks{}};
  for (std::uint64_t i = 0; i < jobs; ++i) p.post(hop(left, 100).job());
  p.start();
  ASSERT_TRUE(wait_for([&] { return left.load() == 0; }));
  p.stop();
  EXPECT_LE(p.statistics().max_ready_delay, jobs + rota::fairness_slack);
}

// --- forks
// ----------------------------------------------------------------------------------------

detached run_fork(std::atomic<std::uint64_t>& ran) {
  ran.fetch_add(1);
  co_return;
}

detached leave_forks(std::vector<job*>& forks, std::atomic<std::uint64_t>& ran, bool wait) {
  worker& w = this_worker();
  for (job* f : forks) {
    w.forks().push(f);
    w.offer_work();
  }
  // Others may take them while this step goes on ...
  if (wait) wait_for([&] { return ran.load() == forks.size(); });
  co_return;  // ... or they line up when it ends.
}

TEST(pool, forks_are_taken_by_others_or_line_up_at_the_end_of_the_step) {
  pool_hooks hooks;
  hooks.adopt_fork = [](worker&, void* fork) { return static_cast<job*>(fork); };
  for (const unsigned workers : {1u, 2u}) {
    for (const bool wait : {false, true}) {
      if (wait && workers == 1) continue;
      std::atomic<std::uint64_t> ran{0};
      std::vector<job*> forks;
      for (int i = 0; i < 50; ++i) forks.push_back(run_fork(ran).job());
      pool p{with(workers), hooks};
      p.start();
      p.post(leave_forks(forks, ran, wait).job());
      ASSERT_TRUE(wait_for([&] { return ran.load() == 50; })) << workers << " workers, " << wait;
      p.stop();
      EXPECT_EQ(p.statistics().forks_taken, 50u);
    }
  }
}

// --- quiet
// ----------------------------------------------------------------------------------------

TEST_P(pools, quiet_is_called_when_nothing_is_left_and_nothing_is_expected) {
  std::atomic<int> quiet{0};
  pool_hooks hooks;
  hooks.quiet = [](void* context, std::uint64_t) {
    static_cast<std::atomic<int>*>(context)->fetch_add(1);
  };
  hooks.context = &quiet;
  std::atomic<bool> began{false}, go_on{false}, ended{false};
  pool p{with(GetParam()), hooks};
  p.start();
  p.expect_outside(1);
  p.await_quiet(1);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(quiet.load(), 0) << "something was expected from outside";
  p.post(block_until(began, go_on, ended).job());
  ASSERT_TRUE(wait_for([&] { return began.load(); }));
  p.expect_outside(-1);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(quiet.load(), 0) << "a job runs";
  go_on.store(true);
  EXPECT_TRUE(wait_for([&] { return quiet.load() > 0; }));
  p.await_quiet(-1);
}

}  // namespace
