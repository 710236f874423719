// What nodes do with messages: who gets what, in which order, one at a time or together. A broken
// promise shows as a count, a text or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::handler_options;
using rota::make_cown;
using rota::message;
using rota::node;
using rota::qos;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::calls_that_wait;
using rota::test::eventually;
using rota::test::reentrant;
using rota::test::roomy;

class event_node : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_node, ::testing::Values(0u, 1u, 2u, 4u));

// --- how messages come ---------------------------------------------------------------------------

// Says how often it was copied.
struct counted_copies {
  int value = 0;
  int copies = 0;
  counted_copies() = default;
  explicit counted_copies(int v) : value(v) {}
  counted_copies(const counted_copies& other) : value(other.value), copies(other.copies + 1) {}
  counted_copies(counted_copies&& other) noexcept
      : value(std::exchange(other.value, -1)), copies(other.copies) {}
  counted_copies& operator=(const counted_copies&) = default;
  counted_copies& operator=(counted_copies&&) = default;
};

TEST_P(event_node, a_message_is_read_kept_or_owned_as_the_function_says) {
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<int> copies{0};
  message<counted_copies> kept;
  node n{w.bus, "n"};
  n.subscribe<counted_copies>("/x", roomy(), [&](const counted_copies& m) {
    copies += m.copies;
    got += m.value;
  });
  n.subscribe<counted_copies>("/x", roomy(), [&](message<counted_copies> m) {
    copies += m->copies;
    got += m->value;
    kept = std::move(m);
  });
  n.subscribe<counted_copies>("/x", roomy(), [&](counted_copies&& m) {
    const counted_copies mine = std::move(m);
    got += mine.value;
  });
  auto out = n.advertise<counted_copies>("/x");
  EXPECT_EQ(out.publish(counted_copies{5}).taken(), 3u);
  EXPECT_TRUE(eventually([&] { return got == 15; }));
  EXPECT_EQ(copies, 0) << "nobody copies what is only read";
  n.stop();
  EXPECT_EQ(kept->value, 5) << "who owned it has had a copy";
}

TEST_P(event_node, subscribers_share_one_object) {
  bus_world w{options()};
  std::mutex mutex;
  std::vector<const std::string*> seen;
  node n{w.bus, "n"};
  for (int i = 0; i < 3; ++i)
    n.subscribe<std::string>("/x", roomy(), [&](message<std::string> m) {
      const std::lock_guard guard{mutex};
      seen.push_back(&*m);
    });
  auto out = n.advertise<std::string>("/x");
  auto filled = out.loan("a text that is long enough to be on the heap");
  const std::string* const there = &*filled;
  out.publish(std::move(filled));
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard guard{mutex};
    return seen.size() == 3;
  }));
  EXPECT_EQ(seen, (std::vector<const std::string*>(3, there)));
}

// The publisher has it for a moment longer than the call of publish takes, so it goes first.
TEST_P(event_node, a_message_that_nobody_else_has_is_moved_and_not_copied) {
  bus_world w{options()};
  std::atomic<int> copies{-1};
  std::atomic<int> later{-1};
  std::atomic<int> served{-1};
  node n{w.bus, "n", rota::hold};
  n.subscribe<counted_copies>("/x", roomy(), [&](counted_copies&& m) { copies = m.copies; });
  n.subscribe<counted_copies>("/y", roomy(), [&](counted_copies&& m) -> task<> {
    // By reference, so it is not there after the first wait.
    later = m.copies;
    co_return;
  });
  n.serve<counted_copies, int>("/s", [&](counted_copies&& m) {
    served = m.copies;
    return m.value;
  });
  n.advertise<counted_copies>("/x").publish(counted_copies{1});
  n.start();
  EXPECT_TRUE(eventually([&] { return copies >= 0; }));
  EXPECT_EQ(copies, 0);
  auto ask = n.client<counted_copies, int>("/s");
  const auto program = [&]() -> task<> {
    counted_copies request{7};
    auto r = co_await ask.call(std::move(request), 10s);
    EXPECT_EQ(*r, 7);
  };
  w.rt.run(program());
  EXPECT_EQ(served, 0);
}

