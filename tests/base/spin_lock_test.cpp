// A broken promise shows as a count that lacks increments, as a race under the thread sanitizer, or
// as a hang.

#include <rota/base/spin_lock.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::detail::spin_guard;
using rota::detail::spin_lock;

TEST(spin_lock, takes_four_bytes) { EXPECT_EQ(sizeof(spin_lock), 4u); }

TEST(spin_lock, try_lock_fails_while_it_is_held_and_succeeds_after) {
  spin_lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(spin_lock, a_guard_unlocks_at_the_end_of_its_scope) {
  spin_lock lock;
  {
    spin_guard guard{lock};
    EXPECT_FALSE(lock.try_lock());
  }
  EXPECT_TRUE(lock.try_lock());
}

TEST(spin_lock, a_guard_that_was_released_does_not_unlock_again) {
  spin_lock lock;
  {
    spin_guard guard{lock};
    guard.release();
    EXPECT_TRUE(lock.try_lock());
  }
  EXPECT_FALSE(lock.try_lock());  // still held by our try_lock()
}

TEST(spin_lock, who_waits_gets_it_when_the_holder_lost_its_processor) {
  spin_lock lock;
  std::atomic<bool> entered{false};
  lock.lock();
  std::thread other{[&] {
    spin_guard guard{lock};
    entered.store(true);
  }};
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(entered.load());
  lock.unlock();
  other.join();
  EXPECT_TRUE(entered.load());
}

TEST(spin_lock, one_at_a_time) {
  const std::uint64_t each = rota::test::rounds(300'000, 30'000'000);
  spin_lock lock;
  std::uint64_t plain = 0;  // guarded by lock
  // An increment that takes its time, so that a second one would fall into it.
  const auto increment = [&plain] {
    const std::uint64_t seen = plain;
    rota::test::spin(1);
    plain = seen + 1;
  };
  rota::test::run_together(3, [&](unsigned index) {
    for (std::uint64_t i = 0; i < each; ++i) {
      if (index == 0 && i % 2 == 0) {
        while (!lock.try_lock()) std::this_thread::yield();
        increment();
        lock.unlock();
      } else {
        spin_guard guard{lock};
        increment();
      }
    }
  });
  EXPECT_EQ(plain, 3 * each);
}

}  // namespace
