// What every transport keeps of messages: one suite, run over each of them. A broken promise shows
// as a message that is missing, doubled or out of order, or as a wait that does not end.

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
using rota::overflow;
using rota::task;
using rota::test::contains;
using rota::test::count_up;
using rota::test::error_of;
using rota::test::eventually;
using rota::test::journal;
using rota::test::make_numbered;
using rota::test::nest;
using rota::test::nested;
using rota::test::numbered;
using rota::test::record;
using rota::test::roomy;
using rota::test::undescribed;
using rota::test::with_workers;

class transports : public rota::test::on_transports {};
INSTANTIATE_TEST_SUITE_P(each, transports, ::testing::ValuesIn(rota::test::ways),
                         [](const auto& at) { return std::string(at.param.name); });

// --- topics --------------------------------------------------------------------------------------

task<void> publish_all(rota::publisher<numbered> to, std::uint32_t from, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    to.publish(make_numbered(from, i));
    if (i % 16 == 0) co_await rota::suspend();
  }
}

TEST_P(transports, subscribers_get_the_same_order_and_lose_nothing) {
  constexpr std::uint32_t publishers = 3;
  constexpr std::uint32_t each = 300;
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  journal first, second, third;
  rota::node one{*bus, "one"}, two{*bus, "two"}, three{*bus, "three"}, source{*bus, "source"};
  record(one, first, roomy());
  record(two, second, roomy());
  record(three, third, roomy());
  for (std::uint32_t p = 0; p < publishers; ++p)
    rt.spawn(publish_all(source.advertise<numbered>("/numbers"), p, each));
  for (const journal* j : {&first, &second, &third}) {
    ASSERT_TRUE(eventually([&] { return j->size() >= publishers * each; })) << j->size();
    j->expect_complete(publishers, each);
  }
  rt.quiesce();
  EXPECT_EQ(first.size(), publishers * each) << "some came twice";
  EXPECT_EQ(first.all(), second.all());
  EXPECT_EQ(first.all(), third.all());
}

TEST_P(transports, ten_thousand_messages_arrive) {
  constexpr std::uint32_t publishers = 4;
  constexpr std::uint32_t each = 2'500;
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  journal got[3];
  rota::node one{*bus, "one"}, two{*bus, "two"}, three{*bus, "three"}, source{*bus, "source"};
  record(one, got[0], roomy());
  record(two, got[1], roomy());
  record(three, got[2], roomy());
  for (std::uint32_t p = 0; p < publishers; ++p)
    rt.spawn(publish_all(source.advertise<numbered>("/numbers"), p, each));
  for (const journal& j : got) {
    ASSERT_TRUE(eventually([&] { return j.size() == publishers * each; })) << j.size();
    j.expect_complete(publishers, each);
  }
  EXPECT_EQ(got[0].all(), got[1].all());
  EXPECT_EQ(got[0].all(), got[2].all());
}

TEST_P(transports, a_message_is_shared_within_the_process_and_made_anew_behind_a_wire) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node one{*bus, "one"}, two{*bus, "two"};
  rota::message<numbered> kept[2];  // so that no address is used twice
  std::atomic<const numbered*> seen[2] = {};
  one.subscribe<numbered>("/numbers", {}, [&](rota::message<numbered> m) {
    kept[0] = std::move(m);
    seen[0] = &*kept[0];
  });
  two.subscribe<numbered>("/numbers", {}, [&](rota::message<numbered> m) {
    kept[1] = std::move(m);
    seen[1] = &*kept[1];
  });
  const auto out = one.advertise<numbered>("/numbers");
  auto m = out.loan();
  m->text = "once";
  const numbered* const made = &*m;
  out.publish(std::move(m));
  ASSERT_TRUE(eventually([&] { return seen[0].load() && seen[1].load(); }));
  if (bus->capabilities().in_process) {
    EXPECT_EQ(seen[0], made);
    EXPECT_EQ(seen[1], made);
  } else {
    EXPECT_NE(seen[0], seen[1]);
  }
  EXPECT_EQ(kept[0]->text, "once");
  EXPECT_EQ(kept[1]->text, "once");
}

