// specs/event_notifier: the protocol of rota::event_notifier, one word and a futex that compares.
//
// Every thread has a store buffer, which drains at any time, at the thread's next
// read-modify-write, or when the consumer's heavy fence reaches it.
#ifndef ROTA_VERIFY_MODELS_PARKING_H
#define ROTA_VERIFY_MODELS_PARKING_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class parking {
 public:
  static constexpr unsigned most_producers = 4;

  enum word_value : std::uint8_t { running, prepared, parked, notified };
  enum producer_place : std::uint8_t { idle, published, read, waking, futex };
  enum consumer_place : std::uint8_t {
    awake,
    dry,
    ticketed,
    fencing,
    looking,
    to_park,
    loading,
    waiting,
    asleep,
    returned,
    cancelling,
  };

  struct producer {
    std::uint8_t buffered = 0;  // messages in its store buffer
    std::uint8_t inbox = 0;     // its messages that are in memory and not read
    std::uint8_t left = 0;      // messages yet to publish
    producer_place at = idle;
    word_value seen = running;  // what it last read from the word

    unsigned unread() const { return buffered + inbox; }
    // Its call of notify() has returned.
    bool has_notified() const { return at == idle && unread() > 0; }
  };

  struct state {
    std::array<producer, most_producers> producers{};
    word_value word = running;
    std::uint8_t ticket = 0;    // the store of `prepared` is in the consumer's buffer
    std::uint8_t unfenced = 0;  // a bit for each producer that the fence has yet to reach
    consumer_place me = awake;
  };

  enum act {
    Drain,
    DrainTicket,
    Publish,
    ReadWord,
    Wake,
    FutexWake,
    Read,
    TakeTicket,
    HeavyFence,
    FenceReaches,
    Look,
    Park,
    LoadWord,
    FutexWait,
    AfterWait,
    Cancel,
    WakeForNoReason,
    Deadline,
  };

  enum class mistake {
    none,
    no_heavy_fence,
    no_light_fence,
    look_before_ticket,
    notify_before_publish,
    park_by_store,
    drop_all_wakes,
    sleep_without_compare,
  };

  int producers = 2;
  int messages = 2;
  bool timeouts = true;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Producers", producers, 1, int{most_producers}, "how many threads notify");
    c("Messages", messages, 1, 20, "messages of each of them");
    c("Timeouts", timeouts, "whether a park may end at a deadline");
    c("Mutant", mutant,
      {"none", "no_heavy_fence", "no_light_fence", "look_before_ticket", "notify_before_publish",
       "park_by_store", "drop_all_wakes", "sleep_without_compare"},
      "a mistake to plant");
  }

  std::vector<action> actions() const {
    const auto weak = fairness::weak;
    std::vector<action> all = {
        {"Drain", count(), "", weak},
        {"DrainTicket", 1, "", weak},
        {"Publish", count(), "Producer", weak},
        {"ReadWord", count(), "Producer", weak},
        {"Wake", count(), "Producer", weak},
        {"FutexWake", count(), "Producer", weak},
        {"Read", 1, "Consumer", weak},
        {"TakeTicket", 1, "Consumer", weak},
        {"HeavyFence", 1, "Consumer", weak},
        // A fence under way ends only by reaching everybody, so fairness for each producer is no
        // more than fairness for the consumer.
        {"FenceReaches", count(), "Consumer", weak},
        {"Look", 1, "Consumer", weak},
        {"Park", 1, "Consumer", weak},
        {"LoadWord", 1, "Consumer", weak},
        {"FutexWait", 1, "Consumer", weak},
        {"AfterWait", 1, "Consumer", weak},
        {"Cancel", 1, "Consumer", weak},
        {"WakeForNoReason", 1, "", fairness::none},
    };
    if (timeouts) all.push_back({"Deadline", 1, "", fairness::none});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    for (unsigned p = 0; p < count(); ++p)
      s.producers[p].left = static_cast<std::uint8_t>(messages);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned p = 0; p < count(); ++p) {
      step_of_producer(s, p, emit);
      if (s.producers[p].buffered > 0) {
        state n = s;
        --n.producers[p].buffered;
        ++n.producers[p].inbox;
        emit(Drain, p, n);
      }
    }
    if (s.ticket) {
      state n = s;
      n.ticket = 0;
      n.word = prepared;
      emit(DrainTicket, 0, n);
    }
    step_of_consumer(s, emit);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) {
      return s.unfenced <= everybody() && all_of(s, [&](const producer& r) {
               return r.buffered + r.inbox + r.left <= messages;
             });
    });
    p.invariant("NoLostWakeup", [this](const state& s) {
      return s.me != asleep || s.word != parked ||
             all_of(s, [](const producer& r) { return !r.has_notified(); });
    });
    p.invariant("WakerUnderWay", [this](const state& s) {
      return s.me != asleep || s.word == parked ||
             !all_of(s, [](const producer& r) { return r.at != futex; });
    });
    p.invariant("TicketWhileRunning",
                [](const state& s) { return (s.me != dry && !s.ticket) || s.word == running; });
    p.leads_to(
        "Delivered", count(),
        [](const state& s, unsigned i) { return s.producers[i].has_notified(); },
        [](const state& s, unsigned i) { return s.producers[i].unread() == 0; });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_producers> from;
    std::iota(from.begin(), from.end(), 0u);
    while (std::next_permutation(from.begin(), from.begin() + producers)) {
      state n = s;
      n.unfenced = 0;
      for (unsigned p = 0; p < count(); ++p) {
        n.producers[p] = s.producers[from[p]];
        if (s.unfenced & bit(from[p])) n.unfenced |= bit(p);
      }
      f(n);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array words = {"running", "prepared", "parked", "notified"};
    static constexpr std::array places = {"idle", "published", "read", "wake", "futex"};
    static constexpr std::array mine = {"awake", "dry",  "ticketed", "fencing",  "look",  "park",
                                        "load",  "wait", "asleep",   "returned", "cancel"};
    f("word", words[s.word]);
    f("ticket", s.ticket != 0);
    f("me", mine[s.me]);
    for (unsigned p = 0; p < count(); ++p) {
      const producer& r = s.producers[p];
      const std::string of = "[" + parameter(0, p) + "]";
      f("at" + of, places[r.at]);
      f("seen" + of, words[r.seen]);
      f("left" + of, unsigned{r.left});
      f("buffered" + of, unsigned{r.buffered});
      f("inbox" + of, unsigned{r.inbox});
      f("unfenced" + of, (s.unfenced & bit(p)) != 0);
    }
  }

  std::string parameter(unsigned, unsigned p) const { return "p" + std::to_string(p + 1); }

 private:
  unsigned count() const { return static_cast<unsigned>(producers); }
  static std::uint8_t bit(unsigned p) { return static_cast<std::uint8_t>(1u << p); }
  std::uint8_t everybody() const { return static_cast<std::uint8_t>((1u << count()) - 1); }
  static bool about_to_sleep(word_value w) { return w == prepared || w == parked; }
  bool has(mistake m) const { return mutant == m; }

  template <class Is>
  bool all_of(const state& s, Is is) const {
    return std::all_of(s.producers.begin(), s.producers.begin() + producers, is);
  }

  // A round begins with the publication; in two mutants with the load.
  bool loads_first() const {
    return has(mistake::no_light_fence) || has(mistake::notify_before_publish);
  }
  // Where a producer goes when it has nothing more to wake.
  producer_place after_wake() const { return has(mistake::notify_before_publish) ? read : idle; }

  template <class Emit>
  void step_of_producer(const state& s, unsigned p, Emit& emit) const {
    state n = s;
    producer& r = n.producers[p];
    const auto publish = [&](producer_place then) {
      ++r.buffered;
      --r.left;
      r.at = then;
      emit(Publish, p, n);
    };
    const auto load = [&](producer_place then) {
      r.seen = s.word;
      r.at = then;
      emit(ReadWord, p, n);
    };
    switch (r.at) {
      case idle:
        if (r.left == 0) break;
        if (!loads_first())
          publish(published);
        else
          load(has(mistake::notify_before_publish) && about_to_sleep(s.word) ? waking : read);
        break;
      case published:
        load(about_to_sleep(s.word) ? waking : idle);
        break;
      case read:
        if (r.left == 0) break;
        publish(has(mistake::no_light_fence) && about_to_sleep(r.seen) ? waking : idle);
        break;
      case waking:
        if (r.buffered > 0) break;
        wake(n, r);
        emit(Wake, p, n);
        break;
      case futex:
        r.at = after_wake();
        if (s.me == asleep) n.me = returned;
        emit(FutexWake, p, n);
        break;
    }
  }

  // One round of the compare-exchange loop.
  void wake(state& s, producer& r) const {
    if (s.word == r.seen) {
      const bool sleeps = s.word == parked;
      s.word = notified;
      r.at = sleeps && !has(mistake::drop_all_wakes) ? futex : after_wake();
    } else {
      r.seen = s.word;
      r.at = about_to_sleep(s.word) ? waking : after_wake();
    }
  }

  template <class Emit>
  void step_of_consumer(const state& s, Emit& emit) const {
    const consumer_place after_fence = has(mistake::look_before_ticket) ? to_park : looking;
    state n = s;
    const auto go = [&](act a, consumer_place to) {
      n.me = to;
      emit(a, 0, n);
    };
    switch (s.me) {
      case awake:
        for (producer& r : n.producers) r.inbox = 0;
        go(Read, dry);
        break;
      case dry:
        n.ticket = 1;
        go(TakeTicket, ticketed);
        break;
      case ticketed:
        if (has(mistake::no_heavy_fence)) {
          go(HeavyFence, after_fence);
        } else if (!s.ticket) {
          n.unfenced = everybody();
          go(HeavyFence, fencing);
        }
        break;
      case fencing:
        for (unsigned p = 0; p < count(); ++p)
          if (s.unfenced & bit(p)) emit(FenceReaches, p, reached(s, p, after_fence));
        break;
      case looking:
        go(Look, all_of(s, [](const producer& r) { return r.inbox == 0; }) ? to_park : cancelling);
        break;
      case to_park:
        if (s.ticket) break;
        if (s.word != prepared && !has(mistake::park_by_store)) {
          go(Park, cancelling);
        } else {
          n.word = parked;
          go(Park, loading);
        }
        break;
      case loading:
        go(LoadWord, s.word == parked ? waiting : cancelling);
        break;
      case waiting:
        go(FutexWait, s.word == parked || has(mistake::sleep_without_compare) ? asleep : returned);
        break;
      case asleep:
        go(WakeForNoReason, returned);
        break;
      case returned:
        go(AfterWait, loading);
        if (timeouts) go(Deadline, cancelling);
        break;
      case cancelling:
        if (s.ticket) break;
        n.word = running;
        go(Cancel, awake);
        break;
    }
  }

  // The fence drains the buffer of one more thread.
  static state reached(const state& s, unsigned p, consumer_place after_fence) {
    state n = s;
    producer& r = n.producers[p];
    r.inbox = static_cast<std::uint8_t>(r.inbox + r.buffered);
    r.buffered = 0;
    n.unfenced = static_cast<std::uint8_t>(s.unfenced & ~bit(p));
    if (n.unfenced == 0) n.me = after_fence;
    return n;
  }
};

}  // namespace rota::verify

#endif
