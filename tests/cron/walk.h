// A second opinion on when an expression fires: a walk over all minutes, by the C library's zones
// and a plain reading of the rules, which shares no code with src/cron.
#ifndef ROTA_TESTS_CRON_WALK_H
#define ROTA_TESTS_CRON_WALK_H

#include <rota/base/rng.h>

#include <stdlib.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rota::cron_test {

using rota::detail::rng;

inline constexpr std::array<const char*, 38> walked_zones{"UTC",
                                                          "Europe/Paris",
                                                          "Europe/London",
                                                          "Europe/Dublin",
                                                          "Europe/Moscow",
                                                          "Europe/Istanbul",
                                                          "America/New_York",
                                                          "America/Los_Angeles",
                                                          "America/St_Johns",
                                                          "America/Sao_Paulo",
                                                          "America/Santiago",
                                                          "America/Havana",
                                                          "America/Caracas",
                                                          "America/Asuncion",
                                                          "America/Scoresbysund",
                                                          "America/Nuuk",
                                                          "Atlantic/Azores",
                                                          "Africa/Cairo",
                                                          "Africa/Casablanca",
                                                          "Africa/Khartoum",
                                                          "Asia/Kolkata",
                                                          "Asia/Kathmandu",
                                                          "Asia/Tehran",
                                                          "Asia/Beirut",
                                                          "Asia/Gaza",
                                                          "Asia/Pyongyang",
                                                          "Asia/Amman",
                                                          "Asia/Tokyo",
                                                          "Australia/Sydney",
                                                          "Australia/Adelaide",
                                                          "Australia/Lord_Howe",
                                                          "Pacific/Auckland",
                                                          "Pacific/Chatham",
                                                          "Pacific/Apia",
                                                          "Pacific/Kiritimati",
                                                          "Pacific/Norfolk",
                                                          "Antarctica/Troll",
                                                          "Antarctica/Casey"};

// Makes the C library use a zone.
inline void enter_zone(const std::string& name) {
  ::setenv("TZ", (":" + name).c_str(), 1);
  ::tzset();
}

struct wall_minute {
  std::int64_t number;  // since 1970, as the wall has it
  int minute, hour, day, month, weekday, month_length;
};

inline int length_of_month(int year, int month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

inline wall_minute wall_minute_of(const tm& t, std::int64_t wall_seconds) {
  return {wall_seconds / 60,
          t.tm_min,
          t.tm_hour,
          t.tm_mday,
          t.tm_mon + 1,
          t.tm_wday,
          length_of_month(t.tm_year + 1900, t.tm_mon + 1)};
}

// What the wall shows at a real minute, in the zone that was entered.
inline wall_minute local_minute(std::int64_t real_minute) {
  const auto seconds = static_cast<time_t>(real_minute * 60);
  tm t{};
  ::localtime_r(&seconds, &t);
  return wall_minute_of(t, seconds + t.tm_gmtoff);
}

// Any wall minute, also one that no clock shows.
inline wall_minute any_minute(std::int64_t number) {
  const auto seconds = static_cast<time_t>(number * 60);
  tm t{};
  ::gmtime_r(&seconds, &t);
  return wall_minute_of(t, seconds);
}

// An expression as text and as what it means.
struct meant {
  std::string text;
  std::set<int> minutes, hours, days, months, weekdays;
  std::set<int> from_end;             // L-n
  std::set<int> working;              // nW; 0: LW
  std::set<std::pair<int, int>> nth;  // (weekday, k); k = 0: the last
  bool minute_star = false, hour_star = false, day_star = false, weekday_star = false;

  bool is_working_day_of(int n, const wall_minute& w) const {
    // Counts the days from n, nearest first, until one is from Monday to Friday.
    const int wanted = n == 0 ? w.month_length : n;
    if (wanted > w.month_length) return false;
    for (const int off : {0, -1, 1, -2, 2}) {
      if (n == 0 && off > 0) continue;
      const int day = wanted + off;
      if (day < 1 || day > w.month_length) continue;
      const int weekday = ((w.weekday + day - w.day) % 7 + 7) % 7;
      if (weekday != 0 && weekday != 6) return day == w.day;
    }
    return false;
  }

  bool day_matches(const wall_minute& w) const {
    if (days.count(w.day) != 0 || from_end.count(w.month_length - w.day) != 0) return true;
    for (const int n : working)
      if (is_working_day_of(n, w)) return true;
    return false;
  }
  bool weekday_matches(const wall_minute& w) const {
    if (weekdays.count(w.weekday) != 0) return true;
    if (nth.count({w.weekday, (w.day - 1) / 7 + 1}) != 0) return true;
    return nth.count({w.weekday, 0}) != 0 && w.day + 7 > w.month_length;
  }
  bool date_matches(const wall_minute& w) const {
    if (months.count(w.month) == 0) return false;
    if (day_star || weekday_star) return day_matches(w) && weekday_matches(w);
    return day_matches(w) || weekday_matches(w);
  }
  bool matches(const wall_minute& w) const {
    return minutes.count(w.minute) != 0 && hours.count(w.hour) != 0 && date_matches(w);
  }
};

// --- random expressions
// ---------------------------------------------------------------------------

class maker {
 public:
  explicit maker(std::uint64_t seed) : random_(seed) {}

  // `plain` ones have nothing that Debian's cron does not take.
  meant make(bool plain) {
    meant m;
    m.text = field(m.minutes, m.minute_star, 0, 59) + " ";
    m.text += (one_in(3) ? early_hours(m.hours) : field(m.hours, m.hour_star, 0, 23)) + " ";
    m.text += day_field(m, plain) + " ";
    bool ignored = false;
    m.text += (one_in(3) ? field(m.months, ignored, 1, 12) : all(m.months, ignored, 1, 12)) + " ";
    m.text += weekday_field(m, plain);
    return m;
  }

  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::int64_t minute_between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low)));
  }

 private:
  std::string all(std::set<int>& set, bool& star, int low, int high) {
    star = true;
    for (int v = low; v <= high; ++v) set.insert(v);
    return "*";
  }

  std::string field(std::set<int>& set, bool& star, int low, int high) {
    if (one_in(4)) return all(set, star, low, high);
    std::string text;
    const int items = one_in(2) ? 1 : between(1, 3);
    for (int i = 0; i < items; ++i) {
      if (i > 0) text += ",";
      text += item(set, star, i == 0, low, high);
    }
    return text;
  }

  std::string item(std::set<int>& set, bool& star, bool first, int low, int high) {
    const int kind = between(0, 5);
    if (kind == 0) {
      const int step = between(1, high - low + 3);
      if (first) star = true;
      for (int v = low; v <= high; v += step) set.insert(v);
      return "*/" + std::to_string(step);
    }
    const int from = between(low, high);
    if (kind <= 3) {
      set.insert(from);
      return std::to_string(from);
    }
    const int to = between(from, high);
    const int step = kind == 4 ? 1 : between(1, 20);
    for (int v = from; v <= to; v += step) set.insert(v);
    return std::to_string(from) + "-" + std::to_string(to) +
           (kind == 4 ? "" : "/" + std::to_string(step));
  }

  // Clocks are set at night.
  std::string early_hours(std::set<int>& set) {
    const int hour = between(0, 4);
    set.insert(hour);
    if (one_in(2)) return std::to_string(hour);
    set.insert(hour == 0 ? 23 : hour - 1);
    return std::to_string(hour) + "," + std::to_string(hour == 0 ? 23 : hour - 1);
  }

  std::string day_field(meant& m, bool plain) {
    if (one_in(2)) return all(m.days, m.day_star, 1, 31);
    if (plain || one_in(2)) return field(m.days, m.day_star, 1, 31);
    const int n = between(1, 31);
    switch (between(0, 3)) {
      case 0:
        m.from_end.insert(0);
        return "L";
      case 1:
        m.from_end.insert(n % 31);
        return "L-" + std::to_string(n % 31);
      case 2:
        m.working.insert(0);
        return "LW";
      default:
        m.working.insert(n);
        return std::to_string(n) + "W";
    }
  }

  std::string weekday_field(meant& m, bool plain) {
    if (one_in(2)) return all(m.weekdays, m.weekday_star, 0, 6);
    if (plain || one_in(2)) {
      std::string text = field(m.weekdays, m.weekday_star, 0, 7);
      if (m.weekdays.erase(7) != 0) m.weekdays.insert(0);
      return text;
    }
    const int d = between(0, 7);
    const int k = between(0, 5);
    m.nth.insert({d % 7, k});
    return std::to_string(d) + (k == 0 ? "L" : "#" + std::to_string(k));
  }

  rng random_;
};

