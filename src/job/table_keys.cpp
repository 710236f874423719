#include "job/table_keys.h"

#include <rota/base/nearest_word.h>
#include <rota/job/units.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>

namespace rota::job::detail {

namespace {

constexpr std::string_view letters_and_digits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only_has(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](char c) {
    return letters_and_digits.find(c) != std::string_view::npos ||
           others.find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

std::string out_of_words(std::string_view value, std::string_view words) {
  return "is " + in_quotes(value) + ", use " + std::string(words);
}

std::string set_duration(milliseconds& d, std::string_view value, milliseconds least = {}) {
  const auto parsed = parse_duration(value);
  if (!parsed)
    return "is " + in_quotes(value) + ", which is no duration; write 90s, 5m, 1h30m or 2d";
  if (*parsed < least)
    return "is " + in_quotes(value) + ", it must be at least " + duration_text(least);
  d = *parsed;
  return {};
}

template <class Number>
std::string set_number(Number& n, std::string_view value, Number least, Number most) {
  Number parsed{};
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (fault == std::errc{} && end == value.data() + value.size() && parsed >= least &&
      parsed <= most) {
    n = parsed;
    return {};
  }
  const auto whole = [](Number x) { return std::to_string(static_cast<std::int64_t>(x)); };
  return "is " + in_quotes(value) + ", it must be a number from " + whole(least) + " to " +
         whole(most);
}

std::string set_flag(bool& flag, std::string_view value) {
  if (value != "true" && value != "false") return out_of_words(value, "true or false");
  flag = value == "true";
  return {};
}

// A word that to_text() knows.
template <class Rule, std::size_t N>
std::string set_word(Rule& r, std::string_view value, const std::array<Rule, N>& all,
                     std::string_view words) {
  for (Rule x : all) {
    if (to_text(x) != value) continue;
    r = x;
    return {};
  }
  return out_of_words(value, words);
}

std::string set_absolute_path(std::string& path, std::string_view value) {
  if (value.empty() || value.front() != '/' || has_control(value))
    return "is " + in_quotes(value) + ", it must be a path that starts with /";
  path = value;
  return {};
}

std::string set_plain(std::string& text, std::string_view value, std::string wrong) {
  if (wrong.empty()) text = value;
  return wrong;
}

std::string set_umask(draft& d, std::string_view value) {
  unsigned mask = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), mask, 8);
  if (fault != std::errc{} || end != value.data() + value.size() || mask > 0777)
    return "is " + in_quotes(value) + ", it must be octal, like 022";
  d.surroundings.umask = static_cast<mode_t>(mask);
  return {};
}

std::string set_zone(draft& d, std::string_view value) {
  d.zone = time_zone::find(value);
  if (d.zone) return {};
  return "is " + in_quotes(value) +
         ", which the tz database does not have; a zone is called like Europe/Paris or UTC";
}

std::string set_dst(draft& d, std::string_view value) {
  if (value != "wall" && value != "vixie") return out_of_words(value, "wall or vixie");
  d.dst = value == "wall" ? dst_rule::wall : dst_rule::vixie;
  return {};
}

std::string set_syntax(draft& d, std::string_view value) {
  if (value != "strict" && value != "vixie") return out_of_words(value, "strict or vixie");
  d.syntax = value == "strict" ? cron_syntax::strict : cron_syntax::vixie;
  return {};
}

std::string set_web_hook(draft& d, std::string_view value) {
  const bool is_web = value.starts_with("http://") || value.starts_with("https://");
  if (!is_web || has_control(value) || value.find(' ') != value.npos)
    return "is " + in_quotes(value) +
           ", it must be an address that starts with http:// or https://";
  d.surroundings.alerts.web_hook = value;
  return {};
}

std::string set_output_limit(draft& d, std::string_view value) {
  const auto size = parse_size(value);
  if (!size) return "is " + in_quotes(value) + ", which is no size; write 500kB, 10MB or 1GiB";
  d.surroundings.output_limit = *size;
  return {};
}

// In a crontab: names with commas between them. TOML has a list, which its reader takes.
std::string set_after(draft& d, std::string_view value) {
  while (true) {
    const std::string_view name = value.substr(0, value.find(','));
    if (std::string wrong = wrong_with_name(name); !wrong.empty())
      return "names " + in_quotes(name) + ": " + wrong;
    d.rules.after.push_back({std::string(name), dependency_on::success});
    if (name.size() == value.size()) return {};
    value.remove_prefix(name.size() + 1);
  }
}

// In a crontab: numbers with commas between them.
std::string set_codes(draft& d, std::string_view value) {
  d.rules.retry.codes.clear();
  while (true) {
    const std::string_view code = value.substr(0, value.find(','));
    if (std::string wrong = set_number(d.rules.retry.codes.emplace_back(), code, 1, 255);
        !wrong.empty())
      return wrong;
    if (code.size() == value.size()) return {};
    value.remove_prefix(code.size() + 1);
  }
}

constexpr auto a_text = value_kind::text;
constexpr auto a_whole = value_kind::whole;
constexpr auto a_real = value_kind::real;
constexpr auto a_flag = value_kind::flag;
using text_view = std::string_view;

// NOLINTBEGIN: one row a key, in the order of docs/job_files.md.
constexpr std::uint32_t most_waiting = 100'000;
const key_rule all_keys[] = {
    {"name", a_text, true,
     [](draft& d, text_view v) {
       return set_plain(d.name, v, [&] {
         const std::string wrong = wrong_with_name(v);
         return wrong.empty() ? wrong : "is " + in_quotes(v) + ": " + wrong;
       }());
     }},
    {"schedule", a_text, false,
     [](draft& d, text_view v) {
       d.schedule = v;
       d.has_schedule = true;
       return std::string{};
     }},
    {"zone", a_text, true, set_zone},
    {"dst", a_text, true, set_dst},
    {"syntax", a_text, false, set_syntax},
    {"shell", a_text, false,
     [](draft& d, text_view v) {
       d.command.shell = true;
       d.command.argv = {std::string(v)};
       return v.find_first_not_of(" \t\n") == v.npos ? std::string("is empty, give it a command")
                                                     : std::string{};
     }},
    {"shell_program", a_text, true,
     [](draft& d, text_view v) { return set_absolute_path(d.surroundings.shell, v); }},
    {"input", a_text, false,
     [](draft& d, text_view v) {
       d.command.input = v;
       return std::string{};
     }},
    {"user", a_text, false,
     [](draft& d, text_view v) { return set_plain(d.surroundings.user, v, wrong_with_user(v)); }},
    {"user_group", a_text, true,
     [](draft& d, text_view v) { return set_plain(d.surroundings.group, v, wrong_with_user(v)); }},
    {"directory", a_text, true,
     [](draft& d, text_view v) { return set_absolute_path(d.surroundings.directory, v); }},
    {"umask", a_text, true, set_umask},
    {"nice", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.surroundings.nice, v, -20, 19); }},
    {"environment_file", a_text, true,
     [](draft& d, text_view v) { return set_absolute_path(d.surroundings.environment_file, v); }},
    {"overlap", a_text, true,
     [](draft& d, text_view v) {
       using enum overlap_rule;
       return set_word(d.rules.overlap, v, std::array{skip, queue, allow, replace},
                       "skip, queue, allow or replace");
     }},
    {"queue", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.rules.queue_length, v, 1u, most_waiting); }},
    {"catchup", a_text, true,
     [](draft& d, text_view v) {
       using enum catchup_rule;
       return set_word(d.rules.catchup, v, std::array{none, one, rota::job::catchup_rule::all},
                       "none, one or all");
     }},
    {"catchup_most", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.rules.catchup_most, v, 1u, most_waiting); }},
    {"deadline", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.rules.deadline, v, milliseconds{1000}); }},
    {"timeout", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.rules.timeout, v); }},
    {"grace", a_text, true, [](draft& d, text_view v) { return set_duration(d.rules.grace, v); }},
    {"retry", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.rules.retry.count, v, 0u, 1000u); }},
    {"retry.count", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.rules.retry.count, v, 0u, 1000u); }},
    {"retry.delay", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.rules.retry.delay, v); }},
    {"retry.most", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.rules.retry.most, v); }},
    {"retry.factor", a_real, true,
     [](draft& d, text_view v) { return set_number(d.rules.retry.factor, v, 1.0, 1000.0); }},
    {"retry.jitter", a_real, true,
     [](draft& d, text_view v) { return set_number(d.rules.retry.jitter, v, 0.0, 1.0); }},
    {"retry.codes", a_text, true, set_codes},
    {"after", a_text, true, set_after},
    {"limit_group", a_text, true,
     [](draft& d, text_view v) { return set_plain(d.rules.group, v, wrong_with_name(v)); }},
    {"on_unknown", a_text, true,
     [](draft& d, text_view v) {
       using enum unknown_rule;
       return set_word(d.rules.on_unknown, v, std::array{report, rerun}, "report or rerun");
     }},
    {"absence", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.rules.absence, v); }},
    {"output_limit", a_text, true, set_output_limit},
    {"keep_runs", a_whole, true,
     [](draft& d, text_view v) { return set_number(d.surroundings.keep_runs, v, 1u, 1'000'000u); }},
    {"keep_for", a_text, true,
     [](draft& d, text_view v) { return set_duration(d.surroundings.keep_for, v); }},
    {"alert.mail", a_text, true,
     [](draft& d, text_view v) {
       return set_plain(d.surroundings.alerts.mail, v, wrong_with_mail(v));
     }},
    {"alert.web_hook", a_text, true, set_web_hook},
    {"alert.failure", a_flag, true,
     [](draft& d, text_view v) { return set_flag(d.surroundings.alerts.on_failure, v); }},
    {"alert.recovery", a_flag, true,
     [](draft& d, text_view v) { return set_flag(d.surroundings.alerts.on_recovery, v); }},
};
// NOLINTEND

