#include "job_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "../door.h"
#include "place.h"

namespace rota::app {

namespace {

bool somebody_listens(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

class line_to_daemon {
 public:
  explicit line_to_daemon(const std::string& path)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    if (path.size() >= sizeof to.sun_path) throw bad_input(path + ": the path is too long");
    std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return;
    const int error = errno;
    ::close(fd_);
    if (error == EACCES)
      throw bad_input(path + ": " + std::strerror(error) + "; the daemon is somebody else's");
    throw bad_input("no daemon answers at " + path +
                    "; start one with `rota serve`, or say where it is with --socket PATH");
  }
  ~line_to_daemon() { ::close(fd_); }
  line_to_daemon(const line_to_daemon&) = delete;
  line_to_daemon& operator=(const line_to_daemon&) = delete;

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // The answer says why, if there is one.
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  // More into `text`; false at the end.
  bool receive(std::string& text) {
    char room[16 * 1024];
    for (;;) {
      const ssize_t n = ::recv(fd_, room, sizeof room, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.append(room, static_cast<std::size_t>(n));
      return true;
    }
  }

 private:
  int fd_;
};

// A line up to its end, which is taken off.
std::optional<std::string> take_line(line_to_daemon& from, std::string& text) {
  std::size_t end = 0;
  while ((end = text.find("\r\n")) == text.npos)
    if (!from.receive(text)) return std::nullopt;
  std::string line = text.substr(0, end);
  text.erase(0, end + 2);
  return line;
}

// What the daemon refuses with. It speaks to all who use the API; here commands are at hand.
std::string refusal_of(const nlohmann::ordered_json& answer) {
  std::string text = answer.is_object() ? answer.value("error", "the daemon refuses") : "";
  if (text.empty()) return "the daemon refuses";
  const std::string_view request = "GET /api/v1/jobs lists";
  if (const std::size_t at = text.find(request); at != text.npos)
    text.replace(at, request.size(), "`rota job list` lists");
  return text;
}

}  // namespace

std::string socket_of(const std::string& given) {
  if (!given.empty()) return given;
  const std::string own = default_state_directory(::geteuid()) + "/rota.sock";
  const std::string system = default_state_directory(0) + "/rota.sock";
  return !somebody_listens(own) && somebody_listens(system) ? system : own;
}

job_client::answer job_client::exchange(
    const std::string& method, const std::string& target, const std::string& body,
    const std::function<void(int, std::string_view)>& piece) const {
  line_to_daemon line{socket_};
  line.send(method + " " + target + " HTTP/1.1\r\nHost: rota\r\nConnection: close\r\n" +
            (body.empty() ? ""
                          : "Content-Type: application/json\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n") +
            "\r\n" + body);
  std::string text;
  answer a;
  const auto first = take_line(line, text);
  if (!first || first->size() < 12) return a;
  a.status = std::atoi(first->c_str() + 9);
  bool chunked = false;
  std::size_t length = 0;
  while (const auto header = take_line(line, text)) {
    if (header->empty()) break;
    if (*header == "Transfer-Encoding: chunked") chunked = true;
    if (header->starts_with("Content-Length: "))
      length = static_cast<std::size_t>(std::atoll(header->c_str() + 16));
  }
  if (!chunked) {
    while (text.size() < length && line.receive(text)) {
    }
    a.whole = text.size() >= length;
    piece(a.status, text);
    return a;
  }
  while (const auto size_line = take_line(line, text)) {
    const std::size_t size = std::strtoull(size_line->c_str(), nullptr, 16);
    if (size == 0) {
      a.whole = true;
      return a;
    }
    while (text.size() < size + 2 && line.receive(text)) {
    }
    if (text.size() < size + 2) return a;
    piece(a.status, std::string_view(text).substr(0, size));
    text.erase(0, size + 2);
  }
  return a;
}

job_client::json job_client::ask(const std::string& method, const std::string& target,
                                 const std::string& body) const {
  std::string text;
  const answer a =
      exchange(method, target, body, [&](int, std::string_view piece) { text += piece; });
  const json j = json::parse(text, nullptr, false);
  if (a.status == 0 || !a.whole || j.is_discarded())
    throw std::runtime_error("the daemon did not answer; its log may say why");
  if (a.status >= 400) throw bad_input(refusal_of(j));
  return j;
}

bool job_client::read(const std::string& target,
                      const std::function<void(std::string_view)>& piece) const {
  std::string refused;
  const answer a = exchange("GET", target, "", [&](int status, std::string_view text) {
    if (status >= 400)
      refused += text;
    else
      piece(text);
  });
  if (a.status >= 400) throw bad_input(refusal_of(json::parse(refused, nullptr, false)));
  return a.whole;
}

}  // namespace rota::app
