// Wall time and real time, both as seconds since 1970: what the clock on the wall of a zone shows,
// and when it shows it. The one door to the library that reads the tz database.
#ifndef ROTA_SRC_CRON_WALL_CLOCK_H
#define ROTA_SRC_CRON_WALL_CLOCK_H

#include <rota/cron/time_zone.h>

#include <cstdint>

namespace rota::detail {

// Where a wall time is in real time.
struct wall_place {
  enum class kind : std::uint8_t {
    once,
    skipped,  // in a gap: no clock ever shows it
    twice,    // in a fold
  };
  kind what = kind::once;
  std::int64_t first = 0;   // once: when; twice: in the first pass
  std::int64_t second = 0;  // twice: in the second pass

  // Of the gap or fold:
  std::int64_t change = 0;  // when the clock is set
  std::int64_t begin = 0;   // the wall times that are skipped or repeated
  std::int64_t end = 0;     // and the one after them
  std::int64_t length() const noexcept { return end - begin; }
};

std::int64_t wall_at(const time_zone& zone, std::int64_t real);
wall_place find_wall(const time_zone& zone, std::int64_t wall);

constexpr bool is_utc(const time_zone& zone) noexcept { return zone == time_zone{}; }

}  // namespace rota::detail

#endif
