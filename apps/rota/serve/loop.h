// The one thread of the daemon: it waits for descriptors and calls back.
//
//   loop l;
//   l.watch(fd, [] { ... });        // whenever fd can be read
//   timer t{l, [] { ... }};
//   t.after(1s);
//   l.run();                        // until stop()
//
// Timers are the kernel's, in real seconds: a clock that is set, or faked in a test, does not move
// them. What waits for the wall clock is wall_timer (wall_clock.h).
//
// Threads: post() is anyone's, all else belongs to the thread that runs the loop.
#ifndef ROTA_APPS_SERVE_LOOP_H
#define ROTA_APPS_SERVE_LOOP_H

#include <chrono>
#include <exception>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace rota::app {

class loop {
 public:
  loop();
  ~loop();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Calls `f` whenever `fd` can be read, until unwatch(). The descriptor stays the caller's; it is
  // unwatched before it is closed.
  void watch(int fd, std::function<void()> f);
  void unwatch(int fd);

  void post(std::function<void()> f);

  // What a callback throws goes there, and the loop goes on.
  void on_error(std::function<void(const std::exception&)> f);
  void complain(const std::exception& error);

  void run();
  void stop();

  boost::asio::io_context& context();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

class timer {
 public:
  timer(loop& l, std::function<void()> f);
  ~timer();
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  // Once, so long from now; what was set before is forgotten.
  void after(std::chrono::milliseconds d);
  void stop();

 private:
  void arm(std::chrono::milliseconds d);

  loop& loop_;
  int fd_;
};

}  // namespace rota::app

#endif
