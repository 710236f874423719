// What cowns do about overload, after seed 001: who has priority, who is muted and who is freed,
// step by step. `backpressure_variant` says what a model adds to the seed; specs/backpressure tells
// why. backpressure.h makes a model of the steps, and says what is to hold.
#ifndef ROTA_VERIFY_MODELS_BACKPRESSURE_STEPS_H
#define ROTA_VERIFY_MODELS_BACKPRESSURE_STEPS_H

#include <bit>
#include <cstdint>

#include "verify/models/backpressure_state.h"

namespace rota::verify {

struct backpressure_variant {
  bool eager = false;      // the step that makes a mutor normal frees whom it muted
  bool propagate = false;  // sending to a muted cown mutes the sender too
  bool acquire = false;    // overload is looked for in Acquire, not only in Prerun
  bool hopwise = false;    // priority goes to the next cown of a message, hop by hop
  bool overlook = false;   // a sender may not see that a receiver is not normal, or should not be
  bool notice = false;     // a sender gives priority to receivers with too long a queue
  bool chain = false;      // overloaded senders are muted too, and stay high when they are freed
  bool lasting = false;    // who is overloaded stays so until its queue is half as long
  bool gradual = false;    // who has caught up may free some of those it muted, and the rest later
  bool pressed = false;    // the environment can put pressure on a cown
  // Hop by hop only, closer to the code:
  bool arrive = false;  // passing on takes two steps; a sender may overlook some of its receivers
  bool lag = false;     // what is being sent is not counted yet: who looks may miss an overload

  // What we build.
  static constexpr backpressure_variant built() {
    return {.eager = true,
            .propagate = true,
            .acquire = true,
            .hopwise = true,
            .overlook = true,
            .notice = true,
            .chain = true,
            .lasting = true,
            .gradual = true,
            .arrive = true};
  }
  constexpr backpressure_variant with_pressure() const {
    backpressure_variant v = *this;
    v.pressed = true;
    return v;
  }
  constexpr backpressure_variant with_lag() const {
    backpressure_variant v = *this;
    v.lag = true;
    return v;
  }
};

class backpressure_steps {
 public:
  using state = backpressure_state;
  using set = state::set;
  using packed = state::packed;

  enum class mistake : std::uint8_t {
    none,
    no_blocker_walk,
    no_priority_in_send,  // hop by hop: priority_in_send
    no_priority_in_acquire,
    no_wake_by_priority,
    priority_not_reset,
    keep_blocker,
    mute_self,
    mute_among_receivers,
    mute_without_entry,
    mute_but_schedule,
    mute_in_send,
    unmute_never,
    unmute_on_idle,
    count_references,
    forget_release,
    drop_in_acquire,
    acquire_out_of_order,
    pass_to_neighbour,
    schedule_twice,
    send_twice,
    send_to_greatest,
    // With eager unmuting only, the second with propagation only.
    only_dropped,
    no_cascade,
    // Hop by hop only.
    raise_skips_next,
    prerun_forgets_holder,
    // With notice only.
    notice_raises_muted,
    notice_skips_chain,
    // With chains only.
    mute_in_circle,
    no_reset_with_mutor,
    // With two steps only.
    way_forgotten,
    // With gradual freeing only.
    rest_forgotten,
    freed_too_soon,
    // With pressure only.
    press_skips_blockers,
    pressure_forgotten,
    release_keeps_high,
    release_forgets_holder,
  };

  backpressure_steps() = default;
  backpressure_steps(backpressure_variant v, bool clears)
      : fuel(v.propagate && !v.pressed ? 4 : 3),
        pressure(v.pressed ? 1 : 0),
        variant(v),
        clear(clears) {}

  int cowns = 3;
  int fuel = 3;  // 4 is the least with which propagation shows at this threshold
  int threshold = 2;
  int pressure = 0;
  int missed = 0;  // messages that who looks at a queue does not see; for tests of code
  backpressure_variant variant;
  bool clear = false;
  bool asks = true;
  mistake mutant = mistake::none;

