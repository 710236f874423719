// Instants as ISO 8601, which is read strictly: what is not all there, or not of the calendar, is
// no instant.

#include <rota/cron/time_zone.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include "cron/calendar.h"
#include "cron/wall_clock.h"

namespace rota {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The date, the time and the milliseconds if there are any.
std::string wall_text(instant wall) {
  const auto day = floor<days>(wall);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{wall - day};
  std::array<char, 64> out{};
  int size = std::snprintf(
      out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()));
  std::string text{out.data(), static_cast<std::size_t>(size)};
  if (const auto ms = static_cast<int>(time.subseconds().count()); ms != 0) {
    size = std::snprintf(out.data(), out.size(), ".%03d", ms);
    text.append(out.data(), static_cast<std::size_t>(size));
  }
  return text;
}

// Reads from the front of a text.
class text_reader {
 public:
  explicit text_reader(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Exactly so many digits.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    int n = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return std::nullopt;
      n = n * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return n;
  }
  // One to nine digits after a point, as milliseconds; what is finer is cut off.
  std::optional<int> fraction() {
    int n = 0;
    std::size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits)
      if (digits < 3) n = n * 10 + (text_[digits] - '0');
    if (digits == 0 || digits > 9) return std::nullopt;
    text_.remove_prefix(digits);
    for (; digits < 3; ++digits) n *= 10;
    return n;
  }

 private:
  std::string_view text_;
};

std::optional<std::chrono::sys_days> read_date(text_reader& in) {
  const auto year = in.number(4);
  if (!year || *year < 1 || !in.take('-')) return std::nullopt;
  const auto month = in.number(2);
  if (!month || !in.take('-')) return std::nullopt;
  const auto day = in.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days{date};
}

// hh:mm, with :ss and .mmm or without.
std::optional<milliseconds> read_time(text_reader& in) {
  const auto hour = in.number(2);
  if (!hour || *hour > 23 || !in.take(':')) return std::nullopt;
  const auto minute = in.number(2);
  if (!minute || *minute > 59) return std::nullopt;
  milliseconds t = std::chrono::hours{*hour} + std::chrono::minutes{*minute};
  if (!in.take(':')) return t;
  const auto second = in.number(2);
  if (!second || *second > 59) return std::nullopt;
  t += seconds{*second};
  if (!in.take('.')) return t;
  const auto ms = in.fraction();
  if (!ms) return std::nullopt;
  return t + milliseconds{*ms};
}

// +hh:mm or +hhmm, at most 15 hours: no place on earth is further off.
std::optional<seconds> read_offset(text_reader& in) {
  const bool west = in.take('-');
  if (!west && !in.take('+')) return std::nullopt;
  const auto hour = in.number(2);
  if (!hour) return std::nullopt;
  in.take(':');
  const auto minute = in.number(2);
  if (!minute || *minute > 59 || *hour * 60 + *minute > 15 * 60) return std::nullopt;
  const seconds s = std::chrono::hours{*hour} + std::chrono::minutes{*minute};
  return west ? -s : s;
}

std::optional<instant> in_years(instant t) {
  const std::int64_t s = floor<seconds>(t).time_since_epoch().count();
  if (s < detail::first_wall || s > detail::last_wall) return std::nullopt;
  return t;
}

instant from_wall(instant wall, const time_zone& zone) {
  const auto whole = floor<seconds>(wall);
  const auto place = detail::find_wall(zone, whole.time_since_epoch().count());
  if (place.what == detail::wall_place::kind::skipped) return instant{seconds{place.change}};
  return instant{seconds{place.first}} + (wall - whole);
}

}  // namespace

std::string to_text(instant t) { return wall_text(t) + "Z"; }

std::string to_text(instant t, const time_zone& zone) {
  if (detail::is_utc(zone)) return to_text(t);
  const std::int64_t real = floor<seconds>(t).time_since_epoch().count();
  const std::int64_t offset = detail::wall_at(zone, real) - real;
  const std::int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  std::array<char, 16> out{};
  std::snprintf(out.data(), out.size(), "%c%02d:%02d", offset < 0 ? '-' : '+',
                static_cast<int>(minutes / 60 % 100), static_cast<int>(minutes % 60));
  return wall_text(t + seconds{offset}) + out.data();
}

std::optional<instant> parse_instant(std::string_view text, const time_zone& zone) {
  text_reader in{text};
  const auto date = read_date(in);
  if (!date) return std::nullopt;
  instant wall{*date};
  if (in.at_end()) return in_years(from_wall(wall, zone));
  if (!in.take('T') && !in.take('t') && !in.take(' ')) return std::nullopt;
  const auto time = read_time(in);
  if (!time) return std::nullopt;
  wall += *time;
  if (in.at_end()) return in_years(from_wall(wall, zone));
  if (in.take('Z') || in.take('z')) return in.at_end() ? in_years(wall) : std::nullopt;
  const auto offset = read_offset(in);
  if (!offset || !in.at_end()) return std::nullopt;
  return in_years(wall - *offset);
}

}  // namespace rota
