// Liveness: on graphs whose answer is known, and against a plain decision on random ones. A lasso
// that is given as a counterexample is checked step by step.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/graph_model.h"

namespace rota::verify::test {
namespace {

using numbers = std::vector<std::uint64_t>;

constexpr auto weak = fairness::weak;
constexpr auto strong = fairness::strong;
constexpr auto unfair = fairness::none;

verdict ask(const graph_model& m) { return check_graph(m).properties.at(0).result; }

graph_model reaching(graph_model::set goal, std::vector<graph_model::edge> edges,
                     std::vector<action> acts) {
  graph_model m{.edges = std::move(edges), .acts = std::move(acts)};
  m.say = [goal](auto& p) { p.eventually("Goal", in(goal)); };
  return m;
}

TEST(Liveness, ABehaviourMayRestUnlessAStepIsFair) {
  EXPECT_EQ(ask(reaching({1}, {{0, 1}}, {{"go", 1, "", unfair}})), verdict::violated);
  EXPECT_EQ(ask(reaching({1}, {{0, 1}}, {{"go", 1, "", weak}})), verdict::holds);
  EXPECT_EQ(ask(reaching({1}, {{0, 1}}, {{"go", 1, "", strong}})), verdict::holds);
}

TEST(Liveness, AnEndThatIsNotTheGoalViolates) {
  const auto m = reaching({2}, {{0, 1}, {0, 2}}, {{"go", 1, "", weak}});
  const auto r = check_graph(m);
  ASSERT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(states_of(r.properties[0].counterexample), (numbers{0, 1}));
  EXPECT_EQ(r.properties[0].counterexample.loop, 1u);
}

// 0 <-> 1 for ever, with a way out to 2 from both.
std::vector<graph_model::edge> cycle_with_exits() {
  return {{0, 1, 0}, {1, 0, 0}, {0, 2, 1}, {1, 2, 1}};
}

TEST(Liveness, WeakFairnessLeavesACycleInWhichTheStepIsAlwaysEnabled) {
  EXPECT_EQ(ask(reaching({2}, cycle_with_exits(), {{"turn", 1, "", weak}, {"leave", 1, "", weak}})),
            verdict::holds);
  EXPECT_EQ(
      ask(reaching({2}, cycle_with_exits(), {{"turn", 1, "", weak}, {"leave", 1, "", unfair}})),
      verdict::violated);
}

TEST(Liveness, OnlyStrongFairnessLeavesACycleInWhichTheStepIsSometimesEnabled) {
  const std::vector<graph_model::edge> edges{{0, 1, 0}, {1, 0, 0}, {1, 2, 1}};
  EXPECT_EQ(ask(reaching({2}, edges, {{"turn", 1, "", weak}, {"leave", 1, "", weak}})),
            verdict::violated);
  EXPECT_EQ(ask(reaching({2}, edges, {{"turn", 1, "", weak}, {"leave", 1, "", strong}})),
            verdict::holds);
}

TEST(Liveness, AStronglyFairStepDoesNotHelpWhereACycleAvoidsIt) {
  // The component is {0, 1, 2}, but 0 <-> 1 alone never enables the way out.
  const auto m = reaching({3}, {{0, 1, 0}, {1, 0, 0}, {1, 2, 0}, {2, 0, 0}, {2, 3, 1}},
                          {{"turn", 1, "", weak}, {"leave", 1, "", strong}});
  const auto r = check_graph(m);
  ASSERT_EQ(r.properties[0].result, verdict::violated);
  for (const auto s : states_of(r.properties[0].counterexample)) EXPECT_LT(s, 2u);
}

TEST(Liveness, AStepThatChangesNothingKeepsNoPromise) {
  // "leave" loops at 0 and leaves at 1: taking it at 0 is not progress, nor is it enabled there.
  const auto m = reaching({2}, {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {1, 2, 1}},
                          {{"turn", 1, "", weak}, {"leave", 1, "", weak}});
  EXPECT_EQ(ask(m), verdict::violated);
}

TEST(Liveness, FairnessIsPerParameter) {
  // Process 0 turns for ever; process 1 could leave.
  const std::vector<graph_model::edge> edges{
      {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 2, 0, 1}, {1, 2, 0, 1}};
  EXPECT_EQ(ask(reaching({2}, edges, {{"step", 2, "", weak}})), verdict::holds);
}

TEST(Liveness, ActionsOfAGroupShareTheirPromise) {
  // Either of two actions keeps the group's promise: turning is enough.
  EXPECT_EQ(ask(reaching({2}, cycle_with_exits(),
                         {{"turn", 1, "process", weak}, {"leave", 1, "process", weak}})),
            verdict::violated);
}

TEST(Liveness, RulesReplaceTheFairnessOfAGroup) {
  const typed_system s{reaching({1}, {{0, 1}}, {{"go", 1, "traffic", weak}})};
  check_options o;
  o.workers = 1;
  o.fairness = {{"traffic", fairness::none}};
  EXPECT_EQ(check(s, o).properties[0].result, verdict::violated);
  o.fairness = {{"go", fairness::strong}};
  EXPECT_EQ(check(s, o).properties[0].result, verdict::holds);
  o.fairness = {{"stop", fairness::none}};
  EXPECT_THROW(check(s, o), std::invalid_argument);
}

TEST(Liveness, LeadsToNamesTheInstanceThatFails) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 1}}, .acts = {{"go", 1, "", weak}}};
  m.say = [](auto& p) {
    p.leads_to(
        "Reached", 4, [](const graph_model::state& s, unsigned) { return s.at == 1; },
        [](const graph_model::state& s, unsigned i) { return s.at == i; });
  };
  const auto r = check_graph(m);
  ASSERT_EQ(r.properties[0].result, verdict::violated);
  EXPECT_EQ(r.properties[0].instance, 0u);  // 0 is never reached again; 1 and 2 are, 3 is not
}

