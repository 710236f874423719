#include "coop_parts.h"

#include <rota/coop/mutants.h>

#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace rota::app {

int status_of(coop::ending end) {
  switch (end) {
    case coop::ending::done:
      return fine;
    case coop::ending::deadlock:
      return deadlock;
    case coop::ending::limit:
      return step_limit;
    case coop::ending::error:
      break;
  }
  return run_time_error;
}

command& add_coop_command(command& coop, const std::string& name, const std::string& help,
                          std::function<int()> run) {
  command& c = coop.add(name, help);
  c.usage_status(wrong_usage);
  c.run([run = std::move(run)]() -> int {
    try {
      return run();
    } catch (const coop::wrong_picks& wrong) {
      throw bad_input(std::string("--picks: ") + wrong.what());
    }
  });
  return c;
}

void add_file(command& c, std::string& file) {
  c.option({.name = "FILE",
            .help = "the program; - for standard input",
            .value = &file,
            .required = true});
}

std::string read_source(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  // An empty file has nothing to read, which is no failure to read it.
  if (!in || (in.peek() != std::ifstream::traits_type::eof() && !(text << in.rdbuf())) || in.bad())
    throw bad_input("cannot read " + file);
  return text.str();
}

coop::program compiled(const std::string& file, const coop::syntax_tree& tree,
                       coop::semantics how) {
  if (!exists(how, tree.language))
    throw bad_input("--semantics: " + std::string(name_of(how)) +
                    " is for the language coopwhile; " + file + " is in " +
                    std::string(name_of(tree.language)) +
                    ", for which there are lagc-sched and lagc");
  return compile(tree, how);
}

coop::rule_table rules_with(const coop::program& p, const std::string& mutant) {
  if (mutant.empty()) return rules_of(p);
  if (const coop::mutant* const m = find_mutant(p, mutant)) return mutated(p, *m);
  std::string names;
  for (const coop::mutant& m : mutants_of(p))
    names += (names.empty() ? " there are " : ", ") + std::string(m.name);
  throw bad_input("--mutant: there is no '" + mutant + "'; for " +
                  std::string(name_of(p.semantics())) + " of a program in " +
                  std::string(name_of(p.language())) + (names.empty() ? " there are none" : names));
}

std::string about_mutants() {
  using coop::language;
  std::ostringstream text;
  const auto list = [&](const char* title, language l) {
    text << title << ":\n";
    for (const coop::mutant& m : mutants_of(coop::semantics::lagc_sched, l))
      text << "  " << std::left << std::setw(18) << m.name << m.about << '\n';
  };
  list("Schedulers with a mistake, for --mutant, in coopwhile", language::coopwhile);
  list("in spawn and guard", language::guard);
  text << "Under sos-sched there are those of coopwhile but forget-done.\n";
  return text.str();
}

int report(const std::string& file, const std::vector<coop::static_error>& errors, bool json) {
  constexpr std::size_t enough = 20;
  for (std::size_t i = 0; i < errors.size() && i < enough; ++i)
    std::cerr << to_string(errors[i], file) << '\n';
  if (errors.size() > enough) std::cerr << file << ": and " << errors.size() - enough << " more\n";
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const coop::static_error& e : errors)
      all.push_back({{"line", e.at.line},
                     {"column", e.at.column},
                     {"kind", name_of(e.kind)},
                     {"message", e.message}});
    std::cout << nlohmann::ordered_json{{"end", "static-error"}, {"errors", all}}.dump(2) << '\n';
  }
  return static_errors;
}

void report_error(const std::string& file, const coop::outcome& o) {
  std::cerr << file << ':' << to_string(o.error.at)
            << ": error: " << coop::message_of(o.error.error) << " (task " << o.task << ") ["
            << name_of(o.error.error) << "]\n";
}

std::string text_of(const coop::blocked_task& b) {
  const std::string what = b.head == coop::statement_kind::await
                               ? "awaits task " + std::to_string(b.on)
                               : "waits for its guard";
  return "task " + std::to_string(b.task) + " at " + to_string(b.at) + ' ' + what;
}

std::string counted(std::uint64_t n, const std::string& thing) {
  return std::to_string(n) + ' ' + thing + (n == 1 ? "" : "s");
}

}  // namespace rota::app