 protected:
  static set bit(unsigned c) { return state::bit(c); }
  static set below(unsigned c) { return state::below(c); }
  static unsigned first(set m) { return state::first(m); }
  static unsigned last(set m) { return state::last(m); }
  static unsigned count(set m) { return static_cast<unsigned>(std::popcount(m)); }
  unsigned n() const { return static_cast<unsigned>(cowns); }
  backpressure_layout layout() const { return {n(), variant.pressed, variant.arrive}; }
  bool is(mistake m) const { return mutant == m; }

  template <class F>
  bool each(F f) const {
    for (unsigned c = 0; c < n(); ++c)
      if (!f(c)) return false;
    return true;
  }

  bool sleeps(const state& s, unsigned c) const { return (s.scheduled & bit(c)) && !s.length[c]; }
  bool everybody_sleeps(const state& s) const {
    return each([&](unsigned c) { return sleeps(s, c); });
  }
  // A longer queue is overloaded: less for a cown that was, or is muted.
  int low_mark() const { return variant.lasting ? threshold / 2 : threshold; }
  int mark(const state& s, unsigned c) const {
    return s.special() & bit(c) ? low_mark() : threshold;
  }
  // What is on its way to the next cown does not count.
  bool is_longer(const state& s, unsigned c, int than) const {
    return s.length[c] - (s.passing & bit(c) ? 1 : 0) - missed > than;
  }
  bool is_long(const state& s, unsigned c) const { return is_longer(s, c, mark(s, c)); }
  bool overloaded(const state& s, unsigned c) const {
    if (!is(mistake::count_references)) [[likely]]
      return is_long(s, c);
    int references = 0;
    for (unsigned k = 0; k < n(); ++k)
      for (word q = s.queue[k]; q; q >>= n()) references += static_cast<int>(q >> c & 1);
    return references > mark(s, c);
  }
  set muted(const state& s) const {
    set m = 0;
    for (unsigned c = 0; c < n(); ++c) m |= s.mute[c];
    return m;
  }
  // Of high priority, and held by messages that wait in this queue, or are on their way there.
  set urgent_holders(const state& s, unsigned c) const {
    set coming = 0;
    for (unsigned k = 0; s.passing && k < c; ++k)
      if ((s.passing & bit(k)) && s.blocker[k] == c + 1)
        coming |= static_cast<set>(layout().head(s, k) & ~state::above(k));
    return static_cast<set>((coming & s.high) | waiting_holders(s, c));
  }
  set waiting_holders(const state& s, unsigned c) const {
    set waiting = 0;
    for (word q = (s.running | s.passing) & bit(c) ? s.queue[c] >> n() : s.queue[c]; q; q >>= n())
      waiting |= static_cast<set>(q & below(c));
    return waiting & s.high;
  }
  // For whom a cown keeps its priority.
  set holders_to_keep(const state& s, unsigned c) const {
    return is(mistake::way_forgotten) ? waiting_holders(s, c) : urgent_holders(s, c);
  }
  // Where its message goes. Only a mutant passes on to nobody.
  static set target(const state& s, unsigned c) {
    return s.blocker[c] ? bit(s.blocker[c] - 1u) : 0;
  }

  // Gives high priority to those that lack it and to all that these wait behind.
  void prioritise(state& s, set who, bool alone = false) const {
    set them = static_cast<set>(who & ~s.high);
    if (!alone && !is(mistake::no_blocker_walk))
      for (unsigned c = 0; c < n(); ++c) {
        if (!(who & ~s.high & bit(c))) continue;
        for (unsigned b = s.blocker[c]; b; b = s.blocker[b - 1]) them |= bit(b - 1);
      }
    const set freed = s.low & them;
    if (!is(mistake::no_wake_by_priority)) s.scheduled |= freed;
    if (clear && freed)
      for (unsigned k = 0; k < n(); ++k) s.mute[k] &= static_cast<set>(~freed);
    s.low &= static_cast<set>(~them);
    s.high |= them;
  }

