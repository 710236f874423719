// The strict reader says what is wrong, at which column, and what would be right. Debian's reader
// stops at the first character that cannot go on and ignores the rest of the field; `vixie` does
// the same, so that old tables mean what they meant.

#include "cron/parse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace rota::detail {

namespace {

enum field_index : unsigned { f_second, f_minute, f_hour, f_day, f_month, f_weekday };

struct field_rule {
  const char* name;
  unsigned low;
  unsigned high;
  const char* names;  // three letters each, from `low`
};

constexpr std::array<field_rule, 6> field_rules{{
    {"second", 0, 59, ""},
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"day of month", 1, 31, ""},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"weekday", 0, 7, "sunmontuewedthufrisat"},
}};

struct macro {
  std::string_view name;
  const char* fields;
};

constexpr std::array<macro, 7> macros{{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string number(unsigned n) { return std::to_string(n); }

// A word of the text, and where it stands.
struct word {
  std::string_view text;
  std::size_t column;
};

std::vector<word> words_of(std::string_view text) {
  std::vector<word> words;
  std::size_t i = 0;
  while (i < text.size()) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !is_blank(text[end])) ++end;
    words.push_back({text.substr(i, end - i), i + 1});
    i = end;
  }
  return words;
}

std::optional<unsigned> find_name(const field_rule& rule, std::string_view text) {
  if (text.size() != 3) return std::nullopt;
  const std::string low{lower(text[0]), lower(text[1]), lower(text[2])};
  const std::string_view names = rule.names;
  for (std::size_t i = 0; i + 3 <= names.size(); i += 3)
    if (names.substr(i, 3) == low) return rule.low + static_cast<unsigned>(i / 3);
  return std::nullopt;
}

// What a field says, before it goes into the fields.
struct field_sets {
  std::uint64_t values = 0;
  std::uint32_t days_from_end = 0;
  std::uint32_t working_days = 0;
  std::uint64_t nth_weekdays = 0;
  bool star = false;
  bool hashed = false;
  bool junk = false;
};

void add_range(field_sets& sets, unsigned first, unsigned last, std::uint64_t step) {
  for (std::uint64_t v = first; v <= last; v += step) sets.values |= std::uint64_t{1} << v;
}

// --- strict
// ---------------------------------------------------------------------------------------

class strict_reader {
 public:
  strict_reader(word w, field_index index, std::string_view name)
      : word_(w), index_(index), rule_(field_rules[index]), name_(name) {}

