// Requests and answers, and the server that carries them, over TCP and over a unix socket.
//
//   http_server server{loop, limits{}, [](const request& r) { return response{.body = "{}"}; }};
//   const auto port = server.listen_tcp("127.0.0.1", 0);
//   server.listen_unix("/run/rota.sock", 0600);
//
// Promised: whatever a client sends, and however slowly, costs no more than the limits say and
// disturbs nobody else; the handler is called for whole requests only, one after the other, on the
// loop's thread. Who may do what is for the handler to decide; on a unix socket the kernel has told
// who calls.
#ifndef ROTA_APPS_SERVE_HTTP_H
#define ROTA_APPS_SERVE_HTTP_H

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loop.h"

namespace rota::app {

struct request {
  std::string method;
  std::vector<std::string> path;               // its parts, decoded: {"api", "v1", "status"}
  std::map<std::string, std::string> query;    // decoded; of two with one name, the last
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;
  bool at_socket = false;  // then the kernel says who it is
  uid_t uid = 0;
  std::string address;  // otherwise, where it came in
  std::uint16_t port = 0;

  // What a header says; empty if it is not there.
  std::string header(const std::string& name) const;
};

// A body that grows while it is read: events, a log that is followed.
class body_stream {
 public:
  virtual ~body_stream() = default;
  // Appends what there is, at most about `most` bytes. False: that was all.
  virtual bool read(std::string& to, std::size_t most) = 0;
  // What to send when nothing was sent for a while, so that both sides know of each other.
  virtual std::string sign_of_life() { return {}; }
  // Whether the server has to ask again and again; otherwise `on_more` is called.
  virtual bool is_polled() const { return false; }

  std::function<void()> on_more;  // set by the server
};

struct response {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<body_stream> stream = {};  // then there is no body
};

struct http_limits {
  std::uint32_t header = 16 * 1024;
  std::uint64_t body = 1024 * 1024;
  // At each of the two doors, and of one user at the unix socket. There, root is not counted and
  // not refused: others cannot lock root out.
  std::size_t connections = 128;
  std::size_t per_user = 32;
  std::size_t streams_per_user = 8;           // likewise
  std::chrono::milliseconds request{10'000};  // a request is whole by then
  std::chrono::milliseconds idle{60'000};     // between two requests
  std::chrono::milliseconds write{30'000};    // the client takes something by then
  std::chrono::milliseconds sign{15'000};     // of life, on a stream
};

class http_server {
 public:
  using handler = std::function<response(const request&)>;

  http_server(loop& l, http_limits limits, handler h);
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  // Gives the port. Throws std::system_error.
  std::uint16_t listen_tcp(const std::string& address, std::uint16_t port);
  void listen_unix(const std::string& path, mode_t mode);

  // Takes no new connections, and closes those that there are once their answers are written.
  void close();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

// "%2F" and back. Nothing is refused: what is no code stays.
std::string percent_decoded(std::string_view text, bool plus_is_blank);
std::string percent_encoded(std::string_view text);

// Real milliseconds that nobody sets or fakes.
std::int64_t steady_milliseconds();

}  // namespace rota::app

#endif
