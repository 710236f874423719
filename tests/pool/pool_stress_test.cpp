// Watches on real threads that every job that was posted or pushed runs, exactly once, while the
// pool falls asleep and is woken all the time. A lost wake-up is a hang, which the watchdog turns
// into a failure; a job that ran twice would have freed its frame twice.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "pool/pool.h"
#include "pool/test_job.h"
#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::options;
using rota::detail::pool;
using rota::detail::pool_hooks;
using rota::detail::rng;
using rota::test::detached;
using rota::test::give_way;
using rota::test::push_here;
using rota::test::ready_again;
using rota::test::ready_here;
using rota::test::spin;
using rota::test::spin_until;

struct counters {
  std::atomic<std::uint64_t> posted{0};
  std::atomic<std::uint64_t> ran{0};
};

// What a waiting test knows when it hangs.
void report(pool& p, const counters& c) {
  std::fprintf(stderr, "posted %llu, ran %llu\n", static_cast<unsigned long long>(c.posted.load()),
               static_cast<unsigned long long>(c.ran.load()));
  for (unsigned i = 0; i < p.size(); ++i)
    std::fprintf(stderr, "worker %u: %s, %llu points\n", i,
                 p.at(i).notifier().is_parked() ? "parked" : "awake",
                 static_cast<unsigned long long>(p.at(i).points()));
  std::fputs(p.statistics().text().c_str(), stderr);
}

detached once(counters& c) {
  c.ran.fetch_add(1, std::memory_order_release);
  co_return;
}

// Makes children in every way that there is, and gives way in between.
detached tree(counters& c, std::uint64_t seed, unsigned depth) {
  rng random{seed};
  if (depth > 0) {
    for (int i = 0; i < 2; ++i) {
      c.posted.fetch_add(1, std::memory_order_relaxed);
      rota::detail::job* child = tree(c, random.next(), depth - 1).job();
      if (random.below(2) == 0)
        push_here(child);
      else
        ready_here(child);
      if (random.below(4) == 0) co_await give_way{};
      if (random.below(4) == 0) co_await ready_again{};
    }
  }
  spin(random.below(50));
  c.ran.fetch_add(1, std::memory_order_release);
}

class pools : public testing::TestWithParam<unsigned> {
 protected:
  counters c_;
  pool p_{options{}.with_workers(GetParam()), pool_hooks{}};
};
INSTANTIATE_TEST_SUITE_P(sizes, pools, testing::Values(1u, 2u, 3u, 6u));

// Each round posts a few jobs and waits for them; the next comes at some moment on the workers' way
// to sleep, which takes them some 20 us.
TEST_P(pools, a_post_to_a_pool_that_is_falling_asleep_is_not_lost) {
  const std::uint64_t rounds = rota::test::rounds(20'000, 4'000'000);
  rota::test::watchdog dog{"a posted job does not run", [&] { return c_.ran.load(); },
                           [&] { report(p_, c_); }};
  p_.start();
  rng random{rota::test::seed()};
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t jobs = 1 + random.below(3);
    for (std::uint64_t k = 0; k < jobs; ++k) {
      c_.posted.fetch_add(1);
      p_.post(once(c_).job());
    }
    spin_until([&] { return c_.ran.load(std::memory_order_acquire) == c_.posted.load(); });
    spin(random.below(random.below(4) == 0 ? 2000 : 200));
  }
  p_.stop();
  EXPECT_EQ(c_.ran.load(), c_.posted.load());
}

