// Safety: all states, counted as TLC counts them, and shortest counterexamples.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <queue>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "support/graph_model.h"

namespace rota::verify::test {
namespace {

using numbers = std::vector<std::uint64_t>;

// Counts to `limit` in steps of one and two: deep and wide enough for several workers.
struct counter_model {
  struct state {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
  };
  std::uint32_t limit = 100;
  std::uint32_t forbidden = 1'000'000;

  std::vector<action> actions() const { return {{"left", 2}, {"right", 2}}; }
  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }
  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (std::uint32_t by = 1; by <= 2; ++by) {
      if (s.left + by <= limit) emit(0, by - 1, state{s.left + by, s.right});
      if (s.right + by <= limit) emit(1, by - 1, state{s.left, s.right + by});
    }
  }
  template <class P>
  void properties(P& p) const {
    p.invariant("Allowed", [this](const state& s) { return s.left + s.right != forbidden; });
  }
  template <class F>
  void fields(const state& s, F f) const {
    f("left", s.left);
    f("right", s.right);
  }
  template <class F>
  void permuted(const state& s, F f) const {
    f(s);
    f(state{s.right, s.left});
  }
};

TEST(Search, CountsDistinctGeneratedAndDepth) {
  // 0 -> 1 -> 2 -> 0, and 1 -> 2 a second time.
  const auto r = check_graph({.edges = {{0, 1}, {1, 2}, {1, 2}, {2, 0}}});
  EXPECT_EQ(r.how, outcome::complete);
  EXPECT_EQ(r.distinct, 3u);
  EXPECT_EQ(r.generated, 5u);  // the initial state and four steps
  EXPECT_EQ(r.depth, 3u);
}

TEST(Search, TakesEveryInitialStateOnce) {
  const auto r = check_graph({.edges = {{0, 2}, {1, 2}}, .starts = {0, 1, 1}});
  EXPECT_EQ(r.distinct, 3u);
  EXPECT_EQ(r.generated, 5u);
  EXPECT_EQ(r.depth, 2u);
}

TEST(Search, AModelWithoutInitialStatesIsEmpty) {
  const auto r = check_graph({.edges = {}, .starts = {}});
  EXPECT_EQ(r.how, outcome::complete);
  EXPECT_EQ(r.distinct, 0u);
}

TEST(Search, StatesOutsideTheConstraintAreGeneratedAndLookedAtButNotCounted) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 3}}};
  m.inside = [](std::uint64_t s) { return s < 2; };
  m.say = [](auto& p) {
    p.invariant("NotTwo", in({0, 1, 3}));
    p.invariant("NotThree", in({0, 1, 2}));
  };
  const auto r = check_graph(m);
  EXPECT_EQ(r.distinct, 2u);
  EXPECT_EQ(r.generated, 3u);
  EXPECT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(states_of(r.properties[0].counterexample), (numbers{0, 1, 2}));
  EXPECT_EQ(r.properties[1].result, verdict::holds);
}

TEST(Search, FindsAShortestCounterexampleOfEachInvariant) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 3}, {3, 5}}};
  m.say = [](auto& p) {
    p.invariant("NotThree", in({0, 1, 2, 4, 5}));
    p.invariant("NotFive", in({0, 1, 2, 3, 4}));
    p.invariant("Small", in({0, 1, 2, 3, 4, 5}));
  };
  const auto r = check_graph(m);
  EXPECT_EQ(states_of(r.properties[0].counterexample), (numbers{0, 4, 3}));
  EXPECT_EQ(states_of(r.properties[1].counterexample), (numbers{0, 4, 3, 5}));
  EXPECT_EQ(r.properties[2].result, verdict::holds);
}

TEST(Search, AnInitialStateCanViolate) {
  graph_model m{.edges = {{0, 1}}};
  m.say = [](auto& p) { p.invariant("NotZero", in({1})); };
  const auto r = check_graph(m);
  EXPECT_EQ(states_of(r.properties[0].counterexample), numbers{0});
}

TEST(Search, AStateWithoutAStepIsADeadlock) {
  graph_model m{.edges = {{0, 0}, {0, 1}, {1, 2}}};
  m.say = [](auto& p) { p.deadlock_free(); };
  const auto r = check_graph(m);
  EXPECT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(states_of(r.properties[0].counterexample), (numbers{0, 1, 2}));
  EXPECT_EQ(r.deadlocks, 1u);
  m.edges.push_back({2, 2});  // a step that changes nothing is a step
  EXPECT_EQ(check_graph(m).properties[0].result, verdict::holds);
}

TEST(Search, StopsAtTheFirstViolationIfAsked) {
  counter_model m;
  m.forbidden = 10;
  check_options o;
  o.workers = 1;
  o.stop_at_first = true;
  const auto r = check(typed_system{m}, o);
  EXPECT_EQ(r.how, outcome::violation);
  EXPECT_LT(r.distinct, 200u);
  EXPECT_EQ(r.properties[0].counterexample.steps.size(), 6u);  // five steps of two
}

TEST(Search, SeveralWorkersFindTheSame) {
  counter_model m;
  m.limit = 300;
  m.forbidden = 301;
  check_options o;
  o.workers = 1;
  const auto one = check(typed_system{m}, o);
  EXPECT_EQ(one.distinct, 301u * 301u);
  for (const unsigned workers : {2u, 3u, 8u}) {
    o.workers = workers;
    const auto many = check(typed_system{m}, o);
    EXPECT_EQ(many.distinct, one.distinct);
    EXPECT_EQ(many.generated, one.generated);
    EXPECT_EQ(many.depth, one.depth);
    EXPECT_EQ(many.taken, one.taken);
    EXPECT_EQ(many.properties[0].counterexample.steps.size(),
              one.properties[0].counterexample.steps.size());
  }
}

