// Every call ends, once, by its deadline at the latest, and says how. A broken promise shows as
// another status or text, as too many calls under way, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::call_result;
using rota::call_status;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::eventually;
using rota::test::failures;

struct sum_request {
  int x = 0;
  int y = 0;
};

class event_service : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, event_service, ::testing::Values(0u, 1u, 2u, 4u));

// --- how calls end ------------------------------------------------------------------------------

TEST_P(event_service, functions_coroutines_and_behaviours_answer) {
  bus_world w{options()};
  auto c = make_cown<int>(100);
  node n{w.bus, "n"};
  n.serve<sum_request, int>("/function", [](const sum_request& r) { return r.x + r.y; });
  n.serve<sum_request, int>("/coroutine", [](sum_request r) -> task<int> {
    co_await rota::suspend();
    co_return r.x + r.y;
  });
  n.serve<sum_request, int>(
      "/cown", rota::on(c, [](int& base, const sum_request& r) { return base += r.x + r.y; }));
  const auto program = [&]() -> task<> {
    for (const char* name : {"/function", "/coroutine", "/cown"}) {
      auto ask = n.client<sum_request, int>(name);
      for (int i = 0; i < 10; ++i) {
        const sum_request request{i, 1};
        auto r = co_await ask.call(request, 10s);
        EXPECT_TRUE(r) << r.reason();
        EXPECT_EQ(r.status(), call_status::ok);
        if (name[2] != 'o') {
          EXPECT_EQ(*r, i + 1);
        }
      }
    }
  };
  w.rt.run(program());
  w.rt.quiesce();
  EXPECT_EQ(c.unguarded(), 155);
}

TEST_P(event_service, a_call_that_is_not_answered_says_why) {
  failures told;
  async_event never;
  rota::options o = options();
  o.on_unobserved = told.options(1).on_unobserved;
  bus_world w{o};
  node n{w.bus, "n"};
  n.serve<int, int>("/slow", alone(), [&](int i) -> task<int> {
    co_await never.wait();
    co_return i;
  });
  n.serve<int, int>("/throws", [](const int& i) -> int {
    if (i == 0) throw 5;
    throw std::runtime_error("out of paper");
  });
  n.serve<int, int>("/throws_later", [](int) -> task<int> {
    co_await rota::suspend();
    throw std::runtime_error("out of ink");
  });
  const auto program = [&]() -> task<> {
    auto none = n.client<int, int>("/none");
    auto r = co_await none.call(1, 10s);
    EXPECT_EQ(r.status(), call_status::no_responder);
    EXPECT_EQ(r.reason(), "no server of '/none'");
    auto slow = n.client<int, int>("/slow");
    r = co_await slow.call(1, 5ms);
    EXPECT_EQ(r.status(), call_status::timeout);
    EXPECT_EQ(r.reason(), "no answer of '/slow' in time");
    auto throws = n.client<int, int>("/throws");
    r = co_await throws.call(1, 10s);
    EXPECT_EQ(r.status(), call_status::lost);
    EXPECT_EQ(r.reason(), "the server threw: out of paper");
    r = co_await throws.call(0, 10s);
    EXPECT_EQ(r.reason(), "the server threw an exception");
    auto later = n.client<int, int>("/throws_later");
    r = co_await later.call(1, 10s);
    EXPECT_EQ(r.status(), call_status::lost);
    EXPECT_EQ(r.reason(), "the server threw: out of ink");
  };
  w.rt.run(program());
  EXPECT_EQ(told.count(), 3u);
}

TEST(event_calls, a_status_has_a_name) {
  EXPECT_EQ(rota::to_string(call_status::ok), "ok");
  EXPECT_EQ(rota::to_string(call_status::timeout), "timeout");
  EXPECT_EQ(rota::to_string(call_status::no_responder), "no_responder");
  EXPECT_EQ(rota::to_string(call_status::cancelled), "cancelled");
  EXPECT_EQ(rota::to_string(call_status::lost), "lost");
}

