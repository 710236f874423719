// How time limits are kept: each connection knows by when its next step is due, and one timer looks
// at all of them, but only while there are any.

#include "http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "http_text.h"

namespace rota::app {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::size_t piece = 64 * 1024;
constexpr std::chrono::milliseconds look_often{100};
constexpr std::chrono::milliseconds look_seldom{1000};

std::system_error failed(const std::string& what) {
  return std::system_error(errno, std::generic_category(), what);
}

response refusal(int status, const std::string& why) {
  return {.status = status, .body = "{\"error\": \"" + why + "\"}\n"};
}

}  // namespace

// --- one connection -----------------------------------------------------------------------------

struct http_server::state : std::enable_shared_from_this<http_server::state> {
  struct connection;
  struct listener {
    int fd = -1;
    bool at_socket = false;
    std::string address = {};
    std::uint16_t port = 0;
    std::string path = {};
    dev_t device = 0;  // of the path, as it was bound
    ino_t inode = 0;
  };

  state(loop& l, http_limits o, handler h)
      : main(l), limits(o), handle(std::move(h)), looker(l, [this] { look(); }) {}

  // Whether its path is still the socket that was bound: somebody else may have put one there.
  static bool is_still(const listener& l);
  void listen(listener l);
  void accept(const listener& l);
  void look();
  std::size_t streams_of(uid_t user) const;

  loop& main;
  http_limits limits;
  handler handle;
  std::list<listener> listeners;
  std::set<std::shared_ptr<connection>> connections;
  bool closing = false;
  timer looker;
};

struct http_server::state::connection : std::enable_shared_from_this<connection> {
  connection(state& s, int fd, bool socket, uid_t user, std::string where, std::uint16_t p)
      : owner(s),
        stream(s.main.context(),
               asio::generic::stream_protocol(socket ? AF_UNIX : AF_INET, socket ? 0 : IPPROTO_TCP),
               fd),
        at_socket(socket),
        uid(user),
        address(std::move(where)),
        port(p) {}

  void start() {
    parser.emplace();
    parser->header_limit(owner.limits.header);
    parser->body_limit(owner.limits.body);
    parser->eager(true);
    due = steady_milliseconds() + (in.empty() ? owner.limits.idle : owner.limits.request).count();
    at_rest = in.empty();
    parse();
  }

  // Goes on with what has come in, then reads more.
  void parse() {
    while (!in.empty()) {
      error_code error;
      const std::size_t used = parser->put(asio::buffer(in), error);
      in.erase(0, used);
      if (error == http::error::need_more) break;
      if (error) return refuse(error);
      if (parser->is_done()) return answer();
      if (used == 0) break;
    }
    stream.async_read_some(asio::buffer(room),
                           [self = shared_from_this()](const error_code& error, std::size_t n) {
                             self->received(error, n);
                           });
  }

  void received(const error_code& error, std::size_t n) {
    if (closed) return;
    if (error) return close();
    if (at_rest) due = steady_milliseconds() + owner.limits.request.count();
    at_rest = false;
    in.append(room.data(), n);
    parse();
  }

  void refuse(const error_code& error) {
    last = true;
    if (error == http::error::body_limit)
      return send(
          refusal(413, "the body has more than " + std::to_string(owner.limits.body) + " bytes"));
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return send(refusal(
          431, "the header has more than " + std::to_string(owner.limits.header) + " bytes"));
    send(refusal(400, "this is no HTTP request"));
  }

  void answer() {
    auto& message = parser->get();
    request r;
    r.method = std::string(message.method_string());
    read_target({message.target().data(), message.target().size()}, r);
    for (const auto& field : message)
      r.headers.insert_or_assign(
          small_letters({field.name_string().data(), field.name_string().size()}),
          std::string(field.value()));
    r.body = std::move(message.body());
    r.at_socket = at_socket;
    r.uid = uid;
    r.address = address;
    r.port = port;
    last = !message.keep_alive() || owner.closing;
    chunked = message.version() >= 11;
    without_body = r.method == "HEAD";
    if (without_body) r.method = "GET";
    // Two values could each be meant for another reader.
    if (message.count(http::field::host) > 1)
      return send(refusal(400, "there is more than one Host"));
    try {
      send(owner.handle(r));
    } catch (const std::exception&) {
      // The handler logs what it can; this is for what it could not, memory say.
      send(refusal(500, "the daemon could not answer"));
    }
  }

  void send(response r) {
    if (r.stream && !without_body) {
      if (at_socket && uid != 0 && owner.streams_of(uid) >= owner.limits.streams_per_user)
        r = refusal(503, "too many streams are open; end one of them");
      else
        return send_stream(std::move(r));
    }
    r.stream = nullptr;
    out = head_of(r) + "Content-Length: " + std::to_string(r.body.size()) + "\r\n" +
          (last ? "Connection: close\r\n\r\n" : "\r\n");
    if (!without_body) out += r.body;
    write([this] {
      if (last) return close();
      start();
    });
  }

