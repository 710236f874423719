// What every transport keeps: one suite, run over each of them. A broken promise shows as a message
// that is missing, doubled or out of order, or as a wait that does not end.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::call_status;
using rota::overflow;
using rota::task;
using rota_test::eventually;
using rota_test::with_workers;

// --- what is sent -------------------------------------------------------------------------------

struct numbered {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  std::string text;

  friend bool operator==(const numbered&, const numbered&) = default;
};
template <class V>
void describe(V& v, numbered& n) {
  v.type("test/numbered");
  v.field("from", n.from);
  v.field("number", n.number);
  v.field("text", n.text);
}

numbered make_numbered(std::uint32_t from, std::uint32_t number) {
  return numbered{from, number, std::string(number % 40, 'x')};
}

// Has no description, so it cannot leave the process; counts how often it is copied and moved.
struct undescribed {
  undescribed() = default;
  undescribed(const undescribed& o) : value(o.value) { ++copies; }
  undescribed(undescribed&& o) noexcept : value(o.value) { ++moves; }
  undescribed& operator=(const undescribed&) = default;
  ~undescribed() = default;

  int value = 0;
  void* not_for_wires = nullptr;
  static inline std::atomic<int> copies{0};
  static inline std::atomic<int> moves{0};
};

// Can be written as deep as one likes, and read to a depth of rota::max_nesting only.
struct nested {
  std::vector<nested> inner;
};
template <class V>
void describe(V& v, nested& n) {
  v.type("test/nested");
  v.field("inner", n.inner);
}

nested nest(int depth) {
  nested n;
  for (; depth > 0; --depth) {
    nested outer;
    outer.inner.push_back(std::move(n));
    n = std::move(outer);
  }
  return n;
}

// --- ways to send it ----------------------------------------------------------------------------

struct way {
  const char* name;
  const char* address;
  std::optional<rota::fault_plan> plan;

  std::unique_ptr<rota::bus> make(rota::runtime& rt) const {
    if (!plan) return std::make_unique<rota::bus>(rt, address);
    return std::make_unique<rota::bus>(rt, rota::faulty(address, *plan));
  }
  friend std::ostream& operator<<(std::ostream& out, const way& w) { return out << w.name; }
};

const way ways[] = {
    {"inproc", "inproc:", {}},
    {"loop", "loop:", {}},
    {"faultless_inproc", "inproc:", rota::fault_plan{}},
    {"faultless_loop", "loop:", rota::fault_plan{}},
    {"late", "inproc:", rota::fault_plan{}.with_delay(0.5, 0us, 300us)},
};

class transports : public ::testing::TestWithParam<way> {
 protected:
  std::unique_ptr<rota::bus> make_bus(rota::runtime& rt) const { return GetParam().make(rt); }
  bool is_late() const { return GetParam().name == std::string("late"); }
};

INSTANTIATE_TEST_SUITE_P(each, transports, ::testing::ValuesIn(ways),
                         [](const auto& at) { return std::string(at.param.name); });

rota::qos deep(std::size_t depth = 100'000) { return rota::qos{}.with_depth(depth); }

// Remembers what it was given. One handler at a time adds to it.
class journal {
 public:
  void add(const numbered& n) {
    all_.push_back({n.from, n.number});
    intact_ = intact_ && n == make_numbered(n.from, n.number);
    size_.fetch_add(1);
  }
  std::size_t size() const { return size_.load(); }

  // For who has seen the last entry.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& all() const { return all_; }
  bool is_intact() const { return intact_; }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> n;
    for (const auto& [from, number] : all_) n.push_back(number);
    return n;
  }

  // Each publisher's messages from its first to its last, in order, none left out.
  void expect_complete(std::uint32_t publishers, std::uint32_t each) const {
    std::map<std::uint32_t, std::uint32_t> next;
    for (const auto& [from, number] : all_)
      ASSERT_EQ(number, next[from]++) << "of publisher " << from;
    for (std::uint32_t p = 0; p < publishers; ++p) EXPECT_EQ(next[p], each);
    EXPECT_TRUE(intact_);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> all_;
  bool intact_ = true;
  std::atomic<std::size_t> size_{0};
};

rota::subscription record(rota::node& n, journal& to, const rota::qos& q) {
  return n.subscribe<numbered>("/numbers", q, [&to](const numbered& m) { to.add(m); });
}

std::vector<std::uint32_t> count_up(std::uint32_t from, std::uint32_t until) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = from; i < until; ++i) all.push_back(i);
  return all;
}

