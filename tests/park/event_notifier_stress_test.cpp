// Watches `no_lost_wakeup` on real threads: a message that was posted and notified is read. The
// consumer sleeps without a limit, so a lost wake-up is a hang, which the watchdog turns into a
// failure that tells who waits.
//
// Whether this way of looking can see a lost wake-up at all is shown by mutants: copies of the
// protocol with one defect each. There the consumer sleeps with a deadline, and a wake-up was lost
// if it slept on for milliseconds after a notify had returned.

#include <rota/base/job.h>
#include <rota/base/rng.h>
#include <rota/park/event_notifier.h>
#include <rota/queue/inbox.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::event_notifier;
using rota::detail::inbox;
using rota::detail::job;
using rota::detail::rng;
using rota::test::spin;
using rota::test::spin_until;
namespace sync = rota::sync;

// Mostly nothing, sometimes a little, rarely long enough for the other side to do anything.
void hesitate(rng& random) {
  const std::uint64_t chance = random.below(64);
  if (chance < 40) return;
  if (chance < 62) return spin(random.below(20));
  if (chance < 63) return spin(random.below(1000));
  std::this_thread::yield();
}

// --- the real notifier: messages in an inbox, one to three producers
// ------------------------------

struct message : job {
  unsigned producer = 0;
  std::uint64_t number = 0;
  // The consumer gives a message back when it has read it.
  std::atomic<bool> in_use{false};
};

class handover {
 public:
  handover(unsigned producers, std::uint64_t each) : each_(each), posts_(producers) {
    for (auto& p : posts_) p = std::make_unique<post_box>();
  }

  void run() {
    rota::test::watchdog dog{"a message was posted and notified, and is not read",
                             [this] { return read_.load(); }, [this] { report(); }};
    rota::test::run_together(static_cast<unsigned>(posts_.size()) + 1, [this](unsigned index) {
      if (index == 0)
        consume();
      else
        produce(index - 1);
    });
  }

  std::uint64_t read() const { return read_.load(); }
  std::uint64_t out_of_order() const { return out_of_order_; }
  std::uint64_t sleeps() const { return sleeps_.load(); }

 private:
  struct alignas(128) post_box {
    std::array<message, 8> messages;
    std::atomic<std::uint64_t> posted{0};
    std::atomic<std::uint64_t> notified{0};
    std::atomic<std::uint64_t> read{0};
  };

  void produce(unsigned index) {
    post_box& box = *posts_[index];
    rng random{rota::test::seed() * 1000 + index};
    for (std::uint64_t i = 1; i <= each_; ++i) {
      message& m = box.messages[i % box.messages.size()];
      spin_until([&] { return !m.in_use.load(std::memory_order_acquire); });
      m.in_use.store(true, std::memory_order_relaxed);
      m.producer = index;
      m.number = i;
      inbox_.put(&m);
      box.posted.store(i, std::memory_order_relaxed);
      hesitate(random);
      notifier_.notify();
      box.notified.store(i, std::memory_order_relaxed);
      // Half of the messages wait until the consumer has nothing left, and then hit it somewhere
      // on its way to sleep.
      if (random.below(2) == 0) {
        spin_until([&] { return box.read.load(std::memory_order_acquire) >= i; });
        spin(random.below(60));
      }
    }
  }