  static std::string head_of(const response& r) {
    std::string head = "HTTP/1.1 " + std::to_string(r.status) + " " + words_of(r.status) + "\r\n";
    if (r.status != 304) head += "Content-Type: " + r.type + "\r\n";
    for (const auto& [name, value] : r.headers) head += name + ": " + value + "\r\n";
    return head;
  }

  template <class Next>
  void write(Next next) {
    writing = true;
    due = steady_milliseconds() + owner.limits.write.count();
    write_some(0, std::move(next));
  }

  // Piece by piece, so that a client that takes something has time for the rest.
  template <class Next>
  void write_some(std::size_t from, Next next) {
    stream.async_write_some(
        asio::buffer(out.data() + from, out.size() - from),
        [self = shared_from_this(), from, next](const error_code& error, std::size_t n) {
          if (self->closed) return;
          if (error) return self->close();
          self->due = steady_milliseconds() + self->owner.limits.write.count();
          if (from + n < self->out.size()) return self->write_some(from + n, next);
          self->writing = false;
          next();
        });
  }

  // --- streams ---

  void send_stream(response r) {
    last = true;
    // What a slow client does not read waits with us, where it is bounded, not in the kernel.
    error_code ignored;
    stream.set_option(asio::socket_base::send_buffer_size(static_cast<int>(piece)), ignored);
    source = r.stream;
    source->on_more = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    };
    out = head_of(r) + (chunked ? "Transfer-Encoding: chunked\r\n" : "") +
          "Connection: close\r\n\r\n";
    watch_for_end();
    write([this] { pump(); });
    if (source->is_polled()) owner.looker.after(look_often);
  }

  void pump() {
    if (closed || writing || source_over) return;
    std::string text;
    try {
      source_over = !source->read(text, piece);
    } catch (const std::exception& error) {
      // The client sees that this was not the end, since the last chunk does not come.
      owner.main.complain(error);
      return close();
    }
    send_piece(text);
  }

  void send_piece(const std::string& text) {
    out.clear();
    if (!chunked) {
      out = text;
    } else if (!text.empty()) {
      char size[32];
      std::snprintf(size, sizeof size, "%zx\r\n", text.size());
      out = size + text + "\r\n";
    }
    if (source_over && chunked) out += "0\r\n\r\n";
    if (out.empty()) {
      if (source_over) close();
      return;
    }
    quiet_since = steady_milliseconds();
    write([this] { source_over ? close() : pump(); });
  }

  void watch_for_end() {
    stream.async_read_some(asio::buffer(room),
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (self->closed) return;
                             if (error) return self->close();
                             self->watch_for_end();
                           });
  }

  // By the server's timer.
  void look(std::int64_t now) {
    if (source && !writing && !closed) {
      if (source->is_polled()) pump();
      if (!writing && !closed && now - quiet_since > owner.limits.sign.count()) {
        quiet_since = now;
        if (const std::string sign = source->sign_of_life(); !sign.empty()) send_piece(sign);
      }
      return;
    }
    if (now < due || closed) return;
    if (!writing && !at_rest && !source) {
      // One try: whoever does not take it does not get it.
      constexpr std::string_view late =
          "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      (void)::send(stream.native_handle(), late.data(), late.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    close();
  }

  void close() {
    if (closed) return;
    closed = true;
    if (source) {
      source->on_more = nullptr;
      source = nullptr;
    }
    // What the client still sends would reset the connection, and with it the answer on its way.
    error_code ignored;
    stream.shutdown(asio::socket_base::shutdown_send, ignored);
    char rest[4096];
    for (int i = 0; i < 16 && ::recv(stream.native_handle(), rest, sizeof rest, MSG_DONTWAIT) > 0;)
      ++i;
    stream.close(ignored);
    owner.connections.erase(shared_from_this());
  }

  state& owner;
  asio::generic::stream_protocol::socket stream;
  const bool at_socket;
  const uid_t uid;
  const std::string address;
  const std::uint16_t port;
  std::array<char, 8192> room{};
  std::string in;  // received, and not parsed yet
  std::optional<http::request_parser<http::string_body>> parser;
  std::string out;
  std::shared_ptr<body_stream> source;
  std::int64_t due = 0;
  std::int64_t quiet_since = 0;
  bool at_rest = true;  // nothing of the next request has come
  bool writing = false;
  bool source_over = false;
  bool chunked = true;
  bool without_body = false;
  bool last = false;
  bool closed = false;
};

// --- the server ---------------------------------------------------------------------------------

