// A guard goes on when its condition holds, and only then. A broken promise shows as a hang or as a
// condition that does not hold.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/tasks.h"

namespace {

using rota::task;

class guard : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(workers, guard, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(guard, that_holds_goes_on) {
  auto program = []() -> task<> {
    co_await rota::guard([] { return true; });
    rota::cell<int> one{1};
    co_await one.until([](int v) { return v == 1; });
    co_await rota::guard([&] { return one.get() == 1; }, one);
  };
  rota::run(program(), options());
}

TEST_P(guard, goes_on_when_another_task_makes_it_hold) {
  std::atomic<int> stock{0};
  auto supplier = [&]() -> task<> {
    for (int i = 0; i < 10; ++i) {
      ++stock;
      co_await rota::suspend();
    }
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(supplier());
    co_await rota::guard([&] { return stock >= 7; });
    EXPECT_GE(stock, 7);
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(guard, that_names_cells_goes_on_when_one_is_written) {
  rota::cell<int> stock{0};
  rota::cell<int> budget{0};
  auto supplier = [&]() -> task<> {
    for (int i = 0; i < 5; ++i) {
      stock.update([](int& s) { ++s; });
      co_await rota::suspend();
      budget.set(i + 1);
    }
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(supplier());
    co_await rota::guard([&] { return stock.get() >= 3 && budget.get() >= 4; }, stock, budget);
    EXPECT_GE(budget.get(), 4);
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(guard, that_names_a_cell_twice_is_fine) {
  rota::cell<int> x{0};
  auto writer = [&]() -> task<> {
    x.set(1);
    co_return;
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(writer());
    co_await rota::guard([&] { return x.get() == 1; }, x, x);
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(guard, on_a_cell_sees_what_a_plain_thread_writes) {
  rota::cell<int> x{0};
  auto program = [&]() -> task<int> {
    co_await x.until([](int v) { return v >= 100; });
    co_return x.get();
  };
  rota::runtime rt{options()};
  std::jthread thread([&x, expected = rota::outside{rt}] {
    for (int i = 1; i <= 100; ++i) x.set(i);
  });
  EXPECT_EQ(rt.run(program()), 100);
}

TEST_P(guard, of_each_of_many_tasks_gets_its_turn) {
  rota::cell<int> turn{0};
  std::vector<int> order;
  auto player = [&](int mine) -> task<> {
    co_await turn.until([mine](int t) { return t == mine; });
    order.push_back(mine);  // only one at a time
    turn.set(mine + 1);
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 49; i >= 0; --i) g.spawn(player(i));
    co_await g.join();
  };
  rota::run(program(), options());
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(guard, plain_and_many_get_their_turns) {
  std::atomic<int> turn{0};
  auto player = [&](int mine) -> task<> {
    co_await rota::guard([&turn, mine] { return turn == mine; });
    turn = mine + 1;
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 29; i >= 0; --i) g.spawn(player(i));
    co_await g.join();
  };
  rota::run(program(), options());
  EXPECT_EQ(turn, 30);
}

TEST_P(guard, that_throws_throws_into_its_task) {
  auto program = []() -> task<> {
    EXPECT_THROW(co_await rota::guard([]() -> bool { throw std::runtime_error("look away"); }),
                 std::runtime_error);
  };
  rota::run(program(), options());
}

TEST(guard, holds_when_its_task_goes_on_with_one_worker) {
  // A flag that is up for the length of one round only, and somebody who takes it down.
  bool up = false;
  int seen = 0;
  auto flipper = [&]() -> task<> {
    while (seen < 100) {
      up = !up;
      co_await rota::suspend();
    }
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(flipper());
    while (seen < 100) {
      co_await rota::guard([&] { return up; });
      EXPECT_TRUE(up);
      up = false;
      ++seen;
    }
    co_await h;
  };
  rota::run(program(), rota::test::with_workers(1));
}

TEST(guard, goes_on_in_the_order_of_waiting) {
  bool open = false;
  std::string log;
  auto waiter = [&](char c) -> task<> {
    co_await rota::guard([&] { return open; });
    log += c;
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (char c = 'a'; c < 'i'; ++c) g.spawn(waiter(c));
    co_await rota::suspend();
    open = true;
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "abcdefgh");
}

TEST(guard, that_waits_costs_no_steps) {
  bool open = false;
  rota::runtime rt{rota::test::with_workers(1)};
  auto program = [&]() -> task<> { co_await rota::guard([&] { return open; }); };
  auto opener = [&]() -> task<> {
    const auto before = rt.statistics().points;
    co_await rota::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LT(rt.statistics().points - before, 20u) << "the guard was looked at for ever";
    open = true;
  };
  auto both = [&]() -> task<> {
    rota::task_group g;
    g.spawn(program());
    g.spawn(opener());
    co_await g.join();
  };
  rt.run(both());
}

TEST(guard, two_that_wait_do_not_keep_each_other_awake) {
  bool open = false;
  rota::runtime rt{rota::test::with_workers(1)};
  auto waits = [&]() -> task<> { co_await rota::guard([&] { return open; }); };
  auto opener = [&]() -> task<> {
    const auto before = rt.statistics().points;
    co_await rota::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LT(rt.statistics().points - before, 60u) << "the guards wake each other";
    open = true;
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 5; ++i) g.spawn(waits());
    g.spawn(opener());
    co_await g.join();
  };
  rt.run(program());
}

}  // namespace
