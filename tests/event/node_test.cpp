// What nodes do with messages: who gets what, in which order, one at a time or together, and what
// happens when functions throw, when input is wrong, and in the life of a node. A broken promise
// shows as a count, a text or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::handler_options;
using rota::make_cown;
using rota::message;
using rota::node;
using rota::node_phase;
using rota::qos;
using rota::task;
using rota_test::alone;
using rota_test::bus_world;
using rota_test::error_of;
using rota_test::eventually;
using rota_test::failures;
using rota_test::reentrant;
using rota_test::roomy;

class event_node : public rota_test::events_on {};
INSTANTIATE_TEST_SUITE_P(workers, event_node, ::testing::Values(0u, 1u, 2u, 4u));

// --- how messages come --------------------------------------------------------------------------

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

// --- one at a time, or together -----------------------------------------------------------------

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

// --- order and shares ---------------------------------------------------------------------------

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
std::uint64_t calls_that_wait(const rota::bus& b) {
  return b.graph().services[0].servers[0].counters.pending;
}

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

// --- exceptions ---------------------------------------------------------------------------------

TEST(event_failures, a_handler_that_throws_is_named_and_goes_on) {
  failures told;
  bus_world w{told.options(2)};
  std::atomic<int> calls{0};
  auto c = make_cown<int>(0);
  node n{w.bus, "robot"};
  const auto check = [&](int i) {
    ++calls;
    if (i % 2) throw std::runtime_error("odd " + std::to_string(i));
  };
  auto f = n.subscribe<int>("/x", roomy(), [&](const int& i) { check(i); });
  auto t =
      n.subscribe<int>("/x", roomy(), handler_options{}.with_name("later"), [&](int i) -> task<> {
        co_await rota::suspend();
        check(i);
      });
  auto b = n.subscribe<int>("/x", roomy(), rota::on(c, [&](int&, const int& i) { check(i); }));
  n.subscribe<int>("/y", roomy(), [](const int&) { throw 5; });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 4; ++i) out.publish(i);
  n.advertise<int>("/y").publish(1);
  EXPECT_TRUE(eventually([&] { return calls == 12 && told.count() == 7; }));
  auto texts = told.texts();
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "later: odd 1", "later: odd 3", "subscriber of /x in robot: odd 1",
                       "subscriber of /x in robot: odd 1", "subscriber of /x in robot: odd 3",
                       "subscriber of /x in robot: odd 3", "subscriber of /y in robot: unknown"}));
  EXPECT_EQ(f.counters().failed, 2u);
  EXPECT_EQ(t.counters().failed, 2u);
  EXPECT_EQ(b.counters().failed, 2u);
}

TEST(event_failures, timers_servers_answers_and_notices_that_throw_go_on) {
  failures told;
  bus_world w{told.options(2)};
  std::atomic<int> ticks{0};
  std::atomic<int> messages{0};
  std::atomic<int> answers{0};
  node n{w.bus, "robot"};
  n.every(1ms, handler_options{}.with_name("tick"), [&] {
    if (++ticks <= 2) throw std::runtime_error("too early");
  });
  n.serve<int, int>("/ask", handler_options{}.with_name("serve"),
                    [](const int&) -> int { throw std::runtime_error("no"); });
  auto ask = n.client<int, int>("/ask", 1, handler_options{}.with_name("answers"));
  ask.call(1, 10s, [&](const rota::call_result<int>& r) {
    ++answers;
    throw std::runtime_error(r.reason());
  });
  {
    node held{w.bus, "held", rota::hold};
    auto o = handler_options{}.with_name("notes").with_on_event(
        [](const rota::handler_event&) { throw std::runtime_error("lost one"); });
    held.subscribe<int>("/x", qos{}.with_depth(1), o, [&](const int&) { ++messages; });
    auto out = n.advertise<int>("/x");
    out.publish(1);
    out.publish(2);
    held.start();
    EXPECT_TRUE(eventually([&] { return ticks > 3 && messages == 1 && answers == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return told.count() == 5; }));
  auto texts = told.texts();
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (std::vector<std::string>{"answers: the server threw: no", "notes: lost one",
                                             "serve: no", "tick: too early", "tick: too early"}));
}

