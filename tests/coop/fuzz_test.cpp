// A search that finds nothing in a broken scheduler is broken, and so is one that complains about a
// right one. The former shows as a mutant that no seed finds, the latter as a finding. Programs
// that never do what they are meant for would hide both, so they are counted.

#include <rota/coop/fuzz.h>

#include <rota/coop/generate.h>
#include <rota/coop/mutants.h>
#include <rota/coop/print.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support.h"
#include "support/strength.h"

namespace rota::coop::test {
namespace {

constexpr std::array languages{language::while_, language::spawn, language::guard,
                               language::coopwhile};

std::string text_of(const fuzz_finding& f) {
  return std::string(name_of(f.in)) + ", seed " + std::to_string(f.seed) + ", " +
         std::string(name_of(f.left.mode)) + ' ' + std::string(name_of(f.left.how)) + ' ' +
         f.left.what + ": " + f.left.detail + '\n' + f.shrunk;
}

// The rules with the mistake, where there is that rule.
auto with(const mutant& m) {
  return [m](const program& p) {
    const rule_table rules = rules_of(p);
    const bool has_it = std::any_of(rules.begin(), rules.end(),
                                    [&](const rule& r) { return r.name == m.rules[0]; });
    return has_it ? mutated(p, m) : rules;
  };
}

// Until something is found.
fuzz_report search(const mutant& m, std::vector<language> in, std::vector<fuzz_mode> modes,
                   std::uint64_t seeds) {
  fuzz_options options{.last = seeds, .languages = std::move(in), .modes = std::move(modes)};
  options.rules = with(m);
  options.on_progress = [](std::uint64_t, const fuzz_counts&, std::size_t n) { return n == 0; };
  return fuzz(options);
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// --- programs -----------------------------------------------------------------------------------

// The number was the same with both compilers. It changes if the generator does, and with it what
// every seed stands for.
TEST(Generator, MakesTheSameProgramsEverywhere) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    for (language l : languages)
      for (char c : random_program(seed, varied_knobs(seed, l)))
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  EXPECT_EQ(hash, 18298545511827613938u);
}

struct nesting : run_observer {
  void step(const taken_step& s, const configuration&) override {
    for (const event& e : s.what.events)
      if (e.kind == event_kind::call && s.what.task != 0) ++spawned_by_tasks;
  }
  std::size_t spawned_by_tasks = 0;
};

void count_kinds(const block& b, std::map<statement_kind, std::size_t>& kinds) {
  for (const statement& s : b.statements) {
    ++kinds[s.kind];
    count_kinds(s.body, kinds);
  }
}

TEST(Generator, MakesSomeOfEverything) {
  for (language l : languages) {
    SCOPED_TRACE(name_of(l));
    std::map<statement_kind, std::size_t> kinds;
    nesting nested;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const parsed p = parse(random_program(seed, varied_knobs(seed, l)));
      ASSERT_TRUE(p) << seed;
      for (const procedure& m : p.tree.procedures) count_kinds(m.body, kinds);
      count_kinds(p.tree.main, kinds);
      const program made = compile(p.tree, semantics::lagc_sched);
      run_by_rules(made, rules_of(made), {.limit = 100}, {&nested});
    }
    const fuzz_counts c = fuzz({.last = 500, .languages = {l}, .modes = {fuzz_mode::fast}}).counts;
    const bool tasks = l != language::while_;
    const bool guards = l == language::guard || l == language::coopwhile;
    const bool cooperative = l == language::coopwhile;
    using kind = statement_kind;
    for (kind k : {kind::skip, kind::assign, kind::if_, kind::while_}) EXPECT_GT(kinds[k], 50u);
    EXPECT_EQ(kinds[kind::spawn] > 50, tasks);
    EXPECT_EQ(kinds[kind::guard] > 50, guards);
    EXPECT_EQ(kinds[kind::suspend] > 50, cooperative);
    EXPECT_EQ(kinds[kind::await] > 50, cooperative);
    EXPECT_EQ(nested.spawned_by_tasks > 50, tasks);
    const auto ended = [&](ending e) { return c.ends[static_cast<std::size_t>(e)]; };
    EXPECT_GT(ended(ending::done), 50u);
    EXPECT_GT(ended(ending::limit), 50u);
    EXPECT_EQ(ended(ending::deadlock) > 20, guards) << ended(ending::deadlock);
    const auto failed = [&](run_time_error e) { return c.errors[static_cast<std::size_t>(e)]; };
    EXPECT_GT(failed(run_time_error::overflow), 2u);
    EXPECT_GT(failed(run_time_error::division_by_zero), 2u);
    EXPECT_EQ(failed(run_time_error::not_a_number) > 2, cooperative);
    EXPECT_EQ(failed(run_time_error::not_a_task) > 2, cooperative);
  }
}

TEST(Generator, KeepsToItsKnobs) {
  std::map<statement_kind, std::size_t> kinds;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const parsed p = parse(random_program(
        seed, {.procedures = 2, .nested_spawns = false, .guards = false, .awaits = false}));
    ASSERT_TRUE(p);
    EXPECT_LE(p.tree.procedures.size(), 2u);
    for (const procedure& m : p.tree.procedures) {
      std::map<statement_kind, std::size_t> inside;
      count_kinds(m.body, inside);
      EXPECT_EQ(inside[statement_kind::spawn], 0u);
    }
    count_kinds(p.tree.main, kinds);
  }
  EXPECT_GT(kinds[statement_kind::spawn], 0u);
  EXPECT_EQ(kinds[statement_kind::guard] + kinds[statement_kind::await], 0u);
}