  state acquired(const state& s, unsigned c, set msg, bool misses) const {
    state t = s;
    const set rest = msg & state::above(c);
    const bool looks = variant.acquire && !misses && overloaded(s, c);
    if ((lends(s, c, msg) || looks) && !is(mistake::no_priority_in_acquire)) {
      const set ahead = variant.hopwise ? bit(first(rest)) : rest;
      prioritise(t, looks ? static_cast<set>(ahead | bit(c)) : ahead);
    }
    if (!is(mistake::schedule_twice)) t.scheduled &= static_cast<set>(~bit(c));
    const unsigned to = is(mistake::acquire_out_of_order) ? last(rest)
                        : is(mistake::pass_to_neighbour)  ? c + 1
                                                          : first(rest);
    t.blocker[c] = static_cast<std::uint8_t>(to + 1);
    if (variant.arrive) {
      t.passing |= bit(c);
      note_raised(s, t);
      return t;
    }
    layout().pop(t, c);
    if (!is(mistake::drop_in_acquire)) layout().push(t, to, msg);
    note_held_up(s, t, to, msg);
    note_raised(s, t);
    return t;
  }

  // The second half of Acquire. Between the two, others may come to the next cown first, and may
  // give priority to c, which is passed on without the message.
  state arrived(const state& s, unsigned c, set msg) const {
    state t = s;
    const unsigned to = s.blocker[c] - 1u;
    t.passing &= static_cast<set>(~bit(c));
    layout().pop(t, c);
    if (!is(mistake::drop_in_acquire)) layout().push(t, to, msg);
    note_held_up(s, t, to, msg);
    return t;
  }

  // Whether a message has priority to give away when c passes it on. Hop by hop only that of cowns
  // which it holds by then: these wait for the next one, while the others are still free.
  bool lends(const state& s, unsigned c, set msg) const {
    if (!variant.hopwise) return msg & s.high;
    return (msg & s.high & ~state::above(c)) && !is(mistake::raise_skips_next);
  }

  // A message with priority to give away came to a cown.
  void note_held_up(const state& s, state& t, unsigned to, set msg) const {
    const set lenders = variant.hopwise ? msg & below(to) : msg;
    const set due = variant.hopwise ? bit(to) : static_cast<set>(msg & ~below(to));
    if ((lenders & s.high) && (due & ~t.high)) t.mistakes |= state::held_up;
  }

  state preran(const state& s, unsigned c, set msg, bool misses) const {
    state t = begun(s, c, msg);
    const bool is_high = needs_priority(t, c, misses);
    t.high = static_cast<set>((s.high & ~bit(c)) | (is_high ? bit(c) : 0));
    t.low &= static_cast<set>(~bit(c));
    if (variant.eager) free_all(s, t);
    note_freed(s, t);
    note_raised(s, t);
    return t;
  }

  // A message runs in c, whose priority is yet to be found.
  state begun(const state& s, unsigned c, set msg) const {
    state t = s;
    t.running |= bit(c);
    for (unsigned k = 0; k < n(); ++k)
      if ((msg & bit(k)) && !is(mistake::keep_blocker)) t.blocker[k] = 0;
    return t;
  }

  // The same, but c frees only these of whom it has muted. It keeps its priority for the others.
  state preran_freeing(const state& s, unsigned c, set msg, set some) const {
    state t = begun(s, c, msg);
    t.high &= static_cast<set>(~bit(c));
    t.mute[c] = some;
    free_all(s, t);
    t.mute[c] = static_cast<set>(s.mute[c] & ~some);
    if (t.mute[c] && !is(mistake::rest_forgotten)) t.high |= bit(c);
    note_freed(s, t);
    note_raised(s, t);
    return t;
  }

