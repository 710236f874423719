#include "job/ledger_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace rota::job::store {

namespace {

[[noreturn]] void fail_with_errno(const std::string& path, const std::string& what) {
  throw ledger_error(path + ": " + what + ": " + std::strerror(errno));
}

// A descriptor that closes itself.
struct descriptor {
  int fd;
  descriptor(const std::string& path, int flags, mode_t mode = 0600)
      : fd(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~descriptor() {
    if (fd >= 0) {
      ::close(fd);
    }
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
};

std::string parent_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void refuse_open_directory(const std::string& directory) {
  struct stat s{};
  if (::stat(directory.c_str(), &s) != 0) {
    fail_with_errno(directory, "cannot look at the directory of the ledger");
  }
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw ledger_error(directory +
                       ": others may write to the directory of the ledger; `chmod go-w " +
                       directory + "`, or choose another");
  }
  if (s.st_uid != ::geteuid() && s.st_uid != 0) {
    throw ledger_error(directory + ": the directory of the ledger belongs to user " +
                       std::to_string(s.st_uid) + "; it has to be root's or the daemon's own");
  }
}

void write_all(int fd, const char* data, std::size_t size, const std::string& path) {
  while (size > 0) {
    const auto n = ::write(fd, data, size);
    if (n < 0 && errno != EINTR) {
      fail_with_errno(path, "cannot write");
    }
    if (n > 0) {
      data += n;
      size -= static_cast<std::size_t>(n);
    }
  }
}

// "20260329T010000Z". Not of the library of zones: a damaged ledger is no place to depend on it.
std::string stamp(instant now) {
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(now - day)};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d%02u%02uT%02d%02d%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text.data();
}

// The locks of this process, which the kernel does not hold against itself.
sync::mutex own_locks_mutex;
std::set<std::string>& own_locks() {
  static std::set<std::string> paths;  // guarded by own_locks_mutex
  return paths;
}

constexpr std::array<const char*, 3> condition_words = {"open", "closed", "damaged"};

}  // namespace

std::string safe_path(const std::string& path) {
  std::error_code error;
  const auto directory = std::filesystem::canonical(parent_of(path), error);
  if (error) {
    throw ledger_error(parent_of(path) + ": no directory for the ledger: " + error.message());
  }
  refuse_open_directory(directory.string());
  const auto file = directory / std::filesystem::path(path).filename();
  struct stat s{};
  if (::lstat(file.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) {
    throw ledger_error(file.string() +
                       (S_ISDIR(s.st_mode)   ? ": is a directory; the ledger has to be a file"
                        : S_ISLNK(s.st_mode) ? ": is a symbolic link; name the file itself"
                                             : ": is no file; the ledger has to be one"));
  }
  return file.string();
}

bool looks_like_ledger(const std::string& path) {
  // The head of SQLite's format: 16 bytes of magic, at 68 the application's id, big end first.
  std::array<unsigned char, 72> head{};
  const descriptor file{path, O_RDONLY | O_NOFOLLOW};
  const auto n = file.fd < 0 ? -1 : ::pread(file.fd, head.data(), head.size(), 0);
  if (n < 0) {  // That it cannot be read does not mean that it is damaged.
    fail_with_errno(path, "cannot read the ledger");
  }
  return static_cast<std::size_t>(n) == head.size() &&
         std::memcmp(head.data(), "SQLite format 3", 16) == 0 &&
         std::memcmp(head.data() + 68, "Rota", 4) == 0;
}

bool exists(const std::string& path) {
  struct stat s{};
  return ::lstat(path.c_str(), &s) == 0;
}

std::uint64_t file_size(const std::string& path) {
  struct stat s{};
  return ::stat(path.c_str(), &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
}

void make_private(const std::string& path) {
  const descriptor file{path, O_RDWR | O_CREAT | O_NOFOLLOW};
  if (file.fd < 0) {
    fail_with_errno(path, "cannot open the ledger for writing");
  }
  struct stat s{};
  if (::fstat(file.fd, &s) != 0 || ((s.st_mode & 0777) != 0600 && ::fchmod(file.fd, 0600) != 0)) {
    fail_with_errno(path, "cannot keep others from reading the ledger");
  }
}

void sync_file(const std::string& path) {
  const descriptor file{path, O_RDONLY};
  if (file.fd < 0 || ::fsync(file.fd) != 0) {
    fail_with_errno(path, "cannot sync");
  }
}

void sync_directory_of(const std::string& path) {
  const descriptor directory{parent_of(path), O_RDONLY | O_DIRECTORY};
  if (directory.fd < 0 || ::fsync(directory.fd) != 0) {
    fail_with_errno(parent_of(path), "cannot sync the directory");
  }
}

void rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    fail_with_errno(from, "cannot rename to " + to);
  }
  sync_directory_of(to);
}

