// What every transport keeps of calls: one suite, run over each of them. A call ends once, with an
// answer or the reason why there is none; a broken promise shows as a wrong count or text, or as a
// wait that does not end.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "event/events.h"
#include "event/transports.h"
#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::call_status;
using rota::task;
using rota::test::calls_that_wait;
using rota::test::contains;
using rota::test::eventually;
using rota::test::make_numbered;
using rota::test::nest;
using rota::test::nested;
using rota::test::numbered;
using rota::test::with_workers;

class transport_calls : public rota::test::on_transports {};
INSTANTIATE_TEST_SUITE_P(each, transport_calls, ::testing::ValuesIn(rota::test::ways),
                         [](const auto& at) { return std::string(at.param.name); });

// --- services ------------------------------------------------------------------------------------

// A server that waits with each request until it is let on.
struct gated_server {
  gated_server(rota::bus& bus, std::string name)
      : node(bus, std::move(name)),
        handle(node.serve<int, int>("/twice", [this](int i) -> task<int> {
          taken.fetch_add(1);
          co_await gate.wait();
          answered.fetch_add(1);
          co_return 2 * i;
        })) {}

  rota::async_event gate;
  std::atomic<int> taken{0};
  std::atomic<int> answered{0};
  rota::node node;
  rota::server handle;
};

using int_result = rota::call_result<int>;
using int_client = rota::client<int, int>;

// Calls under way, each in a task of its own.
class calls {
 public:
  explicit calls(rota::runtime& rt) : runtime_(rt) {}

  void make(const int_client& c, int i, std::chrono::nanoseconds timeout = 20s) {
    results_.push_back(runtime_.spawn(c.call(i, timeout)));
  }
  int_result end(std::size_t i) { return runtime_.run(join(std::move(results_[i]))); }
  void stop(std::size_t i) { results_[i].request_stop(); }
  bool is_done(std::size_t i) const { return results_[i].done(); }

 private:
  static task<int_result> join(rota::join_handle<int_result> h) { co_return co_await h; }

  rota::runtime& runtime_;
  std::vector<rota::join_handle<int_result>> results_;
};

// How many calls are in the queue of the only service.
void expect_answer(const int_result& r, int expected) {
  ASSERT_EQ(r.status(), call_status::ok) << r.reason();
  EXPECT_EQ(*r, expected);
}

TEST_P(transport_calls, a_call_is_answered) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"}, other{*bus, "other"};
  other.serve<numbered, numbered>("/next",
                                  [](numbered m) { return make_numbered(m.from, m.number + 1); });
  const auto c = n.client<numbered, numbered>("/next");
  for (std::uint32_t i = 0; i < 50; ++i) {
    const auto r = rt.run(c.call(make_numbered(1, i), 20s));
    ASSERT_TRUE(r) << r.reason();
    EXPECT_EQ(*r, make_numbered(1, i + 1));
  }
}

TEST_P(transport_calls, a_function_gets_the_answer_to_its_call) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  std::atomic<int> got{0};
  n.client<int, int>("/twice").call(21, 20s, [&](const int_result& r) { got = r ? *r : -1; });
  EXPECT_TRUE(eventually([&] { return got == 42; })) << got;
}

TEST_P(transport_calls, a_call_without_an_answer_ends_by_its_deadline_and_a_late_one_is_ignored) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  const auto r = rt.run(c.call(1, 20ms));
  EXPECT_EQ(r.status(), call_status::timeout);
  EXPECT_EQ(r.reason(), "no answer of '/twice' in time");
  calls more{rt};
  more.make(c, 2);
  server.gate.set();
  expect_answer(more.end(0), 4);
  EXPECT_EQ(server.answered, 2) << "the first answer came too late, for the first call";
}

TEST_P(transport_calls, a_call_that_nobody_can_answer_says_so) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  const auto r = rt.run(c.call(1, 20s));
  EXPECT_EQ(r.status(), call_status::no_responder);
  EXPECT_EQ(r.reason(), "no server of '/twice'");
  auto s = n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  expect_answer(rt.run(c.call(1, 20s)), 2);
  s.remove();
  EXPECT_EQ(rt.run(c.call(1, 20s)).status(), call_status::no_responder);
}

