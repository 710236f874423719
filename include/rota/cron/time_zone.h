// A time zone of the tz database, and instants as text.
//
//   auto paris = rota::time_zone::find("Europe/Paris");   // nothing if there is no such zone
//   rota::to_text(t, *paris);                             // "2026-03-29T03:00:00+02:00"
//
// Cheap to copy. Threads: all of it is anyone's.
#ifndef ROTA_CRON_TIME_ZONE_H
#define ROTA_CRON_TIME_ZONE_H

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

// A point of real time, UTC.
using instant = std::chrono::sys_time<std::chrono::milliseconds>;

// The clock of a zone is set.
struct clock_change {
  instant at;                   // the first instant with the new offset
  std::chrono::seconds before;  // what the clock was ahead of UTC
  std::chrono::seconds after;
};

class time_zone {
 public:
  // UTC.
  time_zone() noexcept = default;

  // By its name in the database, such as "Europe/Paris", "Etc/GMT+12" or "UTC", spelled as there.
  // Offsets ("+02:00"), paths, and zones with leap seconds ("right/...") are none.
  static std::optional<time_zone> find(std::string_view name);

  // The zone of this machine, as TZ or else /etc/localtime say; UTC where they are empty or absent.
  // TZ may also be ":NAME", "/usr/share/zoneinfo/NAME" and "/etc/localtime". Nothing if they say
  // something else: to take that for UTC would run jobs at other hours than meant.
  static std::optional<time_zone> find_local();

  // The same; throws std::invalid_argument, which says what is wrong.
  static time_zone local();

  // Reads the zones again whose files are others than when they were read, as after an update of
  // the database; whoever has such a zone has it as it is now. Gives their names. One whose file is
  // gone, or is no zone any more, stays as it was. Costs a look at each file in use. What is being
  // computed meanwhile, by other threads, may be of the old, the new, or a mix of both.
  static std::vector<std::string> read_again();

  std::string name() const;

  // The first change after `t`; none if there is none before the year 2400.
  std::optional<clock_change> next_change(instant t) const;

  friend bool operator==(const time_zone&, const time_zone&) noexcept = default;

 private:
  friend struct zone_access;

  // Of the table in time_zone.cpp, which has each name once and lives as long as the program; null
  // is UTC.
  const void* zone_ = nullptr;
};

// "2026-03-29T01:00:00Z"; with milliseconds only if there are any.
std::string to_text(instant t);
// The same in a zone: "2026-03-29T03:00:00+02:00".
std::string to_text(instant t, const time_zone& zone);
// Reads ISO 8601, "2026-03-29", "2026-03-29T03:00", "...:00:00.250", with Z or an offset; without
// either it is the zone's wall time: the first of two, and what a gap swallows is its end. Nothing
// if it is none, or not in the years 1 to 9999.
std::optional<instant> parse_instant(std::string_view text, const time_zone& zone = {});

}  // namespace rota

#endif
