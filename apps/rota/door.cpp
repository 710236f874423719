#include "door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <system_error>
#include <utility>

namespace rota::app {

namespace {

std::string socket_of(const door_options& o) {
  if (!o.socket.empty()) return o.socket;
  throw bad_input(
      "which program? Give --socket PATH, or set ROTA_SOCKET: the path with which the program has "
      "opened its door (rota::inspector door{bus, path})");
}

// A path that is too long for a socket is taken by way of its directory.
int connect_to(int socket, const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::string name = path;
  int directory = -1;
  if (path.size() >= sizeof a.sun_path) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos)
      directory = ::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return errno = ENOENT, -1;
    name = "/proc/self/fd/" + std::to_string(directory) + path.substr(slash);
  }
  int done = -1;
  if (name.size() < sizeof a.sun_path) {
    std::memcpy(a.sun_path, name.c_str(), name.size() + 1);
    done = ::connect(socket, reinterpret_cast<const sockaddr*>(&a), sizeof a);
  } else {
    errno = ENOENT;
  }
  const int error = errno;
  if (directory >= 0) ::close(directory);
  errno = error;
  return done;
}

[[noreturn]] void cannot_connect(const std::string& path, int error) {
  if (error == ENOENT)
    throw bad_input("there is no socket " + path +
                    "; a program opens one with rota::inspector door{bus, path}");
  if (error == ECONNREFUSED)
    throw bad_input("nobody answers on " + path +
                    ": the program that made it has ended, or it is no socket");
  if (error == EACCES)
    throw bad_input(path + " is not for this user: only who runs the program, or root, gets in");
  throw bad_input(path + ": " + std::generic_category().message(error));
}

// Whoever answers is told what to publish, so it should be who we take it for.
void check_peer(int socket, const std::string& path) {
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
  if (!known || (who.uid != ::geteuid() && who.uid != 0 && ::geteuid() != 0))
    throw bad_input(path + " is the socket of another user");
}

}  // namespace

void add_door_options(command& c, door_options& o) {
  c.option({.name = "--socket",
            .type = "PATH",
            .help = "the socket of the program; ROTA_SOCKET in the environment names it too",
            .value = &o.socket,
            .everywhere = true});
  c.environment("ROTA_SOCKET", "the socket of the program, without `--socket`");
  c.option({.name = "--json", .help = "print JSON", .value = &o.json});
}

double seconds_of(const std::string& option, const std::string& text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc{} || stopped != end || !(seconds >= 0.001 && seconds <= 86'400))
    throw bad_input(option + ": expected seconds from 0.001 to 86400, not " + text);
  return seconds;
}

door::door(const door_options& o, std::stop_token stop)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(std::move(stop)),
      on_stop_(stop_, [this] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto n = ::write(wake_, &one, sizeof one);
      }) {
  try {
    const std::string path = socket_of(o);
    if (connect_to(socket_, path) != 0) cannot_connect(path, errno);
    check_peer(socket_, path);
  } catch (...) {
    ::close(socket_);
    ::close(wake_);
    throw;
  }
}

door::~door() {
  ::close(socket_);
  ::close(wake_);
}

void door::send(const std::string& line) const {
  const std::string text = line + '\n';
  for (std::size_t at = 0; at < text.size();) {
    const auto n = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // what the program had to say about it is there to be read
    at += static_cast<std::size_t>(n);
  }
}

// False if it is no use to read.
bool door::wait(clock::time_point deadline) const {
  pollfd both[] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
  for (;;) {
    int left = -1;
    if (deadline != clock::time_point::max()) {
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
      left = static_cast<int>(std::clamp<std::int64_t>(ms, 0, 1'000'000));
    }
    if (stop_.stop_requested()) return false;
    const int n = ::poll(both, 2, left);
    if (n > 0 && both[0].revents) return true;
    if (n == 0 && clock::now() >= deadline) return false;
  }
}

door::outcome door::read(nlohmann::ordered_json& line, clock::time_point deadline) {
  for (;;) {
    const std::size_t end = text_.find('\n', looked_at_);
    if (end != std::string::npos) {
      line = nlohmann::ordered_json::parse(
          text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
      text_.erase(0, end + 1);
      looked_at_ = 0;
      if (!line.is_object()) throw std::runtime_error("whoever answers is no rota::inspector");
      return outcome::line;
    }
    looked_at_ = text_.size();
    if (!wait(deadline)) return stop_.stop_requested() ? outcome::interrupted : outcome::timed_out;
    char some[65536];
    const auto n = ::recv(socket_, some, sizeof some, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return outcome::ended;
    text_.append(some, static_cast<std::size_t>(n));
  }
}

nlohmann::ordered_json door::ask(const std::string& request) {
  using namespace std::chrono_literals;
  send(request);
  nlohmann::ordered_json line;
  switch (read(line, clock::now() + 10s)) {
    case outcome::line:
      break;
    case outcome::interrupted:
      throw std::runtime_error("interrupted");
    case outcome::timed_out:
      throw std::runtime_error("the program does not answer");
    case outcome::ended:
      throw std::runtime_error("the program has closed the door");
  }
  if (line.contains("error")) throw bad_input(line["error"].get<std::string>());
  if (line.contains("end")) throw std::runtime_error(line["end"].get<std::string>());
  return line;
}

}  // namespace rota::app