  // Those whom c, which is about to run, has muted, if it may free some of them: it has priority
  // for nothing but its own load, and its queue is no longer too long.
  set can_free(const state& s, unsigned c, bool misses) const {
    const bool is_too_long = !misses && !is(mistake::freed_too_soon) && is_longer(s, c, threshold);
    if (!variant.gradual || !(s.high & ~s.pressed & bit(c)) || is_too_long) return 0;
    state t = s;
    t.running |= bit(c);
    return holders_to_keep(t, c) ? set{0} : s.mute[c];
  }

  // Of a running cown.
  bool needs_priority(const state& s, unsigned c, bool misses) const {
    if (!misses && overloaded(s, c)) return true;
    if (!variant.hopwise) return layout().queued(s, c) & s.high & ~bit(c);
    if ((s.pressed & bit(c)) && !is(mistake::pressure_forgotten)) return true;
    return holders_to_keep(s, c) && !is(mistake::prerun_forgets_holder);
  }

  // The sender pays attention to the receivers in `seen`: all or, if it reads what is out of date,
  // none, or those that it sees as they are. Hop by hop it gives no priority for the sake of the
  // message, which holds nothing yet; but whom it finds with too long a queue gets it, and may mute
  // the sender then.
  state sent(const state& s, unsigned c, set receivers, set seen) const {
    state looked = s;
    raise_noticed(looked, seen);
    state t = looked;
    const bool gives = variant.hopwise == is(mistake::no_priority_in_send);
    if ((seen & s.high) && gives) prioritise(t, receivers);
    if (seen & (variant.propagate ? looked.special() : looked.high))
      choose_mutor(looked, t, c, receivers, seen);
    const unsigned to = is(mistake::send_to_greatest) ? last(receivers) : first(receivers);
    layout().push(t, to, receivers);
    if (is(mistake::send_twice)) layout().push(t, to, receivers);
    note_held_up(s, t, to, receivers);
    note_raised(s, t);
    --t.fuel;
    return t;
  }

  // Those whom a sender gives priority when it looks: normal, with too long a queue. A muted one
  // stays muted and mutes the sender, or else propagation would end here.
  set noticed(const state& s) const {
    if (!variant.notice) return 0;
    const set passed_over = is(mistake::notice_raises_muted) ? s.high : s.special();
    set m = 0;
    for (unsigned c = 0; c < n(); ++c)
      if (!(passed_over & bit(c)) && overloaded(s, c)) m |= bit(c);
    return m;
  }
  void raise_noticed(state& s, set seen) const {
    const set them = static_cast<set>(seen & noticed(s));
    if (them) prioritise(s, them, is(mistake::notice_skips_chain));
  }

  // Who can be muted: normal cowns and, in a chain, those of high priority for nothing but their
  // own load.
  set can_be_muted(const state& s) const {
    set m = static_cast<set>(layout().all() & ~s.special());
    if (variant.chain)
      for (unsigned c = 0; c < n(); ++c)
        if ((s.high & ~s.pressed & bit(c)) && !urgent_holders(s, c)) m |= bit(c);
    return m;
  }
  // The mutor, its mutor, and so on. Normal cowns are never among them.
  set mutors_of(const state& s, unsigned mutor) const {
    if (!variant.chain || is(mistake::mute_in_circle)) return 0;
    set m = bit(mutor);
    for (unsigned round = 1; round < n(); ++round)
      for (unsigned k = 0; k < n(); ++k)
        if (s.mute[k] & m) m |= bit(k);
    return m;
  }

  void choose_mutor(const state& s, state& t, unsigned c, set receivers, set seen) const {
    const set senders = layout().head(s, c);
    const bool careless = is(mistake::mute_among_receivers);
    set mutors = 0;
    for (unsigned k = 0; k < n(); ++k)
      if ((seen & (careless ? ~0 : ~senders) & bit(k)) && is_mutor(s, k)) mutors |= bit(k);
    if (!mutors || s.mutor[c]) return;
    if (!careless) {
      if (senders & ~can_be_muted(s)) return;
      if (asks && (senders & receivers)) return;
    }
    const unsigned mutor = first(mutors);
    if (is(mistake::mute_in_send))
      mute(t, senders, mutor, mutor);
    else
      t.mutor[c] = static_cast<std::uint8_t>(mutor + 1);
    if (!((s.low | s.pressed) & bit(mutor)) && !is_long(s, mutor)) t.mistakes |= state::muted_idly;
  }

