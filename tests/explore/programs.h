// Small programs for tests of the explorer, each in a line, and what exploring them yields.
//
//   auto p = parse("x=1.rel; y.acq | y=1.rel; x.acq || x y");
//   explore_all(p).outcomes;   // {"0011", "0111", ...}: what was read, then the last x and y
//
// Threads stand between bars. x, y and z are atomics that begin with 0; d is plain memory.
//
//   x=1.rel          store                    x.acq      load
//   x<1.ar           exchange                 x+1.rlx    fetch_add
//   x?0:1.ar,acq     compare-exchange of 0 by 1, with the orders of success and failure
//   F.sc  light  heavy                        fences
//   d!  d?           write and read d, unless the thread last read 0
//   lock  unlock     the one mutex
//   x~0  x^          futex_wait while x is 0, futex_wake of one
//   x@0.acq          looks at x, with pauses, until it is not 0
//   pause            as in such a loop
//
// Orders are rlx, acq, rel, ar and sc.
#ifndef ROTA_TESTS_EXPLORE_PROGRAMS_H
#define ROTA_TESTS_EXPLORE_PROGRAMS_H

#include <rota/verify/explore/explore.h>

#include <array>
#include <cstdint>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota::test {

namespace explore = rota::explore;

struct instruction {
  enum class kind : std::uint8_t {
    load,
    store,
    exchange,
    add,
    compare,
    fence,
    light,
    heavy,
    plain_read,
    plain_write,
    lock,
    unlock,
    wait,
    wake,
    spin,
    pause,
  };

  kind what = kind::load;
  unsigned location = 0;
  unsigned expected = 0;  // by compare, wait and spin
  unsigned value = 0;
  std::memory_order order = std::memory_order_relaxed;
  std::memory_order failure = std::memory_order_relaxed;

  bool always_writes() const noexcept {
    return what == kind::store || what == kind::exchange || what == kind::add;
  }
  bool is_read() const noexcept {
    return what == kind::load || what == kind::exchange || what == kind::add ||
           what == kind::compare;
  }
  bool is_plain() const noexcept { return what == kind::plain_read || what == kind::plain_write; }
  bool may_block() const noexcept {
    return what == kind::lock || what == kind::unlock || what == kind::wait || what == kind::wake ||
           what == kind::spin;
  }
};

using kind = instruction::kind;

struct program {
  std::vector<std::vector<instruction>> threads;
  std::vector<unsigned> finals;  // locations whose last value belongs to the outcome

  std::size_t reads() const noexcept {
    std::size_t n = 0;
    for (const auto& t : threads)
      for (const instruction& i : t) n += i.is_read();
    return n;
  }
};

inline constexpr unsigned locations = 3;

inline const char* text_of(std::memory_order o) {
  switch (o) {
    case std::memory_order_relaxed:
      return "rlx";
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return "acq";
    case std::memory_order_release:
      return "rel";
    case std::memory_order_acq_rel:
      return "ar";
    case std::memory_order_seq_cst:
      return "sc";
  }
  return "?";
}

inline std::string text_of(const instruction& i) {
  const std::string at(1, "xyz"[i.location]);
  const std::string order = std::string(".") + text_of(i.order);
  const std::string value = std::to_string(i.value);
  switch (i.what) {
    case kind::load:
      return at + order;
    case kind::store:
      return at + "=" + value + order;
    case kind::exchange:
      return at + "<" + value + order;
    case kind::add:
      return at + "+" + value + order;
    case kind::compare:
      return at + "?" + std::to_string(i.expected) + ":" + value + order + "," + text_of(i.failure);
    case kind::fence:
      return "F" + order;
    case kind::light:
      return "light";
    case kind::heavy:
      return "heavy";
    case kind::plain_read:
      return "d?";
    case kind::plain_write:
      return "d!";
    case kind::lock:
      return "lock";
    case kind::unlock:
      return "unlock";
    case kind::wait:
      return at + "~" + std::to_string(i.expected);
    case kind::wake:
      return at + "^";
    case kind::spin:
      return at + "@" + std::to_string(i.expected) + order;
    case kind::pause:
      return "pause";
  }
  return "?";
}

