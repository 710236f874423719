// What holds for any bytes given as a table of jobs: they are errors, each with its place in them,
// or jobs; and jobs can be written as TOML that reads as the same jobs.
#ifndef ROTA_TESTS_FUZZ_ANY_TABLE_H
#define ROTA_TESTS_FUZZ_ANY_TABLE_H

#include <rota/job/table.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace rota::job::test {

// One behind the end of the line is a place too: that of what is missing there.
inline bool is_inside(std::string_view text, const problem& p) {
  if (p.line == 0) return p.column == 0;
  for (std::uint32_t line = 1; line < p.line; ++line) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return false;
    text.remove_prefix(end + 1);
  }
  return p.column <= text.substr(0, text.find('\n')).size() + 1;
}

inline std::string wrong_with_problems(const table& t, std::string_view text) {
  for (std::size_t i = 0; i < t.problems.size(); ++i) {
    const problem& p = t.problems[i];
    if (!is_inside(text, p)) return "a problem outside of the text: " + to_text(p);
    if (p.text.empty()) return "a problem without a text";
    for (char c : p.text)
      if (static_cast<unsigned char>(c) < 0x20) return "a text of more than one line: " + p.text;
    if (i > 0 && p.line < t.problems[i - 1].line) return "problems out of order";
  }
  return !t.ok() && !t.jobs.empty() ? "errors, and jobs all the same" : "";
}

// What the names are, is no secret; two jobs of one name would be one in the ledger.
inline std::string wrong_with_jobs(const table& t) {
  std::vector<std::string_view> names;
  for (const definition& d : t.jobs) {
    names.push_back(d.name);
    if (!wrong_with_name(d.name).empty()) return "a name that is none: " + d.name;
    if (d.command.argv.empty()) return "a job without a command";
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end() ? "" : "a name twice";
}

inline std::string wrong_with_the_way_back(const table& t) {
  const std::string written = to_toml(t.jobs, t.groups);
  const table back =
      read_table(written, {.file = "back", .form = table_form::toml, .owner = t.owner});
  if (!back.ok()) return "written as no table: " + to_text(back.problems.front()) + '\n' + written;
  if (back.jobs.size() != t.jobs.size() || back.groups != t.groups)
    return "written as another table:\n" + written;
  for (std::size_t i = 0; i < t.jobs.size(); ++i)
    if (!same(t.jobs[i], back.jobs[i])) return "written as another job:\n" + to_toml(t.jobs[i]);
  return "";
}

// Empty if all is well.
inline std::string wrong_with(std::string_view text, const table_options& o) {
  const table t = read_table(text, o);
  if (std::string wrong = wrong_with_problems(t, text); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_with_jobs(t); !wrong.empty()) return wrong;
  check_together({&t});
  return wrong_with_the_way_back(t);
}

// In every form that a crontab has.
inline std::string wrong_with_crontab(std::string_view text) {
  for (table_form form : {table_form::user_crontab, table_form::system_crontab})
    for (cron_syntax syntax : {cron_syntax::strict, cron_syntax::vixie})
      if (std::string wrong = wrong_with(text, {.file = "a/tab", .form = form, .syntax = syntax});
          !wrong.empty())
        return wrong;
  return "";
}

inline std::string wrong_with_toml(std::string_view text) {
  const table alone = read_job(text, "any", {.file = "any"});
  if (std::string wrong = wrong_with_problems(alone, text); !wrong.empty()) return wrong;
  return wrong_with(text, {.file = "a/any.toml", .form = table_form::toml});
}

}  // namespace rota::job::test

#endif
