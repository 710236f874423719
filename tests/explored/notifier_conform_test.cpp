// rota::event_notifier is its model: after every step of every schedule the notifier's word, and
// where the consumer and the producers stand, are mapped to a state of `parking`
// (specs/event_notifier), which has to have a step there. A broken promise shows as a mismatch,
// with both sides and the schedule.
//
// The mapping; what a thread stands before is its place:
//   word              state_
//   inbox             the messages that the consumer has not taken, in one atomic
//   left              counted by the producers
//   at, me            what is next: `published` before the fence and the first load of notify(),
//                     `wake` before the load and the compare-exchange of wake(); `returned` from
//                     the end of the futex on to the look at the clock, if there is a deadline
//   seen              a ghost: what the producer last read of the word
// Hidden: the store buffers, which are always drained under interleavings (Drain, DrainTicket,
// FenceReaches); AfterWait, which without a deadline is no step of the code; and WakeForNoReason,
// by which a futex that is given a deadline of the past does not sleep at all.

#include <rota/park/event_notifier.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "support/follow.h"
#include "support/inspect.h"
#include "verify/models/parking.h"

namespace rota::explore::test {
namespace {

using verify::parking;

constexpr unsigned most_producers = 3;
constexpr unsigned consumer = 0;  // producers are threads 1, 2 ...

struct size {
  unsigned producers = 1;
  unsigned messages = 1;
  bool deadlines = false;
  unsigned spurious = 0;     // wake-ups and failures of a compare-exchange
  unsigned preemptions = 0;  // at most so many; 0: every schedule
};

class program : public followed {
 public:
  explicit program(const size& s) : size_(s) {
    left_.fill(s.messages);
    if (s.deadlines) naps_ = 2;
  }

  void run() {
    std::array<thread, most_producers> producers;
    for (unsigned p = 0; p < size_.producers; ++p) producers[p] = thread([this, p] { produce(p); });
    consume();
    for (unsigned p = 0; p < size_.producers; ++p) producers[p].join();
  }

  // A thread took the step that it stood before.
  void took(unsigned t, const stand& before) {
    const bool of_word = before.object == word();
    if (t == consumer) {
      if (before.what == standing::fence) has_tried_ = false;
      if (of_word && before.what == standing::update) has_tried_ = true;
    } else if (of_word && (before.what == standing::load || before.what == standing::update)) {
      seen_[t - 1] = last_word_;
      has_read_[t - 1] = true;
    } else if (before.at(standing::update, &mail_)) {
      has_read_[t - 1] = false;
    }
    last_word_ = static_cast<parking::word_value>(rota::detail::inspect::word(notifier_).peek());
  }

  parking::state mapped() const {
    parking::state s;
    s.word = last_word_;
    s.me = place_of_consumer();
    for (unsigned p = 0; p < size_.producers; ++p) {
      parking::producer& r = s.producers[p];
      r.inbox = static_cast<std::uint8_t>(mail_.peek() >> (bits * p) & mask);
      r.left = static_cast<std::uint8_t>(left_[p]);
      r.at = place_of_producer(p);
      r.seen = seen_[p];
    }
    return s;
  }

  std::string name_of(unsigned t) const {
    return t == consumer ? "the consumer" : "producer " + std::to_string(t);
  }

 private:
  static constexpr unsigned bits = 4;  // of the mail, for the messages of one producer
  static constexpr std::uint32_t mask = (1u << bits) - 1;

  void produce(unsigned p) {
    while (left_[p] > 0) {
      mail_.fetch_add(1u << (bits * p));
      --left_[p];
      notifier_.notify();
    }
  }

  void consume() {
    for (unsigned all = 0;;) {
      for (std::uint32_t got = mail_.exchange(0); got; got >>= bits) all += got & mask;
      if (all == size_.producers * size_.messages) return;
      parks_ = false;
      notifier_.prepare_park();
      if (mail_.load() != 0) {
        notifier_.cancel();
        continue;
      }
      parks_ = true;
      // The same deadline twice: the second park may begin when it is over.
      if (naps_ > 0 && naps_--)
        notifier_.park_until(time_point{} + std::chrono::seconds(1));
      else
        notifier_.park();
    }
  }

