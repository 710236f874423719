// A spawned task is a task of its own. A broken promise shows as a hang, a lost result or an
// exception that nobody hears of.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using rota::task;
using rota::test::eventually;
using rota::test::tracked;

task<int> number(int n) { co_return n; }

task<int> failing(const char* text) {
  throw std::runtime_error(text);
  co_return 0;
}

task<> count(std::atomic<int>& counter) {
  ++counter;
  co_return;
}

class spawn : public ::testing::TestWithParam<unsigned> {
 protected:
  rota::options options() const { return rota::test::with_workers(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(workers, spawn, ::testing::Values(1u, 2u, 4u));

TEST_P(spawn, gives_its_result_to_who_joins_it) {
  auto program = []() -> task<int> {
    auto a = rota::spawn(number(1));
    auto b = rota::spawn(number(2));
    const int late = co_await b;
    co_return co_await std::move(a) + late;
  };
  EXPECT_EQ(rota::run(program(), options()), 3);
}

TEST_P(spawn, gives_its_result_also_when_it_has_ended_long_ago) {
  auto program = []() -> task<int> {
    auto h = rota::spawn(number(5));
    while (!h.done()) co_await rota::suspend();
    co_return co_await h;
  };
  EXPECT_EQ(rota::run(program(), options()), 5);
}

TEST_P(spawn, throws_its_exception_into_who_joins_it) {
  auto program = []() -> task<> {
    auto h = rota::spawn(failing("joined"));
    EXPECT_THROW(co_await h, std::runtime_error);
    EXPECT_FALSE(h) << "a joined handle is empty";
  };
  rota::run(program(), options());
}

TEST_P(spawn, runs_also_when_its_handle_is_dropped) {
  std::atomic<int> ran{0};
  auto program = [&]() -> task<> {
    for (int i = 0; i < 100; ++i) rota::spawn(count(ran));
    co_return;
  };
  rota::runtime rt{options().with_at_exit(rota::at_exit::drain)};
  rt.run(program());
  EXPECT_TRUE(eventually([&] { return ran == 100; }));
}

TEST_P(spawn, reports_the_exception_of_a_detached_task) {
  std::mutex mutex;
  std::vector<std::string> heard;
  auto o = options();
  o.on_unobserved = [&](std::exception_ptr error, const std::string& who) {
    std::lock_guard guard{mutex};
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      heard.push_back(who + ": " + e.what());
    }
  };
  auto named = []() -> task<> {
    rota::this_task::set_name("careless");
    co_await rota::suspend();
    throw std::runtime_error("unheard");
  };
  auto program = [&]() -> task<> {
    rota::spawn(named()).detach();              // ends after its handle is gone
    auto kept = rota::spawn(failing("ended"));  // ends before its handle is gone
    while (!kept.done()) co_await rota::suspend();
  };
  {
    rota::runtime rt{o};
    rt.run(program());
    EXPECT_TRUE(eventually([&] {
      std::lock_guard guard{mutex};
      return heard.size() == 2;
    }));
  }
  ASSERT_EQ(heard.size(), 2u);
  const std::string all = heard[0] + "\n" + heard[1];
  EXPECT_NE(all.find("'careless': unheard"), std::string::npos) << all;
  EXPECT_NE(all.find(": ended"), std::string::npos) << all;
}

TEST_P(spawn, reports_nothing_about_a_task_that_was_stopped) {
  std::atomic<int> heard{0};
  auto o = options();
  o.on_unobserved = [&](std::exception_ptr, const std::string&) { ++heard; };
  rota::async_event never;
  auto waiting = [&]() -> task<> { co_await never.wait(); };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(waiting());
    co_await rota::suspend();
    h.request_stop();
  };
  {
    rota::runtime rt{o};
    rt.run(program());
  }
  EXPECT_EQ(heard, 0);
}

TEST_P(spawn, keeps_the_result_until_the_handle_is_gone) {
  auto make = []() -> task<std::unique_ptr<tracked>> { co_return std::make_unique<tracked>(); };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(make());
    while (!h.done()) co_await rota::suspend();
    EXPECT_EQ(tracked::alive, 1);
    h.detach();
    EXPECT_EQ(tracked::alive, 0);
  };
  rota::run(program(), options());
}