// --- what is lost is told -----------------------------------------------------------------------

TEST_P(event_node, what_finds_no_room_is_dropped_as_asked_and_told_before_the_next) {
  for (const bool oldest : {true, false}) {
    bus_world w{options()};
    std::vector<int> got;
    std::vector<std::uint64_t> dropped;
    std::atomic<int> calls{0};
    node n{w.bus, "n", rota::hold};
    auto s =
        n.subscribe<int>("/x",
                         qos{}.with_depth(3).with_overflow(oldest ? rota::overflow::drop_oldest
                                                                  : rota::overflow::drop_newest),
                         handler_options{}.with_on_event([&](const rota::handler_event& e) {
                           EXPECT_TRUE(got.empty());
                           dropped.push_back(e.dropped);
                         }),
                         [&](const int& i) {
                           got.push_back(i);
                           ++calls;
                         });
    auto out = n.advertise<int>("/x");
    for (int i = 1; i <= 10; ++i) EXPECT_EQ(out.publish(i).refused(), 0u);
    EXPECT_EQ(s.counters().pending, 3u);
    n.start();
    EXPECT_TRUE(eventually([&] { return calls == 3; }));
    n.stop();
    EXPECT_EQ(got, oldest ? (std::vector<int>{8, 9, 10}) : (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(dropped, (std::vector<std::uint64_t>{7}));
    EXPECT_EQ(s.counters().dropped, 7u);
  }
}

TEST_P(event_node, with_overflow_fail_the_publisher_is_told) {
  bus_world w{options()};
  node n{w.bus, "n", rota::hold};
  auto s = n.subscribe<int>("/x", qos{}.with_depth(2).with_overflow(rota::overflow::fail),
                            [](const int&) {});
  auto out = n.advertise<int>("/x");
  EXPECT_TRUE(out.publish(1));
  EXPECT_TRUE(out.publish(2));
  const auto third = out.publish(3);
  EXPECT_FALSE(third);
  EXPECT_EQ(third.refused(), 1u);
  EXPECT_EQ(third.taken(), 0u);
  EXPECT_EQ(s.counters().dropped, 1u);
}

TEST_P(event_node, messages_beyond_their_lifespan_are_not_handled) {
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<std::uint64_t> expired{0};
  node n{w.bus, "n", rota::hold};
  auto s = n.subscribe<int>(
      "/x", roomy().with_lifespan(5ms),
      handler_options{}.with_on_event([&](const rota::handler_event& e) { expired += e.expired; }),
      [&](const int& i) { got = i; });
  auto out = n.advertise<int>("/x");
  for (int i = 1; i <= 50; ++i) out.publish(i);
  std::this_thread::sleep_for(10ms);
  out.publish(51);
  n.start();
  // The machine may be slow enough for the last one as well.
  EXPECT_TRUE(eventually([&] { return s.counters().expired + s.counters().events == 51; }));
  EXPECT_GE(s.counters().expired, 50u);
  EXPECT_TRUE(got == 51 || s.counters().expired == 51);
  EXPECT_TRUE(eventually([&] { return expired == s.counters().expired; }));
}

TEST(event_deadlines, a_deadline_that_passes_without_a_message_is_told) {
  bus_world w{2};
  std::atomic<std::uint64_t> late{0};
  std::atomic<int> got{0};
  node n{w.bus, "n"};
  auto s = n.subscribe<int>(
      "/x", roomy().with_deadline(2ms),
      handler_options{}.with_on_event([&](const rota::handler_event& e) { late += e.late; }),
      [&](const int&) { ++got; });
  auto silent = n.subscribe<int>("/x", roomy().with_deadline(2ms), [&](const int&) { ++got; });
  EXPECT_TRUE(eventually([&] { return late >= 3 && silent.counters().late >= 3; }));
  n.advertise<int>("/x").publish(1);
  EXPECT_TRUE(eventually([&] { return got == 2; }));
}

TEST_P(event_node, the_longest_times_are_never_over) {
  constexpr auto for_ever = std::chrono::nanoseconds::max();
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<int> wrong{0};
  node n{w.bus, "n"};
  auto s = n.subscribe<int>("/x", roomy().with_deadline(for_ever).with_lifespan(for_ever),
                            [&](const int&) { ++got; });
  auto t = n.every(for_ever, [&] { ++wrong; });
  n.serve<int, int>("/ask", [](const int& i) { return i; });
  auto ask = n.client<int, int>("/ask");
  n.advertise<int>("/x").publish(1);
  const auto program = [&]() -> task<> {
    auto r = co_await ask.call(1, for_ever);
    EXPECT_TRUE(r) << r.reason();
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return got == 1; }));
  EXPECT_EQ(s.counters().late, 0u);
  EXPECT_EQ(t.counters().events + t.counters().dropped, 0u);
  EXPECT_EQ(wrong, 0);
}

