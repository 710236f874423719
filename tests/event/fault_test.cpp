// A bus that fails by plan does what the plan says, the same each time, and leaves nothing behind.
// A broken promise shows as a count that does not match, as a call that ends otherwise than said,
// or as an object that is still alive.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::call_status;
using rota::fault_plan;
using rota::task;
using rota::test::eventually;
using rota::test::tracked;
using rota::test::with_workers;
using clock_type = std::chrono::steady_clock;

rota::qos best_effort(std::size_t depth = 100'000) {
  return rota::qos{}.with_depth(depth).with_reliability(rota::reliability::best_effort);
}

// Sends 0, 1, ... from one node to another; what arrives.
std::vector<int> send_numbers(const rota::faults& f, int count, const char* address = "inproc:") {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, rota::faulty(address, f)};
  rota::node from{bus, "from"}, to{bus, "to"};
  std::vector<int> got;
  to.subscribe<int>("/numbers", best_effort(), [&](const int& i) { got.push_back(i); });
  const auto out = from.advertise<int>("/numbers", best_effort());
  for (int i = 0; i < count; ++i) out.publish(i);
  rt.quiesce();
  return got;
}

std::vector<int> count_to(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

template <class F>
std::string refused_by(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was refused";
}

// --- messages -----------------------------------------------------------------------------------

TEST(fault, an_empty_plan_changes_nothing) {
  const rota::faults none{fault_plan{}};
  EXPECT_EQ(send_numbers(none, 1'000), count_to(1'000));
  const auto c = none.counters();
  EXPECT_EQ(c.messages, 1'000u);
  EXPECT_EQ(c.dropped + c.duplicated + c.delayed + c.reordered + c.cut, 0u);
}

TEST(fault, drops_are_counted_and_the_same_for_the_same_seed) {
  const auto plan = fault_plan{}.with_drop(0.3);
  const rota::faults first{fault_plan{plan}.with_seed(5)}, again{fault_plan{plan}.with_seed(5)},
      other{fault_plan{plan}.with_seed(6)};
  const auto got = send_numbers(first, 1'000);
  EXPECT_EQ(got.size() + first.counters().dropped, 1'000u);
  EXPECT_NEAR(static_cast<double>(got.size()), 700, 100);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
  EXPECT_EQ(send_numbers(again, 1'000, "loop:"), got);
  EXPECT_NE(send_numbers(other, 1'000), got);
}

TEST(fault, links_fail_each_by_itself) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_drop(0.5)};
  rota::bus bus{rt, rota::faulty("inproc:", f)};
  rota::node n{bus, "n"}, m{bus, "m"};
  std::vector<int> got[3];
  n.subscribe<int>("/numbers", best_effort(), [&](const int& i) { got[0].push_back(i); });
  n.subscribe<int>("/numbers", best_effort(), [&](const int& i) { got[1].push_back(i); });
  m.subscribe<int>("/numbers", best_effort(), [&](const int& i) { got[2].push_back(i); });
  const auto out = n.advertise<int>("/numbers", best_effort());
  for (int i = 0; i < 200; ++i) EXPECT_EQ(out.publish(i).taken(), 3u) << "nobody is told";
  rt.quiesce();
  EXPECT_NE(got[0], got[1]);
  EXPECT_NE(got[0], got[2]);
  EXPECT_EQ(f.counters().messages, 600u);
}

TEST(fault, a_duplicate_is_handled_twice_in_a_row) {
  const rota::faults f{fault_plan{}.with_duplicate(1)};
  std::vector<int> twice;
  for (int i = 0; i < 100; ++i) twice.insert(twice.end(), 2, i);
  EXPECT_EQ(send_numbers(f, 100), twice);
  EXPECT_EQ(f.counters().duplicated, 100u);
}

TEST(fault, what_is_delayed_keeps_its_order) {
  const rota::faults f{fault_plan{}.with_delay(0.3, 0us, 2ms)};
  EXPECT_EQ(send_numbers(f, 2'000), count_to(2'000));
  EXPECT_GT(f.counters().delayed, 300u);
}

TEST(fault, what_is_delayed_comes_no_earlier_than_said) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, rota::faulty("inproc:", fault_plan{}.with_delay(1, 20ms, 30ms))};
  rota::node n{bus, "n"};
  std::atomic<clock_type::duration> took{{}};
  const auto began = clock_type::now();
  n.subscribe<int>("/numbers", {}, [&](const int&) { took = clock_type::now() - began; });
  n.advertise<int>("/numbers").publish(1);
  ASSERT_TRUE(eventually([&] { return took.load() != clock_type::duration{}; }));
  EXPECT_GE(took.load(), 20ms);
}

TEST(fault, what_is_reordered_all_arrives_once) {
  const rota::faults f{fault_plan{}.with_reorder(0.2, 2ms)};
  auto got = send_numbers(f, 1'000);
  EXPECT_NE(got, count_to(1'000));
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, count_to(1'000));
  EXPECT_GT(f.counters().reordered, 100u);
}

// With this seed the first is held back for 1.9 s, and one of the others for 9 ms.
TEST(fault, who_is_held_back_holds_up_nobody) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, rota::faulty("inproc:", fault_plan{}.with_seed(4).with_reorder(1, 2s))};
  rota::node n{bus, "n"};
  std::atomic<int> first{-1};
  n.subscribe<int>("/numbers", best_effort(), [&](const int& i) {
    if (first < 0) first = i;
  });
  const auto out = n.advertise<int>("/numbers", best_effort());
  const auto began = clock_type::now();
  out.publish(0);
  std::this_thread::sleep_for(20ms);  // somebody sleeps until it is due by now
  for (int i = 1; i < 50; ++i) out.publish(i);
  ASSERT_TRUE(eventually([&] { return first >= 0; }));
  EXPECT_LT(clock_type::now() - began, 1s);
  EXPECT_NE(first, 0);
}

TEST(fault, all_at_once_and_over_a_wire) {
  const rota::faults f{fault_plan{}
                           .with_seed(11)
                           .with_drop(0.2)
                           .with_duplicate(0.2)
                           .with_reorder(0.2, 1ms)
                           .with_delay(0.2, 0us, 1ms)};
  const auto got = send_numbers(f, 2'000, "loop:");
  const auto c = f.counters();
  EXPECT_EQ(got.size(), 2'000u - c.dropped + c.duplicated);
}

// --- cuts ---------------------------------------------------------------------------------------

TEST(fault, nothing_gets_through_a_cut_until_it_is_mended) {
  rota::runtime rt{with_workers(2)};
  rota::faults link{fault_plan{}.with_cuts()};
  rota::bus bus{rt, rota::faulty("inproc:", link)};
  rota::node n{bus, "n"};
  std::vector<int> got;
  n.subscribe<int>("/numbers", best_effort(), [&](const int& i) { got.push_back(i); });
  n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  const auto out = n.advertise<int>("/numbers", best_effort());
  const auto c = n.client<int, int>("/twice");
  out.publish(1);
  link.cut();
  EXPECT_TRUE(link.is_cut());
  out.publish(2);
  const auto r = rt.run(c.call(1, 20s));
  EXPECT_EQ(r.status(), call_status::lost);
  EXPECT_EQ(r.reason(), "the way is cut");
  link.mend();
  out.publish(3);
  EXPECT_TRUE(rt.run(c.call(1, 20s)));
  rt.quiesce();
  EXPECT_EQ(got, (std::vector<int>{1, 3}));
  EXPECT_EQ(link.counters().cut, 2u);
}

TEST(fault, a_silent_cut_shows_as_timeouts) {
  rota::runtime rt{with_workers(2)};
  rota::faults link{fault_plan{}.with_cuts().with_silence()};
  rota::bus bus{rt, rota::faulty("inproc:", link)};
  rota::node n{bus, "n"};
  const auto s = n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  link.cut();
  EXPECT_EQ(rt.run(n.client<int, int>("/twice").call(1, 10ms)).status(), call_status::timeout);
  EXPECT_EQ(s.counters().events, 0u);
}

// A server that cuts the way before it answers.
call_status lose_the_reply(fault_plan plan, int& handled) {
  rota::runtime rt{with_workers(2)};
  rota::faults link{std::move(plan).with_cuts()};
  rota::bus bus{rt, rota::faulty("inproc:", link)};
  rota::node n{bus, "n"};
  n.serve<int, int>("/twice", [&](const int& i) {
    ++handled;
    link.cut();
    return 2 * i;
  });
  return rt.run(n.client<int, int>("/twice").call(1, 20ms)).status();
}

TEST(fault, a_reply_is_cut_off_like_a_request) {
  int handled = 0;
  EXPECT_EQ(lose_the_reply(fault_plan{}, handled), call_status::lost);
  EXPECT_EQ(lose_the_reply(fault_plan{}.with_silence(), handled), call_status::timeout);
  EXPECT_EQ(handled, 2);
}

TEST(fault, a_cut_by_the_clock_ends_by_the_clock) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_cut(0ms, 30ms)};
  rota::bus bus{rt, rota::faulty("inproc:", f)};
  rota::node n{bus, "n"};
  std::atomic<int> first{-1};
  n.subscribe<int>("/numbers", best_effort(), [&](const int& i) {
    if (first < 0) first = i;
  });
  const auto out = n.advertise<int>("/numbers", best_effort());
  const auto began = clock_type::now();
  out.publish(0);
  for (int i = 1; first < 0; ++i) {
    ASSERT_LT(clock_type::now() - began, 10s);
    out.publish(i);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(first, 0) << "the first was sent when nothing got through";
  EXPECT_GT(f.counters().cut, 0u);
}

// --- calls --------------------------------------------------------------------------------------

TEST(fault, a_call_whose_request_or_reply_is_dropped_ends_by_timeout) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_drop(0.3)};
  rota::bus bus{rt, rota::faulty("inproc:", f)};
  rota::node n{bus, "n"};
  const auto s = n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  const auto c = n.client<int, int>("/twice");
  std::uint64_t timeouts = 0;
  for (int i = 0; i < 60; ++i) {
    const auto r = rt.run(c.call(i, 5ms));
    EXPECT_EQ(r.status(), r ? call_status::ok : call_status::timeout);
    EXPECT_EQ(r ? *r : 2 * i, 2 * i);
    timeouts += !r;
  }
  EXPECT_EQ(f.counters().requests, 60u);
  EXPECT_GE(timeouts, f.counters().dropped);
  EXPECT_EQ(s.counters().events, f.counters().replies) << "some requests and some replies";
  EXPECT_LT(s.counters().events, 60u);
  EXPECT_GT(f.counters().dropped, 60u - s.counters().events);
}

TEST(fault, a_duplicated_request_may_be_handled_twice_and_is_answered_once) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_duplicate(1)};
  rota::bus bus{rt, rota::faulty("loop:", f)};
  rota::node n{bus, "n"};
  std::atomic<int> handled{0};
  n.serve<int, int>("/twice", [&](const int& i) { return ++handled, 2 * i; });
  const auto c = n.client<int, int>("/twice");
  for (int i = 0; i < 20; ++i) {
    const auto r = rt.run(c.call(i, 20s));
    ASSERT_TRUE(r) << r.reason();
    EXPECT_EQ(*r, 2 * i);
  }
  EXPECT_TRUE(eventually([&] { return handled == 40; })) << handled;
}

TEST(fault, calls_take_as_long_as_request_and_reply) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_delay(1, 10ms, 10ms)};
  rota::bus bus{rt, rota::faulty("inproc:", f)};
  rota::node n{bus, "n"};
  n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  const auto c = n.client<int, int>("/twice");
  const auto began = clock_type::now();
  const auto r = rt.run(c.call(4, 20s));
  EXPECT_GE(clock_type::now() - began, 20ms);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, 8);
  EXPECT_EQ(rt.run(c.call(4, 5ms)).status(), call_status::timeout);
  EXPECT_GE(f.counters().delayed, 3u);
}

