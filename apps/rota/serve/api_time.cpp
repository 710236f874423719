// The parts of the API that lay time out: what comes, and how the days were.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <queue>
#include <set>

#include "api.h"
#include "job_json.h"
#include "wall_clock.h"

namespace rota::app {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// What the zone is ahead of UTC at that time, out of "...+02:00".
seconds offset_at(instant t, const time_zone& zone) {
  const std::string text = rota::to_text(t, zone);
  const std::size_t sign = text.find_last_of("+-");
  if (text.ends_with('Z') || sign == text.npos || sign < 11) return seconds(0);
  const int h = std::atoi(text.c_str() + sign + 1);
  const std::size_t colon = text.find(':', sign);
  const int m = colon == text.npos ? 0 : std::atoi(text.c_str() + colon + 1);
  const seconds size = hours(h) + minutes(m);
  return text[sign] == '-' ? -size : size;
}

// The clock changes of a zone between two instants. Two within six hours that undo each other are
// not seen; no zone has such.
void add_changes(ordered_json& to, const time_zone& zone, instant from, instant end) {
  const auto step = hours(6);
  seconds before = offset_at(from, zone);
  for (instant t = from; t < end; t += step) {
    const seconds after = offset_at(std::min<instant>(t + step, end), zone);
    if (after == before) continue;
    instant low = t;
    instant high = std::min<instant>(t + step, end);
    while (high - low > std::chrono::milliseconds(1000)) {
      const instant middle = low + (high - low) / 2;
      (offset_at(middle, zone) == before ? low : high) = middle;
    }
    const auto at = std::chrono::floor<seconds>(high);
    to.push_back({{"zone", zone.name()},
                  {"at", rota::to_text(instant(at))},
                  {"before_s", before.count()},
                  {"after_s", after.count()}});
    before = after;
  }
}

std::int64_t number_in(const request& r, const std::string& name, std::int64_t otherwise,
                       std::int64_t most) {
  const auto found = r.query.find(name);
  if (found == r.query.end()) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(found->second.c_str(), &end, 10);
  if (found->second.empty() || *end != '\0' || value < 1 || value > most) return -1;
  return value;
}

}  // namespace

response api::upcoming(const request& r, const caller& who) {
  constexpr std::int64_t most_hours = 24 * 366;
  constexpr std::int64_t most_firings = 20'000;
  const std::int64_t span = number_in(r, "hours", 24, most_hours);
  const std::int64_t limit = number_in(r, "limit", 2000, most_firings);
  if (span < 0 || limit < 0)
    return error_answer(400, "'hours' is a number from 1 to " + std::to_string(most_hours) +
                                 ", 'limit' one from 1 to " + std::to_string(most_firings));
  const instant from = wall_now();
  const instant to = from + hours(span);

  struct firing {
    instant at;
    std::shared_ptr<const job::definition> def;
    instant anchor;
    bool operator>(const firing& o) const {
      return at != o.at ? at > o.at : def->name > o.def->name;
    }
  };
  std::priority_queue<firing, std::vector<firing>, std::greater<>> due;
  std::map<std::string, time_zone> zones{{parts_.zone.name(), parts_.zone}};
  const std::string only = r.query.contains("job") ? r.query.at("job") : "";
  parts_.engine.each_job([&](const job::job_view& v) {
    if (!who.may(v.def->owner) || v.row.paused || (!only.empty() && v.def->name != only)) return;
    if (v.def->when.what() == schedule::kind::cron)
      zones.try_emplace(v.def->when.zone().name(), v.def->when.zone());
    if (const auto t = v.def->when.next(from, v.row.anchor); t && *t <= to)
      due.push({*t, v.def, v.row.anchor});
  });

  ordered_json firings = ordered_json::array();
  while (!due.empty() && firings.size() < static_cast<std::size_t>(limit)) {
    firing f = due.top();
    due.pop();
    firings.push_back({{"job", f.def->name}, {"at", rota::to_text(f.at)}});
    if (const auto t = f.def->when.next(f.at, f.anchor); t && *t <= to) {
      f.at = *t;
      due.push(f);
    }
  }
  ordered_json changes = ordered_json::array();
  constexpr std::size_t most_zones = 50;
  std::size_t seen = 0;
  for (const auto& [name, zone] : zones)
    if (seen++ < most_zones) add_changes(changes, zone, from, to);
  return {.body = line_of({{"from", rota::to_text(from)},
                           {"to", rota::to_text(to)},
                           {"firings", std::move(firings)},
                           {"cut", !due.empty()},
                           {"clock_changes", std::move(changes)}}) +
                  "\n"};
}

response api::heat(const request& r, const caller& who) {
  constexpr std::int64_t most_days = 400;
  const std::int64_t days = number_in(r, "days", 84, most_days);
  if (days < 0)
    return error_answer(400, "'days' is a number from 1 to " + std::to_string(most_days));
  // Days begin at midnight of the daemon's zone, whichever instant that is.
  const std::string today = rota::to_text(wall_now(), parts_.zone).substr(0, 10);
  const std::chrono::year_month_day date{
      std::chrono::year(std::atoi(today.substr(0, 4).c_str())),
      std::chrono::month(static_cast<unsigned>(std::atoi(today.substr(5, 2).c_str()))),
      std::chrono::day(static_cast<unsigned>(std::atoi(today.substr(8, 2).c_str())))};
  const std::chrono::sys_days last{date};
  std::vector<std::string> names;
  std::vector<instant> begins;
  for (std::int64_t i = days - 1; i >= -1; --i) {
    const instant day{last - std::chrono::days(i)};
    const std::string text = rota::to_text(day).substr(0, 10);
    const auto begin = parse_instant(text, parts_.zone);
    if (i >= 0) names.push_back(text);
    begins.push_back(begin.value_or(day));
  }
  const auto counts = parts_.ledger.heat(
      jobs_of(who, r.query.contains("job") ? r.query.at("job") : ""), begins, owner_for(who));
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < names.size() && i < counts.size(); ++i)
    list.push_back({{"date", names[i]},
                    {"success", counts[i].success},
                    {"failed", counts[i].failed},
                    {"skipped", counts[i].skipped},
                    {"other", counts[i].other}});
  return {.body = line_of({{"days", std::move(list)}}) + "\n"};
}

}  // namespace rota::app
