// What the tests of coop share: reading, compiling and running programs in a line.
#ifndef ROTA_TESTS_COOP_SUPPORT_H
#define ROTA_TESTS_COOP_SUPPORT_H

#include <rota/coop/log.h>
#include <rota/coop/parse.h>
#include <rota/coop/program.h>
#include <rota/coop/rules.h>
#include <rota/coop/run.h>
#include <rota/coop/trace.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rota::coop::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::filesystem::path programs_folder() {
  return std::filesystem::path(__FILE__).parent_path() / "programs";
}

// The names of the reference programs, without endings.
inline std::vector<std::string> reference_programs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(programs_folder()))
    if (entry.path().extension() == ".cw") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string reference_source(const std::string& name) {
  return read_file(programs_folder() / (name + ".cw"));
}

// "4:7 syntax, ..." of all errors.
inline std::string errors_in(const std::string& source) {
  std::string all;
  for (const static_error& e : parse(source).errors)
    all += (all.empty() ? "" : ", ") + to_string(e.at) + ' ' + std::string(name_of(e.kind));
  return all;
}

inline program compiled(const std::string& source, semantics how = semantics::lagc_sched) {
  const parsed p = parse(source);
  if (!p) throw std::runtime_error(to_string(p.errors.front(), "test") + " in\n" + source);
  return compile(p.tree, how);
}

struct shown_run {
  outcome end;
  std::string trace;
  std::string log;
};

inline shown_run run_shown(const program& p, const rule_table& rules, const run_options& options) {
  std::ostringstream trace_text;
  std::ostringstream log_text;
  trace_writer trace{trace_text, p, options};
  log_writer lines{log_text, p};
  log_observer log{lines};
  outcome end = run_by_rules(p, rules, options, {&trace, &log});
  return {end, trace_text.str(), log_text.str()};
}

inline shown_run run_shown(const program& p, const run_options& options) {
  return run_shown(p, rules_of(p), options);
}

// By the fast way: without trace.
inline shown_run run_fast(const program& p, const run_options& options) {
  std::ostringstream log_text;
  log_writer lines{log_text, p};
  outcome end = run(p, options, &lines);
  return {end, {}, log_text.str()};
}

// Line n of a text, from 0.
inline std::string line_of(const std::string& text, std::size_t n) {
  std::istringstream lines{text};
  std::string line;
  for (std::size_t i = 0; i <= n; ++i)
    if (!std::getline(lines, line)) return "(no line)";
  return line;
}

inline std::string last_line_of(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - (start + 1) + 1);
}

// The semantics that exist for a program's language.
inline std::vector<semantics> schedulers_for(language l) {
  if (l == language::coopwhile) return {semantics::lagc_sched, semantics::sos_sched};
  return {semantics::lagc_sched};
}

}  // namespace rota::coop::test

#endif
