// Why no wake-up is lost. A producer publishes, fences lightly and reads the state; the consumer
// writes `prepared`, fences heavily and looks. By the pair of fences one of them sees the other:
//   the producer reads `running`:    its fence came before ours, so our look finds the work;
//   it reads `prepared`, `parked`:   it moves the word to `notified`. From `prepared` the
//                                    consumer's step to `parked` fails and it does not sleep; from
//                                    `parked` the futex is woken, and the word has changed, so a
//                                    sleep that is just beginning ends too;
//   it reads `notified`:             someone else did that, and the consumer has not looked since:
//                                    before it sleeps it takes a new ticket, fences and looks.
// No epoch is needed: only the consumer leaves `notified`, and only on its way to another look.

#include <rota/park/event_notifier.h>

#include <rota/base/assert.h>

namespace rota {

void event_notifier::take_ticket() noexcept {
  ROTA_ASSERT(state_.load(sync::memory_order_relaxed) == running,
              "prepare_park() while the state is %u, expected running (0): park() or cancel() "
              "comes first",
              static_cast<unsigned>(state_.load(sync::memory_order_relaxed)));
  // relaxed: the heavy fence that follows orders it before the look.
  state_.store(prepared, sync::memory_order_relaxed);
}

bool event_notifier::cancel() noexcept {
  // acquire: pairs with the release in wake(); shows the work that notified us.
  return state_.exchange(running, sync::memory_order_acquire) == notified;
}

bool event_notifier::park_until(sync::time_point deadline) noexcept {
  std::uint32_t expected = prepared;
  // relaxed, here and below: cancel() acquires.
  if (state_.compare_exchange_strong(expected, parked, sync::memory_order_relaxed)) {
    // The kernel may wake us for no reason: only the word and the clock end the sleep.
    while (state_.load(sync::memory_order_relaxed) == parked) {
      sync::futex_wait(state_, parked, deadline);
      if (deadline != sync::time_point::max() && sync::now() >= deadline) break;
    }
  }
  return cancel();
}

void event_notifier::wake() noexcept {
  std::uint32_t seen = state_.load(sync::memory_order_relaxed);
  while (seen == prepared || seen == parked) {
    // release: publishes the caller's work to cancel(). Of several producers exactly one moves the
    // word on from `parked`, and makes the system call.
    if (state_.compare_exchange_weak(seen, notified, sync::memory_order_release,
                                     sync::memory_order_relaxed)) {
      if (seen == parked) sync::futex_wake(state_);
      return;
    }
  }
}

}  // namespace rota
