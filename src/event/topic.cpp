#include <rota/event/topic.h>

#include <rota/cown/core.h>
#include <rota/task/errors.h>

#include <utility>

#include "event/executor.h"

namespace rota {

using detail::blocked;
using detail::subscription_base;

namespace {

// Only subscriptions of this process block.
subscription_base& sink_of(const blocked& b) noexcept {
  return static_cast<subscription_base&>(*b.keep);
}

// Waits for room for one message.
class [[nodiscard("co_await it")]] room {
 public:
  explicit room(blocked& b) noexcept : sink_(sink_of(b)), wait_{std::move(b.message)} {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept {
    return sink_.begin_wait(leaf, wait_);
  }
  void await_resume() {
    if (wait_.served) return;
    sink_.end_wait();
    throw cancelled{};
  }

 private:
  subscription_base& sink_;
  detail::room_wait wait_;
};

}  // namespace

task<void> delivery::awaiter::wait(std::vector<blocked> all) {
  for (blocked& b : all) {
    room r{b};
    co_await r;
  }
}

bool delivery::awaiter::await_suspend(std::coroutine_handle<> leaf) {
  if (outcome_.full.empty()) return detail::go_on(leaf);
  wait_.emplace(wait(std::exchange(outcome_.full, {})));
  call_.emplace(std::move(*wait_).operator co_await());
  call_->await_suspend(leaf);
  return true;
}

// Nobody awaits: a behaviour is muted, anybody else was told by refused().
void delivery::give_up() noexcept {
  const bool in_behaviour = detail::running_behaviour() != nullptr;
  for (blocked& b : std::exchange(outcome_.full, {}))
    if (in_behaviour) sink_of(b).force(std::move(b.message));
}

void registration::remove() noexcept {
  if (handler_) home_->remove(*handler_);
}

}  // namespace rota
