// What the stress tests share: how long to go on, a common start, and a watchdog that turns a hang
// into a failure.
//
//   rota::test::watchdog dog{"the consumer reads", [&] { return read.load(); },
//                            [&] { std::fprintf(stderr, "read %d\n", read.load()); }};
//   rota::test::run_together(3, [&](unsigned index) { ... });
#ifndef ROTA_TESTS_SUPPORT_STRESS_H
#define ROTA_TESTS_SUPPORT_STRESS_H

#include <rota/base/rng.h>
#include <rota/base/sync.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/strength.h"

namespace rota::test {

#ifdef ROTA_TSAN
inline constexpr bool race_checked = true;
#else
inline constexpr bool race_checked = false;
#endif

#ifdef ROTA_SHAKEN
inline constexpr bool shaken = true;
#else
inline constexpr bool shaken = false;
#endif

// How often to repeat: `quick` in an ordinary run, a part of it where every access costs more.
inline std::uint64_t rounds(std::uint64_t quick, std::uint64_t thorough) {
  if (long_tests()) return thorough;
  const std::uint64_t part = (race_checked ? 10 : sanitized ? 3 : 1) * (shaken ? 4 : 1);
  return quick / part + 1;
}

// The seed of a test: ROTA_TEST_SEED, or 1. A failure should print it.
inline std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* text = std::getenv("ROTA_TEST_SEED");
    return text ? std::strtoull(text, nullptr, 0) : 1;
  }();
  return chosen;
}

// Keeps the processor busy without touching memory that others see.
inline void spin(std::uint64_t pauses) {
  for (std::uint64_t i = 0; i < pauses; ++i) real_sync::pause();
}

// Lets others run, once in `often` calls: where threads share a processor, one of them is through
// with a short contest before another has begun.
inline void yield_sometimes(rota::detail::rng& random, std::uint64_t often) {
  if (random.below(often) == 0) std::this_thread::yield();
}

// Spins, and lets others run when that takes long: there may be fewer processors than threads.
template <class Condition>
void spin_until(Condition&& condition) {
  for (unsigned i = 0; !condition(); ++i) {
    if (i % 256 == 255)
      std::this_thread::yield();
    else
      real_sync::pause();
  }
}

// Waits for a condition that others make true; false if that takes longer than `limit`.
template <class Condition>
bool wait_for(Condition&& condition, std::chrono::milliseconds limit = std::chrono::seconds(60)) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

// Runs f(0) ... f(count - 1) on threads of their own, which begin together, and joins them.
template <class F>
void run_together(unsigned count, F f) {
  std::atomic<unsigned> ready{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ready.fetch_add(1);
      spin_until([&] { return ready.load() == count; });
      f(i);
    });
  }
  for (auto& t : threads) t.join();
}

// Aborts the program when nothing moves for a long time. `progress` is any number that changes
// while things are well; `report` prints who waits for what. ROTA_PATIENCE in the environment, in
// seconds, overrides how long that is.
class watchdog {
 public:
  watchdog(std::string what, std::function<std::uint64_t()> progress, std::function<void()> report,
           std::chrono::seconds patience = std::chrono::seconds(60))
      : what_(std::move(what)),
        progress_(std::move(progress)),
        report_(std::move(report)),
        patience_(chosen_or(patience)),
        thread_([this] { watch(); }) {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() {
    done_.store(true);
    thread_.join();
  }

 private:
  static std::chrono::seconds chosen_or(std::chrono::seconds usual) {
    const char* text = std::getenv("ROTA_PATIENCE");
    return text ? std::chrono::seconds(std::atoi(text)) : usual;
  }

  void watch() {
    std::uint64_t seen = progress_();
    auto moved = std::chrono::steady_clock::now();
    while (!done_.load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const auto now = std::chrono::steady_clock::now();
      if (const std::uint64_t p = progress_(); p != seen) {
        seen = p;
        moved = now;
      } else if (now - moved > patience_) {
        std::fprintf(stderr, "watchdog: no progress for %lld s: %s (seed %llu)\n",
                     static_cast<long long>(patience_.count()), what_.c_str(),
                     static_cast<unsigned long long>(seed()));
        report_();
        std::fflush(stderr);
        std::abort();
      }
    }
  }

  const std::string what_;
  const std::function<std::uint64_t()> progress_;
  const std::function<void()> report_;
  const std::chrono::seconds patience_;
  std::atomic<bool> done_{false};
  std::thread thread_;  // begins when everything above is there
};

// Many short contests between an owner and its thieves, each from a small queue that has to grow
// under them.
template <class Contest>
void run_contests(std::uint64_t contests, unsigned thieves, std::uint64_t elements) {
  std::uint64_t stolen = 0;
  for (std::uint64_t i = 0; i < contests; ++i) {
    Contest c{thieves, std::size_t{1} << (i % 4), elements, seed() * 100'000 + i};
    c.run();
    c.check();
    stolen += c.stolen();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(stolen, 0u) << "the thieves never met the owner";
  std::printf("%llu of %llu stolen\n", static_cast<unsigned long long>(stolen),
              static_cast<unsigned long long>(contests * elements));
}

}  // namespace rota::test

#endif
