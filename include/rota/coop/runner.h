// Runs a program on the tasks of Rota instead of an interpreter's: each of its tasks is a
// coroutine.
//
//   const outcome o = run_on_tasks(p, {.limit = 10'000}, &log);
//
//   spawn      rota::spawn           queued; the spawner goes on
//   suspend    rota::suspend
//   await x    co_await of a handle  the first who awaits a task has it, others wait for an event
//   :: g       rota::guard
//
// Promised in strict order: the log is byte for byte that of the scheduler lagc-sched, and the run
// ends as the scheduler's does (`same_order`).
//
// Promised in fair order: log and end are those of a run of the relation lagc. One task is active
// at a time whatever the number of workers, since it holds a lock. With one worker, who could move
// whenever nobody is active gets its turn within N + fairness_slack turns of others, where N tasks
// are live (`quiescent_fair`); with several there is no such bound.
//
// Assumed: the run is await-stable, that is, no variable is overwritten while it is awaited
// (await_watch of check_log.h tells), or awaits are by_guard. Otherwise the log is still one of a
// run, but a task may wait for too long.
//
// Threads: not from a task of a runtime: it makes one of its own, and waits for it.
#ifndef ROTA_COOP_RUNNER_H
#define ROTA_COOP_RUNNER_H

#include <rota/coop/log.h>
#include <rota/coop/program.h>
#include <rota/coop/run.h>
#include <rota/pool/options.h>

#include <cstdint>

namespace rota::coop {

// How a task waits for another.
enum class awaits : std::uint8_t {
  by_handle,  // for the task that the variable holds when it gives way
  by_guard,   // until the task that the variable holds has ended; it is read again at each look
};

struct runner_options {
  rota::order order = rota::order::strict;
  unsigned workers = 1;  // strict order has one
  // Steps, counted as those of lagc-sched without (21): nobody rotates here.
  std::uint64_t limit = 1000;
  coop::awaits awaits = awaits::by_handle;
};

// The program is in coopwhile and was compiled for lagc_sched. Blocked tasks are listed in
// ascending order. The log gets its records from the threads of the runtime, one at a time.
outcome run_on_tasks(const program& p, const runner_options& options, log_sink* log = nullptr);

}  // namespace rota::coop

#endif
