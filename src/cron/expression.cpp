// From wall times that match to the instants at which they fire (rule T2).
//
// Where no clock is set, a wall time is one instant. Where one is:
//   a gap   skips wall times. What matches there fires once, when the clock is set, or not at all.
//   a fold  repeats wall times. What matches there fires in the first pass, or in both.
// Which of the two, say made_up() and repeated(). A gap or fold lies between ordinary wall times
// and its own do not overlap with others', so next() looks at one at a time: it finds the next wall
// time that matches as if there were no zones, asks where it lies, and goes on behind the gap or
// fold if it does not fire there.

#include <rota/cron/expression.h>

#include <algorithm>
#include <chrono>

#include "cron/calendar.h"
#include "cron/parse.h"
#include "cron/wall_clock.h"

namespace rota {

using detail::cron_fields;
using detail::find_wall;
using detail::match_from;
using detail::match_until;
using detail::wall_at;
using detail::wall_place;

namespace {

constexpr std::int64_t minute_length = 60;
constexpr std::int64_t three_hours = 3 * 60 * minute_length;
// Debian takes a gap of so many minutes for having overslept, and runs all that it has missed.
constexpr std::int64_t overslept = 4 * minute_length;

// Follows real time rather than the wall: fires in both passes, and a gap swallows nothing that
// matters.
bool is_elastic(const cron_fields& f, dst_rule dst) {
  if (f.has(cron_fields::hour_star)) return true;
  return dst == dst_rule::vixie && f.has(cron_fields::minute_star);
}

// Whether what a gap swallows fires at its end.
bool made_up(const cron_fields& f, dst_rule dst, std::int64_t gap) {
  if (dst == dst_rule::vixie && gap <= overslept) return true;
  return !is_elastic(f, dst) && gap < three_hours;
}

// Whether what matches in a fold fires in the second pass too. Debian takes a fold beyond three
// hours for a clock that was set, and starts anew.
bool repeated(const cron_fields& f, dst_rule dst, std::int64_t fold) {
  return is_elastic(f, dst) || (dst == dst_rule::vixie && fold > three_hours);
}

constexpr std::int64_t next_minute(std::int64_t wall) {
  const std::int64_t second = (wall % minute_length + minute_length) % minute_length;
  return wall - second + minute_length;
}

constexpr instant instant_of(std::int64_t real) { return instant{std::chrono::seconds{real}}; }

std::int64_t in_range(std::int64_t real) {
  constexpr std::int64_t day = 86'400;  // more than any zone is off
  return std::clamp(real, detail::first_wall - day, detail::last_wall + day);
}

// The last whole second at `t` or before, and the last before it; in the years that there are.
std::int64_t second_at(instant t) {
  return in_range(std::chrono::floor<std::chrono::seconds>(t).time_since_epoch().count());
}
std::int64_t second_before(instant t) {
  return in_range(std::chrono::ceil<std::chrono::seconds>(t).time_since_epoch().count() - 1);
}

}  // namespace

cron_expression cron_expression::parse(std::string_view text, std::string_view name,
                                       cron_syntax syntax) {
  cron_expression e;
  e.fields_ = detail::parse_fields(text, name, syntax);
  return e;
}

std::optional<instant> cron_expression::next(instant t, const time_zone& zone, dst_rule dst) const {
  const std::int64_t now = second_at(t);
  const std::int64_t wall_now = wall_at(zone, now);
  std::int64_t from = wall_now + 1;

  // In the first pass of a fold, later instants have earlier wall times.
  if (const wall_place p = find_wall(zone, wall_now);
      p.what == wall_place::kind::twice && now < p.change) {
    const auto match = match_from(fields_, from);
    if (match && *match < p.end) return instant_of(now + (*match - wall_now));
    from = repeated(fields_, dst, p.length()) ? p.begin : p.end;
  }
  for (;;) {
    const auto match = match_from(fields_, from);
    if (!match) return std::nullopt;
    const wall_place p = find_wall(zone, *match);
    switch (p.what) {
      case wall_place::kind::once:
        return instant_of(p.first);
      case wall_place::kind::skipped:
        if (made_up(fields_, dst, p.length())) return instant_of(p.change);
        break;
      case wall_place::kind::twice:
        if (p.first > now) return instant_of(p.first);
        if (repeated(fields_, dst, p.length())) return instant_of(p.second);
        break;
    }
    from = p.end;
  }
}

std::optional<instant> cron_expression::prev(instant t, const time_zone& zone, dst_rule dst) const {
  const std::int64_t now = second_before(t);
  const std::int64_t wall_now = wall_at(zone, now);
  std::int64_t until = wall_now;

  // In the second pass, earlier instants have later wall times.
  if (const wall_place p = find_wall(zone, wall_now);
      p.what == wall_place::kind::twice && now >= p.change) {
    const auto match = match_until(fields_, until);
    if (match && *match >= p.begin && repeated(fields_, dst, p.length()))
      return instant_of(now - (wall_now - *match));
    until = p.end - 1;
  }
  for (;;) {
    const auto match = match_until(fields_, until);
    if (!match) return std::nullopt;
    const wall_place p = find_wall(zone, *match);
    switch (p.what) {
      case wall_place::kind::once:
        return instant_of(p.first);
      case wall_place::kind::skipped:
        if (made_up(fields_, dst, p.length())) return instant_of(p.change);
        break;
      case wall_place::kind::twice:
        if (p.second <= now && repeated(fields_, dst, p.length())) return instant_of(p.second);
        return instant_of(p.first);
    }
    until = p.begin - 1;
  }
}

std::uint32_t cron_expression::times(instant t, const time_zone& zone, dst_rule dst) const {
  if (next(instant_of(second_before(t)), zone, dst) != t) return 0;
  if (dst == dst_rule::wall) return 1;
  const std::int64_t now = second_at(t);
  const std::int64_t after = wall_at(zone, now);
  const std::int64_t before = wall_at(zone, now - 1) + 1;
  if (before >= after || !made_up(fields_, dst, after - before)) return 1;
  std::uint32_t count = match_from(fields_, after) == after ? 1 : 0;
  for (auto m = match_from(fields_, before); m && *m < after;) {
    ++count;
    m = match_from(fields_, next_minute(*m));
  }
  return count;
}

bool cron_expression::ever_fires() const { return match_from(fields_, 0).has_value(); }

}  // namespace rota
