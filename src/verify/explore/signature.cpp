// When do two schedules go on in the same ways?
//
// When their threads stand at the same places with the same memory, and when the explorer's own
// knowledge means the same. The bytes of stacks and heap are compared as they are. Clocks count
// steps, which differ, but they are only ever used to ask some questions: which stores are hidden
// from who knows this much, and which accesses happened before. So the answers are compared instead
// of the clocks, and since joining two clocks joins their answers, and new stores are newer than
// all clocks, equal answers stay equal.
//
// Stores that are hidden from everybody are left out. Rule R1 of memory.cpp, which asks when steps
// were taken, and the limit on reading an old value again are not used together with this: what
// they save meets in a state.
//
// One question is left out: whether the last access to an atomic happened before its end. Two
// schedules that differ in nothing else are taken for the same, so that one of the two mistakes in
// a lifetime may be missed.

#include <rota/base/sync.h>

#include <algorithm>
#include <cstring>

#include "verify/explore/engine.h"

namespace rota::explore::detail {

namespace {

// Beyond this the comparison costs more than it saves.
constexpr std::size_t largest_heap = 64 * 1024;

class hasher {
 public:
  void add(std::uint64_t word) noexcept {
    a_ = (a_ ^ word) * 0x9E3779B97F4A7C15u;
    a_ ^= a_ >> 29;
    b_ = (b_ + word) * 0xD6E8FEB86659FD93u;
    b_ ^= b_ >> 32;
  }
  void add(const void* begin, const void* end) noexcept {
    const char* at = static_cast<const char*>(begin);
    const char* const stop = static_cast<const char*>(end);
    for (; stop - at >= 8; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, at, sizeof word);
      add(word);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, at, static_cast<std::size_t>(stop - at));
    add(rest);
  }
  std::uint64_t a() const noexcept { return a_; }
  std::uint64_t b() const noexcept { return b_; }

 private:
  std::uint64_t a_ = 0x243F6A8885A308D3u;
  std::uint64_t b_ = 0x13198A2E03707344u;
};

}  // namespace

class engine::signer {
 public:
  explicit signer(const engine& e) : engine_(e) {
    for (std::uint32_t i = 0; i < e.used_locations_; ++i) {
      const location& l = e.locations_[i];
      if (l.is_gone) continue;
      std::size_t oldest = l.messages.size() - 1;
      for (unsigned t = 0; t < e.count_; ++t)
        if (e.threads_[t].is != thread_state::finished)
          oldest = std::min(oldest, oldest_visible(l, e.threads_[t].now.seen));
      parts_.push_back({&l, oldest});
    }
    for (std::uint32_t i = 0; i < e.used_cells_; ++i)
      if (!e.cells_[i].is_gone) cells_.push_back(&e.cells_[i]);
  }

  signature sign() {
    const auto bytes = engine_.heap_.bytes();
    hash_.add(bytes.data(), bytes.data() + bytes.size());
    hash_.add(engine_.spurious_ | std::uint64_t{engine_.early_} << 32);
    hash_.add(engine_.reuses_);
    for (const freed_block& b : engine_.freed_) {
      hash_.add(reinterpret_cast<std::uintptr_t>(b.where));
      add(b.when);
    }
    if (engine_.clock_was_read_)
      hash_.add(static_cast<std::uint64_t>(engine_.time_.time_since_epoch().count()));
    for (unsigned t = 0; t < engine_.count_; ++t) add(engine_.threads_[t]);
    for (const part& p : parts_) add(p);
    for (const plain* c : cells_) hash_.add(reinterpret_cast<std::uintptr_t>(c->object));
    for (std::uint32_t i = 0; i < engine_.used_locks_; ++i) {
      const lock_state& l = engine_.locks_[i];
      if (l.is_gone) continue;
      hash_.add(i | std::uint64_t(static_cast<std::uint32_t>(l.holder)) << 32);
      add(l.released);
    }
    add_seen(engine_.sc_fenced_);
    add_seen(engine_.heavy_fenced_);
    add_seen(engine_.light_fenced_);
    return {hash_.a(), hash_.b()};
  }

 private:
  struct part {
    const location* of;
    std::size_t oldest;
  };

  void add(const thread_state& t) {
    hash_.add(t.is | std::uint64_t{t.waits} << 8 | std::uint64_t{t.has_paused} << 9 |
              std::uint64_t{t.idle_pauses} << 16 | std::uint64_t{t.awaited} << 32);
    if (t.is == thread_state::finished) {
      add(t.now);
      return;
    }
    const step& s = t.pending;
    hash_.add(static_cast<std::uint64_t>(s.what) | std::uint64_t{s.writes} << 8 |
              std::uint64_t{s.sc} << 9 | std::uint64_t{s.ticks} << 10 |
              std::uint64_t{s.object} << 32);
    hash_.add(t.futex);
    if (t.deadline != time_point::max())
      hash_.add(static_cast<std::uint64_t>((t.deadline - engine_.time_).count()));
    for (void* p : t.slots) hash_.add(reinterpret_cast<std::uintptr_t>(p));
    add(t.now);
    add(t.acquired);
    add(t.released);
    // Below the frame's address stand the registers that its function has saved.
    if (t.frame) hash_.add(static_cast<const char*>(t.frame) - saved_registers, t.fiber->top());
  }

  void add(const part& p) {
    const location& l = *p.of;
    hash_.add(reinterpret_cast<std::uintptr_t>(l.object));
    hash_.add(std::max<std::size_t>(l.last_sc, p.oldest) - p.oldest);
    for (std::size_t i = p.oldest; i < l.messages.size(); ++i) {
      const message& m = l.messages[i];
      hash_.add(m.value);
      std::uint64_t about = m.followed;
      for (unsigned t = 0; t < engine_.count_; ++t)
        if (m.first_seen.known[t] <= engine_.threads_[t].paused_at) about |= 2u << t;
      hash_.add(about);
      add(m.released);
    }
  }

  void add(const stamp& s) {
    add_seen(s.seen);
    std::uint64_t bits = 1;
    const auto ask = [&](bool answer) {
      if (bits >> 63) {
        hash_.add(bits);
        bits = 1;
      }
      bits = bits << 1 | answer;
    };
    for (const plain* c : cells_) {
      for (unsigned t = 0; t < engine_.count_; ++t) {
        ask(c->reads.known[t] <= s.before.known[t]);
        ask(c->writes.known[t] <= s.before.known[t]);
      }
    }
    for (const part& p : parts_)
      ask(p.of->maker == most_threads || p.of->made_at <= s.before.known[p.of->maker]);
    hash_.add(bits);
  }

  // From which store on a location is visible to who knows this much.
  void add_seen(const vector_clock& seen) {
    for (const part& p : parts_)
      hash_.add(std::max(oldest_visible(*p.of, seen), p.oldest) - p.oldest);
  }

  // Five of eight bytes. What stands below them to align the stack is not the program's: with g++
  // it is what an earlier step has left there.
  static constexpr std::ptrdiff_t saved_registers = 40;

  const engine& engine_;
  std::vector<part> parts_;
  std::vector<const plain*> cells_;
  hasher hash_;
};

std::optional<engine::signature> engine::sign() const {
#ifdef ROTA_ASAN
  return std::nullopt;  // Local variables are not on the stack.
#endif
  if (heap_.bytes().size() > largest_heap) return std::nullopt;
  return signer(*this).sign();
}

}  // namespace rota::explore::detail
