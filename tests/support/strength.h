// How hard a test may try: long runs are for those who ask for them, and sanitizers are slow.
#ifndef ROTA_TESTS_SUPPORT_STRENGTH_H
#define ROTA_TESTS_SUPPORT_STRENGTH_H

#include <cstdlib>

namespace rota::test {

#if defined(ROTA_TSAN) || defined(ROTA_ASAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// Whether the environment has ROTA_LONG_TESTS: then tests may take hours.
inline bool long_tests() {
  static const bool on = std::getenv("ROTA_LONG_TESTS") != nullptr;
  return on;
}

}  // namespace rota::test

#endif
