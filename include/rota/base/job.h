// What the queues hold and the workers run: a suspended coroutine to resume.
//
// A job is owned by exactly one place at a time (a queue, a worker, a wait list), which alone may
// touch its fields; handing it over publishes them.
#ifndef ROTA_BASE_JOB_H
#define ROTA_BASE_JOB_H

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
};

}  // namespace rota::detail

#endif
