// What is wrong with a text: kind and position are promised, for each kind and each place that the
// definition names.

#include <gtest/gtest.h>

#include "support.h"

namespace rota::coop::test {
namespace {

// --- characters ---------------------------------------------------------------------------------

TEST(Parse, LexicalErrorsAreAtTheOffendingCharacter) {
  EXPECT_EQ(errors_in("{ x = 1 }"), "1:5 lexical");
  EXPECT_EQ(errors_in("{ x : 1 }"), "1:5 lexical");
  EXPECT_EQ(errors_in("{ x := 1 & 2 }"), "1:10 lexical");
  EXPECT_EQ(errors_in("{ x := 1 | 2 }"), "1:10 lexical");
  EXPECT_EQ(errors_in("{ skip }\n  @"), "2:3 lexical");
  EXPECT_EQ(errors_in(std::string("{ skip \0 }", 10)), "1:8 lexical");
  EXPECT_EQ(errors_in("{\fskip }"), "1:2 lexical");
  EXPECT_EQ(errors_in("\xEF\xBB\xBF{ skip }"), "1:1 lexical");
}

TEST(Parse, ColumnsCountCharactersAndATabIsOne) {
  EXPECT_EQ(errors_in("/* \xC3\xA4\xE2\x82\xAC */ @"), "1:10 lexical");
  EXPECT_EQ(errors_in("\t\t@"), "1:3 lexical");
  EXPECT_EQ(errors_in("{ x := \xC3\xA4 }"), "1:8 lexical");
  EXPECT_EQ(errors_in("{\r\n  @"), "2:3 lexical");
}

TEST(Parse, NumbersHaveSixtyThreeBitsAndEndBeforeLetters) {
  EXPECT_EQ(errors_in("{ x := 9223372036854775807 }"), "");
  EXPECT_EQ(errors_in("{ x := 9223372036854775808 }"), "1:8 lexical");
  EXPECT_EQ(errors_in("{ x := 0000000000000000000000000001 }"), "");
  EXPECT_EQ(errors_in("{ x := 12ab }"), "1:8 lexical");
  EXPECT_EQ(errors_in("{ x := 1_ }"), "1:8 lexical");
  EXPECT_EQ(errors_in("{ _x1 := 1; x_ := _x1 }"), "");
}

TEST(Parse, CommentsAreClosedAndNotNested) {
  EXPECT_EQ(errors_in("{ skip } // \xFF\x80 to the end"), "");
  EXPECT_EQ(errors_in("{ /* * / ** */ skip }"), "");
  EXPECT_EQ(errors_in("{ skip }\n  /* never"), "2:3 lexical");
  EXPECT_EQ(errors_in("{ skip /*/ }"), "1:8 lexical");
  EXPECT_EQ(errors_in("/* /* */ */ { skip }"), "1:10 syntax");
}

TEST(Parse, LexicalErrorsComeFirstWhereverTheyAre) {
  EXPECT_EQ(errors_in("{ } \n @ "), "2:2 lexical");
  EXPECT_EQ(errors_in("@ { } \n 1a "), "1:1 lexical, 2:2 lexical");
}

TEST(Parse, TheLongestSymbolWins) {
  EXPECT_EQ(errors_in("{ x:=1;::x<=1;x:=x!=1 }"), "");
  EXPECT_EQ(errors_in("{ :::= }"), "1:5 syntax");
  EXPECT_EQ(errors_in("{ x := 1 <== 2 }"), "1:12 lexical");
}

// --- the grammar --------------------------------------------------------------------------------

TEST(Parse, TakesEveryStatement) {
  EXPECT_EQ(errors_in("language coopwhile; m(p) { p := p + 1; skip; }\n"
                      "{ skip; x := 1; if x { skip } while !x { skip }; spawn(m, 1);\n"
                      "  spawn(m, 1, x); suspend; await x; :: x == x; skip }"),
            "");
  EXPECT_EQ(errors_in("language while; { skip }"), "");
  EXPECT_EQ(errors_in("language spawn; { skip }"), "");
  EXPECT_EQ(errors_in("language guard; { :: true; :: false; skip }"), "");
  // A language's name that is not reserved is a name like any other.
  EXPECT_EQ(errors_in("guard(coopwhile) { skip } { spawn(guard, 1) }"), "");
}

TEST(Parse, SyntaxErrorsAreAtTheTokenThatDoesNotFit) {
  EXPECT_EQ(errors_in(""), "1:1 syntax");
  EXPECT_EQ(errors_in("\n\n  "), "3:3 syntax");
  EXPECT_EQ(errors_in("{ skip"), "1:7 syntax");
  EXPECT_EQ(errors_in("{ skip } { skip }"), "1:10 syntax");
  EXPECT_EQ(errors_in("{ skip } m(x) { skip }"), "1:10 syntax");
  EXPECT_EQ(errors_in("language python; { skip }"), "1:10 syntax");
  EXPECT_EQ(errors_in("language while { skip }"), "1:16 syntax");
  EXPECT_EQ(errors_in("language while; language while; { skip }"), "1:17 syntax");
  EXPECT_EQ(errors_in("m() { skip } { skip }"), "1:3 syntax");
  EXPECT_EQ(errors_in("m(x, y) { skip } { skip }"), "1:4 syntax");
  EXPECT_EQ(errors_in("while(x) { skip } { skip }"), "1:1 syntax");
  EXPECT_EQ(errors_in("m(true) { skip } { skip }"), "1:3 syntax");
  EXPECT_EQ(errors_in("m(x) skip { skip }"), "1:6 syntax");
  EXPECT_EQ(errors_in("{ skip skip }"), "1:8 syntax");
  EXPECT_EQ(errors_in("{ ; skip }"), "1:3 syntax");
  EXPECT_EQ(errors_in("{ skip;; skip }"), "1:8 syntax");
  EXPECT_EQ(errors_in("{ if true { skip };; skip }"), "1:20 syntax");
  EXPECT_EQ(errors_in("{ return }"), "1:3 syntax");
  EXPECT_EQ(errors_in("{ x := }"), "1:8 syntax");
  EXPECT_EQ(errors_in("{ x 1 }"), "1:5 syntax");
  EXPECT_EQ(errors_in("{ if true skip }"), "1:11 syntax");
  EXPECT_EQ(errors_in("{ if true { skip } else { skip } }"), "1:25 syntax");
  EXPECT_EQ(errors_in("{ await 1 }"), "1:9 syntax");
  EXPECT_EQ(errors_in("{ spawn(m) }"), "1:10 syntax");
  EXPECT_EQ(errors_in("{ spawn(m, 1, 2) }"), "1:15 syntax");
  EXPECT_EQ(errors_in("{ spawn(m, 1, x, y) }"), "1:16 syntax");
  EXPECT_EQ(errors_in("{ x := (1 }"), "1:11 syntax");
  EXPECT_EQ(errors_in("{ x := 1 ) }"), "1:10 syntax");
  EXPECT_EQ(errors_in("{ x := 1 + }"), "1:12 syntax");
  EXPECT_EQ(errors_in("{ x := true := 1 }"), "1:13 syntax");
}

TEST(Parse, ABlockIsNotEmptyAndAGuardGuardsSomething) {
  EXPECT_EQ(errors_in("{ }"), "1:3 syntax");
  EXPECT_EQ(errors_in("m(x) {} { skip }"), "1:7 syntax");
  EXPECT_EQ(errors_in("{ while true { } }"), "1:16 syntax");
  EXPECT_EQ(errors_in("{ :: true }"), "1:11 syntax");
  EXPECT_EQ(errors_in("{ :: true; }"), "1:12 syntax");
  EXPECT_EQ(errors_in("{ :: true skip }"), "1:11 syntax");
  EXPECT_EQ(errors_in("{ if true { :: true }; skip }"), "1:21 syntax");
}

TEST(Parse, ComparisonsDoNotChain) {
  EXPECT_EQ(errors_in("{ x := 1 == 2 == 3 }"), "1:15 syntax");
  EXPECT_EQ(errors_in("{ x := 1 == 2 != 3 }"), "1:15 syntax");
  EXPECT_EQ(errors_in("{ x := 1 < 2 < 3 }"), "1:14 syntax");
  EXPECT_EQ(errors_in("{ x := 1 < 2 >= 3 }"), "1:14 syntax");
  EXPECT_EQ(errors_in("{ x := (1 < 2) < 3 }"), "");
  EXPECT_EQ(errors_in("{ x := 1 < 2 == 3 < 4 }"), "");
}

// --- nesting ------------------------------------------------------------------------------------

std::string repeated(const std::string& s, std::size_t n) {
  std::string all;
  for (std::size_t i = 0; i < n; ++i) all += s;
  return all;
}

// The brace of main is one of the 256.
TEST(Parse, NestingIsBoundedAndCountsAllKindsTogether) {
  const auto brackets = [](std::size_t n) {
    return errors_in("{ x := " + repeated("(", n) + "1" + repeated(")", n) + " }");
  };
  EXPECT_EQ(brackets(255), "");
  EXPECT_EQ(brackets(256), "1:263 nesting");
  EXPECT_EQ(brackets(100'000), "1:263 nesting");
  EXPECT_EQ(errors_in("{ x := " + repeated("-", 255) + "1 }"), "");
  EXPECT_EQ(errors_in("{ x := " + repeated("!", 256) + "1 }"), "1:263 nesting");
  const auto blocks = [](std::size_t n) {
    return errors_in("{" + repeated("if 1{", n) + "skip" + repeated("}", n) + "}");
  };
  EXPECT_EQ(blocks(255), "");
  EXPECT_EQ(blocks(256), "1:1281 nesting");
  EXPECT_EQ(errors_in("{ if 1 { x := " + repeated("-(", 127) + "1" + repeated(")", 127) + " } }"),
            "");
  EXPECT_EQ(errors_in("{ if 1 { x := " + repeated("-(", 127) + "-1" + repeated(")", 127) + " } }"),
            "1:269 nesting");
}

// What was closed does not count, nor do the brackets of procedures and spawns.
TEST(Parse, NestingCountsWhatIsOpen) {
  const std::string wide = repeated("if (1) { skip } ", 300);
  EXPECT_EQ(errors_in("m(x) { skip } { " + wide + "}"), "");
  EXPECT_EQ(errors_in("m(x) { skip } { spawn(m, " + repeated("-", 255) + "1) }"), "");
}

TEST(Parse, LongTextsAreNoNesting) {
  const std::string sum = "{ x := 1" + repeated(" + 1", 200'000) + " }";
  EXPECT_EQ(errors_in(sum), "");
  const outcome o = run(compiled(sum), {});
  EXPECT_EQ(o.state.front().second, value::integer(200'001));
  EXPECT_EQ(errors_in("{ x := 1" + repeated(" && 1", 200'000) + " }"), "");
  EXPECT_EQ(errors_in("{ skip" + repeated("; skip", 200'000) + " }"), "");
}

// --- static rules -------------------------------------------------------------------------------

TEST(Parse, ProceduresAreDeclaredOnceAndSpawnNamesOne) {
  EXPECT_EQ(errors_in("m(x) { skip } m(y) { skip } { skip }"), "1:15 duplicate-procedure");
  EXPECT_EQ(errors_in("{ spawn(m, 1) }"), "1:9 unknown-procedure");
  EXPECT_EQ(errors_in("m(x) { spawn(n, 1) } n(x) { spawn(m, 1) } { spawn(n, 1) }"), "");
  // Variables and procedures do not get into each other's way.
  EXPECT_EQ(errors_in("m(m) { m := 1 } { x := 1; spawn(m, x, m); await m }"), "");
  EXPECT_EQ(errors_in("m(x) { skip } { x := m }"), "1:22 unbound-variable");
}

TEST(Parse, NamesThatAreReadAreAssignedSomewhereOrParameters) {
  EXPECT_EQ(errors_in("{ x := y }"), "1:8 unbound-variable");
  EXPECT_EQ(errors_in("{ await y }"), "1:9 unbound-variable");
  EXPECT_EQ(errors_in("{ if y { skip }; while z { skip }; :: w; skip }"),
            "1:6 unbound-variable, 1:24 unbound-variable, 1:39 unbound-variable");
  EXPECT_EQ(errors_in("m(x) { skip } { spawn(m, x) }"), "1:26 unbound-variable");
  // Also after the reading, and in code that never runs.
  EXPECT_EQ(errors_in("{ x := y; if false { y := 1 } }"), "");
  EXPECT_EQ(errors_in("m(x) { skip } { await t; spawn(m, 1, t) }"), "");
  // An assignment to a parameter makes no global.
  EXPECT_EQ(errors_in("m(x) { x := 1 } { y := x }"), "1:24 unbound-variable");
  EXPECT_EQ(errors_in("m(x) { spawn(m, 1, x) } { await x }"), "1:33 unbound-variable");
  EXPECT_EQ(errors_in("m(x) { x := 1 } n(y) { x := y } { y := x }"), "");
}

TEST(Parse, LanguagesHaveTheirStatements) {
  EXPECT_EQ(errors_in("language while; m(x) { skip } { skip }"), "1:17 language");
  EXPECT_EQ(errors_in("language while; { suspend }"), "1:19 language");
  EXPECT_EQ(errors_in("language while; { :: true; skip }"), "1:19 language");
  EXPECT_EQ(errors_in("language while; m(x) { skip } { spawn(m, 1) }"),
            "1:17 language, 1:33 language");
  EXPECT_EQ(errors_in("language spawn; { :: true; skip }"), "1:19 language");
  EXPECT_EQ(errors_in("language spawn; { suspend }"), "1:19 language");
  EXPECT_EQ(errors_in("language guard; { x := 1; await x }"), "1:27 language");
  EXPECT_EQ(errors_in("language spawn; m(x) { skip } { spawn(m, 1, t) }"), "1:45 language");
  EXPECT_EQ(errors_in("language guard; m(x) { skip } { spawn(m, 1, t) }"), "1:45 language");
  EXPECT_EQ(errors_in("language guard; m(x) { skip } { spawn(m, 1) }"), "");
}

TEST(Parse, StaticErrorsComeInTheOrderOfTheText) {
  EXPECT_EQ(
      errors_in("language spawn; m(x) { suspend; y := z } m(x) { spawn(n, w, v) } { await q }"),
      "1:24 language, 1:38 unbound-variable, 1:42 duplicate-procedure, 1:55 unknown-procedure, "
      "1:58 unbound-variable, 1:61 language, 1:68 language, 1:74 unbound-variable");
}

TEST(Parse, MessagesHaveTheFormThatToolsRead) {
  const static_error e = parse("{ x := y }").errors.front();
  EXPECT_EQ(to_string(e, "f.cw"),
            "f.cw:1:8: error: y is assigned nowhere and is no parameter here [unbound-variable]");
}

}  // namespace
}  // namespace rota::coop::test