// --- printing -----------------------------------------------------------------------------------

std::string printed_expression(const std::string& e) {
  const std::string text = source_of(parse("{ a := 0; b := 0; x := " + e + " }").tree);
  const std::size_t begin = text.find("x := ") + 5;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Print, SetsBracketsWhereTheyAreNeeded) {
  for (const std::string same : {"a - b - 1",
                                 "a - (b - 1)",
                                 "a - (b + 1)",
                                 "(a + b) * 2",
                                 "a + b * 2",
                                 "-(a + b)",
                                 "--a",
                                 "!!(a == b)",
                                 "-a * -b",
                                 "(a < b) == (b < a)",
                                 "a < b == b < a",
                                 "(a == b) == (b == a)",
                                 "(a < b) < a",
                                 "a < (b < a)",
                                 "a || b && a",
                                 "(a || b) && a",
                                 "a && (b && a)",
                                 "a % b / 2 * a",
                                 "a % (b / 2)",
                                 "9223372036854775807 - 1",
                                 "true != false"})
    EXPECT_EQ(printed_expression(same), same == "(a < b) == (b < a)" ? "a < b == b < a" : same);
  EXPECT_EQ(printed_expression("((a) + ((b)))"), "a + b");
}

TEST(Print, GivesTheSameProgram) {
  for (const std::string& name : reference_programs()) {
    const parsed p = parse(reference_source(name));
    EXPECT_TRUE(examine(p.tree, {.modes = {fuzz_mode::text}}).found.empty()) << name;
    // The traces are the same but for positions, of which the logs have none.
    const program again = compiled(source_of(p.tree));
    EXPECT_EQ(run_shown(again, {}).log, run_shown(compiled(reference_source(name)), {}).log);
  }
}

