// Publishers to a subscriber with overflow::block wait, are muted, or are told, and its queue stays
// as short as it was asked to be. A broken promise shows as a queue that is too long, another
// order, or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::cown_ptr;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::publisher;
using rota::qos;
using rota::task;
using rota::when;
using rota::test::bus_world;
using rota::test::eventually;

qos blocking(std::size_t depth) {
  return qos{}.with_depth(depth).with_overflow(rota::overflow::block);
}

class event_backpressure : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_backpressure, ::testing::Values(0u, 1u, 2u, 4u));

// --- tasks --------------------------------------------------------------------------------------

TEST_P(event_backpressure, publishing_tasks_wait_and_nothing_is_lost) {
  constexpr int tasks = 8;
  constexpr int each = 50;
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<std::uint64_t> most{0};
  rota::subscription in;
  node n{w.bus, "n", rota::hold};
  in = n.subscribe<int>("/x", blocking(4), [&](const int&) {
    most = std::max<std::uint64_t>(most, in.counters().pending);
    ++got;
  });
  n.start();
  auto out = n.advertise<int>("/x");
  const auto publishes = [&]() -> task<> {
    for (int i = 0; i < each; ++i) co_await out.publish(i);
  };
  const auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < tasks; ++i) g.spawn(publishes());
    co_await g.join();
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return got == tasks * each; }));
  EXPECT_LE(most, 4u);
  EXPECT_EQ(in.counters().dropped, 0u);
}

// One worker: with more it would not be known who comes first.
TEST(event_backpressure_order, who_waits_is_let_in_first_come_first_served) {
  bus_world w{1};
  std::vector<int> got;
  std::atomic<int> count{0};
  node n{w.bus, "n", rota::hold};
  auto in = n.subscribe<int>("/x", blocking(2), [&](const int& i) {
    got.push_back(i);
    ++count;
  });
  auto out = n.advertise<int>("/x");
  const auto one = [&](int i) -> task<> { co_await out.publish(i); };
  const auto program = [&]() -> task<> {
    std::vector<rota::join_handle<>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(rota::spawn(one(i)));
      for (int k = 0; k < 20; ++k) co_await rota::suspend();
      EXPECT_LE(in.counters().pending, 2u);
      EXPECT_EQ(all.back().done(), i < 2) << i;
    }
    // Who comes now has to wait as well, and who does not wait is refused.
    EXPECT_EQ(out.publish(100).refused(), 1u);
    n.start();
    for (auto& h : all) co_await h;
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return count == 20; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
}

TEST_P(event_backpressure, a_task_that_is_cancelled_while_it_waits_publishes_nothing) {
  bus_world w{options()};
  std::vector<int> got;
  std::atomic<int> count{0};
  node n{w.bus, "n", rota::hold};
  n.subscribe<int>("/x", blocking(1), [&](const int& i) {
    got.push_back(i);
    ++count;
  });
  auto out = n.advertise<int>("/x");
  const auto one = [&](int i) -> task<> { co_await out.publish(i); };
  const auto program = [&]() -> task<> {
    co_await out.publish(1);
    auto second = rota::spawn(one(2));
    auto third = rota::spawn(one(3));
    for (int k = 0; k < 50; ++k) co_await rota::suspend();
    second.request_stop();
    bool cancelled = false;
    try {
      co_await second;
    } catch (const rota::cancelled&) {
      cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    n.start();
    co_await third;
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return count == 2; }));
  n.stop();
  EXPECT_EQ(got, (std::vector<int>{1, 3}));
}

TEST_P(event_backpressure, others_get_a_message_while_its_publisher_waits_for_one) {
  bus_world w{options()};
  std::atomic<int> quick{0};
  std::atomic<int> slow{0};
  node n{w.bus, "n"};
  node held{w.bus, "held", rota::hold};
  n.subscribe<int>("/x", rota::test::roomy(), [&](const int&) { ++quick; });
  for (int i = 0; i < 2; ++i) held.subscribe<int>("/x", blocking(1), [&](const int&) { ++slow; });
  auto out = n.advertise<int>("/x");
  const auto program = [&]() -> task<> {
    for (int i = 0; i < 5; ++i) {
      if (i == 1) held.start();
      co_await out.publish(i);
    }
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return quick == 5 && slow == 10; }));
}

// The queue is full of messages that are too old; who waited for room is let in meanwhile.
TEST_P(event_backpressure, who_is_let_in_by_messages_that_expire_is_handled) {
  bus_world w{options()};
  std::atomic<int> got{0};
  rota::subscription in;
  node n{w.bus, "n", rota::hold};
  in = n.subscribe<int>("/x", blocking(1).with_lifespan(200ms), [&](const int& i) { got = i; });
  auto out = n.advertise<int>("/x");
  const auto program = [&]() -> task<> {
    co_await out.publish(1);
    const auto second = [&]() -> task<> { co_await out.publish(2); };
    auto waits = rota::spawn(second());
    co_await rota::sleep_for(201ms);
    n.start();
    co_await waits;
  };
  w.rt.run(program());
  // Unless the machine slept as long again.
  EXPECT_TRUE(eventually([&] { return got == 2 || in.counters().expired == 2; }));
}

// --- behaviours ---------------------------------------------------------------------------------

