// What the tests of tasks share.
#ifndef ROTA_TESTS_SUPPORT_TASKS_H
#define ROTA_TESTS_SUPPORT_TASKS_H

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/strength.h"

namespace rota::test {

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

// One promise on several sorts of runtimes. 0 workers stand for strict order.
class on_runtimes : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() { return GetParam() == 0 ? strict() : with_workers(GetParam()); }
};

}  // namespace rota::test

#endif
