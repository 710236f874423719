// Whole programs with nodes on virtual workers and in virtual time, under a few hundred seeds each.
// A broken promise shows as a check that fails, a hang or a leak, with the seed that repeats it.

#include <rota/rota.h>
#include <rota/verify/explore/sim.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/tasks.h"

namespace {

namespace sim = rota::sim;
using namespace std::chrono_literals;
using rota::call_status;
using rota::handler_options;
using rota::node;
using rota::qos;
using rota::task;

rota::options event_workers(unsigned count) { return rota::options{}.with_workers(count); }

// Workers nap for some milliseconds, and time passes when all do.
constexpr auto a_moment = 100ms;

// With ROTA_LONG_TESTS a hundred times as many seeds.
void passes(std::uint64_t seeds, const std::function<void()>& program, const sim::options& o = {}) {
  if (rota::test::long_tests()) seeds *= 100;
  const sim::result r = sim::explore(seeds, program, o);
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.seeds, seeds);
}

// A program of one task that has a bus, on two workers.
template <class Program>
std::function<void()> on_a_bus(Program program, unsigned workers = 2) {
  return [program, workers] {
    rota::runtime rt{event_workers(workers)};
    rota::bus bus{rt};
    rt.run(program(bus));
    const auto s = bus.statistics();
    sim::check(s.max_passed <= s.bound, "nobody is passed too often");
  };
}

// Also on a machine that holds threads up: for programs that no deadline ends.
void passes_with_stalls(std::uint64_t seeds, const std::function<void()>& program) {
  passes(seeds, program);
  sim::options o;
  o.first_seed = 1'000'000;
  o.stalls = 3;
  passes(seeds, program, o);
}

// --- timers -------------------------------------------------------------------------------------

TEST(event_sim, a_timer_fires_on_its_grid_for_hours) {
  const auto program = [](rota::bus& bus) -> task<> {
    node n{bus, "n"};
    const auto begin = sim::now();
    int count = 0;
    auto t = n.every(10s, [&](const rota::firing& f) {
      ++count;
      sim::check(f.missed == 0, "none is missed");
      const auto at = sim::now() - begin;
      sim::check(at >= count * 10s && at < count * 10s + a_moment, "it comes in time");
    });
    co_await rota::sleep_for(3605s);
    t.remove();
    sim::check(count == 360, "one every ten seconds");
    co_await rota::sleep_for(60s);
    sim::check(count == 360, "none after it was removed");
  };
  passes(50, on_a_bus(program));
}

TEST(event_sim, a_slow_timer_misses_firings_and_keeps_its_phase) {
  const auto program = [](rota::bus& bus) -> task<> {
    node n{bus, "n"};
    std::vector<rota::firing> seen;
    auto t = n.every(10s, [&](rota::firing f) -> task<> {
      seen.push_back(f);
      co_await rota::sleep_for(25s);
    });
    co_await rota::sleep_for(205s);
    t.remove();
    // 10, then at 35 the one of 30, which counts that of 20, and so on.
    std::uint64_t missed = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      missed += seen[i].missed;
      sim::check(seen[i].due - seen[0].due == (i + missed) * 10s, "due on the grid");
    }
    sim::check(seen.size() == 8, "one every 25 seconds");
    sim::check(missed >= 10, "the others are counted");
  };
  passes(100, on_a_bus(program));
}

TEST(event_sim, two_equal_timers_of_a_group_run_equally_often) {
  const auto program = [](rota::bus& bus) -> task<> {
    node n{bus, "n"};
    std::array<int, 2> runs{};
    for (int& r : runs)
      n.every(1s, [&r]() -> task<> {
        ++r;
        co_await rota::sleep_for(2s);
      });
    co_await rota::sleep_for(100s);
    n.stop();
    sim::check(runs[0] + runs[1] >= 48, "one or the other runs");
    sim::check(std::abs(runs[0] - runs[1]) <= 1, "in turn");
  };
  passes(100, on_a_bus(program));
}

