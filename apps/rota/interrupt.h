// Ctrl-C as a request to stop, so that a command can say what it knows so far. A second one ends
// the program at once.
#ifndef ROTA_APPS_INTERRUPT_H
#define ROTA_APPS_INTERRUPT_H

#include <signal.h>

#include <stop_token>
#include <thread>

namespace rota::app {

// While it lives, SIGINT and SIGTERM go to a thread of its own. Threads that are to be left alone
// by them are started later.
class interrupt {
 public:
  static constexpr int exit_status = 130;  // as shells say it

  interrupt();
  ~interrupt();
  interrupt(const interrupt&) = delete;
  interrupt& operator=(const interrupt&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  void listen(const std::stop_token& over);

  sigset_t before_{};
  std::stop_source stop_;
  std::jthread listener_;
};

}  // namespace rota::app

#endif
