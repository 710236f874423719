// With N live tasks a ready one runs within N + fairness_slack scheduling points of its worker,
// whoever made it ready. Eight ways to keep a quiet task waiting on one worker; a broken promise
// shows as a count above the bound, or as a hang.
//
// The tests count steps of the hogs themselves, and look at what the runtime counts: the two do
// not share code.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

constexpr int hogs = 10;
constexpr int rounds = rota::test::sanitized ? 200 : 2000;

// The hogs, whoever runs the scenario, and the quiet task.
constexpr std::uint64_t live = hogs + 2;

// Counts steps of the hogs, and how many there were while somebody waited.
class step_counter {
 public:
  void step() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t now() const noexcept { return steps_.load(std::memory_order_relaxed); }
  void waited_since(std::uint64_t ready) noexcept {
    const std::uint64_t n = now();
    // A thread that says too late when it made somebody ready must not count as a wait.
    longest_ = std::max(longest_, n > ready ? n - ready : 0);
    ++waits_;
  }
  std::uint64_t longest() const noexcept { return longest_; }
  int waits() const noexcept { return waits_; }

 private:
  std::atomic<std::uint64_t> steps_{0};
  std::uint64_t longest_ = 0;
  int waits_ = 0;
};

class fairness : public ::testing::Test {
 protected:
  // Yields for ever.
  task<> hog() {
    for (;;) {
      counter.step();
      co_await rota::suspend();
    }
  }

  // `count` hogs beside `quiet`, until that has ended.
  task<> beside_hogs(int count, task<> quiet) {
    std::vector<rota::join_handle<>> all;
    for (int i = 0; i < count; ++i) all.push_back(rota::spawn(hog()));
    co_await std::move(quiet);
    for (auto& h : all) h.request_stop();
  }

  void run(task<> program, std::uint64_t tasks = live) {
    {
      rota::runtime rt{rota::test::with_workers(1)};
      rt.run(std::move(program));
      stats = rt.statistics();
    }
    EXPECT_GT(counter.waits(), 0);
    EXPECT_LE(counter.longest(), tasks + rota::fairness_slack);
    EXPECT_LE(stats.max_ready_delay, tasks + rota::fairness_slack);
  }

  step_counter counter;
  rota::stats stats;
};

TEST_F(fairness, holds_beside_hogs_that_yield) {
  auto quiet = [this]() -> task<> {
    for (int i = 0; i < rounds; ++i) {
      const auto ready = counter.now();
      co_await rota::suspend();
      counter.waited_since(ready);
    }
  };
  run(beside_hogs(hogs, quiet()));
}

TEST_F(fairness, holds_for_a_task_that_a_hog_spawned) {
  auto quiet = [this](std::uint64_t ready) -> task<> {
    counter.waited_since(ready);
    co_return;
  };
  auto spawner = [&]() -> task<> {
    for (int i = 0; i < rounds; ++i) {
      counter.step();
      auto h = rota::spawn(quiet(counter.now()));
      co_await rota::suspend();
      co_await h;
    }
  };
  run(beside_hogs(hogs - 1, spawner()));
}

TEST_F(fairness, holds_for_a_task_that_a_hog_woke) {
  rota::async_semaphore wake{0};
  std::uint64_t ready = 0;
  auto quiet = [&]() -> task<> {
    for (int i = 0; i < rounds; ++i) {
      co_await wake.acquire();
      counter.waited_since(ready);
    }
  };
  auto waker = [&]() -> task<> {
    auto h = rota::spawn(quiet());
    while (!h.done()) {
      counter.step();
      co_await rota::suspend();
      ready = counter.now();
      wake.release();
      co_await rota::suspend();
    }
    co_await h;
  };
  run(beside_hogs(hogs - 1, waker()));
}

TEST_F(fairness, holds_for_a_task_that_another_thread_woke) {
  rota::async_semaphore wake{0};
  std::atomic<std::uint64_t> ready{0};
  std::atomic<bool> asleep{false};
  std::atomic<bool> enough{false};
  auto quiet = [&]() -> task<> {
    rota::outside expected;
    for (int i = 0; i < rounds; ++i) {
      // Until the thread says otherwise it has not woken us yet.
      ready = ~std::uint64_t{0};
      asleep = true;
      co_await wake.acquire();
      counter.waited_since(ready);
    }
    enough = true;
  };
  std::jthread thread([&] {
    while (!enough) {
      if (!asleep.exchange(false)) continue;
      wake.release();
      ready = counter.now();
    }
  });
  run(beside_hogs(hogs, quiet()));
}