TEST(event_sim, deadlines_are_told_when_they_pass) {
  const auto program = [](rota::bus& bus) -> task<> {
    std::uint64_t late = 0;
    int got = 0;
    node n{bus, "n"};
    auto in = n.subscribe<int>(
        "/x", qos{}.with_deadline(10s),
        handler_options{}.with_on_event([&](const rota::handler_event& e) { late += e.late; }),
        [&](const int&) { ++got; });
    auto out = n.advertise<int>("/x");
    for (int i = 0; i < 5; ++i) {  // in time
      co_await rota::sleep_for(8s);
      out.publish(i);
    }
    co_await rota::sleep_for(35s);  // three late
    out.publish(5);
    co_await rota::sleep_for(1s);
    n.stop();
    sim::check(got == 6, "all came");
    sim::check(late == 3 && in.counters().late == 3, "three were late");
  };
  passes(100, on_a_bus(program));
}

TEST(event_sim, a_lifespan_is_counted_from_the_publication) {
  const auto program = [](rota::bus& bus) -> task<> {
    std::vector<int> got;
    node n{bus, "n", rota::hold};
    auto in = n.subscribe<int>("/x", qos{}.with_depth(100).with_lifespan(10s),
                               [&](const int& i) { got.push_back(i); });
    auto out = n.advertise<int>("/x");
    for (int i = 0; i < 20; ++i) {
      out.publish(i);
      co_await rota::sleep_for(1s);
    }
    n.start();
    co_await rota::sleep_for(1s);
    n.stop();
    sim::check(in.counters().expired + got.size() == 20, "each is one or the other");
    sim::check(got.size() >= 9 && got.size() <= 11 && got.back() == 19, "the last ten");
  };
  passes(100, on_a_bus(program));
}

// The queue is full of what is too old, and who waited is let in meanwhile.
TEST(event_sim, who_is_let_in_by_messages_that_expire_is_handled) {
  const auto program = [](rota::bus& bus) -> task<> {
    std::vector<int> got;
    node n{bus, "n", rota::hold};
    n.subscribe<int>("/x",
                     qos{}.with_depth(2).with_lifespan(10s).with_overflow(rota::overflow::block),
                     [&](const int& i) { got.push_back(i); });
    auto out = n.advertise<int>("/x");
    const auto one = [](rota::publisher<int> to, int i) -> task<> { co_await to.publish(i); };
    rota::task_group g;
    for (int i = 0; i < 2; ++i) out.publish(i);
    for (int i = 2; i < 5; ++i) g.spawn(one(out, i));
    co_await rota::sleep_for(60s);
    n.start();
    co_await g.join();
    co_await n.drain();
    sim::check(got.size() == 3, "those who waited are not too old");
  };
  passes(200, on_a_bus(program));
}

// --- calls --------------------------------------------------------------------------------------

TEST(event_sim, every_call_ends_by_its_deadline) {
  const auto program = [](rota::bus& bus) -> task<> {
    node n{bus, "n"};
    node serves{bus, "serves"};
    serves.serve<int, int>("/x", [](int i) -> task<int> {
      co_await rota::sleep_for(std::chrono::seconds(i));
      co_return i;
    });
    auto ask = n.client<int, int>("/x", 2);
    const auto one = [](rota::client<int, int> to, int i) -> task<> {
      const auto begin = sim::now();
      auto r = co_await to.call(i, 10s);
      sim::check(sim::now() - begin < 10s + a_moment, "not later");
      sim::check(r ? *r == i : r.status() == call_status::timeout, "an answer or none");
      if (!r) sim::check(sim::now() - begin >= 10s, "not earlier");
    };
    rota::task_group g;
    for (int i = 1; i <= 6; ++i) g.spawn(one(ask, i));
    co_await g.join();
    auto r = co_await ask.call(1, 60s);
    sim::check(static_cast<bool>(r), "it goes on afterwards");
  };
  passes(200, on_a_bus(program));
}