TEST(Liveness, LeadsToHoldsWhereItsPremiseIsNeverTrue) {
  graph_model m{.edges = {{0, 1}}};
  m.say = [](auto& p) { p.leads_to("Vacuous", in({5}), in({6})); };
  EXPECT_EQ(ask(m), verdict::holds);
}

TEST(Liveness, LeadsToIsKeptByAStateThatIsBoth) {
  graph_model m{.edges = {{0, 1}}};
  m.say = [](auto& p) { p.leads_to("AtOnce", in({0, 1}), in({0, 1})); };
  EXPECT_EQ(ask(m), verdict::holds);
}

TEST(Liveness, AlwaysEventuallyIsAboutTheCycle) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 1}}, .acts = {{"go", 1, "", weak}}};
  m.say = [](auto& p) { p.always_eventually("Two", in({2})); };
  EXPECT_EQ(ask(m), verdict::holds);
  m.say = [](auto& p) { p.always_eventually("Zero", in({0})); };
  EXPECT_EQ(ask(m), verdict::violated);
}

TEST(Liveness, EventuallyAlwaysIsAboutTheRestOfTheBehaviour) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 1}}, .acts = {{"go", 1, "", weak}}};
  m.say = [](auto& p) { p.eventually_always("Left", in({1, 2})); };
  EXPECT_EQ(ask(m), verdict::holds);
  m.say = [](auto& p) { p.eventually_always("One", in({1})); };
  const auto r = check_graph(m);
  ASSERT_EQ(r.properties[0].result, verdict::violated);
  const auto lasso = states_of(r.properties[0].counterexample);
  EXPECT_NE(std::find(lasso.begin(), lasso.end(), 2u), lasso.end());
}

// --- random graphs
// --------------------------------------------------------------------------------