TEST_F(fairness, holds_beside_five_pairs_that_play_ping_pong) {
  struct table {
    rota::async_semaphore ping{1}, pong{0};
  };
  std::vector<std::unique_ptr<table>> tables;
  auto player = [this](rota::async_semaphore& mine, rota::async_semaphore& theirs) -> task<> {
    for (;;) {
      co_await mine.acquire();
      counter.step();
      theirs.release();
    }
  };
  auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> players;
    for (int i = 0; i < hogs / 2; ++i) {
      table& t = *tables.emplace_back(std::make_unique<table>());
      players.push_back(rota::spawn(player(t.ping, t.pong)));
      players.push_back(rota::spawn(player(t.pong, t.ping)));
    }
    for (int i = 0; i < rounds; ++i) {
      const auto ready = counter.now();
      co_await rota::suspend();
      counter.waited_since(ready);
    }
    for (auto& h : players) h.request_stop();
  };
  run(program());
}

TEST_F(fairness, holds_beside_tasks_that_spawn_their_successors) {
  std::atomic<bool> enough{false};
  struct chain {
    static task<> link(step_counter& steps, std::atomic<bool>& end) {
      steps.step();
      if (!end) rota::spawn(link(steps, end));
      co_return;
    }
  };
  auto program = [&]() -> task<> {
    for (int i = 0; i < hogs; ++i) rota::spawn(chain::link(counter, enough));
    for (int i = 0; i < rounds; ++i) {
      const auto ready = counter.now();
      co_await rota::suspend();
      counter.waited_since(ready);
    }
    enough = true;
  };
  // For the length of a step there is a link and its successor.
  run(program(), live + 1);
}

TEST_F(fairness, holds_for_a_timer_beside_hogs) {
  // The first step of a hog after the deadline marks when the quiet task became ready.
  std::chrono::steady_clock::time_point deadline{};
  std::uint64_t due = 0;
  auto watchful_hog = [&]() -> task<> {
    for (;;) {
      counter.step();
      // Ticks are rounded up by a microsecond.
      if (due == 0 && std::chrono::steady_clock::now() >= deadline + 2us) due = counter.now();
      co_await rota::suspend();
    }
  };
  auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> all;
    for (int i = 0; i < hogs; ++i) all.push_back(rota::spawn(watchful_hog()));
    for (int i = 0; i < 50; ++i) {
      deadline = std::chrono::steady_clock::now() + 1ms;
      due = 0;
      co_await rota::sleep_until(deadline);
      counter.waited_since(due == 0 ? counter.now() : due);
    }
    for (auto& h : all) h.request_stop();
  };
  run(program());
}

TEST_F(fairness, holds_beside_tasks_whose_awaits_are_always_ready) {
  rota::async_event ready{true};
  auto dispatcher = [&]() -> task<> {
    while (!rota::this_task::stop_requested()) co_await ready.wait();
  };
  rota::runtime rt{rota::test::with_workers(1)};
  std::uint64_t longest = 0;
  auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> all;
    for (int i = 0; i < hogs; ++i) all.push_back(rota::spawn(dispatcher()));
    for (int i = 0; i < rounds; ++i) {
      const auto before = rt.statistics().points;
      co_await rota::suspend();
      longest = std::max(longest, rt.statistics().points - before);
    }
    for (auto& h : all) h.request_stop();
  };
  rt.run(program());
  EXPECT_GE(longest, static_cast<std::uint64_t>(hogs)) << "the hogs did not take part";
  EXPECT_LE(longest, live + rota::fairness_slack);
  EXPECT_LE(rt.statistics().max_ready_delay, live + rota::fairness_slack);
}

TEST_F(fairness, holds_beside_tasks_that_call_without_end) {
  auto nothing = []() -> task<> { co_return; };
  auto caller = [&]() -> task<> {
    while (!rota::this_task::stop_requested()) co_await nothing();
  };
  auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> all;
    for (int i = 0; i < hogs; ++i) all.push_back(rota::spawn(caller()));
    for (int i = 0; i < 20; ++i) co_await rota::suspend();
    for (auto& h : all) h.request_stop();
  };
  rota::runtime rt{rota::test::with_workers(1)};
  rt.run(program());
  EXPECT_LE(rt.statistics().max_ready_delay, live + rota::fairness_slack);
}

TEST_F(fairness, holds_with_a_thousand_hogs) {
  auto quiet = [this]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      const auto ready = counter.now();
      co_await rota::suspend();
      counter.waited_since(ready);
    }
  };
  run(beside_hogs(1000, quiet()), 1002);
}

}  // namespace
