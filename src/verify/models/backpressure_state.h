// What the models of backpressure keep: sets of cowns, queues of messages, and who mutes whom.
#ifndef ROTA_VERIFY_MODELS_BACKPRESSURE_STATE_H
#define ROTA_VERIFY_MODELS_BACKPRESSURE_STATE_H

#include <rota/verify/checker/system.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace rota::verify {

// Cowns are counted from 0 here and from 1 in the spec and in what is printed.
struct backpressure_state {
  static constexpr unsigned most_cowns = 6;
  static constexpr unsigned most_messages = 15;  // in one queue
  static constexpr unsigned most_pressure = 3;

  using set = std::uint8_t;  // a bit a cown; a message is the set of cowns that it needs
  using packed = std::array<word, 3>;

  std::uint8_t fuel = 0;
  set scheduled = 0;
  set running = 0;
  set high = 0;  // of priority 1
  set low = 0;   // of priority -1
  set pressed = 0;
  std::uint8_t pressure = 0;  // how often cowns may still be pressed
  // What happened and should not have: bits of `mistake`. History, for properties of steps.
  std::uint8_t mistakes = 0;
  std::array<set, most_cowns> mute{};
  std::array<std::uint8_t, most_cowns> blocker{};  // 0: none, else the cown + 1
  std::array<std::uint8_t, most_cowns> mutor{};    // the same
  std::array<std::uint8_t, most_cowns> length{};
  // The messages, the oldest in the lowest bits, each as wide as there are cowns.
  std::array<word, most_cowns> queue{};

  enum mistake : std::uint8_t { freed_early = 1, muted_idly = 2, held_up = 4, raised_idly = 8 };

  static constexpr set bit(unsigned c) { return static_cast<set>(1u << c); }
  static constexpr set below(unsigned c) { return static_cast<set>((1u << c) - 1); }
  static constexpr set above(unsigned c) { return static_cast<set>(~((2u << c) - 1)); }
  static constexpr unsigned first(set m) { return static_cast<unsigned>(std::countr_zero(m)); }
  static constexpr unsigned last(set m) { return static_cast<unsigned>(std::bit_width(m)) - 1; }

  set special() const { return static_cast<set>(high | low); }
};

// Reads and changes states with a given number of cowns.
class backpressure_layout {
 public:
  using state = backpressure_state;
  using set = state::set;

  // Pressure takes room in packed states only if there is some.
  constexpr backpressure_layout(unsigned cowns, bool with_pressure)
      : n_(cowns), pressure_bits_(with_pressure ? 2 + cowns : 0) {}

  set all() const { return state::below(n_); }

  // Empty if there is none.
  set head(const state& s, unsigned c) const { return static_cast<set>(s.queue[c] & all()); }

  // All cowns that messages of a queue name.
  set queued(const state& s, unsigned c) const {
    set m = 0;
    for (word q = s.queue[c]; q; q >>= n_) m |= static_cast<set>(q & all());
    return m;
  }

  // A full queue drops the message: only a mutant fills it, and is caught by then.
  void push(state& s, unsigned c, set m) const {
    if (s.length[c] == state::most_messages || (s.length[c] + 1u) * n_ > 64) return;
    s.queue[c] |= word{m} << (s.length[c] * n_);
    ++s.length[c];
  }
  void pop(state& s, unsigned c) const {
    s.queue[c] >>= n_;
    --s.length[c];
  }

  // Whether states with so many messages in all, and in one queue, can be packed.
  bool fits(unsigned messages, unsigned longest) const {
    return longest <= state::most_messages && longest * n_ <= 64 &&
           8 + 4 * n_ + pressure_bits_ + n_ * (n_ + 10) + messages * n_ <=
               64 * std::tuple_size_v<state::packed>;
  }

