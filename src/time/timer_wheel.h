// Deadlines in order, with constant cost to set and to cancel.
//
// Hierarchical: level 0 has a slot for each of the next 64 ticks, level 1 for each of the next 64
// times 64 ticks, and so on. A timer lies in the level of the highest bits in which its tick
// differs from now; when time reaches its slot it falls to a lower level, and from level 0 it is
// due. Each timer falls at most once a level.
//
// A passive structure: no locks, no clock. Ticks are of 1,024 ns; a timer is never due early.
#ifndef ROTA_TIME_TIMER_WHEEL_H
#define ROTA_TIME_TIMER_WHEEL_H

#include <rota/time/timer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rota::detail {

class timer_wheel {
 public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  // Adds a timer whose `tick` is set.
  void add(timer& t) noexcept;

  // Takes a timer out, if it is in.
  void remove(timer& t) noexcept;

  // Moves time forward and takes out timers that are due by then, at most `limit`; a list by
  // `next`, earlier ticks first. Time stops short where the limit was reached.
  timer* advance(std::uint64_t to, std::size_t limit) noexcept;

  // The first tick at which advance() has something to do; `never` if the wheel is empty. Exact
  // unless many timers share a slot of a higher level, then early.
  std::uint64_t next() const noexcept;

  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }

 private:
  static constexpr unsigned bits = 6;
  static constexpr unsigned slots = 1u << bits;
  static constexpr unsigned levels = 8;
  static constexpr std::uint64_t horizon = (std::uint64_t{1} << (bits * levels)) - 1;

  // The timers of a slot, in the order in which they came. `end` is where the next one is linked;
  // meaningless while there is none.
  struct list {
    timer* head = nullptr;
    timer** end = nullptr;
  };

  void place(timer& t) noexcept;
  std::uint64_t slot_begin(unsigned level, unsigned slot) const noexcept;
  bool first_slot(unsigned& level, unsigned& slot) const noexcept;

  std::uint64_t now_ = 0;
  std::size_t count_ = 0;
  std::array<std::uint64_t, levels> occupied_{};  // a bit a slot
  std::array<list, levels * slots> lists_{};
};

}  // namespace rota::detail

#endif