TEST_P(event_service, calls_end_when_their_server_or_client_is_removed) {
  async_event never;
  bus_world w{options()};
  std::atomic<int> taken{0};
  node n{w.bus, "n"};
  std::optional<node> asks;
  asks.emplace(w.bus, "asks");
  const auto slow = [&](int i) -> task<int> {
    ++taken;
    co_await never.wait();
    co_return i;
  };
  auto server = n.serve<int, int>("/slow", alone(), slow);
  auto ask = n.client<int, int>("/slow");
  const auto program = [&]() -> task<> {
    // One is taken, the other waits for the server.
    auto first = rota::spawn(ask.call(1, 60s));
    while (taken == 0) co_await rota::suspend();
    auto second = rota::spawn(ask.call(2, 60s));
    while (w.bus.graph().services.at(0).servers.at(0).counters.pending == 0)
      co_await rota::suspend();
    server.remove();
    auto r = co_await first;
    EXPECT_EQ(r.status(), call_status::lost);
    EXPECT_EQ(r.reason(), "the server was removed");
    auto s = co_await second;
    EXPECT_EQ(s.status(), call_status::no_responder);
    EXPECT_EQ(s.reason(), "the last server has left");
    // Now the client goes.
    server = n.serve<int, int>("/slow", alone(), slow);
    auto other = asks->client<int, int>("/slow", 1);
    auto third = rota::spawn(other.call(3, 60s));
    auto fourth = rota::spawn(other.call(4, 60s));  // waits for the third
    while (taken == 1) co_await rota::suspend();
    for (int i = 0; i < 50; ++i) co_await rota::suspend();
    asks->stop();
    auto t = co_await third;
    auto u = co_await fourth;
    for (const auto* one : {&t, &u}) {
      EXPECT_EQ(one->status(), call_status::cancelled);
      EXPECT_EQ(one->reason(), "the client was removed");
    }
  };
  w.rt.run(program());
}

TEST_P(event_service, what_waits_for_a_server_goes_to_another_if_it_leaves) {
  async_event never;
  bus_world w{options()};
  std::atomic<int> taken{0};
  node n{w.bus, "n"};
  node late{w.bus, "late", rota::hold};
  auto stuck = n.serve<int, int>("/x", alone(), [&](int i) -> task<int> {
    ++taken;
    co_await never.wait();
    co_return i;
  });
  late.serve<int, int>("/x", [](const int& i) { return 10 * i; });
  auto ask = n.client<int, int>("/x");
  const auto program = [&]() -> task<> {
    auto first = rota::spawn(ask.call(1, 60s));
    while (taken == 0) co_await rota::suspend();
    auto second = rota::spawn(ask.call(2, 60s));
    for (int i = 0; i < 50; ++i) co_await rota::suspend();
    stuck.remove();
    auto r = co_await first;
    EXPECT_EQ(r.status(), call_status::lost);
    late.start();
    auto s = co_await second;
    EXPECT_TRUE(s) << s.reason();
    EXPECT_EQ(*s, 20);
  };
  w.rt.run(program());
}

// --- cancelling ---------------------------------------------------------------------------------

TEST_P(event_service, a_task_that_is_asked_to_stop_takes_its_call_back) {
  bus_world w{options()};
  std::atomic<int> served{0};
  node n{w.bus, "n", rota::hold};  // nobody takes it yet
  n.serve<int, int>("/x", [&](const int& i) {
    ++served;
    return i;
  });
  auto ask = n.client<int, int>("/x", 1);
  const auto program = [&]() -> task<> {
    auto h = rota::spawn(ask.call(1, 60s));
    auto queued = rota::spawn(ask.call(2, 60s));
    for (int i = 0; i < 50; ++i) co_await rota::suspend();
    int cancelled = 0;
    h.request_stop();
    try {
      co_await h;
    } catch (const rota::cancelled&) {
      ++cancelled;
    }
    EXPECT_EQ(cancelled, 1);
    EXPECT_LE(w.bus.graph().services[0].servers[0].counters.pending, 1u) << "it was taken back";
    n.start();
    auto r = co_await queued;
    EXPECT_TRUE(r) << "its turn comes: " << r.reason();
  };
  w.rt.run(program());
  EXPECT_EQ(served, 1);
}

TEST_P(event_service, calls_that_nobody_waits_for_do_not_pile_up) {
  bus_world w{options()};
  node n{w.bus, "n", rota::hold};
  n.serve<int, int>("/x", [](const int& i) { return i; });
  const auto program = [&]() -> task<> {
    auto ask = n.client<int, int>("/x");
    for (int i = 0; i < 200; ++i) {
      auto r = co_await ask.call(i, 1us);
      EXPECT_EQ(r.status(), call_status::timeout);
    }
    EXPECT_LE(w.bus.graph().services[0].servers[0].counters.pending, 4u);
    // Also those whose client is gone.
    for (int i = 0; i < 50; ++i) {
      node other{w.bus, "other"};
      auto its = other.client<int, int>("/x");
      auto h = rota::spawn(its.call(i, 60s));
      for (int k = 0; k < 10; ++k) co_await rota::suspend();
      other.stop();
      auto r = co_await h;
      EXPECT_EQ(r.status(), call_status::cancelled);
    }
    EXPECT_LE(w.bus.graph().services[0].servers[0].counters.pending, 8u);
  };
  w.rt.run(program());
}

