// A small random generator (SplitMix64): for choosing victims and for seeded tests.
//
//   rng random{seed};
//   random.below(6);   // 0 to 5
//
// Promised: one seed gives one sequence, on every machine and with every compiler.
// Not promised: numbers that nobody can foresee. Threads: one at a time.
#ifndef ROTA_BASE_RNG_H
#define ROTA_BASE_RNG_H

#include <cstdint>

namespace rota::detail {

class rng {
 public:
  explicit constexpr rng(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // A number below `bound`, which is not 0. The bias is below 2^-32 for bounds below 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace rota::detail

#endif
