// The life of a node: it starts, drains, stops, ends while its handlers run, and is outlived by
// what it gave out. A broken promise shows as a count, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::node_phase;
using rota::qos;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::calls_that_wait;
using rota::test::error_of;
using rota::test::eventually;
using rota::test::roomy;

class event_node_life : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_node_life, ::testing::Values(0u, 1u, 2u, 4u));

// --- life ----------------------------------------------------------------------------------------

TEST_P(event_node_life, a_node_that_is_held_keeps_what_comes_until_it_starts) {
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<int> ticks{0};
  node n{w.bus, "n", rota::hold};
  EXPECT_EQ(n.phase(), node_phase::starting);
  n.subscribe<int>("/x", roomy(), [&](const int& i) { got += i; });
  n.serve<int, int>("/ask", [](const int& i) { return i + 1; });
  auto timer = n.every(1ms, [&] { ++ticks; });
  auto ask = n.client<int, int>("/ask");
  auto out = n.advertise<int>("/x");
  for (int i = 1; i <= 10; ++i) out.publish(i);
  const auto program = [&]() -> task<> {
    auto early = co_await ask.call(1, 20ms);
    EXPECT_EQ(early.status(), rota::call_status::timeout);
    auto call = rota::spawn(ask.call(2, 10s));
    for (int i = 0; i < 20; ++i) co_await rota::suspend();
    EXPECT_EQ(got, 0);
    EXPECT_EQ(ticks, 0);
    n.start();
    auto r = co_await call;
    EXPECT_EQ(*r, 3);
  };
  w.rt.run(program());
  EXPECT_EQ(n.phase(), node_phase::running);
  EXPECT_TRUE(eventually([&] { return got == 55 && ticks > 0; }));
}

// The function of node::subscribe looks at the phase before the node's lock.
TEST(event_life, what_is_added_while_the_node_starts_runs) {
  bus_world w{2};
  for (int i = 0; i < 100; ++i) {
    std::atomic<int> got{0};
    std::atomic<int> ready{0};
    node n{w.bus, "n", rota::hold};
    const auto meet = [&] {
      ++ready;
      while (ready != 2) std::this_thread::yield();
    };
    std::thread starts([&] {
      meet();
      n.start();
    });
    meet();
    n.subscribe<int>("/x", roomy(), [&](const int&) { ++got; });
    n.every(10us, [&] { ++got; });
    n.advertise<int>("/x").publish(1);
    starts.join();
    ASSERT_TRUE(eventually([&] { return got >= 2; })) << "round " << i;
  }
}

TEST_P(event_node_life, draining_handles_what_is_there_and_takes_nothing_new) {
  bus_world w{options()};
  auto c = make_cown<int>(0);
  std::atomic<int> got{0};
  std::atomic<int> served{0};
  std::atomic<int> answered{0};
  node other{w.bus, "other"};
  node n{w.bus, "n", rota::hold};
  n.subscribe<int>("/x", roomy(), [&](const int&) { ++got; });
  n.subscribe<int>("/x", roomy(), [&](int) -> task<> {
    co_await rota::suspend();
    ++got;
  });
  n.subscribe<int>("/x", roomy(), rota::on(c, [&](int&, const int&) { ++got; }));
  n.serve<int, int>("/ask", handler_options{}.with_budget(1), [&](const int& i) {
    ++served;
    return i;
  });
  auto out = other.advertise<int>("/x");
  auto ask = other.client<int, int>("/ask");
  for (int i = 0; i < 100; ++i) out.publish(i);
  for (int i = 0; i < 10; ++i)
    ask.call(i, 10s, [&](const rota::call_result<int>& r) { answered += r ? 1 : 0; });
  EXPECT_TRUE(eventually([&] { return calls_that_wait(w.bus) == 10; }));
  const auto program = [&]() -> task<> {
    co_await n.drain();
    EXPECT_EQ(got, 300);
    EXPECT_EQ(served, 10);
    EXPECT_EQ(n.phase(), node_phase::stopped);
    EXPECT_EQ(out.publish(1).taken(), 0u);
    auto late = co_await ask.call(1, 10s);
    EXPECT_EQ(late.status(), rota::call_status::no_responder);
    co_await n.drain();  // once more does no harm
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return answered == 10; }));
}

