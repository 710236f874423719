// An event wakes all who wait for it. A broken promise shows as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "support/tasks.h"

namespace {

using rota::task;

class event : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, event, ::testing::Values(1u, 2u, 4u));

TEST_P(event, wakes_all_who_wait_and_lets_later_ones_pass) {
  rota::async_event e;
  std::atomic<int> woken{0};
  auto waits = [&]() -> task<> {
    co_await e.wait();
    ++woken;
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 100; ++i) g.spawn(waits());
    for (int i = 0; i < 3; ++i) co_await rota::suspend();
    EXPECT_EQ(woken, 0);
    e.set();
    co_await g.join();
    co_await e.wait();
    EXPECT_TRUE(e.is_set());
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
  EXPECT_EQ(woken, 100);
}

TEST_P(event, that_was_reset_is_waited_for_again) {
  rota::async_event e{true};
  auto program = [&]() -> task<> {
    for (int i = 0; i < 100; ++i) {
      co_await e.wait();
      e.reset();
      EXPECT_FALSE(e.is_set());
      auto setter = [&]() -> task<> {
        e.set();
        co_return;
      };
      auto h = rota::spawn(setter());
      co_await e.wait();
      co_await h;
    }
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
}

TEST_P(event, can_be_set_by_a_plain_thread) {
  rota::async_event e;
  auto program = [&]() -> task<> { co_await e.wait(); };
  rota::runtime rt{rota::test::with_workers(GetParam())};
  std::jthread thread([&e, expected = rota::outside{rt}] { e.set(); });
  rt.run(program());
}

TEST_P(event, may_be_destroyed_by_the_task_that_it_woke) {
  auto program = []() -> task<> {
    for (int i = 0; i < 300; ++i) {
      std::optional<rota::async_event> e{std::in_place};
      auto setter = [](rota::async_event& doomed) -> task<> {
        doomed.set();
        co_return;
      };
      auto h = rota::spawn(setter(*e));
      co_await e->wait();
      e.reset();
      co_await h;
    }
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
}

}  // namespace
