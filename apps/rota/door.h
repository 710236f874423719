// The way to a running program: the socket that its rota::inspector has opened, and what all
// commands that use it have in common.
#ifndef ROTA_APPS_DOOR_H
#define ROTA_APPS_DOOR_H

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "command_line.h"

namespace rota::app {

// --socket and --json.
struct door_options {
  std::string socket;
  bool json = false;
};
void add_door_options(command& c, door_options& o);

// Seconds, as --timeout has them. Throws bad_input.
double seconds_of(const std::string& option, const std::string& text);

class door {
 public:
  using clock = std::chrono::steady_clock;

  // Goes to the program of --socket. Throws bad_input if there is none. When `stop`
  // is requested, nobody waits any more.
  explicit door(const door_options& o, std::stop_token stop = {});
  door(const door&) = delete;
  door& operator=(const door&) = delete;
  ~door();

  void send(const std::string& line) const;

  enum class outcome { line, ended, timed_out, interrupted };

  // The next line of JSON.
  outcome read(nlohmann::ordered_json& line, clock::time_point deadline = clock::time_point::max());

  // Sends a request and gives the first line of its answer. Throws bad_input if it is an error, and
  // std::runtime_error if there is none.
  nlohmann::ordered_json ask(const std::string& line);

 private:
  bool wait(clock::time_point deadline) const;

  int socket_ = -1;
  int wake_ = -1;
  std::stop_token stop_;
  std::stop_callback<std::function<void()>> on_stop_;
  std::string text_;  // received, and not read yet
  std::size_t looked_at_ = 0;
};

}  // namespace rota::app

#endif
