// What the checker sees of a model: states as words, steps with labels, named properties.
//
// Authors of models write a plain struct instead (model.h); `typed_system` turns it into this.
//
//   const typed_system system{model};
//   const auto result = check(system);               // check.h
//
// Threads: everything is const and called by all workers of a search at once.
#ifndef ROTA_VERIFY_CHECKER_SYSTEM_H
#define ROTA_VERIFY_CHECKER_SYSTEM_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rota::verify {

using word = std::uint64_t;

enum class fairness : std::uint8_t { none, weak, strong };

// A kind of step. Steps of one action differ in their parameter: 0 to instances - 1.
struct action {
  std::string name;
  unsigned instances = 1;
  // Fairness is promised to steps as a group: to all actions that name this group, for each
  // parameter on its own ("worker": its start and its end). Empty: the action is its own group.
  std::string group = {};
  fairness fair = fairness::none;
};

// Which action took a step, and with which parameter.
struct label {
  std::uint16_t action = 0;
  std::uint16_t parameter = 0;
  friend bool operator==(label, label) = default;
};

enum class property_kind : std::uint8_t {
  invariant,          // holds in every state
  deadlock_free,      // every state has a step
  eventually,         // every behaviour reaches P
  leads_to,           // whenever P, then or later Q
  always_eventually,  // P again and again
  eventually_always,  // from some point on P for ever
};

std::string_view name_of(property_kind k) noexcept;

struct property {
  std::string name;
  property_kind kind = property_kind::invariant;
  // For the liveness kinds: how many instances there are, one a task for example; and their names,
  // if they have some.
  unsigned instances = 1;
  std::vector<std::string> instance_names = {};
  // The author knows that it does not hold, and keeps it to show so. Checked when it is asked for.
  bool known_to_fail = false;
};

// A variable of a state, as text.
using field = std::pair<std::string, std::string>;

// Takes the steps out of a state.
class step_list {
 public:
  explicit step_list(std::size_t words) : words_(words) {}

  void clear() noexcept {
    states_.clear();
    labels_.clear();
  }
  // Room for the state of one more step.
  word* add(label l) {
    labels_.push_back(l);
    states_.resize(states_.size() + words_);
    return states_.data() + states_.size() - words_;
  }

  std::size_t size() const noexcept { return labels_.size(); }
  label label_of(std::size_t i) const noexcept { return labels_[i]; }
  const word* state_of(std::size_t i) const noexcept { return states_.data() + i * words_; }
  word* state_of(std::size_t i) noexcept { return states_.data() + i * words_; }

 private:
  std::size_t words_;
  std::vector<word> states_;
  std::vector<label> labels_;
};

class system {
 public:
  virtual ~system() = default;

  virtual std::size_t words() const = 0;
  virtual const std::vector<action>& actions() const = 0;
  virtual const std::vector<property>& properties() const = 0;

  virtual void initial(step_list& out) const = 0;
  virtual void steps(const word* s, step_list& out) const = 0;

  // Whether the search goes on from a state.
  virtual bool within(const word* s) const = 0;

  // The first of some invariants that does not hold: its place among them, or their number.
  virtual std::size_t first_violated(std::span<const std::size_t> invariants,
                                     const word* s) const = 0;

  // Whether P, or Q, of an instance of a liveness property holds.
  virtual bool premise(std::size_t property, unsigned instance, const word* s) const = 0;
  virtual bool conclusion(std::size_t property, unsigned instance, const word* s) const = 0;

  // Replaces a state by the one that stands for all states that differ from it in the names of
  // interchangeable things only.
  virtual bool has_symmetry() const = 0;
  virtual void make_canonical(word* s) const = 0;
  // How many it stands for.
  virtual std::size_t orbit(const word* s) const = 0;

  virtual std::vector<field> fields(const word* s) const = 0;
  virtual std::string text_of(label l) const = 0;
};

}  // namespace rota::verify

#endif
