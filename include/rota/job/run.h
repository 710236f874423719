// One run of a job: a row of the ledger.
//
//   due --launch--> launched --the program ends--> over
//    |                                              ^
//    +------- skipped, or cancelled before it ------+
//
// The key is (job, scheduled, attempt); the ledger has it once (rule T1). `launched` is written
// before there is any process, and a launched row keeps its slot, also over a restart
// (specs/crond_runs).
//
// Threads: as any value.
#ifndef ROTA_JOB_RUN_H
#define ROTA_JOB_RUN_H

#include <rota/cron/time_zone.h>

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rota::job {

// Grows; never used again. A run's files are named by it, so that no name of a job becomes a path.
using run_id = std::int64_t;

enum class trigger : std::uint8_t { schedule, catchup, retry, manual, after, reboot };

enum class phase : std::uint8_t { due, launched, over };

enum class outcome : std::uint8_t {
  none,         // not over yet
  success,      // exit code 0
  failed,       // another exit code
  signalled,    // ended by a signal
  timed_out,    // stopped, since it took longer than its timeout
  cancelled,    // stopped or taken out of the queue, since somebody asked for it
  replaced,     // stopped for the next run of the job
  skipped,      // never started; `reason` says why
  not_started,  // there is no such program, user or directory; `note` says what
  lost,         // its runner died in this boot, nobody knows what became of the program
  unknown,      // the machine went down while it ran, or before anybody wrote that it had started
};

// Why a row was skipped.
enum class reason : std::uint8_t {
  none,
  missed,      // passed over; a later one runs, or catchup is none
  too_old,     // older than the deadline
  overlap,     // a run of the job was under way
  queue_full,  // as many runs of the job waited as may
  paused,
  removed,  // the job was removed while the run waited
};

struct run {
  run_id id = 0;
  std::string job;
  instant scheduled{};
  std::uint32_t attempt = 1;
  trigger why = trigger::schedule;
  rota::job::phase phase = phase::due;
  rota::job::outcome outcome = outcome::none;
  rota::job::reason reason = reason::none;
  // Many instants that were skipped together are one row: `count` of them, the first at `first`,
  // the last at `scheduled`.
  std::uint32_t count = 1;
  instant first{};
  instant recorded{};    // when the row was written
  instant not_before{};  // a retry waits until then; otherwise zero
  instant launched{};
  instant started{};  // when the program started, as its runner says; zero: it has not
  instant finished{};
  int exit_code = 0;
  int signal = 0;
  pid_t pid = 0;             // of the program
  std::string boot;          // id of the boot it was launched in
  std::string note;          // what a person should know
  std::string requested_by;  // who asked for a manual run
  std::string owner;         // whose job it was then: a name may be somebody else's later (S1)
};

// What became of a program, as its runner says.
struct run_result {
  rota::job::outcome outcome = outcome::none;
  int exit_code = 0;
  int signal = 0;
  pid_t pid = 0;
  instant started{};
  instant finished{};
  std::string note;
};

std::string_view to_text(trigger t) noexcept;
std::string_view to_text(phase p) noexcept;
std::string_view to_text(outcome o) noexcept;
std::string_view to_text(reason r) noexcept;

}  // namespace rota::job

#endif
