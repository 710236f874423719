// What blocks runs beside the workers. A broken promise shows as a worker that stands still, or as
// a lost result.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

TEST(run_blocking, gives_the_result) {
  auto program = []() -> task<int> { co_return co_await rota::run_blocking([] { return 6; }); };
  EXPECT_EQ(rota::run(program()), 6);
}

TEST(run_blocking, gives_a_result_that_can_only_be_moved_from_a_closure_that_owns) {
  auto program = []() -> task<int> {
    auto owned = std::make_unique<int>(3);
    auto call = [p = std::move(owned)]() mutable { return std::move(p); };
    auto result = co_await rota::run_blocking(std::move(call));
    co_return *result;
  };
  EXPECT_EQ(rota::run(program()), 3);
}

TEST(run_blocking, throws_the_exception) {
  auto program = []() -> task<> {
    EXPECT_THROW(co_await rota::run_blocking([] { throw std::runtime_error("no file"); }),
                 std::runtime_error);
  };
  rota::run(program());
}

TEST(run_blocking, leaves_the_worker_to_others) {
  std::atomic<bool> go{false};
  auto blocked = [&]() -> task<> {
    // Ends only when a task of the one worker has run.
    co_await rota::run_blocking([&] {
      while (!go) std::this_thread::yield();
    });
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(blocked());
    co_await rota::suspend();
    go = true;
    co_await h;
  };
  rota::run(program(), rota::test::with_workers(1));
}

TEST(run_blocking, runs_many_calls_on_a_limited_number_of_threads) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  auto blocked = [&]() -> task<int> {
    co_return co_await rota::run_blocking([&] {
      const int now = ++inside;
      if (now > most) most = now;
      std::this_thread::sleep_for(100us);
      --inside;
      return 1;
    });
  };
  auto program = [&]() -> task<int> {
    std::vector<task<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(blocked());
    auto results = co_await rota::when_all(std::move(all));
    co_return static_cast<int>(results.size());
  };
  auto o = rota::test::with_workers(2);
  o.blocking_threads = 4;
  EXPECT_EQ(rota::run(program(), o), 100);
  EXPECT_LE(most, 4);
}

TEST(run_blocking, is_waited_for_also_when_the_task_is_asked_to_stop) {
  std::atomic<bool> ended{false};
  auto blocked = [&]() -> task<> {
    co_await rota::run_blocking([&] {
      std::this_thread::sleep_for(10ms);
      ended = true;
    });
    EXPECT_TRUE(ended);
    co_await rota::suspend();
    ADD_FAILURE() << "the task went on although it was asked to stop";
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(blocked());
    co_await rota::suspend();
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
  };
  rota::run(program());
}

TEST(run_blocking, ends_before_the_runtime_does) {
  std::atomic<bool> ended{false};
  auto blocked = [&]() -> task<> {
    co_await rota::run_blocking([&] {
      std::this_thread::sleep_for(10ms);
      ended = true;
    });
  };
  {
    rota::runtime rt;
    rt.spawn(blocked());
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