TEST_P(event_node, messages_that_cannot_be_copied_are_moved_to_their_owner) {
  using lone_box = std::unique_ptr<int>;
  bus_world w{options()};
  std::atomic<int> sum{0};
  node n{w.bus, "n"};
  n.subscribe<lone_box>("/function", roomy(),
                        [&](lone_box&& p) { sum += *lone_box{std::move(p)}; });
  n.subscribe<lone_box>("/coroutine", roomy(), [&](lone_box p) -> task<> {
    co_await rota::suspend();
    sum += *p;
  });
  n.subscribe<lone_box>("/read", roomy(), [&](const lone_box& p) { sum += *p; });
  n.serve<lone_box, lone_box>("/service", [&](lone_box&& p) { return std::move(p); });
  n.serve<lone_box, lone_box>("/later", [&](lone_box p) -> task<lone_box> {
    co_await rota::suspend();
    co_return std::move(p);
  });
  for (const char* topic : {"/function", "/coroutine", "/read"})
    for (int i = 1; i <= 10; ++i) n.advertise<lone_box>(topic).publish(std::make_unique<int>(i));
  EXPECT_TRUE(eventually([&] { return sum == 165; }));
  auto now = n.client<lone_box, lone_box>("/service");
  auto later = n.client<lone_box, lone_box>("/later");
  const auto program = [&]() -> task<> {
    auto r = co_await now.call(std::make_unique<int>(1), 10s);
    const lone_box back = std::move(r).take();
    EXPECT_EQ(*back, 1);
    auto s = co_await later.call(std::make_unique<int>(2), 10s);
    const lone_box also = std::move(s).take();
    EXPECT_EQ(*also, 2);
  };
  w.rt.run(program());
}

TEST_P(event_node, a_topic_keeps_the_order_for_functions_coroutines_and_behaviours) {
  constexpr int count = 300;
  bus_world w{options()};
  auto c = make_cown<std::vector<int>>();
  std::vector<int> one;
  std::vector<int> two;
  std::atomic<int> got{0};
  node n{w.bus, "n"};
  n.subscribe<int>("/x", roomy(), [&](const int& i) {
    one.push_back(i);
    ++got;
  });
  n.subscribe<int>("/x", roomy(), alone(), [&](int i) -> task<> {
    if (i % 3 == 0) co_await rota::suspend();
    two.push_back(i);
    ++got;
  });
  n.subscribe<int>("/x", roomy(), alone(), rota::on(c, [&](std::vector<int>& all, const int& i) {
                     all.push_back(i);
                     ++got;
                   }));
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < count; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return got == 3 * count; }));
  n.stop();
  w.rt.quiesce();
  std::vector<int> expected;
  for (int i = 0; i < count; ++i) expected.push_back(i);
  EXPECT_EQ(one, expected);
  EXPECT_EQ(two, expected);
  EXPECT_EQ(c.unguarded(), expected);
}

// Publishes once more on its own topic when it ends.
struct echo {
  const rota::publisher<echo>* to = nullptr;
  echo() = default;
  explicit echo(const rota::publisher<echo>& p) : to(&p) {}
  echo(echo&& other) noexcept : to(std::exchange(other.to, nullptr)) {}
  ~echo() {
    if (to) to->publish(echo{});
  }
};

// No lock is held where it ends: a broken promise shows as a hang.
TEST_P(event_node, a_message_that_is_dropped_may_publish) {
  for (const auto& q : {qos{}.with_depth(1), qos{}.with_depth(100).with_lifespan(1ns)}) {
    bus_world w{options()};
    rota::publisher<echo> out;
    node n{w.bus, "n", rota::hold};
    out = n.advertise<echo>("/x");
    auto in = n.subscribe<echo>("/x", q, [](const echo&) {});
    for (int i = 0; i < 40; ++i) out.publish(echo{out});
    n.start();
    EXPECT_TRUE(eventually([&] {
      const auto c = in.counters();
      return c.dropped + c.expired + c.events == 80 && c.pending == 0;
    }));
  }
}

// --- one at a time, or together ------------------------------------------------------------------

// Notes how many are inside at once.
struct meeting {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> visits{0};

  void enter() {
    const int now = ++inside;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
  }
  void leave() {
    --inside;
    ++visits;
  }
};

