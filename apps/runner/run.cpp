// What ends a run (rules O2, C4):
//
//   running --program ends-------------------------------> over: success, failed, signalled
//      |                                                    ^
//      +-- TERM to us, or too late --> stopping: TERM to the group --- all of it is gone ---+
//                                         | grace                                           |
//                                         v                                                 v
//                                      KILL to the group --- the program ends --> cancelled,
//                                      timed_out
//
// In `running` the program's own end counts, whoever else still has its pipe. In `stopping` we wait
// for the rest of the group too, so that what replaces it meets nobody. As a subreaper we are the
// parent of those whose parents have gone: while one of them is not reaped, the number of the group
// belongs to nobody else.
#include "run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "claim.h"
#include "output.h"
#include "program.h"

namespace rota::runner {

namespace {

namespace wire = job::wire;

std::int64_t read_clock(clockid_t which) noexcept {
  timespec t = {};
  ::clock_gettime(which, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::int64_t steady_ms() noexcept { return read_clock(CLOCK_MONOTONIC) / 1'000'000; }

// False: the daemon's ear is full. What nobody hears any more counts as said.
bool tell(const wire::answer& a) noexcept {
  const std::size_t size = offsetof(wire::answer, note) + a.note_size;
  while (::send(wire::socket_fd, &a, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EAGAIN) return false;
    if (errno != EINTR) return true;
  }
  return true;
}

void tell_in_time(const wire::answer& a) noexcept {
  pollfd room = {wire::socket_fd, POLLOUT, 0};
  while (!tell(a)) ::poll(&room, 1, -1);
}

// What the program reads: a file that nobody else has, or nothing.
int make_input(const request& r, int nothing) noexcept {
  if (r.input.empty()) return nothing;
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  std::string_view rest = r.input;
  while (file >= 0 && !rest.empty()) {
    const ssize_t n = ::write(file, rest.data(), rest.size());
    if (n <= 0) return -1;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (file >= 0 && ::lseek(file, 0, SEEK_SET) != 0) return -1;
  return file;
}

class keeper {
 public:
  keeper(request& r, const equipment& e) noexcept
      : r_(r), e_(e), output_(r.head.id, r.head.output_limit) {}

  [[noreturn]] void live() noexcept {
    fault_point(r_, wire::fault::before_claim);
    if (r_.head.fault == static_cast<std::uint32_t>(wire::fault::blind))
      ::kill(::getpid(), SIGSTOP);
    claim_or_leave();
    if (was_told_to_stop()) end("cancelled", "it was cancelled before it started");
    start_or_end();
    while (!is_over()) wait();
    output_.drain(pipe_);
    report();
  }

 private:
  std::int64_t now_ms() const noexcept { return wall_clock_ms() + r_.clock_offset_ms; }

  void claim_or_leave() noexcept {
    const claim::result made = claim_.make(r_, e_.boot);
    const int error = errno;
    // From here on whoever comes next finds the file, and need not wait for us.
    ::close(wire::lock_fd);
    if (made == claim::result::made) return;
    wire::answer a = {.kind = wire::answer_kind::there, .runner = ::getpid(), .id = r_.head.id};
    if (made == claim::result::there) tell_in_time(a);
    if (made == claim::result::failed) {
      note why;
      why << "cannot write the run's file: " << ::strerror(error);
      tell_failure(r_.head.id, why.view());
    }
    ::_exit(0);
  }

  void start_or_end() noexcept {
    int ends[2] = {-1, -1};
    const int input = make_input(r_, e_.nothing);
    if (input < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
      note why;
      why << "cannot set up input and output: " << ::strerror(errno);
      end("not_started", why.view());
    }
    fault_point(r_, wire::fault::after_claim);
    started_ms_ = now_ms();
    const std::int64_t since_boot = read_clock(CLOCK_BOOTTIME);
    note why;
    program_ = start_program(r_, input, ends[1], why);
    if (program_ < 0) end("not_started", why.view());
    fault_point(r_, wire::fault::after_exec);
    ::close(ends[1]);
    if (input != e_.nothing) ::close(input);
    pipe_ = ends[0];
    claim_.write_program(program_, started_ms_, since_boot);
    fault_point(r_, wire::fault::after_started);
    if (r_.head.timeout_ms > 0) deadline_ms_ = steady_ms() + r_.head.timeout_ms;
    tell_started();
  }

  void tell_started() noexcept {
    const wire::answer a = {.kind = wire::answer_kind::started,
                            .runner = ::getpid(),
                            .id = r_.head.id,
                            .time_ms = started_ms_,
                            .program = program_};
    told_ = tell(a);
    if (told_) ::close(wire::socket_fd);
  }

  bool is_over() const noexcept { return !alive_ && (stop_ == nullptr || killed_ || group_gone_); }

  void wait() noexcept {
    pollfd files[3] = {{e_.signals, POLLIN, 0},
                       {open_ ? pipe_ : -1, POLLIN, 0},
                       {told_ ? -1 : wire::socket_fd, POLLOUT, 0}};
    int timeout = -1;
    if (deadline_ms_ >= 0) {
      const std::int64_t left = deadline_ms_ - steady_ms();
      timeout = static_cast<int>(left < 0 ? 0 : left > 1'000'000 ? 1'000'000 : left);
    }
    if (::poll(files, 3, timeout) < 0) return;
    if (files[1].revents != 0) open_ = output_.read_some(pipe_);
    if (files[2].revents != 0) tell_started();
    if (files[0].revents != 0) take_signals();
    if (!is_over() && deadline_ms_ >= 0 && steady_ms() >= deadline_ms_) too_late();
  }

  // Several children that end together may be one signal.
  void take_signals() noexcept {
    signalfd_siginfo told = {};
    while (::read(e_.signals, &told, sizeof(told)) == sizeof(told)) {
      if (told.ssi_signo == SIGTERM) wanted_ = true;
    }
    reap();
    // A program that ended by itself has ended by itself.
    if (wanted_ && alive_ && stop_ == nullptr) stop("cancelled");
    if (stop_ != nullptr && !alive_) look_for_group();
  }

  void reap() noexcept {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended != program_) continue;
      alive_ = false;
      finished_ms_ = now_ms();
      if (WIFEXITED(status)) code_ = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) signal_ = WTERMSIG(status);
    }
  }

  void look_for_group() noexcept {
    siginfo_t info = {};
    group_gone_ =
        ::waitid(P_PGID, static_cast<id_t>(program_), &info, WEXITED | WNOHANG | WNOWAIT) != 0;
  }

  // The program may have left its group; it has not left us.
  void signal_group(int signal) noexcept {
    if (::kill(-program_, signal) != 0 && alive_) ::kill(program_, signal);
  }

  void stop(const char* why) noexcept {
    stop_ = why;
    signal_group(SIGTERM);
    signal_group(SIGCONT);  // who is stopped would not hear it
    deadline_ms_ = steady_ms() + (r_.head.grace_ms < 0 ? 0 : r_.head.grace_ms);
  }

  void too_late() noexcept {
    if (stop_ == nullptr) return stop("timed_out");
    // Not all of them went. Those that are left are ours, so the group's number is still theirs.
    signal_group(SIGKILL);
    killed_ = true;
    deadline_ms_ = -1;
  }

  bool was_told_to_stop() noexcept {
    signalfd_siginfo told = {};
    while (::read(e_.signals, &told, sizeof(told)) == sizeof(told))
      if (told.ssi_signo == SIGTERM) return true;
    return false;
  }

  [[noreturn]] void report() noexcept {
    const int trouble = output_.finish();
    note why;
    if (trouble != 0) why << "its log is not whole: " << ::strerror(trouble);
    if (stop_ != nullptr) end(stop_, why.view());
    end(signal_ != 0 ? "signalled" : code_ != 0 ? "failed" : "success", why.view());
  }

  [[noreturn]] void end(const char* outcome, std::string_view why) noexcept {
    if (finished_ms_ == 0) finished_ms_ = now_ms();
    (void)claim_.write_status(r_, outcome, code_, signal_, finished_ms_, why);
    fault_point(r_, wire::fault::before_exit);
    ::_exit(0);
  }

  request& r_;
  const equipment& e_;
  claim claim_;
  output output_;

  pid_t program_ = -1;
  std::int64_t started_ms_ = 0;
  std::int64_t finished_ms_ = 0;
  int code_ = 0;
  int signal_ = 0;
  bool alive_ = true;  // the program is not reaped

  int pipe_ = -1;
  bool open_ = true;   // the pipe has not ended
  bool told_ = false;  // the daemon knows that the program runs, or is not there to know

  const char* stop_ = nullptr;     // the outcome, once the group was told to go
  bool wanted_ = false;            // we were told to stop it
  bool killed_ = false;            // and it was not asked again
  bool group_gone_ = false;        // nobody of it is left
  std::int64_t deadline_ms_ = -1;  // of the program, then of the grace; -1: none
};

}  // namespace

std::int64_t wall_clock_ms() noexcept { return read_clock(CLOCK_REALTIME) / 1'000'000; }

void tell_failure(std::int64_t id, std::string_view why) noexcept {
  wire::answer a = {.kind = wire::answer_kind::failed, .runner = ::getpid(), .id = id};
  a.note_size =
      static_cast<std::uint32_t>(why.size() < sizeof(a.note) ? why.size() : sizeof(a.note));
  std::memcpy(a.note, why.data(), a.note_size);
  tell_in_time(a);
}

void run(request& r, const equipment& e) noexcept {
  // The server does not want to hear of its runners, we do of our program.
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  keeper k{r, e};
  k.live();
}

}  // namespace rota::runner