  field_sets read() {
    sets_.star = word_.text[0] == '*' || word_.text[0] == '?';
    for (;;) {
      read_item();
      if (at_end()) return sets_;
      if (peek() != ',')
        fail("unexpected " + in_quotes(rest()) + " in the " + rule_.name +
             ", an item ends with a comma or a blank");
      ++at_;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const {
    throw cron_error(what, word_.column + at);
  }

  bool at_end() const { return at_ == word_.text.size(); }
  char peek() const { return at_end() ? '\0' : word_.text[at_]; }
  std::string_view rest() const { return word_.text.substr(at_); }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_letter(char c) {
    if (lower(peek()) != c) return false;
    ++at_;
    return true;
  }
  // Whether the next letters are these, and no more letters follow.
  bool next_is(std::string_view letters) const {
    for (std::size_t i = 0; i < letters.size(); ++i)
      if (at_ + i >= word_.text.size() || lower(word_.text[at_ + i]) != letters[i]) return false;
    const std::size_t after = at_ + letters.size();
    return after == word_.text.size() || !is_letter(word_.text[after]);
  }

  std::string range_text() const { return number(rule_.low) + "-" + number(rule_.high); }
  std::string expected() const {
    std::string text = "expected " + range_text();
    if (*rule_.names != '\0') text += " or a name such as " + std::string(rule_.names, 3);
    return text + ", *, or a range";
  }

  // Digits; far too large if there are too many.
  std::uint64_t read_digits() {
    std::uint64_t n = 0;
    for (; is_digit(peek()); ++at_)
      if (n < 1'000'000'000) n = n * 10 + static_cast<unsigned>(peek() - '0');
    return n;
  }

  unsigned read_value() {
    const std::size_t begin = at_;
    if (is_digit(peek())) {
      const std::uint64_t n = read_digits();
      if (n < rule_.low || n > rule_.high)
        fail_at(begin,
                std::string(rule_.name) + " " +
                    std::string(word_.text.substr(begin, std::min<std::size_t>(at_ - begin, 12))) +
                    " is out of range (" + range_text() + ")");
      return static_cast<unsigned>(n);
    }
    if (is_letter(peek())) {
      // As many letters as a name has: an L or # may follow.
      const auto found = find_name(rule_, rest().substr(0, 3));
      std::size_t end = at_;
      while (end < word_.text.size() && is_letter(word_.text[end])) ++end;
      const bool ends = end == at_ + 3 || (index_ == f_weekday && end == at_ + 4 &&
                                           lower(word_.text[end - 1]) == 'l');
      if (found && ends) {
        at_ += 3;
        return *found;
      }
      fail(in_quotes(word_.text.substr(at_, end - at_)) + " is no " + rule_.name + ", " +
           expected());
    }
    if (at_end() || peek() == ',')
      fail(std::string("a ") + rule_.name + " is missing, " + expected());
    fail("unexpected " + in_quotes(rest()) + " in the " + rule_.name + ", " + expected());
  }

  std::uint64_t read_step() {
    const std::size_t begin = at_;
    if (!is_digit(peek())) fail("a step is missing, such as */5");
    const std::uint64_t n = read_digits();
    if (n == 0) fail_at(begin, "a step of 0 never gets on, expected 1 or more");
    return n;
  }

  void read_item() {
    if (take('*')) {
      add_range(sets_, rule_.low, rule_.high, take('/') ? read_step() : 1);
    } else if (take('?')) {
      add_range(sets_, rule_.low, rule_.high, 1);
    } else if (next_is("h")) {
      ++at_;
      read_hashed();
    } else if (index_ == f_day && (next_is("l") || next_is("lw"))) {
      read_last_day();
    } else {
      read_values();
    }
  }

  // H, H/15, H(0-29), H(0-29)/10. The days of a month end with 28 here, so that it fires in each.
  void read_hashed() {
    sets_.hashed = true;
    unsigned low = rule_.low;
    unsigned high = index_ == f_day ? 28 : index_ == f_weekday ? 6 : rule_.high;
    if (take('(')) {
      const std::size_t begin = at_;
      low = read_value();
      if (!take('-')) fail("expected a range, such as H(0-29)");
      high = read_value();
      if (low > high) fail_wrapped(begin);
      if (!take(')')) fail("expected ) after the range of H");
    }
    const unsigned places = high - low + 1;
    std::uint64_t step = places;
    if (take('/')) step = read_step();
    const std::uint64_t offset = stable_hash(name_, index_) % std::min<std::uint64_t>(step, places);
    add_range(sets_, low + static_cast<unsigned>(offset), high, step);
  }

  void read_last_day() {
    ++at_;
    if (take_letter('w')) {
      sets_.working_days |= 1;
      return;
    }
    unsigned before = 0;
    if (take('-')) {
      const std::size_t begin = at_;
      const std::uint64_t n = is_digit(peek()) ? read_digits() : 31;
      if (n > 30) fail_at(begin, "expected L-1 to L-30, days before the last of the month");
      before = static_cast<unsigned>(n);
    }
    sets_.days_from_end |= std::uint32_t{1} << before;
  }

  [[noreturn]] void fail_wrapped(std::size_t begin) const {
    const std::string range{word_.text.substr(begin, std::min<std::size_t>(at_ - begin, 20))};
    std::string hint = "a range goes upwards, write two of them with a comma";
    if (index_ == f_weekday) hint += "; Sunday is also 7";
    fail_at(begin, "the range " + range + " is empty, " + hint);
  }

  void read_values() {
    const std::size_t begin = at_;
    const unsigned first = read_value();
    if (take('-')) {
      const unsigned last = read_value();
      if (first > last) fail_wrapped(begin);
      add_range(sets_, first, last, take('/') ? read_step() : 1);
      return;
    }
    if (peek() == '/') {
      const std::string step{rest().substr(1, rest().find_first_not_of("0123456789", 1) - 1)};
      fail("a step needs a range, write " + number(first) + "-" + number(rule_.high) + "/" +
           (step.empty() || step.size() > 4 ? "5" : step));
    }
    if (index_ == f_day && take_letter('w')) {
      sets_.working_days |= std::uint32_t{1} << first;
    } else if (index_ == f_weekday && take_letter('l')) {
      sets_.nth_weekdays |= std::uint64_t{1} << (35 + first % 7);
    } else if (index_ == f_weekday && take('#')) {
      const std::size_t digits = at_;
      const std::uint64_t n = is_digit(peek()) ? read_digits() : 0;
      if (n < 1 || n > 5) fail_at(digits, "expected #1 to #5, the first to the fifth of the month");
      sets_.nth_weekdays |= std::uint64_t{1} << (7 * (n - 1) + first % 7);
    } else {
      add_range(sets_, first, first, 1);
    }
  }

  word word_;
  field_index index_;
  const field_rule& rule_;
  std::string_view name_;
  std::size_t at_ = 0;
  field_sets sets_;
};

// --- as Debian
// ------------------------------------------------------------------------------------

class vixie_reader {
 public:
  vixie_reader(word w, field_index index) : word_(w), rule_(field_rules[index]) {}

  field_sets read() {
    sets_.star = word_.text[0] == '*';
    do {
      read_item();
    } while (take(','));
    sets_.junk = at_ != word_.text.size();
    return sets_;
  }

 private:
  [[noreturn]] void fail(std::size_t at) const {
    throw cron_error("bad " + std::string(rule_.name) + " for Debian's cron, expected " +
                         number(rule_.low) + "-" + number(rule_.high) + ", *, or a range",
                     word_.column + at);
  }
  char peek() const { return at_ == word_.text.size() ? '\0' : word_.text[at_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // Letters and digits are one word there, either a number or a name.
  std::uint64_t read_value(bool may_be_name) {
    const std::size_t begin = at_;
    bool digits = true;
    std::uint64_t n = 0;
    for (; is_digit(peek()) || is_letter(peek()); ++at_) {
      digits = digits && is_digit(peek());
      if (digits && n < 1'000'000'000) n = n * 10 + static_cast<unsigned>(peek() - '0');
    }
    if (at_ == begin) fail(begin);
    if (digits) return n;
    const auto found = find_name(rule_, word_.text.substr(begin, at_ - begin));
    if (!may_be_name || !found) fail(begin);
    return *found;
  }

  void read_item() {
    const std::size_t begin = at_;
    std::uint64_t first = rule_.low;
    std::uint64_t last = rule_.high;
    if (!take('*')) {
      first = last = read_value(true);
      if (peek() == '/') fail(at_);
      if (!take('-')) {
        if (first < rule_.low || first > rule_.high) fail(begin);
        add_range(sets_, static_cast<unsigned>(first), static_cast<unsigned>(first), 1);
        return;
      }
      last = read_value(true);
    }
    std::uint64_t step = 1;
    if (take('/')) {
      const std::size_t digits = at_;
      step = read_value(false);
      if (step == 0) fail(digits);
    }
    if (first < rule_.low || first > rule_.high || last < rule_.low || last > rule_.high)
      fail(begin);
    if (first > last) return;  // Debian sets nothing, and is content.
    add_range(sets_, static_cast<unsigned>(first), static_cast<unsigned>(last), step);
  }

  word word_;
  const field_rule& rule_;
  std::size_t at_ = 0;
  field_sets sets_;
};

// --- all fields
// -----------------------------------------------------------------------------------

void put(cron_fields& f, field_index index, const field_sets& sets) {
  const auto flag = [&](std::uint8_t bit, bool on) {
    if (on) f.flags = static_cast<std::uint8_t>(f.flags | bit);
  };
  flag(cron_fields::hashed, sets.hashed);
  flag(cron_fields::junk_ignored, sets.junk);
  switch (index) {
    case f_second:
      f.seconds = sets.values;
      break;
    case f_minute:
      f.minutes = sets.values;
      flag(cron_fields::minute_star, sets.star);
      break;
    case f_hour:
      f.hours = static_cast<std::uint32_t>(sets.values);
      flag(cron_fields::hour_star, sets.star);
      break;
    case f_day:
      f.days = static_cast<std::uint32_t>(sets.values);
      f.days_from_end = sets.days_from_end;
      f.working_days = sets.working_days;
      flag(cron_fields::day_star, sets.star);
      break;
    case f_month:
      f.months = static_cast<std::uint16_t>(sets.values);
      break;
    case f_weekday:
      f.weekdays = static_cast<std::uint8_t>((sets.values | sets.values >> 7) & 0x7f);
      f.nth_weekdays = sets.nth_weekdays;
      flag(cron_fields::weekday_star, sets.star);
      break;
  }
}

[[noreturn]] void fail_macro(const word& w) {
  if (w.text == "@reboot" || w.text == "@every" || w.text == "@at")
    throw cron_error(std::string(w.text) + " is no calendar: it has no dates of its own", w.column);
  throw cron_error("there is no " + in_quotes(w.text) +
                       ", expected @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
                       "@hourly, @every, @at or @reboot",
                   w.column);
}

cron_fields parse_words(const std::vector<word>& words, std::string_view name, cron_syntax syntax,
                        std::size_t end) {
  const bool vixie = syntax == cron_syntax::vixie;
  if (words.size() < 5 || words.size() > (vixie ? 5 : 6)) {
    const std::size_t column = words.size() < 5 ? end : words[vixie ? 5 : 6].column;
    throw cron_error("found " + std::to_string(words.size()) +
                         (words.size() == 1 ? " field" : " fields") +
                         ", expected 5: minute hour day month weekday" +
                         (vixie ? "" : " (or 6, with seconds first)"),
                     column);
  }
  cron_fields f;
  const bool six = words.size() == 6;
  if (six) f.flags = cron_fields::six_fields;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto index = static_cast<field_index>(i + (six ? 0 : 1));
    put(f, index,
        vixie ? vixie_reader{words[i], index}.read() : strict_reader{words[i], index, name}.read());
  }
  return f;
}

}  // namespace

cron_fields parse_fields(std::string_view text, std::string_view name, cron_syntax syntax) {
  const std::vector<word> words = words_of(text);
  if (words.empty())
    throw cron_error("there is no expression, expected 5 fields: minute hour day month weekday", 1);
  if (words[0].text[0] != '@') return parse_words(words, name, syntax, text.size() + 1);
  for (const macro& m : macros) {
    if (m.name != words[0].text) continue;
    if (words.size() > 1)
      throw cron_error("unexpected " + in_quotes(words[1].text) + " after " + std::string(m.name),
                       words[1].column);
    return parse_words(words_of(m.fields), name, syntax, 0);
  }
  fail_macro(words[0]);
}

std::uint64_t stable_hash(std::string_view name, unsigned field) noexcept {
  std::uint64_t h = 14'695'981'039'346'656'037U;
  const auto add = [&h](unsigned char byte) {
    h ^= byte;
    h *= 1'099'511'628'211U;
  };
  for (const char c : name) add(static_cast<unsigned char>(c));
  add(0);
  add(static_cast<unsigned char>(field));
  // FNV-1a leaves the lower bits of neighbouring fields alike.
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
  return h ^ (h >> 33);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 20;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    }
  }
  return out + (text.size() > most ? "...'" : "'");
}

}  // namespace rota::detail
