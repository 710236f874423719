// Crontabs, as Debian's cron reads them.
//
// A line is empty, a comment, a variable or an entry; a variable counts for the entries below it. A
// comment `# rota: key=value ...` is ours: it gives the entry directly below it a name and rules.
//
// Entries are many and mostly alike, so what they share is looked up when a variable changes it,
// not once an entry.

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "job/table_builder.h"

namespace rota::job::detail {

namespace {

constexpr std::string_view blanks = " \t";

std::size_t skip_blanks(std::string_view line, std::size_t at) {
  return std::min(line.find_first_not_of(blanks, at), line.size());
}

std::size_t skip_word(std::string_view line, std::size_t at) {
  return std::min(line.find_first_of(blanks, at), line.size());
}

std::string_view base_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// NAME=VALUE, with quotes and blanks as Debian takes them; no such line if it is not `is_one`.
struct variable_line {
  bool is_one = false;
  bool open_quote = false;
  std::string_view name;
  std::size_t name_at = 0;
  std::string_view value;
  std::size_t value_at = 0;
};

variable_line split_variable(std::string_view line, std::size_t at) {
  variable_line v;
  const auto is_quote = [&](std::size_t i) {
    return i < line.size() && (line[i] == '"' || line[i] == '\'');
  };
  v.name_at = at;
  if (is_quote(at)) {
    const std::size_t end = line.find(line[at], at + 1);
    if (end == line.npos) return v;
    v.name_at = at + 1;
    v.name = line.substr(at + 1, end - at - 1);
    at = end + 1;
  } else {
    const std::size_t end = std::min(line.find_first_of(" \t=", at), line.size());
    v.name = line.substr(at, end - at);
    at = end;
  }
  at = skip_blanks(line, at);
  if (at == line.size() || line[at] != '=') return v;
  v.is_one = true;
  at = skip_blanks(line, at + 1);
  v.value_at = at;
  if (is_quote(at)) {
    const std::size_t end = line.find(line[at], at + 1);
    v.value_at = at + 1;
    v.open_quote = end == line.npos;
    v.value = line.substr(at + 1, v.open_quote ? line.npos : end - at - 1);
    // What follows the closing quote is none of the value's business.
    if (!v.open_quote && skip_blanks(line, end + 1) != line.size()) v.open_quote = true;
    return v;
  }
  const std::size_t last = line.find_last_not_of(blanks);
  v.value = at < line.size() ? line.substr(at, last + 1 - at) : std::string_view{};
  return v;
}

// Up to the first % that no backslash protects; `\%` is %.
std::string take_command(std::string_view text, std::size_t& end) {
  std::string command;
  command.reserve(std::min(text.find('%'), text.size()));
  bool escaped = false;
  for (end = 0; end < text.size(); ++end) {
    const char c = text[end];
    if (escaped && c == '%') command.pop_back();
    if (!escaped && c == '%') break;
    command += c;
    escaped = !escaped && c == '\\';
  }
  return command;
}

// What follows the %: each further % is a new line, and the last line is ended.
std::string take_input(std::string_view text) {
  std::string input;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '%')
      input += text[++i];
    else
      input += text[i] == '%' ? '\n' : text[i];
  }
  if (!input.empty() && input.back() != '\n') input += '\n';
  return input;
}

// A sixth column that no command looks like: then the first one is seconds.
bool looks_like_weekday(std::string_view word) {
  constexpr std::string_view names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
  if (word.empty()) return false;
  if (word.find_first_not_of("0123456789*,/-#L?") == word.npos)
    return word.find_first_of("0123456789*?") != word.npos;
  for (std::size_t at = 0; at < word.size();) {
    std::string three(word.substr(at, 3));
    for (char& c : three)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (std::find(std::begin(names), std::end(names), three) == std::end(names)) return false;
    at += 3;
    if (word.substr(at).starts_with('#')) at += 2;  // sun#2
    if (word.substr(std::min(at, word.size())).starts_with('L')) ++at;
    if (at == word.size()) return true;
    if (at > word.size()) return false;
    if (word[at] != '-' && word[at] != ',') return false;
    ++at;
  }
  return false;
}