// The groups of a random graph are its actions, each with one instance.
struct random_graph {
  graph_model model;
  std::uint64_t states = 0;
  std::uint64_t p = 0;  // sets of states, a bit each
  std::uint64_t q = 0;
  property_kind kind = property_kind::eventually;
};

bool has(std::uint64_t set, std::uint64_t s) { return (set >> s) & 1; }

random_graph make_random(std::uint64_t seed) {
  rota::detail::rng chance{seed};
  random_graph g;
  g.states = 1 + chance.below(7);
  const auto groups = static_cast<unsigned>(1 + chance.below(3));
  g.model.acts.clear();
  for (unsigned a = 0; a < groups; ++a)
    g.model.acts.push_back(
        {"act" + std::to_string(a), 1, "", static_cast<fairness>(chance.below(3))});
  for (std::uint64_t i = chance.below(3 * g.states + 1); i > 0; --i)
    g.model.edges.push_back({chance.below(g.states), chance.below(g.states),
                             static_cast<unsigned>(chance.below(groups))});
  g.model.starts = {chance.below(g.states)};
  g.p = chance.next();
  g.q = chance.next();
  const property_kind kinds[] = {property_kind::eventually, property_kind::leads_to,
                                 property_kind::always_eventually,
                                 property_kind::eventually_always};
  g.kind = kinds[chance.below(4)];
  const auto in_p = [p = g.p](const graph_model::state& s) { return has(p, s.at); };
  const auto in_q = [q = g.q](const graph_model::state& s) { return has(q, s.at); };
  g.model.say = [=, kind = g.kind](auto& list) {
    switch (kind) {
      case property_kind::eventually:
        list.eventually("P", in_p);
        break;
      case property_kind::leads_to:
        list.leads_to("P", in_p, in_q);
        break;
      case property_kind::always_eventually:
        list.always_eventually("P", in_p);
        break;
      default:
        list.eventually_always("P", in_p);
    }
  };
  return g;
}

// All states that are reached from some states inside a set, these included.
std::uint64_t reached(const random_graph& g, std::uint64_t from, std::uint64_t inside) {
  std::uint64_t all = from & inside;
  for (std::uint64_t before = 0; before != all;) {
    before = all;
    for (const auto& e : g.model.edges)
      if (has(all, e.from) && has(inside, e.to)) all |= std::uint64_t{1} << e.to;
  }
  return all;
}

// Whether a fair behaviour may be in exactly these states again and again.
bool is_fair_home(const random_graph& g, std::uint64_t home) {
  for (std::uint64_t s = 0; s < g.states; ++s)
    if (has(home, s) && reached(g, std::uint64_t{1} << s, home) != home) return false;
  for (unsigned a = 0; a < g.model.acts.size(); ++a) {
    std::uint64_t enabled = 0;
    bool taken = false;
    for (const auto& e : g.model.edges) {
      if (e.act != a || e.from == e.to || !has(home, e.from)) continue;
      enabled |= std::uint64_t{1} << e.from;
      taken = taken || has(home, e.to);
    }
    if (taken) continue;
    if (g.model.acts[a].fair == fairness::weak && enabled == home) return false;
    if (g.model.acts[a].fair == fairness::strong && enabled != 0) return false;
  }
  return true;
}

// Decides by trying every set of states that a behaviour could stay in.
bool plainly_violated(const random_graph& g) {
  const std::uint64_t all = (std::uint64_t{1} << g.states) - 1;
  const std::uint64_t start = std::uint64_t{1} << g.model.starts[0];
  const std::uint64_t reachable = reached(g, start, all);
  for (std::uint64_t home = 1; home <= all; ++home) {
    if ((home & ~reachable) || !is_fair_home(g, home)) continue;
    switch (g.kind) {
      case property_kind::eventually:
        if (reached(g, start, ~g.p & all) & home & ~g.p && !(home & g.p)) return true;
        break;
      case property_kind::leads_to:
        if (!(home & g.q) && (reached(g, g.p & ~g.q & reachable, ~g.q & all) & home)) return true;
        break;
      case property_kind::always_eventually:
        if (!(home & g.p)) return true;
        break;
      default:
        if (home & ~g.p) return true;
    }
  }
  return false;
}

