// Constants from text: what is right is set, what is wrong says what would be right.

#include <rota/verify/checker/catalogue.h>

#include <rota/verify/models/models.h>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace rota::verify::test {
namespace {

enum class colour { none, red, blue };

struct painter {
  struct state {
    std::uint64_t n = 0;
  };
  int size = 2;
  bool glossy = false;
  colour mutant = colour::none;

  template <class C>
  void constants(C& c) {
    c("Size", size, 1, 5, "how many");
    c("Glossy", glossy, "whether it shines");
    c("Mutant", mutant, {"none", "red", "blue"}, "a mistake");
  }
  std::string complaint() const {
    return size == 5 && mutant == colour::red ? "Size=5 and red do not go together" : "";
  }
  std::vector<action> actions() const { return {{"paint", static_cast<unsigned>(size)}}; }
  template <class Emit>
  void initial(Emit emit) const {
    emit(state{static_cast<std::uint64_t>(mutant) + (glossy ? 10u : 0u)});
  }
  template <class Emit>
  void next(const state&, Emit) const {}
  template <class P>
  void properties(P&) const {}
  template <class F>
  void fields(const state&, F) const {}
};

std::string complaint(const std::vector<setting>& settings) {
  try {
    describe<painter>("painter", "paints").make(settings);
  } catch (const bad_setting& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(Catalogue, ListsConstantsWithDefaultsAndRanges) {
  const auto entry = describe<painter>("painter", "paints");
  ASSERT_EQ(entry.constants.size(), 3u);
  EXPECT_EQ(entry.constants[0].name, "Size");
  EXPECT_EQ(entry.constants[0].value, "2");
  EXPECT_EQ(entry.constants[0].range(), "1 to 5");
  EXPECT_EQ(entry.constants[1].value, "FALSE");
  EXPECT_EQ(entry.constants[1].range(), "FALSE, TRUE");
  EXPECT_EQ(entry.constants[2].value, "none");
  EXPECT_EQ(entry.constants[2].range(), "none, red, blue");
  EXPECT_EQ(entry.mutants(), (std::vector<std::string>{"red", "blue"}));
}

TEST(Catalogue, SetsNumbersAndNames) {
  const auto system = describe<painter>("painter", "")
                          .make({{"Size", "4"}, {"Mutant", "blue"}, {"Glossy", "TRUE"}});
  EXPECT_EQ(system->actions()[0].instances, 4u);
  step_list initial{system->words()};
  system->initial(initial);
  EXPECT_EQ(initial.state_of(0)[0], 12u);
}

TEST(Catalogue, ALaterSettingReplacesAnEarlierOne) {
  const auto system = describe<painter>("painter", "").make({{"Size", "4"}, {"Size", "3"}});
  EXPECT_EQ(system->actions()[0].instances, 3u);
}

TEST(Catalogue, WrongSettingsSayWhatWouldBeRight) {
  EXPECT_EQ(complaint({{"Sise", "1"}}),
            "painter has no constant 'Sise'; it has Size, Glossy, Mutant");
  for (const char* value : {"0", "6", "two", "", "2x", "99999999999999999999", " 2", "-1"})
    EXPECT_EQ(complaint({{"Size", value}}),
              "Size=" + std::string(value) + ": expected a number from 1 to 5");
  EXPECT_EQ(complaint({{"Glossy", "yes"}}), "Glossy=yes: expected one of FALSE, TRUE");
  EXPECT_EQ(complaint({{"Mutant", "green"}}), "Mutant=green: expected one of none, red, blue");
  EXPECT_EQ(complaint({{"Size", "5"}, {"Mutant", "red"}}),
            "painter: Size=5 and red do not go together");
}

TEST(Catalogue, EveryModelHasANameOfItsOwnAndCanBeMade) {
  std::set<std::string> names;
  for (const model_entry& m : models()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_FALSE(m.summary.empty()) << m.name;
    const auto system = m.make({});
    EXPECT_FALSE(system->properties().empty()) << m.name;
    std::set<std::string> properties;
    for (const auto& p : system->properties())
      EXPECT_TRUE(properties.insert(p.name).second) << m.name << " " << p.name;
  }
}

TEST(Catalogue, EveryModelHasMutants) {
  for (const model_entry& m : models()) EXPECT_FALSE(m.mutants().empty()) << m.name;
}

}  // namespace
}  // namespace rota::verify::test
