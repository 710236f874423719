// The exhaustive search keeps one schedule and its choice points. It goes back to the last one that
// has an untried choice. Of schedules that differ only in the order of independent steps it runs
// one (sleep sets, Godefroid): at a choice of threads, those whose step was tried there before go
// to sleep in what follows, until somebody takes a step that depends on theirs; a schedule in which
// only sleepers could go on was run before in another order.

#include "verify/explore/strategies.h"

#include <rota/base/rng.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <unordered_map>

namespace rota::explore::detail {

namespace {

class exhaustive : public schedules {
 public:
  // With `of`: schedules that meet in a state go on once.
  exhaustive(bool reduce, const engine* of) : reduce_(reduce), engine_(of) {}

  unsigned thread(const turn& t, thread_set& sleeping) override {
    if (t.count == 1) return sleeping & bit(t.candidates[0]) ? give_up : 0;
    if (depth_ == points_.size()) {
      if (engine_ && was_here(sleeping)) return give_up;
      point p;
      p.candidates = t.candidates;
      p.count = static_cast<std::uint16_t>(t.count);
      p.is_turn = true;
      p.sleeping = sleeping;
      p.spinners = t.idle_spinners;
      if (!advance(p, 0)) return give_up;
      points_.push_back(p);
    }
    const point& p = points_[depth_++];
    sleeping = p.sleeping & ~bit(p.candidates[p.chosen]);
    return p.chosen;
  }

  unsigned value(unsigned count) override {
    if (depth_ == points_.size()) {
      point p;
      p.count = static_cast<std::uint16_t>(count);
      points_.push_back(p);
    }
    return points_[depth_++].chosen;
  }

  bool next() override {
    depth_ = 0;
    if (std::exchange(is_first_, false)) return true;
    for (; !points_.empty(); points_.pop_back()) {
      point& p = points_.back();
      if (p.is_turn) {
        if (reduce_) p.sleeping |= bit(p.candidates[p.chosen]);
        if (advance(p, p.chosen + 1u)) return true;
      } else if (++p.chosen < p.count) {
        return true;
      }
    }
    return false;
  }
  bool is_exhaustive() const noexcept override { return true; }

 private:
  struct point {
    std::array<std::uint8_t, 16> candidates{};
    std::uint16_t count = 0;
    std::uint16_t chosen = 0;
    bool is_turn = false;
    thread_set sleeping = 0;  // when we came here, and those that were tried since
    thread_set spinners = 0;
  };

  // Whether a schedule was in this state before, with at most those asleep that sleep now: then it
  // went on in all the ways that this one could.
  bool was_here(thread_set sleeping) {
    const auto now = engine_->sign();
    if (!now) return false;
    const auto [at, is_new] = states_.try_emplace(*now, sleeping);
    if (is_new) return false;
    if ((at->second & ~sleeping) == 0) return true;
    at->second &= sleeping;
    return false;
  }

  struct spread {
    std::size_t operator()(const engine::signature& s) const noexcept { return s.a; }
  };

  // The next candidate that is awake. Spinners alone get nowhere while somebody who is not awake
  // could go on: that was tried.
  static bool advance(point& p, unsigned from) {
    thread_set awake = 0;
    thread_set asleep = 0;
    for (unsigned i = 0; i < p.count; ++i)
      (p.sleeping & bit(p.candidates[i]) ? asleep : awake) |= bit(p.candidates[i]);
    if (asleep && (awake & ~p.spinners) == 0) return false;
    for (unsigned i = from; i < p.count; ++i) {
      if (p.sleeping & bit(p.candidates[i])) continue;
      p.chosen = static_cast<std::uint16_t>(i);
      return true;
    }
    return false;
  }

  const bool reduce_;
  const engine* const engine_;
  std::unordered_map<engine::signature, thread_set, spread> states_;
  std::vector<point> points_;
  std::size_t depth_ = 0;
  bool is_first_ = true;
};

// All schedules in which a thread that could go on loses its turn at most so often.
class bounded final : public schedules {
 public:
  explicit bounded(unsigned preemptions) : most_(preemptions) {}

  unsigned thread(const turn& t, thread_set&) override {
    const bool free = !t.goes_on || used_ < most_;
    const unsigned chosen = next_choice(free ? t.count : 1);
    if (t.goes_on && chosen != 0) ++used_;
    return chosen;
  }
  unsigned value(unsigned count) override { return next_choice(count); }

  bool next() override {
    depth_ = 0;
    used_ = 0;
    if (std::exchange(is_first_, false)) return true;
    for (; !points_.empty(); points_.pop_back())
      if (++points_.back().chosen < points_.back().count) return true;
    return false;
  }

 private:
  struct point {
    unsigned chosen = 0;
    unsigned count = 0;
  };

  unsigned next_choice(unsigned count) {
    if (count == 1) return 0;
    if (depth_ == points_.size()) points_.push_back({0, count});
    return points_[depth_++].chosen;
  }

  const unsigned most_;
  unsigned used_ = 0;
  std::vector<point> points_;
  std::size_t depth_ = 0;
  bool is_first_ = true;
};

class randomly : public schedules {
 public:
  randomly(std::uint64_t seed, std::uint64_t count) : seed_(seed), left_(count) {}