bool http_server::state::is_still(const listener& l) {
  struct stat is{};
  return !l.path.empty() && ::lstat(l.path.c_str(), &is) == 0 && is.st_dev == l.device &&
         is.st_ino == l.inode;
}

void http_server::state::listen(listener l) {
  if (::listen(l.fd, 128) != 0) throw failed("listen");
  listener& kept = listeners.emplace_back(std::move(l));
  main.watch(kept.fd, [this, &kept] { accept(kept); });
}

void http_server::state::accept(const listener& l) {
  const int fd = ::accept4(l.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without descriptors left, the ones that wait stay there: a moment later there may be some.
    if (errno == EMFILE || errno == ENFILE) ::usleep(1000);
    return;
  }
  uid_t uid = 0;
  if (l.at_socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) {
      ::close(fd);
      return;
    }
    uid = who.uid;
  }
  const bool is_root = l.at_socket && uid == 0;
  const auto here = std::count_if(connections.begin(), connections.end(), [&](const auto& c) {
    return c->at_socket == l.at_socket && (!l.at_socket || c->uid != 0);
  });
  const auto of_user = std::count_if(connections.begin(), connections.end(), [&](const auto& c) {
    return l.at_socket && c->at_socket && c->uid == uid;
  });
  if (!is_root && (static_cast<std::size_t>(here) >= limits.connections ||
                   static_cast<std::size_t>(of_user) >= limits.per_user)) {
    constexpr std::string_view full =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    (void)::send(fd, full.data(), full.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::close(fd);
    return;
  }
  const auto made = std::make_shared<connection>(*this, fd, l.at_socket, uid, l.address, l.port);
  if (connections.empty()) looker.after(look_seldom);
  connections.insert(made);
  made->start();
}

std::size_t http_server::state::streams_of(uid_t user) const {
  return static_cast<std::size_t>(
      std::count_if(connections.begin(), connections.end(),
                    [&](const auto& c) { return c->source && c->at_socket && c->uid == user; }));
}

void http_server::state::look() {
  const std::int64_t now = steady_milliseconds();
  const auto all = connections;  // those that close take themselves out
  bool often = false;
  for (const auto& c : all) {
    c->look(now);
    if (!c->closed && c->source && c->source->is_polled()) often = true;
  }
  if (!connections.empty()) looker.after(often ? look_often : look_seldom);
}

http_server::http_server(loop& l, http_limits o, handler h)
    : state_(std::make_shared<state>(l, o, std::move(h))) {}

http_server::~http_server() {
  close();
  const auto all = state_->connections;
  for (const auto& c : all) c->close();
}

std::uint16_t http_server::listen_tcp(const std::string& address, std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
    throw std::invalid_argument("'" + address + "' is no IPv4 address");
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw failed("socket");
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    const auto error = failed(address + ":" + std::to_string(port));
    ::close(fd);
    throw error;
  }
  socklen_t size = sizeof at;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  state_->listen({.fd = fd, .address = address, .port = ntohs(at.sin_port)});
  return ntohs(at.sin_port);
}

namespace {

// EAGAIN: one that is alive, with many who wait for it. Whom we may not ask is not ours to remove.
bool somebody_answers(const sockaddr_un& at) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw failed("socket");
  const bool answers = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
                       (errno != ECONNREFUSED && errno != ENOENT);
  ::close(fd);
  return answers;
}

}  // namespace

void http_server::listen_unix(const std::string& path, mode_t mode) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path)
    throw std::invalid_argument(path + ": a socket's path has at most " +
                                std::to_string(sizeof at.sun_path - 1) +
                                " letters; --socket takes another one");
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) throw failed("socket");
  // What is left of a daemon that was killed makes way; one that is alive answers. Its lock does
  // not tell, since two daemons with a state of their own can be given the same path.
  struct stat is{};
  if (::lstat(path.c_str(), &is) == 0 && S_ISSOCK(is.st_mode)) {
    if (somebody_answers(at)) {
      ::close(fd);
      throw std::runtime_error(path +
                               ": somebody answers there, another daemon it seems; stop it, or "
                               "take another path with --socket");
    }
    ::unlink(path.c_str());
  }
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::lstat(path.c_str(), &is) != 0) {
    const auto error = failed(path);
    ::close(fd);
    throw error;
  }
  state_->listen(
      {.fd = fd, .at_socket = true, .path = path, .device = is.st_dev, .inode = is.st_ino});
}

void http_server::close() {
  state_->closing = true;
  for (const auto& l : state_->listeners) {
    state_->main.unwatch(l.fd);
    ::close(l.fd);
    if (state::is_still(l)) ::unlink(l.path.c_str());
  }
  state_->listeners.clear();
  const auto all = state_->connections;
  for (const auto& c : all)
    if (!c->writing) c->close();
}

}  // namespace rota::app
