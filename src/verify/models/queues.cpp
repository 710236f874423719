#include "verify/models/families.h"
#include "verify/models/fork_deque.h"
#include "verify/models/idle_set.h"
#include "verify/models/inbox.h"
#include "verify/models/pool.h"
#include "verify/models/run_queue.h"

namespace rota::verify::detail {

std::vector<model_entry> queue_models() {
  return {
      describe<run_queue>("run_queue", "a worker's ring: each job once and in order"),
      describe<fork_deque>("fork_deque", "continuations that owner and thieves take: each once"),
      describe<inbox>("inbox", "jobs that many put and anyone takes: each once and in order"),
      describe<idle_set>("idle_set", "workers that sleep, search and wake each other"),
      describe<pool>("pool", "jobs and sleepers: what the pool promises of them"),
  };
}

}  // namespace rota::verify::detail