// In a task of the only worker, so that the publisher has let go before the handler runs.
task<void> publish_five(rota::publisher<undescribed> out) {
  auto m = out.loan();
  m->value = 5;
  out.publish(std::move(m));
  co_return;
}

TEST_P(transports, a_message_is_moved_to_its_only_owner_and_copied_for_others) {
  rota::runtime rt{with_workers(1)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  if (!bus->capabilities().in_process) {  // nothing is shared over a wire
    EXPECT_THROW(n.advertise<undescribed>("/one"), std::invalid_argument);
    return;
  }
  std::atomic<int> sum{0};
  n.subscribe<undescribed>("/one", {}, [&](undescribed&& u) { sum += u.value; });
  const auto out = n.advertise<undescribed>("/one");
  undescribed::copies = undescribed::moves = 0;
  rt.run(publish_five(out));
  ASSERT_TRUE(eventually([&] { return sum == 5; }));
  EXPECT_EQ(undescribed::copies, 0);
  EXPECT_EQ(undescribed::moves, 1);

  rota::message<undescribed> kept;
  n.subscribe<undescribed>("/two", {}, [&](rota::message<undescribed> u) { kept = std::move(u); });
  n.subscribe<undescribed>("/two", {}, [&](undescribed&& u) { sum += u.value; });
  n.advertise<undescribed>("/two").publish(undescribed{});
  rt.quiesce();
  EXPECT_EQ(undescribed::copies, 1) << "who keeps it must not lose it to who moves it out";
}

TEST_P(transports, a_late_joiner_gets_the_last_message_once) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"}, later{*bus, "later"};
  const auto keeps = rota::qos{}.with_late_joiner();
  const auto out = n.advertise<numbered>("/numbers", keeps);
  for (std::uint32_t i = 0; i < 3; ++i) out.publish(make_numbered(0, i));
  journal late, ordinary;
  record(later, late, keeps);
  record(n, ordinary, {});
  ASSERT_TRUE(eventually([&] { return late.size() == 1; }));
  out.publish(make_numbered(0, 3));
  ASSERT_TRUE(eventually([&] { return late.size() == 2 && ordinary.size() == 1; }));
  rt.quiesce();
  EXPECT_EQ(late.numbers(), count_up(2, 4));
  EXPECT_EQ(ordinary.numbers(), count_up(3, 4)) << "who did not ask for it";
}

