// A deadline of one task: part of the awaiter that waits for it. Set and cancelled by the time
// layer.
#ifndef ROTA_TIME_TIMER_H
#define ROTA_TIME_TIMER_H

#include <cstdint>

namespace rota::detail {

class activity;

struct timer {
  timer* next = nullptr;
  timer** place = nullptr;  // what points to us; null when the timer is in no wheel
  std::uint64_t tick = 0;   // when it is due
  activity* who = nullptr;
  std::uint32_t wheel = 0;  // whose wheel it is in
  std::uint16_t slot = 0;   // and where there
  bool fired = false;
};

}  // namespace rota::detail

#endif
