// No child outlives its group. A broken promise shows as a child that runs on, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "support/tasks.h"

namespace {

using rota::task;
using rota::task_group;

class group : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(workers, group, ::testing::Values(0u, 1u, 2u, 4u));

task<> adds(std::atomic<int>& sum, int n) {
  co_await rota::suspend();
  sum += n;
}

task<> until_stopped(std::atomic<int>& stopped) {
  try {
    for (;;) co_await rota::suspend();
  } catch (const rota::cancelled&) {
    ++stopped;
    throw;
  }
}

task<> fail(const char* text) {
  co_await rota::suspend();
  throw std::runtime_error(text);
}

TEST_P(group, join_waits_for_all_children) {
  std::atomic<int> sum{0};
  auto program = [&]() -> task<> {
    task_group g;
    for (int i = 1; i <= 100; ++i) g.spawn(adds(sum, i));
    co_await g.join();
    EXPECT_EQ(sum, 5050);
    EXPECT_EQ(g.size(), 0u);
  };
  rota::run(program(), options());
}

TEST_P(group, an_empty_one_can_be_joined_or_dropped) {
  auto program = []() -> task<> {
    {
      task_group dropped;
    }
    task_group g;
    co_await g.join();
    co_await g.join();
  };
  rota::run(program(), options());
}

TEST_P(group, a_child_can_leave_a_result) {
  auto square = [](int n) -> task<int> { co_return n* n; };
  auto program = [&]() -> task<int> {
    int a = 0;
    int b = 0;
    task_group g;
    g.spawn(a, square(3));
    g.spawn(b, square(4));
    co_await g.join();
    co_return a + b;
  };
  EXPECT_EQ(rota::run(program(), options()), 25);
}

TEST_P(group, a_child_that_fails_stops_its_siblings_and_join_rethrows) {
  std::atomic<int> stopped{0};
  auto program = [&]() -> task<> {
    task_group g;
    for (int i = 0; i < 5; ++i) g.spawn(until_stopped(stopped));
    g.spawn(fail("first"));
    try {
      co_await g.join();
      ADD_FAILURE() << "join() did not throw";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "first");
    }
    EXPECT_EQ(stopped, 5);
  };
  rota::run(program(), options());
}

TEST_P(group, request_stop_stops_all_and_join_returns) {
  std::atomic<int> stopped{0};
  auto program = [&]() -> task<> {
    task_group g;
    for (int i = 0; i < 5; ++i) g.spawn(until_stopped(stopped));
    co_await rota::suspend();
    g.request_stop();
    g.spawn(until_stopped(stopped));  // a late one is stopped as well
    co_await g.join();
    EXPECT_EQ(stopped, 6);
  };
  rota::run(program(), options());
}

TEST_P(group, when_the_joining_task_is_stopped_so_are_the_children) {
  std::atomic<int> stopped{0};
  auto parent = [&]() -> task<> {
    task_group g;
    for (int i = 0; i < 3; ++i) g.spawn(until_stopped(stopped));
    co_await g.join();
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(parent());
    for (int i = 0; i < 5; ++i) co_await rota::suspend();
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
    EXPECT_EQ(stopped, 3);
  };
  rota::run(program(), options());
}

TEST_P(group, an_exception_that_leaves_the_scope_stops_the_children_and_waits_for_them) {
  std::atomic<int> stopped{0};
  auto parent = [&]() -> task<> {
    rota::test::tracked outlives_the_children;
    task_group g;
    for (int i = 0; i < 3; ++i) g.spawn(until_stopped(stopped));
    co_await rota::suspend();
    throw std::runtime_error("left early");
  };
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await parent(), std::runtime_error);
    EXPECT_EQ(stopped, 3);
  };
  rota::run(program(), options());
}

TEST_P(group, can_be_used_again_after_join) {
  std::atomic<int> sum{0};
  auto program = [&]() -> task<> {
    task_group g;
    g.spawn(fail("once"));
    EXPECT_THROW(co_await g.join(), std::runtime_error);
    g.spawn(adds(sum, 1));
    co_await g.join();
    EXPECT_EQ(sum, 1);
  };
  rota::run(program(), options());
}

TEST_P(group, children_can_spawn_siblings) {
  std::atomic<int> ran{0};
  struct tree {
    static task<> grow(task_group& g, std::atomic<int>& n, int depth) {
      ++n;
      if (depth == 0) co_return;
      g.spawn(grow(g, n, depth - 1));
      g.spawn(grow(g, n, depth - 1));
    }
  };
  auto program = [&]() -> task<> {
    task_group g;
    g.spawn(tree::grow(g, ran, 6));
    co_await g.join();
  };
  rota::run(program(), options());
  EXPECT_EQ(ran, 127);
}

TEST(group, left_without_join_ends_the_program_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::atomic<int> sum{0};
  auto program = [&]() -> task<> {
    task_group g;
    g.spawn(adds(sum, 1));
    co_return;
  };
  EXPECT_DEATH(rota::run(program()), "a task_group ends without join");
}

}  // namespace