class crontab_reader {
 public:
  explicit crontab_reader(table_builder& b)
      : builder_(b),
        options_(b.options()),
        problems_(b.problems()),
        zone_(options_.zone),
        surroundings_(b.first_surroundings()),
        rules_(b.share(options_.crontab_rules)) {}

  void read(std::string_view text);

 private:
  void read_line(std::string_view line);
  bool check_bytes(std::string_view line);
  bool read_directive(std::string_view line, std::size_t at);
  bool read_pair(std::string_view line, std::size_t& at, draft& d);
  void forget_directive();
  void read_variable(const variable_line& v);
  void set_special(const variable_line& v);
  void read_entry(std::string_view line, std::size_t at);
  bool read_schedule(std::string_view line, std::size_t& at, draft& d);
  bool read_user(std::string_view line, std::size_t& at, std::string& user);
  void read_command(std::string_view line, std::size_t at, draft& d);
  const std::shared_ptr<const rota::job::surroundings>& surroundings_of(const std::string& user);
  place at_column(std::size_t at) const { return {line_, static_cast<std::uint32_t>(at + 1)}; }

  table_builder& builder_;
  const table_options& options_;
  problem_list& problems_;
  std::uint32_t line_ = 0;

  // What the variables so far have made of them.
  time_zone zone_;
  bool has_zone_ = false;  // CRON_TZ has come
  rota::job::surroundings surroundings_;

  // The same, shared; by user.
  std::shared_ptr<const rota::job::rules> rules_;
  std::map<std::string, std::shared_ptr<const rota::job::surroundings>, std::less<>> by_user_;

  // What a `# rota:` line has said; it waits for its entry. The pairs are applied to the entry,
  // once its surroundings are known.
  struct pair {
    const key_rule* key;
    std::string value;
    std::size_t at;
    std::uint32_t line;
  };
  std::vector<pair> pairs_;
  bool waits_ = false;
  std::uint32_t directive_line_ = 0;
};

void crontab_reader::read(std::string_view text) {
  builder_.expect(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++line_;
    read_line(text.substr(at, end - at));
    at = end + 1;
  }
  forget_directive();
}

void crontab_reader::read_line(std::string_view line) {
  if (line.size() > options_.limits.line) {
    problems_.error({line_, 0}, "the line has " + std::to_string(line.size()) +
                                    " bytes, the limit is " + std::to_string(options_.limits.line));
    return;
  }
  const std::size_t at = skip_blanks(line, 0);
  if (at < line.size() && line[at] == '#') {
    if (!read_directive(line, at)) forget_directive();
    return;
  }
  if (!check_bytes(line)) return;
  if (at == line.size()) return forget_directive();
  if (const variable_line v = split_variable(line, at); v.is_one) {
    forget_directive();
    return read_variable(v);
  }
  read_entry(line, at);
}

bool crontab_reader::check_bytes(std::string_view line) {
  if (options_.syntax == cron_syntax::strict && line.ends_with('\r')) {
    problems_.error(at_column(line.size() - 1),
                    "the line ends with a carriage return; save the file with Unix line ends");
    return false;
  }
  if (is_utf8(line)) return true;
  problems_.error({line_, 0}, "the line is not UTF-8; save the file as UTF-8");
  return false;
}

// --- # rota:
// --------------------------------------------------------------------------------------

// Whether it is such a line.
bool crontab_reader::read_directive(std::string_view line, std::size_t at) {
  at = skip_blanks(line, at + 1);
  if (!line.substr(at).starts_with("rota:")) return false;
  if (!check_bytes(line)) return true;
  if (!waits_) directive_line_ = line_;
  waits_ = true;
  draft scratch;  // where the values are tried
  for (at = skip_blanks(line, at + 5); at < line.size(); at = skip_blanks(line, at))
    if (!read_pair(line, at, scratch)) break;
  return true;
}

