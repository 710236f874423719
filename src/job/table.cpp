#include <rota/job/table.h>

#include <algorithm>

#include "job/table_builder.h"

namespace rota::job {

namespace {

// Whether the text may be read at all; if not, why is noted.
bool may_be_read(std::string_view text, detail::table_builder& b) {
  const std::size_t limit = b.options().limits.size;
  if (text.size() > limit) {
    b.problems().error({}, "the file has " + std::to_string(text.size()) + " bytes, the limit is " +
                               std::to_string(limit));
    return false;
  }
  const std::size_t nul = text.find('\0');
  if (nul == text.npos) return true;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
  const std::size_t start = text.substr(0, nul).rfind('\n') + 1;  // npos + 1 is 0
  b.problems().error(
      {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(nul - start + 1)},
      "there is a zero byte, which no text has; is this a table of jobs?");
  return false;
}

}  // namespace

std::string to_text(const problem& p) {
  std::string text = p.file;
  if (p.line > 0) text += (text.empty() ? "" : ":") + std::to_string(p.line);
  if (p.line > 0 && p.column > 0) text += ':' + std::to_string(p.column);
  if (!text.empty()) text += ": ";
  return text + (p.severity == severity::warning ? "warning: " : "") + p.text;
}

bool table::ok() const noexcept {
  return std::none_of(problems.begin(), problems.end(),
                      [](const problem& p) { return p.severity == severity::error; });
}

rules default_crontab_rules() {
  rules r;
  r.overlap = overlap_rule::allow;
  return r;
}

std::string wrong_with_name(std::string_view name) {
  constexpr std::string_view marks = "_.-:/@+";
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty()) return "a name has at least one character";
  if (name.size() > longest_name)
    return "a name has at most " + std::to_string(longest_name) + " characters, not " +
           std::to_string(name.size());
  if (!is_plain(name.front())) return "a name starts with a letter, a digit or _";
  if (!std::all_of(name.begin(), name.end(),
                   [&](char c) { return is_plain(c) || marks.find(c) != marks.npos; }))
    return "names are made of letters, digits and _ . - : / @ +";
  return {};
}

table read_table(std::string_view text, const table_options& o) {
  detail::table_builder b{o};
  if (may_be_read(text, b)) {
    if (o.form == table_form::toml)
      read_toml(text, b);
    else
      read_crontab(text, b);
  }
  return b.take();
}

table read_job(std::string_view text, std::string_view name, table_options o) {
  o.form = table_form::toml;
  detail::table_builder b{o};
  if (may_be_read(text, b)) read_toml_job(text, name, b);
  return b.take();
}

std::vector<problem> check_users(const table& t, std::string_view daemon_user,
                                 bool daemon_is_root) {
  std::vector<problem> found;
  if (daemon_is_root) return found;
  for (const definition& d : t.jobs) {
    const std::string& user = d.surroundings->user;
    if (user.empty() || user == daemon_user) continue;
    found.push_back({d.source.file ? *d.source.file : "", d.source.line, 0, severity::error,
                     "job " + detail::in_quotes(d.name) + " runs as " + detail::in_quotes(user) +
                         ", which only root's daemon can do, and this one is that of " +
                         detail::in_quotes(daemon_user) +
                         "; start it as root, or leave the user out"});
  }
  return found;
}

}  // namespace rota::job