  void consume() {
    rng random{rota::test::seed() * 1000 + 999};
    const std::uint64_t total = each_ * posts_.size();
    while (read_.load(std::memory_order_relaxed) < total) {
      if (take()) continue;
      hesitate(random);
      notifier_.prepare_park([&] { hesitate(random); });
      if (!inbox_.empty()) {
        notifier_.cancel();
        continue;
      }
      hesitate(random);
      asleep_.store(true, std::memory_order_relaxed);
      notifier_.park();
      asleep_.store(false, std::memory_order_relaxed);
      sleeps_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  bool take() {
    job* j = inbox_.take_all();
    if (!j) return false;
    while (j) {
      auto* m = static_cast<message*>(j);
      j = j->link;
      post_box& box = *posts_[m->producer];
      if (m->number != box.read.load(std::memory_order_relaxed) + 1) ++out_of_order_;
      const std::uint64_t number = m->number;
      m->in_use.store(false, std::memory_order_release);
      box.read.store(number, std::memory_order_release);
      read_.fetch_add(1, std::memory_order_relaxed);
    }
    return true;
  }

  void report() const {
    std::fprintf(
        stderr, "consumer: %s, notifier %s, inbox %s, %llu read, %llu sleeps\n",
        asleep_.load() ? "in park()" : "awake", notifier_.is_parked() ? "parked" : "not parked",
        inbox_.empty() ? "empty" : "not empty", static_cast<unsigned long long>(read_.load()),
        static_cast<unsigned long long>(sleeps_.load()));
    for (std::size_t i = 0; i < posts_.size(); ++i)
      std::fprintf(stderr, "producer %zu: posted %llu, notified %llu, read %llu of %llu\n", i,
                   static_cast<unsigned long long>(posts_[i]->posted.load()),
                   static_cast<unsigned long long>(posts_[i]->notified.load()),
                   static_cast<unsigned long long>(posts_[i]->read.load()),
                   static_cast<unsigned long long>(each_));
  }

  const std::uint64_t each_;
  std::vector<std::unique_ptr<post_box>> posts_;
  inbox inbox_;
  event_notifier notifier_;
  std::atomic<std::uint64_t> read_{0};
  std::uint64_t out_of_order_ = 0;
  std::atomic<std::uint64_t> sleeps_{0};
  std::atomic<bool> asleep_{false};
};

void every_message_is_read(unsigned producers, std::uint64_t total) {
  handover h{producers, total / producers};
  h.run();
  EXPECT_EQ(h.read(), total / producers * producers);
  EXPECT_EQ(h.out_of_order(), 0u);
  std::printf("%llu messages of %u producers, %llu sleeps\n",
              static_cast<unsigned long long>(h.read()), producers,
              static_cast<unsigned long long>(h.sleeps()));
}

TEST(event_notifier_stress, posted_and_notified_leads_to_read_with_one_producer) {
  every_message_is_read(1, rota::test::rounds(400'000, 40'000'000));
}

TEST(event_notifier_stress, posted_and_notified_leads_to_read_with_two_producers) {
  every_message_is_read(2, rota::test::rounds(300'000, 30'000'000));
}

TEST(event_notifier_stress, posted_and_notified_leads_to_read_with_three_producers) {
  every_message_is_read(3, rota::test::rounds(300'000, 30'000'000));
}

// --- mutants
// --------------------------------------------------------------------------------------

enum class defect {
  none,
  no_fence,              // ticket and look, post and glance are not ordered: a store buffer
  look_before_ticket,    // the look at the mailbox comes before the ticket
  drop_all_wakes,        // notify() changes the word and leaves the sleeper asleep
  park_overwrites,       // park() does not see a notify() since the ticket
  glance_misses_ticket,  // notify() acts only on a consumer that already sleeps
};

// The protocol of event_notifier once more, with one defect.
template <defect Defect>
class mutant_notifier {
 public:
  mutant_notifier() { sync::prepare_fences(); }

  void prepare_park() {
    state_.store(prepared, sync::memory_order_relaxed);
    if constexpr (Defect == defect::no_fence)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      sync::heavy_fence();
  }

  bool cancel() { return state_.exchange(running, sync::memory_order_acquire) == notified; }

  bool park_until(sync::time_point deadline) {
    std::uint32_t expected = prepared;
    if constexpr (Defect == defect::park_overwrites) {
      state_.store(parked, sync::memory_order_relaxed);
      expected = prepared;
    } else if (!state_.compare_exchange_strong(expected, parked, sync::memory_order_relaxed,
                                               sync::memory_order_acquire)) {
      return cancel();
    }
    while (state_.load(sync::memory_order_acquire) == parked) {
      sync::futex_wait(state_, parked, deadline);
      if (sync::now() >= deadline) return cancel() && Defect != defect::drop_all_wakes;
    }
    return cancel();
  }

  void notify() {
    sync::light_fence();
    std::uint32_t seen = state_.load(sync::memory_order_relaxed);
    while ((seen == prepared && Defect != defect::glance_misses_ticket) || seen == parked) {
      if (state_.compare_exchange_weak(seen, notified, sync::memory_order_acq_rel,
                                       sync::memory_order_relaxed)) {
        if (seen == parked && Defect != defect::drop_all_wakes) sync::futex_wake(state_);
        return;
      }
    }
  }

 private:
  enum state : std::uint32_t { running, prepared, parked, notified };
  alignas(128) sync::atomic<std::uint32_t> state_{running};
};

// One producer and one consumer hand over one number after the other. The mailbox is a plain store
// and a plain load, so that nothing but the notifier's fences orders them.
template <class Notifier>
class duel {
 public:
  duel(std::uint64_t rounds, std::chrono::nanoseconds limit, bool looks_first)
      : rounds_(rounds), until_(sync::now() + limit), looks_first_(looks_first) {}

  // How many wake-ups were lost; stops at the first.
  std::uint64_t run() {
    rota::test::watchdog dog{"a duel of mutants does not end",
                             [this] { return read_.value.load(); }, [] {}};
    rota::test::run_together(2, [this](unsigned index) { index == 0 ? consume() : produce(); });
    return lost_;
  }

  std::uint64_t handovers() const { return read_.value.load(); }

 private:
  struct alignas(128) number {
    std::atomic<std::uint64_t> value{0};
  };

  // Fills the store buffer with lines that the other thread has just written, so that the store
  // that follows takes its time to come out.
  void clog(rng& random) {
    const std::uint64_t lines = random.below(clogs_.size());
    for (std::uint64_t i = 0; i < lines; ++i)
      clogs_[i].value.store(lines, std::memory_order_relaxed);
  }

  bool is_over() const { return over_.value.load(std::memory_order_relaxed) != 0; }

  void produce() {
    rng random{rota::test::seed() * 77 + 1};
    for (std::uint64_t i = 1; i <= rounds_ && !is_over(); ++i) {
      spin(random.below(random.below(4) == 0 ? 40 : 6));
      clog(random);
      posted_.value.store(i, std::memory_order_release);
      notifier_.notify();
      told_at_.store(sync::now().time_since_epoch().count(), std::memory_order_relaxed);
      told_.value.store(i, std::memory_order_release);
      spin_until([&] { return read_.value.load(std::memory_order_acquire) >= i || is_over(); });
      if (sync::now() > until_) over_.value.store(1);
    }
    over_.value.store(1);
    notifier_.notify();
  }

  bool has_mail() const {
    return posted_.value.load(std::memory_order_relaxed) >
           read_.value.load(std::memory_order_relaxed);
  }

  void consume() {
    rng random{rota::test::seed() * 77 + 2};
    while (!is_over()) {
      if (has_mail()) {
        const std::uint64_t i = posted_.value.load(std::memory_order_acquire);
        read_.value.store(i, std::memory_order_release);
        continue;
      }
      bool mail = false;
      if (looks_first_) {
        mail = has_mail();
        hesitate(random);
      }
      clog(random);
      notifier_.prepare_park();
      if (!looks_first_) mail = has_mail();
      if (mail || is_over()) {
        notifier_.cancel();
        continue;
      }
      hesitate(random);
      sleep();
    }
  }

  // Whoever notifies long before the deadline finds us with a ticket or before our look. So if the
  // sleep lasted until the deadline and the notify had returned well before, it was lost.
  void sleep() {
    const auto deadline = sync::now() + 40ms;
    const bool notified = notifier_.park_until(deadline);
    const auto now = sync::now();
    if (notified || now < deadline) return;
    const std::uint64_t told = told_.value.load(std::memory_order_acquire);
    const sync::time_point told_at{sync::clock::duration{told_at_.load(std::memory_order_relaxed)}};
    if (told > read_.value.load(std::memory_order_relaxed) && told_at < deadline - 10ms) {
      ++lost_;
      over_.value.store(1);
    }
  }

  const std::uint64_t rounds_;
  const sync::time_point until_;
  const bool looks_first_;
  Notifier notifier_;
  number posted_, read_, told_, over_;
  std::atomic<std::int64_t> told_at_{0};
  std::array<number, 12> clogs_;
  std::uint64_t lost_ = 0;  // the consumer's until it is joined
};

template <class Notifier>
std::uint64_t lost_in(const char* name, std::uint64_t rounds, std::chrono::nanoseconds limit,
                      bool looks_first = false) {
  duel<Notifier> d{rounds, limit, looks_first};
  const std::uint64_t lost = d.run();
  std::printf("%s: %s %llu handovers\n", name, lost ? "lost a wake-up after" : "none lost in",
              static_cast<unsigned long long>(d.handovers()));
  return lost;
}

// What a mutant gets to show its defect; a long run gives it more.
constexpr std::uint64_t unlimited = ~std::uint64_t{0};
std::chrono::seconds patience() { return rota::test::long_tests() ? 600s : 6s; }

TEST(event_notifier_stress, the_duel_finds_nothing_wrong_with_the_notifier) {
  const std::uint64_t rounds = rota::test::rounds(100'000, 10'000'000);
  EXPECT_EQ(lost_in<event_notifier>("event_notifier", rounds, 1h), 0u);
  EXPECT_EQ(lost_in<mutant_notifier<defect::none>>("the copy without defect", rounds, 1h), 0u);
}

TEST(event_notifier_stress, the_duel_finds_a_look_before_the_ticket) {
  EXPECT_GT(
      lost_in<mutant_notifier<defect::none>>("look before ticket", unlimited, patience(), true),
      0u);
}

TEST(event_notifier_stress, the_duel_finds_dropped_wakes) {
  EXPECT_GT(
      lost_in<mutant_notifier<defect::drop_all_wakes>>("drop all wakes", unlimited, patience()),
      0u);
}

TEST(event_notifier_stress, the_duel_finds_a_park_that_overwrites_a_notify) {
  EXPECT_GT(
      lost_in<mutant_notifier<defect::park_overwrites>>("park overwrites", unlimited, patience()),
      0u);
}

TEST(event_notifier_stress, the_duel_finds_a_notify_that_overlooks_the_ticket) {
  EXPECT_GT(lost_in<mutant_notifier<defect::glance_misses_ticket>>("glance misses ticket",
                                                                   unlimited, patience()),
            0u);
}

// Needs the two threads on two processors within some ten nanoseconds, which a busy machine may not
// give them, and a sanitizer puts fences of its own between. So a short run only reports, and soon.
TEST(event_notifier_stress, the_duel_finds_missing_fences) {
  const std::chrono::seconds limit = rota::test::long_tests() ? patience() : 1s;
  const std::uint64_t lost =
      lost_in<mutant_notifier<defect::no_fence>>("no fence", unlimited, limit);
  if (rota::test::long_tests() && !rota::test::sanitized) {
    EXPECT_GT(lost, 0u);
  }
}

}  // namespace
