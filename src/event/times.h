// Points in time that do not run over the end of the clock.
#ifndef ROTA_EVENT_TIMES_H
#define ROTA_EVENT_TIMES_H

#include <rota/base/sync.h>

#include <chrono>

namespace rota::detail {

inline sync::time_point later(sync::time_point from, std::chrono::nanoseconds by) noexcept {
  return by > sync::time_point::max() - from ? sync::time_point::max() : from + by;
}

}  // namespace rota::detail

#endif