TEST_P(event_service, clients_that_nobody_has_do_not_pile_up) {
  bus_world w{options()};
  std::atomic<int> answers{0};
  node n{w.bus, "n"};
  n.serve<int, int>("/x", [](const int& i) { return i; });
  async_event late;
  n.serve<int, int>("/late", alone(), [&](int i) -> task<int> {
    co_await late.wait();
    co_return i;
  });
  auto kept = n.client<int, int>("/x");
  const auto program = [&]() -> task<> {
    // Nobody has these, but their answers are to come.
    for (int i = 0; i < 10; ++i)
      n.client<int, int>("/late").call(
          i, 60s, [&](const call_result<int>& r) { answers += r.status() == call_status::ok; });
    for (int i = 0; i < 1000; ++i) {
      const auto ask = n.client<int, int>("/x");
      auto r = co_await ask.call(i, 60s);
      EXPECT_EQ(r.status(), call_status::ok);
    }
    for (int i = 0; i < 1000; ++i)
      n.client<int, int>("/x").call(
          i, 60s, [&](const call_result<int>& r) { answers += r.status() == call_status::ok; });
  };
  w.rt.run(program());
  EXPECT_TRUE(eventually([&] { return answers == 1000; }));
  late.set();
  EXPECT_TRUE(eventually([&] { return answers == 1010; }));
  // Those that were let go are found when others are made.
  for (int i = 0; i < 3000; ++i) n.client<int, int>("/x");
  EXPECT_LE(w.bus.statistics().handlers, 100u);
  w.rt.run([&]() -> task<> {
    auto r = co_await kept.call(1, 60s);
    EXPECT_EQ(r.status(), call_status::ok);
  }());
}

// --- calls inside handlers ----------------------------------------------------------------------

TEST_P(event_service, a_handler_calls_a_service_of_its_own_node_and_group) {
  bus_world w{options()};
  std::atomic<int> done{0};
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  node n{w.bus, "n"};
  n.serve<int, int>("/double", [](const int& i) { return 2 * i; });
  auto twice = n.client<int, int>("/double");
  // A server that asks another server of the group, which asks a third.
  n.serve<int, int>("/quadruple", [&](int i) -> task<int> {
    auto r = co_await twice.call(i, 10s);
    auto s = co_await twice.call(*r, 10s);
    co_return *s;
  });
  auto four = n.client<int, int>("/quadruple");
  for (int k = 0; k < 3; ++k)
    n.subscribe<int>("/x", rota::test::roomy(), [&](int i) -> task<> {
      auto r = co_await four.call(i, 10s);
      EXPECT_TRUE(r) << r.reason();
      if (++inside != 1) ++together;
      EXPECT_EQ(*r, 4 * i);
      co_await rota::suspend();
      --inside;
      ++done;
    });
  auto out = n.advertise<int>("/x");
  for (int i = 0; i < 40; ++i) out.publish(i);
  EXPECT_TRUE(eventually([&] { return done == 120; }));
  EXPECT_EQ(together, 0) << "between calls the group is theirs alone";
}

TEST_P(event_service, answers_run_in_the_group_of_the_client) {
  bus_world w{options()};
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  std::atomic<int> answers{0};
  std::atomic<int> messages{0};
  node n{w.bus, "n"};
  node serves{w.bus, "serves"};
  serves.serve<int, int>("/x", [](const int& i) { return i; });
  const auto visit = [&] {
    if (++inside != 1) ++together;
    std::this_thread::yield();
    --inside;
  };
  n.subscribe<int>("/m", rota::test::roomy(), [&](const int&) {
    visit();
    ++messages;
  });
  auto ask = n.client<int, int>("/x");
  auto out = n.advertise<int>("/m");
  for (int i = 0; i < 200; ++i) {
    ask.call(i, 10s, [&, i](const call_result<int>& r) {
      EXPECT_TRUE(r) << r.reason();
      if (r) {
        EXPECT_EQ(*r, i);
      }
      visit();
      ++answers;
    });
    out.publish(i);
  }
  EXPECT_TRUE(eventually([&] { return answers == 200 && messages == 200; }));
  EXPECT_EQ(together, 0);
}