TEST_P(event_node, a_late_joiner_gets_the_last_message_if_both_sides_ask_for_it) {
  bus_world w{options()};
  std::atomic<int> got{0};
  std::atomic<int> others{0};
  node n{w.bus, "n"};
  auto keeps = n.advertise<int>("/kept", qos{}.with_late_joiner());
  auto forgets = n.advertise<int>("/forgotten");
  for (int i = 1; i <= 3; ++i) {
    keeps.publish(i);
    forgets.publish(i);
  }
  n.subscribe<int>("/kept", qos{}.with_late_joiner(), [&](const int& i) { got = 10 * got + i; });
  n.subscribe<int>("/kept", {}, [&](const int& i) { others = 10 * others + i; });
  n.subscribe<int>("/forgotten", qos{}.with_late_joiner(), [&](const int&) { others = -1; });
  EXPECT_TRUE(eventually([&] { return got == 3; }));
  keeps.publish(4);
  EXPECT_TRUE(eventually([&] { return got == 34 && others == 4; }));
}

// --- wrong input --------------------------------------------------------------------------------

TEST(event_errors, names_say_what_is_wrong_with_them) {
  bus_world w{1};
  const std::string way_on =
      "; letters, digits, '_', '-' and '.' make a part, and '/' stands between parts or in front";
  EXPECT_EQ(error_of([&] { node{w.bus, ""}; }), "node name '': it is empty" + way_on);
  EXPECT_EQ(error_of([&] { node{w.bus, "a\nb"}; }),
            "node name 'a\\x0ab': character 2 is none that a name may have" + way_on);
  node n{w.bus, "n"};
  EXPECT_EQ(error_of([&] { n.advertise<int>("/a b"); }),
            "topic name '/a b': character 3 is none that a name may have" + way_on);
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/a/", {}, [](const int&) {}); }),
            "topic name '/a/': a part is empty after character 3" + way_on);
  EXPECT_EQ(error_of([&] { n.subscribe<int>("//a", {}, [](const int&) {}); }),
            "topic name '//a': a part is empty after character 1" + way_on);
  EXPECT_EQ(
      error_of(
          [&] { n.serve<int, int>(std::string("\xff\0'\\", 4), [](const int& i) { return i; }); }),
      "service name '\\xff\\x00\\x27\\x5c': character 1 is none that a name may have" + way_on);
  EXPECT_EQ(
      error_of([&] { n.client<int, int>(std::string(256, 'x')); }),
      "service name '" + std::string(64, 'x') + "...': it is longer than 255 characters" + way_on);
  EXPECT_EQ(error_of([&] { n.client<int, int>(std::string(255, 'x')); }), "nothing");
}

