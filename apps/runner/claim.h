// The file of a run: who has made it may start the program, and nobody else (rule K2).
//
// A POSIX lock, not flock: the kernel says who holds it, so whoever adopts the runner need not
// trust a pid in a file; and the program, which is born from the runner, does not inherit it. The
// runner opens the file once, since to close any of several would let the lock go.
//
// A file that an earlier run has left is used again, if the request names one: see runner_wire.h.
// Either way the run's name is given to one file and to no other one.
//
// The claim is not synced, which would cost each start a write to disk. After a crash of the
// machine it may be gone although the program ran; so after another boot nothing is concluded from
// a file that is not there (rule K3: unknown).
//
// Nor is the status synced while there is a daemon: it hears of the end now, and its ledger, which
// is synced, has it a moment later, for all runs that end together at once. A sync of each of a
// thousand runs would make the starts of the others wait for the disk (bench/job/README.md). If
// there is no daemon, nobody knows how long it takes until one comes, and the status is synced
// here.
#ifndef ROTA_RUNNER_CLAIM_H
#define ROTA_RUNNER_CLAIM_H

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "request.h"

namespace rota::runner {

class claim {
 public:
  enum class result : std::uint8_t {
    made,
    there,      // another runner has, or had, this run
    withdrawn,  // whoever found the empty file took it away before it was locked
    failed,     // errno says why
  };

  result make(const request& r, std::string_view boot) noexcept;

  void write_program(pid_t program, std::int64_t started_ms, std::int64_t boot_time_ns) noexcept;

  // Synced if there is no daemon. False: it could not be written.
  bool write_status(const request& r, std::string_view outcome, int code, int signal,
                    std::int64_t finished_ms, std::string_view note) noexcept;

 private:
  // `failed`: there is no such spare, or it cannot be used.
  result reuse(const request& r, const char* name, std::string_view lines) noexcept;

  int file_ = -1;
};

// Kills this process if the request asks for it here.
void fault_point(const request& r, job::wire::fault here) noexcept;

}  // namespace rota::runner

#endif
