// The search goes month by month: the days of a month that match are 31 bits, made by a few shifts
// from the weekday of its first day and its length. So a date that is never there costs 4,800
// months of that, and a date that is far away as many as lie between.

#include "cron/calendar.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace rota::detail {

namespace {

constexpr std::int64_t day_length = 86'400;
constexpr int months_to_look_at = 400 * 12 + 1;  // then the calendar repeats

// The bits from `low` to `high`.
constexpr std::uint64_t bits(unsigned low, unsigned high) {
  return (~std::uint64_t{0} >> (63 - high)) & (~std::uint64_t{0} << low);
}

struct month_shape {
  std::chrono::year_month month;
  unsigned length;
  unsigned first_weekday;  // of its day 1; 0 is Sunday

  explicit month_shape(std::chrono::year_month ym)
      : month(ym),
        length(static_cast<unsigned>((ym / std::chrono::last).day())),
        first_weekday(std::chrono::weekday{std::chrono::sys_days{ym / 1}}.c_encoding()) {}

  std::uint64_t all() const { return bits(1, length); }
  unsigned weekday(unsigned day) const { return (first_weekday + day - 1) % 7; }
};

// nW: the weekday from Monday to Friday that is nearest to day n, in the same month.
unsigned nearest_working_day(const month_shape& m, unsigned day) {
  switch (m.weekday(day)) {
    case 6:
      return day > 1 ? day - 1 : day + 2;
    case 0:
      return day < m.length ? day + 1 : day - 2;
    default:
      return day;
  }
}

std::uint64_t special_month_days(const cron_fields& f, const month_shape& m) {
  std::uint64_t days = 0;
  for (std::uint32_t left = f.days_from_end; left != 0; left &= left - 1) {
    const auto n = static_cast<unsigned>(std::countr_zero(left));
    if (n < m.length) days |= std::uint64_t{1} << (m.length - n);
  }
  for (std::uint32_t left = f.working_days; left != 0; left &= left - 1) {
    const auto n = static_cast<unsigned>(std::countr_zero(left));
    if (n == 0) {  // LW
      const unsigned last = m.weekday(m.length);
      days |= std::uint64_t{1} << (m.length - (last == 6 ? 1U : last == 0 ? 2U : 0U));
    } else if (n <= m.length) {
      days |= std::uint64_t{1} << nearest_working_day(m, n);
    }
  }
  return days;
}

std::uint64_t special_weekdays(const cron_fields& f, const month_shape& m) {
  std::uint64_t days = 0;
  for (std::uint64_t left = f.nth_weekdays; left != 0; left &= left - 1) {
    const auto n = static_cast<unsigned>(std::countr_zero(left));
    const unsigned in_first_week = 1 + (n % 7 + 7 - m.first_weekday) % 7;
    if (n < 35) {  // the fifth may be behind the end of the month, where nobody looks
      days |= std::uint64_t{1} << (in_first_week + n / 7 * 7);
    } else {
      days |= std::uint64_t{1} << (in_first_week + (m.length - in_first_week) / 7 * 7);
    }
  }
  return days;
}

// The days of a month that match, as bits from 1 (rule T3).
std::uint64_t matching_days(const cron_fields& f, const month_shape& m) {
  std::uint64_t by_day = f.days;
  if ((f.days_from_end | f.working_days) != 0) by_day |= special_month_days(f, m);

  const unsigned week = f.weekdays;  // turned so that bit 0 is the weekday of day 1
  const std::uint64_t turned = ((week >> m.first_weekday) | (week << (7 - m.first_weekday))) & 0x7f;
  constexpr std::uint64_t five_weeks = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
  std::uint64_t by_weekday = (turned * five_weeks) << 1;
  if (f.nth_weekdays != 0) by_weekday |= special_weekdays(f, m);

  const bool both = f.has(cron_fields::day_star) || f.has(cron_fields::weekday_star);
  return (both ? by_day & by_weekday : by_day | by_weekday) & m.all();
}

bool has_month(const cron_fields& f, std::chrono::month m) {
  return ((f.months >> static_cast<unsigned>(m)) & 1) != 0;
}

// --- the time of day
// ------------------------------------------------------------------------------

int lowest(std::uint64_t set) { return std::countr_zero(set); }
int highest(std::uint64_t set) { return 63 - std::countl_zero(set); }

constexpr std::int64_t no_time = -1;

std::int64_t time_of(int hour, int minute, int second) {
  return (std::int64_t{hour} * 60 + minute) * 60 + second;
}

std::int64_t first_time(const cron_fields& f) {
  return time_of(lowest(f.hours), lowest(f.minutes), lowest(f.seconds));
}
std::int64_t last_time(const cron_fields& f) {
  return time_of(highest(f.hours), highest(f.minutes), highest(f.seconds));
}

// The first time of day at `from` or later that matches.
std::int64_t time_from(const cron_fields& f, std::int64_t from) {
  const auto hour = static_cast<unsigned>(from / 3600);
  const auto minute = static_cast<unsigned>(from / 60 % 60);
  const auto second = static_cast<unsigned>(from % 60);
  const bool this_hour = ((f.hours >> hour) & 1) != 0;
  if (this_hour) {
    if (((f.minutes >> minute) & 1) != 0)
      if (const std::uint64_t s = f.seconds & bits(second, 59))
        return time_of(static_cast<int>(hour), static_cast<int>(minute), lowest(s));
    if (minute < 59)
      if (const std::uint64_t m = f.minutes & bits(minute + 1, 59))
        return time_of(static_cast<int>(hour), lowest(m), lowest(f.seconds));
  }
  if (hour < 23)
    if (const std::uint64_t h = f.hours & bits(hour + 1, 23))
      return time_of(lowest(h), lowest(f.minutes), lowest(f.seconds));
  return no_time;
}

// The last time of day at `until` or earlier that matches.
std::int64_t time_until(const cron_fields& f, std::int64_t until) {
  const auto hour = static_cast<unsigned>(until / 3600);
  const auto minute = static_cast<unsigned>(until / 60 % 60);
  const auto second = static_cast<unsigned>(until % 60);
  const bool this_hour = ((f.hours >> hour) & 1) != 0;
  if (this_hour) {
    if (((f.minutes >> minute) & 1) != 0)
      if (const std::uint64_t s = f.seconds & bits(0, second))
        return time_of(static_cast<int>(hour), static_cast<int>(minute), highest(s));
    if (minute > 0)
      if (const std::uint64_t m = f.minutes & bits(0, minute - 1))
        return time_of(static_cast<int>(hour), highest(m), highest(f.seconds));
  }
  if (hour > 0)
    if (const std::uint64_t h = f.hours & bits(0, hour - 1))
      return time_of(highest(h), highest(f.minutes), highest(f.seconds));
  return no_time;
}

// --- days
// -----------------------------------------------------------------------------------------

// A wall time in its parts.
struct wall_parts {
  std::chrono::year_month_day date;
  std::int64_t time;

