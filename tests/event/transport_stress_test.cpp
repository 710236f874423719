// Ends that come and go while others send. Watched: each subscriber has a run without gap or double
// of each publisher's messages, in order; every call ends, with its own answer or a reason; when
// all is over, no message is left. A hang is reported by the watchdog, a life that is too short by
// the sanitizers.

#include <rota/base/rng.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/stress.h"
#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::call_status;
using rota::task;
using rota::test::tracked;

struct parcel {
  std::uint32_t from = 0;
  std::uint32_t number = 0;
  tracked alive;
};
template <class V>
void describe(V& v, parcel& p) {
  v.type("test/parcel");
  v.field("from", p.from);
  v.field("number", p.number);
}

parcel make_parcel(std::uint32_t from, std::uint32_t number) {
  parcel p;
  p.from = from;
  p.number = number;
  return p;
}

rota::qos parcel_qos(bool reliable) {
  return rota::qos{}.with_depth(1'000'000).with_late_joiner().with_reliability(
      reliable ? rota::reliability::reliable : rota::reliability::best_effort);
}

// One of several buses, by number.
std::unique_ptr<rota::bus> parcel_bus(rota::runtime& rt, std::uint64_t number) {
  const char* const address = number % 2 ? "loop:" : "inproc:";
  auto plan = rota::fault_plan{}.with_seed(rota::test::seed() + number);
  switch (number / 2 % 4) {
    case 0:
      return std::make_unique<rota::bus>(rt, address);
    case 1:
      break;
    case 2:
      plan.with_delay(0.5, 0us, 100us);
      break;
    case 3:
      plan.with_delay(0.2, 0us, 200us).with_reorder(0.2, 100us).with_drop(0.1).with_duplicate(0.1);
  }
  return std::make_unique<rota::bus>(rt, rota::faulty(address, plan));
}

// --- topics -------------------------------------------------------------------------------------

// Sees what comes without gap, from wherever it begins.
struct parcel_watch {
  std::map<std::uint32_t, std::uint32_t> next;
  std::uint64_t wrong = 0;

  void see(const parcel& p) {
    const auto [at, is_new] = next.emplace(p.from, p.number);
    if (!is_new && at->second != p.number) ++wrong;
    at->second = p.number + 1;
  }
};

void join_and_leave(std::uint64_t round) {
  constexpr unsigned publishers = 2;
  constexpr std::uint32_t each = 200;
  rota::runtime rt{rota::test::with_workers(2)};
  const auto bus = parcel_bus(rt, round);
  const bool reliable = bus->capabilities().reliable;
  rota::node n{*bus, "n"}, m{*bus, "m"};
  parcel_watch always;
  n.subscribe<parcel>("/parcels", parcel_qos(reliable), [&](const parcel& p) { always.see(p); });
  rota::test::run_together(publishers + 1, [&](unsigned index) {
    if (index < publishers) {
      const auto out = n.advertise<parcel>("/parcels", parcel_qos(reliable));
      for (std::uint32_t i = 0; i < each; ++i) out.publish(make_parcel(index, i));
      return;
    }
    for (int i = 0; i < 20; ++i) {
      auto watch = std::make_unique<parcel_watch>();
      auto in = m.subscribe<parcel>("/parcels", parcel_qos(reliable),
                                    [w = watch.get()](const parcel& p) { w->see(p); });
      rota::test::spin(static_cast<std::uint64_t>(i) * 50);
      in.remove();
      if (reliable) {
        EXPECT_EQ(watch->wrong, 0u) << "round " << round;
      }
    }
  });
  rt.quiesce();
  if (!reliable) return;
  EXPECT_EQ(always.wrong, 0u) << "round " << round;
  for (std::uint32_t p = 0; p < publishers; ++p) EXPECT_EQ(always.next[p], each);
}

