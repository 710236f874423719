// Models by name, with constants that are set from text: what a command line needs.
//
//   auto entry = rota::verify::describe<turns>("turns", "two processes take turns");
//   auto system = entry.make({{"Limit", "5"}});
//   auto result = rota::verify::check(*system);
//
// Wrong names and values are a `bad_setting`, whose message lists what there is.
//
// Threads: an entry is const and anyone's; each make() gives a system of its own.
#ifndef ROTA_VERIFY_CHECKER_CATALOGUE_H
#define ROTA_VERIFY_CHECKER_CATALOGUE_H

#include <rota/verify/checker/model.h>

#include <concepts>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::verify {

// A constant of a model: a number from lowest to highest, or one of some names. A bool's are FALSE
// and TRUE.
struct constant {
  std::string name;
  std::string value;  // the default
  std::string help;
  int lowest = 0;
  int highest = 0;
  std::vector<std::string> choices;  // empty: a number

  // "1 to 5", or "none, weak, strong".
  std::string range() const;
};

struct setting {
  std::string name;
  std::string value;
};

class bad_setting : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct model_entry {
  std::string name;
  std::string summary;
  std::vector<constant> constants;
  std::function<std::unique_ptr<system>(const std::vector<setting>&)> make;

  // The mistakes that can be planted in it: the choices of its constant Mutant but "none".
  std::vector<std::string> mutants() const;
};

namespace detail {

inline const std::vector<std::string> truth = {"FALSE", "TRUE"};

// Visits the constants of a model, to list them.
class constant_lister {
 public:
  void operator()(const char* name, const int& value, int lowest, int highest, const char* help) {
    found.push_back({name, std::to_string(value), help, lowest, highest, {}});
  }
  void operator()(const char* name, const bool& value, const char* help) {
    found.push_back({name, truth[value], help, 0, 0, truth});
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void operator()(const char* name, const Enum& value, std::vector<std::string> choices,
                  const char* help) {
    std::string chosen = choices.at(static_cast<std::size_t>(value));
    found.push_back({name, std::move(chosen), help, 0, 0, std::move(choices)});
  }
  std::vector<constant> found;
};

// Visits them to set one.
class constant_setter {
 public:
  explicit constant_setter(const setting& wanted) : wanted_(wanted) {}

  void operator()(const char* name, int& value, int lowest, int highest, const char*) {
    if (wanted_.name == name) value = number(lowest, highest);
  }
  void operator()(const char* name, bool& value, const char*) {
    if (wanted_.name == name) value = choice(truth) != 0;
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void operator()(const char* name, Enum& value, const std::vector<std::string>& choices,
                  const char*) {
    if (wanted_.name == name) value = static_cast<Enum>(choice(choices));
  }

 private:
  int number(int lowest, int highest) const;
  std::size_t choice(const std::vector<std::string>& choices) const;

  const setting& wanted_;
};

// Throws a bad_setting unless one of the constants has this name.
void require_known(std::string_view model, const std::vector<constant>& known,
                   const setting& wanted);

template <class Model>
concept complains = requires(const Model& m) {
  { m.complaint() } -> std::convertible_to<std::string>;
};

}  // namespace detail

// The entry of a model. If the model has a member `std::string complaint() const`, that says what
// is wrong with its constants as a whole, or nothing.
template <class Model>
model_entry describe(std::string name, std::string summary, const Model& preset = {}) {
  detail::constant_lister lister;
  Model defaults = preset;
  defaults.constants(lister);
  model_entry entry{name, std::move(summary), lister.found, nullptr};
  entry.make = [name, preset, known = lister.found](const std::vector<setting>& settings) {
    Model model = preset;
    for (const setting& s : settings) {
      detail::require_known(name, known, s);
      detail::constant_setter setter{s};
      model.constants(setter);
    }
    if constexpr (detail::complains<Model>)
      if (const std::string wrong = model.complaint(); !wrong.empty())
        throw bad_setting(name + ": " + wrong);
    return std::unique_ptr<system>(std::make_unique<typed_system<Model>>(std::move(model)));
  };
  return entry;
}

}  // namespace rota::verify

#endif
