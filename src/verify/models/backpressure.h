// Seed 001: cowns that mute the senders of overloaded receivers.
//
// A behaviour is sent to its least cown; each of its cowns acquires it in turn and passes it on to
// the next; the greatest runs it. A cown whose queue is too long gets high priority, and with it
// all that its messages wait for. Who sends to it is muted: low priority, not scheduled, noted in
// the mute set of the mutor until the mutor is normal again.
//
// backpressure_steps.h has the steps; here is what is to hold of them.
#ifndef ROTA_VERIFY_MODELS_BACKPRESSURE_H
#define ROTA_VERIFY_MODELS_BACKPRESSURE_H

#include <rota/verify/checker/model.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "verify/models/backpressure_state.h"
#include "verify/models/backpressure_steps.h"

namespace rota::verify {

class backpressure : public backpressure_steps {
 public:
  using backpressure_steps::backpressure_steps;

  enum act { terminating, acquire, prerun, send, complete, press, release };

  template <class C>
  void constants(C& c) {
    c("Cowns", cowns, 1, int{state::most_cowns}, "how many cowns");
    c("BehaviourLimit", fuel, 0, int{state::most_messages} - 1, "how many behaviours are sent");
    c("OverloadThreshold", threshold, 0, int{state::most_messages}, "a longer queue is overloaded");
    if (variant.pressed)
      c("Pressure", pressure, 0, int{state::most_pressure}, "how often a cown is put under it");
    c("ClearOnPriority", clear, "whom priority frees leaves the mute sets");
    c("TodoLine", asks, "no sender that is among the receivers is muted");
    c("Mutant", mutant, mistakes(), "a mistake to plant");
  }

  std::string complaint() const {
    if (is(mistake::unmute_never) && variant.propagate && !variant.eager)
      return "this mutant deadlocks, and so does this variant without it";
    if (fuel < least_fuel())
      return "this mutant does nothing with a BehaviourLimit of less than " +
             std::to_string(least_fuel());
    const unsigned copies = is(mistake::send_twice) ? 2 : 1;
    const unsigned sent_ones = copies * static_cast<unsigned>(fuel);
    return layout().fits(n() + sent_ones, 1 + sent_ones)
               ? ""
               : "so many cowns with so large a BehaviourLimit do not fit into a state";
  }

  std::vector<action> actions() const {
    std::vector<action> all{{"Terminating", 1, "", fairness::none},
                            {"Acquire", n(), "Run", fairness::weak},
                            {"Prerun", n(), "Run", fairness::weak},
                            {"Send", n(), "Run", fairness::weak},
                            {"Complete", n(), "Run", fairness::weak}};
    if (variant.pressed) {
      all.push_back({"Press", n(), "", fairness::none});
      all.push_back({"Release", n(), "", fairness::weak});
    }
    if (unmutes_later()) all.push_back({"Unmute", 1, "", fairness::weak});
    if (variant.arrive) all.push_back({"Arrive", n(), "Run", fairness::weak});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.fuel = static_cast<std::uint8_t>(fuel);
    s.pressure = static_cast<std::uint8_t>(pressure);
    s.scheduled = layout().all();
    for (unsigned c = 0; c < n(); ++c) layout().push(s, c, bit(c));
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (everybody_sleeps(s)) emit(terminating, 0, s);
    for (unsigned c = 0; c < n(); ++c) {
      const set msg = layout().head(s, c);
      for (const bool misses : {false, true}) {
        if (misses && !(variant.lag && is_long(s, c))) continue;
        if ((s.scheduled & bit(c)) && msg && c < last(msg))
          emit(acquire, c, acquired(s, c, msg, misses));
        if (!(s.scheduled & ~s.running & bit(c)) || !msg || c != last(msg)) continue;
        emit(prerun, c, preran(s, c, msg, misses));
        const set muted_ones = can_free(s, c, misses);
        for (unsigned some = 1; some <= muted_ones; ++some)
          if ((some & ~muted_ones) == 0)
            emit(prerun, c, preran_freeing(s, c, msg, static_cast<set>(some)));
      }
      if (s.running & bit(c)) {
        for (unsigned m = 1; s.fuel > 0 && m <= layout().all(); ++m) {
          const set receivers = static_cast<set>(m);
          emit(send, c, sent(s, c, receivers, receivers));
          const set odd = receivers & static_cast<set>(s.special() | noticed(s));
          if (!variant.overlook || !odd) continue;
          emit(send, c, sent(s, c, receivers, 0));
          for (unsigned seen = 1; variant.arrive && seen < odd; ++seen)
            if ((seen & ~odd) == 0) emit(send, c, sent(s, c, receivers, static_cast<set>(seen)));
        }
        emit(complete, c, completed(s, c, msg));
      }
      if ((s.passing & bit(c)) && target(s, c)) emit(arrive(), c, arrived(s, c, msg));
      if (s.pressure > 0 && !(s.pressed & bit(c))) emit(press, c, pressed(s, c));
      if (s.pressed & bit(c)) emit(release, c, released(s, c));
      // Stands under the choice of a cown in the seed, hence one step for each.
      if (unmutes_later()) {
        state t = s;
        if (unmuted(t)) {
          note_freed(s, t);
          emit(unmute(), 0, t);
        }
      }
    }
  }