// What other schedulers call it.
struct other_word {
  std::string_view word;
  std::string_view ours;
};
constexpr other_word other_words[] = {
    {"command", "`run` (a list) or `shell` (a line)"},
    {"cmd", "`run` (a list) or `shell` (a line)"},
    {"exec", "`run` (a list) or `shell` (a line)"},
    {"argv", "`run`"},
    {"cron", "`schedule`"},
    {"when", "`schedule`"},
    {"every", "`schedule = \"@every 30s\"`"},
    {"timezone", "`zone`"},
    {"tz", "`zone`"},
    {"env", "`environment`"},
    {"env_file", "`environment_file`"},
    {"cwd", "`directory`"},
    {"workdir", "`directory`"},
    {"working_directory", "`directory`"},
    {"group", "`limit_group` (a cap) or `user_group` (of the system)"},
    {"cap_group", "`limit_group`"},
    {"retries", "`retry`"},
    {"stdin", "`input`"},
    {"depends", "`after`"},
    {"alerts", "`alert`"},
    {"mail", "`alert.mail`"},
    {"web_hook", "`alert.web_hook`"},
    {"missed", "`catchup`"},
};

}  // namespace

std::span<const key_rule> key_rules() { return all_keys; }

const key_rule* find_key(std::string_view name) {
  const auto* found = std::find_if(std::begin(all_keys), std::end(all_keys),
                                   [name](const key_rule& k) { return k.name == name; });
  return found == std::end(all_keys) ? nullptr : found;
}