inline std::string text_of(const program& p) {
  std::string all;
  for (std::size_t t = 0; t < p.threads.size(); ++t) {
    if (t > 0) all += " | ";
    for (std::size_t i = 0; i < p.threads[t].size(); ++i)
      all += (i > 0 ? "; " : "") + text_of(p.threads[t][i]);
  }
  if (!p.finals.empty()) all += " ||";
  for (const unsigned l : p.finals) all += std::string(" ") + "xyz"[l];
  return all;
}

namespace detail {

// Reads a program from left to right.
class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  program all() {
    program p;
    p.threads.emplace_back();
    while (!at_end()) {
      if (take("||")) {
        while (!at_end()) p.finals.push_back(location());
      } else if (take("|")) {
        p.threads.emplace_back();
      } else {
        p.threads.back().push_back(one());
        take(";");
      }
    }
    return p;
  }

 private:
  instruction one() {
    instruction i;
    if (take("F.")) {
      i.what = kind::fence;
      i.order = order();
    } else if (take("light")) {
      i.what = kind::light;
    } else if (take("heavy")) {
      i.what = kind::heavy;
    } else if (take("d!")) {
      i.what = kind::plain_write;
    } else if (take("d?")) {
      i.what = kind::plain_read;
    } else if (take("pause")) {
      i.what = kind::pause;
    } else if (take("lock")) {
      i.what = kind::lock;
    } else if (take("unlock")) {
      i.what = kind::unlock;
    } else {
      access(i);
    }
    return i;
  }

  void access(instruction& i) {
    i.location = location();
    if (take("^")) {
      i.what = kind::wake;
      return;
    }
    if (take("~")) {
      i.what = kind::wait;
      i.expected = number();
      return;
    }
    if (take("=")) {
      i.what = kind::store;
      i.value = number();
    } else if (take("<")) {
      i.what = kind::exchange;
      i.value = number();
    } else if (take("+")) {
      i.what = kind::add;
      i.value = number();
    } else if (take("@")) {
      i.what = kind::spin;
      i.expected = number();
    } else if (take("?")) {
      i.what = kind::compare;
      i.expected = number();
      need(":");
      i.value = number();
    }
    need(".");
    i.order = order();
    if (i.what == kind::compare) {
      need(",");
      i.failure = order();
    }
  }