TEST_P(event_node_life, draining_that_is_cancelled_says_so) {
  async_event never;
  bus_world w{options()};
  std::atomic<bool> inside{false};
  node n{w.bus, "n"};
  n.subscribe<int>("/x", roomy(), [&](int) -> task<> {
    inside = true;
    co_await never.wait();
  });
  n.advertise<int>("/x").publish(1);
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  const auto program = [&]() -> task<> {
    auto h = rota::spawn(n.drain());
    while (n.phase() != node_phase::draining) co_await rota::suspend();
    for (int i = 0; i < 20; ++i) co_await rota::suspend();
    EXPECT_FALSE(h.done());
    h.request_stop();
    bool stopped = false;
    try {
      co_await h;
    } catch (const rota::cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped);
  };
  w.rt.run(program());
}

TEST_P(event_node_life, stopping_drops_what_waits_and_nothing_runs_after_it) {
  async_event never;
  bus_world w{options()};
  auto c = make_cown<int>(0);
  std::atomic<bool> stopped{false};
  std::atomic<int> late{0};
  std::atomic<bool> inside{false};
  std::atomic<int> ended{0};
  node n{w.bus, "n"};
  const auto note = [&] { late += stopped.load(); };
  auto s = n.subscribe<int>("/x", roomy(), alone(), [&](const int&) { note(); });
  n.subscribe<int>("/x", roomy(), alone(), rota::on(c, [&](int&, const int&) { note(); }));
  n.subscribe<int>("/x", roomy(), alone(), [&](int) -> task<> {
    inside = true;
    try {
      co_await never.wait();
    } catch (const rota::cancelled&) {
      note();
      ++ended;
      throw;
    }
  });
  n.every(50us, alone(), note);
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 1000; ++i) out.publish(i);
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  n.stop();
  stopped = true;
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(n.phase(), node_phase::stopped);
  EXPECT_EQ(out.publish(1).taken(), 0u);
  EXPECT_EQ(s.counters().events + s.counters().dropped, 1000u);
  EXPECT_EQ(w.bus.statistics().handlers, 0u);
  w.rt.quiesce();
  EXPECT_EQ(late, 0);
  n.stop();
  n.start();
  EXPECT_EQ(n.phase(), node_phase::stopped);
}

TEST_P(event_node_life, a_stopped_node_takes_no_more_handlers) {
  bus_world w{options()};
  node n{w.bus, "n"};
  n.stop();
  const std::string text = "node 'n' is stopped: it takes no more handlers";
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/x", {}, [](const int&) {}); }), text);
  EXPECT_EQ(error_of([&] { n.serve<int, int>("/x", [](const int& i) { return i; }); }), text);
  EXPECT_EQ(error_of([&] { n.every(1ms, [] {}); }), text);
  EXPECT_EQ(error_of([&] { n.client<int, int>("/x"); }), text);
  EXPECT_TRUE(w.bus.graph().services.empty());
  EXPECT_TRUE(w.bus.graph().topics.empty());
}

TEST_P(event_node_life, publishers_clients_and_registrations_outlive_node_bus_and_runtime) {
  rota::publisher<int> out;
  rota::client<int, int> ask;
  rota::subscription in;
  rota::registration timer;
  std::atomic<int> wrong{0};
  {
    rota::runtime rt{options()};
    {
      rota::bus bus{rt};
      {
        node n{bus, "n"};
        out = n.advertise<int>("/x", qos{}.with_late_joiner());
        in = n.subscribe<int>("/x", roomy(), [](const int&) {});
        n.serve<int, int>("/ask", [](const int& i) { return i; });
        ask = n.client<int, int>("/ask");
        timer = n.every(1h, [] {});
      }
      EXPECT_EQ(out.publish(1).taken(), 0u);
      EXPECT_EQ(bus.graph().topics.size(), 1u);
    }
    EXPECT_EQ(out.publish(2).taken(), 0u);
    const auto program = [&]() -> task<> {
      auto r = co_await ask.call(1, 10s);
      EXPECT_EQ(r.status(), rota::call_status::cancelled);
      EXPECT_EQ(r.reason(), "the client was removed");
    };
    rt.run(program());
    ask.call(1, 10s, [&](const rota::call_result<int>&) { ++wrong; });
  }
  out.publish(3);
  ask.call(1, 10s, [&](const rota::call_result<int>&) { ++wrong; });
  in.remove();
  timer.remove();
  EXPECT_EQ(in.counters().events, 0u);
  EXPECT_EQ(in.name(), "subscriber of /x in n");
  EXPECT_EQ(wrong, 0);
}

