// A handler that was removed does not run any more when remove() returns, whoever calls it and
// wherever the handler is at that moment. A broken promise shows as a function that runs too late,
// under AddressSanitizer, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::subscription;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::eventually;
using rota::test::reentrant;
using rota::test::roomy;

class event_remove : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_remove, ::testing::Values(0u, 1u, 2u, 4u));

// --- from inside --------------------------------------------------------------------------------

TEST_P(event_remove, a_function_that_removes_itself_is_not_called_again) {
  bus_world w{options()};
  std::atomic<int> calls{0};
  std::atomic<bool> told{false};
  subscription self;
  node n{w.bus, "n", rota::hold};
  self = n.subscribe<int>("/x", roomy(), [&](const int&) {
    ++calls;
    self.remove();
  });
  n.subscribe<int>("/x", roomy(), [&](const int& i) { told = i == 40; });
  auto out = n.advertise<int>("/x");
  for (int i = 1; i <= 40; ++i) out.publish(i);
  n.start();
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(self.counters().events, 1u);
  EXPECT_EQ(self.counters().dropped, 39u);
}

TEST_P(event_remove, a_function_that_removes_itself_in_a_later_message_is_not_called_again) {
  bus_world w{options()};
  std::atomic<int> calls{0};
  subscription self;
  node n{w.bus, "n", rota::hold};
  self = n.subscribe<int>("/x", roomy(), [&](const int& i) {
    ++calls;
    if (i == 10) self.remove();
  });
  auto out = n.advertise<int>("/x");
  for (int i = 1; i <= 40; ++i) out.publish(i);
  n.start();
  EXPECT_TRUE(eventually([&] { return self.counters().pending == 0 && calls >= 10; }));
  n.stop();
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(self.counters().events, 10u);
  EXPECT_EQ(self.counters().dropped, 30u);
}

TEST_P(event_remove, a_behaviour_that_removes_its_handler_is_not_called_again) {
  bus_world w{options()};
  auto c = make_cown<int>(0);
  subscription self;
  node n{w.bus, "n", rota::hold};
  self = n.subscribe<int>("/x", roomy(), rota::on(c, [&](int& calls, const int&) {
                            ++calls;
                            self.remove();
                          }));
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 40; ++i) out.publish(i);
  n.start();
  EXPECT_TRUE(eventually([&] { return self.counters().events == 1; }));
  n.stop();
  w.rt.quiesce();
  EXPECT_EQ(c.unguarded(), 1);
}

TEST_P(event_remove, a_coroutine_that_removes_itself_is_asked_to_stop) {
  bus_world w{options()};
  std::atomic<int> calls{0};
  std::atomic<bool> stopped{false};
  subscription self;
  node n{w.bus, "n", rota::hold};
  self = n.subscribe<int>("/x", roomy(), [&](const int&) -> task<> {
    ++calls;
    self.remove();
    try {
      co_await rota::suspend();
    } catch (const rota::cancelled&) {
      stopped = true;
      throw;
    }
  });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 40; ++i) out.publish(i);
  n.start();
  EXPECT_TRUE(eventually([&] { return stopped.load(); }));
  n.stop();
  EXPECT_EQ(calls, 1);
}

TEST_P(event_remove, timers_and_servers_remove_themselves) {
  bus_world w{options()};
  std::atomic<int> ticks{0};
  std::atomic<int> served{0};
  rota::registration timer;
  node n{w.bus, "n"};
  {
    node held{w.bus, "held", rota::hold};
    timer = held.every(100us, [&] {
      ++ticks;
      timer.remove();
    });
    held.start();
    EXPECT_TRUE(eventually([&] { return ticks == 1; }));
    rota::server server;
    server = held.serve<int, int>("/one", [&](const int& i) {
      ++served;
      server.remove();
      return i;
    });
    auto ask = n.client<int, int>("/one");
    const auto twice = [&]() -> task<> {
      auto first = co_await ask.call(1, 10s);
      EXPECT_TRUE(first) << first.reason();
      auto second = co_await ask.call(2, 10s);
      EXPECT_EQ(second.status(), rota::call_status::no_responder);
    };
    w.rt.run(twice());
  }
  EXPECT_EQ(ticks, 1);
  EXPECT_EQ(served, 1);
}

// --- from another handler -----------------------------------------------------------------------

