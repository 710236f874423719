// Three ways, each of which keeps what fails in the same way with fewer deviations:
//   sort     threads' turns are put together, by letting neighbouring turns change places;
//   cut      deviations are taken out, many at once at first;
//   restart  for a short schedule: all schedules with one deviation, then with two.

#include "verify/explore/simplify.h"

#include <algorithm>
#include <utility>

#include "verify/explore/strategies.h"

namespace rota::explore::detail {

namespace {

// How many schedules are tried, all in all, and by the last way.
constexpr int most_tries = 4'000;
constexpr std::size_t most_restarts = 3'000;

// A choice by what was chosen rather than by its place among the candidates: a thread or a value.
struct decision {
  bool is_turn = false;
  std::uint16_t what = 0;
};

// Does as was decided, as far as it can, and notes what it did.
class plan final : public chooser {
 public:
  explicit plan(std::vector<decision> wanted) : wanted_(std::move(wanted)) {}

  unsigned thread(const turn& t, thread_set&) override {
    unsigned chosen = 0;
    for (; at_ < wanted_.size() && wanted_[at_].is_turn; ++at_) {
      const auto begin = t.candidates.begin();
      const auto found = std::find(begin, begin + t.count, wanted_[at_].what);
      if (found == begin + t.count) continue;
      chosen = static_cast<unsigned>(found - begin);
      ++at_;
      break;
    }
    taken_.push_back({true, t.candidates[chosen]});
    return chosen;
  }
  unsigned value(unsigned count) override {
    unsigned chosen = 0;
    if (at_ < wanted_.size() && !wanted_[at_].is_turn) chosen = wanted_[at_++].what;
    if (chosen >= count) chosen = 0;
    taken_.push_back({false, static_cast<std::uint16_t>(chosen)});
    return chosen;
  }

  std::vector<decision>& taken() noexcept { return taken_; }

 private:
  std::vector<decision> wanted_;
  std::vector<decision> taken_;
  std::size_t at_ = 0;
};

// The choices of a list; notes what they were.
class noted_script final : public chooser {
 public:
  explicit noted_script(const choice_list& choices) : script_(choices) {}

  unsigned thread(const turn& t, thread_set& sleeping) override {
    const unsigned chosen = script_.thread(t, sleeping);
    taken_.push_back({true, t.candidates[chosen]});
    return chosen;
  }
  unsigned value(unsigned count) override {
    const unsigned chosen = script_.value(count);
    taken_.push_back({false, static_cast<std::uint16_t>(chosen)});
    return chosen;
  }

  std::vector<decision>& taken() noexcept { return taken_; }

 private:
  script script_;
  std::vector<decision> taken_;
};

void trim(choice_list& choices) {
  while (!choices.empty() && choices.back() == 0) choices.pop_back();
}

class simplifier {
 public:
  simplifier(engine& e, const std::function<void()>& program, choice_list found, failure_kind kind)
      : engine_(e), program_(program), best_(std::move(found)), kind_(kind) {
    trim(best_);
  }

  choice_list run() {
    sort();
    cut();
    if (best_.size() < most_restarts) restart();
    return best_;
  }

 private:
  // Fewer deviations; of equally many, those that come sooner.
  bool is_simpler(const choice_list& other) const {
    const std::size_t x = deviations(other);
    const std::size_t y = deviations(best_);
    return x != y ? x < y : other.size() < best_.size();
  }

  bool fails(chooser& c) {
    ++tries_;
    if (engine_.run(program_, c, false) != engine::ending::failed ||
        engine_.what_failed().kind != kind_)
      return false;
    choice_list taken = engine_.choices();
    trim(taken);
    if (!is_simpler(taken)) return false;
    best_ = std::move(taken);
    return true;
  }
  bool fails(choice_list choices) {
    script s(std::move(choices));
    return fails(s);
  }
  bool may_try() const noexcept { return tries_ < most_tries; }

  void sort() {
    noted_script first(best_);
    ++tries_;
    engine_.run(program_, first, false);
    std::vector<decision> now = std::move(first.taken());
    for (bool better = true; better && may_try();) {
      better = false;
      for (std::size_t a = 0; a < now.size() && may_try();) {
        // A run of one thread's turns, and that of the next.
        const std::size_t b = end_of_run(now, a);
        const std::size_t c = end_of_run(now, b);
        if (c == b) break;
        std::vector<decision> swapped = now;
        std::rotate(swapped.begin() + static_cast<std::ptrdiff_t>(a),
                    swapped.begin() + static_cast<std::ptrdiff_t>(b),
                    swapped.begin() + static_cast<std::ptrdiff_t>(c));
        plan p(std::move(swapped));
        if (fails(p)) {
          now = std::move(p.taken());
          better = true;
        }
        a = std::min(b, now.size());
      }
    }
  }

  static std::size_t end_of_run(const std::vector<decision>& all, std::size_t begin) {
    std::size_t i = begin;
    while (i < all.size() && !all[i].is_turn) ++i;
    if (i == all.size()) return i;
    const std::uint16_t thread = all[i].what;
    while (i < all.size() && (!all[i].is_turn || all[i].what == thread)) ++i;
    return i;
  }

  void cut() {
    for (std::size_t portion = best_.size(); portion > 0 && may_try();) {
      bool better = false;
      for (std::size_t end = best_.size(); end > 0 && may_try();) {
        end = std::min(end, best_.size());
        const std::size_t begin = end > portion ? end - portion : 0;
        const auto first = static_cast<std::ptrdiff_t>(begin);
        const auto last = static_cast<std::ptrdiff_t>(end);
        if (std::any_of(best_.begin() + first, best_.begin() + last,
                        [](auto c) { return c != 0; })) {
          choice_list gone = best_;
          std::fill(gone.begin() + first, gone.begin() + last, std::uint16_t{0});
          choice_list shorter = best_;
          shorter.erase(shorter.begin() + first, shorter.begin() + last);
          if (fails(std::move(gone)) || fails(std::move(shorter))) better = true;
        }
        end = begin;
      }
      if (portion > 1)
        portion /= 2;
      else if (!better)
        portion = 0;
    }
  }

  // Where the choices of another schedule have no effect, there is nothing to try: the list that it
  // made shows where it had any, but not how many. Two alternatives are tried.
  void restart() {
    const std::size_t longest = best_.size() + 8;
    tries_ = 0;
    for (std::size_t i = 0; i < longest && deviations(best_) > 1; ++i)
      for (const std::uint16_t x : {std::uint16_t{1}, std::uint16_t{2}}) {
        choice_list one(i + 1);
        one[i] = x;
        fails(std::move(one));
      }
    for (std::size_t i = 0; i < longest && deviations(best_) > 2; ++i)
      for (std::size_t j = i + 1; j < longest && deviations(best_) > 2 && may_try(); ++j) {
        choice_list two(j + 1);
        two[i] = two[j] = 1;
        fails(std::move(two));
      }
  }

  engine& engine_;
  const std::function<void()>& program_;
  choice_list best_;
  const failure_kind kind_;
  int tries_ = 0;
};

}  // namespace

std::size_t deviations(const choice_list& choices) {
  return choices.size() - static_cast<std::size_t>(std::count(choices.begin(), choices.end(), 0));
}

choice_list simplified(engine& e, const std::function<void()>& program, const choice_list& found,
                       failure_kind kind) {
  return simplifier(e, program, found, kind).run();
}

}  // namespace rota::explore::detail
