// Random walks: the same from the same seed, and their counterexamples are real ways.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/graph_model.h"

namespace rota::verify::test {
namespace {

// A line from 0 to `last` on which one can also go back.
graph_model line(std::uint64_t last) {
  graph_model m;
  for (std::uint64_t i = 0; i < last; ++i) {
    m.edges.push_back({i, i + 1, 0});
    m.edges.push_back({i + 1, i, 1});
  }
  m.acts = {{"on"}, {"back"}};
  return m;
}

simulate_result walk(const graph_model& m, std::uint64_t seed, unsigned workers) {
  simulate_options o;
  o.seed = seed;
  o.walks = 200;
  o.depth = 100;
  o.workers = workers;
  return simulate(typed_system<graph_model>{m}, o);
}

TEST(Simulate, FindsAViolationAndGivesAWayWithoutLoops) {
  graph_model m = line(5);
  m.say = [](auto& p) { p.invariant("NotFive", in({0, 1, 2, 3, 4})); };
  const auto r = walk(m, 1, 1);
  ASSERT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(states_of(r.properties[0].counterexample),
            (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Simulate, TheSameSeedFindsTheSameWithAnyNumberOfWorkers) {
  graph_model m = line(12);
  for (std::uint64_t i = 0; i < 12; ++i) m.edges.push_back({i, 20 + i, 0});
  m.say = [](auto& p) {
    p.invariant("Below", [](const graph_model::state& s) {
      // So that other walks come to their end before the one that violates this is told.
      if (s.at >= 25) std::this_thread::sleep_for(std::chrono::microseconds(300));
      return s.at < 25;
    });
    p.invariant("Other", [](const graph_model::state& s) { return s.at != 22; });
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto one = walk(m, seed, 1);
    const auto three = walk(m, seed, 3);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_EQ(one.properties[p].result, three.properties[p].result) << seed;
      EXPECT_EQ(states_of(one.properties[p].counterexample),
                states_of(three.properties[p].counterexample))
          << seed;
    }
  }
}

TEST(Simulate, OtherSeedsWalkOtherWays) {
  graph_model m = line(12);
  for (std::uint64_t i = 0; i < 12; ++i) m.edges.push_back({i, 20 + i, 0});
  m.say = [](auto& p) {
    p.invariant("Below", [](const graph_model::state& s) { return s.at < 20; });
  };
  std::set<std::vector<std::uint64_t>> ways;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    ways.insert(states_of(walk(m, seed, 1).properties[0].counterexample));
  EXPECT_GT(ways.size(), 1u);
}

TEST(Simulate, FindsADeadlock) {
  graph_model m{.edges = {{0, 1}, {1, 0}, {1, 2}}};
  m.say = [](auto& p) { p.deadlock_free(); };
  const auto r = walk(m, 1, 1);
  EXPECT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(states_of(r.properties[0].counterexample), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(Simulate, ProvesNothing) {
  graph_model m{.edges = {{0, 1}, {1, 1}}};
  m.say = [](auto& p) {
    p.deadlock_free();
    p.invariant("Small", in({0, 1}));
    p.eventually("One", in({1}));
  };
  const auto r = walk(m, 1, 2);
  EXPECT_EQ(r.walks, 200u);
  EXPECT_EQ(r.ended, 200u);  // where nothing changes any more, a walk ends
  EXPECT_EQ(r.steps, 200u);
  for (const auto& p : r.properties) EXPECT_EQ(p.result, verdict::unknown);
}

TEST(Simulate, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  simulate_options o;
  o.workers = 2;
  o.stop = stop.get_token();
  const auto r = simulate(typed_system<graph_model>{line(50)}, o);
  EXPECT_TRUE(r.stopped);
  EXPECT_LE(r.walks, 2u);
}

}  // namespace
}  // namespace rota::verify::test