  // Whether senders to it are muted.
  bool is_mutor(const state& s, unsigned k) const {
    if (s.low & bit(k)) return true;
    return (s.high & bit(k)) && ((s.pressed & bit(k)) || overloaded(s, k));
  }

  // Of the senders those that can be muted, and for whom the mutor does not wait itself.
  void mute(state& s, set senders, unsigned mutor, unsigned noted_by) const {
    const set can = static_cast<set>(can_be_muted(s) & ~mutors_of(s, mutor));
    const set muting =
        is(mistake::mute_among_receivers) ? senders : static_cast<set>(senders & can);
    s.low |= muting;
    s.high &= static_cast<set>(~muting);
    if (!is(mistake::mute_without_entry)) s.mute[noted_by] |= muting;
    if (!is(mistake::mute_but_schedule)) s.scheduled &= static_cast<set>(~muting);
  }

  // In a chain a mutor that is normal again mutes nobody. Otherwise it frees them in the same step,
  // as normal as they were.
  bool mutes_senders(const state& s, unsigned c) const {
    if (!variant.chain || !s.mutor[c] || is(mistake::only_dropped)) return s.mutor[c];
    return s.special() & bit(s.mutor[c] - 1u);
  }

  state completed(const state& s, unsigned c, set msg) const {
    state t = s;
    t.scheduled |= is(mistake::forget_release) ? bit(c) : msg;
    if (mutes_senders(s, c)) {
      const unsigned mutor = s.mutor[c] - 1u;
      mute(t, msg, mutor, is(mistake::mute_self) ? c : mutor);
    }
    const bool resets = !s.mutor[c] || (variant.chain && !is(mistake::no_reset_with_mutor));
    if (resets && !is(mistake::priority_not_reset)) {
      const set muting = static_cast<set>(t.low & ~s.low);
      const set kept = is(mistake::pressure_forgotten) ? muting : muting | s.pressed;
      for (unsigned k = 0; k < n(); ++k)
        if ((msg & ~kept & bit(k)) && s.length[k] == (k == c ? 1 : 0) && !holders_to_keep(s, k)) {
          t.high &= static_cast<set>(~bit(k));
          t.low &= static_cast<set>(~bit(k));
        }
    }
    layout().pop(t, c);
    t.running &= static_cast<set>(~bit(c));
    t.mutor[c] = 0;
    if (variant.eager) free_all(s, t);
    note_freed(s, t);
    note_raised(s, t);
    return t;
  }

  // The environment cannot take more from c. That is as good as a long queue: c gets priority, with
  // all that it waits behind, and its senders are muted.
  state pressed(const state& s, unsigned c) const {
    state t = s;
    --t.pressure;
    t.pressed |= bit(c);
    prioritise(t, bit(c), is(mistake::press_skips_blockers));
    note_raised(s, t);
    return t;
  }

  // ... and now it can. Nothing need ever be sent to c again, so that those whom it has muted are
  // freed here and now, unless c has priority for another reason.
  state released(const state& s, unsigned c) const {
    state t = s;
    t.pressed &= static_cast<set>(~bit(c));
    const bool held = urgent_holders(s, c) && !is(mistake::release_forgets_holder);
    if (!overloaded(s, c) && !held && !is(mistake::release_keeps_high))
      t.high &= static_cast<set>(~bit(c));
    free_all(s, t);
    note_freed(s, t);
    note_raised(s, t);
    return t;
  }

