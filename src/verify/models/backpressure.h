// Seed 001: cowns that mute the senders of overloaded receivers.
#ifndef ROTA_VERIFY_MODELS_BACKPRESSURE_H
#define ROTA_VERIFY_MODELS_BACKPRESSURE_H

#include <rota/verify/checker/model.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::verify {

class backpressure {
 public:
  static constexpr unsigned most_cowns = 5;
  static constexpr unsigned most_fuel = 8;
  static constexpr unsigned most_messages = most_cowns + most_fuel;

  using set = std::uint8_t;  // a bit a cown

  enum priority : std::int8_t { low = -1, normal = 0, high = 1 };

  struct state {
    std::uint8_t fuel = 0;
    set scheduled = 0;
    set running = 0;
    set high = 0;  // of priority 1
    set low = 0;   // of priority -1
    std::array<set, most_cowns> mute{};
    std::array<std::uint8_t, most_cowns> blocker{};  // 0: none, else the cown + 1
    std::array<std::uint8_t, most_cowns> mutor{};    // the same
    std::array<std::uint8_t, most_cowns> length{};
    std::array<std::array<set, most_messages>, most_cowns> queue{};

    set head(unsigned c) const { return length[c] ? queue[c][0] : set{0}; }
    void push(unsigned c, set m) { queue[c][length[c]++] = m; }
    void pop(unsigned c) {
      --length[c];
      for (unsigned i = 0; i < length[c]; ++i) queue[c][i] = queue[c][i + 1];
      queue[c][length[c]] = 0;
    }
  };

  enum act { terminating, acquire, prerun, send, complete, unmute };

  int cowns = 3;
  int fuel = 3;
  int threshold = 2;

  template <class C>
  void constants(C& c) {
    c("Cowns", cowns, 1, int{most_cowns}, "how many cowns");
    c("BehaviourLimit", fuel, 0, int{most_fuel}, "how many behaviours are sent in all");
    c("OverloadThreshold", threshold, 0, 10, "a longer queue is an overloaded one");
  }

