// A broken alarm shows as a hang (the test's time limit ends it) or as a sleep of the wrong length.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class alarm_test : public testing::TestWithParam<unsigned> {
 protected:
  rota::options workers() const { return rota::options{}.with_workers(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(workers, alarm_test, testing::Values(1u, 2u, 4u));

rota::task<bool> doze(rota::async_alarm& alarm, std::chrono::nanoseconds time) {
  co_return co_await alarm.sleep_for(time);
}

TEST_P(alarm_test, a_sleep_that_nobody_ends_takes_its_time) {
  rota::async_alarm alarm;
  const auto begin = clock::now();
  EXPECT_TRUE(rota::run(doze(alarm, 5ms), workers()));
  EXPECT_GE(clock::now() - begin, 5ms);
}

TEST_P(alarm_test, cancel_ends_the_sleep_without_an_exception) {
  rota::async_alarm alarm;
  auto program = [&]() -> rota::task<bool> {
    auto sleeper = rota::spawn(doze(alarm, 1h));
    co_await rota::sleep_for(1ms);
    alarm.cancel();
    co_return co_await sleeper;
  };
  EXPECT_FALSE(rota::run(program(), workers()));
}

TEST_P(alarm_test, a_cancel_that_comes_first_is_kept_until_reset) {
  rota::async_alarm alarm;
  alarm.cancel();
  EXPECT_FALSE(rota::run(doze(alarm, 1h), workers()));
  alarm.reset();
  EXPECT_TRUE(rota::run(doze(alarm, 1ms), workers()));
}

TEST_P(alarm_test, another_thread_may_cancel) {
  rota::runtime rt{workers()};
  for (int round = 0; round < 200; ++round) {
    rota::async_alarm alarm;
    std::thread other([&] { alarm.cancel(); });
    EXPECT_FALSE(rt.run(doze(alarm, 1h)));
    other.join();
  }
}

TEST_P(alarm_test, a_stopped_task_leaves_its_alarm) {
  rota::async_alarm alarm;
  auto program = [&]() -> rota::task<bool> {
    auto sleeper = rota::spawn(doze(alarm, 1h));
    co_await rota::sleep_for(1ms);
    sleeper.request_stop();
    bool stopped = false;
    try {
      (void)co_await sleeper;
    } catch (const rota::cancelled&) {
      stopped = true;
    }
    // Free for the next one.
    co_return stopped&& co_await doze(alarm, 1ms);
  };
  EXPECT_TRUE(rota::run(program(), workers()));
}

// Cancelling races with the time being over: each sleep ends once, in one of the two ways.
TEST_P(alarm_test, cancel_and_the_end_of_time_may_come_together) {
  auto program = [&]() -> rota::task<int> {
    std::deque<rota::async_alarm> alarms(2000);
    std::vector<rota::join_handle<bool>> sleepers;
    for (auto& alarm : alarms) sleepers.push_back(rota::spawn(doze(alarm, 500us)));
    int ended = 0;
    for (std::size_t i = 0; i < alarms.size(); ++i) {
      alarms[i].cancel();
      if (i % 16 == 0) co_await rota::suspend();
    }
    for (auto& sleeper : sleepers) {
      (void)co_await sleeper;
      ++ended;
    }
    co_return ended;
  };
  EXPECT_EQ(rota::run(program(), workers()), 2000);
}

}  // namespace
