// The daemon among other processes: signals, the service manager, and what falls to process 1.
#ifndef ROTA_APPS_SERVE_MACHINE_H
#define ROTA_APPS_SERVE_MACHINE_H

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loop.h"

namespace rota::app {

// While it lives, these signals come as calls on the loop's thread. There is one. Programs that are
// started meanwhile have the signals as ever: a handler does not pass through exec.
class signals {
 public:
  signals(loop& l, std::vector<int> which, std::function<void(int)> f);
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

 private:
  loop& loop_;
  std::vector<int> which_;
  int pipe_[2];
};

// Tells systemd, if it asked: "READY=1". Without NOTIFY_SOCKET nothing happens.
void notify_service_manager(std::string_view state);

// As process 1 of a container we inherit processes whose parents are gone, and somebody has to reap
// them. Our own children are reaped by who started them, at once; so what stays a zombie between
// two looks, seconds apart, is nobody's (rule K5: no waitpid(-1)).
class orphan_reaper {
 public:
  explicit orphan_reaper(loop& l);

  // A child has ended, or may have.
  void look_soon();

 private:
  void look();

  std::map<int, int> seen_;  // zombies, and in how many looks
  timer again_;
};

// Of this boot: /proc/sys/kernel/random/boot_id.
std::string boot_id();

}  // namespace rota::app

#endif