  state::packed pack(const state& s) const {
    state::packed out{};
    unsigned at = 0;
    const auto put = [&](word value, unsigned bits) {
      if (bits == 0) return;
      out[at / 64] |= value << (at % 64);
      if (at % 64 + bits > 64) out[at / 64 + 1] |= value >> (64 - at % 64);
      at += bits;
    };
    put(word{s.fuel} | word{s.mistakes} << 4, 8);
    put(word{s.scheduled} | word{s.running} << n_ | word{s.high} << 2 * n_ | word{s.low} << 3 * n_,
        4 * n_);
    put(word{s.pressure} | word{s.pressed} << 2, pressure_bits_);
    for (unsigned c = 0; c < n_; ++c) {
      put(word{s.length[c]} | word{s.blocker[c]} << 4 | word{s.mutor[c]} << 7 |
              word{s.mute[c]} << 10,
          10 + n_);
      put(s.queue[c], s.length[c] * n_);
    }
    return out;
  }

  state unpack(const state::packed& in) const {
    state s;
    unsigned at = 0;
    const auto get = [&](unsigned bits) {
      if (bits == 0) return word{0};
      word value = in[at / 64] >> (at % 64);
      if (at % 64 + bits > 64) value |= in[at / 64 + 1] << (64 - at % 64);
      at += bits;
      return value & (~word{0} >> (64 - bits));
    };
    const auto byte = [](word value) { return static_cast<std::uint8_t>(value); };
    const word whole = get(8);
    s.fuel = byte(whole & 15);
    s.mistakes = byte(whole >> 4);
    const word sets = get(4 * n_);
    s.scheduled = byte(sets & all());
    s.running = byte(sets >> n_ & all());
    s.high = byte(sets >> 2 * n_ & all());
    s.low = byte(sets >> 3 * n_);
    const word pressure = get(pressure_bits_);
    s.pressure = byte(pressure & 3);
    s.pressed = byte(pressure >> 2);
    for (unsigned c = 0; c < n_; ++c) {
      const word cown = get(10 + n_);
      s.length[c] = byte(cown & 15);
      s.blocker[c] = byte(cown >> 4 & 7);
      s.mutor[c] = byte(cown >> 7 & 7);
      s.mute[c] = byte(cown >> 10);
      s.queue[c] = get(s.length[c] * n_);
    }
    return s;
  }

  static std::string text(set m) {
    std::string names = "{";
    for (unsigned c = 0; c < state::most_cowns; ++c)
      if (m & state::bit(c)) names += (names.size() > 1 ? "," : "") + std::to_string(c + 1);
    return names + "}";
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("fuel", unsigned{s.fuel});
    if (pressure_bits_ > 0) f("pressure", unsigned{s.pressure});
    for (unsigned c = 0; c < n_; ++c) {
      const std::string which = " " + std::to_string(c + 1);
      f("cown" + which, status(s, c));
      f("queue" + which, messages(s, c));
      f("mute" + which, text(s.mute[c]));
      f("blocker" + which, s.blocker[c] ? std::to_string(s.blocker[c]) : "none");
      f("mutor" + which, s.mutor[c] ? std::to_string(s.mutor[c]) : "none");
    }
    f("mistake", s.mistakes & state::freed_early  ? "a cown was freed before its mutor was normal"
                 : s.mistakes & state::muted_idly ? "a sender is muted for one without load"
                 : s.mistakes & state::held_up    ? "a message of high priority met one without"
                 : s.mistakes & state::raised_idly
                     ? "a muted cown has high priority, and nothing of high priority waits for it"
                     : "none");
  }

 private:
  std::string status(const state& s, unsigned c) const {
    std::string text = !(s.scheduled & state::bit(c)) ? "unscheduled"
                       : (s.running & state::bit(c))  ? "running"
                       : s.length[c]                  ? "scheduled"
                                                      : "sleeping";
    if (s.running & ~s.scheduled & state::bit(c)) text += " and running";
    text += s.high & state::bit(c) ? ", high" : s.low & state::bit(c) ? ", low" : ", normal";
    return text + (s.pressed & state::bit(c) ? ", pressed" : "");
  }
  std::string messages(const state& s, unsigned c) const {
    std::string all_of_them = "<";
    for (unsigned i = 0; i < s.length[c]; ++i)
      all_of_them += (i ? " " : "") + text(static_cast<set>(s.queue[c] >> i * n_ & all()));
    return all_of_them + ">";
  }

  unsigned n_;
  unsigned pressure_bits_;
};

}  // namespace rota::verify

#endif
