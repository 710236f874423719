// One holder at a time, first come, first served. A broken promise shows as two holders, another
// order or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/tasks.h"

namespace {

using rota::task;

class mutex : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, mutex, ::testing::Values(1u, 2u, 4u));

TEST_P(mutex, has_one_holder_at_a_time_also_across_suspensions) {
  rota::async_mutex m;
  int value = 0;  // not atomic: the mutex keeps it
  auto adder = [&]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      auto held = co_await m.lock();
      const int seen = value;
      if (i % 4 == 0) co_await rota::suspend();
      value = seen + 1;
    }
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 10; ++i) g.spawn(adder());
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
  EXPECT_EQ(value, 2000);
}

TEST_P(mutex, a_cancelled_wait_does_not_get_it) {
  rota::async_mutex m;
  auto waits = [&]() -> task<> { auto held = co_await m.lock(); };
  auto program = [&]() -> task<> {
    auto held = co_await m.lock();
    auto a = rota::spawn(waits());
    auto b = rota::spawn(waits());
    for (int i = 0; i < 5; ++i) co_await rota::suspend();
    a.request_stop();
    EXPECT_THROW(co_await a, rota::cancelled);
    held.unlock();
    co_await b;
    auto again = co_await m.lock();
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
}

TEST(mutex, is_handed_over_first_come_first_served) {
  rota::async_mutex m;
  std::string log;
  auto waits = [&](char c) -> task<> {
    auto held = co_await m.lock();
    log += c;
    co_await rota::suspend();
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    {
      auto held = co_await m.lock();
      for (char c = 'a'; c < 'g'; ++c) g.spawn(waits(c));
      co_await rota::suspend();
    }
    auto last = co_await m.lock();  // nobody slips in
    log += '!';
    last.unlock();
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "abcdef!");
}

TEST(mutex, the_guard_can_be_moved) {
  rota::async_mutex m;
  auto program = [&]() -> task<> {
    auto a = co_await m.lock();
    auto b = std::move(a);
    a.unlock();  // holds nothing any more
    auto waits = [&]() -> task<> { auto held = co_await m.lock(); };
    auto h = rota::spawn(waits());
    co_await rota::suspend();
    EXPECT_FALSE(h.done());
    b.unlock();
    co_await h;
  };
  rota::run(program(), rota::test::with_workers(1));
}

}  // namespace