TEST_P(event_backpressure, a_behaviour_that_publishes_too_much_is_muted_until_half_is_read) {
  bus_world w{options()};
  auto sender = make_cown<int>(0);
  std::atomic<int> got{0};
  node n{w.bus, "n", rota::hold};
  auto in = n.subscribe<int>("/x", blocking(4), [&](const int&) { ++got; });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 10; ++i) when(w.rt, sender) << [&](int& sent) { out.publish(++sent); };
  EXPECT_TRUE(eventually([&] { return sender.counters().muted; }));
  const auto others_run = []() -> task<> {
    for (int i = 0; i < 100; ++i) co_await rota::suspend();
  };
  w.rt.run(others_run());
  EXPECT_EQ(in.counters().pending, 5u) << "depth, and one of its only sender";
  n.start();
  EXPECT_TRUE(eventually([&] { return got == 10; }));
  w.rt.quiesce();
  EXPECT_EQ(sender.unguarded(), 10);
  EXPECT_FALSE(sender.counters().muted);
  EXPECT_EQ(in.counters().dropped, 0u);
}

TEST_P(event_backpressure, the_queue_is_no_longer_than_its_depth_and_one_of_each_behaviour) {
  constexpr std::size_t senders = 10;
  constexpr int each = 40;
  bus_world w{options()};
  std::vector<cown_ptr<int>> from;
  for (std::size_t i = 0; i < senders; ++i) from.push_back(make_cown<int>(0));
  std::atomic<std::uint64_t> most{0};
  std::atomic<int> got{0};
  rota::subscription in;
  node n{w.bus, "n", rota::hold};
  in = n.subscribe<int>("/x", blocking(8), handler_options{}.with_budget(1), [&](const int&) {
    most = std::max<std::uint64_t>(most, in.counters().pending);
    ++got;
  });
  n.start();
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < each; ++i)
    for (auto& c : from) when(w.rt, c) << [&](int& sent) { out.publish(++sent); };
  EXPECT_TRUE(eventually([&] { return got == each * static_cast<int>(senders); }));
  w.rt.quiesce();
  EXPECT_LE(most, 8u + senders);
  for (auto& c : from) EXPECT_FALSE(c.counters().muted);
}

TEST_P(event_backpressure, a_delivery_that_is_overwritten_in_a_behaviour_is_not_lost) {
  bus_world w{options()};
  auto sender = make_cown<int>(0);
  std::atomic<int> got{0};
  node n{w.bus, "n", rota::hold};
  n.subscribe<int>("/x", blocking(1), [&](const int& i) { got += i; });
  auto out = n.advertise<int>("/x");
  when(w.rt, sender) << [&](int&) {
    rota::delivery last = out.publish(1);
    for (int i = 2; i <= 5; ++i) last = out.publish(i);
  };
  EXPECT_TRUE(eventually([&] { return sender.counters().muted; }));
  n.start();
  EXPECT_TRUE(eventually([&] { return got == 15; }));
}

// --- anybody else -------------------------------------------------------------------------------

TEST_P(event_backpressure, who_does_not_wait_is_told_and_its_message_is_not_taken) {
  bus_world w{options()};
  std::atomic<int> sum{0};
  node n{w.bus, "n", rota::hold};
  auto in = n.subscribe<int>("/x", blocking(2), [&](const int& i) { sum += i; });
  auto out = n.advertise<int>("/x");
  EXPECT_TRUE(out.publish(1));
  EXPECT_TRUE(out.publish(2));
  const auto third = out.publish(4);
  EXPECT_FALSE(third);
  EXPECT_EQ(third.refused(), 1u);
  n.start();
  EXPECT_TRUE(eventually([&] { return in.counters().pending == 0; }));
  n.stop();
  EXPECT_EQ(sum, 3);
}

// --- ends ---------------------------------------------------------------------------------------

TEST_P(event_backpressure, publishers_go_on_when_the_subscriber_is_removed) {
  for (const bool whole_node : {false, true}) {
    bus_world w{options()};
    auto sender = make_cown<int>(0);
    std::atomic<int> wrong{0};
    node n{w.bus, "n", rota::hold};
    auto in = n.subscribe<int>("/x", blocking(1), [&](const int&) { ++wrong; });
    auto out = n.advertise<int>("/x");
    const auto one = [&](int i) -> task<> { co_await out.publish(i); };
    const auto program = [&]() -> task<> {
      rota::task_group g;
      for (int i = 0; i < 20; ++i) g.spawn(one(i));
      for (int i = 0; i < 2; ++i) when(sender) << [&](int& sent) { out.publish(++sent); };
      while (!sender.counters().muted) co_await rota::suspend();
      if (whole_node)
        n.stop();
      else
        in.remove();
      co_await g.join();
    };
    w.rt.run(program());
    w.rt.quiesce();
    EXPECT_FALSE(sender.counters().muted);
    EXPECT_EQ(sender.unguarded(), 2);
    EXPECT_EQ(wrong, 0);
  }
}

// One worker: with more it would not be known that all wait when the node begins to drain.
TEST(event_backpressure_drain, draining_handles_those_who_wait_as_well) {
  bus_world w{1};
  std::atomic<int> got{0};
  node n{w.bus, "n", rota::hold};
  n.subscribe<int>("/x", blocking(2), [&](const int&) { ++got; });
  auto out = n.advertise<int>("/x");
  const auto one = [&](int i) -> task<> { co_await out.publish(i); };
  const auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 20; ++i) g.spawn(one(i));
    for (int k = 0; k < 50; ++k) co_await rota::suspend();
    co_await n.drain();
    co_await g.join();
  };
  w.rt.run(program());
  EXPECT_EQ(got, 20);
}

}  // namespace
