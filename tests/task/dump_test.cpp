// A dump shows every task: its number, name, what it waits for, and where. A broken promise shows
// as a text without it.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

TEST(dump, of_an_idle_runtime_has_no_task) {
  rota::runtime rt{rota::test::with_workers(1)};
  EXPECT_EQ(rt.dump(), "0 tasks\n");
}

TEST(dump, shows_who_waits_for_what_and_where) {
  rota::runtime rt{rota::test::with_workers(1)};
  rota::async_event event;
  unsigned line = 0;
  auto inner = [&]() -> task<> {
    line = __LINE__ + 1;
    co_await event.wait();
  };
  auto waits = [&]() -> task<> {
    rota::this_task::set_name("reader");
    co_await inner();
  };
  auto sleeps = []() -> task<> {
    rota::this_task::set_name("sleeper");
    co_await rota::sleep_for(1h);
  };
  std::string text;
  auto program = [&]() -> task<> {
    rota::this_task::set_name("root");
    auto r = rota::spawn(waits());
    auto s = rota::spawn(sleeps());
    auto dumper = [&]() -> task<> {
      text = rt.dump();
      event.set();
      s.request_stop();
      co_return;
    };
    auto d = rota::spawn(dumper());
    co_await r;
    co_await d;
  };
  rt.run(program());
  EXPECT_NE(text.find("4 tasks"), std::string::npos) << text;
  EXPECT_NE(text.find("'reader' waits for an event"), std::string::npos) << text;
  EXPECT_NE(text.find("'sleeper' sleeps"), std::string::npos) << text;
  EXPECT_NE(text.find("'root' waits for the end of task "), std::string::npos) << text;
  EXPECT_NE(text.find("dump_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_NE(text.find("is ready or runs"), std::string::npos) << text;
}

TEST(dump, can_be_taken_while_tasks_run_on_several_workers) {
  rota::runtime rt{rota::test::with_workers(3)};
  std::atomic<bool> enough{false};
  rota::channel<int> ch{1};
  auto pinger = [&]() -> task<> {
    rota::this_task::set_name("pinger");
    while (!enough) {
      if (!co_await ch.send(1)) co_return;
      co_await rota::suspend();
    }
    ch.close();
  };
  auto reader = [&]() -> task<> {
    auto nothing = []() -> task<> { co_return; };
    while (auto m = co_await ch.receive()) co_await rota::spawn(nothing());
  };
  std::jthread dumper([&] {
    for (int i = 0; i < (rota::test::sanitized ? 100 : 1000); ++i) (void)rt.dump();
    enough = true;
  });
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 4; ++i) g.spawn(pinger());
    for (int i = 0; i < 4; ++i) g.spawn(reader());
    co_await g.join();
  };
  rt.run(program());
}

}  // namespace