// Reads `key=value` or `key="a value"`. No more of the line makes sense if it returns false.
bool crontab_reader::read_pair(std::string_view line, std::size_t& at, draft& d) {
  const std::size_t start = at;
  const std::size_t end = std::min(line.find_first_of(" \t=", at), line.size());
  const std::string_view name = line.substr(at, end - at);
  if (end == line.size() || line[end] != '=') {
    problems_.error(at_column(start), in_quotes(name) +
                                          " has no value; write key=value, like "
                                          "`# rota: name=backup timeout=5m`");
    return false;
  }
  std::string_view value;
  if (end + 1 < line.size() && line[end + 1] == '"') {
    const std::size_t close = line.find('"', end + 2);
    if (close == line.npos) {
      problems_.error(at_column(end + 1), "the closing \" is missing");
      return false;
    }
    value = line.substr(end + 2, close - end - 2);
    at = close + 1;
  } else {
    at = skip_word(line, end);
    value = line.substr(end + 1, at - end - 1);
  }
  const key_rule* key = find_key(name);
  if (!key || !key->in_crontab) {
    problems_.error(at_column(start),
                    key ? in_quotes(name) +
                              " has its own place in a crontab, it "
                              "cannot stand in a `# rota:` line"
                        : "there is no key " + in_quotes(name) + key_hint(name, true));
    return true;
  }
  for (const pair& p : pairs_)
    if (p.key == key) problems_.error(at_column(start), in_quotes(name) + " stands here twice");
  if (std::string wrong = key->set(d, value); !wrong.empty())
    problems_.error(at_column(start), std::string(name) + ' ' + wrong);
  else
    pairs_.push_back({key, std::string(value), start, line_});
  return true;
}

void crontab_reader::forget_directive() {
  if (waits_)
    problems_.error({directive_line_, 1},
                    "no entry stands directly below this `# rota:` line; move it to its entry");
  waits_ = false;
  pairs_.clear();
}

// --- variables
// ------------------------------------------------------------------------------------

void crontab_reader::read_variable(const variable_line& v) {
  if (v.open_quote)
    return problems_.error(
        at_column(v.value_at),
        "the quotes do not match, or something follows them; write NAME=\"value\"");
  if (std::string wrong = wrong_with_environment_name(v.name); !wrong.empty())
    return problems_.error(at_column(v.name_at), wrong);
  by_user_.clear();
  set_special(v);
  if (v.name == "CRON_TZ" || v.name == "SHELL") return;  // not variables of the program
  if (v.value.find('$') != v.value.npos)
    problems_.warn(at_column(v.value_at),
                   "the $ stays as it is: values in crontabs are not expanded");
  // By name, as TOML has them, so that the order makes no difference between jobs.
  auto& all = surroundings_.environment;
  const auto at = std::lower_bound(all.begin(), all.end(), v.name,
                                   [](const auto& e, std::string_view n) { return e.first < n; });
  if (at != all.end() && at->first == v.name)
    at->second = v.value;
  else
    all.emplace(at, v.name, v.value);
}

// Variables that mean something to us.
void crontab_reader::set_special(const variable_line& v) {
  draft d;
  std::string wrong;
  if (v.name == "CRON_TZ") {
    wrong = find_key("zone")->set(d, v.value);
    if (wrong.empty()) zone_ = *d.zone;
    has_zone_ = true;
  } else if (v.name == "TZ" && !has_zone_) {
    problems_.warn(at_column(v.name_at),
                   "TZ is for the programs, the schedule does not follow it; CRON_TZ is for that");
  } else if (v.name == "SHELL") {
    wrong = find_key("shell_program")->set(d, v.value);
    surroundings_.shell = d.surroundings.shell;
  } else if (v.name == "HOME") {
    wrong = find_key("directory")->set(d, v.value);
    surroundings_.directory = d.surroundings.directory;
  } else if (v.name == "MAILTO") {
    wrong = find_key("alert.mail")->set(d, v.value);
    surroundings_.alerts.mail = d.surroundings.alerts.mail;
  }
  if (!wrong.empty()) problems_.error(at_column(v.value_at), std::string(v.name) + ' ' + wrong);
}

// --- entries
// --------------------------------------------------------------------------------------

