// As many holders as permits, first come, first served. A broken promise shows as one too many, a
// lost permit or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "support/tasks.h"

namespace {

using rota::task;

class semaphore : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, semaphore, ::testing::Values(1u, 2u, 4u));

TEST_P(semaphore, never_has_more_holders_than_permits) {
  rota::async_semaphore slots{3};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  auto user = [&]() -> task<> {
    for (int i = 0; i < 50; ++i) {
      co_await slots.acquire();
      const int now = ++inside;
      if (now > most) most = now;
      co_await rota::suspend();
      --inside;
      slots.release();
    }
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 10; ++i) g.spawn(user());
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
  EXPECT_LE(most, 3);
  EXPECT_EQ(inside, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(slots.try_acquire()) << "a permit was lost";
  EXPECT_FALSE(slots.try_acquire()) << "there is a permit too many";
}

TEST_P(semaphore, a_cancelled_wait_takes_no_permit) {
  rota::async_semaphore s{0};
  auto waits = [&]() -> task<> { co_await s.acquire(); };
  auto program = [&]() -> task<> {
    for (int i = 0; i < 50; ++i) {
      auto h = rota::spawn(waits());
      co_await rota::suspend();
      h.request_stop();
      s.release();
      bool got = true;
      try {
        co_await h;
      } catch (const rota::cancelled&) {
        got = false;
      }
      EXPECT_EQ(s.try_acquire(), !got);
    }
  };
  rota::run(program(), rota::test::with_workers(GetParam()));
}

TEST(semaphore, is_served_first_come_first_served) {
  rota::async_semaphore s{0};
  std::string log;
  auto waits = [&](char c) -> task<> {
    co_await s.acquire();
    log += c;
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (char c = 'a'; c < 'g'; ++c) g.spawn(waits(c));
    co_await rota::suspend();
    s.release(6);
    EXPECT_FALSE(s.try_acquire()) << "a permit that was handed over was taken";
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "abcdef");
}

}  // namespace