// Whether the counterexample is one: steps of the graph, a fair loop, and what the property
// forbids.
void expect_lasso(const random_graph& g, const trace& t, std::uint64_t seed) {
  const auto states = states_of(t);
  ASSERT_FALSE(states.empty());
  ASSERT_TRUE(t.loop.has_value()) << "seed " << seed;
  EXPECT_EQ(states.front(), g.model.starts[0]);
  EXPECT_EQ(states.back(), states[*t.loop]) << "seed " << seed;
  std::vector<bool> taken(g.model.acts.size());
  std::uint64_t home = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i >= *t.loop) home |= std::uint64_t{1} << states[i];
    if (i == 0) continue;
    const auto step = std::any_of(g.model.edges.begin(), g.model.edges.end(), [&](const auto& e) {
      return e.from == states[i - 1] && e.to == states[i];
    });
    EXPECT_TRUE(step) << "seed " << seed << ", step " << i;
    if (i <= *t.loop) continue;
    for (const auto& e : g.model.edges)
      if (e.from == states[i - 1] && e.to == states[i]) taken[e.act] = true;
  }
  for (unsigned a = 0; a < g.model.acts.size(); ++a) {
    std::uint64_t enabled = 0;
    for (const auto& e : g.model.edges)
      if (e.act == a && e.from != e.to && has(home, e.from)) enabled |= std::uint64_t{1} << e.from;
    if (taken[a]) continue;
    if (g.model.acts[a].fair == fairness::weak) {
      EXPECT_NE(enabled, home) << "seed " << seed;
    }
    if (g.model.acts[a].fair == fairness::strong) {
      EXPECT_EQ(enabled, 0u) << "seed " << seed;
    }
  }
  const auto forbids = [&](auto state) {
    switch (g.kind) {
      case property_kind::leads_to:
        return has(g.q, state);
      case property_kind::eventually_always:
        return false;
      default:
        return has(g.p, state);
    }
  };
  for (std::size_t i = *t.loop; i < states.size(); ++i)
    EXPECT_FALSE(forbids(states[i])) << "seed " << seed;
  if (g.kind == property_kind::eventually_always) {
    EXPECT_NE(home & ~g.p, 0u) << "seed " << seed;
  }
  if (g.kind == property_kind::eventually) {
    for (const auto s : states) EXPECT_FALSE(has(g.p, s)) << "seed " << seed;
  }
  if (g.kind == property_kind::leads_to) {
    std::size_t free = states.size();  // from here on Q never holds
    while (free > 0 && !has(g.q, states[free - 1])) --free;
    EXPECT_TRUE(std::any_of(states.begin() + static_cast<std::ptrdiff_t>(free), states.end(),
                            [&](auto s) { return has(g.p, s); }))
        << "seed " << seed;
  }
}

TEST(Liveness, AgreesWithAPlainDecisionOnRandomGraphs) {
  unsigned violated = 0;
  constexpr std::uint64_t graphs = 4'000;
  for (std::uint64_t seed = 1; seed <= graphs; ++seed) {
    const random_graph g = make_random(seed);
    const auto r = check_graph(g.model);
    const bool expected = plainly_violated(g);
    ASSERT_EQ(r.properties[0].result, expected ? verdict::violated : verdict::holds)
        << "seed " << seed;
    if (!expected) continue;
    ++violated;
    expect_lasso(g, r.properties[0].counterexample, seed);
    if (HasFailure()) break;
  }
  // Else the graphs would say little.
  EXPECT_GT(violated, graphs / 10);
  EXPECT_LT(violated, graphs * 9 / 10);
}

}  // namespace
}  // namespace rota::verify::test
