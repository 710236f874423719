// Random programs in each of the languages: all statements, nested spawns, guards that starve,
// deadlocks, endless loops, errors.
//
//   const std::string text = random_program(7, {.in = language::guard});
//
// Promised: the same seed and knobs make the same program on every machine, and it has no static
// errors. Not promised: that a program does anything in particular; of a hundred, some do.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_GENERATE_H
#define ROTA_COOP_GENERATE_H

#include <rota/coop/syntax.h>

#include <cstdint>
#include <string>

namespace rota::coop {

struct generator_options {
  language in = language::coopwhile;
  std::uint32_t procedures = 4;  // at most, and at least one; while has none
  std::uint32_t statements = 4;  // of a block, at most, and at least one
  std::uint32_t depth = 3;       // of blocks, that of a body included
  bool nested_spawns = true;     // procedures spawn too
  bool guards = true;            // where the language has them
  bool awaits = true;
  // More of what may fail: division, huge numbers, tasks as numbers and numbers as tasks.
  bool risky = true;
  // A skip after each suspend and at the start of each body. No task is then queued in front of an
  // await or a guard at which it has not given way, so that the schedulers of Sos and Lagc agree.
  bool settled = false;
};

std::string random_program(std::uint64_t seed, const generator_options& knobs);

// Knobs that differ from seed to seed, for whoever wants some of everything.
generator_options varied_knobs(std::uint64_t seed, language in);

}  // namespace rota::coop

#endif