// The other one has events and waits for the group, or for a runner.
TEST_P(event_remove, a_handler_removes_another_of_its_group_that_waits_for_its_turn) {
  for (const bool same_group : {true, false}) {
    bus_world w{options()};
    std::atomic<int> second{0};
    std::atomic<int> after{0};
    std::atomic<bool> removed{false};
    subscription victim;
    node n{w.bus, "n", rota::hold};
    const auto group = same_group ? handler_options{} : alone();
    n.subscribe<int>("/x", roomy(), handler_options{}.with_priority(1), [&](const int&) {
      std::this_thread::sleep_for(1ms);  // others line up, if there are workers for them
      const int before = second;
      victim.remove();
      removed = true;
      if (!same_group) after = second - before;
    });
    victim = n.subscribe<int>("/x", roomy(), group, [&](const int&) {
      ++second;
      if (removed) ++after;
    });
    auto out = n.advertise<int>("/x");
    out.publish(1);
    n.start();
    EXPECT_TRUE(eventually([&] { return removed.load(); }));
    n.stop();
    if (same_group) {
      EXPECT_EQ(second, 0);
    }
    EXPECT_EQ(after, 0);
  }
}

TEST_P(event_remove, a_behaviour_removes_a_handler_that_waits_for_the_same_cown) {
  bus_world w{options()};
  auto c = make_cown<int>(0);
  std::atomic<bool> removed{false};
  std::atomic<int> others{0};
  subscription victim;
  node n{w.bus, "n", rota::hold};
  n.subscribe<int>("/x", roomy(), reentrant().with_priority(1), rota::on(c, [&](int&, const int&) {
                     // With other workers the second handler has sent its behaviour by now.
                     std::this_thread::sleep_for(2ms);
                     victim.remove();
                     removed = true;
                   }));
  victim = n.subscribe<int>("/x", roomy(), reentrant(), rota::on(c, [&](int&, const int&) {
                              if (removed) ++others;  // it may have been the first
                            }));
  auto out = n.advertise<int>("/x");
  out.publish(1);
  n.start();
  EXPECT_TRUE(eventually([&] { return removed.load(); }));
  n.stop();
  EXPECT_EQ(others, 0);
}

// It is sent before the test goes on: its cown is held.
TEST_P(event_remove, a_handler_whose_behaviour_waits_for_its_cown_is_removed_at_once) {
  auto c = make_cown<int>(0);
  async_event open;
  std::atomic<int> calls{0};
  {
    bus_world w{options()};
    {
      std::atomic<int> beside{0};
      node n{w.bus, "n"};
      rota::when(w.rt, c) << [&](int&) -> task<> { co_await open.wait(); };
      w.rt.quiesce();
      auto in = n.subscribe<int>("/x", roomy(), rota::on(c, [&](int&, const int&) { ++calls; }));
      n.subscribe<int>("/x", roomy(), [&](const int&) { ++beside; });
      auto out = n.advertise<int>("/x");
      out.publish(1);
      EXPECT_TRUE(eventually([&] { return c.counters().pending == 2; }));
      in.remove();
      // Its group is free again.
      EXPECT_TRUE(eventually([&] { return beside == 1; }));
    }
    open.set();
    w.rt.quiesce();
    EXPECT_EQ(c.counters().pending, 0u);
  }
  EXPECT_EQ(calls, 0);
}

// The coroutine has left its group for a call, and needs it back to end.
TEST_P(event_remove, a_handler_removes_a_coroutine_of_its_group_that_waits_for_an_answer) {
  bus_world w{options()};
  async_event never;
  std::atomic<bool> asks{false};
  std::atomic<bool> unwound{false};
  std::atomic<int> in_time{-1};
  node n{w.bus, "n"};
  node other{w.bus, "other"};
  other.serve<int, int>("/slow", [&](const int& i) -> task<int> {
    co_await never.wait();
    co_return i;
  });
  auto ask = n.client<int, int>("/slow");
  struct note_at_end {
    std::atomic<bool>& flag;
    ~note_at_end() { flag = true; }
  };
  auto victim = n.subscribe<int>("/x", roomy(), [&](const int& i) -> task<> {
    const note_at_end note{unwound};
    asks = true;
    co_await ask.call(i, 60s);
  });
  n.subscribe<int>("/y", roomy(), [&](const int&) {
    victim.remove();
    in_time = unwound;
  });
  auto x = n.advertise<int>("/x");
  auto y = n.advertise<int>("/y");
  x.publish(1);
  EXPECT_TRUE(eventually([&] { return asks.load(); }));
  y.publish(1);
  EXPECT_TRUE(eventually([&] { return in_time >= 0; }));
  EXPECT_EQ(in_time, 1);
}

