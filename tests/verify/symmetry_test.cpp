// What a model declares to be interchangeable really is. The states that the representatives stand
// for are counted without being looked at: if a renaming were no symmetry of the model, their
// number, or that of their steps, would not be that of a search without symmetry.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_check.h"

namespace rota::verify::test {
namespace {

// Sizes at which something is interchangeable, where the model's own are not.
std::vector<setting> size_of(const std::string& model) {
  if (model.starts_with("scheduler")) return {{"Workers", "3"}};
  if (model.starts_with("event_notifier")) return {{"NumThreads", "4"}, {"MaxTasks", "0"}};
  if (model == "crond") return {{"PROGS", "3"}};
  if (model == "crond_runs") return {{"Times", "1"}, {"Crashes", "0"}};
  if (model == "run_queue") return {{"Jobs", "3"}, {"Thieves", "2"}};
  return {};
}

std::vector<std::string> safety_of(const system& s) {
  std::vector<std::string> names;
  for (const property& p : s.properties())
    if (p.kind == property_kind::invariant || p.kind == property_kind::deadlock_free)
      names.push_back(p.name);
  return names;
}

TEST(Symmetry, RepresentativesStandForAllStatesAndNoOthers) {
  unsigned models_with_symmetry = 0;
  for (const model_entry& entry : models()) {
    const auto size = size_of(entry.name);
    const auto system = entry.make(size);
    if (!system->has_symmetry()) continue;
    ++models_with_symmetry;
    how h{.properties = safety_of(*system)};
    const auto all = check_model(entry.name, size, h);
    h.symmetry = true;
    const auto some = check_model(entry.name, size, h);
    // The depth may be less: an initial state stands for its renamings too.
    EXPECT_EQ(some.result.distinct, all.result.distinct) << entry.name;
    EXPECT_EQ(some.result.generated, all.result.generated) << entry.name;
    EXPECT_LE(some.result.depth, all.result.depth) << entry.name;
    EXPECT_EQ(some.violated(), all.violated()) << entry.name;
    EXPECT_EQ(some.result.deadlocks, all.result.deadlocks) << entry.name;
    EXPECT_LT(some.result.representatives, all.result.distinct) << entry.name;
  }
  EXPECT_GE(models_with_symmetry, 11u);
}

}  // namespace
}  // namespace rota::verify::test
