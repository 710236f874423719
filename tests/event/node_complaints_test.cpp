// What goes wrong is told: functions that throw, messages that are lost or late, input that cannot
// be. A broken promise shows as a count or a text.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
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
using rota::test::bus_world;
using rota::test::error_of;
using rota::test::eventually;
using rota::test::failures;
using rota::test::roomy;

class event_losses : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_losses, ::testing::Values(0u, 1u, 2u, 4u));

// --- exceptions ----------------------------------------------------------------------------------

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

// --- what is lost is told ------------------------------------------------------------------------

TEST_P(event_losses, what_finds_no_room_is_dropped_as_asked_and_told_before_the_next) {
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

TEST_P(event_losses, with_overflow_fail_the_publisher_is_told) {
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

TEST_P(event_losses, messages_beyond_their_lifespan_are_not_handled) {
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
  // A message is counted before it is handled.
  EXPECT_TRUE(eventually([&] { return got == 51 || s.counters().expired == 51; }));
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

TEST_P(event_losses, the_longest_times_are_never_over) {
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

TEST_P(event_losses, a_late_joiner_gets_the_last_message_if_both_sides_ask_for_it) {
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

// --- wrong input ---------------------------------------------------------------------------------

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
  rota::runtime rt{rota::test::with_workers(1)};
  const std::string text = error_of([&] { rota::bus{rt, "ether:\n"}; });
  EXPECT_EQ(text.find("there is no transport for the bus 'ether:\\x0a'; known are "), 0u) << text;
  EXPECT_NE(text.find("inproc:"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { rota::bus{rt, "inproc"}; }), "nothing");
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