// The text of the std::invalid_argument that f throws.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "nothing was refused";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// --- topics -------------------------------------------------------------------------------------

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
  record(one, first, deep());
  record(two, second, deep());
  record(three, third, deep());
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
  record(one, got[0], deep());
  record(two, got[1], deep());
  record(three, got[2], deep());
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
  const auto q = deep(10'000'000).with_late_joiner();
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

// --- full queues --------------------------------------------------------------------------------

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

rota::qos blocking(std::size_t depth) { return deep(depth).with_overflow(overflow::block); }

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

// --- coming and going ---------------------------------------------------------------------------

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
    auto in = n.subscribe<numbered>("/numbers", deep(4), [&calls, &g = gone[i]](const numbered&) {
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
  in = n.subscribe<numbered>("/numbers", deep(), [&](const numbered&) {
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
    auto in = other.subscribe<numbered>("/b", deep(7), [](const numbered&) {});
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

  EXPECT_EQ(refusal([&] { n.subscribe<int>("/numbers", {}, ignore); }),
            "topic '/numbers' carries test/numbered, but node 'n' asks for int32");
  EXPECT_EQ(refusal([&] { n.advertise<int>("/numbers"); }),
            "topic '/numbers' carries test/numbered, but node 'n' asks for int32");
  n.serve<numbered, int>("/ask", [](const numbered&) { return 1; });
  const auto wrong_client = refusal([&] { n.client<numbered, numbered>("/ask"); });
  EXPECT_EQ(wrong_client,
            "service '/ask' carries test/numbered -> int32, but node 'n' asks for test/numbered -> "
            "test/numbered");
  const auto serve_ints = [&] { n.serve<int, int>("/ask", [](const int& i) { return i; }); };
  EXPECT_TRUE(contains(refusal(serve_ints), "asks for int32 -> int32"));

  EXPECT_EQ(refusal([&] { record(n, *std::make_unique<journal>(), deep(0)); }),
            "subscriber of /numbers in n: a queue of depth 0 takes no message; at least 1");
  const auto hasty = rota::qos{}.with_lifespan(-1ns);
  EXPECT_EQ(refusal([&] { n.subscribe<numbered>("/numbers", hasty, ignore); }),
            "subscriber of /numbers in n: the lifespan is negative");
  const auto overdue = rota::qos{}.with_deadline(-1ns);
  EXPECT_EQ(refusal([&] { n.advertise<numbered>("/numbers", overdue); }),
            "publisher of /numbers in n: the deadline is negative");
  EXPECT_TRUE(contains(refusal([&] { n.advertise<numbered>("/a b"); }),
                       "topic name '/a b': character 3 is none that a name may have"));
  if (!bus->capabilities().blocks) {
    EXPECT_EQ(refusal([&] { n.subscribe<numbered>("/numbers", blocking(1), ignore); }),
              "subscriber of /numbers in n: publishers cannot wait on this bus: overflow::block");
  }
  if (!bus->capabilities().in_process) {
    const auto text = refusal([&] { n.subscribe<undescribed>("/own", {}, ignore); });
    EXPECT_TRUE(contains(text, "subscriber of /own in n: messages of type ")) << text;
    EXPECT_TRUE(contains(text, "undescribed cannot leave the process; write describe() for it"))
        << text;
    EXPECT_TRUE(contains(refusal([&] { n.advertise<undescribed>("/own"); }), "cannot leave"));
    const auto own_client = refusal([&] { n.client<int, undescribed>("/own"); });
    EXPECT_TRUE(contains(own_client, "cannot leave"));
  }
  // Nothing of it has stayed.
  const rota::graph g = bus->graph();
  ASSERT_EQ(g.topics.size(), 1u);
  EXPECT_TRUE(g.topics[0].subscribers.empty());
  EXPECT_EQ(g.topics[0].publishers.size(), 1u);
  EXPECT_EQ(g.services.size(), 1u);
}

// --- services -----------------------------------------------------------------------------------

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
std::uint64_t waiting_calls(const rota::bus& bus) {
  return bus.graph().services.at(0).servers.at(0).counters.pending;
}

void expect_answer(const int_result& r, int expected) {
  ASSERT_EQ(r.status(), call_status::ok) << r.reason();
  EXPECT_EQ(*r, expected);
}

TEST_P(transports, a_call_is_answered) {
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

TEST_P(transports, a_function_gets_the_answer_to_its_call) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  rota::node n{*bus, "n"};
  n.serve<int, int>("/twice", [](const int& i) { return 2 * i; });
  std::atomic<int> got{0};
  n.client<int, int>("/twice").call(21, 20s, [&](const int_result& r) { got = r ? *r : -1; });
  EXPECT_TRUE(eventually([&] { return got == 42; })) << got;
}

TEST_P(transports, a_call_without_an_answer_ends_by_its_deadline_and_a_late_one_is_ignored) {
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

TEST_P(transports, a_call_that_nobody_can_answer_says_so) {
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

TEST_P(transports, a_call_is_lost_if_its_server_throws) {
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

TEST_P(transports, a_call_is_lost_if_its_server_leaves) {
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

TEST_P(transports, servers_of_one_name_share_the_calls_and_each_is_answered_once) {
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

TEST_P(transports, a_call_goes_to_the_server_that_is_idle) {
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

TEST_P(transports, a_server_that_leaves_hands_its_queue_to_others) {
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

TEST_P(transports, an_idle_server_takes_over_what_waits_for_one_that_leaves) {
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

TEST_P(transports, a_call_that_was_meant_for_a_server_that_leaves_goes_to_an_idle_one) {
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
  ASSERT_TRUE(eventually([&] { return waiting_calls(*bus) == 1; }));
  std::thread remover([&] { leaves.remove(); });
  EXPECT_TRUE(eventually([&] { return all.is_done(0); }));
  gate.set();
  remover.join();
  expect_answer(all.end(0), 8);
  EXPECT_EQ(by_one, 0);
}

TEST_P(transports, calls_that_wait_end_when_the_last_server_leaves) {
  rota::runtime rt{with_workers(2)};
  const auto bus = make_bus(rt);
  gated_server server{*bus, "server"};
  rota::node n{*bus, "n"};
  const auto c = n.client<int, int>("/twice");
  calls all{rt};
  for (int i = 0; i < 4; ++i) all.make(c, i);
  ASSERT_TRUE(eventually([&] { return server.taken == 1; }));
  ASSERT_TRUE(eventually([&] { return waiting_calls(*bus) == 3; }));
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

TEST_P(transports, a_call_that_was_cancelled_is_not_handled) {
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
  ASSERT_TRUE(eventually([&] { return waiting_calls(*bus) == 2; }));
  all.stop(1);
  EXPECT_THROW(all.end(1), rota::cancelled);
  server.gate.set();
  expect_answer(all.end(0), 2);
  expect_answer(all.end(2), 6);
  rt.quiesce();
  EXPECT_EQ(server.taken, 2);
}

TEST_P(transports, calls_end_when_their_client_is_removed) {
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

TEST_P(transports, a_handler_may_call_a_service_of_its_own_node) {
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

// --- bytes that cannot be read ------------------------------------------------------------------

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

// --- addresses
// ------------------------------------------------------------------------------------

TEST(transport, an_address_that_nobody_knows_is_refused_with_those_that_are_known) {
  rota::runtime rt{with_workers(1)};
  const auto text = refusal([&] { rota::bus bus{rt, "carrier_pigeon:"}; });
  EXPECT_TRUE(contains(text, "there is no transport for the bus 'carrier_pigeon:'; known are "));
  EXPECT_TRUE(contains(text, "inproc:, loop:")) << text;
  EXPECT_TRUE(contains(refusal([&] { rota::bus bus{rt, "inproc"}; }), "no transport"));
  EXPECT_TRUE(contains(refusal([&] { rota::bus b{rt, rota::faulty("none:", rota::fault_plan{})}; }),
                       "'none:'"));
}

}  // namespace