std::string key_hint(std::string_view unknown, bool in_crontab) {
  for (const other_word& o : other_words)
    if (o.word == unknown && !in_crontab) return "; did you mean " + std::string(o.ours) + "?";
  std::vector<std::string_view> words;
  for (const key_rule& k : all_keys)
    if (!in_crontab || k.in_crontab) words.push_back(k.name);
  if (!in_crontab) words.insert(words.end(), {"run", "environment", "retry", "after", "alert"});
  if (const auto near = rota::detail::nearest_word(unknown, words); !near.empty())
    return "; did you mean `" + std::string(near) + "`?";
  return "; docs/job_files.md lists the keys";
}

std::string wrong_with_user(std::string_view name) {
  if (name.empty()) return "is empty, name a user or leave it out";
  if (name.size() > 32 || name.front() == '-' || !only_has(name, "_.-+@$"))
    return "is " + in_quotes(name) + ", which is no name of a user or a group of this system";
  return {};
}

std::string wrong_with_environment_name(std::string_view name) {
  if (!name.empty() && only_has(name, "_") && !(name.front() >= '0' && name.front() <= '9'))
    return {};
  return "the variable is called " + in_quotes(name) +
         "; names are made of letters, digits and _, and start with no digit";
}

std::string wrong_with_mail(std::string_view address) {
  // A leading - would be an option of sendmail.
  if (!address.empty() && (address.front() == '-' || !only_has(address, "@._-+,=%!:/")))
    return "is " + in_quotes(address) +
           ", which is no address; write user@example.org, several with commas between them";
  return {};
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned first = byte(i);
    const std::size_t more = first < 0x80   ? 0
                             : first < 0xC2 ? 4
                             : first < 0xE0 ? 1
                             : first < 0xF0 ? 2
                             : first < 0xF5 ? 3
                                            : 4;
    if (more == 4 || i + more >= text.size()) return false;
    for (std::size_t k = i + 1; k <= i + more; ++k)
      if ((byte(k) & 0xC0u) != 0x80) return false;
    // Overlong forms, surrogates, and what is beyond Unicode.
    if (more >= 2) {
      const unsigned second = byte(i + 1);
      if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
          (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
        return false;
    }
    i += more + 1;
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t enough = 60;
  std::string out = "`";
  for (char c : text.substr(0, enough)) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u >= 0x7F ? '?' : c;
  }
  return out + (text.size() > enough ? "...`" : "`");
}

