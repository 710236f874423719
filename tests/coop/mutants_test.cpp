// A scheduler with a mistake must not go unnoticed: each mutant's trace differs from that of a
// reference program. A mutant that none of them catches is a hole in the programs.

#include <rota/coop/mutants.h>

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support.h"

namespace rota::coop::test {
namespace {

constexpr run_options limited{.limit = 200};

// "24 push-to-front" of all mutants of the schedulers, and of those that a reference program's
// trace or log tells from their scheduler.
struct seen_mutants {
  std::set<std::string> all;
  std::set<std::string> in_traces;
  std::set<std::string> in_logs;
};

std::string full_name(const mutant& m) {
  return std::string(m.rules[0]) + ' ' + std::string(m.name);
}

seen_mutants look_at_all() {
  seen_mutants seen;
  for (const std::string& name : reference_programs()) {
    const std::string source = reference_source(name);
    for (semantics how : schedulers_for(parse(source).tree.language)) {
      const program p = compiled(source, how);
      const shown_run right = run_shown(p, limited);
      for (const mutant& m : mutants_of(p)) {
        const shown_run wrong = run_shown(p, mutated(p, m), limited);
        seen.all.insert(full_name(m));
        if (wrong.trace != right.trace) seen.in_traces.insert(full_name(m));
        if (wrong.log != right.log) seen.in_logs.insert(full_name(m));
      }
    }
  }
  return seen;
}

TEST(Mutants, AreAllCaughtByTraces) {
  const seen_mutants seen = look_at_all();
  EXPECT_EQ(seen.all.size(), 10u + 6u + 9u);
  EXPECT_EQ(seen.in_traces, seen.all);
}

// A log has less: neither the turns of spawn and guard, nor when a guard was looked at.
TEST(Mutants, AreCaughtByLogsButForWhatNoLogShows) {
  seen_mutants seen = look_at_all();
  for (const std::string& name : seen.in_logs) seen.all.erase(name);
  EXPECT_EQ(seen.all, (std::set<std::string>{"10 rotate-drops", "24 guard-early", "6 end-at-once",
                                             "6 push-to-front", "7 start-new-first",
                                             "YIELDGUARD guard-early"}));
}

// No mistake, no difference: the comparison itself is sound.
TEST(Mutants, TheSchedulerIsNotCaught) {
  for (const std::string& name : reference_programs()) {
    const program p = compiled(reference_source(name));
    if (mutants_of(p).empty()) continue;
    const mutant none{.name = "none", .rules = {rules_of(p)[0].name}, .take = take_step};
    EXPECT_EQ(run_shown(p, mutated(p, none), limited).trace, run_shown(p, limited).trace) << name;
  }
}

// As the page of `rota coop run` says.
TEST(Mutants, OfSosAreThoseOfLagcButForOne) {
  const auto names = [](semantics how) {
    std::set<std::string_view> all;
    for (const mutant& m : mutants_of(how, language::coopwhile)) all.insert(m.name);
    return all;
  };
  std::set<std::string_view> sos = names(semantics::sos_sched);
  EXPECT_TRUE(sos.insert("forget-done").second);
  EXPECT_EQ(sos, names(semantics::lagc_sched));
}

TEST(Mutants, AreOfSchedulers) {
  EXPECT_TRUE(mutants_of(compiled("language while; { skip }")).empty());
  EXPECT_TRUE(mutants_of(compiled("{ skip }", semantics::lagc)).empty());
  const mutant wrong{.name = "wrong", .rules = {"25"}, .take = take_step};
  EXPECT_THROW(mutated(compiled("{ skip }"), wrong), std::invalid_argument);
}

}  // namespace
}  // namespace rota::coop::test