TEST_P(transport_calls, a_call_is_lost_if_its_server_throws) {
  rota::options quiet = with_workers(2);
  std::atomic<int> reported{0};
  quiet.on_unobserved = [&](std::exception_ptr, const std::string&) { ++reported; };
  rota::runtime rt{quiet};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  auto s = n.serve<int, int>("/twice", [](const int& i) -> int {
    if (i < 0) throw std::runtime_error("below zero");
    return 2 * i;
  });
  const auto c = n.client<int, int>("/twice");
  const auto r = rt.run(c.call(-1, 20s));
  EXPECT_EQ(r.status(), call_status::lost);
  EXPECT_EQ(r.reason(), "the server threw: below zero");
  expect_answer(rt.run(c.call(3, 20s)), 6);
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(s.counters().failed, 1u);
}

TEST_P(transport_calls, a_call_is_lost_if_its_server_leaves) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  calls c{rt};
  c.make(n.client<int, int>("/twice"), 1);
  ASSERT_TRUE(eventually([&] { return server.taken == 1; }));
  server.handle.remove();
  const auto r = c.end(0);
  EXPECT_EQ(r.status(), call_status::lost);
  EXPECT_EQ(r.reason(), "the server was removed");
}

TEST_P(transport_calls, servers_of_one_name_share_the_calls_and_each_is_answered_once) {
  constexpr int count = 300;
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node one{*bus, "one"}, two{*bus, "two"}, three{*bus, "three"}, n{*bus, "n"};
  std::atomic<int> handled{0};
  for (rota::node* s : {&one, &two, &three})
    s->serve<int, int>("/twice", [&](const int& i) { return ++handled, 2 * i; });
  const auto c = n.client<int, int>("/twice", count);
  calls all{rt};
  for (int i = 0; i < count; ++i) all.make(c, i);
  for (int i = 0; i < count; ++i) expect_answer(all.end(static_cast<std::size_t>(i)), 2 * i);
  rt.quiesce();
  EXPECT_EQ(handled, count);
}

TEST_P(transport_calls, a_call_goes_to_the_server_that_is_idle) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server one{*bus, "one"}, two{*bus, "two"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  all.make(c, 1);
  ASSERT_TRUE(eventually([&] { return one.taken + two.taken == 1; }));
  gated_server& busy = one.taken == 1 ? one : two;
  gated_server& idle = one.taken == 1 ? two : one;
  idle.gate.set();
  for (int i = 2; i < 12; ++i) expect_answer(rt.run(c.call(i, 20s)), 2 * i);
  EXPECT_EQ(idle.answered, 10);
  EXPECT_EQ(busy.taken, 1);
  busy.gate.set();
  expect_answer(all.end(0), 2);
}

TEST_P(transport_calls, a_server_that_leaves_hands_its_queue_to_others) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server one{*bus, "one"}, two{*bus, "two"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  for (int i = 0; i < 6; ++i) all.make(c, i);
  ASSERT_TRUE(eventually([&] { return one.taken == 1 && two.taken == 1; }));
  one.handle.remove();
  two.gate.set();
  int lost = 0;
  for (int i = 0; i < 6; ++i) {
    const auto r = all.end(static_cast<std::size_t>(i));
    if (r.status() == call_status::lost)
      ++lost;
    else
      expect_answer(r, 2 * i);
  }
  EXPECT_EQ(lost, 1) << "what the first had taken";
  EXPECT_EQ(two.answered, 5);
}

TEST_P(transport_calls, an_idle_server_takes_over_what_waits_for_one_that_leaves) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  auto one = std::make_unique<gated_server>(*bus, "one");
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  for (int i = 0; i < 3; ++i) all.make(c, i);
  ASSERT_TRUE(eventually([&] { return one->taken == 1; }));
  rota::node two{*bus, "two"};
  two.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  one->node.stop();
  int answered = 0;
  for (std::size_t i = 0; i < 3; ++i) answered += all.end(i).status() == call_status::ok;
  EXPECT_EQ(answered, 2);
}

