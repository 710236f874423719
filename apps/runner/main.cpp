// rota-runner: starts a runner for each request of the daemon, and leaves when the daemon has gone.
//
// It is started once and forks, since to load a program anew for each run would double what a start
// costs. It is linked statically where that works: a fork then has little to copy. It has no
// thread, no lock and no heap, so that a fork is a whole process.
//
// The runners are left alone: they belong to nobody, and go on when this server or the daemon is
// killed (rule K4). They hold the launcher's lock until they have made their claim, so that a new
// daemon, which waits for that lock, finds the file of each run that can still be started. That is
// also why what is in the socket when the daemon dies is still started.
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "job/runner_wire.h"
#include "request.h"
#include "run.h"
#include "text.h"

namespace rota::runner {
namespace {

namespace wire = job::wire;

// A daemon whose clock is so far from ours has another clock, and rows are to speak of that one.
// What is less is the time that a request has waited.
constexpr std::int64_t other_clock_ms = 10'000;

alignas(16) char received[wire::inline_limit];
char boot_id[64];

// The boot id, without the end of its line.
std::string_view read_boot_id() noexcept {
  const int file = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, boot_id, sizeof(boot_id));
  if (file >= 0) ::close(file);
  std::string_view id{boot_id, n > 0 ? static_cast<std::size_t>(n) : 0};
  return id.substr(0, id.find('\n'));
}

// Nothing of whoever started the daemon: no terminal, no files, no signal that is ignored. All
// signals are blocked, for a runner hears them when it reads them.
bool settle(equipment& e) noexcept {
  ::setsid();
  if (::chdir("/") != 0) return false;
  // The system call as such: the library keeps two signals to itself, which may be ignored too. All
  // zeros is the default.
  constexpr unsigned long nothing_special[8] = {};
  for (int s = 1; s < NSIG; ++s)
    ::syscall(SYS_rt_sigaction, s, nothing_special, nullptr, sizeof(unsigned long));
  ::signal(SIGCHLD, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t heard;
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGTERM);
  ::sigaddset(&heard, SIGCHLD);
  for (int f = wire::socket_fd; f <= wire::last_fd; ++f)
    if (::fcntl(f, F_SETFD, FD_CLOEXEC) != 0) return false;
  if (::syscall(SYS_close_range, wire::last_fd + 1, ~0U, 0) != 0)
    for (int f = wire::last_fd + 1; f < 1024; ++f) ::close(f);
  e.nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  e.signals = ::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  e.boot = read_boot_id();
  for (int f = 0; f <= 2; ++f)
    if (::dup2(e.nothing, f) < 0) return false;
  return e.signals >= 0;
}

// The program's limit of open files is not that of the daemon, which needs many.
void limit_files(const char* soft) noexcept {
  rlimit l = {};
  if (::getrlimit(RLIMIT_NOFILE, &l) != 0) return;
  l.rlim_cur = static_cast<rlim_t>(std::strtoull(soft, nullptr, 10));
  ::setrlimit(RLIMIT_NOFILE, &l);
}

struct message {
  ssize_t size = 0;
  int file = -1;  // a memfd, if the request is in one
};

message receive() noexcept {
  iovec where = {received, sizeof(received)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr m = {};
  m.msg_iov = &where;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof(control);
  message got;
  do {
    got.size = ::recvmsg(wire::socket_fd, &m, MSG_CMSG_CLOEXEC);
  } while (got.size < 0 && errno == EINTR);
  const cmsghdr* c = got.size > 0 ? CMSG_FIRSTHDR(&m) : nullptr;
  if (c != nullptr && c->cmsg_type == SCM_RIGHTS) std::memcpy(&got.file, CMSG_DATA(c), sizeof(int));
  return got;
}

pid_t fork_with_pidfd(int& pidfd) noexcept {
  clone_args a = {};
  a.flags = CLONE_PIDFD;
  a.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  a.exit_signal = SIGCHLD;
  return static_cast<pid_t>(::syscall(SYS_clone3, &a, sizeof(a)));
}

// False: not in this form, or not now.
bool send_answer(const msghdr& m) noexcept {
  while (::sendmsg(wire::socket_fd, &m, MSG_NOSIGNAL) < 0) {
    // A daemon that has gone does not hear it; its successor finds the run's file.
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return true;
    if (errno != EINTR) return false;
  }
  return true;
}

void tell_forked(std::int64_t id, pid_t runner, int pidfd) noexcept {
  wire::answer a = {.kind = wire::answer_kind::forked, .runner = runner, .id = id};
  iovec what = {&a, offsetof(wire::answer, note)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m = {};
  m.msg_iov = &what;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof(control);
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &pidfd, sizeof(int));
  if (send_answer(m)) return;
  // There may be too many files on their way (ETOOMANYREFS). The daemon finds the runner without
  // its pidfd, but has to hear of it: it would wait for ever for one that dies before its claim.
  m.msg_control = nullptr;
  m.msg_controllen = 0;
  while (!send_answer(m)) ::poll(nullptr, 0, 10);  // there is no memory
}

// The bytes of a request; those in a memfd are looked at by the runner alone.
char* contents(const message& m, std::size_t& size) noexcept {
  size = static_cast<std::size_t>(m.size);
  if (m.file < 0) return received;
  struct stat s = {};
  if (::fstat(m.file, &s) != 0 || s.st_size <= 0) return nullptr;
  size = static_cast<std::size_t>(s.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, m.file, 0);
  ::close(m.file);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

[[noreturn]] void become_runner(const message& m, std::int64_t id, const equipment& e) noexcept {
  std::size_t size = 0;
  char* data = contents(m, size);
  static request r;
  if (data == nullptr || !read_request(data, size, r)) {
    tell_failure(id, "the runner does not understand the daemon: are they of one version?");
    ::_exit(0);
  }
  const std::int64_t ahead = r.head.sent_ms - wall_clock_ms();
  if (ahead > other_clock_ms || ahead < -other_clock_ms) r.clock_offset_ms = ahead;
  run(r, e);
}

void serve(const equipment& e) noexcept {
  while (true) {
    const message m = receive();
    if (m.size <= 0) return;
    // A memfd comes with the head alone.
    wire::request_head head;
    if (static_cast<std::size_t>(m.size) < sizeof(head)) continue;
    std::memcpy(&head, received, sizeof(head));
    int pidfd = -1;
    const pid_t runner = fork_with_pidfd(pidfd);
    if (runner == 0) become_runner(m, head.id, e);
    const int error = errno;
    if (m.file >= 0) ::close(m.file);
    if (runner > 0) {
      const bool unsendable = head.fault == static_cast<std::uint32_t>(wire::fault::blind);
      tell_forked(head.id, runner, unsendable ? -1 : pidfd);
      ::close(pidfd);
    } else {
      text<wire::most_note> why;
      why << "cannot fork a runner: " << ::strerror(error);
      tell_failure(head.id, why.view());
    }
  }
}

}  // namespace
}  // namespace rota::runner

int main(int argc, char** argv) {
  struct stat s = {};
  if (argc != 3 || std::strcmp(argv[1], "--serve") != 0 ||
      ::fstat(rota::job::wire::socket_fd, &s) != 0 || !S_ISSOCK(s.st_mode)) {
    std::fputs("rota-runner is started by `rota serve`, which tells it what to run.\n", stderr);
    return 2;
  }
  rota::runner::equipment e;
  rota::runner::limit_files(argv[2]);
  if (!rota::runner::settle(e)) return 1;
  rota::runner::serve(e);
  return 0;
}
