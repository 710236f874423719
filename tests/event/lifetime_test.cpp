// Messages, functions, frames and queues end exactly once, whatever happens to their nodes. A
// broken promise shows as a count that is not zero, as memory that grows, or under
// AddressSanitizer.

#include <rota/rota.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "event/events.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::handler_options;
using rota::make_cown;
using rota::node;
using rota::qos;
using rota::task;
using rota::test::alone;
using rota::test::bus_world;
using rota::test::eventually;
using rota::test::roomy;
using rota::test::tracked;

class event_lifetime : public rota::test::on_runtimes {
 protected:
  void TearDown() override { EXPECT_EQ(tracked::alive, 0); }
};
INSTANTIATE_TEST_SUITE_P(workers, event_lifetime, ::testing::Values(0u, 1u, 2u, 4u));

struct parcel {
  tracked counted;
  int number = 0;
};

// All that a node can have, with some of it in the middle of something.
struct busy_node {
  explicit busy_node(rota::bus& bus, async_event& never) : n(bus, "n") {
    n.subscribe<parcel>("/x", roomy(), [t = tracked{}](const parcel&) {});
    n.subscribe<parcel>("/x", qos{}.with_depth(2), alone(),
                        [t = tracked{}, &never](rota::message<parcel> m) -> task<> {
                          const tracked local;
                          if (m->number % 10 == 9) co_await never.wait();
                        });
    n.subscribe<parcel>("/x", roomy(), alone(),
                        rota::on(c, [t = tracked{}](tracked&, parcel&&) {}));
    n.subscribe<parcel>("/x", qos{}.with_depth(1).with_overflow(rota::overflow::block), alone(),
                        [t = tracked{}](const parcel&) {});
    n.serve<parcel, parcel>("/ask", alone(), [t = tracked{}, &never](parcel p) -> task<parcel> {
      const tracked local;
      if (p.number % 10 == 9) co_await never.wait();
      co_return p;
    });
    n.every(50us, [t = tracked{}] {});
    out = n.advertise<parcel>("/x", qos{}.with_late_joiner());
    ask = n.client<parcel, parcel>("/ask", 2);
  }

  void work(int i) {
    parcel p;
    p.number = i;
    out.publish(p);
    if (i % 3 == 0)
      ask.call(p, i % 2 ? std::chrono::nanoseconds(10us) : std::chrono::nanoseconds(10s),
               [t = tracked{}](const rota::call_result<parcel>&) {});
  }

  rota::cown_ptr<tracked> c = make_cown<tracked>();
  rota::publisher<parcel> out;
  rota::client<parcel, parcel> ask;
  node n;
};

TEST_P(event_lifetime, everything_ends_once_when_a_node_ends) {
  for (int round = 0; round < 10; ++round) {
    async_event never;
    bus_world w{options()};
    busy_node b{w.bus, never};
    for (int i = 0; i < 60; ++i) b.work(i);
    if (round % 2) std::this_thread::sleep_for(500us);
  }
}

TEST_P(event_lifetime, everything_ends_once_when_a_task_waits_that_owns_all_of_it) {
  for (int round = 0; round < 6; ++round) {
    async_event never;
    std::atomic<bool> waits{false};
    rota::runtime rt{options()};
    const auto program = [&]() -> task<> {
      rota::bus bus{rt};
      busy_node b{bus, never};
      for (int i = 0; i < 60; ++i) b.work(i);
      waits = true;
      co_await never.wait();
    };
    rt.spawn(program()).detach();
    EXPECT_TRUE(eventually([&] { return waits.load(); }));
  }
}

TEST_P(event_lifetime, what_waits_ends_when_a_handler_is_removed) {
  bus_world w{options()};
  node n{w.bus, "n", rota::hold};
  auto in = n.subscribe<parcel>("/x", qos{}.with_depth(3).with_overflow(rota::overflow::block),
                                [](const parcel&) {});
  auto out = n.advertise<parcel>("/x");
  const auto one = [&]() -> task<> {
    parcel p;
    co_await out.publish(std::move(p));
  };
  const auto program = [&]() -> task<> {
    rota::task_group g;
    for (int i = 0; i < 10; ++i) g.spawn(one());
    for (int k = 0; k < 50; ++k) co_await rota::suspend();
    in.remove();
    co_await g.join();
  };
  w.rt.run(program());
  EXPECT_EQ(tracked::alive, 0) << "although the handle is still there";
}

TEST_P(event_lifetime, a_message_ends_with_the_last_who_has_it) {
  rota::message<parcel> kept;
  bus_world w{options()};
  {
    std::atomic<int> got{0};
    node n{w.bus, "n"};
    n.subscribe<parcel>("/x", roomy(), [&](rota::message<parcel> m) {
      kept = std::move(m);
      ++got;
    });
    n.subscribe<parcel>("/x", roomy(), [&](const parcel&) { ++got; });
    n.advertise<parcel>("/x").publish(parcel{});
    EXPECT_TRUE(eventually([&] { return got == 2; }));
  }
  EXPECT_EQ(tracked::alive, 1);
  kept = {};
  EXPECT_EQ(tracked::alive, 0);
}

// A node that adds and removes handlers for ever does not grow.
TEST_P(event_lifetime, handlers_that_come_and_go_leave_nothing) {
  bus_world w{options()};
  node n{w.bus, "n"};
  for (int i = 0; i < 1000; ++i)
    n.subscribe<int>("/x", {}, [t = tracked{}](const int&) {}).remove();
  EXPECT_LE(tracked::alive, 130);
}

#if !defined(ROTA_ASAN) && !defined(ROTA_TSAN)  // LeakSanitizer sees it, and brings its own heap
std::uint64_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_P(event_lifetime, nothing_is_left_in_memory) {
  const auto round = [&] {
    async_event never;
    bus_world w{options()};
    busy_node b{w.bus, never};
    for (int i = 0; i < 60; ++i) b.work(i);
  };
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t before = heap_in_use();
  for (int i = 0; i < 100; ++i) round();
  // The handlers of a node are some 3 KiB. How much is kept for reuse, in chunks of 64 KiB, depends
  // on who was how fast.
  EXPECT_LT(heap_in_use(), before + 192 * 1024);
}
#endif

}  // namespace