// Brackets that are needed were there before, so what was not nested too deep is not now.
TEST(Print, NestsNoDeeperThanTheSource) {
  std::string deep = "1";
  for (unsigned i = 0; i + 1 < max_nesting; ++i) deep = "1 - (" + deep + ")";
  const parsed p = parse("{ x := " + deep + " }");
  ASSERT_TRUE(p);
  EXPECT_TRUE(parse(source_of(p.tree)));
  std::string longest = "1";
  for (unsigned i = 0; i < 20'000; ++i) longest += " + 1";
  EXPECT_EQ(printed_expression(longest), longest);
}

// --- shrinking ----------------------------------------------------------------------------------

TEST(Shrink, LeavesWhatIsNeededToFail) {
  const std::string source =
      "work(x) { suspend; y := x }\n"
      "wait(x) { if y > 3 { while x != y { await t; y := y * 2 + 1 } } }\n"
      "{ y := 7; spawn(work, y + 1, t); spawn(wait, t, u); await u }";
  const auto awaits_in_a_task = [](const syntax_tree& tree) {
    for (const procedure& m : tree.procedures) {
      std::map<statement_kind, std::size_t> kinds;
      count_kinds(m.body, kinds);
      if (kinds[statement_kind::await] > 0) return true;
    }
    return false;
  };
  EXPECT_EQ(source_of(shrink(parse(source).tree, awaits_in_a_task)),
            "wait(t) {\n  await t\n}\n{\n  skip\n}\n");
}

TEST(Shrink, SimplifiesExpressions) {
  const auto divides = [](const syntax_tree& tree) {
    return run(compile(tree, semantics::lagc_sched), {}).error.error ==
           run_time_error::division_by_zero;
  };
  const std::string source = "{ b := 4; a := b; c := (a + 2 * (b / (a - 4))) - !b; skip }";
  ASSERT_TRUE(divides(parse(source).tree));
  EXPECT_EQ(source_of(shrink(parse(source).tree, divides)), "{\n  a := 0 / 0\n}\n");
}

// --- searching ----------------------------------------------------------------------------------

TEST(Fuzz, FindsNothingInTheSchedulers) {
  const std::uint64_t last = rota::test::long_tests() ? 20'000 : 200;
  const fuzz_report r = fuzz({.last = last});
  for (const fuzz_finding& f : r.findings) ADD_FAILURE() << text_of(f);
  EXPECT_EQ(r.counts.programs, 4 * last);
  EXPECT_GT(r.counts.runs, 15 * last);
  EXPECT_GT(r.counts.periodic, last / 5);
  // Section 11 lets Sos and Lagc differ on some programs, and not on all.
  EXPECT_GT(r.counts.agreed, last / 2);
  EXPECT_GT(r.counts.apart, last / 10);
}

TEST(Fuzz, TheSameSeedsFindTheSame) {
  const mutant& m = mutants_of(semantics::lagc_sched, language::coopwhile).front();
  const auto found = [&] {
    return text_of(search(m, {language::coopwhile}, fuzz_options{}.modes, 50).findings.at(0));
  };
  EXPECT_EQ(found(), found());
}

struct wanted {
  fuzz_mode mode;
  std::uint64_t seeds;
  std::size_t lines;
};

void expect_found(const mutant& m, std::vector<language> in, const wanted& w) {
  const fuzz_report r = search(m, std::move(in), {w.mode}, w.seeds);
  ASSERT_FALSE(r.findings.empty()) << m.name << " is not found by " << name_of(w.mode);
  const fuzz_finding& f = r.findings.front();
  EXPECT_LE(lines_of(f.shrunk), w.lines) << m.name << '\n' << text_of(f);
  // What was shrunk still shows it.
  EXPECT_TRUE(f.left.is_like(f.found));
  EXPECT_TRUE(parse(f.shrunk)) << f.shrunk;
}

TEST(Fuzz, FindsMutantsOfTheCooperativeScheduler) {
  for (const mutant& m : mutants_of(semantics::lagc_sched, language::coopwhile)) {
    for (fuzz_mode mode : {fuzz_mode::fast, fuzz_mode::check})
      expect_found(m, {language::coopwhile}, {mode, 50, 12});
    // These two get nowhere, and a run that was cut off is a prefix of any.
    if (m.name == "forget-done" || m.name == "rotate-to-front") continue;
    expect_found(m, {language::coopwhile}, {fuzz_mode::agree, 50, 16});
  }
}

TEST(Fuzz, FindsMutantsOfTheSchedulerOfSos) {
  for (const mutant& m : mutants_of(semantics::sos_sched, language::coopwhile)) {
    expect_found(m, {language::coopwhile}, {fuzz_mode::fast, 300, 12});
    if (m.name != "rotate-to-front")
      expect_found(m, {language::coopwhile}, {fuzz_mode::agree, 300, 16});
    // These two keep every promise: only their order is another.
    if (m.name != "start-new-first" && m.name != "wake-to-rear")
      expect_found(m, {language::coopwhile}, {fuzz_mode::check, 100, 12});
  }
}

TEST(Fuzz, FindsMutantsOfTheInterleavingScheduler) {
  for (const mutant& m : mutants_of(semantics::lagc_sched, language::guard))
    for (fuzz_mode mode : {fuzz_mode::fast, fuzz_mode::check})
      expect_found(m, {language::spawn, language::guard}, {mode, 50, 12});
}

// A step that forgets what it sets.
void lose_updates(const program& p, configuration& c, const derivation& d) {
  derivation lost = d;
  lost.updates = {};
  take_step(p, c, lost);
}

// Rule (16), and an await that does not wait for its task.
void await_nobody(const program& p, const configuration& c, std::vector<derivation>& found) {
  for (const rule& r : rules_of(p))
    if (r.name == "16") r.find(p, c, found);
  for (task_id f : c.queue) {
    const instruction& i = p.at(c.tasks[f].rest);
    if (c.active != no_task || i.head != statement_kind::await || !is_blocked(p, c, f)) continue;
    derivation d{.task = f, .at = i.at, .rest = i.next};
    d.events.push_back({.kind = event_kind::completion_reaction,
                        .task = environment_of(c, f)[i.target].as_task()});
    found.push_back(d);
  }
}

TEST(Fuzz, FindsMistakesInTheRelations) {
  expect_found({"await that does not wait", {"16"}, await_nobody, nullptr}, {language::coopwhile},
               {fuzz_mode::random, 20, 12});
  for (const char* name : {"4", "5", "16", "17", "LOCAL", "SPAWNSTART"})
    expect_found({"lost updates", {name}, nullptr, lose_updates},
                 {language::spawn, language::coopwhile}, {fuzz_mode::random, 20, 12});
}

}  // namespace
}  // namespace rota::coop::test
