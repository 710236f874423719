// What the drivers of bench/event/run have in common: messages, sizes, answers.
//
// A driver is a contestant of duel.h. A scenario sends the numbers 0 to n - 1; the answer is the
// sum of what has arrived, so that nothing is lost or comes twice unnoticed.
//
//   one        a publisher, a subscriber
//   fan_out    a publisher, four subscribers: each gets all, the answer is the sum over all
//   fan_in     four publishers of n / 4 numbers each, a subscriber
//   pipeline   a publisher, and three stages of which the last adds up
//   pingpong   n round trips of one message between two ends
//   call       n round trips, each begun by who waits for the answer
//
// Queues hold `depth` messages; who finds one full waits. The flavour is the size of a message, "8"
// or "1m", and may have a word behind it that the driver knows: "8,cown".
#ifndef ROTA_BENCH_EVENT_WORKLOAD_H
#define ROTA_BENCH_EVENT_WORKLOAD_H

#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "../duel.h"

namespace bench {

inline constexpr std::size_t depth = 64;
inline constexpr unsigned fan = 4;

struct small {
  std::uint64_t number;
};

// A mebibyte of which only the number is written.
struct large {
  large() noexcept {}  // not = default: that would be filled with zeros
  explicit large(std::uint64_t n) noexcept : number(n) {}
  std::uint64_t number;
  std::byte rest[(std::size_t{1} << 20) - sizeof(std::uint64_t)];
};

// How queues between threads carry a message: a small one itself, a large one by a pointer that its
// receivers share.
struct small_carrier {
  using handle = std::uint64_t;
  static handle make(std::uint64_t n) { return n; }
  static std::uint64_t number(const handle& h) { return h; }
};
struct large_carrier {
  using handle = std::shared_ptr<const large>;
  static handle make(std::uint64_t n) { return std::make_shared<const large>(n); }
  static std::uint64_t number(const handle& h) { return h->number; }
};

inline bool is_large(const trial& t) { return t.flavor().starts_with("1m"); }
inline bool has_word(const trial& t, const char* word) {
  const auto comma = t.flavor().find(',');
  return comma != std::string::npos && t.flavor().substr(comma + 1) == word;
}

// The end of what is measured, of a runtime whose workers go on: its CPU time is read when they
// sleep. That they look for work for a moment before they do is part of it.
inline void stop_and_rest(trial& t) {
  t.stop_wall();
  std::this_thread::sleep_for(std::chrono::milliseconds{3});
  t.stop_cpu();
}

// Memory of large messages is kept and used again, and not fetched from the system each time: that
// would be all there is to measure.
inline void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 96 << 20);
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace bench

#endif