TEST_P(event_node_life, bus_and_nodes_may_be_made_and_ended_in_a_task) {
  rota::runtime rt{options()};
  std::atomic<int> got{0};
  const auto program = [&]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      rota::bus bus{rt};
      node n{bus, "n"};
      async_event done;
      n.subscribe<int>("/x", roomy(), [&](const int&) {
        ++got;
        done.set();
      });
      n.advertise<int>("/x").publish(1);
      if (i % 2) co_await done.wait();
    }
  };
  rt.run(program());
  EXPECT_GE(got, 10);
}

// Each handler is at another place when the node ends.
TEST_P(event_node_life, a_node_may_end_while_its_handlers_run) {
  async_event never;
  auto c = make_cown<int>(0);
  for (int i = 0; i < 30; ++i) {
    bus_world w{options()};
    std::optional<node> n;
    n.emplace(w.bus, "n");
    auto out = n->advertise<int>("/x");
    for (int k = 0; k < 3; ++k) {
      const auto own = k == 0 ? handler_options{} : alone();
      n->subscribe<int>("/x", roomy(), own, [](const int&) { std::this_thread::yield(); });
      n->subscribe<int>("/x", roomy(), own, [&](int) -> task<> { co_await never.wait(); });
      n->subscribe<int>("/x", roomy(), own, rota::on(c, [](int& x, const int&) { ++x; }));
    }
    n->every(20us, [] {});
    for (int k = 0; k < 50; ++k) out.publish(k);
    if (i % 3 == 1) std::this_thread::sleep_for(200us);
    if (i % 2) {
      n.reset();
    } else {
      const auto ends = [&]() -> task<> {
        n.reset();
        co_return;
      };
      w.rt.run(ends());
    }
  }
}

// --- ends of runtimes ----------------------------------------------------------------------------

// A program that owns its bus, and waits for what never comes.
TEST_P(event_node_life, a_deadlock_of_a_program_that_owns_its_bus_is_reported) {
  for (int handlers = 0; handlers < 3; ++handlers) {
    auto c = make_cown<int>(0);
    std::string text;
    const auto program = [&](rota::runtime& rt) -> task<> {
      async_event never;
      rota::bus bus{rt};
      node n{bus, "n"};
      if (handlers > 0)
        n.subscribe<int>("/x", roomy(), [&](int) -> task<> { co_await never.wait(); });
      if (handlers > 1) {
        n.subscribe<int>("/x", roomy(), [&](const int&) {});
        n.subscribe<int>("/x", roomy(), alone(), rota::on(c, [](int&, const int&) {}));
      }
      auto out = n.advertise<int>("/x");
      for (int i = 0; i < 5; ++i) out.publish(i);
      co_await never.wait();
    };
    try {
      rota::runtime rt{options()};
      rt.run(program(rt));
    } catch (const rota::deadlock& d) {
      text = d.what();
    }
    EXPECT_NE(text.find("event runner 0"), std::string::npos) << text;
  }
}

TEST_P(event_node_life, a_runtime_may_end_while_a_program_that_owns_its_bus_waits) {
  for (int i = 0; i < 10; ++i) {
    async_event never;
    std::atomic<bool> waits{false};
    auto c = make_cown<int>(0);
    rota::runtime rt{options()};
    const auto program = [&]() -> task<> {
      rota::bus bus{rt};
      node n{bus, "n"};
      n.subscribe<int>("/x", roomy(), [&](int) -> task<> { co_await never.wait(); });
      n.subscribe<int>("/x", roomy(), alone(), [&](const int&) { std::this_thread::yield(); });
      n.subscribe<int>("/x", roomy(), alone(), rota::on(c, [](int&, const int&) {}));
      n.every(100us, [] {});
      auto out = n.advertise<int>("/x");
      for (int k = 0; k < 50; ++k) out.publish(k);
      waits = true;
      co_await never.wait();
    };
    rt.spawn(program()).detach();
    EXPECT_TRUE(eventually([&] { return waits.load(); }));
    if (i % 2) std::this_thread::sleep_for(200us);
  }
}

}  // namespace
