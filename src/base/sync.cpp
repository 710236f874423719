#include <rota/base/sync.h>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <limits>

namespace rota::real_sync {

bool fences_are_asymmetric = false;

void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept {
  timespec until{};
  timespec* limit = nullptr;
  if (deadline != time_point::max()) {
    // steady_clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes as an absolute time.
    const auto since_boot = deadline.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    until.tv_sec = static_cast<time_t>(seconds.count());
    until.tv_nsec = static_cast<long>(std::chrono::nanoseconds(since_boot - seconds).count());
    limit = &until;
  }
  // Whatever the kernel answers (woken, value changed, timed out, interrupted), the caller looks at
  // the word again.
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, expected,
          limit, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(atomic<std::uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr,
          nullptr, 0);
}

void prepare_fences() noexcept {
  // The flag is written while the others wait for the one who initialises, so nobody races with it.
  static const bool asked = [] {
    const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (known >= 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
      fences_are_asymmetric =
          syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return true;
  }();
  static_cast<void>(asked);
}

void heavy_fence() noexcept {
  if (fences_are_asymmetric) [[likely]] {
    // A full fence on every running thread of the process, this one included.
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    return;
  }
#ifndef ROTA_TSAN
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void adopt_worker_thread(unsigned index) noexcept {
  // The default slack lets a timed sleep overshoot by 50 us.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  char name[16];
  std::snprintf(name, sizeof name, "rota %u", index);
  pthread_setname_np(pthread_self(), name);
}

}  // namespace rota::real_sync