// --- the walk
// -------------------------------------------------------------------------------------

// The real minutes of a window and what the wall shows at each.
struct walked_window {
  std::int64_t first;
  std::vector<wall_minute> walls;
};

inline walked_window walk(std::int64_t first, std::int64_t count) {
  walked_window w{first, {}};
  for (std::int64_t i = 0; i < count; ++i) w.walls.push_back(local_minute(first + i));
  return w;
}

// How often it fires at which real minute.
using firing_counts = std::map<std::int64_t, std::uint32_t>;

// Rule T2, "wall".
inline firing_counts fires_by_wall(const meant& m, const walked_window& w) {
  firing_counts fires;
  std::int64_t latest = w.walls[0].number;
  for (std::size_t i = 1; i < w.walls.size(); ++i) {
    const wall_minute& now = w.walls[i];
    const std::int64_t before = w.walls[i - 1].number;
    bool due = m.matches(now);
    if (!m.hour_star) {
      if (now.number <= latest) due = false;  // has been there before
      if (now.number - before - 1 < 180)
        for (std::int64_t n = before + 1; n < now.number && !due; ++n)
          due = n > latest && m.matches(any_minute(n));
    }
    if (due) fires[w.first + static_cast<std::int64_t>(i)] = 1;
    latest = std::max(latest, now.number);
  }
  return fires;
}

// Debian's cron: its clock of the minutes that were run, and what it does when the wall is not one
// minute ahead of that.
inline firing_counts fires_by_vixie(const meant& m, const walked_window& w) {
  firing_counts fires;
  const bool wild = m.minute_star || m.hour_star;
  std::int64_t done = w.walls[0].number;
  for (std::size_t i = 1; i < w.walls.size(); ++i) {
    const std::int64_t now = w.walls[i].number;
    const std::int64_t ahead = now - done;
    std::uint32_t times = 0;
    const auto run = [&](std::int64_t n) { times += m.matches(any_minute(n)) ? 1 : 0; };
    if (ahead > 180 || ahead <= -180) {  // the clock was set: start anew
      run(now);
      done = now;
    } else if (ahead <= 0) {  // a minute that was run: wildcards only
      if (wild) run(now);
    } else if (ahead <= 5) {  // overslept: all of them
      while (done < now) run(++done);
    } else {  // wildcards for now, the others for each that was skipped
      if (wild) run(now);
      for (; done < now;) {
        ++done;
        if (!wild) run(done);
      }
    }
    if (times != 0) fires[w.first + static_cast<std::int64_t>(i)] = times;
  }
  return fires;
}

}  // namespace rota::cron_test

#endif
