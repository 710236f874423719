// `deadlock_reported`: when every task waits and nothing outside is expected, run() throws and says
// who waits for whom. A broken promise shows as a hang, or as a report where there is no deadlock.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

// What run() says about a program that cannot end.
std::string report_of(rota::runtime& rt, task<> program) {
  try {
    rt.run(std::move(program));
  } catch (const rota::deadlock& d) {
    return d.what();
  }
  return "no deadlock was reported";
}

::testing::AssertionResult says(const std::string& report, const std::string& text) {
  if (report.find(text) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' is not in:\n" << report;
}

// 0 workers stand for strict order.
class deadlock : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(workers, deadlock, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(deadlock, names_the_task_and_the_place_of_a_wait) {
  rota::async_event never;
  unsigned line = 0;
  auto inner = [&]() -> task<> {
    line = __LINE__ + 1;
    co_await never.wait();
  };
  auto program = [&]() -> task<> {
    rota::this_task::set_name("patient");
    co_await inner();
  };
  rota::runtime rt{options()};
  const std::string report = report_of(rt, program());
  EXPECT_TRUE(says(report, "'patient' waits for an event"));
  EXPECT_TRUE(says(report, "deadlock_test.cpp:" + std::to_string(line)));
  EXPECT_TRUE(says(report, "deadlock_test.cpp:" + std::to_string(line + 4)))
      << "the caller is missing";
  EXPECT_TRUE(says(report, "rota::outside")) << "the way on is missing";
}

TEST_P(deadlock, of_two_tasks_that_join_each_other_is_reported_as_a_cycle) {
  std::uint32_t left_id = 0;
  std::uint32_t right_id = 0;
  rota::async_event both_there;
  auto wait_for = [&](rota::join_handle<>& other, std::uint32_t& id, const char* name) -> task<> {
    rota::this_task::set_name(name);
    id = rota::this_task::id();
    co_await both_there.wait();
    co_await other;
  };
  auto program = [&]() -> task<> {
    rota::join_handle<> left;
    rota::join_handle<> right;
    left = rota::spawn(wait_for(right, left_id, "left"));
    right = rota::spawn(wait_for(left, right_id, "right"));
    both_there.set();
    rota::async_event never;
    co_await never.wait();
  };
  rota::runtime rt{options()};
  const std::string report = report_of(rt, program());
  const std::string l = std::to_string(left_id);
  const std::string r = std::to_string(right_id);
  EXPECT_TRUE(says(report, "'left' waits for the end of task " + r + " 'right'"));
  EXPECT_TRUE(says(report, "'right' waits for the end of task " + l + " 'left'"));
  EXPECT_TRUE(says(report, "the cycle: " + l + " -> " + r + " -> " + l) ||
              says(report, "the cycle: " + r + " -> " + l + " -> " + r))
      << report;
}

TEST_P(deadlock, of_two_mutexes_is_reported_as_a_cycle) {
  rota::async_event both_have_one;
  std::atomic<int> taken{0};
  auto philosopher = [&](rota::async_mutex& first, rota::async_mutex& second,
                         const char* name) -> task<> {
    rota::this_task::set_name(name);
    auto one = co_await first.lock();
    if (++taken == 2) both_have_one.set();
    co_await both_have_one.wait();
    auto two = co_await second.lock();
  };
  auto program = [&]() -> task<> {
    rota::async_mutex fork_a;  // destroyed after those who hold it
    rota::async_mutex fork_b;
    rota::task_group table;
    table.spawn(philosopher(fork_a, fork_b, "plato"));
    table.spawn(philosopher(fork_b, fork_a, "hypatia"));
    co_await table.join();
  };
  rota::runtime rt{options()};
  const std::string report = report_of(rt, program());
  EXPECT_TRUE(says(report, "'plato' waits for a mutex that task "));
  EXPECT_TRUE(says(report, "'hypatia' waits for a mutex that task "));
  EXPECT_TRUE(says(report, "waits for the tasks of a group"));
  EXPECT_TRUE(says(report, "the cycle: "));
}

TEST_P(deadlock, of_a_task_that_locks_a_mutex_twice_is_reported_as_a_cycle) {
  rota::async_mutex m;
  auto program = [&]() -> task<> {
    auto once = co_await m.lock();
    auto twice = co_await m.lock();
  };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, program()), "the cycle: 1 -> 1"));
}

TEST_P(deadlock, of_a_channel_is_reported) {
  rota::channel<int> empty{1};
  auto program = [&]() -> task<> { co_await empty.receive(); };
  rota::channel<int> full{0};
  auto sender = [&]() -> task<> { co_await full.send(1); };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, program()), "waits to receive from an empty channel"));
  EXPECT_TRUE(says(report_of(rt, sender()), "waits to send into a full channel"));
}

TEST_P(deadlock, of_guards_is_reported) {
  bool never = false;
  auto plain = [&]() -> task<> { co_await rota::guard([&] { return never; }); };
  rota::cell<int> zero{0};
  auto with_cell = [&]() -> task<> { co_await zero.until([](int v) { return v > 0; }); };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, plain()), "waits for a guard to hold"));
  EXPECT_TRUE(says(report_of(rt, with_cell()), "waits for a cell to change"));
}

TEST_P(deadlock, of_a_semaphore_is_reported) {
  rota::async_semaphore none{0};
  auto program = [&]() -> task<> { co_await none.acquire(); };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, program()), "waits for a semaphore"));
}