  unsigned location() {
    for (unsigned l = 0; l < locations; ++l)
      if (take(std::string_view("xyz").substr(l, 1))) return l;
    throw wrong();
  }
  std::memory_order order() {
    for (const auto o :
         {std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
          std::memory_order_acq_rel, std::memory_order_seq_cst})
      if (take(text_of(o))) return o;
    throw wrong();
  }
  unsigned number() {
    skip();
    if (at_ == text_.size() || text_[at_] < '0' || text_[at_] > '9') throw wrong();
    return static_cast<unsigned>(text_[at_++] - '0');
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) throw wrong();
  }
  std::invalid_argument wrong() const {
    return std::invalid_argument("no program: '" + std::string(text_) + "', from '" +
                                 std::string(text_.substr(at_)) + "' on");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

inline program parse(std::string_view text) { return detail::parser(text).all(); }

using outcome_set = std::set<std::string>;

inline std::string text_of(const outcome_set& s) {
  std::string all;
  for (const std::string& o : s) all += (all.empty() ? "" : " ") + o;
  return all;
}

inline outcome_set outcomes_of(const std::string& text) {
  std::istringstream words(text);
  outcome_set all;
  for (std::string w; words >> w;) all.insert(w);
  return all;
}

inline char digit(unsigned value) { return "0123456789abcdefghijklmnopqrstuv"[value % 32]; }

// Outcomes while a program is explored, when nothing may be allocated: five bits for each value.
class outcome_table {
 public:
  outcome_table() : slots_(std::size_t{1} << 14) {}

  void add(std::uint64_t packed) noexcept {
    packed |= used;
    std::size_t at = (packed * 0x9E3779B97F4A7C15u) >> 50;
    while (slots_[at] != 0 && slots_[at] != packed) at = (at + 1) % slots_.size();
    slots_[at] = packed;
  }
  outcome_set all(std::size_t values) const {
    outcome_set s;
    for (const std::uint64_t slot : slots_) {
      if (slot == 0) continue;
      std::string o;
      for (std::size_t i = 0; i < values; ++i) o += digit((slot >> (5 * i)) & 31);
      s.insert(o);
    }
    return s;
  }

 private:
  static constexpr std::uint64_t used = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> slots_;
};

// What the threads of a program share.
struct shared_state {
  std::array<explore::atomic<std::uint32_t>, locations> at{};
  explore::cell<int> plain{0};
  explore::mutex mutex;
  std::array<unsigned, 12> read{};
};

// Runs a thread's instructions; the values that it reads go to `read` from the given place on.
inline void run_thread(const std::vector<instruction>& all, shared_state& s, std::size_t place) {
  bool last_read_0 = false;
  for (const instruction& i : all) {
    auto& at = s.at[i.location];
    unsigned value = i.expected;
    switch (i.what) {
      case kind::load:
        value = at.load(i.order);
        break;
      case kind::store:
        at.store(i.value, i.order);
        break;
      case kind::exchange:
        value = at.exchange(i.value, i.order);
        break;
      case kind::add:
        value = at.fetch_add(i.value, i.order);
        break;
      case kind::compare:
        at.compare_exchange_strong(value, i.value, i.order, i.failure);
        break;
      case kind::fence:
        explore::atomic_thread_fence(i.order);
        break;
      case kind::light:
        explore::light_fence();
        break;
      case kind::heavy:
        explore::heavy_fence();
        break;
      case kind::plain_read:
        if (!last_read_0) (void)s.plain.get();
        break;
      case kind::plain_write:
        if (!last_read_0) s.plain.set(1);
        break;
      case kind::lock:
        s.mutex.lock();
        break;
      case kind::unlock:
        s.mutex.unlock();
        break;
      case kind::wait:
        explore::futex_wait(at, i.expected);
        break;
      case kind::wake:
        explore::futex_wake(at);
        break;
      case kind::spin:
        while (at.load(i.order) == i.expected) explore::pause();
        break;
      case kind::pause:
        explore::pause();
        break;
    }
    if (!i.is_read()) continue;
    s.read[place++] = value;
    last_read_0 = value == 0;
  }
}

struct explored {
  outcome_set outcomes;
  explore::result result;
};

inline explored explore_all(const program& p, const explore::options& o = {}) {
  outcome_table found;
  const std::size_t reads = p.reads();
  if (reads + p.finals.size() > 12) throw std::invalid_argument("too many values: " + text_of(p));
  explored e;
  e.result = explore::run(
      [&] {
        shared_state s;
        std::array<explore::thread, 4> threads;
        std::size_t place = 0;
        for (std::size_t t = 0; t < p.threads.size(); ++t) {
          const std::vector<instruction>& mine = p.threads[t];
          threads[t] = explore::thread([&s, &mine, place] { run_thread(mine, s, place); });
          for (const instruction& i : mine) place += i.is_read();
        }
        for (std::size_t t = 0; t < p.threads.size(); ++t) threads[t].join();
        for (const unsigned l : p.finals) s.read[place++] = s.at[l].load(std::memory_order_relaxed);
        std::uint64_t packed = 0;
        for (std::size_t i = 0; i < place; ++i) packed |= std::uint64_t{s.read[i]} << (5 * i);
        found.add(packed);
      },
      o);
  e.outcomes = found.all(reads + p.finals.size());
  return e;
}

}  // namespace rota::test

#endif
