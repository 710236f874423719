// Jobs as TOML text. What has its default is left out, but for the zone, whose default is that of
// the daemon which reads it.

#include <rota/job/units.h>

#include <charconv>

#include "job/table_keys.h"

namespace rota::job {

namespace {

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7F) {
      constexpr std::string_view digits = "0123456789ABCDEF";
      out += "\\u00";
      out += digits[u >> 4];
      out += digits[u & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_number(double value) {
  char digits[64];
  const auto [end, fault] = std::to_chars(digits, digits + sizeof digits, value);
  return {digits, end};
}

// Names of jobs and groups; most need no quotes.
std::string toml_key(std::string_view name) {
  for (char c : name)
    if (c == '.' || c == ':' || c == '/' || c == '@' || c == '+') return toml_text(name);
  return std::string(name);
}

// The keys of one table, one a line.
class toml_lines {
 public:
  void put(std::string_view key, std::string_view value) {
    text_ += key;
    text_ += " = ";
    text_ += value;
    text_ += '\n';
  }
  void put_text(std::string_view key, std::string_view value) {
    if (!value.empty()) put(key, toml_text(value));
  }
  template <class T>
  void put_number(std::string_view key, T value, T usual) {
    if (value != usual) put(key, std::to_string(value));
  }
  void put_duration(std::string_view key, milliseconds value, milliseconds usual) {
    if (value != usual) put(key, toml_text(duration_text(value)));
  }
  template <class Word>
  void put_word(std::string_view key, Word value, Word usual) {
    if (value != usual) put(key, toml_text(to_text(value)));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// A table on one line, for what is small: {a = 1, b = 2}. Empty if nothing is in it.
class toml_inline {
 public:
  void put(std::string_view key, std::string_view value) {
    text_ += text_.empty() ? "{" : ", ";
    text_ += key;
    text_ += " = ";
    text_ += value;
  }
  std::string take() { return text_.empty() ? text_ : text_ + '}'; }

 private:
  std::string text_;
};

template <class All, class ToText>
std::string toml_list(const All& all, ToText to) {
  std::string text;
  for (const auto& one : all) text += (text.empty() ? "[" : ", ") + to(one);
  return text.empty() ? "[]" : text + ']';
}

bool parses_to(const definition& d, std::string_view text, cron_syntax syntax) {
  try {
    return schedule::parse(text, {.name = d.name,
                                  .zone = d.when.zone(),
                                  .dst = d.when.dst(),
                                  .syntax = syntax,
                                  .may_never_fire = syntax == cron_syntax::vixie}) == d.when;
  } catch (const cron_error&) {
    return false;
  }
}

void put_schedule(toml_lines& out, const definition& d) {
  if (d.when.what() == schedule::kind::never) return;
  // A point of time may have been written in a zone that nobody remembers.
  const auto at = d.when.what() == schedule::kind::at ? d.when.next(instant::min()) : std::nullopt;
  out.put("schedule", toml_text(at ? "@at " + rota::to_text(*at) : d.text));
  if (d.when.what() == schedule::kind::cron) {
    out.put("zone", toml_text(d.when.zone().name()));
    if (!parses_to(d, d.text, cron_syntax::strict)) out.put("syntax", "\"vixie\"");
  }
  if (d.when.dst() == dst_rule::vixie) out.put("dst", "\"vixie\"");
}

void put_command(toml_lines& out, const definition& d) {
  if (d.command.shell)
    out.put("shell", toml_text(d.command.argv.front()));
  else
    out.put("run", toml_list(d.command.argv, [](const std::string& s) { return toml_text(s); }));
  out.put_text("input", d.command.input);
}

std::string retry_text(const retry_rule& r) {
  const retry_rule usual;
  toml_inline out;
  if (r.count != usual.count) out.put("count", std::to_string(r.count));
  if (r.delay != usual.delay) out.put("delay", toml_text(duration_text(r.delay)));
  if (r.most != usual.most) out.put("most", toml_text(duration_text(r.most)));
  if (r.factor != usual.factor) out.put("factor", toml_number(r.factor));
  if (r.jitter != usual.jitter) out.put("jitter", toml_number(r.jitter));
  if (!r.codes.empty())
    out.put("codes", toml_list(r.codes, [](int code) { return std::to_string(code); }));
  return out.take();
}

std::string dependency_text(const dependency& d) {
  if (d.on == dependency_on::success) return toml_text(d.job);
  return "{job = " + toml_text(d.job) + ", on = " + toml_text(to_text(d.on)) + '}';
}

void put_rules(toml_lines& out, const rules& r) {
  const rules usual;
  if (!r.after.empty()) out.put("after", toml_list(r.after, dependency_text));
  out.put_word("overlap", r.overlap, usual.overlap);
  out.put_number("queue", r.queue_length, usual.queue_length);
  out.put_word("catchup", r.catchup, usual.catchup);
  out.put_number("catchup_most", r.catchup_most, usual.catchup_most);
  out.put_duration("deadline", r.deadline, usual.deadline);
  out.put_duration("timeout", r.timeout, usual.timeout);
  out.put_duration("grace", r.grace, usual.grace);
  if (const std::string retry = retry_text(r.retry); !retry.empty()) out.put("retry", retry);
  out.put_word("on_unknown", r.on_unknown, usual.on_unknown);
  out.put_text("limit_group", r.group);
  out.put_duration("absence", r.absence, usual.absence);
}

std::string alert_text(const alerts& a) {
  toml_inline out;
  if (!a.mail.empty()) out.put("mail", toml_text(a.mail));
  if (!a.web_hook.empty()) out.put("web_hook", toml_text(a.web_hook));
  if (!a.on_failure) out.put("failure", "false");
  if (!a.on_recovery) out.put("recovery", "false");
  return out.take();
}

std::string umask_text(mode_t mask) {
  std::string text = "000";
  for (std::size_t i = 3; i-- > 0; mask >>= 3) text[i] = static_cast<char>('0' + (mask & 7u));
  return text;
}

void put_surroundings(toml_lines& out, const surroundings& s) {
  const surroundings usual;
  out.put_text("user", s.user);
  out.put_text("user_group", s.group);
  out.put_text("directory", s.directory);
  if (s.umask) out.put("umask", toml_text(umask_text(*s.umask)));
  out.put_number("nice", s.nice, usual.nice);
  if (s.shell != usual.shell) out.put_text("shell_program", s.shell);
  toml_inline variables;
  for (const auto& [name, value] : s.environment) variables.put(name, toml_text(value));
  if (const std::string text = variables.take(); !text.empty()) out.put("environment", text);
  out.put_text("environment_file", s.environment_file);
  if (s.output_limit != usual.output_limit)
    out.put("output_limit", toml_text(size_text(s.output_limit)));
  out.put_number("keep_runs", s.keep_runs, usual.keep_runs);
  out.put_duration("keep_for", s.keep_for, usual.keep_for);
  if (const std::string alert = alert_text(s.alerts); !alert.empty()) out.put("alert", alert);
}

std::string body_of(const definition& d) {
  toml_lines out;
  put_schedule(out, d);
  put_command(out, d);
  put_rules(out, *d.rules);
  put_surroundings(out, *d.surroundings);
  return out.take();
}

}  // namespace

std::string to_toml(const definition& d) {
  return "name = " + toml_text(d.name) + '\n' + body_of(d);
}

std::string to_toml(const std::vector<definition>& jobs, const group_caps& groups) {
  std::string text;
  for (const definition& d : jobs)
    text += (text.empty() ? "" : "\n") + ("[job." + toml_key(d.name) + "]\n") + body_of(d);
  for (const auto& [name, cap] : groups)
    text += (text.empty() ? "" : "\n") + ("[group." + toml_key(name) + "]\n") +
            "cap = " + std::to_string(cap) + '\n';
  return text;
}

}  // namespace rota::job
