// Places at which a test may have the daemon killed: ROTA_FAULT="after_commit:3" kills it with
// SIGKILL when it comes to after_commit for the third time, and ROTA_FAULT="runner:5" its runners
// at their fifth step (runner_wire.h). Only in builds with ROTA_FAULT_POINTS: what is shipped
// knows nothing of it.
#ifndef ROTA_JOB_FAULT_POINT_H
#define ROTA_JOB_FAULT_POINT_H

#include <cstdint>

#ifdef ROTA_FAULT_POINTS
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#endif

namespace rota::job {

#ifdef ROTA_FAULT_POINTS

struct fault {
  std::string_view where;
  std::uint32_t count = 0;

  static fault asked_for() {
    const char* const text = std::getenv("ROTA_FAULT");
    const std::string_view all = text ? text : "";
    const std::size_t colon = all.find(':');
    fault f;
    if (colon == all.npos) return f;
    f.where = all.substr(0, colon);
    std::from_chars(all.data() + colon + 1, all.data() + all.size(), f.count);
    return f;
  }
};

inline void fault_point(std::string_view here) {
  static fault asked = fault::asked_for();
  if (here == asked.where && --asked.count == 0) ::kill(::getpid(), SIGKILL);
}

inline std::uint32_t fault_of_runners() {
  const fault asked = fault::asked_for();
  return asked.where == "runner" ? asked.count : 0;
}

#else

constexpr void fault_point(const char*) {}
constexpr std::uint32_t fault_of_runners() { return 0; }

#endif

}  // namespace rota::job

#endif