TEST(event_errors, what_cannot_be_says_why) {
  bus_world w{1};
  node n{w.bus, "n"};
  const auto f = [](const int&) {};
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/x", qos{}.with_depth(0), f); }),
            "subscriber of /x in n: a queue of depth 0 takes no message; at least 1");
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/x", qos{}.with_lifespan(-1ns), f); }),
            "subscriber of /x in n: the lifespan is negative");
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/x", qos{}.with_deadline(-1ns), f); }),
            "subscriber of /x in n: the deadline is negative");
  EXPECT_EQ(error_of([&] { n.advertise<int>("/x", qos{}.with_depth(0)); }),
            "publisher of /x in n: a queue of depth 0 takes no message; at least 1");
  EXPECT_EQ(error_of([&] { n.subscribe<int>("/x", {}, handler_options{}.with_priority(2), f); }),
            "subscriber of /x in n: priority 2 is none of -1, 0, 1");
  EXPECT_EQ(error_of([&] { n.every(1ms, handler_options{}.with_budget(0), [] {}); }),
            "timer in n: a budget of 0 events; at least 1");
  EXPECT_EQ(error_of([&] { n.every(0ns, [] {}); }),
            "timer in n: a period of 0 ns; it has to be above zero");
  EXPECT_EQ(error_of([&] { n.client<int, int>("/x", 0); }),
            "client of /x in n: at most 0 calls under way; at least 1");
  EXPECT_EQ(w.bus.statistics().handlers, 0u) << "nothing is left of them";
}

TEST(event_errors, topics_and_services_have_one_type) {
  bus_world w{1};
  node n{w.bus, "n"};
  auto out = n.advertise<int>("/x");
  const std::string text =
      error_of([&] { n.subscribe<std::string>("/x", {}, [](const std::string&) {}); });
  EXPECT_NE(text.find("topic '/x' carries "), std::string::npos) << text;
  EXPECT_NE(text.find("but node 'n' asks for "), std::string::npos) << text;
  EXPECT_EQ(w.bus.statistics().handlers, 0u);
  auto ask = n.client<int, int>("/ask");
  const std::string service =
      error_of([&] { n.serve<int, double>("/ask", [](const int&) { return 1.0; }); });
  EXPECT_NE(service.find("service '/ask' carries "), std::string::npos) << service;
  // The type goes with the last who uses the topic.
  out = {};
  EXPECT_EQ(error_of([&] { n.advertise<double>("/x"); }), "nothing");
}

TEST(event_errors, a_bus_that_does_not_exist_names_those_that_do) {
  rota::runtime rt{rota_test::with_workers(1)};
  const std::string text = error_of([&] { rota::bus{rt, "ether:\n"}; });
  EXPECT_EQ(text.find("there is no transport for the bus 'ether:\\x0a'; known are "), 0u) << text;
  EXPECT_NE(text.find("inproc:"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { rota::bus{rt, "inproc"}; }), "nothing");
}

// --- life ---------------------------------------------------------------------------------------

TEST_P(event_node, a_node_that_is_held_keeps_what_comes_until_it_starts) {
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

TEST_P(event_node, draining_handles_what_is_there_and_takes_nothing_new) {
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

TEST_P(event_node, draining_that_is_cancelled_says_so) {
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

TEST_P(event_node, stopping_drops_what_waits_and_nothing_runs_after_it) {
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

TEST_P(event_node, a_stopped_node_takes_no_more_handlers) {
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

TEST_P(event_node, publishers_clients_and_registrations_outlive_node_bus_and_runtime) {
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

TEST_P(event_node, bus_and_nodes_may_be_made_and_ended_in_a_task) {
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
TEST_P(event_node, a_node_may_end_while_its_handlers_run) {
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

// --- ends of runtimes ---------------------------------------------------------------------------

// A program that owns its bus, and waits for what never comes.
TEST_P(event_node, a_deadlock_of_a_program_that_owns_its_bus_is_reported) {
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

TEST_P(event_node, a_runtime_may_end_while_a_program_that_owns_its_bus_waits) {
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

// --- several buses ------------------------------------------------------------------------------

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

TEST(event_errors, a_group_is_of_one_bus) {
  bus_world w{2};
  rota::group g;
  const auto options = handler_options{}.with_group(g);
  {
    rota::bus second{w.rt};
    node a{second, "a"};
    a.every(1h, options, [] {});
    node b{w.bus, "b"};
    EXPECT_EQ(error_of([&] { b.every(1h, options, [] {}); }),
              "timer in b: its group is used on another bus");
  }
  // Which is gone once the tasks of its timers are.
  node b{w.bus, "b"};
  EXPECT_TRUE(
      eventually([&] { return error_of([&] { b.every(1h, options, [] {}); }) == "nothing"; }));
}

}  // namespace