TEST_P(transports, who_joins_during_publishing_has_neither_gap_nor_double) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"}, source{*bus, "source"};
  const auto q = roomy(10'000'000).with_late_joiner();
  const auto out = source.advertise<numbered>("/numbers", q);
  out.publish(make_numbered(0, 0));
  std::vector<std::unique_ptr<journal>> journals;
  std::atomic<std::uint32_t> count{1};
  std::atomic<bool> all_joined{false};
  std::thread publisher([&] {
    for (; !all_joined; ++count) {
      out.publish(make_numbered(0, count));
      if (count % 100 == 0) std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20; ++i) {
    const std::uint32_t before = count;
    journals.push_back(std::make_unique<journal>());
    record(n, *journals.back(), q);
    EXPECT_TRUE(eventually([&] { return count >= before + 10; }));
  }
  all_joined = true;
  publisher.join();
  rt.quiesce();
  for (const auto& j : journals) {
    ASSERT_GT(j->size(), 0u);
    EXPECT_EQ(j->numbers(), count_up(j->numbers().front(), count));
  }
}

// --- full queues ---------------------------------------------------------------------------------

struct overflowing {
  rota::overflow policy;
  std::vector<std::uint32_t> kept;
};

TEST_P(transports, a_full_queue_does_what_its_overflow_says_and_counts) {
  const overflowing cases[] = {{overflow::drop_oldest, {2, 3, 4}},
                               {overflow::drop_newest, {0, 1, 2}},
                               {overflow::fail, {0, 1, 2}}};
  rota::runtime rt{with_workers(2)};
  for (const overflowing& c : cases) {
    const auto bus = make_bus(rt);
    rota::node n{*bus, "n", rota::hold};
    journal got;
    std::uint64_t told = 0;
    const auto in =
        n.subscribe<numbered>("/numbers", rota::qos{}.with_depth(3).with_overflow(c.policy),
                              rota::handler_options{}.with_on_event(
                                  [&](const rota::handler_event& e) { told += e.dropped; }),
                              [&](const numbered& m) { got.add(m); });
    const auto out = n.advertise<numbered>("/numbers");
    std::size_t refused = 0;
    for (std::uint32_t i = 0; i < 5; ++i) refused += out.publish(make_numbered(0, i)).refused();
    rt.quiesce();  // what is late has come
    EXPECT_EQ(in.counters().pending, 3u);
    EXPECT_EQ(in.counters().dropped, 2u);
    if (!is_late()) {
      EXPECT_EQ(refused, c.policy == overflow::fail ? 2u : 0u);
    }
    n.start();
    ASSERT_TRUE(eventually([&] { return got.size() == 3; }));
    rt.quiesce();
    EXPECT_EQ(got.numbers(), c.kept);
    EXPECT_EQ(told, 2u);
    EXPECT_EQ(in.counters().events, 3u);
    EXPECT_EQ(in.counters().pending, 0u);
  }
}

rota::qos blocking(std::size_t depth) { return roomy(depth).with_overflow(overflow::block); }

task<void> publish_one(rota::publisher<numbered> to, std::uint32_t number, std::atomic<int>& done) {
  numbered m = make_numbered(0, number);
  co_await to.publish(std::move(m));
  done.fetch_add(1);
}

// Where publishers cannot wait, who asks for it is told so.
bool refuses_to_wait(rota::bus& bus) {
  if (bus.capabilities().blocks) return false;
  rota::node n{bus, "n"};
  EXPECT_THROW(n.subscribe<numbered>("/numbers", blocking(1), [](const numbered&) {}),
               std::invalid_argument);
  return true;
}

TEST_P(transports, publishers_wait_for_room_first_come_first_served) {
  rota::runtime rt{with_workers(1)};  // so that they come in the order in which they are spawned
  const auto bus = make_bus(rt);
  if (refuses_to_wait(*bus)) return;
  rota::node n{*bus, "n", rota::hold};
  journal got, other;
  record(n, got, blocking(2));
  const auto out = n.advertise<numbered>("/numbers");
  std::atomic<int> done{0};
  for (std::uint32_t i = 0; i < 10; ++i) rt.spawn(publish_one(out, i, done));
  rt.quiesce();
  EXPECT_EQ(done, 2) << "there is room for two";
  EXPECT_EQ(out.publish(make_numbered(0, 99)).refused(), 1u) << "who does not wait is told";
  n.start();
  ASSERT_TRUE(eventually([&] { return done == 10 && got.size() == 10; }));
  rt.quiesce();
  EXPECT_EQ(got.numbers(), count_up(0, 10));
  EXPECT_TRUE(got.is_intact());
}

TEST_P(transports, a_publisher_that_stops_waiting_holds_up_nobody) {
  rota::runtime rt{with_workers(1)};
  const auto bus = make_bus(rt);
  if (refuses_to_wait(*bus)) return;
  rota::node n{*bus, "n", rota::hold};
  journal got;
  record(n, got, blocking(1));
  const auto out = n.advertise<numbered>("/numbers");
  std::atomic<int> done{0};
  rt.spawn(publish_one(out, 0, done));
  auto impatient = rt.spawn(publish_one(out, 1, done));
  rt.spawn(publish_one(out, 2, done));
  rt.quiesce();
  impatient.request_stop();
  n.start();
  ASSERT_TRUE(eventually([&] { return got.size() == 2; }));
  rt.quiesce();
  EXPECT_EQ(got.numbers(), (std::vector<std::uint32_t>{0, 2}));
}

task<void> publish_waiting(rota::publisher<numbered> to, std::uint32_t from, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    numbered m = make_numbered(from, i);
    co_await to.publish(std::move(m));
  }
}