  explicit wall_parts(std::int64_t wall) {
    const auto days =
        std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds{std::chrono::seconds{wall}});
    date = days;
    time = wall - days.time_since_epoch().count() * day_length;
  }
  unsigned day() const { return static_cast<unsigned>(date.day()); }
  std::chrono::year_month month() const { return date.year() / date.month(); }
};

std::int64_t wall_of(std::chrono::year_month month, unsigned day, std::int64_t time) {
  const std::chrono::sys_days d{month / std::chrono::day{day}};
  return d.time_since_epoch().count() * day_length + time;
}

bool can_match(const cron_fields& f) {
  return f.seconds != 0 && f.minutes != 0 && f.hours != 0 && f.months != 0;
}

}  // namespace

std::optional<std::int64_t> match_from(const cron_fields& f, std::int64_t wall) {
  if (wall > last_wall || !can_match(f)) return std::nullopt;
  const wall_parts from{std::max(wall, first_wall)};
  const unsigned today = from.day();
  std::chrono::year_month month = from.month();
  std::uint64_t allowed = bits(today, 31);
  for (int i = 0; i < months_to_look_at;
       ++i, month += std::chrono::months{1}, allowed = bits(1, 31)) {
    if (!has_month(f, month.month())) continue;
    if (month.year() > std::chrono::year{9999}) break;
    std::uint64_t days = matching_days(f, month_shape{month}) & allowed;
    if (i == 0 && ((days >> today) & 1) != 0) {
      if (const std::int64_t t = time_from(f, from.time); t != no_time)
        return wall_of(month, today, t);
      days &= days - 1;
    }
    if (days != 0) return wall_of(month, static_cast<unsigned>(lowest(days)), first_time(f));
  }
  return std::nullopt;
}

std::optional<std::int64_t> match_until(const cron_fields& f, std::int64_t wall) {
  if (wall < first_wall || !can_match(f)) return std::nullopt;
  const wall_parts until{std::min(wall, last_wall)};
  const unsigned today = until.day();
  std::chrono::year_month month = until.month();
  std::uint64_t allowed = bits(1, today);
  for (int i = 0; i < months_to_look_at;
       ++i, month -= std::chrono::months{1}, allowed = bits(1, 31)) {
    if (!has_month(f, month.month())) continue;
    if (month.year() < std::chrono::year{1}) break;
    std::uint64_t days = matching_days(f, month_shape{month}) & allowed;
    if (i == 0 && ((days >> today) & 1) != 0) {
      if (const std::int64_t t = time_until(f, until.time); t != no_time)
        return wall_of(month, today, t);
      days &= ~(std::uint64_t{1} << today);
    }
    if (days != 0) return wall_of(month, static_cast<unsigned>(highest(days)), last_time(f));
  }
  return std::nullopt;
}

}  // namespace rota::detail
