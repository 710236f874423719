// A handler that does not return is named by the watchdog, and everybody else goes on. A broken
// promise shows as silence, another name, or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::node;
using rota::task;
using rota::test::alone;
using rota::test::eventually;
using rota::test::roomy;

struct long_steps {
  std::mutex mutex;
  std::vector<std::string> texts;

  rota::options options(unsigned workers) {
    auto o = rota::test::with_workers(workers).with_watchdog(20ms);
    o.on_long_step = [this](const std::string& text) {
      const std::lock_guard guard{mutex};
      texts.push_back(text);
    };
    return o;
  }
  bool heard(const std::string& name) {
    const std::lock_guard guard{mutex};
    for (const auto& t : texts)
      if (t.find(name) != std::string::npos) return true;
    return false;
  }
};

TEST(event_watchdog, a_subscriber_that_does_not_return_is_named_and_nothing_else_stops) {
  long_steps alarms;
  std::atomic<bool> ends{false};
  std::atomic<int> others{0};
  std::atomic<int> ticks{0};
  rota::runtime rt{alarms.options(2)};
  rota::bus bus{rt};
  node stuck{bus, "stuck"};
  node n{bus, "n"};
  stuck.subscribe<int>("/x", roomy(), [&](const int&) {
    while (!ends) std::this_thread::sleep_for(100us);
  });
  n.subscribe<int>("/x", roomy(), [&](const int&) { ++others; });
  n.every(1ms, [&] { ++ticks; });
  n.serve<int, int>("/ask", [](const int& i) { return i; });
  auto ask = n.client<int, int>("/ask");
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 10; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return alarms.heard("subscriber of /x in stuck"); }));
  for (int i = 0; i < 10; ++i) out.publish(i);
  const auto program = [&]() -> task<> {
    auto r = co_await ask.call(1, 10s);
    EXPECT_TRUE(r) << r.reason();
  };
  rt.run(program());
  const int then = ticks;
  EXPECT_TRUE(eventually([&] { return others == 20 && ticks > then; }));
  EXPECT_FALSE(alarms.heard(" in n")) << "nobody else is named";
  ends = true;
}

}  // namespace
