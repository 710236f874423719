// Threads of a scenario wait for each other by words: one counts up, others sleep until it is
// there.
#ifndef ROTA_TESTS_EXPLORED_WORDS_H
#define ROTA_TESTS_EXPLORED_WORDS_H

#include <cstdint>

#include "explored/scenarios.h"

namespace rota::scenarios {

// Sleeps until the word is at least `wanted`. Shows what was done before.
inline void wait_until(word& w, std::uint32_t wanted) {
  for (;;) {
    const std::uint32_t seen = w.load(std::memory_order_acquire);
    if (seen >= wanted) return;
    explore::futex_wait(w, seen);
  }
}

inline void count_up(word& w) {
  w.fetch_add(1, std::memory_order_release);
  explore::futex_wake(w, 16);
}

// Deadlines come only when nobody can go on.
inline explore::options no_early(explore::options o) {
  o.early_deadlines = 0;
  return o;
}

}  // namespace rota::scenarios

#endif