TEST_P(deadlock, of_many_guards_is_reported) {
  int turn = 0;
  auto wait_for = [&](int mine) -> task<> {
    co_await rota::guard([&turn, mine] { return turn == mine; });
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 1; i <= 20; ++i) g.spawn(wait_for(i));
    co_await g.join();
  };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, program()), "waits for a guard to hold"));
}

TEST_P(deadlock, is_none_while_something_outside_is_expected) {
  rota::async_event event;
  auto program = [&]() -> task<> { co_await event.wait(); };
  rota::runtime rt{options()};
  std::jthread thread([&event, expected = rota::outside{rt}] {
    std::this_thread::sleep_for(20ms);
    event.set();
  });
  EXPECT_NO_THROW(rt.run(program()));
}

TEST_P(deadlock, can_be_told_by_a_task_that_something_outside_is_expected) {
  rota::channel<int> ch{1};
  std::jthread thread;
  auto program = [&]() -> task<int> {
    rota::outside expected;
    thread = std::jthread([&ch, expected] {
      std::this_thread::sleep_for(10ms);
      ch.try_send(3);
    });
    auto got = co_await ch.receive();
    co_return *got;
  };
  EXPECT_EQ(rota::run(program(), options()), 3);
}

TEST_P(deadlock, is_reported_when_the_last_expectation_is_gone) {
  rota::async_event never;
  auto program = [&]() -> task<> { co_await never.wait(); };
  rota::runtime rt{options()};
  std::jthread thread([expected = std::make_unique<rota::outside>(rt)]() mutable {
    std::this_thread::sleep_for(20ms);
    expected.reset();
  });
  EXPECT_THROW(rt.run(program()), rota::deadlock);
}

TEST_P(deadlock, is_none_while_a_task_sleeps_or_blocks) {
  rota::async_event event;
  auto sleeper = [&]() -> task<> {
    co_await rota::sleep_for(20ms);
    co_await rota::run_blocking([] { std::this_thread::sleep_for(20ms); });
    event.set();
  };
  auto program = [&]() -> task<> {
    rota::spawn(sleeper());
    co_await event.wait();
  };
  rota::runtime rt{options()};
  EXPECT_NO_THROW(rt.run(program()));
}

TEST_P(deadlock, is_none_while_another_program_can_still_help) {
  rota::async_event event;
  auto waits = [&]() -> task<> { co_await event.wait(); };
  std::atomic<bool> begun{false};
  auto helps = [&]() -> task<> {
    begun = true;
    for (int i = 0; i < 100; ++i) co_await rota::sleep_for(200us);
    event.set();
  };
  rota::runtime rt{options()};
  std::jthread other([&] { rt.run(helps()); });
  // Until the helper has begun there is a deadlock, and it may be reported.
  ASSERT_TRUE(rota::test::eventually([&] { return begun.load(); }));
  EXPECT_NO_THROW(rt.run(waits()));
}

TEST_P(deadlock, leaves_the_tasks_as_they_are_until_the_runtime_ends) {
  rota::async_event never;
  bool unwound = false;
  {
    auto stuck = [&]() -> task<> {
      rota::test::tracked local;
      try {
        co_await never.wait();
      } catch (...) {
        unwound = true;
        throw;
      }
    };
    auto shielded = [&]() -> task<> {
      rota::test::tracked local;
      rota::shield stubborn;
      co_await never.wait();
    };
    auto program = [&]() -> task<> { co_await rota::when_all(stuck(), shielded()); };
    rota::runtime rt{options()};
    EXPECT_THROW(rt.run(program()), rota::deadlock);
    EXPECT_EQ(rota::test::tracked::alive, 2);
  }
  EXPECT_EQ(rota::test::tracked::alive, 0);
  EXPECT_FALSE(unwound);
}

TEST_P(deadlock, does_not_end_a_runtime_before_its_blocking_calls) {
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  rota::async_event never;
  auto stuck = [&]() -> task<> { co_await never.wait(); };
  auto blocks = [&]() -> task<> {
    auto call = [&begun, &ended, in_the_frame = std::make_shared<int>(1)] {
      begun = true;
      std::this_thread::sleep_for(30ms);
      ended = *in_the_frame == 1;
    };
    co_await rota::run_blocking(std::move(call));
  };
  {
    rota::runtime rt{options()};
    EXPECT_THROW(rt.run(stuck()), rota::deadlock);
    rt.spawn(blocks());
    ASSERT_TRUE(rota::test::eventually([&] { return begun.load(); }));
  }
  EXPECT_TRUE(ended);
}

TEST_P(deadlock, leaves_a_runtime_that_can_be_used) {
  rota::runtime rt{options()};
  auto stuck = []() -> task<> {
    rota::async_event never;
    co_await never.wait();
  };
  auto fine = []() -> task<int> {
    co_await rota::suspend();
    co_return 5;
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(rt.run(stuck()), rota::deadlock);
    EXPECT_EQ(rt.run(fine()), 5);
  }
}

TEST_P(deadlock, of_a_parent_that_waits_for_a_forked_child_is_reported) {
  rota::async_event never;
  auto child = [&]() -> task<> { co_await never.wait(); };
  auto program = [&]() -> task<> {
    rota::fork_scope forks;
    co_await forks.fork(child());
    co_await forks.join();
  };
  rota::runtime rt{options()};
  EXPECT_TRUE(says(report_of(rt, program()), "waits for an event"));
}

}  // namespace