  template <class P>
  void properties(P& p) const {
    const bool deadlocks = variant.propagate && !variant.eager;
    if (!deadlocks) progress(p);
    p.invariant("MessageLimit", [this](const state& s) {
      unsigned messages = 0;
      for (unsigned c = 0; c < n(); ++c) messages += s.length[c];
      return messages <= static_cast<unsigned>(fuel + cowns);
    });
    p.invariant("RunningIsScheduled", [this](const state& s) {
      return each([&](unsigned c) {
        return !(s.running & bit(c)) || ((s.scheduled & bit(c)) && c == last(layout().head(s, c)));
      });
    });
    p.invariant("CownNotMutedBySelf", [this](const state& s) {
      return each([&](unsigned c) { return !(s.mute[c] & bit(c)); });
    });
    p.invariant("LowPriorityMuted", [this](const state& s) { return !(s.low & ~muted(s)); });
    p.invariant("Nonblocking", [this](const state& s) {
      if (!s.high || !s.low) return true;
      return each([&](unsigned c) {
        const set held = s.passing & bit(c) ? layout().head(s, c) & ~state::above(c) : 0;
        if ((held & s.high) && (s.low & target(s, c))) return false;
        for (word q = s.queue[c]; q; q >>= n())
          if ((q & s.high & below(c)) && (q & s.low & (below(c) | bit(c)))) return false;
        return true;
      });
    });
    p.invariant("RunningNotBlocked", [this](const state& s) {
      return each([&](unsigned c) {
        if (!(s.running & bit(c))) return true;
        for (unsigned k = 0; k < n(); ++k)
          if ((layout().head(s, c) & bit(k)) && s.blocker[k]) return false;
        return true;
      });
    });
    p.invariant("UnscheduledByMuteOrAcquire", [this](const state& s) {
      return static_cast<set>(layout().all() & ~(s.low | acquired_ones(s))) == s.scheduled;
    });
    p.invariant("BehaviourAcquisition",
                [this](const state& s) { return !(acquired_ones(s) & s.scheduled); });
    p.invariant("AcquiredOnce", [this](const state& s) {
      set once = 0;
      return each([&](unsigned b) {
        const set mine = layout().queued(s, b) & below(b);
        if (mine & once) return false;
        once |= mine;
        return true;
      });
    });
    p.invariant("SelfInCurrentMessage", [this](const state& s) {
      return each([&](unsigned c) { return !s.length[c] || (layout().head(s, c) & bit(c)); });
    });
    p.invariant("HighPriorityScheduledOrAcquired", [this](const state& s) {
      const set stuck = static_cast<set>(s.high & ~s.scheduled);
      return !stuck || !(stuck & ~acquired_ones(s));
    });
    p.invariant("HighPriorityInQueue", [this](const state& s) {
      if (!s.high) return true;
      set somewhere = 0;
      for (unsigned c = 0; c < n(); ++c) somewhere |= layout().queued(s, c);
      return !(s.high & ~s.pressed & ~somewhere);
    });
    p.invariant("SleepingIsNormalOrRequired", [this](const state& s) {
      const set odd = special_sleepers(s);
      return !odd || !(odd & ~required_ones(s) & ~s.pressed);
    });
    // Ours. The first three are about steps, which note what they should not do.
    p.invariant("FreedByNormal", [](const state& s) { return !(s.mistakes & state::freed_early); });
    p.invariant("MutedForLoad", [](const state& s) { return !(s.mistakes & state::muted_idly); });
    p.invariant("UrgencyPassedOn", [](const state& s) { return !(s.mistakes & state::held_up); });
    p.invariant("WaitedForIsHigh", [this](const state& s) {
      return each([&](unsigned c) { return (s.high & bit(c)) || !urgent_holders(s, c); });
    });
    if (variant.eager)
      p.invariant("NormalMutesNobody", [this](const state& s) {
        return each([&](unsigned k) { return (s.special() & bit(k)) || !s.mute[k]; });
      });
    if (clear) tidiness(p);
    if (clear || variant.eager) emptiness(p);
    if (variant.hopwise) {
      thrift(p);
      p.invariant("RaisedForHolder",
                  [](const state& s) { return !(s.mistakes & state::raised_idly); });
    }
    if (variant.pressed)
      p.invariant("PressedIsHigh", [](const state& s) { return !(s.pressed & ~s.high); });

    p.known_to_fail();
    if (deadlocks) progress(p);
    if (!clear) tidiness(p);
    if (!clear && !variant.eager) emptiness(p);
    if (!variant.hopwise) thrift(p);
  }

