// How to write a model: a plain struct with a state, its steps and its properties.
//
//   struct turns {                                  // two processes take turns at counting
//     struct state { int turn = 0, count = 0; };    // trivially copyable, without padding
//
//     int limit = 3;                                // a constant: --set Limit=5
//     template <class C> void constants(C& c) { c("Limit", limit, 1, 200, "how far to count"); }
//
//     std::vector<action> actions() const { return {{"count", 2, "", fairness::weak}}; }
//
//     template <class Emit> void initial(Emit emit) const { emit(state{}); }
//     template <class Emit> void next(const state& s, Emit emit) const {
//       if (s.count < limit)                        // the action, its parameter, the state it
//       leads to
//         emit(0, s.turn, state{1 - s.turn, s.count + 1});
//     }
//
//     template <class P> void properties(P& p) const {
//       p.invariant("Bounded", [this](const state& s) { return s.count <= limit; });
//       p.eventually("Ends", [this](const state& s) { return s.count == limit; });
//     }
//     template <class F> void fields(const state& s, F f) const {
//       f("turn", s.turn);
//       f("count", s.count);
//     }
//   };
//
// constants() is for the catalogue (catalogue.h) alone. A constant is an int with its range, a
// bool, or an enum with the names of its values: c("Mutant", mutant, {"none", "forget"}, "a mistake
// to plant").
//
// Optional members:
//   bool within(const state&) const              where the search goes on (TLC's CONSTRAINT)
//   packed pack(const state&), state unpack(packed)   a smaller form to keep, std::array of words
//   void permuted(const state&, F f) const       f(state) for each renaming of what is
//                                                interchangeable: makes symmetry possible
//   std::string parameter(action, parameter)     how a parameter is written
//
// Threads: all members are const and called by several workers at once.
#ifndef ROTA_VERIFY_CHECKER_MODEL_H
#define ROTA_VERIFY_CHECKER_MODEL_H

#include <rota/verify/checker/system.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::verify {

// What a model's properties() writes into.
template <class State>
class property_list {
 public:
  using predicate = std::function<bool(const State&)>;
  using indexed = std::function<bool(const State&, unsigned)>;

  struct entry {
    property about;
    predicate holds;
    indexed premise;
    indexed conclusion;
  };

  // The properties that follow are known to fail.
  void known_to_fail() noexcept { known_to_fail_ = true; }

  void deadlock_free() { add("deadlock_free", property_kind::deadlock_free, 1); }
  void invariant(std::string name, predicate p) {
    add(std::move(name), property_kind::invariant, 1).holds = std::move(p);
  }
  void eventually(std::string name, predicate p) {
    add(std::move(name), property_kind::eventually, 1).premise = unindexed(std::move(p));
  }
  void always_eventually(std::string name, predicate p) {
    add(std::move(name), property_kind::always_eventually, 1).premise = unindexed(std::move(p));
  }
  void eventually_always(std::string name, predicate p) {
    add(std::move(name), property_kind::eventually_always, 1).premise = unindexed(std::move(p));
  }
  void leads_to(std::string name, predicate p, predicate q) {
    leads_to(std::move(name), 1, unindexed(std::move(p)), unindexed(std::move(q)));
  }
  // One for each of 0 to instances - 1.
  void leads_to(std::string name, unsigned instances, indexed p, indexed q) {
    entry& e = add(std::move(name), property_kind::leads_to, instances);
    e.premise = std::move(p);
    e.conclusion = std::move(q);
  }
  // One for each of these names.
  void leads_to(std::string name, std::vector<std::string> instances, indexed p, indexed q) {
    leads_to(std::move(name), static_cast<unsigned>(instances.size()), std::move(p), std::move(q));
    entries_.back().about.instance_names = std::move(instances);
  }

  const std::vector<entry>& entries() const noexcept { return entries_; }

 private:
  static indexed unindexed(predicate p) {
    return [p = std::move(p)](const State& s, unsigned) { return p(s); };
  }
  entry& add(std::string name, property_kind kind, unsigned instances) {
    return entries_.emplace_back(
        entry{{std::move(name), kind, instances, {}, known_to_fail_}, nullptr, nullptr, nullptr});
  }

  std::vector<entry> entries_;
  bool known_to_fail_ = false;
};

namespace detail {

template <class Model>
concept packs = requires(const Model& m, const typename Model::state& s) { m.unpack(m.pack(s)); };

template <class Model>
concept constrains = requires(const Model& m, const typename Model::state& s) {
  { m.within(s) } -> std::convertible_to<bool>;
};

template <class Model>
concept permutes = requires(const Model& m, const typename Model::state& s) {
  m.permuted(s, [](const typename Model::state&) {});
};

template <class Model>
concept names_parameters = requires(const Model& m) {
  { m.parameter(0, 0) } -> std::convertible_to<std::string>;
};

template <class T>
std::string to_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "yes" : "no";
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else
    return std::string(value);
}

}  // namespace detail

