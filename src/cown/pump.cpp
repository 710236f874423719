#include <rota/cown/pump.h>

#include <rota/base/assert.h>

#include "cown/pressure_board.h"
#include "pool/pool.h"
#include "task/runtime_state.h"

namespace rota {

using detail::behaviour;

pump::pump(runtime& rt, std::function<void()> on_ready)
    : home_(detail::state_of(rt).workers()), on_ready_(std::move(on_ready)) {}

pump::~pump() {
  while (behaviour* b = take()) {
    b->set(behaviour::is_dropped);
    run(*b);
  }
}

void pump::put(behaviour& b) noexcept {
  // The runtime is not at rest until it has run.
  home_.expect_outside(+1);
  // Told under the lock: once it is given back the behaviour may run and the pump end.
  std::lock_guard guard{mutex_};
  b.link = nullptr;
  if (last_) {
    last_->link = &b;
    last_ = &b;
    return;
  }
  first_ = last_ = &b;
  filled_.store(1, sync::memory_order_relaxed);
  sync::futex_wake(filled_);
  if (on_ready_) on_ready_();
}

behaviour* pump::take() noexcept {
  std::lock_guard guard{mutex_};
  behaviour* const b = first_;
  if (!b) return nullptr;
  first_ = static_cast<behaviour*>(b->link);
  if (!first_) {
    last_ = nullptr;
    filled_.store(0, sync::memory_order_relaxed);
  }
  b->link = nullptr;
  return b;
}

void pump::run(behaviour& b) noexcept {
  {
    const detail::stand_in here{home_, &b};
    b.frame.resume();
  }
  home_.expect_outside(-1);
}

bool pump::run_one() {
  behaviour* const b = take();
  if (!b) return false;
  run(*b);
  return true;
}

bool pump::run_one_for(std::chrono::nanoseconds limit) {
  const auto until = sync::now() + limit;
  for (;;) {
    if (run_one()) return true;
    if (sync::now() >= until) return false;
    sync::futex_wait(filled_, 0, until);
  }
}

}  // namespace rota