  // The seed's Unmute: frees whom normal cowns have muted. Those whom it makes normal free theirs
  // in the next step.
  bool unmuted(state& s) const {
    if (is(mistake::unmute_never)) return false;
    if (is(mistake::unmute_on_idle)) return unmuted_on_idle(s);
    set freed = 0;
    const set normal = static_cast<set>(layout().all() & ~s.special());
    for (unsigned k = 0; k < n(); ++k)
      if (normal & bit(k)) freed |= static_cast<set>(s.mute[k] & s.low);
    if (!freed) return false;
    free(s, normal, freed);
    return true;
  }

  // As Verona had it: a worker that finds nothing to do frees everybody.
  bool unmuted_on_idle(state& s) const {
    bool somebody_sleeps = false;
    for (unsigned c = 0; c < n(); ++c) somebody_sleeps |= sleeps(s, c);
    if (!s.low || !(somebody_sleeps || !s.scheduled)) return false;
    free(s, layout().all(), s.low);
    return true;
  }

  // Whether c may free some of whom it has muted while it has priority.
  bool has_caught_up(const state& s, unsigned c) const {
    return variant.gradual && !(s.pressed & bit(c)) && (variant.lag || !is_longer(s, c, threshold));
  }

  // Whoever was freed without priority was in the mute set of a cown that was normal, or is now, or
  // has caught up.
  void note_freed(const state& s, state& t) const {
    const set freed = static_cast<set>(s.low & ~t.special());
    if (!freed) [[likely]]
      return;
    set due = 0;
    for (unsigned k = 0; k < n(); ++k)
      if (!(s.special() & t.special() & bit(k)) || has_caught_up(s, k)) due |= s.mute[k];
    if (freed & ~due) t.mistakes |= state::freed_early;
  }

  // Hop by hop, whoever was muted and has high priority is under pressure, or a message that waits
  // for it holds a cown of high priority; in a chain also one that was freed by a normal cown and
  // has too long a queue. Without hops, messages lend priority to those that they have yet to
  // reach.
  void note_raised(const state& s, state& t) const {
    const set raised = static_cast<set>(s.low & t.high & ~t.pressed);
    if (!raised || !variant.hopwise) [[likely]]
      return;
    set freed = 0;
    if (variant.chain)
      for (unsigned k = 0; k < n(); ++k)
        if (!(t.special() & bit(k)) || has_caught_up(s, k)) freed |= s.mute[k];
    for (unsigned c = 0; c < n(); ++c) {
      const bool has_reason = urgent_holders(t, c) || ((freed & bit(c)) && is_long(t, c));
      if ((raised & bit(c)) && !has_reason) t.mistakes |= state::raised_idly;
    }
  }

  static void free(state& s, set mutors, set freed) {
    s.low &= static_cast<set>(~freed);
    s.scheduled |= freed;
    for (unsigned k = 0; k < state::most_cowns; ++k)
      if (mutors & bit(k)) s.mute[k] = 0;
  }

  // Eager unmuting, the end of a step from s: all normal cowns free those that they muted, who are
  // normal then and do the same. In a chain those with too long a queue get high priority instead
  // and keep whom they have muted.
  void free_all(const state& s, state& t) const {
    if (is(mistake::unmute_never) || is(mistake::unmute_on_idle)) return;
    set due = layout().all();
    if (is(mistake::only_dropped)) due &= s.special();
    for (;;) {
      const set normal = static_cast<set>(due & ~t.special());
      set freed = 0;
      for (unsigned k = 0; k < n(); ++k)
        if (normal & bit(k)) freed |= static_cast<set>(t.mute[k] & t.low);
      free(t, normal, freed);
      for (unsigned k = 0; variant.chain && k < n(); ++k)
        if ((freed & bit(k)) && is_longer(t, k, low_mark())) t.high |= bit(k);
      if (!freed || is(mistake::no_cascade)) return;
    }
  }

  bool unmutes_later() const { return !variant.eager || is(mistake::unmute_on_idle); }
};

}  // namespace rota::verify

#endif