TEST_P(transports, nothing_is_lost_where_publishers_wait) {
  constexpr std::uint32_t publishers = 4;
  constexpr std::uint32_t each = 400;
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  if (refuses_to_wait(*bus)) return;
  rota::node n{*bus, "n"}, slow{*bus, "slow"};
  journal quick, careful;
  record(n, quick, blocking(3));
  slow.subscribe<numbered>("/numbers", blocking(2), [&](numbered m) -> task<void> {
    co_await rota::suspend();
    careful.add(m);
  });
  for (std::uint32_t p = 0; p < publishers; ++p)
    rt.spawn(publish_waiting(n.advertise<numbered>("/numbers"), p, each));
  ASSERT_TRUE(eventually([&] {
    return quick.size() == publishers * each && careful.size() == publishers * each;
  })) << quick.size()
      << " " << careful.size();
  rt.quiesce();
  quick.expect_complete(publishers, each);
  careful.expect_complete(publishers, each);
}

// --- coming and going ----------------------------------------------------------------------------

TEST_P(transports, a_subscriber_that_was_removed_is_not_called_any_more) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"}, source{*bus, "source"};
  const auto out = source.advertise<numbered>("/numbers");
  std::atomic<bool> ends{false};
  std::thread publisher([&] {
    for (std::uint32_t i = 0; !ends; ++i) {
      out.publish(make_numbered(0, i));
      if (i % 8 == 0) std::this_thread::yield();
    }
  });
  std::atomic<bool> gone[200] = {};
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> calls{0};
    auto in = n.subscribe<numbered>("/numbers", roomy(4), [&calls, &g = gone[i]](const numbered&) {
      ++calls;
      for (int steps = 0; steps < 3; ++steps) {
        EXPECT_FALSE(g);
        std::this_thread::yield();
      }
    });
    if (i % 4 == 0) {
      EXPECT_TRUE(eventually([&] { return calls > 0; }));
    }
    in.remove();
    gone[i] = true;
  }
  ends = true;
  publisher.join();
}

TEST_P(transports, a_subscriber_may_remove_itself) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n", rota::hold};
  rota::subscription in;
  std::atomic<int> calls{0};
  in = n.subscribe<numbered>("/numbers", roomy(), [&](const numbered&) {
    ++calls;
    in.remove();
  });
  n.start();
  const auto out = n.advertise<numbered>("/numbers");
  for (std::uint32_t i = 0; i < 20; ++i) out.publish(make_numbered(0, i));
  ASSERT_TRUE(eventually([&] { return calls == 1; }));
  rt.quiesce();
  EXPECT_LE(calls, 16) << "at most what the run had taken";
  EXPECT_TRUE(bus->graph().topics.at(0).subscribers.empty());
}

TEST_P(transports, ends_may_outlive_their_node_and_the_bus) {
  rota::publisher<numbered> out;
  rota::client<numbered, numbered> asks;
  rota::subscription in;
  rota::server answers;
  rota::registration timer;
  rota::message<numbered> kept;
  {
    rota::runtime rt{with_workers(2)};
    auto bus = make_bus(rt);
    {
      rota::node n{*bus, "n"};
      out = n.advertise<numbered>("/numbers");
      in = n.subscribe<numbered>("/numbers", {},
                                 [&](rota::message<numbered> m) { kept = std::move(m); });
      answers = n.serve<numbered, numbered>("/same", [](const numbered& m) { return m; });
      asks = n.client<numbered, numbered>("/same");
      timer = n.every(1h, [] {});
      out.publish(make_numbered(0, 30));
      ASSERT_TRUE(eventually([&] { return in.counters().events == 1; }));
    }
    EXPECT_EQ(out.publish(make_numbered(0, 31)).taken(), 0u);
    EXPECT_EQ(rt.run(asks.call(make_numbered(0, 0), 1s)).status(), call_status::cancelled);
    bus.reset();
    EXPECT_EQ(out.publish(make_numbered(0, 32)).taken(), 0u);
    EXPECT_EQ(rt.run(asks.call(make_numbered(0, 0), 1s)).status(), call_status::cancelled);
  }
  EXPECT_EQ(in.counters().events, 1u);
  EXPECT_EQ(answers.counters().events, 0u);
  EXPECT_EQ(timer.counters().events, 0u);
  in.remove();
  answers.remove();
  timer.remove();
  EXPECT_EQ(kept->number, 30u);
}