// The checker's view of a model, whose constants are set.
template <class Model>
class typed_system final : public system {
 public:
  using state = typename Model::state;
  static_assert(std::is_trivially_copyable_v<state>);

  explicit typed_system(Model m) : model_(std::move(m)), actions_(model_.actions()) {
    model_.properties(entries_);
    for (const auto& e : entries_.entries()) properties_.push_back(e.about);
  }

  const Model& model() const noexcept { return model_; }

  std::size_t words() const override { return word_count; }
  const std::vector<action>& actions() const override { return actions_; }
  const std::vector<property>& properties() const override { return properties_; }

  void initial(step_list& out) const override {
    model_.initial([&](const state& s) { store(s, out.add({})); });
  }
  void steps(const word* s, step_list& out) const override {
    model_.next(load(s), [&](auto act, auto parameter, const state& to) {
      store(to, out.add({static_cast<std::uint16_t>(act), static_cast<std::uint16_t>(parameter)}));
    });
  }

  bool within(const word* s) const override {
    if constexpr (detail::constrains<Model>)
      return model_.within(load(s));
    else
      return true;
  }

  std::size_t first_violated(std::span<const std::size_t> invariants,
                             const word* s) const override {
    const state now = load(s);
    const auto broken = [&](std::size_t p) { return !entries_.entries()[p].holds(now); };
    const auto at = std::find_if(invariants.begin(), invariants.end(), broken);
    return static_cast<std::size_t>(at - invariants.begin());
  }
  bool premise(std::size_t p, unsigned instance, const word* s) const override {
    return entries_.entries()[p].premise(load(s), instance);
  }
  bool conclusion(std::size_t p, unsigned instance, const word* s) const override {
    return entries_.entries()[p].conclusion(load(s), instance);
  }

  bool has_symmetry() const override { return detail::permutes<Model>; }
  void make_canonical(word* s) const override {
    if constexpr (detail::permutes<Model>) {
      const state original = load(s);
      model_.permuted(original, [&](const state& other) {
        std::array<word, word_count> words;
        store(other, words.data());
        if (std::lexicographical_compare(words.begin(), words.end(), s, s + word_count))
          std::copy(words.begin(), words.end(), s);
      });
    }
  }

  std::size_t orbit(const word* s) const override {
    std::vector<std::array<word, word_count>> all(1);
    std::copy_n(s, word_count, all[0].begin());
    if constexpr (detail::permutes<Model>)
      model_.permuted(load(s),
                      [&](const state& other) { store(other, all.emplace_back().data()); });
    std::sort(all.begin(), all.end());
    const auto end = std::unique(all.begin(), all.end());
    return static_cast<std::size_t>(end - all.begin());
  }

  std::vector<field> fields(const word* s) const override {
    std::vector<field> all;
    model_.fields(load(s), [&](std::string name, const auto& value) {
      all.emplace_back(std::move(name), detail::to_text(value));
    });
    return all;
  }

  std::string text_of(label l) const override {
    const action& a = actions_[l.action];
    if (a.instances == 1) return a.name;
    if constexpr (detail::names_parameters<Model>)
      return a.name + "(" + model_.parameter(l.action, l.parameter) + ")";
    else
      return a.name + "(" + std::to_string(l.parameter) + ")";
  }

  // A state as the checker keeps it, in words() words, and back.
  void store(const state& s, word* to) const {
    if constexpr (detail::packs<Model>) {
      const auto words = model_.pack(s);
      std::copy(words.begin(), words.end(), to);
    } else {
      to[word_count - 1] = 0;
      std::memcpy(to, &s, sizeof(state));
    }
  }
  state load(const word* from) const {
    if constexpr (detail::packs<Model>) {
      std::array<word, word_count> words;
      std::copy_n(from, word_count, words.begin());
      return model_.unpack(words);
    } else {
      state s;
      std::memcpy(static_cast<void*>(&s), from, sizeof(state));
      return s;
    }
  }

 private:
  static constexpr std::size_t count_words() {
    if constexpr (detail::packs<Model>) {
      return std::tuple_size_v<decltype(std::declval<Model>().pack(std::declval<state>()))>;
    } else {
      static_assert(std::has_unique_object_representations_v<state>,
                    "a state with padding needs pack() and unpack()");
      return (sizeof(state) + sizeof(word) - 1) / sizeof(word);
    }
  }
  static constexpr std::size_t word_count = count_words();

  Model model_;
  std::vector<action> actions_;
  property_list<state> entries_;
  std::vector<property> properties_;
};

}  // namespace rota::verify

#endif
