// Any bytes give errors or a program, and any program a result: no crash, no hang. Random bytes,
// random tokens, and programs of the corpus with something changed; all by seed. What is asked of
// them is what libFuzzer asks (tests/fuzz/coop_fuzz.cpp).

#include <rota/base/rng.h>
#include <rota/coop/generate.h>

#include <gtest/gtest.h>

#include <set>

#include "fuzz/any_source.h"
#include "support.h"

namespace rota::coop::test {
namespace {

using rota::detail::rng;

void try_source(const std::string& source) { ASSERT_EQ(wrong_with(source), "") << source; }

struct corpus_file {
  std::string name;
  std::string text;
};

// The cases of the fuzz target: the reference programs, and what is hard to read or to run.
std::vector<corpus_file> corpus() {
  std::vector<corpus_file> all;
  for (const std::string& name : reference_programs())
    all.push_back({name, reference_source(name)});
  const auto folder = programs_folder().parent_path().parent_path() / "fuzz" / "coop";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    all.push_back({entry.path().stem().string(), read_file(entry.path())});
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.name < b.name; });
  return all;
}

// A file is named for its first error, or for the error that it ends with.
TEST(Robustness, TheCorpusHasEveryKindOfError) {
  std::set<std::string> kinds;
  for (const corpus_file& f : corpus()) {
    try_source(f.text);
    const parsed p = parse(f.text);
    const std::string head = f.name.substr(0, f.name.find('_'));
    if (!p) {
      EXPECT_EQ(name_of(p.errors.front().kind), head) << f.name;
      kinds.emplace(name_of(p.errors.front().kind));
      continue;
    }
    const outcome o = run(compile(p.tree, semantics::lagc_sched), {});
    kinds.emplace(o.end == ending::error ? name_of(o.error.error) : name_of(o.end));
    EXPECT_TRUE(head == "run" || std::isdigit(static_cast<unsigned char>(head[0]))) << f.name;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"lexical", "syntax", "nesting", "duplicate-procedure",
                                          "unknown-procedure", "unbound-variable", "language",
                                          "done", "deadlock", "limit", "division-by-zero",
                                          "overflow", "not-a-number", "not-a-task"}));
}

TEST(Robustness, LongAndDeepSources) {
  std::string sum = "1";
  for (int i = 0; i < 10'000; ++i) sum += i % 3 ? " + 1" : " || 1";
  std::string statements;
  std::string procedures;
  for (int i = 0; i < 2'000; ++i) {
    statements += "x := x + 1; ";
    procedures += "m" + std::to_string(i) + "(x) { skip } ";
  }
  for (const std::string& source :
       {"{ x := " + sum + " }", "{ " + statements + "skip }", procedures + "{ skip }",
        std::string(200'000, '('), "{ x := " + std::string(200'000, '-'),
        "{" + std::string(200'000, ' '), std::string(200'000, '\n'),
        "{ x := " + std::string(200'000, '9') + " }", "{ " + std::string(200'000, 'x') + " := 1 }",
        std::string(100'000, '\0'), "// " + std::string(200'000, '\xFF') + "\n{ skip }",
        std::string(100'000, '\xC3')})
    EXPECT_EQ(wrong_with(source), "") << source.substr(0, 40);
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
  for (const corpus_file& f : corpus()) sources.push_back(f.text);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (language l : {language::while_, language::spawn, language::guard, language::coopwhile})
      sources.push_back(random_program(seed, {.in = l}));
  std::size_t still_programs = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    rng random{seed};
    std::string source = sources[random.below(sources.size())];
    if (source.empty()) continue;
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
