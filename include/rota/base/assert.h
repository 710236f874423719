// Assertions that say what they saw.
//
//   ROTA_ASSERT(state == queued, "state is %u, expected queued", state);   // off when NDEBUG
//   ROTA_CHECK(joined, "a fork_scope was left without join()");            // always on
//
// Promised: a failed one prints file, line and what it saw, and ends the program. It does not
// throw.
// Threads: anyone's.
#ifndef ROTA_BASE_ASSERT_H
#define ROTA_BASE_ASSERT_H

namespace rota::detail {

// If set, called before a failed assertion prints and aborts. Need not return.
inline void (*on_fail)(const char* file, int line, const char* text) = nullptr;

// Prints "rota: FILE:LINE: message" and aborts.
[[noreturn, gnu::format(printf, 3, 4)]] void fail(const char* file, int line, const char* format,
                                                  ...) noexcept;

}  // namespace rota::detail

#define ROTA_CHECK(condition, ...)                                           \
  do {                                                                       \
    if (!(condition)) ::rota::detail::fail(__FILE__, __LINE__, __VA_ARGS__); \
  } while (false)

#if defined(ROTA_ASSERTIONS) || !defined(NDEBUG)
#define ROTA_ASSERT(condition, ...) ROTA_CHECK(condition, __VA_ARGS__)
#else
#define ROTA_ASSERT(condition, ...) \
  do {                              \
  } while (false)
#endif

#endif
