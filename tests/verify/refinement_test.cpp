// A toy model, code that keeps to it, and code that does not. A broken promise shows as a mistake
// that is not reported, as one that is reported with the wrong words, or as a false alarm.

#include <rota/verify/conform/refinement.h>

#include <rota/base/sync.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

// The sanitizers have their own.
#if !defined(ROTA_TSAN) && !defined(ROTA_ASAN)
#define ROTA_TEST_COUNTS_ALLOCATIONS 1
namespace {

std::uint64_t allocations = 0;

}  // namespace

// Not inline, or g++ sees a free() of what came from new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#endif

namespace rota::verify::test {
namespace {

// A letter is put on the sill, a clerk carries it to the shelf, which holds two, and somebody gets
// it there.
struct post_office {
  struct state {
    std::uint8_t sill = 0;
    std::uint8_t shelf = 0;
    std::uint8_t got = 0;
    std::uint8_t carried = 0;  // ghost: how many the clerk has carried
  };
  enum act { put, carry, get, close };

  bool careful = true;  // the clerk looks whether the shelf is full

  std::vector<action> actions() const { return {{"put"}, {"carry"}, {"get"}, {"close"}}; }
  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }
  template <class Emit>
  void next(const state& s, Emit emit) const {
    state t = s;
    ++t.sill;
    if (s.sill < 2) emit(put, 0, t);
    t = s;
    --t.sill;
    ++t.shelf;
    ++t.carried;
    if (s.sill > 0 && (s.shelf < 2 || !careful)) emit(carry, 0, t);
    t = s;
    --t.shelf;
    ++t.got;
    if (s.shelf > 0) emit(get, 0, t);
    if (s.got == 200) emit(close, 0, s);
  }
  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("Fits", [](const state& s) { return s.shelf <= 2; });
    p.invariant("Bounded", [](const state& s) { return s.got < 100; });
    p.known_to_fail();
    p.invariant("Unread", [](const state& s) { return s.got == 0; });
  }
  template <class F>
  void fields(const state& s, F f) const {
    f("sill", s.sill);
    f("shelf", s.shelf);
    f("got", s.got);
    f("carried", s.carried);
  }
};

struct closed_office : post_office {
  template <class Emit>
  void next(const state&, Emit) const {}
};

// The code: what the model calls sill and shelf are letters here.
struct office {
  std::vector<int> sill;
  std::vector<int> shelf;
  std::uint8_t got = 0;

  void put(int letter) { sill.push_back(letter); }
  void carry() {
    shelf.push_back(sill.back());
    sill.pop_back();
  }
  void get() {
    shelf.pop_back();
    ++got;
  }

  // The ghost is not the code's: it is forgotten.
  post_office::state mapped() const {
    return {static_cast<std::uint8_t>(sill.size()), static_cast<std::uint8_t>(shelf.size()), got,
            0};
  }
};

using options = refinement<post_office>::options;

options without_ghost() {
  return {.forget = [](post_office::state& s) { s.carried = 0; }};
}

options with_hidden_clerk(unsigned most = 8) {
  options o = without_ghost();
  o.hidden = {post_office::carry};
  o.most_hidden = most;
  return o;
}

// What the report says.
template <class Model>
std::string report(const refinement<Model>& follow) {
  return follow.diverged() ? follow.diverged()->text : "nothing diverged";
}

TEST(Refinement, FollowsCodeThatIsRight) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  EXPECT_TRUE(follow.begin(code.mapped()));
  for (int round = 0; round < 3; ++round) {
    code.put(round);
    EXPECT_TRUE(follow.observe(code.mapped(), "put"));
    code.carry();
    EXPECT_TRUE(follow.observe(code.mapped(), "carry"));
    EXPECT_TRUE(follow.observe(code.mapped(), "nothing"));
    code.get();
    EXPECT_TRUE(follow.observe(code.mapped(), "get"));
  }
  EXPECT_EQ(report(follow), "nothing diverged");
  EXPECT_EQ(follow.counts().executions, 1u);
  EXPECT_EQ(follow.counts().steps, 9u);
  EXPECT_EQ(follow.counts().stutters, 3u);
  EXPECT_EQ(follow.counts().taken, (std::vector<std::uint64_t>{3, 3, 3, 0}));
  EXPECT_EQ(follow.never_taken(), "close");
}

TEST(Refinement, ReportsAWrongBeginning) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  code.shelf = {1};
  EXPECT_FALSE(follow.begin(code.mapped()));
  ASSERT_TRUE(follow.diverged());
  EXPECT_EQ(follow.diverged()->what, divergence::kind::initial);
  EXPECT_EQ(report(follow),
            "begin: the model does not begin like this\n"
            "           at first  now\n"
            "  sill     0         0\n"
            "* shelf    0         1\n"
            "  got      0         0\n"
            "  carried  0         0\n");
}