TEST_P(transports, the_graph_shows_what_is_there_and_forgets_what_has_gone) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  EXPECT_TRUE(bus->graph().topics.empty());
  {
    auto out = n.advertise<numbered>("/b");
    rota::node other{*bus, "other"};
    auto in = other.subscribe<numbered>("/b", roomy(7), [](const numbered&) {});
    other.subscribe<numbered>("/a", {}, [](const numbered&) {});
    other.serve<numbered, std::uint32_t>("/size", [](const numbered& m) { return m.number; });
    auto asks = n.client<numbered, std::uint32_t>("/size");
    out.publish(make_numbered(0, 1));
    ASSERT_TRUE(eventually([&] { return in.counters().events == 1; }));

    const rota::graph g = bus->graph();
    ASSERT_EQ(g.topics.size(), 2u);
    EXPECT_EQ(g.topics[0].name, "/a");
    EXPECT_EQ(g.topics[1].name, "/b");
    EXPECT_EQ(g.topics[1].type, "test/numbered");
    ASSERT_EQ(g.topics[1].publishers.size(), 1u);
    EXPECT_EQ(g.topics[1].publishers[0].node, "n");
    EXPECT_EQ(g.topics[1].publishers[0].counters.events, 1u);
    ASSERT_EQ(g.topics[1].subscribers.size(), 1u);
    EXPECT_EQ(g.topics[1].subscribers[0].node, "other");
    EXPECT_EQ(g.topics[1].subscribers[0].depth, 7u);
    EXPECT_EQ(g.topics[1].subscribers[0].counters.events, 1u);
    ASSERT_EQ(g.services.size(), 1u);
    EXPECT_EQ(g.services[0].name, "/size");
    EXPECT_EQ(g.services[0].request, "test/numbered");
    EXPECT_EQ(g.services[0].reply, "uint32");
    ASSERT_EQ(g.services[0].servers.size(), 1u);
    EXPECT_EQ(g.services[0].servers[0].node, "other");
    ASSERT_EQ(g.services[0].clients.size(), 1u);
    EXPECT_EQ(g.services[0].clients[0].node, "n");
    in.remove();
    EXPECT_TRUE(bus->graph().topics.at(1).subscribers.empty());
  }
  const rota::graph g = bus->graph();
  EXPECT_TRUE(g.topics.empty());
  ASSERT_EQ(g.services.size(), 1u) << "the node that calls it is still there";
  EXPECT_TRUE(g.services[0].servers.empty());
  n.stop();
  EXPECT_TRUE(bus->graph().services.empty());
}

