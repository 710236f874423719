#include "pool/blocking_pool.h"

#include <chrono>
#include <system_error>

namespace rota::detail {

namespace {

// An idle thread costs its stack; a new one some 50 us.
constexpr auto keep_idle = std::chrono::seconds(5);

}  // namespace

void blocking_pool::submit(blocking_call& call) {
  std::list<helper> gone;
  helper* wake = nullptr;
  {
    std::lock_guard guard{mutex_};
    call.next = nullptr;
    (last_ ? last_->next : first_) = &call;
    last_ = &call;
    if (!idle_.empty()) {
      wake = idle_.back();
      idle_.pop_back();
    } else {
      join_gone(gone);
      if (helpers_.size() < limit_) {
        helper& fresh = helpers_.emplace_back();
        try {
          fresh.thread = sync::thread([this, &fresh] { main(fresh); });
        } catch (const std::system_error&) {
          // No more threads to be had: those that there are will come to it.
          helpers_.pop_back();
          if (helpers_.empty()) throw;
        }
      }
    }
  }
  if (wake) wake->notifier.notify();
  for (helper& h : gone) h.thread.join();
}

// Moves out threads that have ended. With the mutex held; the caller joins them without it.
void blocking_pool::join_gone(std::list<helper>& gone) {
  for (auto it = helpers_.begin(); it != helpers_.end();) {
    auto here = it++;
    if (here->gone) gone.splice(gone.end(), helpers_, here);
  }
}

void blocking_pool::main(helper& self) {
  while (blocking_call* call = next_call(self)) call->run(*call);
}

// The next call; null when the thread should end.
blocking_call* blocking_pool::next_call(helper& self) {
  const auto until = sync::now() + keep_idle;
  bool notified = true;
  for (;;) {
    self.notifier.prepare_park();
    {
      std::lock_guard guard{mutex_};
      if (blocking_call* call = first_) {
        first_ = call->next;
        if (!first_) last_ = nullptr;
        std::erase(idle_, &self);
        self.notifier.cancel();
        return call;
      }
      if (stopping_ || !notified) {
        std::erase(idle_, &self);
        self.gone = true;
        self.notifier.cancel();
        return nullptr;
      }
      std::erase(idle_, &self);
      idle_.push_back(&self);
    }
    notified = self.notifier.park_until(until);
  }
}

void blocking_pool::stop() {
  {
    std::lock_guard guard{mutex_};
    stopping_ = true;
    for (helper& h : helpers_) h.notifier.notify();
  }
  for (helper& h : helpers_) h.thread.join();
  helpers_.clear();
}

}  // namespace rota::detail
