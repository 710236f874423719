// The semantics in which nothing is scheduled: several steps at a time, chosen by a seed.

#include <rota/base/rng.h>
#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

#include "support.h"

namespace rota::coop::test {
namespace {

// The rules and tasks of the steps that a configuration allows: "16/0 17/2".
std::string steps_of(const program& p, const configuration& c) {
  std::vector<derivation> found;
  const rule_table rules = rules_of(p);
  find_steps(rules, p, c, found);
  std::string all;
  for (const derivation& d : found)
    all += (all.empty() ? "" : " ") + std::string(d.by->name) + '/' + std::to_string(d.task) +
           (d.error ? "!" : "");
  return all;
}

// The configuration after some steps, each given by its index.
configuration after(const program& p, const std::vector<std::size_t>& choices) {
  configuration c = initial_configuration(p);
  const rule_table rules = rules_of(p);
  std::vector<derivation> found;
  for (std::size_t choice : choices) {
    find_steps(rules, p, c, found);
    take_step(p, c, found.at(choice));
  }
  return c;
}

// All final states that can be reached, found by trying everything.
std::set<std::string> outcomes_of(const program& p) {
  const rule_table rules = rules_of(p);
  std::set<std::string> ends;
  std::unordered_set<configuration> seen{initial_configuration(p)};
  std::vector<configuration> open(seen.begin(), seen.end());
  std::vector<derivation> found;
  while (!open.empty()) {
    const configuration c = open.back();
    open.pop_back();
    find_steps(rules, p, c, found);
    if (found.empty()) ends.insert((is_final(p, c) ? "" : "deadlock ") + to_json(state_of(p, c)));
    for (const derivation& d : found) {
      configuration next = c;
      d.error ? static_cast<void>(ends.insert("error")) : take_step(p, next, d);
      if (!d.error && seen.insert(next).second) open.push_back(next);
    }
  }
  return ends;
}

TEST(Relation, OfLagcMovesTheActiveTaskOrAnyThatIsEnabled) {
  const program p = compiled(
      "m(x) { suspend } n(x) { skip }\n"
      "{ spawn(m, 0, t); spawn(n, 0); suspend; await t; a := 1 / 0 }",
      semantics::lagc);
  EXPECT_EQ(steps_of(p, after(p, {})), "16/0");
  EXPECT_EQ(steps_of(p, after(p, {0, 0})), "16/0 17/1 17/2");
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0})), "17/1 17/2");           // main awaits 1
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 1})), "16/2");             // 2 is active
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0})), "16/1 17/2");        // 1 is suspended at once
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 0})), "16/1");          // its return
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 0, 0})), "16/0 17/2");  // main may go on
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 0, 0, 0})), "16/0!");   // and fails
}

TEST(Relation, OfLagcStartsWithASuspendedMainInTheSet) {
  const program p = compiled("{ suspend; skip }", semantics::lagc);
  const configuration c = initial_configuration(p);
  EXPECT_TRUE(is_quiescent(c));
  EXPECT_EQ(c.queue, std::deque<task_id>{0});
  EXPECT_EQ(compiled("{ suspend; skip }").main(), p.main());
  EXPECT_EQ(initial_configuration(compiled("{ suspend; skip }")).active, 0u);
}

TEST(Relation, OfSosSchedulesInTheOrderOfTasksWhateverTheRule) {
  const program p = compiled(
      "a(x) { :: true; skip } b(x) { skip } c(x) { await x; skip }\n"
      "{ spawn(a, 0, t); spawn(b, 0); spawn(c, t); spawn(b, 0) }",
      semantics::sos);
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 0})),
            "SCHEDULEGUARD/1 SCHEDULESIMPLE/2 SCHEDULESIMPLE/4");
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 0, 0, 0, 0})),
            "SCHEDULESIMPLE/2 SCHEDULEAWAIT/3 SCHEDULESIMPLE/4");
}

TEST(Relation, OfInterleavingStepsAnyTaskAndStartsEachDifferentCallOnce) {
  const program p = compiled(
      "language guard; m(x) { :: x; skip } n(x) { skip }\n"
      "{ spawn(m, 1); spawn(n, 0); spawn(m, 1); spawn(m, true); skip }",
      semantics::lagc);
  EXPECT_EQ(steps_of(p, after(p, {0})), "4/0 5/1");
  // 1 and true are different arguments.
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0})), "4/0 5/1 5/1 5/1");
  EXPECT_EQ(steps_of(p, after(p, {0, 0, 0, 0, 1})), "4/0 4/1 5/2 5/2 5/2");
  // The call that came first is the one that was answered.
  const configuration c = after(p, {0, 0, 0, 0, 1});
  ASSERT_EQ(c.open.size(), 3u);
  EXPECT_EQ(c.open[0].procedure, 1u);
}

