// The life of one runner: claim, start, watch, status.
#ifndef ROTA_RUNNER_RUN_H
#define ROTA_RUNNER_RUN_H

#include <string_view>

#include "request.h"

namespace rota::runner {

// What the server has ready for all its runners.
struct equipment {
  int signals = -1;  // a signalfd for TERM and CHLD, which are blocked
  int nothing = -1;  // /dev/null
  std::string_view boot;
};

[[noreturn]] void run(request& r, const equipment& e) noexcept;

// Says something to the daemon that concerns a run and is not in its file.
void tell_failure(std::int64_t id, std::string_view why) noexcept;

// Milliseconds since 1970.
std::int64_t wall_clock_ms() noexcept;

}  // namespace rota::runner

#endif
