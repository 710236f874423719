// What a user sees of a counterexample, to the letter.

#include <rota/verify/checker/report.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <sstream>
#include <string>

#include "support/graph_model.h"

namespace rota::verify::test {
namespace {

struct two_numbers {
  struct state {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
  };
  std::vector<action> actions() const {
    return {{"raise", 2, "", fairness::weak}, {"reset", 1, "", fairness::weak}};
  }
  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }
  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (s.a < 2) emit(0, 0, state{s.a + 1, s.b});
    if (s.a == 2 && s.b < 1) emit(0, 1, state{s.a, s.b + 1});
    if (s.b == 1) emit(1, 0, state{1, 0});
  }
  template <class P>
  void properties(P& p) const {
    p.invariant("BothSmall", [](const state& s) { return s.b == 0; });
    p.leads_to(
        "BackToStart", {"<first>", "second"}, [](const state& s, unsigned) { return s.a == 1; },
        [](const state& s, unsigned) { return s.a == 0; });
  }
  template <class F>
  void fields(const state& s, F f) const {
    f("a", s.a);
    f("b", s.b);
    f("text", s.a ? "<b>&" : "none");
  }
};

check_result result_of(const system& s) {
  check_options o;
  o.workers = 1;
  return check(s, o);
}

TEST(Report, ATraceNamesActionAndParameterAndPrintsOnlyWhatChanged) {
  const typed_system s{two_numbers{}};
  std::ostringstream out;
  write_trace(out, s, result_of(s).properties[0]);
  EXPECT_EQ(out.str(),
            "   1  (at first)  a = 0   b = 0   text = none\n"
            "   2  raise(0)    a = 1   text = <b>&\n"
            "   3  raise(0)    a = 2\n"
            "   4  raise(1)    b = 1\n");
}

TEST(Report, ALassoSaysWhereItGoesBackTo) {
  const typed_system s{two_numbers{}};
  const auto r = result_of(s);
  ASSERT_EQ(r.properties[1].result, verdict::violated);
  EXPECT_EQ(title_of(s, r.properties[1]), "BackToStart (<first>)");
  std::ostringstream out;
  write_trace(out, s, r.properties[1]);
  EXPECT_EQ(out.str(),
            "   1  (at first)  a = 0   b = 0   text = none\n"
            "   2  raise(0)    a = 1   text = <b>&\n"
            "   3  raise(0)    a = 2\n"
            "   4  raise(1)    b = 1\n"
            "      back to 2 by reset\n");
}

TEST(Report, LongLinesAreBrokenUnderTheFirstVariable) {
  const typed_system s{two_numbers{}};
  std::ostringstream out;
  write_trace(out, s, result_of(s).properties[0], 30);
  EXPECT_EQ(out.str().substr(0, 78),
            "   1  (at first)  a = 0\n"
            "                  b = 0\n"
            "                  text = none\n");
}

TEST(Report, ABehaviourThatRestsSaysSo) {
  graph_model m;
  m.say = [](auto& p) { p.eventually("Two", in({2})); };
  const typed_system<graph_model> s{m};
  std::ostringstream out;
  write_trace(out, s, result_of(s).properties[0]);
  EXPECT_EQ(out.str(),
            "   1  (at first)  at = 0\n"
            "      and stays there for ever\n");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Report, ThePageIsSelfContainedAndEscapesWhatModelsSay) {
  const typed_system s{two_numbers{}};
  std::ostringstream out;
  write_html(out, {"two <numbers>", "", "4 states"}, s, result_of(s).properties);
  const std::string page = out.str();
  EXPECT_EQ(count(page, "<b>&"), 0u);
  EXPECT_EQ(count(page, "two <numbers>"), 0u);
  EXPECT_EQ(count(page, "http"), 0u);
  EXPECT_EQ(count(page, "src="), 0u);
  EXPECT_EQ(count(page, "is violated</h2>"), 2u);
  EXPECT_EQ(count(page, "BackToStart (&lt;first&gt;)"), 2u);
  EXPECT_EQ(count(page, "&#8634; back to 2"), 1u);
  EXPECT_EQ(count(page, "class=\"loop\""), 3u);  // states 2 to 4 of the second path
  EXPECT_EQ(count(page, "<div"), count(page, "</div>"));
  EXPECT_EQ(count(page, "<tr"), count(page, "</tr>"));
}

TEST(Report, TheDrawingHasEveryStateAndStep) {
  graph_model m{.edges = {{0, 1}, {1, 2}, {2, 0}}};
  m.say = [](auto& p) { p.invariant("NotOne", in({0, 2})); };
  std::ostringstream out;
  ASSERT_TRUE(write_dot(out, typed_system<graph_model>{m}, 3));
  const std::string dot = out.str();
  EXPECT_EQ(count(dot, " -> "), 3u);
  EXPECT_EQ(count(dot, "peripheries=2"), 1u);
  EXPECT_EQ(count(dot, "color=red"), 1u);
  std::ostringstream none;
  EXPECT_FALSE(write_dot(none, typed_system<graph_model>{m}, 2));
  EXPECT_EQ(none.str(), "");
}

}  // namespace
}  // namespace rota::verify::test
