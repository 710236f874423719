// Never early, in order, and cheap in numbers. A broken promise shows as an early or lost wake-up,
// or as a test that takes for ever.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;
using clock = std::chrono::steady_clock;

class sleep : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(workers, sleep, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(sleep, is_never_early) {
  auto sleeper = [](std::chrono::nanoseconds d) -> task<> {
    const auto until = clock::now() + d;
    co_await rota::sleep_until(until);
    EXPECT_GE(clock::now(), until);
    const auto before = clock::now();
    co_await rota::sleep_for(d);
    EXPECT_GE(clock::now() - before, d);
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 200; ++i) g.spawn(sleeper(std::chrono::nanoseconds(i * 7919)));
    co_await g.join();
  };
  rota::run(program(), options());
}

TEST_P(sleep, of_no_time_only_gives_way) {
  auto program = []() -> task<> {
    co_await rota::sleep_for(0ns);
    co_await rota::sleep_for(-1h);
    co_await rota::sleep_until(clock::now() - 1h);
    co_await rota::sleep_until(clock::time_point::min());
  };
  rota::run(program(), options());
}

TEST_P(sleep, ends_in_the_order_of_the_deadlines) {
  std::vector<int> order;
  rota::async_mutex m;
  auto sleeper = [&](clock::time_point until, int n) -> task<> {
    co_await rota::sleep_until(until);
    auto held = co_await m.lock();
    order.push_back(n);
  };
  auto program = [&]() -> task<> {
    const auto begin = clock::now() + 5ms;
    rota::task_group g;
    for (int i = 0; i < 10; ++i) g.spawn(sleeper(begin + (9 - i) * 2ms, i));
    co_await g.join();
  };
  rota::run(program(), options());
  std::vector<int> expected;
  for (int i = 9; i >= 0; --i) expected.push_back(i);
  // Several that are late together go by their places in strict order, and beside each other on
  // several workers.
  if (GetParam() == 1) {
    EXPECT_EQ(order, expected);
  } else {
    EXPECT_EQ(order.size(), expected.size());
  }
}

TEST(sleep, those_of_one_deadline_end_in_the_order_in_which_they_began) {
  std::string log;
  auto sleeper = [&](clock::time_point until, char c) -> task<> {
    co_await rota::sleep_until(until);
    log += c;
  };
  auto program = [&]() -> task<> {
    for (const auto away : {10'000us, 30'000us}) {
      log.clear();
      const auto until = clock::now() + away;
      rota::task_group g;
      for (char c = 'a'; c <= 'h'; ++c) g.spawn(sleeper(until, c));
      co_await g.join();
      EXPECT_EQ(log, "abcdefgh");
    }
  };
  rota::run(program(), rota::test::with_workers(1));
}

TEST_P(sleep, a_million_with_half_of_them_cancelled_take_bounded_time) {
  const int count = GetParam() != 1 ? 20'000 : rota::test::sanitized ? 100'000 : 1'000'000;
  std::atomic<int> ended{0};
  std::atomic<int> stopped{0};
  auto sleeper = [&](clock::time_point until) -> task<> {
    try {
      co_await rota::sleep_until(until);
      ++ended;
    } catch (const rota::cancelled&) {
      ++stopped;
    }
  };
  const auto begin = clock::now();
  auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      // Those who are to be stopped sleep too long to end by themselves.
      const auto away = i % 2 ? std::chrono::microseconds(1h) : 10ms + i % 1000 * 1us;
      all.push_back(rota::spawn(sleeper(clock::now() + away)));
      if (i % 1000 == 0) co_await rota::suspend();
    }
    co_await rota::suspend();
    for (std::size_t i = 1; i < all.size(); i += 2) all[i].request_stop();
    for (auto& h : all) co_await h;
  };
  rota::run(program(), options());
  EXPECT_EQ(ended, count / 2);
  EXPECT_EQ(stopped, count / 2);
  EXPECT_LT(clock::now() - begin, 60s);
}

TEST_P(sleep, beyond_the_end_of_the_clock_can_be_cancelled) {
  auto sleeper = []() -> task<> { co_await rota::sleep_until(clock::time_point::max()); };
  auto sleeper_for = []() -> task<> { co_await rota::sleep_for(std::chrono::nanoseconds::max()); };
  auto program = [&]() -> task<> {
    auto a = rota::spawn(sleeper());
    auto b = rota::spawn(sleeper_for());
    co_await rota::sleep_for(100us);
    a.request_stop();
    b.request_stop();
    EXPECT_THROW(co_await a, rota::cancelled);
    EXPECT_THROW(co_await b, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(sleep, with_timeout_gives_the_result_of_a_task_that_is_in_time) {
  auto quick = []() -> task<int> {
    co_await rota::suspend();
    co_return 8;
  };
  auto ready = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(1); };
  auto program = [&]() -> task<> {
    EXPECT_EQ(co_await rota::with_timeout(10s, quick()), 8);
    auto one = co_await rota::with_timeout(10s, ready());
    EXPECT_EQ(*one, 1);
  };
  rota::run(program(), options());
}

TEST_P(sleep, with_timeout_stops_a_task_that_is_not_and_waits_for_it) {
  std::atomic<bool> ended{false};
  auto slow = [&]() -> task<> {
    bool stopped = false;
    try {
      co_await rota::sleep_for(1h);
    } catch (const rota::cancelled&) {
      stopped = true;
    }
    rota::shield cleaning;
    co_await rota::sleep_for(1ms);
    ended = stopped;
  };
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await rota::with_timeout(2ms, slow()), rota::timed_out);
    EXPECT_TRUE(ended);
  };
  rota::run(program(), options());
}

TEST_P(sleep, with_timeout_throws_what_the_task_throws) {
  auto fails = []() -> task<> {
    co_await rota::suspend();
    throw std::runtime_error("no");
  };
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await rota::with_timeout(10s, fails()), std::runtime_error);
  };
  rota::run(program(), options());
}

TEST_P(sleep, with_timeout_passes_a_stop_on) {
  std::atomic<bool> stopped{false};
  auto inner = [&]() -> task<> {
    try {
      co_await rota::sleep_for(1h);
    } catch (const rota::cancelled&) {
      stopped = true;
      throw;
    }
  };
  auto outer = [&]() -> task<> { co_await rota::with_timeout(1h, inner()); };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(outer());
    for (int i = 0; i < 10; ++i) co_await rota::suspend();
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
    EXPECT_TRUE(stopped);
  };
  rota::run(program(), options());
}

TEST(sleep, accuracy_is_printed) {
  std::vector<std::int64_t> beyond;
  auto program = [&]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      const auto until = clock::now() + 100us;
      co_await rota::sleep_until(until);
      beyond.push_back((clock::now() - until) / 1ns);
    }
  };
  rota::run(program(), rota::test::with_workers(1));
  std::sort(beyond.begin(), beyond.end());
  std::printf("beyond a deadline in 100 us: median %.1f us, 99%% %.1f us\n",
              static_cast<double>(beyond[100]) / 1e3, static_cast<double>(beyond[198]) / 1e3);
  EXPECT_GE(beyond.front(), 0);
}

}  // namespace
