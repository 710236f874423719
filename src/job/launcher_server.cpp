#include "job/launcher_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace rota::job {

namespace {

// A copy above the numbers that the server expects, so that none is overwritten before it is used.
owned_fd lift(int fd) { return owned_fd{::fcntl(fd, F_DUPFD_CLOEXEC, wire::last_fd + 1)}; }

pid_t spawn_server(const runner_server::settings& s, int their_socket) {
  const owned_fd we{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  const std::array<owned_fd, 5> files = {lift(their_socket), lift(s.runs), lift(s.logs),
                                         lift(s.lock), lift(we.get())};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  int error = 0;
  for (std::size_t i = 0; i < files.size() && error == 0; ++i)
    error = files[i] ? ::posix_spawn_file_actions_adddup2(&actions, files[i].get(),
                                                          wire::socket_fd + static_cast<int>(i))
                     : EMFILE;
  std::string program = s.program;
  std::string verb = "--serve";
  std::string limit = std::to_string(s.open_files);
  std::array<char*, 4> arguments = {program.data(), verb.data(), limit.data(), nullptr};
  std::array<char*, 1> no_environment = {nullptr};
  pid_t pid = -1;
  if (error == 0)
    error = ::posix_spawn(&pid, s.program.c_str(), &actions, nullptr, arguments.data(),
                          no_environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error(system_message("cannot start the runner " + s.program, error));
  return pid;
}

// A message with one file beside it.
struct message_with_file {
  explicit message_with_file(iovec* where) {
    header.msg_iov = where;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  msghdr header = {};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
};

owned_fd file_of(msghdr& m) {
  const cmsghdr* c = CMSG_FIRSTHDR(&m);
  if (c == nullptr || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
      c->cmsg_len < CMSG_LEN(sizeof(int)))
    return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(c), sizeof(fd));
  return owned_fd{fd};
}

owned_fd in_memory(const std::string& bytes) {
  owned_fd file{::memfd_create("request", MFD_CLOEXEC)};
  std::string_view rest = bytes;
  while (file && !rest.empty()) {
    const ssize_t n = ::write(file.get(), rest.data(), rest.size());
    if (n <= 0) return {};
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return file;
}

}  // namespace

runner_server::runner_server(const settings& s) {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error(system_message("cannot make a socket for the runner", errno));
  socket_ = owned_fd{ends[0]};
  const owned_fd theirs{ends[1]};
  // As much as we may: who is told of a thousand starts should not keep the runners waiting.
  const int room = 1 << 20;
  for (const int end : ends)
    if (::setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0)
      (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  pid_ = spawn_server(s, theirs.get());
  // It is our child and not reaped, so the number is its own. Without the pidfd we notice its end
  // when the last of its runners has spoken.
  pidfd_ = owned_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
}

runner_server::~runner_server() {
  socket_ = owned_fd{};
  // The host may have reaped it, or may not want to hear of children at all.
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void runner_server::send(run_id id, std::string request) {
  unsent_.emplace_back(id, std::move(request));
  flush();
}

void runner_server::flush() {
  while (!unsent_.empty() && send_one(unsent_.front().second)) unsent_.pop_front();
}

bool runner_server::withdraw(run_id id) {
  return std::erase_if(unsent_, [&](const auto& u) { return u.first == id; }) > 0;
}

// False: there is no room, no file to be had, or nobody who listens; receive() sees the latter.
bool runner_server::send_one(const std::string& request) {
  full_ = false;
  const bool is_long = request.size() > wire::inline_limit;
  iovec what = {const_cast<char*>(request.data()),
                is_long ? sizeof(wire::request_head) : request.size()};
  message_with_file m{&what};
  const owned_fd file = is_long ? in_memory(request) : owned_fd{};
  if (is_long && !file) return false;
  if (is_long) {
    cmsghdr* c = CMSG_FIRSTHDR(&m.header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = file.get();
    std::memcpy(CMSG_DATA(c), &fd, sizeof(fd));
  } else {
    m.header.msg_control = nullptr;
    m.header.msg_controllen = 0;
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket_.get(), &m.header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  full_ = n < 0 && errno == EAGAIN;
  return n >= 0;
}

void runner_server::receive(const std::function<void(const wire::answer&, owned_fd)>& f) {
  while (!lost_) {
    wire::answer a;
    iovec where = {&a, sizeof(a)};
    message_with_file m{&where};
    const ssize_t n = ::recvmsg(socket_.get(), &m.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      lost_ = true;
      return;
    }
    owned_fd file = file_of(m.header);
    if (static_cast<std::size_t>(n) < offsetof(wire::answer, note)) continue;
    a.note_size = std::min<std::uint32_t>(
        a.note_size,
        static_cast<std::uint32_t>(static_cast<std::size_t>(n) - offsetof(wire::answer, note)));
    f(a, std::move(file));
  }
}

}  // namespace rota::job
