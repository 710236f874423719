// join() returns when every child has ended, whoever ran it. A broken promise shows as a wrong sum,
// a hang, or a child that outlives what it refers to.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::fork_scope;
using rota::task;

class fork : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() { return rota::test::with_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(workers, fork, ::testing::Values(1u, 2u, 4u));

task<long> fib(int n) {
  if (n < 2) co_return n;
  fork_scope forks;
  long a = 0;
  co_await forks.fork(a, fib(n - 1));
  const long b = co_await fib(n - 2);
  co_await forks.join();
  co_return a + b;
}

// The same, with children that give way in the middle.
task<long> yielding_fib(int n) {
  if (n < 2) {
    co_await rota::suspend();
    co_return n;
  }
  fork_scope forks;
  long a = 0;
  long b = 0;
  co_await forks.fork(a, yielding_fib(n - 1));
  co_await forks.fork(b, yielding_fib(n - 2));
  if (n % 3 == 0) co_await rota::suspend();
  co_await forks.join();
  co_return a + b;
}

task<> add(std::atomic<int>& sum, int n) {
  sum += n;
  co_return;
}

task<> fail(const char* text, int yields) {
  for (int i = 0; i < yields; ++i) co_await rota::suspend();
  throw std::runtime_error(text);
}

TEST_P(fork, computes_what_calls_compute) { EXPECT_EQ(rota::run(fib(20), options()), 6765); }

TEST_P(fork, children_may_give_way) { EXPECT_EQ(rota::run(yielding_fib(14), options()), 377); }

TEST_P(fork, children_may_sleep) {
  auto sleeper = [](int n) -> task<int> {
    co_await rota::sleep_for(std::chrono::microseconds(100 * n));
    co_return n;
  };
  auto program = [&]() -> task<int> {
    std::vector<int> results(20);
    fork_scope forks;
    for (int i = 0; i < 20; ++i)
      co_await forks.fork(results[static_cast<std::size_t>(i)], sleeper(i));
    co_await forks.join();
    int sum = 0;
    for (int r : results) sum += r;
    co_return sum;
  };
  EXPECT_EQ(rota::run(program(), options()), 190);
}

TEST_P(fork, a_scope_can_be_used_again_after_join) {
  std::atomic<int> sum{0};
  auto program = [&]() -> task<> {
    fork_scope forks;
    co_await forks.join();  // of nothing
    for (int i = 0; i < 100; ++i) {
      co_await forks.fork(add(sum, 1));
      co_await forks.fork(add(sum, 1));
      co_await forks.join();
      EXPECT_EQ(sum, 2 * (i + 1));
    }
  };
  rota::run(program(), options());
}

TEST_P(fork, join_rethrows_the_first_exception_of_a_child) {
  auto program = []() -> task<> {
    for (int yields = 0; yields < 3; ++yields) {
      fork_scope forks;
      co_await forks.fork(fail("child", yields));
      EXPECT_THROW(co_await forks.join(), std::runtime_error);
    }
  };
  rota::run(program(), options());
}

TEST_P(fork, an_exception_of_the_parent_waits_for_the_children) {
  std::atomic<int> ended{0};
  auto child = [&](const rota::test::tracked&) -> task<> {
    for (int i = 0; i < 5; ++i) co_await rota::suspend();
    EXPECT_EQ(rota::test::tracked::alive, 1) << "what the child refers to is gone";
    ++ended;
  };
  auto parent = [&]() -> task<> {
    rota::test::tracked local;
    fork_scope forks;
    co_await forks.fork(child(local));
    co_await forks.fork(child(local));
    throw std::runtime_error("parent");
  };
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await parent(), std::runtime_error);
    EXPECT_EQ(ended, 2);
  };
  rota::run(program(), options());
}

TEST_P(fork, a_stop_reaches_the_children) {
  std::atomic<int> stopped{0};
  auto child = [&]() -> task<> {
    try {
      for (;;) co_await rota::sleep_for(1h);
    } catch (const rota::cancelled&) {
      ++stopped;
      throw;
    }
  };
  auto parent = [&]() -> task<> {
    fork_scope forks;
    for (int i = 0; i < 5; ++i) co_await forks.fork(child());
    co_await forks.join();
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(parent());
    for (int i = 0; i < 50; ++i) co_await rota::suspend();
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
    EXPECT_EQ(stopped, 5);
  };
  rota::run(program(), options());
}

TEST_P(fork, a_shield_around_forks_holds_whoever_goes_on) {
  auto child = [](int yields) -> task<> {
    for (int i = 0; i < yields; ++i) co_await rota::suspend();
  };
  auto parent = [&](int own, int theirs) -> task<> {
    rota::shield cleaning;
    fork_scope forks;
    co_await forks.fork(child(theirs));
    for (int i = 0; i < own; ++i) co_await rota::suspend();
    co_await forks.join();
  };
  auto program = [&]() -> task<> {
    for (int own = 0; own < 4; ++own) {
      for (int theirs = 0; theirs < 4; ++theirs) {
        auto h = rota::spawn(parent(own, theirs));
        h.request_stop();
        co_await h;  // it was shielded, so it ended as if nothing had been asked
      }
    }
  };
  rota::run(program(), options());
}

TEST(fork, gives_way_to_other_tasks) {
  // A computation far longer than a step's share beside a task on the one worker.
  int looks = 0;
  bool computed = false;
  auto other = [&]() -> task<> {
    while (!computed) {
      ++looks;
      co_await rota::suspend();
    }
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(other());
    co_await fib(rota::test::sanitized ? 18 : 24);
    computed = true;
    co_await h;
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_GE(looks, 2);
}

TEST(fork, is_shared_among_workers) {
  rota::runtime rt{rota::test::with_workers(4)};
  for (int i = 0; i < 200 && rt.statistics().forks_taken == 0; ++i) rt.run(fib(20));
  EXPECT_GT(rt.statistics().forks_taken, 0u);
}

TEST(fork, runs_the_child_first) {
  std::string log;
  auto note = [&](char c) -> task<> {
    log += c;
    co_return;
  };
  auto program = [&]() -> task<> {
    fork_scope forks;
    log += '0';
    co_await forks.fork(note('a'));
    log += '1';
    co_await forks.fork(note('b'));
    log += '2';
    co_await forks.join();
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "0a1b2");
}

TEST(fork, left_without_join_ends_the_program_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::atomic<int> sum{0};
  auto program = [&]() -> task<> {
    fork_scope forks;
    co_await forks.fork(add(sum, 1));
  };
  EXPECT_DEATH(rota::run(program()), "a fork_scope ends without join");
}

}  // namespace
