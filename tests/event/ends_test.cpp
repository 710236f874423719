// What ends last: handles beyond their node and bus, handlers that remove themselves, calls that
// were never sent. A broken promise shows under AddressSanitizer, or as a crash.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota_test::eventually;
using rota_test::with_workers;

TEST(event_ends, a_handle_may_outlive_node_bus_and_runtime) {
  rota::subscription in;
  rota::server served;
  rota::registration timer;
  {
    rota::runtime rt{with_workers(2)};
    rota::bus bus{rt};
    rota::node n{bus, "n"};
    in = n.subscribe<int>("/numbers", {}, [](const int&) {});
    served = n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
    timer = n.every(1h, [] {});
  }
  EXPECT_EQ(in.counters().events, 0u);
  EXPECT_EQ(served.counters().events, 0u);
  EXPECT_EQ(timer.counters().events, 0u);
  in.remove();
  served.remove();
  timer.remove();
}

// The task of a run ends after it has told the node that the run has ended.
TEST(event_ends, a_coroutine_may_end_after_its_bus) {
  rota::runtime rt{with_workers(2)};
  for (int i = 0; i < 300; ++i) {
    rota::bus bus{rt};
    rota::node n{bus, "n"};
    std::atomic<bool> began{false};
    n.serve<int, int>("/twice", [&](int x) -> rota::task<int> {
      began = true;
      co_await rota::suspend();
      co_return 2 * x;
    });
    n.client<int, int>("/twice").call(1, 20s, [](const auto&) {});
    while (!began) std::this_thread::yield();
  }
}

// A handler that removed itself is waited for as long as it runs, however many came after it.
TEST(event_ends, a_node_waits_for_a_handler_that_removed_itself) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt};
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  {
    rota::node n{bus, "n", rota::hold};
    rota::subscription in;
    in = n.subscribe<int>("/numbers", {}, [&](const int&) {
      in.remove();
      began = true;
      std::this_thread::sleep_for(50ms);
      ended = true;
    });
    n.start();
    n.advertise<int>("/numbers").publish(1);
    ASSERT_TRUE(eventually([&] { return began.load(); }));
    for (int i = 0; i < 200; ++i) n.subscribe<int>("/others", {}, [](const int&) {});
  }
  EXPECT_TRUE(ended);
}

}  // namespace
