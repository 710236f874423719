// What the queues hold and the workers run: a suspended coroutine to resume, or something that
// looks like one. The layers above derive from it: tasks (task/activity.h) and behaviours
// (cown/core.h).
//
// A job is owned by exactly one place at a time (a queue, a worker, a wait list), which alone may
// touch its fields; handing it over publishes them.
//
// Threads: whoever has it in its hands; state_ is anyone's.
#ifndef ROTA_BASE_JOB_H
#define ROTA_BASE_JOB_H

#include <rota/base/sync.h>

#include <coroutine>
#include <cstdint>

namespace rota::detail {

struct job {
  // Where to go on.
  std::coroutine_handle<> frame{};

  // The next job in an inbox or wait list.
  job* link = nullptr;

  // The scheduling point of its worker at which it became ready, modulo 2^32: what ready_delay is
  // counted from.
  std::uint32_t ready_at = 0;

  // Bits of whoever derives from this; the highest says who that is. A behaviour that is resumed
  // while `says_name` is set does nothing but put its name, a const char*, into link; with
  // `is_dropped` it ends without having run.
  static constexpr std::uint32_t is_behaviour = std::uint32_t{1} << 31;
  static constexpr std::uint32_t says_name = std::uint32_t{1} << 30;
  static constexpr std::uint32_t is_dropped = std::uint32_t{1} << 29;
  sync::atomic<std::uint32_t> state_{0};
};

}  // namespace rota::detail

#endif
