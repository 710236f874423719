// when_all and when_any: nothing runs on after them. A broken promise shows as a hang, a lost
// result or a task that is left behind.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

class when : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(workers, when, ::testing::Values(0u, 1u, 2u, 4u));

task<int> gives(int n) {
  co_await rota::suspend();
  co_return n;
}

task<std::string> text(std::string s) { co_return s; }

task<> nothing() { co_return; }

task<int> fail(const char* message) {
  co_await rota::suspend();
  throw std::runtime_error(message);
}

task<int> until_stopped(std::atomic<int>& stopped) {
  try {
    for (;;) co_await rota::suspend();
  } catch (const rota::cancelled&) {
    ++stopped;
    throw;
  }
}

// Ends as a task does that was asked to stop.
task<int> stops_by_itself() {
  co_await rota::suspend();
  throw rota::cancelled{};
}

TEST_P(when, all_gives_all_results_in_their_order) {
  auto program = []() -> task<> {
    auto [n, s, v] = co_await rota::when_all(gives(1), text("two"), nothing());
    EXPECT_EQ(n, 1);
    EXPECT_EQ(s, "two");
    EXPECT_EQ(v, rota::none{});
  };
  rota::run(program(), options());
}

TEST_P(when, all_takes_any_number_of_tasks_of_one_type) {
  auto program = []() -> task<int> {
    std::vector<task<int>> tasks;
    for (int i = 1; i <= 100; ++i) tasks.push_back(gives(i));
    auto results = co_await rota::when_all(std::move(tasks));
    int sum = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i], static_cast<int>(i) + 1);
      sum += results[i];
    }
    co_return sum;
  };
  EXPECT_EQ(rota::run(program(), options()), 5050);
}

TEST_P(when, all_of_no_task_gives_nothing) {
  auto program = []() -> task<std::size_t> {
    std::vector<task<int>> none;
    auto results = co_await rota::when_all(std::move(none));
    co_return results.size();
  };
  EXPECT_EQ(rota::run(program(), options()), 0u);
}

TEST_P(when, all_carries_results_that_can_only_be_moved) {
  auto make = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
  auto program = [&]() -> task<int> {
    auto [a, b] = co_await rota::when_all(make(1), make(2));
    co_return *a + *b;
  };
  EXPECT_EQ(rota::run(program(), options()), 3);
}

TEST_P(when, one_of_all_fails_the_others_are_stopped_and_it_is_rethrown) {
  std::atomic<int> stopped{0};
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await rota::when_all(until_stopped(stopped), fail("a"), until_stopped(stopped)),
                 std::runtime_error);
    EXPECT_EQ(stopped, 2);
  };
  rota::run(program(), options());
}

TEST_P(when, one_of_all_was_stopped_there_is_no_result) {
  auto program = []() -> task<> {
    EXPECT_THROW(co_await rota::when_all(gives(1), stops_by_itself()), rota::cancelled);
    std::vector<task<int>> tasks;
    tasks.push_back(stops_by_itself());
    tasks.push_back(gives(1));
    EXPECT_THROW(co_await rota::when_all(std::move(tasks)), rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(when, any_gives_the_first_result_and_stops_the_others) {
  std::atomic<int> stopped{0};
  auto program = [&]() -> task<> {
    auto first = co_await rota::when_any(until_stopped(stopped), gives(2), until_stopped(stopped));
    EXPECT_EQ(first.index(), 1u);
    EXPECT_EQ(std::get<1>(first), 2);
    EXPECT_EQ(stopped, 2) << "a loser was left behind";
  };
  rota::run(program(), options());
}

TEST_P(when, any_of_results_of_different_types_says_whose_it_is) {
  auto program = []() -> task<> {
    rota::async_event never;
    auto waits = [&]() -> task<> { co_await never.wait(); };
    auto first = co_await rota::when_any(waits(), text("here"));
    EXPECT_EQ(first.index(), 1u);
    EXPECT_EQ(std::get<1>(first), "here");
  };
  rota::run(program(), options());
}

TEST_P(when, the_first_of_any_fails_it_is_rethrown) {
  std::atomic<int> stopped{0};
  auto program = [&]() -> task<> {
    EXPECT_THROW(co_await rota::when_any(until_stopped(stopped), fail("first")),
                 std::runtime_error);
    EXPECT_EQ(stopped, 1);
  };
  rota::run(program(), options());
}

TEST_P(when, one_of_any_was_stopped_the_others_go_on) {
  auto program = []() -> task<> {
    auto late = []() -> task<int> {
      co_await rota::sleep_for(2ms);
      co_return 7;
    };
    auto first = co_await rota::when_any(stops_by_itself(), late());
    EXPECT_EQ(first.index(), 1u);
  };
  rota::run(program(), options());
}

TEST_P(when, all_of_any_were_stopped_there_is_no_result) {
  auto program = []() -> task<> {
    EXPECT_THROW(co_await rota::when_any(stops_by_itself(), stops_by_itself()), rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(when, their_task_is_stopped_so_are_all_of_them) {
  std::atomic<int> stopped{0};
  auto all = [&]() -> task<> {
    co_await rota::when_all(until_stopped(stopped), until_stopped(stopped));
  };
  auto any = [&]() -> task<> {
    co_await rota::when_any(until_stopped(stopped), until_stopped(stopped));
  };
  auto program = [&]() -> task<> {
    auto a = rota::spawn(all());
    auto b = rota::spawn(any());
    for (int i = 0; i < 10; ++i) co_await rota::suspend();
    a.request_stop();
    b.request_stop();
    EXPECT_THROW(co_await a, rota::cancelled);
    EXPECT_THROW(co_await b, rota::cancelled);
    EXPECT_EQ(stopped, 4);
  };
  rota::run(program(), options());
}

TEST_P(when, nested_they_compose) {
  auto program = []() -> task<int> {
    auto [a, b] =
        co_await rota::when_all(rota::when_any(gives(1), gives(1)), rota::when_all(gives(2)));
    co_return std::visit([](int n) { return n; }, a) + std::get<0>(b);
  };
  EXPECT_EQ(rota::run(program(), options()), 3);
}

}  // namespace