TEST(Search, LimitsEndItWithWhatIsKnown) {
  counter_model m;
  m.limit = 2'000;
  check_options o;
  o.workers = 2;
  o.max_states = 10'000;
  auto r = check(typed_system{m}, o);
  EXPECT_EQ(r.how, outcome::max_states);
  EXPECT_GE(r.distinct, 10'000u);
  EXPECT_LT(r.distinct, 20'000u);
  EXPECT_EQ(r.properties[0].result, verdict::unknown);

  o.max_states = 100;
  r = check(typed_system{m}, o);
  EXPECT_EQ(r.how, outcome::max_states);
  EXPECT_LT(r.distinct, 1'000u);

  o.max_states = 0;
  o.max_bytes = 8u << 20;
  r = check(typed_system{m}, o);
  EXPECT_EQ(r.how, outcome::max_memory);
  EXPECT_LE(r.bytes, o.max_bytes);
  EXPECT_GT(r.distinct, 1'000u);
}

TEST(Search, StopsWhenAsked) {
  counter_model m;
  m.limit = 5'000;
  std::stop_source stop;
  check_options o;
  o.workers = 2;
  o.stop = stop.get_token();
  stop.request_stop();
  const auto r = check(typed_system{m}, o);
  EXPECT_EQ(r.how, outcome::stopped);
  EXPECT_LT(r.distinct, 25'000'000u);
}

TEST(Search, TellsHowFarItIs) {
  counter_model m;
  m.limit = 1'500;
  std::vector<progress> told;
  check_options o;
  o.workers = 2;
  o.on_progress = [&](const progress& p) { told.push_back(p); };
  const auto r = check(typed_system{m}, o);
  EXPECT_EQ(r.distinct, 1501u * 1501u);
  for (const progress& p : told) {
    EXPECT_LE(p.distinct, r.distinct);
    EXPECT_LE(p.depth, r.depth);
    EXPECT_GT(p.bytes, 0u);
  }
}

TEST(Search, ASymmetricSearchKnowsBothCounts) {
  counter_model m;
  m.limit = 60;
  m.forbidden = 61;
  check_options o;
  o.workers = 1;
  const auto full = check(typed_system{m}, o);
  o.symmetry = true;
  for (const unsigned workers : {1u, 2u}) {
    o.workers = workers;
    const auto half = check(typed_system{m}, o);
    EXPECT_TRUE(half.symmetry);
    EXPECT_EQ(half.distinct, full.distinct);
    EXPECT_EQ(half.generated, full.generated);
    EXPECT_EQ(half.depth, full.depth);
    EXPECT_EQ(half.representatives, 61u * 62u / 2);
    EXPECT_EQ(half.properties[0].result, verdict::violated);
    EXPECT_EQ(half.properties[0].counterexample.steps.size(),
              full.properties[0].counterexample.steps.size());
  }
}

TEST(Search, SymmetryIsRefusedWhereNothingIsInterchangeable) {
  check_options o;
  o.symmetry = true;
  EXPECT_THROW(check(typed_system{graph_model{}}, o), std::invalid_argument);
}

TEST(Search, AnExceptionOfTheModelReachesTheCaller) {
  graph_model m{.edges = {{0, 1}, {1, 2}}};
  m.inside = [](std::uint64_t s) {
    if (s == 2) throw std::runtime_error("a bad state");
    return true;
  };
  EXPECT_THROW(check_graph(m, 2), std::runtime_error);
}

TEST(Search, ASearchThatRunsOutOfMemorySaysSo) {
  graph_model m{.edges = {{0, 1}, {1, 2}}};
  m.inside = [](std::uint64_t s) {
    if (s == 2) throw std::bad_alloc();
    return true;
  };
  EXPECT_EQ(check_graph(m, 2).how, outcome::max_memory);
}

// A plain search, to compare with.
struct plain {
  std::map<std::uint64_t, std::size_t> depth;
  std::size_t generated = 0;
};

plain plain_search(const graph_model& m) {
  plain found;
  std::queue<std::uint64_t> next;
  const auto meet = [&](std::uint64_t s, std::size_t depth) {
    ++found.generated;
    if (found.depth.emplace(s, depth).second) next.push(s);
  };
  for (const auto s : m.starts) meet(s, 1);
  for (; !next.empty(); next.pop())
    for (const auto& e : m.edges)
      if (e.from == next.front()) meet(e.to, found.depth[e.from] + 1);
  return found;
}

TEST(Search, AgreesWithAPlainSearchOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    rota::detail::rng chance{seed};
    graph_model m;
    const std::uint64_t states = 1 + chance.below(60);
    for (std::uint64_t i = chance.below(2 * states + 1); i > 0; --i)
      m.edges.push_back({chance.below(states), chance.below(states)});
    m.starts = {chance.below(states), chance.below(states)};
    const std::uint64_t bad = chance.below(states);
    m.say = [bad](auto& p) {
      p.invariant("NotBad", [bad](const graph_model::state& s) { return s.at != bad; });
    };
    const plain expected = plain_search(m);
    const auto r = check_graph(m, 1 + static_cast<unsigned>(seed % 3));
    ASSERT_EQ(r.distinct, expected.depth.size()) << "seed " << seed;
    ASSERT_EQ(r.generated, expected.generated) << "seed " << seed;
    std::size_t deepest = 0;
    for (const auto& [s, d] : expected.depth) deepest = std::max(deepest, d);
    ASSERT_EQ(r.depth, deepest) << "seed " << seed;
    const auto at = expected.depth.find(bad);
    const std::size_t shortest = at == expected.depth.end() ? 0 : at->second;
    ASSERT_EQ(r.properties[0].counterexample.steps.size(), shortest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rota::verify::test
