#include "event/inspector_socket.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <system_error>

#include "event/names.h"

namespace rota::detail {

namespace {

std::string text_of_error(int error) { return std::generic_category().message(error); }

// The socket inside of an open directory. A path through the descriptor is short, whatever the
// directory is called, and nobody can put another directory in its place.
sockaddr_un address_in(const descriptor& directory, const std::string& name) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get()) + "/" + name;
  if (path.size() >= sizeof a.sun_path) throw std::length_error(name);
  std::memcpy(a.sun_path, path.c_str(), path.size() + 1);
  return a;
}

const sockaddr* generic(const sockaddr_un& a) noexcept {
  return reinterpret_cast<const sockaddr*>(&a);
}

}  // namespace

descriptor::~descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

listening_socket::listening_socket(std::string path) : path_(std::move(path)) {
  open_directory();
  lock_directory();
  if (!bind_once()) {
    remove_dead();
    if (!bind_once()) refuse("somebody else makes a socket there");
  }
  constexpr int waiting = 64;
  if (::listen(socket_.get(), waiting) != 0) {
    const int error = errno;
    ::unlinkat(directory_.get(), name_.c_str(), 0);
    refuse(text_of_error(error));
  }
  ::flock(directory_.get(), LOCK_UN);
}

listening_socket::~listening_socket() {
  struct stat now{};
  if (::fstatat(directory_.get(), name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
      now.st_dev == device_ && now.st_ino == number_)
    ::unlinkat(directory_.get(), name_.c_str(), 0);
}

void listening_socket::refuse(const std::string& why) const {
  throw std::runtime_error("inspector: " + quoted(path_) + ": " + why);
}

void listening_socket::open_directory() {
  const std::size_t slash = path_.rfind('/');
  name_ = path_.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name_.empty() || name_ == "." || name_ == ".." || path_.find('\0') != std::string::npos)
    refuse("that is no name for a socket");
  const std::string where = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  // With a slash at its end a link would be followed.
  const std::size_t last = where.find_last_not_of('/');
  const std::string directory = last == std::string::npos ? "/" : where.substr(0, last + 1);
  directory_ =
      descriptor{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory_) {
    if (errno == ELOOP || errno == ENOTDIR)
      refuse("its directory is a link, or no directory; name the directory itself");
    refuse("its directory: " + text_of_error(errno));
  }
  struct stat s{};
  if (::fstat(directory_.get(), &s) != 0) refuse(text_of_error(errno));
  if (s.st_uid != ::geteuid() && s.st_uid != 0)
    refuse("its directory belongs to another user; choose one of yours");
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (s.st_mode & S_ISVTX) == 0)
    refuse("others may write to its directory; choose one of yours, or chmod go-w it");
}

// Whoever has it has it for a moment.
void listening_socket::lock_directory() const {
  for (int tries = 0; ::flock(directory_.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) refuse("its directory: " + text_of_error(errno));
    if (tries == 200) refuse("somebody keeps a lock on its directory");
    const timespec moment{0, 5'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

// False if there is something at the path.
bool listening_socket::bind_once() {
  socket_ = descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket_) refuse(text_of_error(errno));
  // The file gets the mode that the socket has when it is bound.
  if (::fchmod(socket_.get(), S_IRUSR | S_IWUSR) != 0) refuse(text_of_error(errno));
  sockaddr_un a{};
  try {
    a = address_in(directory_, name_);
  } catch (const std::length_error&) {
    refuse("the name of the socket is too long; at most 80 characters");
  }
  if (::bind(socket_.get(), generic(a), sizeof a) != 0) {
    if (errno == EADDRINUSE) return false;
    refuse(text_of_error(errno));
  }
  struct stat s{};
  if (::fstatat(directory_.get(), name_.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
    refuse(text_of_error(errno));
  device_ = s.st_dev;
  number_ = s.st_ino;
  return true;
}

void listening_socket::remove_dead() const {
  struct stat s{};
  if (::fstatat(directory_.get(), name_.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;  // it has gone by itself
    refuse(text_of_error(errno));
  }
  if (!S_ISSOCK(s.st_mode)) refuse("there is something that is no socket; it was left alone");
  if (s.st_uid != ::geteuid()) refuse("there is a socket of another user");
  const descriptor probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!probe) refuse(text_of_error(errno));
  const sockaddr_un a = address_in(directory_, name_);
  if (::connect(probe.get(), generic(a), sizeof a) == 0 || errno == EAGAIN)
    refuse("a program answers there already; choose another path");
  if (errno != ECONNREFUSED && errno != ENOENT) refuse(text_of_error(errno));
  if (::unlinkat(directory_.get(), name_.c_str(), 0) != 0 && errno != ENOENT)
    refuse(text_of_error(errno));
}

descriptor listening_socket::accept(bool& is_short) const noexcept {
  is_short = false;
  for (;;) {
    descriptor client{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!client) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      is_short = errno != EAGAIN && errno != EWOULDBLOCK;
      return {};
    }
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) continue;
    if (who.uid == ::geteuid() || who.uid == 0) return client;
  }
}

poll_waker::poll_waker() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::runtime_error("inspector: " + text_of_error(errno));
}

void poll_waker::wake() const noexcept {
  const std::uint64_t one = 1;
  // It fails only if so many are there already that the thread wakes anyway.
  [[maybe_unused]] const auto done = ::write(event_.get(), &one, sizeof one);
}

void poll_waker::clear() const noexcept {
  std::uint64_t all = 0;
  // It fails only if there is nothing to clear.
  [[maybe_unused]] const auto done = ::read(event_.get(), &all, sizeof all);
}

}  // namespace rota::detail