TEST(Relation, ASeedMakesTheSameRunAndSeedsDiffer) {
  std::size_t distinct = 0;
  for (language l : {language::spawn, language::guard, language::coopwhile}) {
    for (std::uint64_t program_seed = 0; program_seed < 30; ++program_seed) {
      const std::string source = random_program(program_seed, {.in = l});
      for (semantics how : {semantics::lagc, semantics::sos}) {
        if (!exists(how, l)) continue;
        const program p = compiled(source, how);
        std::set<std::string> traces;
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          const std::string trace = run_shown(p, {.limit = 100, .seed = seed}).trace;
          EXPECT_EQ(run_shown(p, {.limit = 100, .seed = seed}).trace, trace);
          traces.insert(trace.substr(trace.find('\n')));
        }
        distinct += traces.size() > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(distinct, 30u);
}

// Draws a number only where there is a choice, and takes it modulo the number of steps.
TEST(Relation, DrawsOneNumberForEachChoice) {
  struct picks : run_observer {
    void step(const taken_step& s, const configuration&) override {
      if (s.count > 1) {
        EXPECT_EQ(s.index, expected.next() % s.count) << "step " << s.n;
      }
      single += s.count == 1 ? 1 : 0;
      several += s.count > 1 ? 1 : 0;
    }
    rota::detail::rng expected{11};
    std::size_t single = 0;
    std::size_t several = 0;
  };
  EXPECT_EQ(rota::detail::rng{0}.next(), 0xE220A8397B1DCDAFu);
  for (semantics how : {semantics::lagc, semantics::sos}) {
    picks seen;
    const program p = compiled(reference_source("08_starving_guards"), how);
    run_by_rules(p, rules_of(p), {.limit = 200, .seed = 11}, {&seen});
    EXPECT_GT(seen.single, 10u);
    EXPECT_GT(seen.several, 10u);
  }
}

// Section 11: what one semantics can lead to, the other can, however their schedulers differ.
TEST(Relation, OfSosAndLagcHaveTheSameOutcomes) {
  std::size_t with_several = 0;
  const std::vector<std::string> sources{
      reference_source("03_await_finished"),
      reference_source("04_place_in_queue"),
      reference_source("11_task_argument"),
      reference_source("13_overwritten_await"),
      "m(x) { await t; a := a + x } { spawn(m, 1, t); spawn(m, 2, u); suspend; await u; a := 7 }",
      "m(x) { :: a < 2; a := a + x } { spawn(m, 1); spawn(m, 2); spawn(m, 3); suspend; a := 0 }"};
  for (const std::string& source : sources) {
    const auto lagc = outcomes_of(compiled(source, semantics::lagc));
    EXPECT_FALSE(lagc.empty());
    with_several += lagc.size() > 1 ? 1 : 0;
    // Sos binds parameters earlier, so a deadlock may have more of them: compare what is final.
    const auto final_only = [](const std::set<std::string>& all) {
      std::set<std::string> kept;
      for (const std::string& s : all)
        if (!s.starts_with("deadlock")) kept.insert(s);
      return kept;
    };
    EXPECT_EQ(final_only(outcomes_of(compiled(source, semantics::sos))), final_only(lagc))
        << source;
  }
  EXPECT_GE(with_several, 3u);
}

// Theorems 1 and 2, existence: where a scheduler gets to, some choice of its relation gets to.
TEST(Relation, CanDoWhatTheSchedulersDo) {
  for (const std::string name : {"03_await_finished", "04_place_in_queue", "06_deadlock",
                                 "09_lost_update", "11_task_argument", "13_overwritten_await"}) {
    const std::string source = reference_source(name);
    for (semantics how : schedulers_for(parse(source).tree.language)) {
      const outcome o = run(compiled(source, how), {});
      const auto ends =
          outcomes_of(compiled(source, is_sos(how) ? semantics::sos : semantics::lagc));
      EXPECT_TRUE(ends.contains((o.end == ending::deadlock ? "deadlock " : "") + to_json(o.state)))
          << name;
    }
  }
}

TEST(Configuration, IsAValue) {
  const program p = compiled(reference_source("08_starving_guards"));
  const rule_table rules = rules_of(p);
  configuration c = initial_configuration(p);
  std::vector<derivation> found;
  const auto step = [&] {
    find_steps(rules, p, c, found);
    take_step(p, c, found.at(0));
  };
  // Two guards that starve: after the start the run repeats itself.
  std::unordered_set<configuration> seen;
  std::size_t steps = 0;
  for (; seen.insert(c).second && steps < 1000; ++steps) step();
  EXPECT_LT(steps, 60u);
  configuration copy = c;
  EXPECT_EQ(copy, c);
  EXPECT_EQ(hash_of(copy), hash_of(c));
  copy.globals[0] = value::integer(42);
  EXPECT_NE(copy, c);
  copy = c;
  copy.queue.push_back(copy.queue.front());
  copy.queue.pop_front();
  EXPECT_NE(copy, c);
  copy = c;
  copy.c = -99;  // how long a task has run is no part of what comes
  EXPECT_EQ(copy, c);
}

}  // namespace
}  // namespace rota::coop::test
