// Who starts what a job runs: the port through which the engine reaches programs (or functions).
//
// A launcher answers through the events it was given, later, on the thread that also calls the
// engine. `process_launcher` (process_launcher.h) starts programs through runners (rules K2, K3,
// K5).
//
//   l.listen({.on_started = ..., .on_over = ...});
//   l.start(run, definition);      // the row says "launched"; on_started and on_over follow
//
// Promised by every launcher: start() of one id starts once at most, whoever asks (K2), and each
// start is followed by one on_over. Threads: one at a time.
#ifndef ROTA_JOB_LAUNCHER_H
#define ROTA_JOB_LAUNCHER_H

#include <rota/job/definition.h>
#include <rota/job/run.h>

#include <functional>

namespace rota::job {

// What is known of a run that was launched before the daemon started (rule K3).
enum class finding : std::uint8_t {
  over,     // `result` says how
  running,  // adopted: on_over will come
  absent,   // no file: its program was never started
  dead,     // a file, but neither lock nor status: the runner died
};

struct survey {
  finding what = finding::absent;
  run_result result;  // running: pid and started
};

class launcher {
 public:
  struct events {
    std::function<void(run_id, pid_t, instant)> on_started;
    std::function<void(run_id, const run_result&)> on_over;
  };

  virtual ~launcher() = default;
  virtual void listen(events e) = 0;

  // The row is in the ledger as launched. Never throws: what goes wrong is an on_over with
  // not_started. A second start of the same id does nothing but answer, since the run's file is
  // there.
  virtual void start(const run& r, const definition& d) = 0;

  // TERM to the whole group, KILL after the job's grace; on_over follows (cancelled).
  virtual void stop(run_id id) = 0;

  // What became of a run that was launched before, and adopts it if it is under way.
  virtual survey look(const run& r) = 0;

  // The ledger has the end of the run: its status file is no longer needed (its log is).
  virtual void forget(run_id id) = 0;
};

}  // namespace rota::job

#endif
