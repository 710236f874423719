// What the tests of tasks share.
#ifndef ROTA_TESTS_SUPPORT_TASKS_H
#define ROTA_TESTS_SUPPORT_TASKS_H

#include <rota/rota.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace rota_test {

#if defined(ROTA_TSAN) || defined(ROTA_ASAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Long runs are for those who ask for them.
inline bool long_tests() { return std::getenv("ROTA_LONG_TESTS") != nullptr; }

inline rota::options with_workers(unsigned count) { return rota::options{}.with_workers(count); }

inline rota::options strict() { return rota::options{}.with_order(rota::order::strict); }

// Waits on a plain thread until the condition holds; false after ten seconds.
template <class F>
bool eventually(F condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

// Counts itself, so that a frame that is destroyed twice, or never, shows.
class tracked {
 public:
  tracked() { ++alive; }
  tracked(const tracked&) { ++alive; }
  tracked(tracked&&) noexcept { ++alive; }
  tracked& operator=(const tracked&) = default;
  tracked& operator=(tracked&&) = default;
  ~tracked() { --alive; }

  static inline std::atomic<int> alive{0};
};

}  // namespace rota_test

#endif
