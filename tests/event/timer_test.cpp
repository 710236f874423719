// Timers keep their phase and never pile up. A broken promise shows as a firing that is off its
// grid, or as a count. What depends on how fast a machine is, tests/explored/event_sim_test.cpp
// holds in virtual time.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::firing;
using rota::make_cown;
using rota::node;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::eventually;

class event_timer : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_timer, ::testing::Values(0u, 1u, 2u, 4u));

// However late it runs, a firing is due on the grid, and none is lost or counted twice.
TEST_P(event_timer, firings_keep_their_phase_and_count_those_that_were_missed) {
  constexpr auto period = 500us;
  bus_world w{options()};
  std::vector<firing> seen;
  std::atomic<int> count{0};
  node n{w.bus, "n"};
  auto t = n.every(period, [&](const firing& f) {
    seen.push_back(f);
    if (count % 5 == 4) std::this_thread::sleep_for(2ms);
    ++count;
  });
  EXPECT_TRUE(eventually([&] { return count >= 20; }));
  t.remove();
  std::uint64_t missed = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    missed += seen[i].missed;
    if (i == 0) continue;
    EXPECT_EQ(seen[i].due - seen[i - 1].due, (1 + seen[i].missed) * period) << "firing " << i;
  }
  EXPECT_GE(missed, 9u) << "three long runs miss three firings each, about";
  EXPECT_GE(t.counters().dropped, missed);
  EXPECT_EQ(t.counters().events, seen.size());
}

TEST_P(event_timer, functions_coroutines_and_behaviours_are_called_with_or_without_the_firing) {
  bus_world w{options()};
  auto c = make_cown<int>(0);
  std::atomic<int> plain{0};
  std::atomic<int> later{0};
  std::atomic<int> told{0};
  std::atomic<int> on_cown{0};
  node n{w.bus, "n"};
  n.every(200us, [&] { ++plain; });
  n.every(200us, [&](const firing&) { ++told; });
  n.every(200us, alone(), [&](firing) -> task<> {
    co_await rota::suspend();
    ++later;
  });
  n.every(200us, rota::on(c, [&](int& x) { on_cown = ++x; }));
  n.every(200us, rota::on(c, [&](int& x, const firing&) { on_cown = ++x; }));
  EXPECT_TRUE(eventually([&] { return plain > 3 && told > 3 && later > 3 && on_cown > 6; }));
}

// A coroutine that is slower than its timer has one firing waiting, not many.
TEST_P(event_timer, at_most_one_firing_waits) {
  rota::async_event open;
  bus_world w{options()};
  std::atomic<int> calls{0};
  std::atomic<std::uint64_t> missed{0};
  node n{w.bus, "n"};
  auto t = n.every(200us, [&](firing f) -> task<> {
    missed += f.missed;
    if (calls++ == 0) co_await open.wait();
  });
  EXPECT_TRUE(eventually([&] { return calls == 1 && t.counters().pending == 1; }));
  const auto then = t.counters().dropped;
  EXPECT_TRUE(eventually([&] { return t.counters().dropped >= then + 5; }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(t.counters().pending, 1u);
  open.set();
  EXPECT_TRUE(eventually([&] { return calls >= 2; }));
  EXPECT_TRUE(eventually([&] { return missed >= 5; }));
}

TEST_P(event_timer, a_removed_timer_does_not_fire) {
  bus_world w{options()};
  std::atomic<int> calls{0};
  node n{w.bus, "n"};
  for (int i = 0; i < 20; ++i) {
    auto t = n.every(50us, [&] { ++calls; });
    if (i % 2) {
      EXPECT_TRUE(eventually([&] { return t.counters().events > 0; }));
    }
    t.remove();
    const int then = calls;
    std::this_thread::sleep_for(200us);
    EXPECT_EQ(calls, then);
  }
}

// One that is always ready does not keep the other from running.
TEST(event_timers, two_equal_timers_of_a_group_both_run) {
  bus_world w{2};
  std::array<std::atomic<int>, 2> runs{};
  node n{w.bus, "n"};
  for (auto& r : runs)
    n.every(100us, [&r] {
      const auto until = std::chrono::steady_clock::now() + 150us;
      while (std::chrono::steady_clock::now() < until) {
      }
      ++r;
    });
  EXPECT_TRUE(eventually([&] { return runs[0] + runs[1] >= 400; }));
  n.stop();
  // A busy machine may hold one up for a while; in virtual time they take turns.
  EXPECT_LE(runs[0], 2 * runs[1]);
  EXPECT_LE(runs[1], 2 * runs[0]);
}

// The machine that starved in other executors: a client of a busy node still gets its answers.
TEST(event_timers, calls_are_answered_beside_timers_that_are_always_due) {
  bus_world w{2};
  std::atomic<int> ticks{0};
  node n{w.bus, "n"};
  for (int i = 0; i < 3; ++i)
    n.every(10us, [&] {
      const auto until = std::chrono::steady_clock::now() + 50us;
      while (std::chrono::steady_clock::now() < until) {
      }
      ++ticks;
    });
  n.serve<int, int>("/x", [](const int& i) { return i; });
  auto ask = n.client<int, int>("/x");
  const auto program = [&]() -> task<> {
    for (int i = 0; i < 99; ++i) {
      auto r = co_await ask.call(i, 10s);
      EXPECT_TRUE(r) << i << ": " << r.reason();
    }
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return ticks > 10; }));
  const auto s = w.bus.statistics();
  EXPECT_LE(s.max_passed, s.bound);
}

}  // namespace
