// What ends last: handles beyond their node and bus, handlers that remove themselves, calls that
// wait while a node drains or were never sent. A broken promise shows under AddressSanitizer, as a
// crash, or as a call that ends otherwise.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::test::eventually;
using rota::test::with_workers;

TEST(event_ends, a_handle_may_outlive_node_bus_and_runtime) {
  rota::subscription in;
  rota::server served;
  rota::registration timer;
  {
    rota::runtime rt{with_workers(2)};
    rota::bus bus{rt};
    rota::node n{bus, "n"};
    in = n.subscribe<int>("/numbers", {}, [](const int&) {});
    served = n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
    timer = n.every(1h, [] {});
  }
  EXPECT_EQ(in.counters().events, 0u);
  EXPECT_EQ(served.counters().events, 0u);
  EXPECT_EQ(timer.counters().events, 0u);
  in.remove();
  served.remove();
  timer.remove();
}

// The task of a run ends after it has told the node that the run has ended.
TEST(event_ends, a_coroutine_may_end_after_its_bus) {
  rota::runtime rt{with_workers(2)};
  for (int i = 0; i < 300; ++i) {
    rota::bus bus{rt};
    rota::node n{bus, "n"};
    std::atomic<bool> began{false};
    n.serve<int, int>("/twice", [&](int x) -> rota::task<int> {
      began = true;
      co_await rota::suspend();
      co_return 2 * x;
    });
    n.client<int, int>("/twice").call(1, 20s, [](const auto&) {});
    while (!began) std::this_thread::yield();
  }
}

// A handler that removed itself is waited for as long as it runs, however many came after it.
TEST(event_ends, a_node_waits_for_a_handler_that_removed_itself) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt};
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  {
    rota::node n{bus, "n", rota::hold};
    rota::subscription in;
    in = n.subscribe<int>("/numbers", {}, [&](const int&) {
      in.remove();
      began = true;
      std::this_thread::sleep_for(50ms);
      ended = true;
    });
    n.start();
    n.advertise<int>("/numbers").publish(1);
    ASSERT_TRUE(eventually([&] { return began.load(); }));
    for (int i = 0; i < 200; ++i) n.subscribe<int>("/others", {}, [](const int&) {});
  }
  EXPECT_TRUE(ended);
}

// "Handles what is there" is also for those who have called.
TEST(event_ends, a_node_that_drains_answers_the_calls_that_wait) {
  rota::runtime rt{with_workers(2)};
  for (const char* address : {"inproc:", "loop:"}) {
    rota::bus bus{rt, address};
    rota::node server{bus, "server"}, n{bus, "n"};
    rota::async_event gate;
    std::atomic<int> handled{0};
    server.serve<int, int>("/twice", [&](int i) -> rota::task<int> {
      ++handled;
      co_await gate.wait();
      co_return 2 * i;
    });
    const auto c = n.client<int, int>("/twice");
    std::atomic<int> answered{0};
    for (int i = 0; i < 5; ++i) c.call(i, 20s, [&](const auto& r) { answered += r ? 1 : 100; });
    ASSERT_TRUE(eventually([&] { return handled == 1; }));
    ASSERT_TRUE(
        eventually([&] { return bus.graph().services.at(0).servers.at(0).counters.pending == 4; }));
    auto drained = rt.spawn(server.drain());
    ASSERT_TRUE(eventually([&] { return server.phase() != rota::node_phase::running; }));
    ASSERT_TRUE(eventually([&] { return bus.graph().services.at(0).servers.empty(); }));
    const auto late = rt.run(c.call(9, 20s));
    EXPECT_EQ(late.status(), rota::call_status::no_responder) << "nothing new is taken";
    gate.set();
    EXPECT_TRUE(eventually([&] { return answered == 5; })) << answered;
    EXPECT_TRUE(eventually([&] { return drained.done(); }));
    EXPECT_EQ(server.phase(), rota::node_phase::stopped);
  }
}

TEST(event_ends, a_node_that_drains_hands_calls_to_other_servers) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt};
  rota::node server{bus, "server"}, other{bus, "other"}, n{bus, "n"};
  rota::async_event gate;
  std::atomic<int> handled{0};
  server.serve<int, int>("/twice", [&](int i) -> rota::task<int> {
    ++handled;
    co_await gate.wait();
    co_return 2 * i;
  });
  const auto c = n.client<int, int>("/twice");
  std::atomic<int> answered{0};
  for (int i = 0; i < 5; ++i) c.call(i, 20s, [&](const auto& r) { answered += r ? 1 : 100; });
  ASSERT_TRUE(eventually([&] { return handled == 1; }));
  other.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  auto drained = rt.spawn(server.drain());
  EXPECT_TRUE(eventually([&] { return answered == 4; })) << answered;
  gate.set();
  EXPECT_TRUE(eventually([&] { return answered == 5 && drained.done(); }));
  EXPECT_EQ(handled, 1);
}

// As inproc:, but calls are beyond it.
class no_calls : public rota::transport {
 public:
  explicit no_calls(std::unique_ptr<rota::transport> way) : way_(std::move(way)) {}
  std::unique_ptr<rota::writer> advertise(const rota::endpoint& e) override {
    return way_->advertise(e);
  }
  std::unique_ptr<rota::reader> subscribe(const rota::endpoint& e,
                                          rota::detail::message_sink& sink) override {
    return way_->subscribe(e, sink);
  }
  std::unique_ptr<rota::served> serve(const rota::endpoint& e, rota::detail::request_sink& sink,
                                      bool held) override {
    return way_->serve(e, sink, held);
  }
  std::unique_ptr<rota::reader> connect(const rota::endpoint& e) override {
    return way_->connect(e);
  }
  void call(const rota::endpoint&, const rota::detail::call_ref&) override {
    throw std::runtime_error("the socket is closed");
  }
  void cancel(const rota::endpoint&, const rota::detail::call_ref&) override {}
  rota::transport_capabilities capabilities() const override { return way_->capabilities(); }
  rota::graph graph() const override { return way_->graph(); }

 private:
  std::unique_ptr<rota::transport> way_;
};

TEST(event_ends, one_that_throws_ends_its_calls_and_nothing_else) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, [](rota::detail::executor& home) {
                  return std::make_unique<no_calls>(rota::make_transport(home, "inproc:"));
                }};
  rota::node n{bus, "n"};
  const auto c =
      n.client<int, int>("/twice", 1);  // so that the second call is started by the first
  std::atomic<int> lost{0};
  for (int i = 0; i < 2; ++i) {
    c.call(i, 20s, [&](const rota::call_result<int>& r) {
      EXPECT_EQ(r.status(), rota::call_status::lost);
      EXPECT_EQ(r.reason(), "the request was not sent: the socket is closed");
      ++lost;
    });
  }
  EXPECT_TRUE(eventually([&] { return lost == 2; }));
}

}  // namespace
