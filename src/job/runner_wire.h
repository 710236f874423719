// What a launcher and its runners say to each other, and what a runner leaves in a run's file.
//
//   daemon (process_launcher)                        rota-runner (fork server)
//      |---- request, SOCK_SEQPACKET ------------------->|  fork
//      |<--- forked: pid of the runner, its pidfd -------|----> runner of one run
//      |<--- started, there or failed -------------------------------|
//      |     ... the pidfd becomes readable: the run's file has the status
//
// The socket is between two processes of one build. The file outlives both, so it is text with a
// version: a daemon that is newer than a runner still reads it.
//
//   rota run 1
//   boot 9c7cdf0e-5ba9-4d67-bcab-9e611eb00839
//   runner 4711
//   key backup 2026-03-29T01:00:00Z 1
//   claimed 1774746000003                      milliseconds since 1970
//   program 4712 1774746000004 81234567890     pid, when, nanoseconds since boot
//   over success 0 0 1774746009000 a note      exit code, signal, when
//
// Which of K3's cases it is:
//   the lock is held                  a runner is at work; the kernel names its pid
//   an `over` line that is whole      the run is over
//   a `rota run` line                 the runner died, and the program may have been started
//   nothing                           the runner died before it could start anything
// The lock comes first: a runner writes `over` before it lets go.
//
// A file that nobody needs any more becomes a spare (`NUMBER.spare`), empty and without meaning; a
// request may name one. Its runner locks it, writes the claim, and then gives it the run's name, if
// no file has that name. Else it makes a file of that name, which must not be there. To make and
// remove a file for each run would be slow: ext4 looks at each inode that was freed in the last
// minutes before it takes one.
#ifndef ROTA_SRC_JOB_RUNNER_WIRE_H
#define ROTA_SRC_JOB_RUNNER_WIRE_H

#include <cstddef>
#include <cstdint>

namespace rota::job::wire {

inline constexpr std::uint32_t version = 2;

// What the fork server finds open when it starts.
inline constexpr int socket_fd = 3;
inline constexpr int runs_fd = 4;
inline constexpr int logs_fd = 5;
inline constexpr int lock_fd = 6;    // held by server and runners until a claim is made
inline constexpr int daemon_fd = 7;  // a pidfd
inline constexpr int last_fd = daemon_fd;

// A request up to this size is sent as it is, a larger one as a memfd.
inline constexpr std::size_t inline_limit = 16 * 1024;
// Arguments and variables together.
inline constexpr std::size_t most_words = 8'000;
// Of what a run's file says in words; the whole file stays within one block of a disk, so that the
// status has its place before the program starts.
inline constexpr std::size_t most_key = 512;
inline constexpr std::size_t most_note = 512;
inline constexpr std::size_t most_file = 4096;

// Where a runner kills itself, for tests; and after `count`, what else happens to it.
enum class fault : std::uint32_t {
  none,
  before_claim,
  after_create,   // the file is there, empty and without a lock
  after_lock,     // it is locked, and empty
  after_claim,    // before there is a process for the program
  after_fork,     // there is one, before it is the program
  after_exec,     // before anybody knows
  after_started,  // the file has the program's pid
  before_status,  // the program is over
  within_status,  // half of the line is written
  after_status,   // all of it, not synced
  before_exit,    // synced, if there is no daemon
  count,
  blind,  // it stops itself before the claim, and its pidfd cannot be sent
};

// Followed by: groups (uint32_t each); then texts, each with a zero at its end: key, directory,
// environment file, arguments, variables; then the input.
struct request_head {
  std::uint32_t format = version;
  std::uint32_t size = 0;  // of all of it
  std::int64_t id = 0;
  std::int64_t spare = 0;    // the number of a file that can be used again; 0: none
  std::int64_t sent_ms = 0;  // the daemon's clock
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 0;
  std::uint64_t output_limit = 0;
  std::uint32_t become = 0;  // 1: uid, gid and groups are to be taken on
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t group_count = 0;
  std::uint32_t argument_count = 0;
  std::uint32_t variable_count = 0;
  std::uint32_t input_size = 0;
  std::int32_t umask = -1;  // -1: as inherited
  std::int32_t nice = 0;    // 0: as inherited
  std::uint32_t fault = 0;
};

enum class answer_kind : std::uint32_t {
  forked,   // by the server; comes with a pidfd, if one can be sent
  started,  // the program runs
  there,    // the run's file was there already, nothing was started
  failed,   // nothing was started, and there is no file that says so; the note says why
};

// Sent without the part of the note that is not used.
struct answer {
  answer_kind kind = answer_kind::forked;
  std::int32_t runner = 0;
  std::int64_t id = 0;
  std::int64_t time_ms = 0;
  std::int32_t program = 0;
  std::uint32_t note_size = 0;
  char note[most_note] = {};
};

}  // namespace rota::job::wire

#endif
