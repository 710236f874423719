// Random programs of tasks that spawn, join, send, receive, sleep, fork and are stopped, on one to
// four workers. Watched: every task ends, and every message that was sent is received or still in
// the channel. A failure prints its seed; ROTA_SEED runs that one alone.

#include <rota/base/rng.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;
using rota::detail::rng;

template <class F>
void for_each_seed(int seeds, F run) {
  if (const char* one = std::getenv("ROTA_SEED")) {
    run(std::strtoull(one, nullptr, 10));
    return;
  }
  if (rota::test::sanitized) seeds /= 4;
  if (rota::test::long_tests()) seeds *= 50;
  for (int seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(static_cast<std::uint64_t>(seed));
  }
}

unsigned workers_of(std::uint64_t seed) { return static_cast<unsigned>(1 + seed % 4); }

struct world {
  rota::channel<int> ch{3};
  rota::async_mutex mutex;
  rota::async_semaphore permits{2};
  rota::cell<int> level{0};
  long guarded = 0;  // by mutex
  std::atomic<long> locked{0};
  std::atomic<long> sent{0};
  std::atomic<long> received{0};
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
};

// Counts a task, however it ends.
struct counted {
  explicit counted(world& in) : w(in) { ++w.begun; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { ++w.ended; }
  world& w;
};

task<> actor(world& w, std::uint64_t seed, int depth);

task<> one_action(world& w, rng& random, int depth) {
  switch (random.below(9)) {
    case 0:
      co_await rota::suspend();
      break;
    case 1: {
      const int message = static_cast<int>(random.below(100));
      // Full or empty for ever is no reason to hang.
      if (w.ch.try_send(message)) w.sent += message;
      break;
    }
    case 2:
      if (auto m = w.ch.try_receive()) w.received += *m;
      break;
    case 3: {
      auto held = co_await w.mutex.lock();
      const long seen = w.guarded;
      if (random.below(2)) co_await rota::suspend();
      w.guarded = seen + 1;
      ++w.locked;
      break;
    }
    case 4:
      co_await rota::sleep_for(std::chrono::microseconds(random.below(50)));
      break;
    case 5: {
      if (depth == 0) break;
      auto h = rota::spawn(actor(w, random.next(), depth - 1));
      const bool stop = random.below(3) == 0;
      if (random.below(2)) co_await rota::suspend();
      if (stop) h.request_stop();
      try {
        co_await h;
      } catch (const rota::cancelled&) {
        if (!stop) throw;  // it was for us
      }
      break;
    }
    case 6: {
      if (depth == 0) break;
      rota::fork_scope forks;
      co_await forks.fork(actor(w, random.next(), depth - 1));
      co_await forks.fork(actor(w, random.next(), depth - 1));
      co_await forks.join();
      break;
    }
    case 7:
      if (depth == 0) break;
      co_await rota::when_any(actor(w, random.next(), depth - 1),
                              actor(w, random.next(), depth - 1));
      break;
    default:
      co_await w.permits.acquire();
      w.permits.release();
      w.level.update([](int& v) { ++v; });
      break;
  }
}

task<> actor(world& w, std::uint64_t seed, int depth) {
  counted me{w};
  rng random{seed};
  const std::uint64_t actions = random.below(8);
  for (std::uint64_t i = 0; i < actions; ++i) co_await one_action(w, random, depth);
}

TEST(task_stress, random_programs_end_and_their_sums_match) {
  for_each_seed(200, [](std::uint64_t seed) {
    world w;
    auto program = [&]() -> task<> {
      rng random{seed};
      rota::task_group g;
      for (int i = 0; i < 8; ++i) g.spawn(actor(w, random.next(), 3));
      co_await g.join();
    };
    rota::run(program(), rota::test::with_workers(workers_of(seed)));
    while (auto m = w.ch.try_receive()) w.received += *m;
    EXPECT_EQ(w.sent, w.received);
    EXPECT_EQ(w.begun, w.ended);
    EXPECT_EQ(w.guarded, w.locked);
    EXPECT_TRUE(w.permits.try_acquire() && w.permits.try_acquire() && !w.permits.try_acquire());
  });
}

TEST(task_stress, a_join_that_races_with_the_end_and_with_a_stop_ends_once) {
  for_each_seed(40, [](std::uint64_t seed) {
    std::atomic<int> outcomes{0};
    auto target = [](std::uint64_t s) -> task<int> {
      for (std::uint64_t i = 0; i < s % 5; ++i) co_await rota::suspend();
      co_return 1;
    };
    auto joiner = [&](std::uint64_t s) -> task<> {
      auto h = rota::spawn(target(s));
      try {
        co_await h;
      } catch (const rota::cancelled&) {
        // We were stopped; the target goes on alone.
      }
      ++outcomes;
    };
    auto program = [&]() -> task<> {
      rng random{seed};
      for (int i = 0; i < 50; ++i) {
        auto h = rota::spawn(joiner(random.next()));
        for (std::uint64_t k = random.below(6); k > 0; --k) co_await rota::suspend();
        h.request_stop();
        co_await h;
      }
    };
    rota::run(program(), rota::test::with_workers(workers_of(seed)));
    EXPECT_EQ(outcomes, 50);
  });
}

TEST(task_stress, a_channel_whose_users_are_stopped_loses_nothing) {
  for_each_seed(60, [](std::uint64_t seed) {
    rota::channel<int> ch{seed % 3};
    std::atomic<long> sent{0};
    std::atomic<long> received{0};
    auto sender = [&](std::uint64_t s) -> task<> {
      rng random{s};
      for (;;) {
        const int m = static_cast<int>(random.below(100));
        const bool ok = co_await ch.send(m);
        if (!ok) co_return;
        sent += m;
      }
    };
    auto receiver = [&]() -> task<> {
      while (auto m = co_await ch.receive()) received += *m;
    };
    auto program = [&]() -> task<> {
      rng random{seed};
      std::vector<rota::join_handle<>> users;
      for (int i = 0; i < 60; ++i) {
        if (random.below(2))
          users.push_back(rota::spawn(sender(random.next())));
        else
          users.push_back(rota::spawn(receiver()));
        co_await rota::suspend();
        if (users.size() > 4) {
          const std::size_t victim = random.below(users.size());
          users[victim].request_stop();
          EXPECT_THROW(co_await users[victim], rota::cancelled);
          users.erase(users.begin() + static_cast<std::ptrdiff_t>(victim));
        }
      }
      for (auto& h : users) h.request_stop();
      for (auto& h : users) EXPECT_THROW(co_await h, rota::cancelled);
      while (auto m = ch.try_receive()) received += *m;
    };
    rota::run(program(), rota::test::with_workers(workers_of(seed)));
    EXPECT_EQ(sent, received);
  });
}

TEST(task_stress, when_any_of_timers_and_events_stops_and_joins_the_losers) {
  for_each_seed(40, [](std::uint64_t seed) {
    std::atomic<int> inside{0};
    auto runner = [&](std::uint64_t us, rota::async_event& event) -> task<int> {
      struct presence {
        explicit presence(std::atomic<int>& n) : count(n) { ++count; }
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;
        ~presence() { --count; }
        std::atomic<int>& count;
      } here{inside};
      co_await rota::sleep_for(std::chrono::microseconds(us));
      event.set();
      co_return 1;
    };
    auto listener = [](rota::async_event& event) -> task<> { co_await event.wait(); };
    auto program = [&]() -> task<> {
      rng random{seed};
      for (int i = 0; i < 30; ++i) {
        rota::async_event event;
        co_await rota::when_any(runner(random.below(60), event), runner(random.below(60), event),
                                listener(event));
        EXPECT_EQ(inside, 0);
      }
    };
    rota::run(program(), rota::test::with_workers(workers_of(seed)));
  });
}

TEST(task_stress, timers_that_are_stopped_from_other_workers_end_once) {
  for_each_seed(40, [](std::uint64_t seed) {
    std::atomic<int> ended{0};
    auto sleeper = [&](std::uint64_t us) -> task<> {
      try {
        co_await rota::sleep_for(std::chrono::microseconds(us));
      } catch (const rota::cancelled&) {
      }
      ++ended;
    };
    auto user = [&](std::uint64_t s) -> task<> {
      rng random{s};
      std::vector<rota::join_handle<>> all;
      for (int i = 0; i < 25; ++i) all.push_back(rota::spawn(sleeper(random.below(300))));
      co_await rota::sleep_for(std::chrono::microseconds(random.below(150)));
      for (auto& h : all) h.request_stop();
      for (auto& h : all) co_await h;
    };
    auto program = [&]() -> task<> {
      rng random{seed};
      rota::task_group g;
      for (int i = 0; i < 4; ++i) g.spawn(user(random.next()));
      co_await g.join();
    };
    rota::run(program(), rota::test::with_workers(workers_of(seed)));
    EXPECT_EQ(ended, 100);
  });
}

task<long> tree_sum(int depth, std::uint64_t seed) {
  rng random{seed};
  if (random.below(8) == 0) co_await rota::suspend();
  if (depth == 0) co_return 1;
  rota::fork_scope forks;
  long a = 0;
  long b = 0;
  co_await forks.fork(a, tree_sum(depth - 1, random.next()));
  co_await forks.fork(b, tree_sum(depth - 1, random.next()));
  const long c = co_await tree_sum(depth - 1, random.next());
  co_await forks.join();
  co_return a + b + c;
}

TEST(task_stress, forks_that_are_stolen_and_suspended_add_up) {
  for_each_seed(40, [](std::uint64_t seed) {
    EXPECT_EQ(rota::run(tree_sum(6, seed), rota::test::with_workers(workers_of(seed))), 729);
  });
}

TEST(task_stress, a_runtime_that_ends_amid_spawning_stops_everybody) {
  for_each_seed(40, [](std::uint64_t seed) {
    struct breeder {
      static task<> breed(rota::test::tracked) {
        for (int i = 0; i < 3; ++i) {
          co_await rota::suspend();
          rota::spawn(forever({}));
        }
        for (;;) co_await rota::suspend();
      }
      static task<> forever(rota::test::tracked) {
        for (;;) co_await rota::suspend();
      }
    };
    {
      rota::runtime rt{rota::test::with_workers(workers_of(seed))};
      for (int i = 0; i < 5; ++i) rt.spawn(breeder::breed({}));
      std::this_thread::sleep_for(std::chrono::microseconds(seed % 7 * 20));
    }
    EXPECT_EQ(rota::test::tracked::alive, 0);
  });
}

TEST(task_stress, spawning_from_many_threads_loses_no_task) {
  for_each_seed(12, [](std::uint64_t seed) {
    std::atomic<int> ran{0};
    auto one = [&]() -> task<> {
      ++ran;
      co_return;
    };
    rota::runtime rt{rota::test::with_workers(workers_of(seed)).with_at_exit(rota::at_exit::drain)};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 300; ++i) rt.spawn(one());
        });
      }
    }
    EXPECT_TRUE(rota::test::eventually([&] { return ran == 900; })) << rt.dump();
  });
}

}  // namespace