TEST(fault, an_answer_on_its_way_arrives_also_if_its_server_leaves) {
  rota::runtime rt{with_workers(2)};
  const rota::faults f{fault_plan{}.with_delay(1, 20ms, 20ms)};
  rota::bus bus{rt, rota::faulty("inproc:", f)};
  rota::node n{bus, "n"};
  auto server = std::make_unique<rota::node>(bus, "server");
  server->serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  std::atomic<int> got{0};
  n.client<int, int>("/twice").call(3, 20s, [&](const auto& r) { got = r ? *r : -1; });
  ASSERT_TRUE(eventually([&] { return f.counters().replies == 1; }));
  server.reset();
  ASSERT_TRUE(eventually([&] { return got != 0; }));
  EXPECT_EQ(got, 6);
}

// --- what it can keep, and what it cannot -------------------------------------------------------

TEST(fault, the_bus_says_what_it_cannot_keep) {
  rota::runtime rt{with_workers(1)};
  const auto can = [&](const fault_plan& p, const char* address = "inproc:") {
    return rota::bus{rt, rota::faulty(address, p)}.capabilities();
  };
  EXPECT_TRUE(can(fault_plan{}).reliable);
  EXPECT_TRUE(can(fault_plan{}).blocks);
  EXPECT_TRUE(can(fault_plan{}).in_process);
  EXPECT_FALSE(can(fault_plan{}, "loop:").in_process);
  const auto late = can(fault_plan{}.with_delay(0.1, 0ms, 1ms));
  EXPECT_TRUE(late.reliable);
  EXPECT_FALSE(late.blocks);
  for (const fault_plan& p : {fault_plan{}.with_drop(0.1), fault_plan{}.with_duplicate(0.1),
                              fault_plan{}.with_reorder(0.1, 1ms), fault_plan{}.with_cuts(),
                              fault_plan{}.with_cut(0s, 1s)}) {
    EXPECT_FALSE(can(p).reliable);
    EXPECT_FALSE(can(p).blocks);
  }

  rota::bus bus{rt, rota::faulty("inproc:", fault_plan{}.with_drop(0.1))};
  rota::node n{bus, "n"};
  EXPECT_EQ(refused_by([&] { n.advertise<int>("/numbers"); }),
            "publisher of /numbers in n: the bus may lose messages; ask for "
            "reliability::best_effort");
}