TEST(event_sim, a_handler_may_call_its_own_group_whatever_the_schedule) {
  const auto program = [](rota::bus& bus) -> task<> {
    int done = 0;
    int inside = 0;
    node n{bus, "n"};
    n.serve<int, int>("/double", [](const int& i) { return 2 * i; });
    auto ask = n.client<int, int>("/double");
    rota::async_event all;
    for (int k = 0; k < 2; ++k)
      n.subscribe<int>("/x", qos{}, [&](int i) -> task<> {
        auto r = co_await ask.call(i, 10s);
        sim::check(r && *r == 2 * i, "it is answered");
        sim::check(++inside == 1, "alone in the group");
        co_await rota::suspend();
        --inside;
        if (++done == 6) all.set();
      });
    auto out = n.advertise<int>("/x");
    for (int i = 0; i < 3; ++i) out.publish(i);
    co_await all.wait();
  };
  passes(200, on_a_bus(program));
}

// --- removal ------------------------------------------------------------------------------------

// One handler removes another that is about to be run by the other runner.
TEST(event_sim, nothing_runs_after_its_removal_whatever_the_schedule) {
  const auto program = [](rota::bus& bus) -> task<> {
    constexpr std::size_t victims = 3;
    const auto own = handler_options{}.with_group(rota::group::reentrant());
    std::array<bool, victims> removed{};
    int late = 0;
    rota::async_event done;
    std::array<rota::subscription, victims> all;
    node n{bus, "n", rota::hold};
    // Neither the function nor what is told of lost messages runs.
    for (std::size_t k = 0; k < victims; ++k) {
      auto told = own;
      told.with_on_event([&, k](const rota::handler_event&) { late += removed[k]; });
      all[k] = n.subscribe<int>("/x", qos{}, told, [&, k](const int&) { late += removed[k]; });
    }
    n.subscribe<int>("/x", qos{}, own, [&](const int& i) {
      if (i < 1) return;
      const auto k = static_cast<std::size_t>(i) - 1;
      all[k].remove();
      removed[k] = true;
      if (k + 1 == victims) done.set();
    });
    auto out = n.advertise<int>("/x");
    n.start();
    for (int i = 0; i <= static_cast<int>(victims); ++i) {
      out.publish(i);
      for (unsigned k = sim::choose(3); k > 0; --k) co_await rota::suspend();
    }
    co_await done.wait();
    n.stop();
    sim::check(late == 0, "it did not run");
  };
  passes_with_stalls(300, on_a_bus(program));
}

TEST(event_sim, handlers_of_all_sorts_are_removed_whatever_the_schedule) {
  passes_with_stalls(
      300, on_a_bus([](rota::bus& bus) -> task<> {
        bool removed = false;
        int late = 0;
        auto c = rota::make_cown<int>(0);
        node n{bus, "n"};
        auto out = n.advertise<int>("/x");
        std::vector<rota::subscription> all;
        all.push_back(n.subscribe<int>("/x", qos{}, [&](const int&) { late += removed; }));
        all.push_back(n.subscribe<int>("/x", qos{}, [&](int) -> task<> {
          late += removed;
          co_await rota::suspend();
          late += removed;
        }));
        all.push_back(
            n.subscribe<int>("/x", qos{}, rota::on(c, [&](int&, const int&) { late += removed; })));
        for (int i = 0; i < 3; ++i) out.publish(i);
        for (unsigned i = sim::choose(4); i > 0; --i) co_await rota::suspend();
        for (auto& s : all) s.remove();
        removed = true;
        for (int i = 0; i < 5; ++i) co_await rota::suspend();
        n.stop();
        sim::check(late == 0, "none ran");
      }));
}

TEST(event_sim, what_is_added_while_a_node_starts_runs) {
  passes_with_stalls(300, [] {
    int got = 0;
    rota::runtime rt{event_workers(2)};
    rota::bus bus{rt};
    rota::async_event both;
    node n{bus, "n", rota::hold};
    const auto starts = [&]() -> task<> {
      n.start();
      co_return;
    };
    const auto program = [&]() -> task<> {
      auto h = rota::spawn(starts());
      co_await rota::suspend();
      n.subscribe<int>("/x", qos{}, [&](const int&) {
        if (++got == 2) both.set();
      });
      auto t = n.every(1s, [&] {
        if (++got == 2) both.set();
      });
      n.advertise<int>("/x").publish(1);
      co_await both.wait();
      co_await h;
      n.stop();
    };
    rt.run(program());
  });
}

