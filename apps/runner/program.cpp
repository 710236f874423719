#include "program.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "claim.h"
#include "environment_file.h"

namespace rota::runner {

namespace {

namespace wire = job::wire;

enum class step : unsigned char {
  done,
  session,
  files,
  priority,
  groups,
  group,
  user,
  back,    // the old user could be had again
  runner,  // its death would not be ours
  directory,
  environment,
  exec,
};

// What the child writes and we read.
struct birth {
  request* r;
  int input;
  int output;
  pid_t runner;
  step failed = step::done;
  int error = 0;
  environment_fault fault = {};
};

// The child runs on it while we wait.
alignas(16) char stack[64 * 1024];
// The place of a program that was looked for in PATH.
char found[PATH_MAX];

bool fails(birth& b, step s) noexcept {
  b.failed = s;
  b.error = errno;
  return false;
}

// System calls as such: the functions of the library would tell all threads, which share our
// memory.
bool become_user(birth& b) noexcept {
  const wire::request_head& head = b.r->head;
  if (head.become == 0) return true;
  if (::syscall(SYS_setgroups, std::size_t{head.group_count}, b.r->groups) != 0)
    return fails(b, step::groups);
  if (::syscall(SYS_setresgid, head.gid, head.gid, head.gid) != 0) return fails(b, step::group);
  if (::syscall(SYS_setresuid, head.uid, head.uid, head.uid) != 0) return fails(b, step::user);
  uid_t u[3] = {};
  gid_t g[3] = {};
  if (::getresuid(&u[0], &u[1], &u[2]) != 0 || ::getresgid(&g[0], &g[1], &g[2]) != 0)
    return fails(b, step::back);
  errno = EPERM;
  for (int i = 0; i < 3; ++i)
    if (u[i] != head.uid || g[i] != head.gid) return fails(b, step::back);
  if (head.uid != 0 && ::syscall(SYS_setresuid, 0, 0, 0) == 0) return fails(b, step::back);
  return true;
}

// As execvp does, but in the PATH of the program, and without a shell for what has no #! line.
void execute(birth& b) noexcept {
  char** arguments = b.r->arguments;
  char** variables = b.r->variables;
  const std::string_view name = arguments[0];
  if (name.find('/') != std::string_view::npos || name.empty()) {
    ::execve(arguments[0], arguments, variables);
    return;
  }
  const char* path = variable(*b.r, "PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  int error = ENOENT;
  while (true) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    if (!directory.empty() && directory.size() + name.size() + 2 <= sizeof(found)) {
      std::memcpy(found, directory.data(), directory.size());
      found[directory.size()] = '/';
      std::memcpy(found + directory.size() + 1, name.data(), name.size() + 1);
      ::execve(found, arguments, variables);
      // A file that may not be run is worth telling if no other is found.
      if (errno == EACCES) error = EACCES;
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return;
    }
    if (directory.size() == rest.size()) break;
    rest.remove_prefix(directory.size() + 1);
  }
  errno = error;
}

bool prepare(birth& b) noexcept {
  const wire::request_head& head = b.r->head;
  if (::setsid() < 0) return fails(b, step::session);
  // All other files close when the program starts: all of them are opened so.
  if (::dup2(b.input, 0) < 0 || ::dup2(b.output, 1) < 0 || ::dup2(b.output, 2) < 0)
    return fails(b, step::files);
  if (head.nice != 0 && ::setpriority(PRIO_PROCESS, 0, head.nice) != 0)
    return fails(b, step::priority);
  if (!become_user(b)) return false;
  // Whose runner is killed is killed too: a run that is lost must not go on beside those that get
  // its slot (C1). After become_user(): the kernel forgets it when a process changes its user.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fails(b, step::runner);
  // The runner died before that. There is nobody left to read why we end.
  errno = ESRCH;
  if (::getppid() != b.runner) return fails(b, step::runner);
  if (head.umask >= 0) ::umask(static_cast<mode_t>(head.umask));
  if (::chdir(b.r->directory) != 0) return fails(b, step::directory);
  if (b.r->environment_file[0] != 0) {
    b.fault = read_environment_file(*b.r);
    errno = b.fault.error;
    if (b.fault.what != nullptr) return fails(b, step::environment);
  }
  b.r->variables[b.r->variable_count] = nullptr;
  return true;
}

int child(void* p) noexcept {
  birth& b = *static_cast<birth*>(p);
  if (b.r->head.fault == static_cast<std::uint32_t>(wire::fault::after_fork)) {
    ::kill(b.runner, SIGKILL);
    while (::getppid() == b.runner) ::sched_yield();
  }
  if (prepare(b)) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    execute(b);
    fails(b, step::exec);
  }
  ::_exit(127);
}

void explain_exec(const birth& b, note& why) noexcept {
  const std::string_view name = b.r->arguments[0];
  why << "cannot run ";
  why.add_plain(name, 200) << ": ";
  if (b.error == ENOENT && name.find('/') == std::string_view::npos) {
    const char* path = variable(*b.r, "PATH");
    why << "there is no such program in PATH=";
    why.add_plain(path == nullptr ? "/usr/bin:/bin" : path, 200);
  } else if (b.error == ENOEXEC) {
    why << "it is no program; is its first line, #!, missing?";
  } else if (b.error == ENOENT) {
    why << "there is no such file, or no interpreter for it";
  } else {
    why << ::strerror(b.error);
  }
}

void explain(const birth& b, note& why) noexcept {
  const wire::request_head& head = b.r->head;
  switch (b.failed) {
    case step::done:
      return;
    case step::exec:
      explain_exec(b, why);
      return;
    case step::directory:
      why << "cannot enter the directory ";
      why.add_plain(b.r->directory, 300) << ": " << ::strerror(b.error);
      return;
    case step::environment:
      why << "environment file ";
      why.add_plain(b.r->environment_file, 300);
      if (b.fault.line > 0) why << ":" << b.fault.line << ":";
      why << " " << b.fault.what;
      if (b.error != 0) why << ": " << ::strerror(b.error);
      return;
    case step::session:
      why << "cannot make a session: ";
      break;
    case step::runner:
      why << "cannot have it end with its runner: ";
      break;
    case step::files:
      why << "cannot set up the standard files: ";
      break;
    case step::priority:
      why << "cannot set nice to " << head.nice << ": ";
      break;
    case step::groups:
    case step::group:
    case step::user:
    case step::back:
      why << "cannot become user " << static_cast<long long>(head.uid) << " with group "
          << static_cast<long long>(head.gid) << ": ";
      break;
  }
  why << ::strerror(b.error);
}

}  // namespace

pid_t start_program(request& r, int input, int output, note& why) noexcept {
  birth b{&r, input, output, ::getpid()};
  const pid_t pid = ::clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &b);
  if (pid < 0) {
    why << "cannot make a process: " << ::strerror(errno);
    return -1;
  }
  if (b.failed == step::done) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  explain(b, why);
  return -1;
}

}  // namespace rota::runner
