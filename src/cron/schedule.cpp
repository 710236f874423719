#include <rota/cron/schedule.h>

#include <algorithm>
#include <limits>

#include "cron/calendar.h"
#include "cron/parse.h"

namespace rota {

static_assert(sizeof(cron_expression) <= 48 && sizeof(schedule) <= 64, "a table of jobs has many");

namespace {

using detail::in_quotes;
using detail::is_blank;

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}
std::size_t skip_word(std::string_view text, std::size_t at) {
  while (at < text.size() && !is_blank(text[at])) ++at;
  return at;
}

std::string_view without_blanks_at_end(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A hundred years: longer than any schedule makes sense for, and far from overflow.
constexpr std::int64_t longest_period = 100LL * 366 * 86'400'000;

std::int64_t unit_length(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  if (unit == "d") return 86'400'000;
  return 0;
}

// "90s", "1h30m": numbers with units, which go from the largest to the smallest.
std::int64_t read_period(std::string_view text, std::size_t column) {
  const auto fail = [&](std::size_t at, const std::string& what) {
    throw cron_error(what + ", expected a period such as 90s, 5m, 1h30m or 2d", column + at);
  };
  std::int64_t sum = 0;
  std::int64_t unit_before = std::numeric_limits<std::int64_t>::max();
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = at;
    std::int64_t n = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (n <= longest_period) n = n * 10 + (text[at] - '0');
    if (at == begin) fail(at, "unexpected " + in_quotes(text.substr(at)));
    const std::size_t unit_at = at;
    while (at < text.size() && text[at] >= 'a' && text[at] <= 'z') ++at;
    const std::int64_t unit = unit_length(text.substr(unit_at, at - unit_at));
    if (unit_at == at) fail(unit_at, "a unit is missing");
    if (unit == 0)
      fail(unit_at, "there is no unit " + in_quotes(text.substr(unit_at, at - unit_at)));
    if (unit >= unit_before) fail(unit_at, "units go from large to small");
    unit_before = unit;
    if (n > longest_period / unit || sum + n * unit > longest_period)
      fail(begin, "a period has at most 100 years");
    sum += n * unit;
  }
  if (sum == 0) fail(0, text.empty() ? "a period is missing" : "a period of nothing");
  return sum;
}

constexpr instant instant_of_milliseconds(std::int64_t ms) {
  return instant{std::chrono::milliseconds{ms}};
}

// The years that there are, in which sums with periods do not overflow.
std::int64_t bounded_milliseconds(instant t) {
  return std::clamp<std::int64_t>(t.time_since_epoch().count(), detail::first_wall * 1000,
                                  (detail::last_wall + 1) * 1000);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// How much of the text is CRON_TZ=Zone and the blanks behind it; sets the zone.
std::size_t read_zone(std::string_view text, std::size_t at, time_zone& zone) {
  const std::string_view rest = text.substr(at);
  const std::size_t name_at = at + (rest.starts_with("CRON_TZ=") ? 8
                                    : rest.starts_with("TZ=")    ? 3
                                                                 : 0);
  if (name_at == at) return at;
  const std::size_t end = skip_word(text, name_at);
  const auto found = time_zone::find(text.substr(name_at, end - name_at));
  if (!found)
    throw cron_error("there is no time zone " + in_quotes(text.substr(name_at, end - name_at)) +
                         ", expected a name such as Europe/Paris or UTC",
                     name_at + 1);
  zone = *found;
  return skip_blanks(text, end);
}

}  // namespace

schedule schedule::every(std::chrono::milliseconds period) {
  if (period.count() < 1 || period.count() > longest_period)
    throw std::invalid_argument("a period has between a millisecond and 100 years");
  schedule s;
  s.kind_ = kind::every;
  s.milliseconds_ = period.count();
  return s;
}

schedule schedule::parse(std::string_view text, const context& c) {
  time_zone zone = c.zone;
  const std::size_t at = read_zone(text, skip_blanks(text, 0), zone);
  const std::string_view rest = without_blanks_at_end(text.substr(at));
  const std::size_t word_end = skip_word(rest, 0);
  const std::string_view word = rest.substr(0, word_end);
  const std::size_t argument_at = skip_blanks(rest, word_end);
  const std::string_view argument = rest.substr(argument_at);
  const std::size_t argument_column = at + argument_at + 1;

  schedule s;
  s.dst_ = c.dst;
  if (word == "@reboot") {
    if (!argument.empty())
      throw cron_error("unexpected " + in_quotes(argument) + " after @reboot", argument_column);
    s.kind_ = kind::reboot;
    return s;
  }
  if (c.syntax == cron_syntax::strict && word == "@every") {
    s.milliseconds_ = read_period(argument, argument_column);
    s.kind_ = kind::every;
    return s;
  }
  if (c.syntax == cron_syntax::strict && word == "@at") {
    const auto t = parse_instant(argument, zone);
    if (!t)
      throw cron_error(
          (argument.empty() ? "an instant is missing" : in_quotes(argument) + " is no instant") +
              ", expected one such as 2026-12-24T18:00:00Z",
          argument_column);
    s.milliseconds_ = t->time_since_epoch().count();
    s.kind_ = kind::at;
    return s;
  }
  try {
    s.expression_ = cron_expression::parse(rest, c.name, c.syntax);
  } catch (const cron_error& e) {
    throw cron_error(e.what(), e.column() + at);
  }
  s.kind_ = kind::cron;
  s.zone_ = zone;
  if (!c.may_never_fire && !s.expression_.ever_fires())
    throw cron_error("it never fires: no date matches its day, month and weekday", at + 1);
  return s;
}

std::optional<instant> schedule::next(instant t, instant anchor) const {
  switch (kind_) {
    case kind::cron:
      return expression_.next(t, zone_, dst_);
    case kind::at:
      if (t < instant_of_milliseconds(milliseconds_)) return instant_of_milliseconds(milliseconds_);
      return std::nullopt;
    case kind::every: {
      const std::int64_t from = bounded_milliseconds(anchor);
      const std::int64_t passed = floor_divide(bounded_milliseconds(t) - from, milliseconds_);
      const std::int64_t next = from + (std::max<std::int64_t>(passed, 0) + 1) * milliseconds_;
      if (next > detail::last_wall * 1000) break;
      return instant_of_milliseconds(next);
    }
    case kind::never:
    case kind::reboot:
      break;
  }
  return std::nullopt;
}

std::optional<instant> schedule::prev(instant t, instant anchor) const {
  switch (kind_) {
    case kind::cron:
      return expression_.prev(t, zone_, dst_);
    case kind::at:
      if (t > instant_of_milliseconds(milliseconds_)) return instant_of_milliseconds(milliseconds_);
      return std::nullopt;
    case kind::every: {
      const std::int64_t from = bounded_milliseconds(anchor);
      const std::int64_t periods = floor_divide(bounded_milliseconds(t) - from - 1, milliseconds_);
      if (periods < 1) return std::nullopt;
      return instant_of_milliseconds(from + periods * milliseconds_);
    }
    case kind::never:
    case kind::reboot:
      break;
  }
  return std::nullopt;
}

std::uint32_t schedule::times(instant t, instant anchor) const {
  if (kind_ == kind::cron) return expression_.times(t, zone_, dst_);
  const instant before = instant_of_milliseconds(bounded_milliseconds(t) - 1);
  return next(before, anchor) == t ? 1 : 0;
}

}  // namespace rota
