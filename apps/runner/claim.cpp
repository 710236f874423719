#include "claim.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "text.h"

namespace rota::runner {

namespace {

namespace wire = job::wire;

bool write_all(int file, std::string_view s) noexcept {
  while (!s.empty()) {
    const ssize_t n = ::write(file, s.data(), s.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    s.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool lock(int file) noexcept {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_SETLK, &whole) == 0;
}

bool is_named(int file, const char* name) noexcept {
  struct stat is = {};
  struct stat named = {};
  return ::fstat(file, &is) == 0 &&
         ::fstatat(wire::runs_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is.st_ino == named.st_ino && is.st_dev == named.st_dev;
}

// A spare is empty, unless somebody died with it. It is not emptied for nothing: ext4 would write
// it to disk when it is closed.
bool make_empty(int file) noexcept {
  struct stat is = {};
  return ::fstat(file, &is) == 0 && (is.st_size == 0 || ::ftruncate(file, 0) == 0);
}

bool daemon_lives() noexcept {
  pollfd p = {wire::daemon_fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 0;
}

}  // namespace

void fault_point(const request& r, wire::fault here) noexcept {
  if (r.head.fault == static_cast<std::uint32_t>(here)) ::kill(::getpid(), SIGKILL);
}

claim::result claim::make(const request& r, std::string_view boot) noexcept {
  text<64> name;
  name << static_cast<long long>(r.head.id) << std::string_view(".run\0", 5);
  text<wire::most_file / 2> lines;
  lines << "rota run 1\nboot " << boot << "\nrunner " << ::getpid() << "\nkey ";
  lines.add_plain(r.key, wire::most_key) << "\nclaimed ";
  lines << static_cast<long long>(r.head.sent_ms) << "\n";
  if (r.head.spare > 0) {
    const result reused = reuse(r, name.view().data(), lines.view());
    if (reused != result::failed) return reused;
  }
  file_ = ::openat(wire::runs_fd, name.view().data(),
                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);
  if (file_ < 0) return errno == EEXIST ? result::there : result::failed;
  fault_point(r, wire::fault::after_create);

  // Whoever comes across a file that is empty and not locked locks it and takes it away. Either it
  // has the lock, or we see that the file has lost its name.
  struct stat now = {};
  if (!lock(file_) || ::fstat(file_, &now) != 0 || now.st_nlink == 0) return result::withdrawn;
  fault_point(r, wire::fault::after_lock);

  if (write_all(file_, lines.view())) return result::made;
  const int why = errno;
  ::unlinkat(wire::runs_fd, name.view().data(), 0);
  errno = why;
  return result::failed;
}

// Under its old name the file means nothing to anybody, whatever is in it. So it has the lock and
// the claim before it has the run's name: nobody sees it without.
claim::result claim::reuse(const request& r, const char* name, std::string_view lines) noexcept {
  text<64> spare;
  spare << static_cast<long long>(r.head.spare) << std::string_view(".spare\0", 7);
  file_ = ::openat(wire::runs_fd, spare.view().data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_APPEND);
  if (file_ < 0) return result::failed;
  fault_point(r, wire::fault::after_create);
  // Whoever has locked it under this name is alone with it: another runner may hold it, or may
  // have made it the file of a run since we opened it.
  bool ours = lock(file_) && is_named(file_, spare.view().data());
  fault_point(r, wire::fault::after_lock);
  ours = ours && make_empty(file_) && write_all(file_, lines);
  if (ours &&
      ::renameat2(wire::runs_fd, spare.view().data(), wire::runs_fd, name, RENAME_NOREPLACE) == 0)
    return result::made;
  const bool there = ours && errno == EEXIST;
  ::close(file_);
  file_ = -1;
  return there ? result::there : result::failed;
}

void claim::write_program(pid_t program, std::int64_t started_ms,
                          std::int64_t boot_time_ns) noexcept {
  text<96> line;
  line << "program " << program << " " << static_cast<long long>(started_ms) << " "
       << static_cast<long long>(boot_time_ns) << "\n";
  // Without it only the pid of the program is not known: its end still will be.
  (void)write_all(file_, line.view());
}

bool claim::write_status(const request& r, std::string_view outcome, int code, int signal,
                         std::int64_t finished_ms, std::string_view note) noexcept {
  text<wire::most_note + 160> line;
  line << "over " << outcome << " " << code << " " << signal << " "
       << static_cast<long long>(finished_ms) << " ";
  line.add_plain(note, wire::most_note) << "\n";
  fault_point(r, wire::fault::before_status);
  if (r.head.fault == static_cast<std::uint32_t>(wire::fault::within_status)) {
    (void)write_all(file_, line.view().substr(0, line.view().size() / 2));
    fault_point(r, wire::fault::within_status);
  }
  if (!write_all(file_, line.view())) return false;
  fault_point(r, wire::fault::after_status);
  return daemon_lives() || ::fdatasync(file_) == 0;
}

}  // namespace rota::runner
