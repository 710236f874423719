// What a runtime counts about itself. All of it is always on.
//
//   std::cout << rt.statistics().text();
//   rt.statistics().max_ready_delay;        // `quiescent_fair`: at most N + fairness_slack
//
// Counters are read one by one while the workers go on: each is right, a sum of two may not be.
// Threads: a copy, as any value.
#ifndef ROTA_POOL_STATS_H
#define ROTA_POOL_STATS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rota {

struct stats {
  // Times that a worker chose what to run next.
  std::uint64_t points = 0;

  // Tasks begun and ended.
  std::uint64_t spawned = 0;
  std::uint64_t finished = 0;

  // Successful visits to another worker's queue, the tasks brought home, and forks taken over.
  std::uint64_t steals = 0;
  std::uint64_t stolen = 0;
  std::uint64_t forks_taken = 0;

  // Times that a worker went to sleep, and that a sleeping one was woken for work.
  std::uint64_t parks = 0;
  std::uint64_t wakes = 0;

  // Times that a worker kept away for a while, to try whether the others get as much done without
  // it, or since they do (options::longest_rest).
  std::uint64_t rests = 0;

  // How many scheduling points of its worker a ready task waited: the largest, and how many waits
  // there were with 2^(i-1) <= points < 2^i (0: none). An arrival from outside counts from the
  // last look before it came, so the figure is never too small.
  std::uint64_t max_ready_delay = 0;
  std::array<std::uint64_t, 33> ready_delay{};

  // The smallest number of points within which the given share of the waits ended.
  std::uint64_t ready_delay_quantile(double share) const noexcept;

  // All of it as lines for people.
  std::string text() const;
};

// With N live tasks a ready task runs within N + K scheduling points of its worker.
inline constexpr std::uint64_t fairness_slack = 64;  // K

}  // namespace rota

#endif
