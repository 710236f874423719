// Starts programs through runners, so that a run is started once at most and its end is not lost.
//
//   rota::job::process_launcher l{{.runner = "/usr/libexec/rota/rota-runner",
//                                  .runs = state + "/runs", .logs = state + "/logs"}};
//   l.listen({.on_started = ..., .on_over = ...});
//   loop: wait until l.fd() is readable, then l.handle();
//
// Each program has a runner, a small process that belongs to nobody: it makes the run's file
// (`runs/ID.run`), holds a lock on it, keeps the program's output (`logs/ID.log`), and writes the
// status before it ends. The daemon has one pidfd per runner.
//
// Promised:
//   - A second start of an id starts nothing, as long as forget() was not called for it, whoever
//     asks: two daemons, or one that was killed and started anew (K2).
//   - kill -9 of the daemon or of rota-runner's server does not touch what runs; a new launcher for
//     the same directories adopts it and hears of its end (K3, K4).
//   - kill -9 of a runner is noticed: on_over with `lost`, or with `not_started` if it had not come
//     to starting the program. The kernel kills its program too, so that a lost run does not go on
//     beside the next (C1); not what that has started, nor a program with the set-user-ID bit or
//     one that changes its user by itself.
//   - A run is over when its process has ended, whoever holds its pipes (O2). Nobody reads them any
//     more then: others that write get SIGPIPE, or EPIPE if they ignore that.
// Not promised: anything about claims across a crash of the machine, since they are not synced. A
// run whose row is of another boot may have run although look() says `absent`: that is `unknown`.
// Statuses are synced by the ledger, as soon as on_over has made them a row; if there is no daemon,
// the runner syncs its own.
//
// Threads: whoever calls it is one at a time. It has no thread of its own, and never waits: only
// the constructor does, for what a predecessor left in the middle of a start. Who kills the
// processes of the daemon should spare the runners: systemd does with KillMode=process.
#ifndef ROTA_JOB_PROCESS_LAUNCHER_H
#define ROTA_JOB_PROCESS_LAUNCHER_H

#include <rota/job/launcher.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rota::job {

struct process_launcher_options {
  std::string runner;            // the program rota-runner
  std::string runs;              // directory; made if it is not there, for the daemon's user alone
  std::string logs;              // likewise
  milliseconds patience{5'000};  // how long a predecessor's starts may take to come to their end
  std::uint32_t fault = 0;       // for tests: where a runner kills itself (src/job/runner_wire.h)
};

class process_launcher final : public launcher {
 public:
  // Throws std::runtime_error, which says what and where: no such program, a directory that others
  // may write to, another daemon that uses the directories. Raises the limit of open files as far
  // as it may be raised; programs get the old one.
  explicit process_launcher(process_launcher_options o);
  // What runs goes on.
  ~process_launcher() override;

  process_launcher(const process_launcher&) = delete;
  process_launcher& operator=(const process_launcher&) = delete;

  // Readable when handle() has something to do. To be polled, not to be read.
  int fd() const noexcept;
  // Calls the events, for whatever has happened. These may call the launcher.
  void handle();
  // Makes files for so many runs at a time before they are needed, a few in each call: a start is
  // quicker if it need not. False: for now there is nothing more to be made.
  bool prepare(std::size_t runs);
  // How many runs are asked for, and their programs have not started yet as far as we have heard.
  std::size_t starting() const noexcept;

  void listen(events e) override;
  void start(const run& r, const definition& d) override;
  void stop(run_id id) override;
  survey look(const run& r) override;
  void forget(run_id id) override;

  // Where the output of a run is; there is no such file if it printed nothing.
  std::string log_path(run_id id) const;
  void remove_log(run_id id);

  // The runs that have a file, by id: those that nobody wants to hear of any more can be forgotten.
  std::vector<run_id> claims() const;
  // The server that forks the runners, for messages and tests.
  pid_t server() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace rota::job

#endif
