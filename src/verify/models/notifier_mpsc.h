// The notifier of seed 003 with what its text claims and its model lacks: several producers that do
// notify, an inbox that must not be slept on, and a choice of what the consumer sleeps on.
//
// `Kind`: a flag that stays set until the sleeper takes it (sticky, the seed's), a word that the
// consumer clears after every park (futex), a condition variable without a mutex (bare), one whose
// mutex makes check and sleep one step (mutex), and the same with a loop around the sleep
// (mutexloop). `Order`: whether the consumer reads its inbox after it has cleared `signaled`, or
// before the others see that, as a store buffer has it.
#ifndef ROTA_VERIFY_MODELS_NOTIFIER_MPSC_H
#define ROTA_VERIFY_MODELS_NOTIFIER_MPSC_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class notifier_mpsc {
 public:
  static constexpr unsigned most_producers = 4;

  // Where a thread is; the number is also that of its step.
  enum place : std::uint8_t {
    // a producer
    Produce,
    DontUndoOther,
    Notify,
    InvalidTicket,
    Awaken,
    // the consumer
    Check,
    NotSignaled,
    TakeTicket,
    NotSignaled2,
    StillValid,
    Block,
    Wait,
    Late,
    Reset,
    Reset2,
    Done,
  };
  static constexpr unsigned WakeForNoReason = Done;

  struct state {
    std::array<place, most_producers> pc{};
    std::array<std::uint8_t, most_producers> left{};
    place consumer = Check;
    std::uint8_t inbox = 0;
    std::uint8_t phase = 0;
    std::uint8_t ticket = 0;
    std::uint8_t signaled : 1 = 0;
    std::uint8_t cond_var : 1 = 0;
    std::uint8_t blocked : 1 = 0;  // the consumer is on the condition variable's list
    std::uint8_t unused : 5 = 0;
  };

  enum class sleep_kind { sticky, futex, bare, mutex, mutexloop };
  enum class look { after, before };
  enum class ticket_use { checked, ignored };
  enum class mistake {
    none,
    drop_all_wakes,
    drop_wakes_but_last,
    forgotten_notify,
    notify_before_publish,
    wake_first,
    forget_reset,
  };

  int producers = 2;
  int messages = 2;
  sleep_kind kind = sleep_kind::sticky;
  look order = look::after;
  int phases = 2;
  ticket_use use = ticket_use::checked;
  bool spurious = false;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Producers", producers, 1, int{most_producers}, "how many threads notify");
    c("Msgs", messages, 0, 20, "messages of each of them");
    c("Kind", kind, {"sticky", "futex", "bare", "mutex", "mutexloop"},
      "what the consumer sleeps on");
    c("Order", order, {"after", "before"}, "when it reads its inbox: see Reset");
    c("PhaseMod", phases, 1, 250, "the phase counts modulo this");
    c("TicketUse", use, {"checked", "ignored"}, "whether the consumer compares ticket and phase");
    c("Spurious", spurious, "whether a sleep may end for no reason");
    c("Mutant", mutant,
      {"none", "drop_all_wakes", "drop_wakes_but_last", "forgotten_notify", "notify_before_publish",
       "wake_first", "forget_reset"},
      "a mistake to plant");
  }

  std::vector<action> actions() const {
    std::vector<action> all;
    for (unsigned i = Produce; i < Check; ++i)
      all.push_back({names[i], count(), "producer", fairness::weak});
    for (unsigned i = Check; i < Done; ++i)
      all.push_back({names[i], 1, "consumer", fairness::weak});
    if (spurious) all.push_back({"WakeForNoReason", 1, "", fairness::none});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    for (unsigned p = 0; p < count(); ++p) {
      s.left[p] = static_cast<std::uint8_t>(messages);
      if (notifies_first() && messages > 0) s.pc[p] = DontUndoOther;
    }
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned p = 0; p < count(); ++p) {
      if (s.pc[p] == Done) continue;
      state n = s;
      produce(n, p);
      emit(s.pc[p], p, n);
    }
    state n = s;
    if (consume(n)) emit(s.consumer, 0, n);
    if (spurious && asleep(s)) {
      n = s;
      n.blocked = 0;
      if (keeps_flag()) n.consumer = Late;
      emit(WakeForNoReason, 0, n);
    }
  }

  template <class P>
  void properties(P& p) const {
    p.invariant("TypeOK", [this](const state& s) {
      const int left = std::accumulate(s.left.begin(), s.left.end(), 0);
      return s.inbox + left <= producers * messages && s.phase < phases && s.ticket < phases;
    });
    p.invariant("NoLostWakeup", [this](const state& s) {
      return !(asleep(s) && s.inbox > 0 && everybody(s, {Produce, Done}));
    });
    p.invariant("NoSleepForever", [this](const state& s) {
      return !(asleep(s) && s.inbox > 0 && everybody(s, {Done, Done}));
    });
    p.leads_to(
        "Delivered", [](const state& s) { return s.inbox > 0; },
        [](const state& s) { return s.inbox == 0; });
    p.leads_to(
        "SignalUsedUp",
        [](const state& s) {
          return s.signaled && NotSignaled2 <= s.consumer && s.consumer <= Reset;
        },
        [](const state& s) { return !s.signaled; });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_producers> from;
    std::iota(from.begin(), from.end(), 0u);
    while (std::next_permutation(from.begin(), from.begin() + producers)) {
      state n = s;
      for (unsigned p = 0; p < count(); ++p) {
        n.pc[p] = s.pc[from[p]];
        n.left[p] = s.left[from[p]];
      }
      f(n);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("phase", unsigned{s.phase});
    f("ticket", unsigned{s.ticket});
    f("signaled", s.signaled != 0);
    f("condVar", s.cond_var != 0);
    f("blocked", s.blocked != 0);
    f("inbox", unsigned{s.inbox});
    f("pc[consumer]", names[s.consumer]);
    for (unsigned p = 0; p < count(); ++p) {
      f("pc[" + parameter(0, p) + "]", names[s.pc[p]]);
      f("left[" + parameter(0, p) + "]", unsigned{s.left[p]});
    }
  }

  std::string parameter(unsigned, unsigned p) const { return "p" + std::to_string(p + 1); }

 private:
  static constexpr std::array<const char*, Done + 1> names = {
      "Produce",     "DontUndoOther", "Notify",       "InvalidTicket", "Awaken", "Check",
      "NotSignaled", "TakeTicket",    "NotSignaled2", "StillValid",    "Block",  "Wait",
      "Late",        "Reset",         "Reset2",       "Done"};

  unsigned count() const { return static_cast<unsigned>(producers); }
  // The two whose wake-up stays until somebody takes it.
  bool keeps_flag() const { return kind == sleep_kind::sticky || kind == sleep_kind::futex; }
  bool has_mutex() const { return kind == sleep_kind::mutex || kind == sleep_kind::mutexloop; }

  bool asleep(const state& s) const {
    return s.consumer == Wait && (keeps_flag() ? !s.cond_var : s.blocked);
  }
  bool everybody(const state& s, std::array<place, 2> where) const {
    return std::all_of(s.pc.begin(), s.pc.begin() + producers,
                       [&](place p) { return p == where[0] || p == where[1]; });
  }

  void produce(state& s, unsigned p) const {
    switch (s.pc[p]) {
      case Produce:
        if (s.left[p] == 0) {
          s.pc[p] = Done;
          break;
        }
        ++s.inbox;
        --s.left[p];
        if (mutant != mistake::forgotten_notify && !(notifies_first() && s.left[p] == 0))
          s.pc[p] = DontUndoOther;
        break;
      case DontUndoOther:
        s.pc[p] = s.signaled || is_dropped(s) ? Produce : Notify;
        break;
      case Notify:
        if (mutant == mistake::wake_first)
          wake(s);
        else
          s.signaled = 1;
        s.pc[p] = InvalidTicket;
        break;
      case InvalidTicket:
        s.phase = static_cast<std::uint8_t>((s.phase + 1) % phases);
        s.pc[p] = Awaken;
        if (!has_mutex()) break;
        [[fallthrough]];
      default:  // Awaken
        if (mutant == mistake::wake_first)
          s.signaled = 1;
        else
          wake(s);
        s.pc[p] = Produce;
        break;
    }
  }
  bool notifies_first() const { return mutant == mistake::notify_before_publish; }
  bool is_dropped(const state& s) const {
    return mutant == mistake::drop_wakes_but_last && s.left != decltype(s.left){};
  }
  void wake(state& s) const {
    if (mutant == mistake::drop_all_wakes) return;
    if (keeps_flag())
      s.cond_var = 1;
    else
      s.blocked = 0;
  }

  // False if the consumer sleeps.
  bool consume(state& s) const {
    const auto to = [&](place p) { s.consumer = p; };
    if (asleep(s)) return false;
    switch (s.consumer) {
      case Check:
        s.inbox = 0;
        to(NotSignaled);
        break;
      case NotSignaled:
        to(s.signaled ? NotSignaled2 : TakeTicket);
        break;
      case TakeTicket:
        s.ticket = s.phase;
        to(NotSignaled2);
        break;
      case NotSignaled2:
        to(s.signaled ? Late : StillValid);
        break;
      case StillValid:
        if (!is_valid(s)) {
          to(Late);
          break;
        }
        to(Block);
        if (!has_mutex()) break;
        [[fallthrough]];
      case Block:
        s.blocked = !keeps_flag();
        to(Wait);
        break;
      case Wait:
        s.cond_var = 0;
        if (kind == sleep_kind::mutexloop && is_valid(s))
          s.blocked = 1;
        else
          to(Late);
        break;
      case Late:
        if (order == look::before) s.inbox = 0;
        to(Reset);
        break;
      case Reset:
        if (mutant != mistake::forget_reset) s.signaled = 0;
        to(Reset2);
        break;
      default:  // Reset2
        if (kind == sleep_kind::futex) s.cond_var = 0;
        to(order == look::before ? NotSignaled : Check);
        break;
    }
    return true;
  }
  bool is_valid(const state& s) const { return s.ticket == s.phase || use == ticket_use::ignored; }
};

}  // namespace rota::verify

#endif
