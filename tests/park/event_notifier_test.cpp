// A broken promise shows as a hang: a lost wake-up sleeps for ever, until the time limit of the
// test ends it.

#include <rota/park/event_notifier.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::event_notifier;
namespace sync = rota::sync;

TEST(event_notifier, a_notify_between_prepare_park_and_park_is_not_lost) {
  event_notifier notifier;
  notifier.prepare_park();
  notifier.notify();
  notifier.park();
}

TEST(event_notifier, a_notify_during_the_announcement_is_not_lost) {
  event_notifier notifier;
  notifier.prepare_park([&] { notifier.notify(); });
  notifier.park();
}

TEST(event_notifier, a_notify_wakes_a_sleeper) {
  event_notifier notifier;
  std::thread sleeper{[&] {
    notifier.prepare_park();
    notifier.park();
  }};
  ASSERT_TRUE(rota::test::wait_for([&] { return notifier.is_parked(); }));
  notifier.notify();
  sleeper.join();
  EXPECT_FALSE(notifier.is_parked());
}

TEST(event_notifier, a_notify_before_the_ticket_is_left_to_the_look) {
  // The consumer was awake and looks by itself after the ticket, so nothing is kept for it.
  event_notifier notifier;
  notifier.notify();
  notifier.prepare_park();
  EXPECT_FALSE(notifier.park_until(sync::now() + 5ms));
}

TEST(event_notifier, work_published_before_the_ticket_is_seen_by_the_look) {
  event_notifier notifier;
  std::atomic<bool> work{false};
  std::thread producer{[&] {
    work.store(true, std::memory_order_relaxed);
    notifier.notify();
  }};
  for (;;) {
    notifier.prepare_park();
    if (work.load(std::memory_order_relaxed)) break;
    notifier.park();
  }
  producer.join();
  notifier.cancel();
}

TEST(event_notifier, cancel_tells_of_a_notify_in_between) {
  event_notifier notifier;
  notifier.prepare_park();
  EXPECT_FALSE(notifier.cancel());
  notifier.prepare_park();
  notifier.notify();
  EXPECT_TRUE(notifier.cancel());
  notifier.prepare_park();
  EXPECT_FALSE(notifier.cancel()) << "a notify was told of twice";
}

TEST(event_notifier, many_notifies_are_one) {
  event_notifier notifier;
  notifier.prepare_park();
  for (int i = 0; i < 5; ++i) notifier.notify();
  notifier.park();
  notifier.prepare_park();
  EXPECT_FALSE(notifier.park_until(sync::now() + 5ms)) << "four notifies were left over";
}

TEST(event_notifier, a_notify_of_somebody_awake_ends_no_later_sleep) {
  event_notifier notifier;
  notifier.prepare_park();
  notifier.notify();
  EXPECT_TRUE(notifier.cancel());
  notifier.notify();
  notifier.prepare_park();
  EXPECT_FALSE(notifier.park_until(sync::now() + 5ms));
}

TEST(event_notifier, park_until_times_out_at_its_deadline) {
  event_notifier notifier;
  for (const auto length : {0us, 200us, 20'000us}) {
    notifier.prepare_park();
    const auto deadline = sync::now() + length;
    EXPECT_FALSE(notifier.park_until(deadline));
    EXPECT_GE(sync::now(), deadline);
  }
}

TEST(event_notifier, park_until_with_a_deadline_in_the_past_still_tells_of_a_notify) {
  event_notifier notifier;
  notifier.prepare_park();
  EXPECT_FALSE(notifier.park_until(sync::now() - 1s));
  notifier.prepare_park();
  notifier.notify();
  EXPECT_TRUE(notifier.park_until(sync::now() - 1s));
}

TEST(event_notifier, park_until_tells_of_a_notify_before_its_deadline) {
  event_notifier notifier;
  std::thread producer{[&] {
    rota::test::wait_for([&] { return notifier.is_parked(); });
    notifier.notify();
  }};
  notifier.prepare_park();
  EXPECT_TRUE(notifier.park_until(sync::now() + 1h));
  producer.join();
}

TEST(event_notifier, sleeps_again_after_a_timeout) {
  event_notifier notifier;
  notifier.prepare_park();
  EXPECT_FALSE(notifier.park_until(sync::now() + 1ms));
  std::thread producer{[&] {
    rota::test::wait_for([&] { return notifier.is_parked(); });
    notifier.notify();
  }};
  notifier.prepare_park();
  notifier.park();
  producer.join();
}

TEST(event_notifier, is_parked_only_while_the_consumer_sleeps) {
  event_notifier notifier;
  EXPECT_FALSE(notifier.is_parked());
  notifier.prepare_park();
  EXPECT_FALSE(notifier.is_parked());
  notifier.notify();
  EXPECT_FALSE(notifier.is_parked());
  notifier.park();
  EXPECT_FALSE(notifier.is_parked());
}

TEST(event_notifier, one_wake_up_is_enough_for_several_producers) {
  event_notifier notifier;
  std::atomic<int> posted{0};
  std::thread consumer{[&] {
    for (;;) {
      notifier.prepare_park();
      if (posted.load() == 3) break;
      notifier.park();
    }
    notifier.cancel();
  }};
  rota::test::run_together(3, [&](unsigned) {
    posted.fetch_add(1);
    notifier.notify();
  });
  consumer.join();
}

#if defined(ROTA_ASSERTIONS)
TEST(event_notifier_death_test, a_second_ticket_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  event_notifier notifier;
  notifier.prepare_park();
  EXPECT_DEATH(notifier.prepare_park(), "prepare_park\\(\\) while the state is 1");
}
#endif

}  // namespace