  // The number of Arrive, the last action.
  unsigned arrive() const { return unmute() + (unmutes_later() ? 1u : 0u); }

  template <class F>
  void fields(const state& s, F f) const {
    layout().fields(s, f);
  }
  std::string parameter(unsigned, unsigned p) const { return std::to_string(p + 1); }

  packed pack(const state& s) const { return layout().pack(s); }
  state unpack(const packed& in) const { return layout().unpack(in); }

  // Falls in every step but Terminating, so that all behaviours end, in deadlock or asleep. What a
  // step may add to it is less than what the same step takes away:
  //   Send      one of the fuel, for a message with fewer hops than cowns
  //   Acquire   a hop, or half of one, and Arrive the other half
  //   Prerun    counts as running
  //   Complete  a message, for at most all cowns muted
  //   Unmute    a muted cown
  //   Press     one of the pressure, for a pressed cown
  //   Release   a pressed cown
  unsigned measure(const state& s) const {
    const unsigned hop = variant.arrive ? 2 : 1;
    unsigned m = ((1 + hop) * n() + 2) * s.fuel + count(s.low) - count(s.running) + 2 * s.pressure +
                 count(s.pressed) - count(s.passing);
    for (unsigned c = 0; c < n(); ++c)
      for (word q = s.queue[c]; q; q >>= n())
        m += n() + 2 + hop * count(static_cast<set>(q & layout().all() & state::above(c)));
    return m;
  }

 private:
  // How many behaviours have to be sent before a mutant can do what it should not.
  int least_fuel() const {
    // The message that holds the cown, those in its queue, and the one that notices.
    if (is(mistake::notice_skips_chain)) return threshold + 3;
    if (!is(mistake::notice_raises_muted)) return 0;
    // The one for which the cown is muted, those in its queue, and the one that notices; and those
    // in the queue of its mutor, unless that is under pressure.
    return threshold + 3 + (pressure > 0 ? 0 : threshold);
  }

