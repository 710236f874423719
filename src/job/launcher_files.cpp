#include "job/launcher_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "job/runner_wire.h"

namespace rota::job {

namespace {

// Takes the next word of a line, up to a space.
std::string_view take_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return word;
}

template <class T>
bool take_number(std::string_view& line, T& n) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  return error == std::errc{} && end == word.data() + word.size() && !word.empty();
}

std::optional<outcome> outcome_named(std::string_view word) {
  for (const outcome o : {outcome::success, outcome::failed, outcome::signalled, outcome::timed_out,
                          outcome::cancelled, outcome::not_started})
    if (to_text(o) == word) return o;
  return std::nullopt;
}

void read_program(std::string_view line, file_contents& c) {
  pid_t pid = 0;
  std::int64_t started = 0;
  std::int64_t since_boot = 0;
  if (!take_number(line, pid) || !take_number(line, started) || !take_number(line, since_boot))
    return;
  c.result.pid = pid;
  c.result.started = instant{milliseconds{started}};
  c.program_boot_time_ns = since_boot;
}

void read_over(std::string_view line, file_contents& c) {
  const std::optional<outcome> o = outcome_named(take_word(line));
  int code = 0;
  int signal = 0;
  std::int64_t finished = 0;
  if (!o || !take_number(line, code) || !take_number(line, signal) || !take_number(line, finished))
    return;
  c.over = true;
  c.result.outcome = *o;
  c.result.exit_code = code;
  c.result.signal = signal;
  c.result.finished = instant{milliseconds{finished}};
  c.result.note = line;
}

std::string read_file(int file) {
  std::string text(wire::most_file, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n =
        ::pread(file, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

// Who holds the lock: 0 nobody, -1 somebody whose pid the kernel does not tell.
pid_t holder_of(int file) {
  struct flock l = {};
  l.l_type = F_WRLCK;
  l.l_whence = SEEK_SET;
  if (::fcntl(file, F_OFD_GETLK, &l) != 0) return -1;
  if (l.l_type == F_UNLCK) return 0;
  return l.l_pid > 0 ? l.l_pid : -1;
}

bool lock_for_us(int file) {
  struct flock l = {};
  l.l_type = F_WRLCK;
  l.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &l) == 0;
}

// Whether the process of that pid is the one that started then; by field 22 of its stat, in ticks.
bool still_runs(pid_t pid, std::int64_t boot_time_ns) {
  const owned_fd file{
      ::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return false;
  const std::string text = read_file(file.get());
  std::string_view rest = text;
  const std::size_t name_end = rest.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos) return false;
  rest.remove_prefix(std::min(name_end + 2, rest.size()));
  if (rest.starts_with('Z')) return false;
  for (int field = 3; field < 22; ++field) take_word(rest);
  std::int64_t ticks = 0;
  if (!take_number(rest, ticks)) return false;
  const std::int64_t expected = boot_time_ns / (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  return std::abs(ticks - expected) <= 2;
}

survey dead(const file_contents& c, const std::string& boot) {
  survey s{finding::dead, c.result};
  s.result.note = "its runner died";
  if (c.result.pid > 0 && c.boot == boot && still_runs(c.result.pid, c.program_boot_time_ns))
    s.result.note += ", its program (pid " + std::to_string(c.result.pid) + ") may go on";
  return s;
}

// The lock is held, by a process that the pidfd is of: it held it before and after we asked for the
// pidfd, and a runner that has let go never takes it again. Nothing if it has changed hands.
std::optional<inspection> adopt(int file, pid_t holder) {
  inspection i;
  i.found.what = finding::running;
  if (holder > 0) {
    i.runner = owned_fd{static_cast<int>(::syscall(SYS_pidfd_open, holder, 0))};
    if (!i.runner && errno == ESRCH) return std::nullopt;
  }
  if (holder_of(file) != holder) return std::nullopt;
  const file_contents c = read_contents(read_file(file));
  i.found.result.pid = c.result.pid;
  i.found.result.started = c.result.started;
  return i;
}

// Nobody holds the lock but us.
inspection conclude(int runs, int file, const char* name, const std::string& boot,
                    std::string_view launched_boot) {
  inspection i;
  const file_contents c = read_contents(read_file(file));
  const bool same_boot = launched_boot.empty() || launched_boot == boot;
  if (c.over) {
    i.found = {finding::over, c.result};
  } else if (c.claimed || !same_boot) {  // what was written in another boot may be gone
    i.found = dead(c, boot);
  } else {
    ::unlinkat(runs, name, 0);
    i.withdrawn = true;
  }
  return i;
}

}  // namespace

owned_fd::~owned_fd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string system_message(std::string_view what, int error) {
  std::array<char, 128> buffer{};
  return std::string(what) + ": " + ::strerror_r(error, buffer.data(), buffer.size());
}

owned_fd open_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw std::runtime_error(system_message("cannot make the directory " + path, errno));
  owned_fd d{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat s = {};
  if (!d || ::fstat(d.get(), &s) != 0)
    throw std::runtime_error(system_message("cannot open the directory " + path, errno));
  if (s.st_uid != ::geteuid())
    throw std::runtime_error(path + ": belongs to another user, and has to be our own");
  if ((s.st_mode & 077) != 0)
    throw std::runtime_error(path + ": is open to others, and has to be for us alone (chmod 700)");
  return d;
}

std::string read_boot_id() {
  const owned_fd file{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
  std::string id = file ? read_file(file.get()) : std::string{};
  return id.substr(0, id.find('\n'));
}

file_contents read_contents(std::string_view text) {
  file_contents c;
  // Anything at all, also what we do not understand, was written by a runner with the lock.
  c.claimed = !text.empty();
  bool understood = false;
  // A line without its end was not written to its end.
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line == "rota run 1") understood = true;
    const std::string_view word = take_word(line);
    if (word == "boot") c.boot = line;
    if (word == "program") read_program(line, c);
    if (word == "over" && understood && !c.over) read_over(line, c);
  }
  return c;
}

inspection inspect_run(int runs, run_id id, const std::string& boot,
                       std::string_view launched_boot) {
  const std::string name = std::to_string(id) + ".run";
  // The lock changes hands twice at most, so more turns than a few mean that somebody who is no
  // runner plays with it. Who cannot be told from a runner is taken for one.
  for (int turns = 0; turns < 1'000; ++turns) {
    const owned_fd file{::openat(runs, name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)};
    if (!file) {
      if (errno == ENOENT) return {};
      inspection i;
      i.found.what = errno == EMFILE || errno == ENFILE ? finding::running : finding::dead;
      i.found.result.note = system_message("cannot open the run's file", errno);
      return i;
    }
    const pid_t holder = holder_of(file.get());
    if (holder != 0) {
      if (auto adopted = adopt(file.get(), holder)) return std::move(*adopted);
    } else if (lock_for_us(file.get())) {
      return conclude(runs, file.get(), name.c_str(), boot, launched_boot);
    }
  }
  inspection i;
  i.found.what = finding::running;
  return i;
}

}  // namespace rota::job
