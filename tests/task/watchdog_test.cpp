// The watchdog names a task that does not give way, once, and nobody else. A broken promise shows
// as silence or as a false alarm.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

struct alarms {
  std::mutex mutex;
  std::vector<std::string> texts;

  rota::options options(std::chrono::milliseconds limit) {
    auto o = rota::test::with_workers(1).with_watchdog(limit);
    o.on_long_step = [this](const std::string& text) {
      std::lock_guard guard{mutex};
      texts.push_back(text);
    };
    return o;
  }
  std::size_t count() {
    std::lock_guard guard{mutex};
    return texts.size();
  }
};

TEST(watchdog, names_a_task_that_does_not_give_way_once) {
  alarms heard;
  auto program = [&]() -> task<> {
    rota::this_task::set_name("hog");
    co_await rota::suspend();
    // Until somebody has heard of it, and then for a while more.
    EXPECT_TRUE(rota::test::eventually([&] { return heard.count() > 0; }));
    std::this_thread::sleep_for(30ms);
  };
  rota::run(program(), heard.options(5ms));
  ASSERT_EQ(heard.count(), 1u);
  EXPECT_NE(heard.texts[0].find("'hog'"), std::string::npos) << heard.texts[0];
  EXPECT_NE(heard.texts[0].find("watchdog_test.cpp"), std::string::npos) << heard.texts[0];
  EXPECT_NE(heard.texts[0].find("run_blocking"), std::string::npos) << heard.texts[0];
}

TEST(watchdog, says_nothing_about_tasks_that_give_way_or_wait) {
  alarms heard;
  auto program = [&]() -> task<> {
    const auto until = std::chrono::steady_clock::now() + 50ms;
    while (std::chrono::steady_clock::now() < until) co_await rota::suspend();
    co_await rota::sleep_for(50ms);
    co_await rota::run_blocking([] { std::this_thread::sleep_for(50ms); });
  };
  // Far above what the machine may delay a thread by.
  rota::run(program(), heard.options(2000ms));
  EXPECT_EQ(heard.count(), 0u);
}

}  // namespace