TEST(transport_stress, subscribers_come_and_go_without_gap_or_double) {
  const int before = tracked::alive;
  for (std::uint64_t i = 0; i < rota::test::rounds(120, 5'000); ++i) join_and_leave(i);
  EXPECT_EQ(tracked::alive, before);
}

// --- services -----------------------------------------------------------------------------------

struct tally {
  std::atomic<std::uint64_t> ended{0};
  std::atomic<std::uint64_t> answered{0};
};

task<void> call_often(rota::client<parcel, parcel> c, std::uint32_t from, std::uint32_t count,
                      tally& t) {
  for (std::uint32_t i = 0; i < count; ++i) {
    parcel p = make_parcel(from, i);
    const auto r = co_await c.call(std::move(p), i % 8 == 0 ? 50us : 5ms);
    if (r) {
      EXPECT_EQ(r->from, from);
      EXPECT_EQ(r->number, i + 1);
      ++t.answered;
    }
    ++t.ended;
  }
}

task<parcel> answer_later(parcel p) {
  co_await rota::suspend();
  ++p.number;
  co_return p;
}

void serve_and_leave(std::uint64_t round, tally& t) {
  constexpr std::uint32_t callers = 4;
  constexpr std::uint32_t each = 25;
  rota::runtime rt{rota::test::with_workers(2)};
  const auto bus = parcel_bus(rt, round);
  rota::node n{*bus, "n"}, m{*bus, "m"};
  m.serve<parcel, parcel>("/next", answer_later);
  const std::uint64_t before = t.ended;
  for (std::uint32_t i = 0; i < callers; ++i)
    rt.spawn(call_often(n.client<parcel, parcel>("/next"), i, each, t));
  for (int i = 0; t.ended < before + callers * each; ++i) {
    rota::node passing{*bus, "passing"};
    passing.serve<parcel, parcel>("/next", [](const parcel& p) {
      parcel next = p;
      ++next.number;
      return next;
    });
    if (i % 2) passing.serve<parcel, parcel>("/next", answer_later);
    rota::test::spin(200);
  }
}

TEST(transport_stress, every_call_ends_while_servers_come_and_go) {
  const int before = tracked::alive;
  tally t;
  const rota::test::watchdog dog{"calls end", [&] { return t.ended.load(); },
                                 [&] {
                                   std::fprintf(stderr, "%llu calls ended\n",
                                                static_cast<unsigned long long>(t.ended.load()));
                                 }};
  for (std::uint64_t i = 0; i < rota::test::rounds(80, 3'000); ++i) serve_and_leave(i, t);
  EXPECT_GT(t.answered, t.ended / 2);
  EXPECT_EQ(tracked::alive, before);
}

// --- the end ------------------------------------------------------------------------------------

// The bus ends at any moment, with messages, requests and replies on their way.
void end_at_once(rota::runtime& rt, std::uint64_t round, tally& t) {
  rota::detail::rng random{rota::test::seed() * 1'000'003 + round};
  const auto bus = parcel_bus(rt, round);
  const bool reliable = bus->capabilities().reliable;
  rota::node n{*bus, "n"}, m{*bus, "m"};
  m.subscribe<parcel>("/parcels", parcel_qos(reliable), [](const parcel&) {});
  n.subscribe<parcel>("/parcels", parcel_qos(reliable),
                      [](parcel) -> task<void> { co_await rota::suspend(); });
  m.serve<parcel, parcel>("/next", answer_later);
  const auto c = n.client<parcel, parcel>("/next");
  const auto out = n.advertise<parcel>("/parcels", parcel_qos(reliable));
  for (std::uint32_t i = 0; i < 8; ++i) {
    out.publish(make_parcel(0, i));
    if (i % 2) rt.spawn(call_often(c, i, 1, t));
  }
  rota::test::spin(random.below(3'000));
}

TEST(transport_stress, a_bus_may_end_with_anything_on_its_way) {
  const int before = tracked::alive;
  tally t;
  {
    rota::runtime rt{rota::test::with_workers(2)};
    const std::uint64_t rounds = rota::test::rounds(1'000, 50'000);
    for (std::uint64_t i = 0; i < rounds; ++i) end_at_once(rt, i, t);
    EXPECT_TRUE(rota::test::wait_for([&] { return t.ended == rounds * 4; })) << t.ended;
    EXPECT_TRUE(rota::test::wait_for([&] { return tracked::alive == before; }))
        << tracked::alive - before;
  }
  EXPECT_EQ(tracked::alive, before);
}

}  // namespace
