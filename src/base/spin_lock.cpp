#include <rota/base/spin_lock.h>

namespace rota::detail {

void spin_lock::lock_slowly() noexcept {
  // A holder needs some ten nanoseconds; 64 pauses are far more, so after these it was preempted.
  constexpr int spins = 64;
  for (;;) {
    for (int i = 0; i < spins; ++i) {
      // relaxed: try_lock() acquires; this load only keeps the line shared while we wait.
      if (locked_.load(sync::memory_order_relaxed) == 0 && try_lock()) return;
      sync::pause();
    }
    sync::yield_thread();
  }
}

}  // namespace rota::detail