TEST_P(event_service, every_answer_comes_once_also_if_there_is_none) {
  async_event never;
  bus_world w{options()};
  std::mutex mutex;
  std::vector<call_status> seen;
  node n{w.bus, "n"};
  n.serve<int, int>("/slow", alone(), [&](int i) -> task<int> {
    co_await never.wait();
    co_return i;
  });
  const auto note = [&](const call_result<int>& r) {
    const std::lock_guard guard{mutex};
    seen.push_back(r.status());
  };
  n.client<int, int>("/slow").call(1, 2ms, note);
  n.client<int, int>("/none").call(1, 2ms, note);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard guard{mutex};
    return seen.size() == 2;
  }));
  n.stop();
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<call_status>{call_status::timeout, call_status::no_responder}));
}

// --- how many -----------------------------------------------------------------------------------

TEST_P(event_service, no_more_calls_are_under_way_than_the_client_may_have) {
  constexpr int calls = 60;
  bus_world w{options()};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::unique_ptr<node>> servers;
  for (int i = 0; i < 6; ++i) {
    servers.push_back(std::make_unique<node>(w.bus, "s"));
    servers.back()->serve<int, int>("/x", [&](int k) -> task<int> {
      const int now = ++inside;
      int before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
      for (int j = 0; j < 5; ++j) co_await rota::suspend();
      --inside;
      co_return k;
    });
  }
  node n{w.bus, "n"};
  auto ask = n.client<int, int>("/x", 3);
  const auto program = [&]() -> task<> {
    std::vector<rota::join_handle<call_result<int>>> all;
    for (int i = 0; i < calls; ++i) all.push_back(rota::spawn(ask.call(i, 30s)));
    for (int i = 0; i < calls; ++i) {
      auto r = co_await all[static_cast<std::size_t>(i)];
      EXPECT_TRUE(r) << r.reason();
      if (r) {
        EXPECT_EQ(*r, i);
      }
    }
  };
  w.rt.run(program());
  EXPECT_LE(most, 3);
}

TEST_P(event_service, calls_that_wait_for_their_turn_time_out_too) {
  async_event open;
  bus_world w{options()};
  std::atomic<int> served{0};
  node n{w.bus, "n"};
  n.serve<int, int>("/x", [&](int i) -> task<int> {
    ++served;
    co_await open.wait();
    co_return i;
  });
  auto ask = n.client<int, int>("/x", 1);
  const auto program = [&]() -> task<> {
    auto first = rota::spawn(ask.call(1, 60s));
    while (served == 0) co_await rota::suspend();
    auto second = co_await ask.call(2, 5ms);
    EXPECT_EQ(second.status(), call_status::timeout);
    auto third = rota::spawn(ask.call(3, 60s));
    open.set();
    auto r = co_await first;
    EXPECT_TRUE(r) << r.reason();
    auto s = co_await third;
    EXPECT_TRUE(s) << s.reason();
  };
  w.rt.run(program());
  EXPECT_EQ(served, 2) << "the second was never sent";
}

TEST_P(event_service, two_servers_share_a_thousand_calls) {
  bus_world w{options()};
  std::array<std::atomic<int>, 2> served{};
  node one{w.bus, "one"};
  node two{w.bus, "two"};
  node n{w.bus, "n"};
  one.serve<int, int>("/x", [&](const int& i) {
    ++served[0];
    return i + 1;
  });
  two.serve<int, int>("/x", [&](int i) -> task<int> {
    ++served[1];
    co_await rota::suspend();
    co_return i + 1;
  });
  auto ask = n.client<int, int>("/x");
  std::atomic<int> sum{0};
  const auto asks = [&](int from) -> task<> {
    for (int i = from; i < from + 100; ++i) {
      auto r = co_await ask.call(i, 30s);
      EXPECT_TRUE(r) << r.reason();
      if (r) {
        EXPECT_EQ(*r, i + 1);
      }
      sum += i;
    }
  };
  const auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 10; ++i) g.spawn(asks(100 * i));
    co_await g.join();
  };
  w.rt.run(program());
  EXPECT_EQ(sum, 999 * 500);
  EXPECT_EQ(served[0] + served[1], 1000);
  EXPECT_GT(served[0], 0);
  EXPECT_GT(served[1], 0);
  const auto s = w.bus.statistics();
  EXPECT_LE(s.max_passed, s.bound);
}

}  // namespace