void problem_list::add(place at, severity s, std::string text) {
  failed_ = failed_ || s == severity::error;
  // A text quotes from the file: it stays one line, and JSON takes it.
  const bool is_text = is_utf8(text);
  for (char& c : text)
    if (has_control({&c, 1}) || (!is_text && static_cast<unsigned char>(c) >= 0x80)) c = '?';
  if (list_.size() < most_problems)
    list_.push_back({file_, at.line, at.column, s, std::move(text)});
  else
    ++left_out_;
}

void problem_list::sort() {
  std::sort(list_.begin(), list_.end(), [](const problem& a, const problem& b) {
    return std::tie(a.line, a.column, a.text) < std::tie(b.line, b.column, b.text);
  });
}

void problem_list::count_bytes(std::string_view text) {
  sort();
  std::uint32_t line = 1;
  for (problem& p : list_) {
    for (std::size_t end; line < p.line && (end = text.find('\n')) != text.npos; ++line)
      text.remove_prefix(end + 1);
    if (p.line > line) p.line = line;
    if (p.column == 0) continue;
    const std::string_view here = text.substr(0, text.find('\n'));
    std::uint32_t bytes = 0;
    for (std::uint32_t characters = 1; characters < p.column && bytes < here.size(); ++characters)
      do ++bytes;
      while (bytes < here.size() && (static_cast<unsigned char>(here[bytes]) & 0xC0u) == 0x80);
    p.column = bytes + 1;
  }
}

std::vector<problem> problem_list::take() {
  sort();
  // Warnings may have filled the list before the first error.
  const bool shown = std::any_of(list_.begin(), list_.end(),
                                 [](const problem& p) { return p.severity == severity::error; });
  if (left_out_ > 0)
    list_.push_back(
        {file_, list_.back().line, 0, failed_ && !shown ? severity::error : severity::warning,
         "there are " + std::to_string(left_out_) + " more problems; mend these first"});
  return std::move(list_);
}

}  // namespace rota::job::detail