// The coroutine has its answer already, and waits for the group.
TEST_P(event_remove, a_handler_removes_a_coroutine_of_its_group_that_waits_to_go_on) {
  bus_world w{options()};
  async_event answer;
  std::atomic<bool> answered{false};
  std::atomic<bool> asks{false};
  std::atomic<int> in_time{-1};
  std::atomic<bool> unwound{false};
  node n{w.bus, "n"};
  node other{w.bus, "other"};
  other.serve<int, int>("/slow", [&](const int& i) -> task<int> {
    co_await answer.wait();
    answered = true;
    co_return i;
  });
  auto ask = n.client<int, int>("/slow");
  auto victim = n.subscribe<int>("/x", roomy(), [&](const int& i) -> task<> {
    asks = true;
    co_await ask.call(i, 60s);
    unwound = true;
  });
  n.subscribe<int>("/y", roomy(), [&](const int&) {
    answer.set();
    if (GetParam() > 1) {  // on another worker, the other two go as far as they can
      EXPECT_TRUE(eventually([&] { return answered.load(); }));
    }
    victim.remove();
    in_time = unwound;
  });
  auto x = n.advertise<int>("/x");
  auto y = n.advertise<int>("/y");
  x.publish(1);
  EXPECT_TRUE(eventually([&] { return asks.load(); }));
  y.publish(1);
  EXPECT_TRUE(eventually([&] { return in_time >= 0; }));
}

// --- from a thread ------------------------------------------------------------------------------

// What the function refers to is gone right after remove(): AddressSanitizer and the flag watch.
TEST_P(event_remove, a_function_does_not_run_after_a_thread_has_removed_it) {
  bus_world w{options()};
  std::atomic<bool> ends{false};
  std::atomic<int> late{0};
  node n{w.bus, "n"};
  auto out = n.advertise<int>("/x");
  std::thread publishes([&] {
    while (!ends) out.publish(1);
  });
  for (int i = 0; i < 60; ++i) {
    auto gone = std::make_unique<std::atomic<bool>>(false);
    auto c = make_cown<int>(0);
    std::atomic<bool>* const flag = gone.get();
    const auto f = [flag, &late](const int&) { late += flag->load(); };
    const auto later = [flag, &late](const int&) -> task<> {
      late += flag->load();
      co_await rota::suspend();
      late += flag->load();
    };
    std::vector<subscription> all;
    all.push_back(n.subscribe<int>("/x", {}, f));
    all.push_back(n.subscribe<int>("/x", {}, alone(), f));
    all.push_back(n.subscribe<int>("/x", {}, alone(), later));
    all.push_back(
        n.subscribe<int>("/x", {}, reentrant(),
                         rota::on(c, [flag, &late](int&, const int&) { late += flag->load(); })));
    if (i % 2) std::this_thread::sleep_for(100us);
    for (auto& s : all) s.remove();
    *gone = true;
  }
  ends = true;
  publishes.join();
  EXPECT_EQ(late, 0);
}

TEST_P(event_remove, two_threads_remove_the_same_handler) {
  bus_world w{options()};
  node n{w.bus, "n"};
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 40; ++i) {
    std::atomic<bool> inside{false};
    auto s = n.subscribe<int>("/x", {}, [&](const int&) {
      inside = true;
      std::this_thread::sleep_for(50us);
      inside = false;
    });
    out.publish(1);
    const auto remove = [&] {
      s.remove();
      EXPECT_FALSE(inside);
    };
    std::thread other(remove);
    remove();
    other.join();
  }
}

TEST_P(event_remove, a_removed_handler_takes_nothing_and_counts_no_more) {
  bus_world w{options()};
  node n{w.bus, "n"};
  auto s = n.subscribe<int>("/x", roomy(), [](const int&) {});
  auto out = n.advertise<int>("/x");
  EXPECT_EQ(w.bus.statistics().handlers, 1u);
  s.remove();
  s.remove();
  EXPECT_EQ(w.bus.statistics().handlers, 0u);
  EXPECT_EQ(out.publish(1).taken(), 0u);
  EXPECT_EQ(s.counters().events, 0u);
  EXPECT_TRUE(w.bus.graph().topics[0].subscribers.empty());
}

}  // namespace
