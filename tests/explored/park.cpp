// event_notifier. A lost wake-up shows as a consumer that sleeps for ever; what a wake-up failed to
// publish, as a data race.

#include <rota/park/event_notifier.h>
#include <rota/queue/inbox.h>

#include <array>
#include <chrono>

#include "explored/scenarios.h"

namespace {

using namespace std::chrono_literals;
using namespace rota::scenarios;
using rota::event_notifier;
using rota::detail::inbox;
using rota::detail::job;

// As in specs/event_notifier: each producer raises its flag and notifies; the consumer looks, takes
// a ticket, looks again and sleeps.
template <unsigned Producers>
void flags() {
  std::array<explore::atomic<int>, Producers> flag{};
  std::array<explore::cell<int>, Producers> data{};
  event_notifier notifier;
  together producers;
  for (unsigned p = 0; p < Producers; ++p)
    producers.run([&, p] {
      data[p].set(1);
      flag[p].store(1, std::memory_order_release);
      notifier.notify();
    });
  unsigned left = Producers;
  std::array<bool, Producers> seen{};
  const auto look = [&] {
    bool found = false;
    for (unsigned p = 0; p < Producers; ++p) {
      if (seen[p] || flag[p].load(std::memory_order_acquire) == 0) continue;
      explore::check(data[p].get() == 1, "what was published is there");
      seen[p] = found = true;
      --left;
    }
    return found;
  };
  while (left > 0) {
    notifier.prepare_park();
    if (look())
      notifier.cancel();
    else
      notifier.park();
  }
}

// The shortest way to publish: a count that each producer raises. Small enough to run through all
// schedules of three producers within minutes.
template <unsigned Producers, unsigned Messages>
void counted() {
  explore::atomic<unsigned> posted{0};
  event_notifier notifier;
  together producers;
  for (unsigned p = 0; p < Producers; ++p)
    producers.run([&] {
      for (unsigned m = 0; m < Messages; ++m) {
        posted.fetch_add(1, std::memory_order_relaxed);
        notifier.notify();
      }
    });
  for (unsigned seen = 0; seen < Producers * Messages;) {
    notifier.prepare_park();
    const unsigned now = posted.load(std::memory_order_relaxed);
    if (now == seen)
      notifier.park();
    else
      notifier.cancel();
    seen = now;
  }
}

// The producer knows that the consumer has its ticket, and what it publishes is shown by the
// wake-up alone.
template <bool Cancels>
void handover() {
  explore::atomic<int> ready{0};
  explore::cell<int> data{0};
  event_notifier notifier;
  together producers;
  producers.run([&] {
    if (ready.load(std::memory_order_acquire) == 0) return;
    data.set(1);
    notifier.notify();
  });
  const auto deadline = explore::now() + 1ms;
  notifier.prepare_park([&] { ready.store(1, std::memory_order_release); });
  const bool notified = Cancels ? notifier.cancel() : notifier.park_until(deadline);
  if (notified) explore::check(data.get() == 1, "who was notified sees why");
}

// Two producers wake the same sleeper: the second finds it notified and leaves it at that, and yet
// what it put is seen.
template <unsigned Producers, unsigned Messages>
void mail() {
  struct message : job {
    explore::cell<int> payload{0};
  };
  std::array<message, Producers * Messages> all_messages;
  inbox box;
  event_notifier notifier;
  together producers;
  for (unsigned p = 0; p < Producers; ++p)
    producers.run([&, p] {
      for (unsigned m = 0; m < Messages; ++m) {
        message& mine = all_messages[p * Messages + m];
        mine.payload.set(1);
        box.put(&mine);
        notifier.notify();
      }
    });
  for (unsigned left = Producers * Messages; left > 0;) {
    job* j = box.take_all();
    if (!j) {
      notifier.prepare_park();
      if (box.empty())
        notifier.park();
      else
        notifier.cancel();
      continue;
    }
    for (; j; j = j->link) {
      explore::check(static_cast<message*>(j)->payload.get() == 1, "the message is there");
      --left;
    }
  }
}

// A deadline comes, or a notification, or both at once.
void deadline() {
  explore::atomic<int> flag{0};
  event_notifier notifier;
  together producers;
  producers.run([&] {
    flag.store(1, std::memory_order_relaxed);
    notifier.notify();
  });
  const auto began = explore::now();
  for (auto until = began + 1ms;; until += 1ms) {
    notifier.prepare_park();
    if (flag.load(std::memory_order_relaxed)) {
      notifier.cancel();
      return;
    }
    if (!notifier.park_until(until))
      explore::check(explore::now() >= until, "without a notification it sleeps to the deadline");
    else
      explore::check(flag.load(std::memory_order_relaxed) == 1, "a notification has a reason");
    explore::check(until < began + 4ms, "a deadline does not replace a notification for ever");
  }
}

explore::options with_spurious(explore::options o) {
  o.spurious = 1;
  return o;
}

const add park{{
    {"park.flag_1", "one producer raises a flag", flags<1>, all()},
    {"park.flag_2", "two producers raise their flags", flags<2>, merged(all())},
    {"park.flag_3", "three producers raise their flags", flags<3>, bounded(3, 2)},
    {"park.counted_2", "two producers count", counted<2, 1>, merged(all())},
    {"park.counted_1_3", "one producer counts to three", counted<1, 3>, merged(all())},
    {"park.counted_3", "three producers count", counted<3, 1>, merged(all(2))},
    {"park.counted_2_2", "two producers count twice", counted<2, 2>, merged(all(2))},
    {"park.handover", "a wake-up publishes what came before it", handover<false>, all()},
    {"park.handover_to_cancel", "... also if the ticket is given back", handover<true>, all()},
    {"park.mail_1", "one producer, one message", mail<1, 1>, all()},
    {"park.mail_1_2", "one producer, two messages", mail<1, 2>, all()},
    {"park.mail_2", "two producers", mail<2, 1>, merged(all())},
    {"park.mail_2_2", "two producers, two messages each", mail<2, 2>, bounded(2, 2)},
    {"park.mail_3", "three producers", mail<3, 1>, bounded(2, 2)},
    {"park.deadline", "a deadline against a notification", deadline, all()},
    {"park.deadline_spurious", "... with a futex that wakes for no reason", deadline,
     with_spurious(all())},
    {"park.flag_spurious", "one producer; the futex wakes for no reason", flags<1>,
     with_spurious(all())},
}};

}  // namespace
