// Lets one consumer sleep until a producer has something for it.
//
// Sleeping takes two steps, so that the consumer can speak in between:
//
//   notifier.prepare_park([&] { pool.set_idle(me); });  // 1. take a ticket, tell the others
//   if (inbox.empty())                                  //    look once more
//     notifier.park();                                  // 2. sleep, unless notified since 1
//   else
//     notifier.cancel();                                // or stay awake
//
// Guarantee (`no_lost_wakeup`): who publishes work and then calls notify() either finds the
// consumer awake, and the look after the next ticket sees the work, or ends its sleep.
//
// Threads: prepare_park, cancel, park and park_until are the consumer's; notify is anyone's.
// Lifetime: outlives every notify() under way.
// Cost: notifying a consumer that is awake is one load. The price is paid by prepare_park(): a
// fence in all threads, some microseconds, before a sleep that costs more.
// Spec: specs/event_notifier.
#ifndef ROTA_PARK_EVENT_NOTIFIER_H
#define ROTA_PARK_EVENT_NOTIFIER_H

#include <rota/base/inspect.h>
#include <rota/base/sync.h>

#include <cstdint>

namespace rota {

class event_notifier {
 public:
  event_notifier() noexcept { sync::prepare_fences(); }
  event_notifier(const event_notifier&) = delete;
  event_notifier& operator=(const event_notifier&) = delete;

  // Takes a ticket, then runs `announce`, which may tell others that we are about to sleep. What
  // was published before a notify() that found us awake is visible when this returns.
  template <class Announce>
  void prepare_park(Announce&& announce) noexcept {
    take_ticket();
    announce();
    sync::heavy_fence();
  }
  void prepare_park() noexcept {
    prepare_park([] {});
  }

  // Gives the ticket back instead of sleeping. True if a notify() came in between: it was meant
  // to start somebody, so a caller who found work elsewhere passes it on.
  bool cancel() noexcept;

  // Returns once notify() was called after the ticket was taken.
  void park() noexcept { park_until(sync::time_point::max()); }

  // As park(), but returns at the deadline too. True if it was notified.
  bool park_until(sync::time_point deadline) noexcept;

  // Wakes the consumer, or keeps it from falling asleep. Publish the work first.
  void notify() noexcept {
    // Pairs with the heavy fence in prepare_park(): either we see the ticket or the consumer's
    // look sees what we published.
    sync::light_fence();
    // relaxed: the exchange in wake() publishes; a consumer that is awake looks by itself.
    const std::uint32_t seen = state_.load(sync::memory_order_relaxed);
    if (seen == prepared || seen == parked) [[unlikely]]
      wake();
  }

  // Whether the consumer sleeps or is about to. A hint: it may change at once.
  bool is_parked() const noexcept { return state_.load(sync::memory_order_relaxed) == parked; }

 private:
  friend struct detail::inspect;

  // Where the consumer is, in one word that is also the futex:
  //
  //   running --take_ticket--> prepared --park--> parked
  //      ^                        |                 |
  //      +--cancel, park ends-- notified <--notify--+   (notify moves prepared and parked there)
  //
  // Mirrors `word` in specs/event_notifier.
  enum state : std::uint32_t { running, prepared, parked, notified };

  void take_ticket() noexcept;
  void wake() noexcept;

  // Alone on its cache line: producers read it at every notify().
  alignas(64) sync::atomic<std::uint32_t> state_{running};
};

}  // namespace rota

#endif