TEST_P(event_node, handlers_of_a_node_run_one_at_a_time) {
  constexpr int count = 200;
  bus_world w{options()};
  meeting m;
  auto c = make_cown<int>(0);
  std::atomic<bool> ticked{false};
  node n{w.bus, "n"};
  const auto visit = [&] {
    m.enter();
    std::this_thread::yield();
    m.leave();
  };
  for (int i = 0; i < 2; ++i) n.subscribe<int>("/x", roomy(), [&](const int&) { visit(); });
  n.subscribe<int>("/x", roomy(), [&](int) -> task<> {
    m.enter();
    co_await rota::suspend();
    m.leave();
  });
  n.subscribe<int>("/x", roomy(), rota::on(c, [&](int&, const int&) { visit(); }));
  n.every(1ms, [&] {
    visit();
    ticked = true;
  });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < count; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return m.visits >= 4 * count && ticked; }));
  n.stop();
  EXPECT_EQ(m.most, 1);
}

TEST(event_groups, handlers_of_other_groups_and_of_none_run_at_the_same_time) {
  for (const auto& options : {alone(), reentrant()}) {
    bus_world w{2};
    std::atomic<int> inside{0};
    std::atomic<bool> met{false};
    node n{w.bus, "n"};
    // Each waits for the other.
    for (int i = 0; i < 2; ++i) {
      const auto own = i == 0 ? handler_options{} : options;
      n.subscribe<int>("/x", roomy(), own, [&](const int&) {
        ++inside;
        if (eventually([&] { return inside == 2; })) met = true;
      });
    }
    n.advertise<int>("/x").publish(1);
    EXPECT_TRUE(eventually([&] { return met.load(); }));
  }
}

TEST(event_groups, a_group_may_be_of_several_nodes) {
  bus_world w{4};
  meeting m;
  rota::group arm;
  node a{w.bus, "a"};
  node b{w.bus, "b"};
  for (node* n : {&a, &b, &a})
    n->subscribe<int>("/x", roomy(), handler_options{}.with_group(arm), [&](const int&) {
      m.enter();
      std::this_thread::yield();
      m.leave();
    });
  auto out = a.advertise<int>("/x");
  for (int i = 0; i < 200; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return m.visits == 600; }));
  EXPECT_EQ(m.most, 1);
}

TEST_P(event_node, a_handler_of_no_group_is_not_run_twice_at_once) {
  bus_world w{options()};
  meeting m;
  node n{w.bus, "n"};
  n.subscribe<int>("/x", roomy(), reentrant(), [&](int) -> task<> {
    m.enter();
    co_await rota::suspend();
    m.leave();
  });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 200; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return m.visits == 200; }));
  EXPECT_EQ(m.most, 1);
}

// --- order and shares ----------------------------------------------------------------------------

TEST(event_order, those_that_are_triggered_together_run_by_class_and_priority) {
  bus_world w{1};
  std::vector<std::string> order;
  node n{w.bus, "n", rota::hold};
  const auto say = [&](const char* what) {
    return [&order, what](const int&) { order.push_back(what); };
  };
  n.serve<int, int>("/ask", [&](const int& i) {
    order.push_back("server");
    return i;
  });
  n.subscribe<int>("/x", roomy(), handler_options{}.with_priority(-1), say("low"));
  n.subscribe<int>("/x", roomy(), say("middle"));
  n.subscribe<int>("/x", roomy(), handler_options{}.with_priority(1), say("high"));
  auto out = n.advertise<int>("/x");
  auto ask = n.client<int, int>("/ask");
  const auto program = [&]() -> task<> {
    out.publish(1);
    auto call = rota::spawn(ask.call(1, 10s));
    for (int i = 0; i < 20; ++i) co_await rota::suspend();  // it is there
    n.start();
    co_await call;
  };
  w.rt.run(program());
  EXPECT_EQ(order, (std::vector<std::string>{"high", "middle", "low", "server"}));
}

TEST_P(event_node, a_run_takes_no_more_than_its_budget) {
  bus_world w{options()};
  std::atomic<int> got{0};
  node n{w.bus, "n", rota::hold};
  auto s = n.subscribe<int>("/x", roomy(), handler_options{}.with_budget(10),
                            [&](const int&) { ++got; });
  auto one =
      n.subscribe<int>("/x", roomy(), handler_options{}.with_budget(1), [&](const int&) { ++got; });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 100; ++i) out.publish(i);
  n.start();
  EXPECT_TRUE(eventually([&] { return got == 200; }));
  n.stop();
  EXPECT_GE(s.counters().runs, 10u);
  EXPECT_GE(one.counters().runs, 100u);
}