  unsigned thread(const turn& t, thread_set&) override {
    return static_cast<unsigned>(random_.below(t.count));
  }
  // Mostly the newest, so that programs get somewhere. Some mistakes need several old values in a
  // row, so schedules differ in how many they read.
  unsigned value(unsigned count) override {
    return random_.below(one_in_) ? 0 : static_cast<unsigned>(random_.below(count));
  }
  bool next() override {
    if (left_ == 0) return false;
    --left_;
    random_ = rota::detail::rng(seed_++);
    one_in_ = 1u << random_.below(4);
    return true;
  }

 protected:
  std::uint64_t seed_;
  std::uint64_t left_;
  rota::detail::rng random_{0};
  unsigned one_in_ = 4;
};

// The thread of highest priority runs; at a few random steps its priority becomes the lowest. With
// k steps and n threads, a bug that needs d such changes is found with probability 1 / (n k^d) at
// least. How long a schedule is is learnt from those before: the steps are drawn from the longest
// one's or, every other time, from as many as usual.
class priorities final : public randomly {
 public:
  priorities(std::uint64_t seed, std::uint64_t count, unsigned changes)
      : randomly(seed, count), changes_(changes) {}

  unsigned thread(const turn& t, thread_set&) override {
    ++step_;
    unsigned best = 0;
    for (unsigned i = 1; i < t.count; ++i)
      if (priority_of(t.candidates[i]) > priority_of(t.candidates[best])) best = i;
    const bool change = std::find(points_.begin(), points_.end(), step_) != points_.end();
    // Who only waits for others steps back as well.
    if (change || (t.idle_spinners & bit(t.candidates[best])))
      priority_[t.candidates[best]] = --lowest_;
    if (!change) return best;
    best = 0;
    for (unsigned i = 1; i < t.count; ++i)
      if (priority_of(t.candidates[i]) > priority_of(t.candidates[best])) best = i;
    return best;
  }

  bool next() override {
    longest_ = std::max({longest_, step_, std::uint64_t{10}});
    usual_ = (15 * usual_ + step_) / 16;
    if (!randomly::next()) return false;
    const std::uint64_t steps = random_.below(2) ? longest_ : usual_ + usual_ / 8 + 10;
    step_ = 0;
    lowest_ = 0;
    priority_.fill(0);
    points_.clear();
    for (unsigned i = 0; i < changes_; ++i) points_.push_back(1 + random_.below(steps));
    return true;
  }

 private:
  std::int64_t priority_of(unsigned thread) {
    std::int64_t& p = priority_[thread];
    if (p == 0) p = 1 + static_cast<std::int64_t>(random_.below(1'000'000));
    return p;
  }

  const unsigned changes_;
  std::uint64_t step_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t usual_ = 0;
  std::int64_t lowest_ = 0;
  std::array<std::int64_t, 16> priority_{};
  std::vector<std::uint64_t> points_;
};

}  // namespace

std::unique_ptr<schedules> make_schedules(const options& o, const engine& e) {
  const std::uint64_t many = o.max_schedules ? o.max_schedules : 10'000;
  switch (o.how) {
    case strategy::exhaustive:
      return std::make_unique<exhaustive>(o.reduce, o.merge_states ? &e : nullptr);
    case strategy::bounded:
      return std::make_unique<bounded>(o.preemptions);
    case strategy::pct:
      return std::make_unique<priorities>(o.seed, many, o.changes);
    case strategy::random:
      return std::make_unique<randomly>(o.seed, many);
  }
  throw std::invalid_argument("explore: no such strategy");
}

std::string token_of(const std::vector<std::uint16_t>& choices) {
  std::string token;
  std::size_t zeros = 0;
  for (const std::uint16_t c : choices) {
    if (c == 0) {
      ++zeros;
      continue;
    }
    if (!token.empty()) token += '-';
    token += std::to_string(zeros) + "." + std::to_string(c);
    zeros = 0;
  }
  return token.empty() ? "0" : token;
}

std::vector<std::uint16_t> choices_of(std::string_view token) {
  std::vector<std::uint16_t> choices;
  if (token == "0") return choices;
  const auto wrong = [&] {
    return std::invalid_argument("explore: '" + std::string(token) +
                                 "' is no token of a schedule; one looks like 12.1-3.2");
  };
  const char* at = token.data();
  const char* const end = at + token.size();
  for (;;) {
    std::size_t zeros = 0;
    std::uint16_t choice = 0;
    auto [dot, first] = std::from_chars(at, end, zeros);
    if (first != std::errc{} || dot == end || *dot != '.' || zeros > 10'000'000) throw wrong();
    auto [rest, second] = std::from_chars(dot + 1, end, choice);
    if (second != std::errc{} || choice == 0) throw wrong();
    choices.insert(choices.end(), zeros, std::uint16_t{0});
    choices.push_back(choice);
    if (rest == end) return choices;
    if (*rest != '-') throw wrong();
    at = rest + 1;
  }
}

}  // namespace rota::explore::detail