void copy_durably(const std::string& from, const std::string& to) {
  const std::string partial = to + ".partial";
  {
    const descriptor in{from, O_RDONLY | O_NOFOLLOW};
    if (in.fd < 0) {
      fail_with_errno(from, "cannot read");
    }
    const descriptor out{partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW};
    if (out.fd < 0) {
      fail_with_errno(partial, "cannot write");
    }
    std::array<char, 65'536> block;
    for (;;) {
      const auto n = ::read(in.fd, block.data(), block.size());
      if (n < 0 && errno != EINTR) {
        fail_with_errno(from, "cannot read");
      }
      if (n == 0) {
        break;
      }
      if (n > 0) {
        write_all(out.fd, block.data(), static_cast<std::size_t>(n), partial);
      }
    }
    if (::fsync(out.fd) != 0) {
      fail_with_errno(partial, "cannot sync");
    }
  }
  rename_durably(partial, to);
}

std::string put_aside(const std::string& path, instant now) {
  const std::string first = path + ".damaged-" + stamp(now);
  std::string name = first;
  for (int i = 2; exists(name); ++i) {
    name = first + "-" + std::to_string(i);
  }
  // The WAL first: a store without it would look whole, a WAL without a store does no harm.
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) {
    const std::string part = path + suffix;
    if (exists(part) && ::rename(part.c_str(), (name + suffix).c_str()) != 0) {
      fail_with_errno(part, "cannot put the damaged ledger aside");
    }
  }
  sync_directory_of(path);
  return name;
}

bool lock_file::was_there(const std::string& store_path) {
  std::array<char, 12> head{};
  const descriptor file{store_path + ".lock", O_RDONLY | O_NOFOLLOW};
  return file.fd >= 0 && ::pread(file.fd, head.data(), head.size(), 0) == 12 &&
         std::memcmp(head.data(), "rota ledger:", 12) == 0;
}

lock_file::lock_file(const std::string& store_path) : path_(store_path + ".lock") {
  const std::lock_guard guard{own_locks_mutex};
  if (own_locks().contains(path_)) {
    throw ledger_error(store_path + ": this process (pid " + std::to_string(::getpid()) +
                       ") has the ledger open already");
  }
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd_ < 0) {
    fail_with_errno(path_, "cannot open the lock of the ledger");
  }
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(fd_, F_SETLK, &whole) != 0) {
    const int why = errno;
    struct flock other = whole;
    const bool known = ::fcntl(fd_, F_GETLK, &other) == 0 && other.l_type != F_UNLCK;
    ::close(fd_);
    if (why != EACCES && why != EAGAIN) {
      errno = why;
      fail_with_errno(path_, "cannot lock the ledger");
    }
    // Of a process in another pid namespace the kernel gives no number.
    throw ledger_error(store_path + ": another daemon has the ledger open (" +
                       (known && other.l_pid > 0 ? "pid " + std::to_string(other.l_pid)
                                                 : std::string("in another container")) +
                       "); stop it, or choose another store");
  }
  own_locks().insert(path_);
  read();
}

lock_file::~lock_file() {
  const std::lock_guard guard{own_locks_mutex};
  own_locks().erase(path_);
  ::close(fd_);
}

void lock_file::read() {
  std::array<char, 256> text{};
  const auto n = ::pread(fd_, text.data(), text.size() - 1, 0);
  long long commits = 0;
  long long ids = 0;
  std::array<char, 16> word{};
  if (n <= 0 || std::sscanf(text.data(), "rota ledger: commits %lld ids %lld %15s", &commits, &ids,
                            word.data()) != 3) {
    return;
  }
  commits_ = commits;
  reserved_ = ids;
  for (std::size_t i = 0; i < condition_words.size(); ++i) {
    if (std::strcmp(word.data(), condition_words[i]) == 0) {
      state_ = static_cast<condition>(i);
    }
  }
}

// In place and of one length, within one sector: there is no moment without a whole line.
void lock_file::write(bool durable) {
  std::array<char, 129> line{};
  std::snprintf(line.data(), line.size(),
                "rota ledger: commits %020lld ids %020lld %-8s pid %-10d\n",
                static_cast<long long>(commits_), static_cast<long long>(reserved_),
                condition_words[static_cast<std::size_t>(state_)], static_cast<int>(::getpid()));
  const std::size_t size = std::strlen(line.data());
  if (::pwrite(fd_, line.data(), size, 0) != static_cast<ssize_t>(size) ||
      (durable && ::fdatasync(fd_) != 0)) {
    fail_with_errno(path_, "cannot write");
  }
}

lock_file::condition lock_file::state() const {
  const std::lock_guard guard{mutex_};
  return state_;
}

std::int64_t lock_file::commits() const {
  const std::lock_guard guard{mutex_};
  return commits_;
}

run_id lock_file::reserved() const {
  const std::lock_guard guard{mutex_};
  return reserved_;
}

void lock_file::set_state(condition c) {
  const std::lock_guard guard{mutex_};
  state_ = c;
  write(true);
}

void lock_file::set_commits(std::int64_t n) {
  const std::lock_guard guard{mutex_};
  commits_ = n;
  try {
    write(false);
  } catch (const ledger_error&) {
    // The commit is done, and a number that is too low only hides a loss that may never come.
  }
}

void lock_file::reserve(run_id below) {
  const std::lock_guard guard{mutex_};
  const run_id before = std::exchange(reserved_, below);
  try {
    write(true);
  } catch (...) {
    reserved_ = before;
    throw;
  }
}

}  // namespace rota::job::store
