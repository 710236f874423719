// The way from `rota job` to the daemon: HTTP over its unix socket.
//
//   job_client daemon{socket_of(given)};
//   nlohmann::ordered_json jobs = daemon.get("/api/v1/jobs");
//
// What the daemon refuses is thrown as bad_input (door.h), with its words; a daemon that is not
// there too, with how to start it.
#ifndef ROTA_APPS_SERVE_JOB_CLIENT_H
#define ROTA_APPS_SERVE_JOB_CLIENT_H

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rota::app {

// --socket, else ROTA_JOB_SOCKET, else the user's daemon, else the system's.
std::string socket_of(const std::string& given);

class job_client {
 public:
  using json = nlohmann::ordered_json;

  explicit job_client(std::string socket) : socket_(std::move(socket)) {}

  json get(const std::string& target) const { return ask("GET", target, ""); }
  json ask(const std::string& method, const std::string& target, const std::string& body) const;

  // The body in pieces, as they come. False: it broke off before its end.
  bool read(const std::string& target, const std::function<void(std::string_view)>& piece) const;

 private:
  struct answer {
    int status = 0;
    bool whole = false;
  };
  answer exchange(const std::string& method, const std::string& target, const std::string& body,
                  const std::function<void(int, std::string_view)>& piece) const;

  std::string socket_;
};

}  // namespace rota::app

#endif