TEST_P(transports, what_cannot_be_is_refused_with_a_reason) {
  rota::runtime rt{with_workers(1)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  const auto ignore = [](const auto&) {};
  const auto out = n.advertise<numbered>("/numbers");

  EXPECT_EQ(error_of([&] { n.subscribe<int>("/numbers", {}, ignore); }),
            "topic '/numbers' carries test/numbered, but node 'n' asks for int32");
  EXPECT_EQ(error_of([&] { n.advertise<int>("/numbers"); }),
            "topic '/numbers' carries test/numbered, but node 'n' asks for int32");
  n.serve<numbered, int>("/ask", [](const numbered&) { return 1; });
  const auto wrong_client = error_of([&] { n.client<numbered, numbered>("/ask"); });
  EXPECT_EQ(wrong_client,
            "service '/ask' carries test/numbered -> int32, but node 'n' asks for test/numbered -> "
            "test/numbered");
  const auto serve_ints = [&] { n.serve<int, int>("/ask", [](const int& i) { return i; }); };
  EXPECT_TRUE(contains(error_of(serve_ints), "asks for int32 -> int32"));

  EXPECT_EQ(error_of([&] { record(n, *std::make_unique<journal>(), roomy(0)); }),
            "subscriber of /numbers in n: a queue of depth 0 takes no message; at least 1");
  const auto hasty = rota::qos{}.with_lifespan(-1ns);
  EXPECT_EQ(error_of([&] { n.subscribe<numbered>("/numbers", hasty, ignore); }),
            "subscriber of /numbers in n: the lifespan is negative");
  const auto overdue = rota::qos{}.with_deadline(-1ns);
  EXPECT_EQ(error_of([&] { n.advertise<numbered>("/numbers", overdue); }),
            "publisher of /numbers in n: the deadline is negative");
  EXPECT_TRUE(contains(error_of([&] { n.advertise<numbered>("/a b"); }),
                       "topic name '/a b': character 3 is none that a name may have"));
  if (!bus->capabilities().blocks) {
    EXPECT_EQ(error_of([&] { n.subscribe<numbered>("/numbers", blocking(1), ignore); }),
              "subscriber of /numbers in n: publishers cannot wait on this bus: overflow::block");
  }
  if (!bus->capabilities().in_process) {
    const auto text = error_of([&] { n.subscribe<undescribed>("/own", {}, ignore); });
    EXPECT_TRUE(contains(text, "subscriber of /own in n: messages of type ")) << text;
    EXPECT_TRUE(contains(text, "undescribed cannot leave the process; write describe() for it"))
        << text;
    EXPECT_TRUE(contains(error_of([&] { n.advertise<undescribed>("/own"); }), "cannot leave"));
    const auto own_client = error_of([&] { n.client<int, undescribed>("/own"); });
    EXPECT_TRUE(contains(own_client, "cannot leave"));
  }
  // Nothing of it has stayed.
  const rota::graph g = bus->graph();
  ASSERT_EQ(g.topics.size(), 1u);
  EXPECT_TRUE(g.topics[0].subscribers.empty());
  EXPECT_EQ(g.topics[0].publishers.size(), 1u);
  EXPECT_EQ(g.services.size(), 1u);
}

// --- bytes that cannot be read -------------------------------------------------------------------

TEST(loopback, what_cannot_be_read_counts_as_dropped_and_is_told) {
  rota::runtime rt{with_workers(2)};
  rota::bus bus{rt, "loop:"};
  rota::node n{bus, "n"};
  std::atomic<int> got{0};
  std::atomic<std::uint64_t> told{0};
  const auto in = n.subscribe<nested>("/nested", {},
                                      rota::handler_options{}.with_on_event(
                                          [&](const rota::handler_event& e) { told += e.dropped; }),
                                      [&](const nested&) { ++got; });
  const auto out = n.advertise<nested>("/nested");
  EXPECT_EQ(out.publish(nest(3)).taken(), 1u);
  EXPECT_TRUE(eventually([&] { return got == 1; }));
  rt.quiesce();
  EXPECT_EQ(out.publish(nest(500)).taken(), 0u);
  EXPECT_TRUE(eventually([&] { return told == 1; })) << "without a message that can be read";
  EXPECT_EQ(out.publish(nest(3)).taken(), 1u);
  EXPECT_TRUE(eventually([&] { return got == 2; }));
  EXPECT_EQ(in.counters().dropped, 1u);
}

// --- addresses -----------------------------------------------------------------------------------

TEST(transport, an_address_that_nobody_knows_is_refused_with_those_that_are_known) {
  rota::runtime rt{with_workers(1)};
  const auto text = error_of([&] { rota::bus bus{rt, "carrier_pigeon:"}; });
  EXPECT_TRUE(contains(text, "there is no transport for the bus 'carrier_pigeon:'; known are "));
  EXPECT_TRUE(contains(text, "inproc:, loop:")) << text;
  EXPECT_TRUE(contains(error_of([&] { rota::bus bus{rt, "inproc"}; }), "no transport"));
  EXPECT_TRUE(contains(
      error_of([&] { rota::bus b{rt, rota::faulty("none:", rota::fault_plan{})}; }), "'none:'"));
}

}  // namespace
