// The exceptions of the task layer.
//
//   try {
//     rota::run(program());
//   } catch (const rota::deadlock& d) {
//     std::cerr << d.what();               // every task: what it waits for, and where
//   }
//
// Threads: as any exception; it is carried to whoever awaits the task.
#ifndef ROTA_TASK_ERRORS_H
#define ROTA_TASK_ERRORS_H

#include <exception>
#include <stdexcept>
#include <string>

namespace rota {

// Thrown out of a wait when its task was asked to stop. Let it pass: unwinding is how a task stops.
// A task that ends with it counts as stopped, not as failed.
class cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "the task was asked to stop"; }
};

// Thrown by with_timeout() when the time is over; the task has been stopped and has ended.
class timed_out : public std::exception {
 public:
  const char* what() const noexcept override { return "the time limit was reached"; }
};

// Thrown by run() when every task waits and nothing outside is expected: `deadlock_reported`.
// what() says who waits for whom, and where.
class deadlock : public std::runtime_error {
 public:
  explicit deadlock(const std::string& report) : std::runtime_error(report) {}
};

}  // namespace rota

#endif
