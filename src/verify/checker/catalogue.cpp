#include <rota/verify/checker/catalogue.h>

#include <algorithm>
#include <charconv>

namespace rota::verify {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

}  // namespace

std::string constant::range() const {
  if (!choices.empty()) return joined(choices);
  return std::to_string(lowest) + " to " + std::to_string(highest);
}

std::vector<std::string> model_entry::mutants() const {
  for (const constant& c : constants)
    if (c.name == "Mutant" && !c.choices.empty()) return {c.choices.begin() + 1, c.choices.end()};
  return {};
}

namespace detail {

int constant_setter::number(int lowest, int highest) const {
  int value = 0;
  const char* end = wanted_.value.data() + wanted_.value.size();
  const auto [stopped, error] = std::from_chars(wanted_.value.data(), end, value);
  if (error != std::errc{} || stopped != end || value < lowest || value > highest)
    throw bad_setting(wanted_.name + "=" + wanted_.value + ": expected a number from " +
                      std::to_string(lowest) + " to " + std::to_string(highest));
  return value;
}

std::size_t constant_setter::choice(const std::vector<std::string>& choices) const {
  const auto at = std::find(choices.begin(), choices.end(), wanted_.value);
  if (at == choices.end())
    throw bad_setting(wanted_.name + "=" + wanted_.value + ": expected one of " + joined(choices));
  return static_cast<std::size_t>(at - choices.begin());
}

void require_known(std::string_view model, const std::vector<constant>& known,
                   const setting& wanted) {
  std::vector<std::string> names;
  for (const constant& c : known) {
    if (c.name == wanted.name) return;
    names.push_back(c.name);
  }
  throw bad_setting(std::string(model) + " has no constant '" + wanted.name + "'; it has " +
                    (names.empty() ? "none" : joined(names)));
}

}  // namespace detail

}  // namespace rota::verify
