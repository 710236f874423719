// What a thread knows of the others: a number for each of them, how many of its steps are known.
//
// Two things are known separately. What happened before, which decides about data races; and what
// can no longer be unseen, which decides what a load may return. The second is more: sequentially
// consistent fences order what threads see without making it happen before.
#ifndef ROTA_VERIFY_EXPLORE_STAMPS_H
#define ROTA_VERIFY_EXPLORE_STAMPS_H

#include <algorithm>
#include <array>
#include <cstdint>

namespace rota::explore::detail {

inline constexpr unsigned most_threads = 14;
// The place of time itself as somebody who takes steps, and that of the order of sequentially
// consistent operations.
inline constexpr unsigned time_index = 14;
inline constexpr unsigned sc_index = 15;

using tick = std::uint32_t;
inline constexpr tick never = ~tick{0};

struct vector_clock {
  std::array<tick, 16> known{};

  void join(const vector_clock& other) noexcept {
    for (unsigned i = 0; i < known.size(); ++i) known[i] = std::max(known[i], other.known[i]);
  }
};

struct stamp {
  vector_clock before;
  vector_clock seen;

  void join(const stamp& other) noexcept {
    before.join(other.before);
    seen.join(other.seen);
  }
};

}  // namespace rota::explore::detail

#endif