TEST_P(pools, posts_from_several_threads_all_run) {
  const std::uint64_t each = rota::test::rounds(20'000, 4'000'000);
  rota::test::watchdog dog{"a posted job does not run", [&] { return c_.ran.load(); },
                           [&] { report(p_, c_); }};
  p_.start();
  rota::test::run_together(3, [&](unsigned index) {
    rng random{rota::test::seed() * 10 + index};
    for (std::uint64_t i = 0; i < each; ++i) {
      c_.posted.fetch_add(1);
      p_.post(once(c_).job());
      if (random.below(8) == 0) spin(random.below(400));
      if (random.below(16) == 0) spin_until([&] { return c_.posted.load() - c_.ran.load() < 8; });
    }
  });
  spin_until([&] { return c_.ran.load(std::memory_order_acquire) == c_.posted.load(); });
  p_.stop();
  EXPECT_EQ(c_.ran.load(), 3 * each);
}

TEST_P(pools, trees_of_jobs_run_completely_from_sleep_to_sleep) {
  const std::uint64_t rounds = rota::test::rounds(600, 100'000);
  constexpr unsigned depth = 7;
  rota::test::watchdog dog{"a tree of jobs does not end", [&] { return c_.ran.load(); },
                           [&] { report(p_, c_); }};
  p_.start();
  rng random{rota::test::seed()};
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    c_.posted.fetch_add(1);
    p_.post(tree(c_, random.next(), depth).job());
    spin_until([&] {
      return c_.ran.load(std::memory_order_acquire) == i * ((std::uint64_t{2} << depth) - 1);
    });
    if (random.below(2) == 0) spin(random.below(1000));
  }
  p_.stop();
  EXPECT_EQ(c_.ran.load(), c_.posted.load());
  const auto stats = p_.statistics();
  EXPECT_LT(stats.max_ready_delay, 1u << 20) << "a delay went below zero";
}

// A chain that goes through the other workers again and again: each link is one wake-up.
detached relay(counters& c, pool& p, std::uint64_t left) {
  c.ran.fetch_add(1, std::memory_order_release);
  if (left > 0) p.post(relay(c, p, left - 1).job());
  co_return;
}

TEST_P(pools, chains_of_jobs_do_not_break) {
  const std::uint64_t length = rota::test::rounds(50'000, 10'000'000);
  constexpr std::uint64_t chains = 3;
  rota::test::watchdog dog{"a chain of jobs broke", [&] { return c_.ran.load(); },
                           [&] { report(p_, c_); }};
  p_.start();
  for (std::uint64_t i = 0; i < chains; ++i) p_.post(relay(c_, p_, length - 1).job());
  spin_until([&] { return c_.ran.load(std::memory_order_acquire) == chains * length; });
  p_.stop();
}

// The long step ends only when the job in its next slot has run, so somebody has to take that out.
struct hostage {
  std::atomic<bool> free{false};
};

detached set_free(hostage& h) {
  h.free.store(true, std::memory_order_release);
  co_return;
}

detached take_hostage(counters& c, hostage& h) {
  ready_here(set_free(h).job());
  while (!h.free.load(std::memory_order_acquire)) std::this_thread::sleep_for(100us);
  c.ran.fetch_add(1, std::memory_order_release);
  co_return;
}

TEST(pool_stress, a_stuck_job_is_taken_while_posts_call_the_others_to_work) {
  const std::uint64_t rounds = rota::test::rounds(80, 10'000);
  for (const unsigned workers : {2u, 3u, 4u}) {
    counters c;
    counters noise;
    pool p{options{}.with_workers(workers), pool_hooks{}};
    rota::test::watchdog dog{"a job is stuck in a next slot", [&] { return c.ran.load(); },
                             [&] { report(p, c); }, 30s};
    p.start();
    rng random{rota::test::seed()};
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      hostage h;
      c.posted.fetch_add(1);
      p.post(take_hostage(c, h).job());
      // For a while jobs come and go, at the moments at which the lookout naps and wakes.
      const std::uint64_t others = random.below(20);
      for (std::uint64_t k = 0; k < others; ++k) {
        noise.posted.fetch_add(1);
        p.post(once(noise).job());
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(400)));
      }
      rota::test::wait_for([&] { return c.ran.load(std::memory_order_acquire) == i; }, 120s);
    }
    p.stop();
    EXPECT_EQ(c.ran.load(), rounds);
  }
}

TEST(pool_stress, pools_come_and_go) {
  const std::uint64_t rounds = rota::test::rounds(1500, 200'000);
  rng random{rota::test::seed()};
  std::atomic<std::uint64_t> progress{0};
  rota::test::watchdog dog{"a pool does not stop", [&] { return progress.load(); }, [] {}};
  for (std::uint64_t i = 0; i < rounds; ++i) {
    counters c;
    pool p{options{}.with_workers(1 + static_cast<unsigned>(random.below(4))), pool_hooks{}};
    p.start();
    const std::uint64_t jobs = random.below(4);
    for (std::uint64_t k = 0; k < jobs; ++k) p.post(once(c).job());
    spin_until([&] { return c.ran.load(std::memory_order_acquire) == jobs; });
    if (random.below(2) == 0) spin(random.below(500));
    p.stop();
    progress.fetch_add(1);
  }
}

}  // namespace
