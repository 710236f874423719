// Holds running code against a model: a refinement mapping gives the model's state for what the
// code's objects hold, and every step of the code has to be a step of the model.
//
//   rota::verify::refinement<parking> follow{model, {.hidden = {parking::Drain}}};
//   follow.begin(mapped());                  // must be an initial state of the model
//   follow.observe(mapped(), "a push");      // after every step of the code
//   if (follow.diverged()) fail(follow.diverged()->text);
//   EXPECT_EQ(follow.never_taken(), "");     // the mapping covers the model
//
// What observe() accepts: the state that it saw last (the code did something that the model does
// not speak of), or one that one action of the model leads to. Hidden actions are steps of the
// model that the code does not show; up to `most_hidden` of them may come before and as many after.
// Of several ways the shortest is counted. The invariants hold in every state.
//
// The first divergence stays until the next begin(); what is observed after it is not looked at.
//
// Promised: if nothing diverged, what was observed is a behaviour of the model, so whatever was
// checked of all behaviours of the model holds for it, as far as the mapping is right.
// Not promised: liveness. That a step comes at all is for the test to see.
//
// Ghosts, which only the model has, are for `forget`: it puts them to a fixed value, and states are
// compared after that. A field that decides which steps are possible is better mapped: forgotten,
// it lets the model do what it would do with the fixed value.
//
// Cost: what was accepted once is remembered over all executions; then observe() is one look into a
// hash table, and nothing is allocated.
//
// Threads: one at a time.
#ifndef ROTA_VERIFY_CONFORM_REFINEMENT_H
#define ROTA_VERIFY_CONFORM_REFINEMENT_H

#include <rota/verify/checker/model.h>
#include <rota/verify/checker/system.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rota::verify {

template <class State>
struct refinement_options {
  std::vector<unsigned> hidden = {};         // actions, as numbered by the model
  unsigned most_hidden = 8;                  // before, and after, the action that shows
  std::vector<std::string> invariants = {};  // empty: all but those that are known to fail
  std::function<void(State&)> forget = {};   // what the mapping cannot know
  std::size_t most_remembered = 1'000'000;   // accepted steps; then it begins to learn anew
};

// Where the code left the model.
struct divergence {
  enum class kind : std::uint8_t {
    initial,    // the model does not begin like this
    step,       // no step of the model leads here
    invariant,  // one does, but an invariant does not hold
  };
  kind what = kind::step;
  std::uint64_t step = 0;      // counted from begin(), which is 0
  std::string invariant = {};  // the one that does not hold, also for the other kinds
  std::string text = {};       // both sides, and what the model allows instead
};

// What was seen since the refinement was made.
struct refinement_counts {
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;  // observations, but for the stutters
  std::uint64_t stutters = 0;
  std::vector<std::uint64_t> taken = {};  // for each action of the model, hidden or not
};

namespace detail {

// The part that does not depend on the model's type: states are words.
class refinement_core {
 public:
  struct settings {
    std::vector<unsigned> hidden;
    unsigned most_hidden;
    std::vector<std::string> invariants;
    std::function<void(word*)> forget;
    std::size_t most_remembered;
  };

  // Throws std::invalid_argument for an action or an invariant that the model does not have.
  refinement_core(const system& model, settings s);

  // Where the caller puts the state that it saw.
  word* seen() noexcept { return pair_.data() + words_; }
  bool begin();
  bool observe(std::string_view event);

  const std::optional<divergence>& diverged() const noexcept { return divergence_; }
  const refinement_counts& counts() const noexcept { return counts_; }
  std::string never_taken() const;

 private:
  using words = std::vector<word>;
  using way = std::vector<label>;
  struct hash {
    std::size_t operator()(const words& w) const noexcept;
  };
  // A state that was reached from the last one, and how: from which other, by what.
  struct reached {
    words at;
    std::size_t from;
    label by;
    unsigned shown;   // actions on the way that are not hidden
    unsigned hidden;  // hidden ones since the last of these
  };
  struct bounds {
    unsigned shown;
    std::size_t states;
  };

  word* last() noexcept { return pair_.data(); }
  void forget(word* s) const {
    if (settings_.forget) settings_.forget(s);
  }
  bool is_hidden(label l) const { return hidden_[l.action]; }
  bool is_seen(const words& s) const;

  // Goes on breadth first from the last state; the place of the first that looks like the one seen,
  // or the number of all.
  std::size_t explore(std::vector<reached>& all, bounds b) const;
  way way_to(const std::vector<reached>& all, std::size_t at) const;
  std::string violated(const word* s) const;
  bool accept(std::string_view event);

  bool diverge(divergence d, std::string_view event, const std::string& what,
               const std::string& right);
  std::string right_starts() const;
  std::string right_steps() const;
  std::string sides(const word* before, std::string_view name) const;
  std::string text_of(const way& w) const;
  std::string differences(const word* from, const word* to) const;
  std::size_t distance(const word* from, const word* to) const;

  const system& model_;
  const settings settings_;
  const std::size_t words_;
  std::vector<bool> hidden_;
  std::vector<std::size_t> invariants_;

  words pair_;  // the last state, then the one that is seen now
  std::unordered_map<words, std::vector<std::uint16_t>, hash> accepted_;  // pairs: what was taken
  std::uint64_t step_ = 0;
  std::optional<divergence> divergence_;
  refinement_counts counts_;
};

}  // namespace detail

template <class Model>
class refinement {
 public:
  using state = typename Model::state;
  using options = refinement_options<state>;

  explicit refinement(Model m, options o = {})
      : system_(std::move(m)), core_(system_, settings(std::move(o))) {}
  refinement(const refinement&) = delete;
  refinement& operator=(const refinement&) = delete;

  // An execution begins. False if the model does not begin like this.
  bool begin(const state& mapped) {
    system_.store(mapped, core_.seen());
    return core_.begin();
  }

  // The code took a step; `event` says which, for the report. False if it, or one before it, is not
  // the model's.
  bool observe(const state& mapped, std::string_view event = {}) {
    system_.store(mapped, core_.seen());
    return core_.observe(event);
  }

  const std::optional<divergence>& diverged() const noexcept { return core_.diverged(); }
  const refinement_counts& counts() const noexcept { return core_.counts(); }

  // The actions of the model that no execution has taken, separated by blanks.
  std::string never_taken() const { return core_.never_taken(); }

  const Model& model() const noexcept { return system_.model(); }

 private:
  detail::refinement_core::settings settings(options o) const {
    std::function<void(word*)> forget;
    if (o.forget)
      forget = [this, clear = std::move(o.forget)](word* s) {
        state all = system_.load(s);
        clear(all);
        system_.store(all, s);
      };
    return {std::move(o.hidden), o.most_hidden, std::move(o.invariants), std::move(forget),
            o.most_remembered};
  }

  typed_system<Model> system_;
  detail::refinement_core core_;
};

}  // namespace rota::verify

#endif
