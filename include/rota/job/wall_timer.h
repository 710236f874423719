// The wall clock, and a file descriptor that becomes readable at an instant of it, or when somebody
// sets it.
//
//   rota::job::wall_timer timer;
//   timer.arm(engine.wake_at());
//   poll(timer.fd());              // together with whatever else there is
//   timer.acknowledge();
//
// Promised: readable at the instant or soon after, never before, also if the clock is set forward
// past it (rules T4, T5). Where a library stands between us and the clock (libfaketime, in tests),
// the kernel's timer would come at the wrong time: then clock_is_faked() holds, and whoever waits
// looks at the clock every `look_every`.
//
// Threads: a timer belongs to one at a time.
#ifndef ROTA_JOB_WALL_TIMER_H
#define ROTA_JOB_WALL_TIMER_H

#include <rota/cron/time_zone.h>

#include <chrono>
#include <optional>

namespace rota::job {

instant wall_now() noexcept;

// Whether wall_now() is another clock than the kernel's.
bool clock_is_faked() noexcept;

class wall_timer {
 public:
  static constexpr std::chrono::milliseconds look_every{50};

  wall_timer();  // throws std::system_error
  wall_timer(const wall_timer&) = delete;
  wall_timer& operator=(const wall_timer&) = delete;
  ~wall_timer();

  int fd() const noexcept { return fd_; }

  // Nothing: only when the clock is set.
  void arm(std::optional<instant> at);

  // After it was readable; to be armed again. False: there was nothing.
  bool acknowledge() noexcept;

 private:
  int fd_;
};

}  // namespace rota::job

#endif
