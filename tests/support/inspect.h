// What mappings to models read of the runtime's objects, without taking a step of the schedule.
// Only in programs that link rota_explored.
#ifndef ROTA_TESTS_SUPPORT_INSPECT_H
#define ROTA_TESTS_SUPPORT_INSPECT_H

#include <rota/base/inspect.h>
#include <rota/park/event_notifier.h>
#include <rota/queue/fork_deque.h>
#include <rota/queue/inbox.h>
#include <rota/queue/run_queue.h>

#include <cstdint>

#include "pool/pool.h"

namespace rota::detail {

struct inspect {
  static const auto& word(const event_notifier& n) { return n.state_; }
  static const auto& newest(const inbox& b) { return b.newest_; }
};

}  // namespace rota::detail

#endif