TEST(fault, a_plan_without_meaning_is_refused) {
  const auto text = [](const fault_plan& p) { return refused_by([&] { rota::faults{p}; }); };
  EXPECT_EQ(text(fault_plan{}.with_drop(1.5)),
            "fault plan: drop has the probability 1.500000, which is none from 0 to 1");
  EXPECT_EQ(text(fault_plan{}.with_duplicate(-1)),
            "fault plan: duplicate has the probability -1.000000, which is none from 0 to 1");
  EXPECT_EQ(text(fault_plan{}.with_delay(1, 3ns, 2ns)),
            "fault plan: delay from 3 ns until 2 ns; the first is at least 0, the second no less");
  EXPECT_THROW(rota::faults{fault_plan{}}.cut(), std::logic_error);
}

// --- the end ------------------------------------------------------------------------------------

// What may not be left over.
struct cargo {
  int value = 0;
  tracked alive;
};

task<void> ask(rota::client<cargo, cargo> c) {
  cargo mine;
  co_await c.call(std::move(mine), 10h);
}

// Whether the runtime goes on or ends too.
void end_with_much_on_its_way(fault_plan plan, bool runtime_goes_on) {
  const int before = tracked::alive;
  {
    rota::runtime rt{with_workers(2)};
    {
      const rota::faults f{std::move(plan)};
      rota::bus bus{rt, rota::faulty("inproc:", f)};
      rota::node n{bus, "n"}, server{bus, "server"};
      server.serve<cargo, cargo>("/same", [](const cargo& c) { return c; });
      n.subscribe<cargo>("/cargo", best_effort(), [](const cargo&) {});
      const auto out = n.advertise<cargo>("/cargo", best_effort());
      for (int i = 0; i < 20; ++i) out.publish(cargo{});
      for (int i = 0; i < 20; ++i) rt.spawn(ask(n.client<cargo, cargo>("/same")));
      ASSERT_TRUE(eventually([&] { return f.counters().requests == 20; }));
    }
    if (runtime_goes_on) {
      EXPECT_TRUE(eventually([&] { return tracked::alive == before; }))
          << tracked::alive - before << " are left";
      rt.quiesce();  // nobody sleeps until what was delayed is due
    }
  }
  EXPECT_EQ(tracked::alive, before);
}

TEST(fault, nothing_is_left_when_a_bus_ends_with_much_on_its_way) {
  const auto plan = fault_plan{}.with_delay(0.5, 1h, 2h).with_duplicate(0.3);
  end_with_much_on_its_way(plan, true);
  end_with_much_on_its_way(plan, false);
  end_with_much_on_its_way(fault_plan{}.with_reorder(0.6, 1h), true);
  end_with_much_on_its_way(fault_plan{}.with_reorder(0.6, 1h), false);
}

}  // namespace