TEST_P(spawn, a_stopped_task_ends_with_cancelled) {
  auto forever = []() -> task<> {
    for (;;) co_await rota::suspend();
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(forever());
    co_await rota::suspend();
    EXPECT_FALSE(h.done());
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(spawn, a_task_can_be_stopped_before_it_begins) {
  auto forever = []() -> task<> {
    for (;;) co_await rota::suspend();
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(forever());
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(spawn, can_be_called_from_plain_threads) {
  std::atomic<int> ran{0};
  rota::runtime rt{options().with_at_exit(rota::at_exit::drain)};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 250; ++i) rt.spawn(count(ran));
      });
    }
  }
  EXPECT_TRUE(eventually([&] { return ran == 1000; }));
}

TEST_P(spawn, a_handle_made_by_a_plain_thread_can_be_joined_by_a_task) {
  auto join = [](rota::join_handle<int> h) -> task<int> { co_return co_await h; };
  rota::runtime rt{options()};
  EXPECT_EQ(rt.run(join(rt.spawn(number(9)))), 9);
}

TEST_P(spawn, several_threads_can_run_programs_on_one_runtime) {
  rota::runtime rt{options()};
  std::atomic<int> sum{0};
  auto program = [](int n) -> task<int> {
    int total = 0;
    for (int i = 0; i < n; ++i) total += co_await rota::spawn(number(1));
    co_return total;
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { sum += rt.run(program(100)); });
  }
  EXPECT_EQ(sum, 400);
}

TEST(spawn, queues_the_new_task_behind_what_is_ready) {
  std::string log;
  auto note = [&](char c) -> task<> {
    log += c;
    co_return;
  };
  auto program = [&]() -> task<> {
    auto a = rota::spawn(note('a'));
    auto b = rota::spawn(note('b'));
    log += '0';
    co_await rota::suspend();
    log += '1';
    co_await a;
    co_await b;
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "0ab1");
}

TEST(spawn, tasks_have_numbers_and_names) {
  auto inner = []() -> task<std::uint32_t> {
    EXPECT_EQ(rota::this_task::name(), "");
    rota::this_task::set_name("inner");
    EXPECT_EQ(rota::this_task::name(), "inner");
    co_return rota::this_task::id();
  };
  auto program = [&]() -> task<> {
    const auto mine = rota::this_task::id();
    const auto called = co_await inner();
    EXPECT_EQ(called, mine) << "a call is no task of its own";
    EXPECT_EQ(rota::this_task::name(), "inner");
    const auto other = co_await rota::spawn(inner());
    EXPECT_NE(other, mine);
  };
  rota::run(program());
}

TEST(spawn, outside_of_a_task_ends_the_program_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(rota::spawn(number(1)), "use runtime::spawn");
}

TEST(spawn, awaiting_an_empty_handle_ends_the_program_with_a_message) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto program = []() -> task<> {
    rota::join_handle<int> nothing;
    co_await nothing;
  };
  EXPECT_DEATH(rota::run(program()), "an empty join_handle is awaited");
}

TEST(spawn, counts_tasks_begun_and_ended) {
  std::atomic<int> ran{0};
  auto program = [&]() -> task<> {
    for (int i = 0; i < 50; ++i) co_await rota::spawn(count(ran));
  };
  rota::runtime rt{rota::test::with_workers(2)};
  rt.run(program());
  EXPECT_TRUE(eventually([&] { return rt.statistics().finished == 51; }));
  EXPECT_EQ(rt.statistics().spawned, 51u);
}

}  // namespace
