// A checker that passes a broken scheduler is broken, and so is one that complains about a right
// one. The former shows as a mutant that is not caught, or not by the check that is named for it;
// the latter as a violation on a reference program or on a random one.

#include <rota/coop/check.h>

#include <rota/coop/generate.h>
#include <rota/coop/mutants.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support.h"

namespace rota::coop::test {
namespace {

constexpr check_options usual{.limit = 2'000, .bound = 500};

check_report checked(const std::string& source, semantics how = semantics::lagc_sched) {
  const program p = compiled(source, how);
  return check(p, rules_of(p), usual);
}

check_report checked(const std::string& source, const mutant& m,
                     semantics how = semantics::lagc_sched) {
  const program p = compiled(source, how);
  return check(p, mutated(p, m), usual);
}

check_report checked(const std::string& source, std::string_view known_mutant,
                     semantics how = semantics::lagc_sched) {
  const mutant* const m = find_mutant(compiled(source, how), known_mutant);
  if (!m) throw std::runtime_error("there is no mutant " + std::string(known_mutant));
  return checked(source, *m, how);
}

std::string text_of(const check_report& r) {
  std::string all;
  for (const violation& v : r.violations)
    all += std::string(name_of(v.check)) + " at step " + std::to_string(v.step) + ", rule " +
           v.rule + ", " + to_string(v.at) + ": expected " + v.expected + ", found " + v.found +
           '\n';
  return all;
}

// "weak fair, strong unfair 2@4:10 4@6:11, quiescent fair".
std::string text_of(const fairness_verdicts& all) {
  const auto one = [](const fairness_verdict& v) {
    std::string text(name_of(v.is));
    for (const starving_task& s : v.whom)
      text += ' ' + std::to_string(s.task) + '@' + to_string(s.at);
    return text;
  };
  return "weak " + one(all.weak) + ", strong " + one(all.strong) + ", quiescent " +
         one(all.quiescent);
}

// --- right schedulers -----------------------------------------------------------------------

TEST(Check, FindsNothingInTheSchedulersOnTheReferencePrograms) {
  for (const std::string& name : reference_programs()) {
    const std::string source = reference_source(name);
    for (semantics how : schedulers_for(parse(source).tree.language)) {
      const check_report r = checked(source, how);
      EXPECT_EQ(text_of(r), "") << name << ' ' << name_of(how);
      EXPECT_EQ(r.repeats.has_value(), r.end.end == ending::limit) << name;
    }
  }
}

TEST(Check, EndsAsARunDoes) {
  for (const std::string& name : reference_programs()) {
    const program p = compiled(reference_source(name));
    const check_report r = check(p, rules_of(p), usual);
    if (r.repeats) continue;
    EXPECT_EQ(r.end, run(p, {.limit = usual.limit})) << name;
  }
}

TEST(Check, AssertsWhatAppliesAtEveryStep) {
  const std::vector<check_kind> steps{check_kind::well_formedness, check_kind::shape,
                                      check_kind::mapping, check_kind::overtaking};
  for (const std::string name :
       {"02_quiescent", "07_bounded_buffer", "14_starving_guards_interleaved"}) {
    const std::string source = reference_source(name);
    for (semantics how : schedulers_for(parse(source).tree.language)) {
      const check_report r = checked(source, how);
      for (check_kind k : steps) EXPECT_EQ(r.times(k), r.end.steps) << name << ' ' << name_of(k);
      EXPECT_GE(r.times(check_kind::determinism), r.end.steps);
      EXPECT_EQ(r.times(check_kind::distance), is_sos(how) ? 0 : r.end.steps);
    }
  }
  EXPECT_EQ(checked("language while; { skip }").times(check_kind::mapping), 1u);
}

// Endless local computation is a mistake of the program, not of its scheduler.
TEST(Check, FindsNothingInTheSchedulersOnRandomPrograms) {
  std::size_t decided = 0;
  for (language l : {language::while_, language::spawn, language::guard, language::coopwhile}) {
    for (std::uint64_t seed = 0; seed < 800; ++seed) {
      const std::string source = random_program(seed, {.in = l});
      for (semantics how : schedulers_for(l)) {
        const program p = compiled(source, how);
        const check_report r = check(p, rules_of(p), {.limit = 300, .bound = 50});
        for (const violation& v : r.violations) {
          EXPECT_EQ(v.check, check_kind::local_computation)
              << "seed " << seed << ' ' << name_of(how) << '\n'
              << text_of(r) << source;
        }
        decided += r.repeats ? 1 : 0;
      }
    }
  }
  EXPECT_GT(decided, 200u);
}

// --- wrong ones -----------------------------------------------------------------------------

// A mutant, a program, and the checks that must catch it there.
struct catch_ {
  std::string_view mutant;
  std::string program;
  std::vector<check_kind> by;
};

void expect_caught(semantics how, const std::vector<catch_>& catches) {
  const std::vector<mutant>& all = mutants_of(compiled(reference_source(catches[0].program), how));
  ASSERT_EQ(all.size(), catches.size());
  for (const mutant& m : all) {
    const auto c = std::find_if(catches.begin(), catches.end(),
                                [&](const catch_& one) { return one.mutant == m.name; });
    ASSERT_NE(c, catches.end()) << "nobody expects " << m.name;
    const check_report r = checked(reference_source(c->program), m, how);
    EXPECT_EQ(r.violations.empty(), c->by.empty()) << m.name << '\n' << text_of(r);
    for (check_kind k : c->by) {
      const violation* const v = r.find(k);
      EXPECT_TRUE(v) << m.name << " is not caught by " << name_of(k) << " on " << c->program << '\n'
                     << text_of(r);
      if (!v) continue;
      EXPECT_TRUE(v->at);
      EXPECT_GT(v->step, 0u);
      EXPECT_NE(v->expected, v->found);
    }
  }
}

TEST(Check, CatchesTheMutantsOfTheCooperativeScheduler) {
  using enum check_kind;
  expect_caught(semantics::lagc_sched,
                {{"push-to-front", "08_starving_guards", {distance, overtaking, fairness}},
                 {"newest-first", "02_quiescent", {distance, overtaking, fairness}},
                 {"start-new-first", "05_nested", {distance}},
                 {"forget-done", "03_await_finished", {shape}},
                 {"rotate-to-front", "04_place_in_queue", {distance, fairness}},
                 {"rotate-drops", "04_place_in_queue", {shape}},
                 {"await-no-yield", "03_await_finished", {mapping}},
                 {"guard-no-yield", "07_bounded_buffer", {mapping}},
                 {"guard-early", "07_bounded_buffer", {shape}},
                 {"wake-to-rear", "04_place_in_queue", {distance}}});
}

TEST(Check, CatchesTheMutantsOfTheInterleavingScheduler) {
  using enum check_kind;
  expect_caught(
      semantics::lagc_sched,
      {{"push-to-front", "14_starving_guards_interleaved", {distance, overtaking, fairness}},
       {"newest-first", "14_starving_guards_interleaved", {distance, overtaking, fairness}},
       {"start-new-first", "09_lost_update", {distance}},
       {"end-at-once", "09_lost_update", {shape}},
       {"rotate-to-front", "10_guard_turns", {distance, fairness}},
       {"rotate-drops", "10_guard_turns", {shape}}});
}

// There is no distance for Sos. What keeps every promise and only orders otherwise is for traces.
TEST(Check, CatchesTheMutantsOfTheSosScheduler) {
  using enum check_kind;
  expect_caught(semantics::sos_sched,
                {{"push-to-front", "08_starving_guards", {overtaking, fairness}},
                 {"newest-first", "02_quiescent", {overtaking, fairness}},
                 {"start-new-first", "05_nested", {}},
                 {"rotate-to-front", "04_place_in_queue", {fairness}},
                 {"rotate-drops", "04_place_in_queue", {shape}},
                 {"await-no-yield", "03_await_finished", {mapping}},
                 {"guard-no-yield", "07_bounded_buffer", {mapping}},
                 {"guard-early", "07_bounded_buffer", {mapping}},
                 {"wake-to-rear", "04_place_in_queue", {}}});
}

// --- one mistake for each check ---------------------------------------------------------------

constexpr const char* two_that_take_turns =
    "m(x) { while true { i := x; suspend } }\n"
    "{ spawn(m, 1); spawn(m, 2) }";

// A table of rules in which two apply at once, or none.
TEST(Check, DeterminismIsOneStepNoMoreNoLess) {
  const rule::finder also_blocks = [](const program& p, const configuration& c,
                                      std::vector<derivation>& found) {
    if (c.pending != no_task || c.active != no_task || c.queue.empty()) return;
    const task_id f = c.queue.front();
    if (c.tasks[f].phase == phase::called) return;
    found.push_back({.task = f,
                     .at = p.at(c.tasks[f].rest).at,
                     .rest = c.tasks[f].rest,
                     .to = place::queue,
                     .c = c.c});
  };
  const check_report two =
      checked(two_that_take_turns, {"rotates anyone", {"21"}, also_blocks, {}});
  ASSERT_TRUE(two.find(check_kind::determinism)) << text_of(two);
  EXPECT_EQ(two.find(check_kind::determinism)->found, "rule 20 for task 1, rule 21 for task 1");

  const rule::finder never = [](const program&, const configuration&, std::vector<derivation>&) {};
  const check_report none = checked(two_that_take_turns, {"never resumes", {"20"}, never, {}});
  ASSERT_TRUE(none.find(check_kind::determinism)) << text_of(none);
  EXPECT_EQ(none.find(check_kind::determinism)->found, "none");
  EXPECT_EQ(none.find(check_kind::determinism)->step, none.end.steps + 1);
}

TEST(Check, WellFormednessIsOfTheEvents) {
  // Resumes whoever is first, even if the awaited task has not ended.
  const rule::finder impatient = [](const program& p, const configuration& c,
                                    std::vector<derivation>& found) {
    if (c.pending != no_task || c.active != no_task || c.queue.empty()) return;
    const task_id f = c.queue.front();
    if (c.tasks[f].phase == phase::called) return;
    derivation d{.task = f, .at = p.at(c.tasks[f].rest).at, .rest = p.at(c.tasks[f].rest).next};
    d.resumes = true;
    if (p.at(c.tasks[f].rest).head == statement_kind::await)
      d.events.push_back({.kind = event_kind::completion_reaction,
                          .task = environment_of(c, f)[p.at(c.tasks[f].rest).target].as_task()});
    found.push_back(d);
  };
  const program p = compiled(reference_source("04_place_in_queue"));
  rule_table rules = mutated(p, {"impatient", {"20"}, impatient, {}});
  std::erase_if(rules, [](const rule& r) { return r.name == "21"; });
  const check_report r = check(p, rules, usual);
  ASSERT_TRUE(r.find(check_kind::well_formedness)) << text_of(r);
  EXPECT_EQ(r.find(check_kind::well_formedness)->found, "compREv of task 3, which has not ended");
  EXPECT_EQ(r.find(check_kind::well_formedness)->rule, "20");
}

// Events of a life that cannot be: each replaces those of the right step.
TEST(Check, ALifeIsCallStartEndInThisOrderAndOnce) {
  // The right step of (22), (19) or (18), with its events changed.
  static rule_table right;
  static std::string_view name;
  static std::vector<event> instead;
  const rule::finder change = [](const program& p, const configuration& c,
                                 std::vector<derivation>& found) {
    for (const rule& r : right)
      if (r.name == name) r.find(p, c, found);
    if (found.empty() || found.back().events.empty()) return;
    if (found.back().events[0].kind != instead[0].kind) return;
    found.back().events = {};
    for (const event& e : instead) found.back().events.push_back(e);
  };
  const program p = compiled("m(x) { skip } { spawn(m, 7); suspend; spawn(m, 7); suspend; skip }");
  const auto found_with = [&](std::string_view in, std::vector<event> events) {
    right = rules_of(p);
    name = in;
    instead = std::move(events);
    const check_report r = check(p, mutated(p, {"events", {in}, change, {}}), usual);
    const violation* const v = r.find(check_kind::well_formedness);
    return v ? v->found : "nothing\n" + text_of(r);
  };
  const value seven = value::integer(7);
  EXPECT_EQ(found_with("22", {{event_kind::call, 2, 0, seven}}), "callEv of task 2");
  EXPECT_EQ(found_with("22", {{event_kind::completion, 2}}),
            "compEv of task 2, which has not started");
  EXPECT_EQ(found_with("22", {{event_kind::completion, 1}, {event_kind::completion, 1}}),
            "a second one");
  EXPECT_EQ(found_with("19", {{event_kind::call_reaction, 1, 0, value::integer(8)}}),
            "callREv of task 1, which was not called so");
  EXPECT_EQ(found_with("19", {{event_kind::call_reaction, 1, 0, seven},
                              {event_kind::call_reaction, 1, 0, seven}}),
            "a second one");
  EXPECT_EQ(found_with("18", {{event_kind::done}, {event_kind::done}}),
            "doneEv without a pending call");
}

TEST(Check, ShapeIsWhoIsWhere) {
  const auto find_in = [](rule::taker spoil, std::string_view rule) {
    const check_report r =
        checked(reference_source("04_place_in_queue"), {"spoilt", {rule}, nullptr, spoil});
    const violation* const v = r.find(check_kind::shape);
    return v ? v->expected + " / " + v->found : "nothing\n" + text_of(r);
  };
  EXPECT_EQ(find_in(
                [](const program& p, configuration& c, const derivation& d) {
                  take_step(p, c, d);
                  c.queue.push_back(d.task);
                },
                "24"),
            "task 0 once / 2 times");
  EXPECT_EQ(find_in(
                [](const program& p, configuration& c, const derivation& d) {
                  take_step(p, c, d);
                  c.queue.pop_back();
                },
                "18"),
            "task 1 in the queue / task 1 nowhere");
  EXPECT_EQ(find_in(
                [](const program& p, configuration& c, const derivation& d) {
                  take_step(p, c, d);
                  c.queue.push_back(d.task);
                },
                "23"),
            "task 1 removed / task 1 still in the configuration");
  EXPECT_EQ(find_in(
                [](const program& p, configuration& c, const derivation& d) {
                  take_step(p, c, d);
                  c.tasks[d.task].phase = phase::called;
                },
                "24"),
            "either a marker of task 0 or its callREv / both");
  EXPECT_EQ(find_in(
                [](const program& p, configuration& c, const derivation& d) {
                  take_step(p, c, d);
                  c.pending = no_task;
                },
                "22"),
            "a pending call of task 1, as the events say / no pending call");
}

TEST(Check, MappingIsTheSameStepOfTheRelation) {
  const rule::taker forgets = [](const program& p, configuration& c, const derivation& d) {
    derivation without = d;
    without.updates = {};
    take_step(p, c, without);
  };
  const check_report r =
      checked("{ x := 1; y := 2 }", {"forgets updates", {"22"}, nullptr, forgets});
  ASSERT_TRUE(r.find(check_kind::mapping)) << text_of(r);
  EXPECT_EQ(r.find(check_kind::mapping)->expected, "x = 1");
  EXPECT_EQ(r.find(check_kind::mapping)->found, "x = 0");
  EXPECT_EQ(r.find(check_kind::mapping)->at, (position{1, 3}));
  // A step that fails, where the relation has none that does.
  const rule::finder gives_up = [](const program& p, const configuration& c,
                                   std::vector<derivation>& found) {
    for (const rule& one : rules_of(p))
      if (one.name == "22") one.find(p, c, found);
    if (!found.empty() && !found.back().error)
      found.back().error = failure{run_time_error::overflow, found.back().at};
  };
  const check_report stopped = checked("{ skip }", {"gives up", {"22"}, gives_up, {}});
  EXPECT_EQ(stopped.end.end, ending::error);
  EXPECT_TRUE(stopped.find(check_kind::mapping));
  // The same under Sos, where only those that rotate are invisible.
  EXPECT_TRUE(
      checked("{ x := 1 }", {"forgets updates", {"LOCAL"}, nullptr, forgets}, semantics::sos_sched)
          .find(check_kind::mapping));
}

// The order of the queue is nowhere but in the distance.
TEST(Check, DistanceIsTheOrderOfTheQueue) {
  const rule::taker swaps = [](const program& p, configuration& c, const derivation& d) {
    take_step(p, c, d);
    if (c.queue.size() > 2) std::swap(c.queue[0], c.queue[1]);
  };
  const check_report r =
      checked("m(x) { suspend; skip }\n{ spawn(m, 1); spawn(m, 2); suspend; suspend; skip }",
              {"swaps", {"24"}, nullptr, swaps});
  ASSERT_TRUE(r.find(check_kind::distance)) << text_of(r);
  EXPECT_FALSE(r.find(check_kind::mapping));
  EXPECT_EQ(r.find(check_kind::distance)->expected,
            "distance (pos, idle, unm, c) of task 1 below (2, 0, 0, -2)");
  EXPECT_EQ(r.find(check_kind::distance)->found, "(2, 1, 0, -2)");
  const rule::finder miscounts = [](const program& p, const configuration& c,
                                    std::vector<derivation>& found) {
    for (const rule& one : rules_of(p))
      if (one.name == "22") one.find(p, c, found);
    if (!found.empty() && found.back().c == c.c - 1) found.back().c = c.c - 2;
  };
  const check_report counted = checked("{ skip }", {"miscounts", {"22"}, miscounts, {}});
  ASSERT_TRUE(counted.find(check_kind::distance));
  EXPECT_EQ(counted.find(check_kind::distance)->found, "-2");
}

// Waking to the rear is fair and a run of the relation: nothing but its order is wrong.
TEST(Check, DistanceAloneKnowsThePlaceRule) {
  const check_report r = checked(reference_source("04_place_in_queue"), "wake-to-rear");
  ASSERT_EQ(r.violations.size(), 1u) << text_of(r);
  EXPECT_EQ(r.violations[0].check, check_kind::distance);
  EXPECT_EQ(r.violations[0].rule, "22");
}

// A queue that is out of order only while a call is pending: none but the second form sees it.
TEST(Check, DistanceDecreasesAtEverySingleStep) {
  const rule::taker swaps = [](const program& p, configuration& c, const derivation& d) {
    take_step(p, c, d);
    if (c.pending == 3) std::swap(c.queue[0], c.queue[1]);
  };
  const rule::taker swaps_back = [](const program& p, configuration& c, const derivation& d) {
    take_step(p, c, d);
    if (d.task == 3) std::swap(c.queue[0], c.queue[1]);
  };
  const program p = compiled("m(x) { skip } { spawn(m, 1); spawn(m, 2); spawn(m, 3) }");
  rule_table rules = mutated(p, {"swaps", {"22"}, nullptr, swaps});
  for (rule& r : rules)
    if (r.name == "18") r.take = swaps_back;
  const check_report r = check(p, rules, usual);
  ASSERT_EQ(r.violations.size(), 1u) << text_of(r);
  EXPECT_EQ(r.violations[0].expected,
            "distance (pos', idle, c, unm) of task 1 below (2, 0, -2, 0)");
}

// A suspend that is passed by (22) is a step of the relation, and nobody's distance grows; but it
// was not that task's turn.
TEST(Check, DistanceIsOneAtATurn) {
  const rule::finder passes = [](const program& p, const configuration& c,
                                 std::vector<derivation>& found) {
    for (const rule& one : rules_of(p))
      if (one.name == "22") one.find(p, c, found);
    const bool suspends = c.pending == no_task && c.active != no_task &&
                          p.at(c.tasks[c.active].rest).head == statement_kind::suspend;
    if (suspends)
      found.push_back({.task = c.active,
                       .at = p.at(c.tasks[c.active].rest).at,
                       .rest = p.at(c.tasks[c.active].rest).next,
                       .c = c.c - 1});
  };
  const rule::finder never = [](const program&, const configuration&, std::vector<derivation>&) {};
  const program p = compiled("m(x) { skip } { spawn(m, 1); suspend; skip }");
  rule_table rules = mutated(p, {"passes", {"22"}, passes, {}});
  for (rule& r : rules)
    if (r.name == "24") r.find = never;
  const check_report r = check(p, rules, usual);
  ASSERT_EQ(r.violations.size(), 1u) << text_of(r);
  EXPECT_EQ(r.violations[0].expected, "task 0 at distance (1, 0, 0)");
  EXPECT_EQ(r.violations[0].found, "(3, 0, 0, -1)");
}

// Sos has no distance; there an unfair queue shows only in who overtakes whom.
TEST(Check, OvertakingIsOneTurnEach) {
  const check_report r = checked(two_that_take_turns, "push-to-front", semantics::sos_sched);
  ASSERT_TRUE(r.find(check_kind::overtaking)) << text_of(r);
  EXPECT_EQ(r.find(check_kind::overtaking)->expected,
            "at most one turn of task 1 while task 2 is enabled");
  EXPECT_TRUE(r.find(check_kind::fairness));
  EXPECT_EQ(r.by_tasks.quiescent.is, verdict::unfair);
  EXPECT_FALSE(r.find(check_kind::mapping));
}

// However long it takes until the run repeats itself: the check goes on for another round.
TEST(Check, OvertakingInAPeriodIsSeen) {
  std::string skips;
  for (int i = 0; i < 40; ++i, skips += "skip; ") {
    const check_report r = checked(
        "m(x) { skip } { spawn(m, 1); " + skips + "while true { suspend } }", "push-to-front");
    EXPECT_TRUE(r.repeats);
    EXPECT_TRUE(r.find(check_kind::overtaking)) << i << '\n' << text_of(r);
  }
}

TEST(Check, LocalComputationEndsOrIsReported) {
  for (semantics how : {semantics::lagc_sched, semantics::sos_sched}) {
    // Never the same configuration: only the bound tells.
    const check_report counts =
        checked("{ while i < 3 { i := i + 1 } while true {\n  i := i + 1 } }", how);
    ASSERT_TRUE(counts.find(check_kind::local_computation));
    EXPECT_EQ(counts.find(check_kind::local_computation)->at, (position{1, 30}));
    EXPECT_EQ(counts.find(check_kind::local_computation)->step, usual.bound + 1);
    EXPECT_EQ(counts.by_tasks.quiescent.is, verdict::undecided);
    // The same again and again: known at once, and no verdict on what never is quiescent.
    const check_report repeats = checked("m(x) { skip } { spawn(m, 0); while true { skip } }", how);
    ASSERT_TRUE(repeats.find(check_kind::local_computation));
    EXPECT_LT(repeats.end.steps, 20u);
    EXPECT_EQ(repeats.by_tasks.quiescent.is, verdict::none);
    EXPECT_EQ(repeats.by_continuations.quiescent.is, verdict::none);
    EXPECT_FALSE(repeats.find(check_kind::fairness));
    // Long is not endless.
    EXPECT_EQ(text_of(checked(
                  "{ while i < 200 { i := i + 1 } suspend; while i > 0 { i := i - 1 } }", how)),
              "");
  }
}

// --- fairness ---------------------------------------------------------------------------------

TEST(Fairness, OfTheReferencePrograms) {
  const auto by_tasks = [](const std::string& name) {
    return text_of(checked(reference_source(name)).by_tasks);
  };
  EXPECT_EQ(by_tasks("01_sequence"), "weak fair, strong fair, quiescent none");
  EXPECT_EQ(by_tasks("02_quiescent"), "weak fair, strong fair, quiescent fair");
  EXPECT_EQ(by_tasks("06_deadlock"), "weak fair, strong fair, quiescent fair");
  EXPECT_EQ(by_tasks("08_starving_guards"),
            "weak fair, strong unfair 2@4:10 4@6:11, quiescent fair");
  EXPECT_EQ(by_tasks("10_guard_turns"), "weak fair, strong unfair 1@7:11, quiescent none");
  EXPECT_EQ(by_tasks("14_starving_guards_interleaved"),
            "weak fair, strong unfair 1@10:23 4@7:22, quiescent none");
}

// What is never produced is what stands behind the guard.
TEST(Fairness, OfContinuations) {
  EXPECT_EQ(text_of(checked(reference_source("08_starving_guards")).by_continuations),
            "weak fair, strong unfair 2@4:17 4@6:17, quiescent fair");
  EXPECT_EQ(text_of(checked(reference_source("02_quiescent")).by_continuations),
            "weak fair, strong fair, quiescent fair");
}

TEST(Fairness, IsTheSameUnderSos) {
  const check_report r = checked(reference_source("08_starving_guards"), semantics::sos_sched);
  EXPECT_EQ(text_of(r.by_tasks), "weak fair, strong unfair 2@4:10 4@6:11, quiescent fair");
}

TEST(Fairness, OfRunsThatGrowIsUndecided) {
  const check_report r = checked("m(x) { skip } { while true { spawn(m, 0); suspend } }");
  EXPECT_EQ(text_of(r.by_tasks), "weak undecided, strong undecided, quiescent undecided");
  EXPECT_EQ(r.end.steps, usual.limit);
  EXPECT_FALSE(r.repeats);
}

// The loop is left whenever b is false, but its test always comes when b is true: the task moves
// for ever, and what it could do half of the time it never does.
TEST(Fairness, OfContinuationsIsMoreThanOfTasks) {
  const check_report r = checked(
      "language spawn;\n"
      "reader(x) { skip; while b { skip }\n  seen := 1 }\n"
      "writer(x) { while true { b := false; b := true; skip } }\n"
      "{ b := true; spawn(reader, 0); spawn(writer, 0) }");
  EXPECT_EQ(text_of(r), "");
  EXPECT_EQ(text_of(r.by_tasks), "weak fair, strong fair, quiescent none");
  EXPECT_EQ(text_of(r.by_continuations), "weak fair, strong unfair 1@3:3, quiescent none");
}

TEST(Fairness, IsDecidedOnOnePeriod) {
  const program p = compiled(reference_source("08_starving_guards"));
  const check_report r = check(p, rules_of(p), usual);
  ASSERT_TRUE(r.repeats);
  const auto after = [&](std::uint64_t steps) {
    configuration c = initial_configuration(p);
    const rule_table rules = rules_of(p);
    std::vector<derivation> found;
    for (; steps > 0; --steps) {
      find_steps(rules, p, c, found);
      take_step(p, c, found.at(0));
    }
    return c;
  };
  EXPECT_EQ(after(r.repeats->from), after(r.repeats->from + r.repeats->length));
  EXPECT_GT(r.repeats->length, 0u);
  for (std::uint64_t less = 1; less < r.repeats->length; ++less)
    EXPECT_NE(after(r.repeats->from), after(r.repeats->from + less));
}

}  // namespace
}  // namespace rota::coop::test
