// Looks for disagreements between what should be the same, on random programs.
//
//   const fuzz_report r = fuzz({.first = 1, .last = 1000});
//   for (const fuzz_finding& f : r.findings) show(f.found, f.shrunk);
//
// What is compared is a mode. The schedulers are tables of rules, so that one with a mistake in it
// can be looked for as well.
//
// Promised: the same seeds examine the same programs in the same way on every machine.
// Not promised: that what was found nowhere is nowhere.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_FUZZ_H
#define ROTA_COOP_FUZZ_H

#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>
#include <rota/coop/syntax.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

enum class fuzz_mode : std::uint8_t {
  text,    // a program that is printed and read again is the same
  fast,    // run() shows the log and the end that the rules give
  agree,   // the schedulers of Sos and Lagc make the same decisions, where they are the same
  check,   // check() finds nothing, and its run ends as others do
  random,  // runs by chance are well-formed, and end where the rules let them
};
inline constexpr std::size_t fuzz_modes = 5;

// As on the command line.
std::string_view name_of(fuzz_mode mode) noexcept;
std::optional<fuzz_mode> fuzz_mode_named(std::string_view name) noexcept;

struct disagreement {
  fuzz_mode mode = fuzz_mode::text;
  semantics how = semantics::lagc_sched;
  std::string what;    // which comparison of the mode: "log", "distance"
  std::string detail;  // for people

  // Whether two are the same, on whatever program.
  bool is_like(const disagreement& other) const {
    return mode == other.mode && how == other.how && what == other.what;
  }
};

// What was done and seen.
struct fuzz_counts {
  std::uint64_t programs = 0;
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::array<std::uint64_t, 4> ends{};    // by ending, of the schedulers' runs by rules
  std::array<std::uint64_t, 4> errors{};  // by run_time_error
  std::uint64_t periodic = 0;             // runs whose fairness was decided by their period
  std::uint64_t agreed = 0;               // programs on which Sos and Lagc were held equal
  std::uint64_t apart = 0;                // programs on which the two may differ

  void add(const fuzz_counts& more);
};

struct examine_options {
  std::vector<fuzz_mode> modes = {fuzz_mode::text, fuzz_mode::fast, fuzz_mode::agree,
                                  fuzz_mode::check, fuzz_mode::random};
  std::uint64_t limit = 300;  // steps of each run
  std::uint64_t seed = 1;     // of the runs by chance
  std::function<rule_table(const program&)> rules = rules_of;
};

struct examined {
  std::vector<disagreement> found;
  fuzz_counts counts;
};

// One program, which has no static errors.
examined examine(const syntax_tree& tree, const examine_options& options);

// The smallest program that is found by leaving out and simplifying, as long as it is a program and
// still fails, as the given one does. Small is the printed text; the tree is as read from it.
syntax_tree shrink(const syntax_tree& tree,
                   const std::function<bool(const syntax_tree&)>& still_fails);

struct fuzz_finding {
  std::uint64_t seed = 0;
  language in = language::coopwhile;
  disagreement found;
  std::string program;
  std::string shrunk;
  disagreement left;        // what is found in the shrunk one
  std::uint64_t times = 1;  // how many programs showed something like it
};

struct fuzz_options {
  std::uint64_t first = 1;  // seeds, both included
  std::uint64_t last = 1000;
  std::vector<language> languages = {language::while_, language::spawn, language::guard,
                                     language::coopwhile};
  std::vector<fuzz_mode> modes = examine_options{}.modes;
  std::function<rule_table(const program&)> rules = rules_of;
  // Called after each seed; false ends the search.
  std::function<bool(std::uint64_t seed, const fuzz_counts&, std::size_t findings)> on_progress =
      {};
};

struct fuzz_report {
  fuzz_counts counts;
  std::vector<fuzz_finding> findings;  // the first of each kind
  bool stopped = false;                // by on_progress
};

fuzz_report fuzz(const fuzz_options& options);

}  // namespace rota::coop

#endif
