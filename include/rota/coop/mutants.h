// Schedulers with one mistake each: the table of rules with some of them replaced.
//
//   for (const mutant& m : mutants_of(p)) expect_caught(check(p, mutated(p, m), options));
//
// A checker that passes a broken scheduler is broken; these are for testing one, and for showing
// what the rules are good for.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_MUTANTS_H
#define ROTA_COOP_MUTANTS_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>

#include <string_view>
#include <vector>

namespace rota::coop {

struct mutant {
  std::string_view name;                // "push-to-front"
  std::vector<std::string_view> rules;  // which ones it replaces
  rule::finder find = nullptr;          // by this, or only:
  rule::taker take = nullptr;
  std::string_view about = {};
};

// Where nothing is scheduled there are none.
const std::vector<mutant>& mutants_of(semantics how, language l);
inline const std::vector<mutant>& mutants_of(const program& p) {
  return mutants_of(p.semantics(), p.language());
}

// Null if none of them has this name.
const mutant* find_mutant(const program& p, std::string_view name);

// The rules of the program with the mistake in them. Throws std::invalid_argument if a rule that it
// replaces is not among them.
rule_table mutated(const program& p, const mutant& m);

}  // namespace rota::coop

#endif