// --- backpressure -------------------------------------------------------------------------------

TEST(event_sim, publishing_tasks_and_behaviours_are_slowed_down_and_lose_nothing) {
  const auto program = [](rota::bus& bus) -> task<> {
    int got = 0;
    rota::async_event all;
    auto c = rota::make_cown<int>(0);
    node n{bus, "n"};
    auto in = n.subscribe<int>("/x", qos{}.with_depth(1).with_overflow(rota::overflow::block),
                               [&](const int&) {
                                 if (++got == 8) all.set();
                               });
    auto out = n.advertise<int>("/x");
    for (int i = 0; i < 4; ++i) rota::when(c) << [out](int& x) { out.publish(++x); };
    const auto one = [](rota::publisher<int> to) -> task<> {
      for (int i = 0; i < 2; ++i) co_await to.publish(i);
    };
    rota::task_group g;
    for (int i = 0; i < 2; ++i) g.spawn(one(out));
    co_await g.join();
    co_await all.wait();
    sim::check(in.counters().dropped == 0, "none is dropped");
    n.stop();
  };
  passes_with_stalls(200, on_a_bus(program));
}

// Names that the watchdog is shown are the runtime's.
TEST(event_sim, handlers_run_beside_a_watchdog) {
  passes(100, [] {
    int got = 0;
    rota::runtime rt{event_workers(2).with_watchdog(1h)};
    rota::bus bus{rt};
    rota::async_event done;
    node n{bus, "n"};
    n.subscribe<int>("/x", qos{}, [&](const int&) {
      if (++got == 3) done.set();
    });
    const auto program = [&]() -> task<> {
      auto out = n.advertise<int>("/x");
      for (int i = 0; i < 3; ++i) out.publish(i);
      co_await done.wait();
    };
    rt.run(program());
  });
}

// --- ends ---------------------------------------------------------------------------------------

TEST(event_sim, a_node_that_ends_ends_all_that_runs) {
  const auto program = [](rota::bus& bus) -> task<> {
    rota::async_event never;
    auto c = rota::make_cown<int>(0);
    std::optional<node> n;
    n.emplace(bus, "n");
    auto out = n->advertise<int>("/x");
    n->subscribe<int>("/x", qos{}, [](const int&) {});
    n->subscribe<int>("/x", qos{}, [&](int) -> task<> { co_await never.wait(); });
    n->subscribe<int>("/x", qos{}, rota::on(c, [](int& x, const int&) { ++x; }));
    n->serve<int, int>("/ask", [&](int i) -> task<int> {
      co_await never.wait();
      co_return i;
    });
    n->every(1s, [] {});
    auto ask = n->client<int, int>("/ask");
    auto call = rota::spawn(ask.call(1, 60s));
    for (int i = 0; i < 3; ++i) out.publish(i);
    for (unsigned i = sim::choose(5); i > 0; --i) co_await rota::suspend();
    n.reset();
    auto r = co_await call;
    sim::check(!r, "nobody answers");
  };
  passes_with_stalls(300, on_a_bus(program));
}

// Whoever lets a delayed message arrive has only the handlers to keep the bus, and may be held up
// for as long as it takes the bus to end: priorities, not single steps at random.
TEST(event_sim, a_bus_ends_with_messages_on_their_way) {
  rota::explore::options o;
  o.how = rota::explore::strategy::pct;
  o.max_schedules = rota::test::long_tests() ? 100'000 : 3'000;
  o.max_steps = 1'000'000;
  const auto r = rota::explore::run(
      [] {
        rota::runtime rt{event_workers(2)};
        const auto plan = rota::fault_plan{}.with_delay(1.0, 10us, 10us);
        rota::bus bus{rt, rota::faulty("inproc:", plan)};
        node n{bus, "n"};
        n.subscribe<int>("/x", qos{}, [](const int&) {});
        n.advertise<int>("/x").publish(1);
        rt.run([]() -> task<> { co_await rota::sleep_for(10us); }());
      },
      o);
  EXPECT_FALSE(r.failed) << r.text();
}

}  // namespace
