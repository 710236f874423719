// Awaiting a task is a call. A broken promise shows as a wrong result, or as an overflowing stack.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/tasks.h"

namespace {

using rota::task;
using rota::test::tracked;

constexpr int million = rota::test::sanitized ? 200'000 : 1'000'000;

task<int> answer() { co_return 42; }

task<> set(bool& flag) {
  flag = true;
  co_return;
}

task<> hold(tracked) { co_return; }

TEST(task, does_nothing_until_it_is_awaited) {
  bool ran = false;
  auto program = [&]() -> task<> {
    auto later = set(ran);
    EXPECT_FALSE(ran);
    co_await std::move(later);
    EXPECT_TRUE(ran);
  };
  rota::run(program());
  EXPECT_TRUE(ran);
}

TEST(task, that_is_never_awaited_does_nothing_and_is_destroyed) {
  bool ran = false;
  {
    auto never = set(ran);
    auto keeps_its_parameter = hold(tracked{});
    EXPECT_EQ(tracked::alive, 1);
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(tracked::alive, 0);
}

TEST(task, gives_its_result_to_the_caller) {
  auto program = []() -> task<int> { co_return co_await answer() + co_await answer(); };
  EXPECT_EQ(rota::run(program()), 84);
}

TEST(task, can_give_a_result_that_can_only_be_moved) {
  auto make = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
  auto program = [&]() -> task<std::unique_ptr<int>> {
    std::unique_ptr<int> one = co_await make(1);
    ++*one;
    co_return one;
  };
  EXPECT_EQ(*rota::run(program()), 2);
}

TEST(task, can_give_a_result_without_a_default) {
  struct number {
    explicit number(int n) : value(n) {}
    int value;
  };
  auto make = []() -> task<number> { co_return number{7}; };
  auto program = [&]() -> task<int> {
    number n = co_await make();
    co_return n.value;
  };
  EXPECT_EQ(rota::run(program()), 7);
}

TEST(task, throws_into_its_caller) {
  auto fail = []() -> task<int> {
    throw std::runtime_error("broken");
    co_return 1;
  };
  auto program = [&]() -> task<std::string> {
    try {
      co_await fail();
    } catch (const std::runtime_error& e) {
      co_return e.what();
    }
    co_return "nothing was thrown";
  };
  EXPECT_EQ(rota::run(program()), "broken");
}

TEST(task, throws_out_of_run) {
  auto program = []() -> task<> {
    throw std::out_of_range("too far");
    co_return;
  };
  EXPECT_THROW(rota::run(program()), std::out_of_range);
}

TEST(task, destroys_its_locals_before_the_caller_goes_on) {
  auto callee = []() -> task<> {
    tracked local;
    co_await rota::suspend();
    EXPECT_EQ(tracked::alive, 1);
  };
  auto program = [&]() -> task<> {
    {
      auto t = callee();
      co_await std::move(t);
    }
    EXPECT_EQ(tracked::alive, 0);
  };
  rota::run(program());
}

TEST(task, is_called_within_the_step_of_its_caller) {
  bool other_ran = false;
  auto program = [&]() -> task<> {
    auto other = rota::spawn(set(other_ran));
    for (int i = 0; i < 10; ++i) co_await answer();
    EXPECT_FALSE(other_ran);
    co_await other;
    EXPECT_TRUE(other_ran);
  };
  rota::run(program(), rota::test::with_workers(1));
}

TEST(task, can_be_assigned) {
  auto program = []() -> task<int> {
    auto number = [](int n) -> task<int> { co_return n; };
    task<int> t = number(1);
    t = number(2);
    co_return co_await std::move(t);
  };
  EXPECT_EQ(rota::run(program()), 2);
}

TEST(task, can_be_called_a_million_times_in_a_loop) {
  auto one = []() -> task<int> { co_return 1; };
  auto program = [&]() -> task<long> {
    long sum = 0;
    for (int i = 0; i < million; ++i) sum += co_await one();
    co_return sum;
  };
  EXPECT_EQ(rota::run(program()), million);
}

TEST(task, can_await_what_is_ready_a_million_times) {
  rota::async_event ready{true};
  auto program = [&]() -> task<long> {
    long sum = 0;
    for (int i = 0; i < million; ++i) {
      co_await ready.wait();
      ++sum;
    }
    co_return sum;
  };
  EXPECT_EQ(rota::run(program()), million);
}

task<long> depth(int n) {
  if (n == 0) co_return 0;
  co_return 1 + co_await depth(n - 1);
}

TEST(task, can_recurse_a_hundred_thousand_deep) { EXPECT_EQ(rota::run(depth(100'000)), 100'000); }

task<> fail_at_depth(int n) {
  if (n == 0) throw std::runtime_error("deep");
  co_await fail_at_depth(n - 1);
}

TEST(task, throws_through_ten_thousand_callers) {
  EXPECT_THROW(rota::run(fail_at_depth(10'000)), std::runtime_error);
}

task<> wait_at_depth(int n, rota::async_event& event) {
  if (n == 0)
    co_await event.wait();
  else
    co_await wait_at_depth(n - 1, event);
}

TEST(task, can_suspend_at_any_depth) {
  rota::async_event event;
  auto program = [&]() -> task<> {
    auto deep = rota::spawn(wait_at_depth(50'000, event));
    co_await rota::suspend();
    event.set();
    co_await deep;
  };
  rota::run(program());
}

TEST(task, can_be_stopped_at_any_depth) {
  rota::async_event never;
  auto program = [&]() -> task<> {
    auto deep = rota::spawn(wait_at_depth(10'000, never));
    co_await rota::suspend();
    deep.request_stop();
    EXPECT_THROW(co_await deep, rota::cancelled);
  };
  rota::run(program());
}

TEST(run, inside_a_task_ends_the_program_with_a_message) {
  auto program = []() -> task<> {
    rota::run(answer());
    co_return;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(rota::run(program()), "run\\(\\) inside a task");
}

}  // namespace