void crontab_reader::read_entry(std::string_view line, std::size_t at) {
  draft d;
  d.at = {line_, static_cast<std::uint32_t>(at + 1)};
  d.zone = zone_;
  d.syntax = options_.syntax;
  std::string user = surroundings_.user;
  const bool has_system_form = options_.form == table_form::system_crontab;
  const bool fine = read_schedule(line, at, d) && (!has_system_form || read_user(line, at, user));
  if (!fine) {
    waits_ = false;
    pairs_.clear();
    return;
  }
  const std::string_view rest = line.substr(at);
  read_command(line, at, d);
  const auto& shared = surroundings_of(user);
  for (const pair& p : pairs_)
    if (p.key->name == "name") d.name = p.value;
  if (d.name.empty()) {
    const bool by_owner = !has_system_form && !options_.owner.empty();
    d.name = builder_.make_name(by_owner ? options_.owner : base_of(options_.file), d.schedule,
                                has_system_form ? user + ' ' + std::string(rest) : rest);
  }
  waits_ = false;
  if (pairs_.empty()) return builder_.add(std::move(d), rules_, shared);
  d.rules = options_.crontab_rules;
  d.surroundings = *shared;
  for (const pair& p : pairs_) p.key->set(d, p.value);  // each has been tried
  pairs_.clear();
  builder_.add(std::move(d));
}

// Takes the fields, or @word with what belongs to it, and the blanks behind.
bool crontab_reader::read_schedule(std::string_view line, std::size_t& at, draft& d) {
  const std::size_t start = at;
  std::size_t end = skip_word(line, at);
  const std::string_view first = line.substr(at, end - at);
  const bool is_word = first.starts_with('@');
  std::size_t fields = !is_word ? 5 : first == "@every" || first == "@at" ? 2 : 1;
  std::size_t found = 0;
  for (; found < fields && at < line.size(); ++found) {
    if (found > 0) d.schedule += ' ';
    end = skip_word(line, at);
    d.schedule.append(line.substr(at, end - at));
    at = skip_blanks(line, end);
    if (found + 1 < fields || is_word || options_.syntax == cron_syntax::vixie) continue;
    const std::string_view sixth = line.substr(at, skip_word(line, at) - at);
    if (fields == 5 && looks_like_weekday(sixth)) fields = 6;
  }
  d.has_schedule = true;
  d.written = line.substr(start, end - start);
  d.schedule_at = at_column(start);
  if (at < line.size()) return true;
  const std::string form =
      options_.form == table_form::system_crontab ? "a user and a command" : "a command";
  problems_.error(at_column(line.size()),
                  is_word ? "the line ends here; " + form + " must follow " + in_quotes(d.schedule)
                          : "the line ends after " + std::to_string(found) +
                                " columns; an entry has five fields and " + form);
  return false;
}

bool crontab_reader::read_user(std::string_view line, std::size_t& at, std::string& user) {
  const std::size_t end = skip_word(line, at);
  user = line.substr(at, end - at);
  if (std::string wrong = wrong_with_user(user); !wrong.empty()) {
    problems_.error(at_column(at), "the column before the command is the user, it " + wrong);
    return false;
  }
  at = skip_blanks(line, end);
  if (at < line.size()) return true;
  problems_.error(at_column(at),
                  "the line ends after the user; a command must follow (only tables "
                  "of the system have a user)");
  return false;
}

void crontab_reader::read_command(std::string_view line, std::size_t at, draft& d) {
  const std::string_view rest = line.substr(at);
  std::size_t end = 0;
  d.command.shell = true;
  d.command.argv.push_back(take_command(rest, end));
  const std::string& command_text = d.command.argv.front();
  if (command_text.find_first_not_of(blanks) == command_text.npos)
    problems_.error(at_column(at),
                    "there is no command before the %; write \\% for a percent sign");
  if (end == rest.size()) return;
  d.command.input = take_input(rest.substr(end + 1));
  const std::size_t date = command_text.find("date");
  if (date != command_text.npos && command_text.find('+', date) != command_text.npos)
    problems_.warn(
        at_column(at + end),
        "the command ends at this %, the rest is its input; write \\% for a percent sign");
}

const std::shared_ptr<const rota::job::surroundings>& crontab_reader::surroundings_of(
    const std::string& user) {
  const auto known = by_user_.find(user);
  if (known != by_user_.end()) return known->second;
  rota::job::surroundings s = surroundings_;
  s.user = user;
  return by_user_.emplace(user, builder_.share(std::move(s))).first->second;
}

}  // namespace

void read_crontab(std::string_view text, table_builder& b) { crontab_reader{b}.read(text); }

}  // namespace rota::job::detail
