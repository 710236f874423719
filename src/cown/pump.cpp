#include <rota/cown/pump.h>

#include <utility>

#include "cown/pump_state.h"
#include "pool/pool.h"
#include "task/runtime_state.h"

namespace rota {

using detail::behaviour;
using detail::pump_state;

namespace detail {

bool pump_state::put(behaviour& b) noexcept {
  std::lock_guard guard{mutex_};
  if (closed_) return false;
  // The runtime is not at rest until it has run.
  home_.expect_outside(+1);
  b.link = nullptr;
  if (last_) {
    last_->link = &b;
    last_ = &b;
    return true;
  }
  first_ = last_ = &b;
  filled_.store(1, sync::memory_order_relaxed);
  sync::futex_wake(filled_);
  if (on_ready_) on_ready_();
  return true;
}

behaviour* pump_state::take() noexcept {
  std::lock_guard guard{mutex_};
  behaviour* const b = first_;
  if (!b) return nullptr;
  first_ = static_cast<behaviour*>(std::exchange(b->link, nullptr));
  if (!first_) {
    last_ = nullptr;
    filled_.store(0, sync::memory_order_relaxed);
  }
  return b;
}

void pump_state::run(behaviour& b) noexcept {
  {
    const stand_in here{home_, &b};
    b.frame.resume();
  }
  home_.expect_outside(-1);
}

void pump_state::close() noexcept {
  {
    std::lock_guard guard{mutex_};
    closed_ = true;
  }
  while (behaviour* b = take()) {
    b->set(behaviour::is_dropped);
    run(*b);
  }
}

}  // namespace detail

pump::pump(runtime& rt, std::function<void()> on_ready)
    : state_(std::make_shared<pump_state>(detail::state_of(rt).workers(), std::move(on_ready))) {}

pump::~pump() { state_->close(); }

bool pump::run_one() {
  behaviour* const b = state_->take();
  if (!b) return false;
  state_->run(*b);
  return true;
}

bool pump::run_one_for(std::chrono::nanoseconds limit) {
  const auto until = sync::now() + limit;
  for (;;) {
    if (run_one()) return true;
    if (sync::now() >= until) return false;
    state_->wait(until);
  }
}

}  // namespace rota