  const void* word() const { return &rota::detail::inspect::word(notifier_); }

  parking::consumer_place place_of_consumer() const {
    const stand& me = stood[consumer];
    switch (me.what) {
      case standing::update:
        if (me.object == &mail_) return parking::awake;
        return parks_ && !has_tried_ ? parking::to_park : parking::cancelling;
      case standing::load:
        if (me.object == &mail_) return parking::looking;
        return parks_ ? parking::loading : parking::dry;
      case standing::store:
        return parking::dry;
      case standing::fence:
        return parking::ticketed;
      case standing::wait:
        return parking::waiting;
      case standing::asleep:
        return parking::asleep;
      case standing::woken:
      case standing::clock:
        return parking::returned;
      case standing::join:
      case standing::finished:
        return parking::dry;  // It has read everything that comes.
      default:
        return parking::awake;
    }
  }

  parking::producer_place place_of_producer(unsigned p) const {
    const stand& me = stood[1 + p];
    if (me.what == standing::fence) return parking::published;
    if (me.at(standing::load, word())) return has_read_[p] ? parking::waking : parking::published;
    if (me.at(standing::update, word())) return parking::waking;
    return me.what == standing::wake ? parking::futex : parking::idle;
  }

  const size size_;
  event_notifier notifier_;
  atomic<std::uint32_t> mail_{0};
  unsigned naps_ = 0;  // parks with a deadline that are left

  // Ghosts.
  std::array<unsigned, most_producers> left_{};
  std::array<parking::word_value, most_producers> seen_{};
  std::array<bool, most_producers> has_read_{};  // the word, since it published
  bool parks_ = false;                           // the consumer does, after its last ticket
  bool has_tried_ = false;                       // to park, by the compare-exchange
  parking::word_value last_word_ = parking::running;
};

// Explores it; the actions of the model that were never taken.
std::string conforms(const size& s) {
  parking model;
  model.producers = static_cast<int>(s.producers);
  model.messages = static_cast<int>(s.messages);
  model.timeouts = s.deadlines;
  verify::refinement<parking> follow{
      model,
      {.hidden = {parking::Drain, parking::DrainTicket, parking::FenceReaches, parking::AfterWait,
                  parking::WakeForNoReason}}};
  const result r = explore::run(
      [&] {
        program p{s};
        const following each_step{follow, p};
        p.run();
      },
      s.preemptions ? few_preemptions(s.preemptions) : every_step(s.spurious));
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.exhaustive, s.preemptions == 0) << r.text();
  print(std::to_string(s.producers) + " x " + std::to_string(s.messages) +
            (s.deadlines ? ", deadlines" : "") + (s.spurious ? ", spurious" : "") +
            (s.preemptions ? ", few preemptions" : ""),
        r, follow.counts());
  return follow.never_taken();
}

TEST(NotifierConform, OneProducer) {
  conforms({.producers = 1, .messages = 1});
  conforms({.producers = 1, .messages = 2, .spurious = 2});
}

TEST(NotifierConform, OneProducerAndDeadlines) {
  conforms({.producers = 1, .messages = 1, .deadlines = true});
  conforms({.producers = 1, .messages = 2, .deadlines = true, .spurious = 1});
}

TEST(NotifierConform, TwoProducers) {
  conforms({.producers = 2, .messages = 1, .spurious = 1});
  conforms({.producers = 2, .messages = 1, .deadlines = true});
}

// Too many schedules to run them all.
TEST(NotifierConform, MoreWithFewPreemptions) {
  conforms({.producers = 2, .messages = 2, .preemptions = 3});
  conforms({.producers = 3, .messages = 1, .preemptions = 3});
  conforms({.producers = 3, .messages = 1, .deadlines = true, .preemptions = 2});
}

TEST(NotifierConform, TakesEveryStepOfTheModel) {
  const size all = {.producers = 1, .messages = 2, .deadlines = true, .spurious = 1};
  EXPECT_EQ(conforms(all), "");
}

}  // namespace
}  // namespace rota::explore::test
