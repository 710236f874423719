// Checks a model of the catalogue, for tests: counts and verdicts by name.
//
//   const auto seen = check_model("scheduler", {{"Workers", "2"}});
//   EXPECT_EQ(seen.counts(), "638 distinct, 3644 generated, depth 13");
//   EXPECT_TRUE(seen.holds("starvation_free"));
//   EXPECT_EQ(seen.violated(), "");          // the names of all violated properties
#ifndef ROTA_TESTS_SUPPORT_MODEL_CHECK_H
#define ROTA_TESTS_SUPPORT_MODEL_CHECK_H

#include <rota/verify/checker/check.h>
#include <rota/verify/models/models.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota::verify::test {

struct checked {
  std::unique_ptr<system> model;
  check_result result;

  std::string counts() const {
    return std::to_string(result.distinct) + " distinct, " + std::to_string(result.generated) +
           " generated, depth " + std::to_string(result.depth);
  }

  const property_result& of(std::string_view name) const {
    for (const property_result& p : result.properties)
      if (model->properties()[p.property].name == name) return p;
    throw std::invalid_argument("not checked: " + std::string(name));
  }
  bool holds(std::string_view name) const { return of(name).result == verdict::holds; }
  bool fails(std::string_view name) const { return of(name).result == verdict::violated; }

  // The names of the properties with that verdict, in the order of the model.
  std::string all(verdict wanted) const {
    std::string names;
    for (const property_result& p : result.properties)
      if (p.result == wanted)
        names += (names.empty() ? "" : " ") + model->properties()[p.property].name;
    return names;
  }
  std::string violated() const { return all(verdict::violated); }
  // Nothing was left open: every property that was asked for has a verdict.
  bool decided() const { return all(verdict::unknown).empty(); }

  // The actions that no step took: a model that never does something proves nothing about it.
  std::string never_taken() const {
    std::string names;
    for (std::size_t a = 0; a < result.taken.size(); ++a)
      if (result.taken[a] == 0) names += (names.empty() ? "" : " ") + model->actions()[a].name;
    return names;
  }
};

inline const model_entry& model_named(std::string_view name) {
  for (const model_entry& m : models())
    if (m.name == name) return m;
  throw std::invalid_argument("no model " + std::string(name));
}

struct how {
  std::vector<std::string> properties = {};  // by name; empty: all that are not known to fail
  std::vector<fairness_rule> fairness = {};
  bool symmetry = false;
  unsigned workers = 1;
};

inline checked check_model(std::string_view name, const std::vector<setting>& settings = {},
                           const how& h = {}) {
  checked c{model_named(name).make(settings), {}};
  check_options o;
  o.workers = h.workers;
  o.symmetry = h.symmetry;
  o.fairness = h.fairness;
  const auto& all = c.model->properties();
  for (const std::string& wanted : h.properties) {
    const auto at = std::find_if(all.begin(), all.end(), [&](auto& p) { return p.name == wanted; });
    if (at == all.end()) throw std::invalid_argument("no property " + wanted);
    o.properties.push_back(static_cast<std::size_t>(at - all.begin()));
  }
  c.result = check(*c.model, o);
  return c;
}

// A mistake that can be planted, and all that it violates.
struct mutant_row {
  std::string mutant;
  std::string violates;
  std::vector<setting> where = {};  // besides the common settings
};

// Without a mistake nothing is violated; with each of them exactly what its row says. Every mutant
// of the model has a row.
inline void expect_caught(std::string_view model, const std::vector<setting>& settings,
                          const std::vector<mutant_row>& rows) {
  EXPECT_EQ(check_model(model, settings).violated(), "") << model;
  std::vector<std::string> mutants;
  for (const mutant_row& r : rows) {
    std::vector<setting> all = settings;
    all.insert(all.end(), r.where.begin(), r.where.end());
    all.push_back({"Mutant", r.mutant});
    const auto seen = check_model(model, all);
    EXPECT_EQ(seen.violated(), r.violates) << model << ' ' << r.mutant;
    EXPECT_TRUE(seen.decided()) << model << ' ' << r.mutant;
    mutants.push_back(r.mutant);
  }
  EXPECT_EQ(mutants, model_named(model).mutants()) << model;
}

}  // namespace rota::verify::test

#endif