TEST(Refinement, ReportsAStepThatIsNotTheModels) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  follow.observe(code.mapped(), "put");
  code.sill.clear();  // the letter is lost
  EXPECT_FALSE(follow.observe(code.mapped(), "a gust of wind"));
  ASSERT_TRUE(follow.diverged());
  EXPECT_EQ(follow.diverged()->what, divergence::kind::step);
  EXPECT_EQ(follow.diverged()->step, 2u);
  EXPECT_EQ(follow.diverged()->invariant, "");
  EXPECT_EQ(report(follow),
            "step 2, a gust of wind: no step of the model leads from the last state to this one\n"
            "           last  now\n"
            "* sill     1     0\n"
            "  shelf    0     0\n"
            "  got      0     0\n"
            "  carried  0     0\n"
            "the model allows here:\n"
            "  put     sill = 2\n"
            "  carry   sill = 0   shelf = 1\n");
}

TEST(Refinement, ReportsTwoStepsAtOnceAndSaysWhich) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  code.put(2);
  EXPECT_FALSE(follow.observe(code.mapped()));
  EXPECT_NE(report(follow).find("step 1: no step"), std::string::npos) << report(follow);
  EXPECT_NE(report(follow).find("gets there in several steps: put, put; observe in between"),
            std::string::npos)
      << report(follow);
}

TEST(Refinement, ReportsAStepThatWasSkipped) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  code.shelf.push_back(1);  // past the sill
  EXPECT_FALSE(follow.observe(code.mapped()));
  EXPECT_NE(report(follow).find("in several steps: put, carry"), std::string::npos)
      << report(follow);
}

TEST(Refinement, ReportsThatTheModelStandsStill) {
  refinement<closed_office> follow{{}};
  follow.begin({});
  EXPECT_FALSE(follow.observe({.sill = 1}));
  EXPECT_NE(report(follow).find("the model allows no step here\n"), std::string::npos)
      << report(follow);
}

// --- hidden actions -----------------------------------------------------------------------------

TEST(Refinement, TakesHiddenActionsBeforeAndAfter) {
  refinement<post_office> follow{{}, with_hidden_clerk()};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  code.carry();  // after
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
  code.put(2);
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
  code.carry();  // before
  code.get();
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
  code.put(3);
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
  code.carry();  // alone
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
  EXPECT_EQ(follow.counts().taken, (std::vector<std::uint64_t>{3, 3, 1, 0}));
}

TEST(Refinement, TakesHiddenActionsOnlyIfTheyAreNamed) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  code.carry();
  EXPECT_FALSE(follow.observe(code.mapped()));
}

TEST(Refinement, TakesOneActionThatShowsAndNoMore) {
  refinement<post_office> follow{{}, with_hidden_clerk()};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  code.carry();
  code.get();
  EXPECT_FALSE(follow.observe(code.mapped()));
  EXPECT_NE(report(follow).find("in several steps: put, carry, get"), std::string::npos)
      << report(follow);
}

TEST(Refinement, TakesAsManyHiddenActionsAsItIsTold) {
  for (const unsigned most : {1u, 2u}) {
    refinement<post_office> follow{{}, with_hidden_clerk(most)};
    office code;
    follow.begin(code.mapped());
    code.put(1);
    EXPECT_TRUE(follow.observe(code.mapped()));
    code.put(2);
    EXPECT_TRUE(follow.observe(code.mapped()));
    code.carry();
    code.carry();
    EXPECT_EQ(follow.observe(code.mapped()), most == 2);
  }
}

TEST(Refinement, TakesAsManyHiddenActionsBeforeAsAfter) {
  refinement<post_office> follow{{}, with_hidden_clerk(1)};
  office code;
  follow.begin(code.mapped());
  code.put(1);
  EXPECT_TRUE(follow.observe(code.mapped()));
  code.put(2);
  EXPECT_TRUE(follow.observe(code.mapped()));
  code.carry();
  code.put(3);
  code.carry();
  EXPECT_TRUE(follow.observe(code.mapped())) << report(follow);
}

// --- invariants ---------------------------------------------------------------------------------

