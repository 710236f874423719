// Where the workers of a search wait for each other; the last to come does what needs quiet.
#ifndef ROTA_VERIFY_CHECKER_MEETING_H
#define ROTA_VERIFY_CHECKER_MEETING_H

#include <rota/base/sync.h>

#include <cstdint>
#include <mutex>

namespace rota::verify::detail {

class meeting {
 public:
  explicit meeting(unsigned workers) : workers_(workers) {}

  // Returns when all workers have come. The last one calls `turn`, with the number of those who
  // came with `done`, before anybody goes on.
  template <class Turn>
  void arrive(bool done, Turn turn) {
    std::uint32_t round = 0;
    {
      const std::lock_guard guard{lock_};
      round = round_.load(real_sync::memory_order_relaxed);
      done_ += done;
      if (++arrived_ == workers_) {
        turn(done_);
        arrived_ = done_ = 0;
        // release: whoever sees the new round sees what the turn did.
        round_.store(round + 1, real_sync::memory_order_release);
        real_sync::futex_wake(round_, static_cast<int>(workers_));
        return;
      }
    }
    while (round_.load(real_sync::memory_order_acquire) == round)
      real_sync::futex_wait(round_, round);
  }

 private:
  const unsigned workers_;
  real_sync::mutex lock_;
  unsigned arrived_ = 0;  // guarded by lock_
  unsigned done_ = 0;     // guarded by lock_
  real_sync::atomic<std::uint32_t> round_{0};
};

}  // namespace rota::verify::detail

#endif