// On one worker: nobody runs in between.
void start_together(rota::runtime& rt, node& a, node& b) {
  const auto both = [&]() -> task<> {
    a.start();
    b.start();
    co_return;
  };
  rt.run(both());
}

// Calls that wait for the servers of the only service.
// With one worker: a hundred messages of two milliseconds would take a fifth of a second at once.
TEST(event_order, a_flood_of_slow_messages_lets_others_run_after_about_a_millisecond) {
  bus_world w{1};
  std::atomic<int> slow{0};
  std::atomic<int> before{-1};
  node n{w.bus, "n", rota::hold};
  node other{w.bus, "other", rota::hold};
  const auto busy = [&](const int&) {
    const auto until = std::chrono::steady_clock::now() + 2ms;
    while (std::chrono::steady_clock::now() < until) {
    }
    ++slow;
  };
  auto flood = n.subscribe<int>("/flood", roomy(), handler_options{}.with_priority(1), busy);
  other.subscribe<int>("/other", roomy(), [&](const int&) { before = slow.load(); });
  auto out = n.advertise<int>("/flood");
  for (int i = 0; i < 100; ++i) out.publish(i);
  other.advertise<int>("/other").publish(1);
  start_together(w.rt, n, other);
  EXPECT_TRUE(eventually([&] { return before >= 0; }));
  EXPECT_LE(before, 2);
  flood.remove();
}

TEST(event_order, slow_requests_and_answers_let_others_run_too) {
  bus_world w{1};
  std::atomic<int> slow{0};
  std::atomic<int> answers{0};
  std::atomic<int> before{-1};
  const auto busy = [] {
    const auto until = std::chrono::steady_clock::now() + 2ms;
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  node n{w.bus, "n", rota::hold};
  node other{w.bus, "other", rota::hold};
  rota::server s = n.serve<int, int>("/slow", [&](const int& i) {
    busy();
    ++slow;
    return i;
  });
  other.subscribe<int>("/other", roomy(), [&](const int&) { before = slow.load(); });
  auto ask = other.client<int, int>("/slow");
  for (int i = 0; i < 20; ++i)
    ask.call(i, 10s, [&](const rota::call_result<int>&) {
      busy();
      ++answers;
    });
  EXPECT_TRUE(eventually([&] { return calls_that_wait(w.bus) == 20; }));
  auto out = other.advertise<int>("/other");
  start_together(w.rt, n, other);
  EXPECT_TRUE(eventually([&] { return slow >= 1; }));
  out.publish(1);
  EXPECT_TRUE(eventually([&] { return before >= 0; }));
  EXPECT_LE(before, 5);
  EXPECT_TRUE(eventually([&] { return answers == 20; }));
  EXPECT_GE(s.counters().runs, 10u);
}

// --- several buses -------------------------------------------------------------------------------

TEST_P(event_node, a_handler_calls_a_service_of_another_bus) {
  bus_world w{options()};
  rota::bus second{w.rt};
  std::atomic<int> sum{0};
  meeting m;
  node here{w.bus, "here"};
  node there{second, "there"};
  there.serve<int, int>("/ask", [](const int& i) -> task<int> {
    co_await rota::suspend();
    co_return 2 * i;
  });
  auto ask = there.client<int, int>("/ask");
  for (int k = 0; k < 3; ++k)
    here.subscribe<int>("/x", roomy(), [&](int i) -> task<> {
      auto r = co_await ask.call(i, 10s);
      m.enter();
      sum += *r;
      co_await rota::suspend();
      m.leave();
    });
  auto out = here.advertise<int>("/x");
  for (int i = 1; i <= 50; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return m.visits == 150; }));
  EXPECT_EQ(sum, 3 * 2 * 1275);
  EXPECT_EQ(m.most, 1);
  here.stop();
  there.stop();
  // A handler that got into the schedule of another bus would be missing in its own.
  EXPECT_EQ(w.bus.statistics().queued, 0u);
  EXPECT_EQ(second.statistics().queued, 0u);
}

}  // namespace