TEST(Refinement, ReportsAnInvariantThatAStepBreaks) {
  refinement<post_office> follow{{.careful = false}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  for (int letter = 0; letter < 3; ++letter) {
    code.put(letter);
    EXPECT_TRUE(follow.observe(code.mapped()));
    code.carry();
    EXPECT_EQ(follow.observe(code.mapped(), "carry"), letter < 2);
  }
  ASSERT_TRUE(follow.diverged());
  EXPECT_EQ(follow.diverged()->what, divergence::kind::invariant);
  EXPECT_EQ(follow.diverged()->invariant, "Fits");
  EXPECT_EQ(report(follow),
            "step 6, carry: 'Fits' does not hold after carry\n"
            "           last  now\n"
            "* sill     1     0\n"
            "* shelf    2     3\n"
            "  got      0     0\n"
            "  carried  0     0\n");
}

TEST(Refinement, NamesTheInvariantAlsoWhereNoStepLeads) {
  refinement<post_office> follow{{}, without_ghost()};
  office code;
  follow.begin(code.mapped());
  code.shelf = {1, 2, 3, 4};
  EXPECT_FALSE(follow.observe(code.mapped()));
  EXPECT_EQ(follow.diverged()->what, divergence::kind::step);
  EXPECT_EQ(follow.diverged()->invariant, "Fits");
  EXPECT_NE(report(follow).find("'Fits' does not hold now\n"), std::string::npos);
}

TEST(Refinement, ChecksTheInvariantsThatAreAskedFor) {
  const auto is_right = [](std::vector<std::string> invariants) {
    options o = without_ghost();
    o.invariants = std::move(invariants);
    refinement<post_office> follow{{.careful = false}, o};
    office code;
    follow.begin(code.mapped());
    for (int letter = 0; letter < 3; ++letter) {
      code.put(letter);
      follow.observe(code.mapped());
      code.carry();
      follow.observe(code.mapped());
    }
    code.get();
    return follow.observe(code.mapped());
  };
  EXPECT_TRUE(is_right({"Bounded"}));
  EXPECT_FALSE(is_right({"Bounded", "Fits"}));
  EXPECT_FALSE(is_right({"Unread"}));
}

// --- the rest -----------------------------------------------------------------------------------

TEST(Refinement, ComparesGhostsUnlessTheyAreForgotten) {
  refinement<post_office> follow{{}, {}};
  follow.begin({});
  EXPECT_TRUE(follow.observe({.sill = 1}));
  EXPECT_FALSE(follow.observe({.shelf = 1}));
  EXPECT_NE(report(follow).find("  carry   sill = 0   shelf = 1   carried = 1\n"),
            std::string::npos)
      << report(follow);
}

TEST(Refinement, KeepsTheFirstDivergenceUntilTheNextBeginning) {
  refinement<post_office> follow{{}, without_ghost()};
  follow.begin({});
  EXPECT_FALSE(follow.observe({.got = 1}));
  const std::string first = report(follow);
  EXPECT_FALSE(follow.observe({.sill = 1}));
  EXPECT_FALSE(follow.observe({.shelf = 2}));
  EXPECT_EQ(report(follow), first);
  EXPECT_TRUE(follow.begin({}));
  EXPECT_TRUE(follow.observe({.sill = 1}));
  EXPECT_FALSE(follow.observe({.got = 1}));
  EXPECT_EQ(follow.diverged()->step, 2u);
}

#ifdef ROTA_TEST_COUNTS_ALLOCATIONS
TEST(Refinement, AllocatesNothingForWhatItKnows) {
  refinement<post_office> follow{{}, without_ghost()};
  follow.begin({});
  follow.observe({.sill = 1});
  follow.observe({.sill = 2});
  follow.begin({});
  const std::uint64_t before = allocations;
  follow.observe({});
  follow.observe({.sill = 1}, "put");
  follow.observe({.sill = 1});
  follow.observe({.sill = 2}, "put");
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(follow.counts().steps, 4u);
}
#endif

TEST(Refinement, LearnsAnewWhenItKnowsTooMuch) {
  options o = without_ghost();
  o.most_remembered = 1;
  refinement<post_office> follow{{}, o};
  for (int round = 0; round < 3; ++round) {
    follow.begin({});
    EXPECT_TRUE(follow.observe({.sill = 1}));
    EXPECT_TRUE(follow.observe({.sill = 2}));
    EXPECT_TRUE(follow.observe({.sill = 1, .shelf = 1}));
    EXPECT_FALSE(follow.observe({.sill = 1, .got = 2}));
  }
}

TEST(Refinement, RefusesWhatTheModelDoesNotHave) {
  EXPECT_THROW((refinement<post_office>{{}, {.hidden = {4}}}), std::invalid_argument);
  EXPECT_THROW((refinement<post_office>{{}, {.invariants = {"Fitz"}}}), std::invalid_argument);
  EXPECT_THROW((refinement<post_office>{{}, {.invariants = {"deadlock_free"}}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace rota::verify::test
