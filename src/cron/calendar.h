// Which wall times match: the calendar without zones. A wall time is in seconds since 1970, as if
// the clock on the wall were never set.
#ifndef ROTA_SRC_CRON_CALENDAR_H
#define ROTA_SRC_CRON_CALENDAR_H

#include <rota/cron/expression.h>

#include <cstdint>
#include <optional>

namespace rota::detail {

// Years 1 to 9999: what has a text, and leaves room for sums.
constexpr std::int64_t first_wall = -62'135'596'800;
constexpr std::int64_t last_wall = 253'402'300'799;

// The first match at `wall` or later.
std::optional<std::int64_t> match_from(const cron_fields& f, std::int64_t wall);
// The last match at `wall` or earlier.
std::optional<std::int64_t> match_until(const cron_fields& f, std::int64_t wall);

}  // namespace rota::detail

#endif