  std::vector<action> actions() const {
    const auto n = static_cast<unsigned>(cowns);
    return {{"Terminating", 1, "", fairness::none}, {"Acquire", n, "Run", fairness::weak},
            {"Prerun", n, "Run", fairness::weak},   {"Send", n, "Run", fairness::weak},
            {"Complete", n, "Run", fairness::weak}, {"Unmute", 1, "", fairness::weak}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.fuel = static_cast<std::uint8_t>(fuel);
    s.scheduled = all();
    for (unsigned c = 0; c < n(); ++c) s.push(c, bit(c));
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (everybody_sleeps(s)) emit(terminating, 0, s);
    for (unsigned c = 0; c < n(); ++c) {
      const set msg = s.head(c);
      if ((s.scheduled & bit(c)) && msg && c < last(msg)) emit(acquire, c, acquired(s, c, msg));
      if ((s.scheduled & ~s.running & bit(c)) && msg && c == last(msg))
        emit(prerun, c, preran(s, c, msg));
      if (s.running & bit(c)) {
        if (s.fuel > 0)
          for (unsigned receivers = 1; receivers <= all(); ++receivers)
            emit(send, c, sent(s, c, static_cast<set>(receivers)));
        emit(complete, c, completed(s, c, msg));
      }
      state t = s;
      if (unmuted(t)) emit(unmute, 0, t);
    }
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("MessageLimit", [this](const state& s) {
      unsigned messages = 0;
      for (unsigned c = 0; c < n(); ++c) messages += s.length[c];
      return messages <= static_cast<unsigned>(fuel + cowns);
    });
    p.invariant("RunningIsScheduled", [this](const state& s) {
      return each([&](unsigned c) {
        return !(s.running & bit(c)) || ((s.scheduled & bit(c)) && c == last(s.head(c)));
      });
    });
    p.invariant("CownNotMutedBySelf", [this](const state& s) {
      return each([&](unsigned c) { return !(s.mute[c] & bit(c)); });
    });
    p.invariant("LowPriorityMuted", [this](const state& s) { return !(s.low & ~muted(s)); });
    p.invariant("WillScheduleCown", [this](const state& s) {
      set unmutable = 0;
      for (unsigned k = 0; k < n(); ++k)
        if (!((s.high | s.low) & bit(k))) unmutable |= s.mute[k];
      return s.scheduled || (s.low & unmutable);
    });
    p.invariant("Nonblocking", [this](const state& s) {
      return each([&](unsigned c) {
        for (unsigned i = 0; i < s.length[c]; ++i) {
          const set m = s.queue[c][i];
          if ((m & s.high & below(c)) && (m & s.low & (below(c) | bit(c)))) return false;
        }
        return true;
      });
    });
    p.invariant("RunningNotBlocked", [this](const state& s) {
      return each([&](unsigned c) {
        if (!(s.running & bit(c))) return true;
        for (unsigned k = 0; k < n(); ++k)
          if ((s.head(c) & bit(k)) && s.blocker[k]) return false;
        return true;
      });
    });
    p.invariant("UnscheduledByMuteOrAcquire", [this](const state& s) {
      return static_cast<set>(all() & ~(s.low | acquired_ones(s))) == s.scheduled;
    });
    p.invariant("BehaviourAcquisition", [this](const state& s) {
      return each([&](unsigned c) { return !(queued(s, c) & below(c) & s.scheduled); });
    });
    p.invariant("AcquiredOnce", [this](const state& s) {
      set once = 0;
      return each([&](unsigned b) {
        const set mine = queued(s, b) & below(b);
        if (mine & once) return false;
        once |= mine;
        return true;
      });
    });
    p.invariant("SelfInCurrentMessage", [this](const state& s) {
      return each([&](unsigned c) { return !s.length[c] || (s.head(c) & bit(c)); });
    });
    p.invariant("HighPriorityScheduledOrAcquired",
                [this](const state& s) { return !(s.high & ~(s.scheduled | acquired_ones(s))); });
    p.invariant("HighPriorityInQueue", [this](const state& s) {
      set somewhere = 0;
      for (unsigned c = 0; c < n(); ++c) somewhere |= queued(s, c);
      return !(s.high & ~somewhere);
    });
    p.invariant("SleepingIsNormalOrRequired", [this](const state& s) {
      set required = 0;
      for (unsigned k = 0; k < n(); ++k)
        required |= static_cast<set>(queued(s, k) & ~(below(k) | bit(k)));
      return each([&](unsigned c) {
        return !sleeps(s, c) || !((s.high | s.low) & bit(c)) || (required & bit(c));
      });
    });
    p.eventually_always("Termination", [this](const state& s) { return everybody_sleeps(s); });
    p.always_eventually("SomeCownWillBeScheduled", [](const state& s) { return s.scheduled != 0; });
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("fuel", unsigned{s.fuel});
    f("scheduled", unsigned{s.scheduled});
  }

  using packed = std::array<word, 3>;

  packed pack(const state& s) const {
    packed out{};
    unsigned at = 0;
    const auto put = [&](unsigned value, unsigned bits) {
      out[at / 64] |= word{value} << (at % 64);
      if (at % 64 + bits > 64) out[at / 64 + 1] |= word{value} >> (64 - at % 64);
      at += bits;
    };
    put(s.fuel, 4);
    const unsigned m = n();
    put(s.scheduled, m);
    put(s.running, m);
    put(s.high, m);
    put(s.low, m);
    for (unsigned c = 0; c < m; ++c) {
      put(s.mute[c], m);
      put(s.blocker[c], 3);
      put(s.mutor[c], 3);
      put(s.length[c], 4);
      for (unsigned i = 0; i < s.length[c]; ++i) put(s.queue[c][i], m);
    }
    return out;
  }

  state unpack(const packed& in) const {
    state s;
    unsigned at = 0;
    const auto get = [&](unsigned bits) {
      word value = in[at / 64] >> (at % 64);
      if (at % 64 + bits > 64) value |= in[at / 64 + 1] << (64 - at % 64);
      at += bits;
      return static_cast<std::uint8_t>(value & ((1u << bits) - 1));
    };
    const unsigned m = n();
    s.fuel = get(4);
    s.scheduled = get(m);
    s.running = get(m);
    s.high = get(m);
    s.low = get(m);
    for (unsigned c = 0; c < m; ++c) {
      s.mute[c] = get(m);
      s.blocker[c] = get(3);
      s.mutor[c] = get(3);
      s.length[c] = get(4);
      for (unsigned i = 0; i < s.length[c]; ++i) s.queue[c][i] = get(m);
    }
    return s;
  }

 private:
  static set bit(unsigned c) { return static_cast<set>(1u << c); }
  static set below(unsigned c) { return static_cast<set>((1u << c) - 1); }
  static unsigned first(set m) { return static_cast<unsigned>(std::countr_zero(m)); }
  static unsigned last(set m) { return static_cast<unsigned>(std::bit_width(m)) - 1; }
  unsigned n() const { return static_cast<unsigned>(cowns); }
  set all() const { return static_cast<set>((1u << n()) - 1); }

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
  bool overloaded(const state& s, unsigned c) const { return s.length[c] > threshold; }
  set muted(const state& s) const {
    set m = 0;
    for (unsigned c = 0; c < n(); ++c) m |= s.mute[c];
    return m;
  }
  set queued(const state& s, unsigned c) const {
    set m = 0;
    for (unsigned i = 0; i < s.length[c]; ++i) m |= s.queue[c][i];
    return m;
  }
  set acquired_ones(const state& s) const {
    set m = 0;
    for (unsigned c = 0; c < n(); ++c) m |= queued(s, c) & below(c);
    return m;
  }

  // Gives high priority to those that lack it and to all that these wait behind.
  void prioritise(state& s, set who) const {
    set them = static_cast<set>(who & ~s.high);
    for (unsigned c = 0; c < n(); ++c) {
      if (!(who & ~s.high & bit(c))) continue;
      for (unsigned b = s.blocker[c]; b; b = s.blocker[b - 1]) them |= bit(b - 1);
    }
    s.scheduled |= s.low & them;
    s.low &= static_cast<set>(~them);
    s.high |= them;
  }

  state acquired(const state& s, unsigned c, set msg) const {
    state t = s;
    const set rest = static_cast<set>(msg & ~(below(c) | bit(c)));
    if (msg & s.high) prioritise(t, rest);
    t.scheduled &= static_cast<set>(~bit(c));
    const unsigned to = first(rest);
    t.blocker[c] = static_cast<std::uint8_t>(to + 1);
    t.pop(c);
    t.push(to, msg);
    return t;
  }

  state preran(const state& s, unsigned c, set msg) const {
    state t = s;
    const bool needs = overloaded(s, c) || (queued(s, c) & s.high & ~bit(c));
    t.high = static_cast<set>((s.high & ~bit(c)) | (needs ? bit(c) : 0));
    t.low &= static_cast<set>(~bit(c));
    t.running |= bit(c);
    for (unsigned k = 0; k < n(); ++k)
      if (msg & bit(k)) t.blocker[k] = 0;
    return t;
  }

  state sent(const state& s, unsigned c, set receivers) const {
    state t = s;
    const set senders = s.head(c);
    if (receivers & s.high) {
      prioritise(t, receivers);
      set mutors = 0;
      for (unsigned k = 0; k < n(); ++k)
        if ((receivers & ~senders & bit(k)) &&
            (((s.high & bit(k)) && overloaded(s, k)) || (s.low & bit(k))))
          mutors |= bit(k);
      if (mutors && !s.mutor[c] && !(senders & (s.high | s.low)) && !(senders & receivers))
        t.mutor[c] = static_cast<std::uint8_t>(first(mutors) + 1);
    }
    t.push(first(receivers), receivers);
    --t.fuel;
    return t;
  }

  state completed(const state& s, unsigned c, set msg) const {
    state t = s;
    if (s.mutor[c]) {
      const set muting = static_cast<set>(msg & ~(s.high | s.low));
      t.low |= muting;
      t.mute[s.mutor[c] - 1u] |= muting;
      t.scheduled = static_cast<set>((s.scheduled | msg) & ~muting);
    } else {
      t.scheduled |= msg;
      for (unsigned k = 0; k < n(); ++k) {
        if ((msg & bit(k)) && s.length[k] == (k == c ? 1 : 0)) {
          t.high &= static_cast<set>(~bit(k));
          t.low &= static_cast<set>(~bit(k));
        }
      }
    }
    t.pop(c);
    t.running &= static_cast<set>(~bit(c));
    t.mutor[c] = 0;
    return t;
  }

  bool unmuted(state& s) const {
    set unmuting = 0;
    set keys = 0;
    for (unsigned k = 0; k < n(); ++k) {
      if ((s.high | s.low) & bit(k)) continue;
      keys |= bit(k);
      unmuting |= s.mute[k] & s.low;
    }
    if (!unmuting) return false;
    s.low &= static_cast<set>(~unmuting);
    s.scheduled |= unmuting;
    for (unsigned k = 0; k < n(); ++k)
      if (keys & bit(k)) s.mute[k] = 0;
    return true;
  }
};

}  // namespace rota::verify

#endif