TEST_P(transport_calls, a_call_that_was_meant_for_a_server_that_leaves_goes_to_an_idle_one) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node one{*bus, "one"}, two{*bus, "two"}, n{*bus, "n"};
  std::atomic<int> by_one{0};
  auto leaves = one.serve<int, int>("/twice", [&](const int& i) { return ++by_one, 2 * i; });
  two.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  // The node that is asked first is busy, so its server is triggered and does not run.
  rota::async_event gate;
  std::atomic<bool> busy{false};
  one.subscribe<int>("/busy", {}, [&](int) -> task<void> {
    busy = true;
    co_await gate.wait();
  });
  n.advertise<int>("/busy").publish(1);
  ASSERT_TRUE(eventually([&] { return busy.load(); }));
  calls all{rt};
  all.make(n.client<int, int>("/twice"), 4);
  ASSERT_TRUE(eventually([&] { return calls_that_wait(*bus) == 1; }));
  std::thread remover([&] { leaves.remove(); });
  EXPECT_TRUE(eventually([&] { return all.is_done(0); }));
  gate.set();
  remover.join();
  expect_answer(all.end(0), 8);
  EXPECT_EQ(by_one, 0);
}

TEST_P(transport_calls, calls_that_wait_end_when_the_last_server_leaves) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  for (int i = 0; i < 4; ++i) all.make(c, i);
  ASSERT_TRUE(eventually([&] { return server.taken == 1; }));
  ASSERT_TRUE(eventually([&] { return calls_that_wait(*bus) == 3; }));
  server.handle.remove();
  int lost = 0;
  int left = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto r = all.end(i);
    lost += r.status() == call_status::lost;
    left += r.status() == call_status::no_responder && r.reason() == "the last server has left";
  }
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(left, 3);
}

TEST_P(transport_calls, a_call_that_was_cancelled_is_not_handled) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  all.make(c, 1);
  ASSERT_TRUE(eventually([&] { return server.taken == 1; }));
  all.make(c, 2);
  all.make(c, 3);
  ASSERT_TRUE(eventually([&] { return calls_that_wait(*bus) == 2; }));
  all.stop(1);
  EXPECT_THROW(all.end(1), rota::cancelled);
  server.gate.set();
  expect_answer(all.end(0), 2);
  expect_answer(all.end(2), 6);
  rt.quiesce();
  EXPECT_EQ(server.taken, 2);
}

TEST_P(transport_calls, calls_end_when_their_client_is_removed) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  calls all{rt};
  const auto c = n.client<int, int>("/twice");
  all.make(c, 1);
  ASSERT_TRUE(eventually([&] { return server.taken == 1; }));
  n.stop();
  const auto r = all.end(0);
  EXPECT_EQ(r.status(), call_status::cancelled);
  EXPECT_EQ(r.reason(), "the client was removed");
  server.gate.set();  // answers to nobody
  EXPECT_TRUE(eventually([&] { return server.answered == 1; }));
}

TEST_P(transport_calls, a_handler_may_call_a_service_of_its_own_node) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  n.serve<int, int>("/four_times", [c](int i) -> task<int> {
    const auto r = co_await c.call(i, 20s);
    co_return 2 * *r;
  });
  expect_answer(rt.run(n.client<int, int>("/four_times").call(5, 20s)), 20);
}

// --- bytes that cannot be read -------------------------------------------------------------------

TEST(loopback, a_request_or_reply_that_cannot_be_read_is_lost) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, "loop:"};
  rota::node n{bus, "n"};
  n.serve<nested, int>("/depth", [](const nested&) { return 1; });
  n.serve<int, nested>("/nest", [](const int& depth) { return nest(depth); });
  const auto depth = n.client<nested, int>("/depth");
  const auto unread_request = rt.run(depth.call(nest(500), 20s));
  EXPECT_EQ(unread_request.status(), call_status::lost);
  EXPECT_TRUE(contains(unread_request.reason(), "the request cannot be read: cdr: byte "))
      << unread_request.reason();
  EXPECT_TRUE(rt.run(depth.call(nest(5), 20s)));
  const auto nests = n.client<int, nested>("/nest");
  const auto unread_reply = rt.run(nests.call(500, 20s));
  EXPECT_EQ(unread_reply.status(), call_status::lost);
  EXPECT_TRUE(contains(unread_reply.reason(), "the reply cannot be read: cdr: byte "));
  EXPECT_TRUE(rt.run(nests.call(5, 20s)));
}

}  // namespace
