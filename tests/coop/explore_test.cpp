// All that a program can do. A mistake in the search shows as an end that is missing or has no
// witness: against counts by hand, against a search that keeps whole configurations, against the
// other semantics, and against the schedulers, which choose from what is found here.

#include <rota/coop/explore.h>

#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <unordered_set>

#include "coop/state_graph.h"
#include "support.h"

namespace rota::coop::test {
namespace {

struct explored {
  explicit explored(const std::string& source, semantics how = semantics::lagc,
                    const explore_options& options = {})
      : p(compiled(source, how)), rules(rules_of(p)), all(p, rules, options) {}

  program p;
  rule_table rules;
  exploration all;
};

// What makes an end one of its own. Tasks of spawn and guard have no identity.
std::string key_of(const program& p, const outcome& o) {
  std::string text(name_of(o.end));
  if (o.end == ending::error) {
    if (p.language() == language::coopwhile) text += " task " + std::to_string(o.task);
    return text + ' ' + std::string(name_of(o.error.error)) + ' ' + to_string(o.error.at);
  }
  std::multiset<std::string> parts;
  for (const blocked_task& b : o.blocked)
    parts.insert((p.language() == language::coopwhile ? std::to_string(b.task) : "") + " at " +
                 to_string(b.at) + " on " + std::to_string(b.on));
  for (const auto& [name, v] : o.state) {
    const bool numbered = p.language() != language::coopwhile;
    parts.insert((numbered ? name.substr(0, name.find('#')) : name) + '=' +
                 to_json(named_state{{"v", v}}));
  }
  for (const std::string& part : parts) text += ' ' + part;
  return text;
}

std::set<std::string> keys_of(const explored& e) {
  std::set<std::string> all;
  for (const found_end& end : e.all.ends()) all.insert(key_of(e.p, end.what));
  return all;
}

// The same by a search that keeps whole configurations and merges nothing else. None if there are
// too many.
std::set<std::string> keys_by_brute_force(const program& p, std::size_t most) {
  const rule_table rules = rules_of(p);
  std::set<std::string> keys;
  std::unordered_set<configuration> seen{initial_configuration(p)};
  std::vector<configuration> open(seen.begin(), seen.end());
  std::vector<derivation> found;
  while (!open.empty() && seen.size() <= most) {
    const configuration c = open.back();
    open.pop_back();
    find_steps(rules, p, c, found);
    outcome o;
    o.state = state_of(p, c);
    if (found.empty()) {
      o.end = is_final(p, c) ? ending::done : ending::deadlock;
      o.blocked = blocked_tasks(p, c);
      keys.insert(key_of(p, o));
    }
    for (const derivation& d : found) {
      if (d.error) {
        o.end = ending::error;
        o.task = d.task;
        o.error = *d.error;
        keys.insert(key_of(p, o));
        continue;
      }
      configuration next = c;
      take_step(p, next, d);
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return open.empty() ? keys : std::set<std::string>{"too many"};
}

// The configurations of a run, the first included, and who could move and moved at each.
struct moves : run_observer {
  explicit moves(const program& of) : p(of), rules(rules_of(of)) {}

  void start(const configuration& c) override { add(c); }
  void step(const taken_step& s, const configuration& c) override {
    moved.push_back(s.what.task);
    add(c);
  }
  void add(const configuration& c) {
    configurations.push_back(c);
    std::vector<derivation> found;
    find_steps(rules, p, c, found);
    could.emplace_back();
    for (const derivation& d : found) could.back().insert(d.task);
  }

  const program& p;
  rule_table rules;
  std::vector<configuration> configurations;
  std::vector<std::set<task_id>> could;
  std::vector<task_id> moved;
};

bool has(const explored& e, endless_kind kind) {
  const auto& runs = e.all.endless();
  return std::any_of(runs.begin(), runs.end(),
                     [&](const endless_run& r) { return r.kind == kind; });
}

// Programs of which some are small enough to be explored.
void for_random_programs(std::uint64_t count,
                         const std::function<void(const std::string&, language)>& body) {
  for (language l : {language::while_, language::spawn, language::guard, language::coopwhile})
    for (std::uint64_t seed = 0; seed < count; ++seed) body(random_program(seed, {.in = l}), l);
}

// Those that spawn for ever have few states of many bytes.
constexpr explore_options small{.max_states = 1'000, .max_bytes = 200'000};

void expect_counts(const explored& e, std::uint64_t states, std::uint64_t steps,
                   std::uint64_t choices) {
  EXPECT_TRUE(e.all.complete());
  EXPECT_EQ(e.all.states(), states);
  EXPECT_EQ(e.all.steps(), steps);
  EXPECT_EQ(e.all.choices(), choices);
}

// --- counted by hand ----------------------------------------------------------------------------

TEST(Explore, OneTaskHasOneRun) {
  const explored e{"{ x := 1; x := 2 }"};
  expect_counts(e, 3, 2, 0);
  ASSERT_EQ(e.all.ends().size(), 1u);
  EXPECT_EQ(to_json(e.all.ends()[0].what.state), R"({"x":2})");
  EXPECT_TRUE(e.all.endless().empty());
  expect_counts(explored{"{ x := 1; x := 2 }", semantics::sos}, 4, 3, 0);  // and RETURN
}

// Two calls, then a choice, then start, statement and return of one, then of the other.
TEST(Explore, TwoTasksInEitherOrder) {
  const explored e{"m(x) { a := a * 2 + x } { spawn(m, 0); spawn(m, 1) }"};
  expect_counts(e, 3 + 2 * 6, 2 + 2 * 6, 1);
  ASSERT_EQ(e.all.ends().size(), 2u);
  EXPECT_EQ(to_json(e.all.ends()[0].what.state), R"({"a":1,"x#1":0,"x#2":1})");
  EXPECT_EQ(to_json(e.all.ends()[1].what.state), R"({"a":2,"x#1":0,"x#2":1})");
  const schedule second = e.all.witness(e.all.ends()[1]);
  EXPECT_EQ(second.steps, 8u);
  EXPECT_EQ(second.picks(), pick_list{1});
  EXPECT_EQ(second.choices.at(0).step, 3u);
  EXPECT_EQ(second.choices.at(0).count, 2u);
  EXPECT_EQ(second.choices.at(0).what, "task 2 starts m(1)");
}

TEST(Explore, OrdersThatLeadToTheSameMeetAgain) {
  // As above, but the last states of both orders are one.
  expect_counts(explored{"m(x) { skip } { spawn(m, 0); spawn(m, 1) }"}, 3 + 2 * 6 - 1, 14, 1);
}

// (main before a := 2, call open), then main or the task first, in all places.
TEST(Explore, InterleavesAfterEveryStatement) {
  const explored e{"language spawn; m(x) { a := x } { spawn(m, 1); a := 2 }"};
  expect_counts(e, 8, 8, 2);
  EXPECT_EQ(e.all.ends().size(), 2u);
}

// --- what is merged -----------------------------------------------------------------------------

TEST(Explore, ForgetsHowAStateWasReached) {
  // Once the parameter is 5, it does not matter what the argument was.
  const char* const ended =
      "m(x) { x := 5; suspend } n(x) { a := x } k(x) { spawn(m, a); a := 0 }"
      "{ spawn(n, 1); spawn(n, 2); spawn(k, 0) }";
  std::set<std::string> states;
  const explored e{ended};
  for (const found_end& end : e.all.ends()) states.insert(to_json(end.what.state));
  EXPECT_EQ(states.size(), e.all.ends().size());
  // An endless loop that counts to one has two states, and the test of the loop.
  expect_counts(explored{"{ while true { a := 1 - a } }"}, 4, 4, 0);
  // The order of calls that are open is no state.
  const explored open{
      "language spawn; m(x) { skip } n(x) { spawn(m, x) }"
      "{ spawn(n, 1); spawn(n, 2) }"};
  EXPECT_LT(open.all.states(), 80u);
}

// It does not matter who started first: after k calls, each of k tasks is called, at its statement
// or ended.
TEST(Explore, TasksOfSpawnHaveNoIdentity) {
  const explored e{
      "language spawn; m(x) { skip }"
      "{ spawn(m, 1); spawn(m, 2); spawn(m, 3); spawn(m, 4); spawn(m, 5) }"};
  EXPECT_EQ(e.all.states(), 1u + 3 + 9 + 27 + 81 + 243);
  EXPECT_EQ(e.all.ends().size(), 1u);
}

TEST(Explore, PacksAllThatMatters) {
  for_random_programs(40, [](const std::string& source, language l) {
    for (semantics how : {semantics::lagc, semantics::sos}) {
      if (!exists(how, l)) continue;
      const program p = compiled(source, how);
      moves seen{p};
      run_by_rules(p, rules_of(p), {.limit = 60, .seed = 3}, {&seen});
      for (const configuration& c : seen.configurations) {
        const task_names names = names_in(p);
        const configuration again = unpack(pack(c, names), names);
        ASSERT_EQ(pack(again, names), pack(c, names)) << source;
        ASSERT_EQ(again.globals, c.globals) << source;
        ASSERT_EQ(again.active, c.active);
        ASSERT_EQ(again.queue.size(), c.queue.size()) << source;
        ASSERT_EQ(again.open.size(), c.open.size());
        if (names == task_names::matter) {
          ASSERT_EQ(state_of(p, again), state_of(p, c)) << source;
          ASSERT_EQ(again.queue, c.queue) << source;
        }
        std::vector<derivation> before;
        std::vector<derivation> after;
        find_steps(seen.rules, p, c, before);
        find_steps(seen.rules, p, again, after);
        ASSERT_EQ(before.size(), after.size()) << source;
      }
    }
  });
}

TEST(Explore, KeepsNumbersOfAnySize) {
  configuration c;
  for (std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{64},
                         std::int64_t{-65}, INT64_MAX, INT64_MIN})
    c.globals.push_back(value::integer(n));
  c.globals.push_back(value::boolean(true));
  c.globals.push_back(value::task(300));
  EXPECT_EQ(unpack(pack(c, task_names::matter), task_names::matter).globals, c.globals);
  configuration other = c;
  other.globals[0] = value::boolean(false);
  EXPECT_NE(pack(other, task_names::matter), pack(c, task_names::matter));
}

// --- against other ways to find the same --------------------------------------------------------

TEST(Explore, FindsWhatASearchWithoutMergingFinds) {
  std::size_t compared = 0;
  std::size_t several = 0;
  for_random_programs(150, [&](const std::string& source, language l) {
    for (semantics how : {semantics::lagc, semantics::sos}) {
      if (!exists(how, l)) continue;
      const explored e{source, how, {.max_states = 600}};
      if (!e.all.complete()) continue;
      const auto expected = keys_by_brute_force(e.p, 4'000);
      if (expected.contains("too many")) continue;
      ASSERT_EQ(keys_of(e), expected) << source;
      ++compared;
      several += expected.size() > 1 ? 1 : 0;
    }
  });
  EXPECT_GT(compared, 300u);
  EXPECT_GT(several, 60u);
}

// Section 11: the sets of outcomes are the same, and so is whether a run need not end.
TEST(Explore, LagcAndSosHaveTheSameOutcomes) {
  std::size_t compared = 0;
  std::map<ending, std::size_t> ends;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string source = random_program(seed, {.in = language::coopwhile});
    const explored lagc{source, semantics::lagc, small};
    const explored sos{source, semantics::sos, small};
    if (!lagc.all.complete() || !sos.all.complete()) continue;
    ASSERT_EQ(keys_of(lagc), keys_of(sos)) << source;
    // A task that waits as soon as it starts can do so in lagc, and be passed over; in sos it
    // waits.
    for (endless_kind kind : {endless_kind::fair, endless_kind::local})
      EXPECT_EQ(has(lagc, kind), has(sos, kind)) << source;
    EXPECT_EQ(lagc.all.endless().empty(), sos.all.endless().empty()) << source;
    for (const found_end& e : lagc.all.ends()) ++ends[e.what.end];
    ++compared;
  }
  EXPECT_GT(compared, 150u);
  for (ending how : {ending::done, ending::deadlock, ending::error}) EXPECT_GT(ends[how], 30u);
}

// Theorems 1 and 2: a scheduler ends as some run can end; if it does not end, then there is a run
// without end that is fair, or a task that never gives way.
TEST(Explore, HasWhatTheSchedulersDo) {
  std::size_t ended = 0;
  std::size_t endless = 0;
  const auto compare = [&](const std::string& source, language l) {
    for (semantics how : schedulers_for(l)) {
      const outcome o = run(compiled(source, how), {.limit = 5'000});
      const explored e{source, is_sos(how) ? semantics::sos : semantics::lagc, small};
      if (!e.all.complete()) continue;
      if (o.end != ending::limit) {
        EXPECT_TRUE(keys_of(e).contains(key_of(e.p, o))) << source;
        ++ended;
        continue;
      }
      EXPECT_TRUE(has(e, endless_kind::fair) || has(e, endless_kind::local)) << source;
      ++endless;
    }
  };
  for_random_programs(120, compare);
  for (const std::string& name : reference_programs())
    compare(reference_source(name), parse(reference_source(name)).tree.language);
  EXPECT_GT(ended, 150u);
  EXPECT_GT(endless, 40u);
}

// --- witnesses ----------------------------------------------------------------------------------

TEST(Explore, EveryWitnessLeadsToItsEnd) {
  std::size_t with_choice = 0;
  for_random_programs(150, [&](const std::string& source, language l) {
    for (semantics how : {semantics::lagc, semantics::sos}) {
      if (!exists(how, l)) continue;
      const explored e{source, how, {.max_states = 500}};
      for (const found_end& end : e.all.ends()) {
        const schedule s = e.all.witness(end);
        const pick_list picks = s.picks();
        with_choice += picks.empty() ? 0 : 1;
        EXPECT_EQ(s.steps, end.what.steps);
        ASSERT_EQ(run_by_rules(e.p, e.rules, {.picks = &picks}), end.what) << source;
      }
    }
  });
  EXPECT_GT(with_choice, 200u);
}

TEST(Explore, NoRunEndsSoonerThanTheWitness) {
  std::size_t longer = 0;
  for_random_programs(60, [&](const std::string& source, language) {
    const explored e{source, semantics::lagc, small};
    if (!e.all.complete()) return;
    std::map<std::string, std::uint64_t> steps;
    for (const found_end& end : e.all.ends())
      steps.try_emplace(key_of(e.p, end.what), end.what.steps);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const outcome o = run_by_rules(e.p, e.rules, {.limit = 200, .seed = seed});
      if (o.end == ending::limit) continue;
      ASSERT_GE(o.steps, steps.at(key_of(e.p, o))) << source;
      longer += o.steps > steps.at(key_of(e.p, o)) ? 1 : 0;
    }
  });
  EXPECT_GT(longer, 30u);
}

// Replays a run without end twice round, and looks at it with other eyes.
void expect_endless(const explored& e, const endless_run& run, const std::string& source) {
  pick_list picks = run.prefix.picks();
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t pick : run.cycle.picks()) picks.push_back(pick);
  const std::uint64_t before = run.prefix.steps;
  const std::uint64_t length = run.cycle.steps;
  ASSERT_GT(length, 0u);
  moves seen{e.p};
  const outcome o =
      run_by_rules(e.p, e.rules, {.limit = before + 2 * length, .picks = &picks}, {&seen});
  ASSERT_EQ(o.end, ending::limit) << source;
  EXPECT_EQ(seen.configurations[before], seen.configurations[before + length]) << source;
  EXPECT_EQ(seen.configurations[before], seen.configurations.back()) << source;

  bool quiescent = false;
  std::set<task_id> passed_over;
  std::set<task_id> moved;
  for (std::uint64_t i = before; i < before + length; ++i) {
    moved.insert(seen.moved[i]);
    if (!is_quiescent(seen.configurations[i])) continue;
    if (!std::exchange(quiescent, true)) passed_over = seen.could[i];
    std::erase_if(passed_over, [&](task_id f) { return !seen.could[i].contains(f); });
  }
  for (task_id f : moved) passed_over.erase(f);
  EXPECT_EQ(quiescent, run.kind != endless_kind::local) << source;
  if (run.kind == endless_kind::fair) {
    EXPECT_TRUE(passed_over.empty()) << source;
  }
  EXPECT_EQ(run.whom.empty(), run.kind == endless_kind::fair || run.kind == endless_kind::local);
  for (const passed_over_task& w : run.whom) EXPECT_TRUE(passed_over.contains(w.task)) << source;
}

TEST(Explore, EveryEndlessRunComesBack) {
  std::map<endless_kind, std::size_t> kinds;
  for_random_programs(300, [&](const std::string& source, language l) {
    for (semantics how : {semantics::lagc, semantics::sos}) {
      if (!exists(how, l)) continue;
      const explored e{source, how, {.max_states = 500}};
      for (const endless_run& run : e.all.endless()) {
        ++kinds[run.kind];
        expect_endless(e, run, source);
        EXPECT_EQ(run.kind == endless_kind::undecided && e.all.complete(), false);
      }
    }
  });
  for (endless_kind kind : {endless_kind::local, endless_kind::fair, endless_kind::unfair})
    EXPECT_GT(kinds[kind], 5u) << name_of(kind);
}

TEST(Explore, TellsWhoIsPassedOver) {
  const explored e{reference_source("02_quiescent")};
  ASSERT_EQ(e.all.endless().size(), 2u);
  EXPECT_EQ(e.all.endless()[0].kind, endless_kind::unfair);
  EXPECT_EQ(e.all.endless()[0].whom, (std::vector<passed_over_task>{{0, {9, 3}}}));
  EXPECT_EQ(e.all.endless()[1].kind, endless_kind::fair);
  EXPECT_TRUE(e.all.ends().empty());
}

// A guard that is true again and again is never passed over for ever: in between it is false.
TEST(Explore, ATaskThatIsDisabledInBetweenIsNotPassedOver) {
  const explored e{
      "m(x) { :: a == 0; b := 1 } { spawn(m, 0); while b == 0 { suspend; a := 1 - a } }"};
  ASSERT_EQ(e.all.endless().size(), 2u);
  EXPECT_EQ(e.all.endless()[0].kind, endless_kind::unfair);  // before it started
  EXPECT_EQ(e.all.endless()[0].whom, (std::vector<passed_over_task>{{1, {1, 1}}}));
  EXPECT_EQ(e.all.endless()[1].kind, endless_kind::fair);
}

TEST(Explore, TellsATaskThatNeverGivesWay) {
  const explored e{"m(x) { while true { skip } } { spawn(m, 0); suspend; a := 1 }"};
  ASSERT_EQ(e.all.endless().size(), 1u);
  EXPECT_EQ(e.all.endless()[0].kind, endless_kind::local);
  EXPECT_EQ(e.all.endless()[0].cycle.steps, 2u);
}

// --- deadlocks ----------------------------------------------------------------------------------

TEST(Explore, ADeadlockHasItsCycle) {
  for (semantics how : {semantics::lagc, semantics::sos}) {
    const explored e{reference_source("06_deadlock"), how};
    ASSERT_EQ(e.all.ends().size(), 1u);
    EXPECT_EQ(e.all.ends()[0].what.end, ending::deadlock);
    EXPECT_EQ(e.all.ends()[0].cycles, (std::vector<std::vector<task_id>>{{1, 2}}));
  }
}

TEST(Explore, FindsAllWaitingCycles) {
  const auto awaits = [](task_id f, task_id on) {
    return blocked_task{f, statement_kind::await, {}, on};
  };
  using cycles = std::vector<std::vector<task_id>>;
  EXPECT_EQ(waiting_cycles({awaits(0, 1), awaits(1, 2)}), cycles{});
  EXPECT_EQ(waiting_cycles({awaits(0, 3), awaits(3, 3)}), (cycles{{3}}));
  EXPECT_EQ(waiting_cycles({awaits(0, 4),
                            awaits(1, 2),
                            awaits(2, 1),
                            awaits(3, 5),
                            awaits(4, 3),
                            awaits(5, 4),
                            {6, statement_kind::guard, {}, no_task}}),
            (cycles{{1, 2}, {3, 5, 4}}));
}

// --- the limit ----------------------------------------------------------------------------------

TEST(Explore, SaysThatThereIsMore) {
  const explored e{"{ while true { x := x + 1; suspend } }", semantics::lagc, {.max_states = 10}};
  EXPECT_FALSE(e.all.complete());
  EXPECT_EQ(e.all.states(), 10u);
  EXPECT_TRUE(e.all.ends().empty());
  // The other task is passed over, or its turn was not explored.
  const explored undecided{
      "m(x) { while true { suspend } } { spawn(m, 0); suspend; while true { x := x + 1 } }",
      semantics::lagc,
      {.max_states = 20}};
  ASSERT_EQ(undecided.all.endless().size(), 1u);
  EXPECT_EQ(undecided.all.endless()[0].kind, endless_kind::undecided);
  const explored spawning{
      "m(x) { skip } { while true { spawn(m, 0) } }", semantics::lagc, {.max_bytes = 10'000}};
  EXPECT_FALSE(spawning.all.complete());
  EXPECT_LT(spawning.all.states(), 200u);
  // The number of states that there are is enough.
  expect_counts(explored{"{ x := 1; x := 2 }", semantics::lagc, {.max_states = 3}}, 3, 2, 0);
}

// --- picks --------------------------------------------------------------------------------------

TEST(Picks, ThatDoNotFitSayWhatThereIs) {
  const program p =
      compiled("m(x) { skip } { spawn(m, 7); spawn(m, 8); suspend }", semantics::lagc);
  const auto message = [&](const pick_list& picks, std::uint64_t limit = 1000) -> std::string {
    try {
      return std::string(
          name_of(run_by_rules(p, rules_of(p), {.limit = limit, .picks = &picks}).end));
    } catch (const wrong_picks& wrong) {
      return wrong.what();
    }
  };
  EXPECT_EQ(message({0, 0}), "done");
  EXPECT_EQ(message({2, 1}), "done");
  EXPECT_EQ(message({0}),
            "pick number 2 is missing: step 4 is one of 0: task 1 starts m(7); "
            "1: task 2 starts m(8)");
  EXPECT_EQ(message({3}),
            "pick number 1 is 3, but step 3 is one of 0: main goes on at 1:43; "
            "1: task 1 starts m(7); 2: task 2 starts m(8)");
  EXPECT_EQ(message({0, 0, 0}), "pick number 3 is one too many: the run ends (done) after 9 steps");
  EXPECT_EQ(message({0, 0, 0}, 5), "limit");
}

// --- the drawing --------------------------------------------------------------------------------

std::string drawn(const explored& e, const dot_options& options = {.title = "t"}) {
  std::ostringstream out;
  EXPECT_TRUE(e.all.write_dot(out, options));
  return out.str();
}

std::size_t count(const std::string& text, const std::string& what) {
  const std::regex pattern{what};
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {}));
}

TEST(Drawing, HasStatesWithoutActiveTaskOnly) {
  const explored e{"m(x) { a := a * 2 + x } { spawn(m, 0); spawn(m, 1) }"};
  const std::string some = drawn(e);
  // The first, the one with the choice, two after the first task, two at the end.
  EXPECT_EQ(count(some, "\n  [0-9]+ \\["), 6u) << some;
  EXPECT_EQ(count(some, " -> "), 5u);
  EXPECT_EQ(count(some, "palegreen"), 2u);
  EXPECT_NE(some.find("\"1: task 2 starts m(1), 3 steps\""), std::string::npos) << some;
  const std::string all = drawn(e, {.title = "t", .all_states = true});
  EXPECT_EQ(count(all, "\n  [0-9]+ \\["), 15u);
  EXPECT_EQ(count(all, " -> "), 14u);
}

TEST(Drawing, ShowsErrorsDeadlocksAndLoops) {
  EXPECT_EQ(count(drawn(explored{"{ x := 1 / 0 }"}), "division-by-zero at 1:10"), 1u);
  EXPECT_EQ(count(drawn(explored{"{ :: false; skip }"}), "orange"), 1u);
  const std::string loop = drawn(explored{"{ skip; skip; while true { skip; skip } }"});
  EXPECT_EQ(count(loop, "2 -> \"2\""), 1u) << loop;
  const std::string cut =
      drawn(explored{"{ while true { x := x + 1 } }", semantics::lagc, {.max_states = 5}});
  EXPECT_EQ(count(cut, "not explored"), 1u);
}

TEST(Drawing, OfTooManyStatesIsRefused) {
  const explored e{reference_source("08_starving_guards")};
  std::ostringstream out;
  EXPECT_FALSE(e.all.write_dot(out, {.title = "t", .most = 5}));
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace rota::coop::test
