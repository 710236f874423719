// Any bytes give errors or a program, and any program a result: no crash, no hang. Random bytes,
// random tokens, and reference programs with something changed; all by seed.

#include <rota/base/rng.h>
#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include "support.h"

namespace rota::coop::test {
namespace {

using rota::detail::rng;

// Reads it, checks what the result says, and runs it if it is a program.
void try_source(const std::string& source) {
  const parsed p = parse(source);
  for (std::size_t i = 0; i < p.errors.size(); ++i) {
    const static_error& e = p.errors[i];
    ASSERT_TRUE(e.at) << source;
    ASSERT_GT(e.at.column, 0u);
    ASSERT_FALSE(e.message.empty());
    if (i > 0) {
      ASSERT_LE(p.errors[i - 1].at, e.at) << source;
    }
  }
  if (!p) return;
  for (semantics how :
       {semantics::lagc_sched, semantics::sos_sched, semantics::lagc, semantics::sos}) {
    if (!exists(how, p.tree.language)) continue;
    const program made = compile(p.tree, how);
    const shown_run slow = run_shown(made, {.limit = 60, .seed = 5});
    ASSERT_LE(slow.end.steps, 60u);
    if (is_scheduler(how)) {
      ASSERT_EQ(end_record(run_fast(made, {.limit = 60}).end), end_record(slow.end)) << source;
    }
  }
}

TEST(Robustness, RandomBytes) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    rng random{seed};
    std::string source(random.below(200), ' ');
    for (char& c : source) c = static_cast<char>(random.below(256));
    try_source(source);
  }
}

TEST(Robustness, RandomTokens) {
  const std::vector<std::string> words{
      "language", "while",  "spawn", "guard", "coopwhile", "skip", "if", "suspend", "await", "true",
      "false",    "return", ":=",    "::",    "||",        "&&",   "==", "!=",      "<=",    ">=",
      ";",        ",",      "(",     ")",     "{",         "}",    "<",  ">",       "+",     "-",
      "*",        "/",      "%",     "!",     "x",         "m",    "7",  "\n",      "//",    "/*"};
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    rng random{seed};
    std::string source;
    for (std::uint64_t n = random.below(60); n > 0; --n)
      source += words[random.below(words.size())] + (random.below(4) ? " " : "");
    try_source(source);
    try_source("{ " + source + "}");
  }
}

// One change is the best way to get close to a program that is not one.
TEST(Robustness, ChangedPrograms) {
  std::vector<std::string> sources;
  for (const std::string& name : reference_programs()) sources.push_back(reference_source(name));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (language l : {language::while_, language::spawn, language::guard, language::coopwhile})
      sources.push_back(random_program(seed, {.in = l}));
  std::size_t still_programs = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    rng random{seed};
    std::string source = sources[random.below(sources.size())];
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const std::size_t at = random.below(source.size());
      switch (random.below(4)) {
        case 0:
          source.erase(at, 1 + random.below(8));
          break;
        case 1:
          source.insert(at, 1, static_cast<char>(random.below(256)));
          break;
        case 2:
          source.insert(at, source.substr(random.below(source.size()), random.below(30)));
          break;
        default:
          std::swap(source[at], source[random.below(source.size())]);
          break;
      }
      if (source.empty()) source = "{";
    }
    still_programs += parse(source) ? 1 : 0;
    try_source(source);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(still_programs, 200u);
}

}  // namespace
}  // namespace rota::coop::test
