// What a pump and the cowns that are pinned to it share.
#ifndef ROTA_COWN_PUMP_STATE_H
#define ROTA_COWN_PUMP_STATE_H

#include <rota/base/sync.h>
#include <rota/cown/core.h>

#include <cstdint>
#include <functional>

#include "pool/pool.h"

namespace rota::detail {

class pump_state {
 public:
  pump_state(pool& home, std::function<void()> on_ready)
      : home_(home), on_ready_(std::move(on_ready)) {}

  // Takes a behaviour that is ready to run; false if the pump is gone.
  bool put(behaviour& b) noexcept;

  behaviour* take() noexcept;
  void run(behaviour& b) noexcept;
  void wait(sync::time_point until) noexcept { sync::futex_wait(filled_, 0, until); }

  // Drops what waits, and lets nothing in any more.
  void close() noexcept;

 private:
  pool& home_;
  const std::function<void()> on_ready_;
  sync::mutex mutex_;
  bool closed_ = false;                    // guarded by mutex_
  behaviour* first_ = nullptr;             // guarded by mutex_
  behaviour* last_ = nullptr;              // guarded by mutex_
  sync::atomic<std::uint32_t> filled_{0};  // a futex: whether something is there
};

}  // namespace rota::detail

#endif