  // In the order of `mistake`.
  std::vector<std::string> mistakes() const {
    std::vector<std::string> names{"none",
                                   "no_blocker_walk",
                                   variant.hopwise ? "priority_in_send" : "no_priority_in_send",
                                   "no_priority_in_acquire",
                                   "no_wake_by_priority",
                                   "priority_not_reset",
                                   "keep_blocker",
                                   "mute_self",
                                   "mute_among_receivers",
                                   "mute_without_entry",
                                   "mute_but_schedule",
                                   "mute_in_send",
                                   "unmute_never",
                                   "unmute_on_idle",
                                   "count_references",
                                   "forget_release",
                                   "drop_in_acquire",
                                   "acquire_out_of_order",
                                   "pass_to_neighbour",
                                   "schedule_twice",
                                   "send_twice",
                                   "send_to_greatest"};
    if (variant.eager) names.push_back("only_dropped");
    if (variant.eager && variant.propagate) names.push_back("no_cascade");
    const auto add = [&](std::initializer_list<const char*> more) {
      names.insert(names.end(), more.begin(), more.end());
    };
    if (variant.hopwise) add({"raise_skips_next", "prerun_forgets_holder"});
    if (variant.notice) add({"notice_raises_muted", "notice_skips_chain"});
    if (variant.chain) add({"mute_in_circle", "no_reset_with_mutor"});
    if (variant.arrive) add({"way_forgotten"});
    if (variant.gradual) add({"rest_forgotten", "freed_too_soon"});
    if (variant.pressed)
      add({"press_skips_blockers", "pressure_forgotten", "release_keeps_high",
           "release_forgets_holder"});
    return names;
  }

  set acquired_ones(const state& s) const {
    set m = s.passing;
    for (unsigned c = 0; c < n(); ++c) m |= static_cast<set>(layout().queued(s, c) & below(c));
    return m;
  }
  set awaiting_arrival(const state& s) const {
    set m = 0;
    for (unsigned c = 0; c < n(); ++c)
      if (s.passing & bit(c)) m |= target(s, c);
    return m;
  }
  // Needed by a message that has yet to come to them.
  set required_ones(const state& s) const {
    set m = 0;
    for (unsigned c = 0; c < n(); ++c)
      m |= static_cast<set>(layout().queued(s, c) & state::above(c));
    return m;
  }

  // Fails where muted cowns can wait for each other.
  template <class P>
  void progress(P& p) const {
    p.deadlock_free();
    p.invariant("WillScheduleCown", [this](const state& s) {
      if (s.scheduled) return true;
      set free_soon = 0;
      for (unsigned k = 0; k < n(); ++k)
        if (!(s.special() & bit(k))) free_soon |= s.mute[k];
      return (s.low & free_soon) != 0;
    });
    p.eventually_always("Termination", [this](const state& s) { return everybody_sleeps(s); });
    p.always_eventually("SomeCownWillBeScheduled", [](const state& s) { return s.scheduled != 0; });
  }

  // These two fail where a mute set keeps whom priority freed.
  template <class P>
  void tidiness(P& p) const {
    p.invariant("MuteSetIsLow", [this](const state& s) { return !(muted(s) & ~s.low); });
    p.invariant("MuteSetsDisjoint", [this](const state& s) {
      set once = 0;
      return each([&](unsigned k) {
        if (s.mute[k] & once) return false;
        once |= s.mute[k];
        return true;
      });
    });
  }
  template <class P>
  void emptiness(P& p) const {
    p.invariant("NoMuteLeftAtEnd",
                [this](const state& s) { return !muted(s) || !everybody_sleeps(s); });
  }
  // These two fail where priority is given to cowns that a message has yet to reach.
  template <class P>
  void thrift(P& p) const {
    p.invariant("HighPriorityHasWork", [this](const state& s) {
      set with_work = acquired_ones(s) | awaiting_arrival(s);
      for (unsigned c = 0; c < n(); ++c)
        if (s.length[c]) with_work |= bit(c);
      return !(s.high & ~s.pressed & ~with_work);
    });
    p.invariant("SleepingIsNormal", [this](const state& s) {
      return !(special_sleepers(s) & ~s.pressed & ~awaiting_arrival(s));
    });
  }

  // Sleeping cowns that are not of normal priority.
  set special_sleepers(const state& s) const {
    set m = s.special() & s.scheduled;
    for (unsigned c = 0; c < n(); ++c)
      if (s.length[c]) m &= static_cast<set>(~bit(c));
    return m;
  }

  // The number of that action. Press and Release may be missing.
  unsigned unmute() const { return press + (variant.pressed ? 2u : 0u); }
};

}  // namespace rota::verify

#endif
