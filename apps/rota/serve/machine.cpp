#include "machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace rota::app {

namespace {

// Where the handler writes; -1: nowhere. Set before there is a handler.
volatile sig_atomic_t signal_pipe = -1;

void on_signal(int number) {
  const int before = errno;
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe has enough to say.
  if (signal_pipe >= 0) (void)!::write(signal_pipe, &byte, 1);
  errno = before;
}

}  // namespace

signals::signals(loop& l, std::vector<int> which, std::function<void(int)> f)
    : loop_(l), which_(std::move(which)), pipe_{-1, -1} {
  if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  signal_pipe = pipe_[1];
  loop_.watch(pipe_[0], [this, call = std::move(f)] {
    unsigned char number = 0;
    while (::read(pipe_[0], &number, 1) == 1) call(number);
  });
  for (const int s : which_) {
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
    ::sigaction(s, &action, nullptr);
  }
}

signals::~signals() {
  for (const int s : which_) ::signal(s, SIG_DFL);
  signal_pipe = -1;
  loop_.unwatch(pipe_[0]);
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

void notify_service_manager(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (!path || (*path != '/' && *path != '@')) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, path, length);
  if (*path == '@') to.sun_path[0] = '\0';  // in the abstract
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // Nobody listens, or too slowly: we run all the same.
  (void)::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&to),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
  ::close(fd);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id.empty() ? "unknown" : id;
}

// --- process 1 ----------------------------------------------------------------------------------

namespace {

constexpr std::chrono::milliseconds between_looks{1000};
constexpr int looks = 3;

// The zombies whose parent we are.
std::vector<int> own_zombies() {
  std::vector<int> found;
  DIR* const all = ::opendir("/proc");
  if (!all) return found;
  while (const dirent* entry = ::readdir(all)) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (*end != '\0' || pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // "12 (a name, with anything in it) Z 1 ..."
    const std::size_t name = text.rfind(')');
    char state = 0;
    int parent = 0;
    if (name == text.npos || std::sscanf(text.c_str() + name + 1, " %c %d", &state, &parent) != 2)
      continue;
    if (state == 'Z' && parent == ::getpid()) found.push_back(static_cast<int>(pid));
  }
  ::closedir(all);
  return found;
}

}  // namespace

orphan_reaper::orphan_reaper(loop& l) : again_(l, [this] { look(); }) {}

void orphan_reaper::look_soon() { again_.after(between_looks); }

void orphan_reaper::look() {
  std::map<int, int> now;
  for (const int pid : own_zombies()) {
    const int times = seen_[pid] + 1;
    if (times >= looks)
      ::waitpid(pid, nullptr, WNOHANG);
    else
      now[pid] = times;
  }
  seen_ = std::move(now);
  if (!seen_.empty()) again_.after(between_looks);
}

}  // namespace rota::app
