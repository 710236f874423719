// Values and run-time errors: what an expression gives, or which error where.

#include <gtest/gtest.h>

#include "support.h"

namespace rota::coop::test {
namespace {

std::string text_of(const value& v) {
  if (v.is_task()) return "task " + std::to_string(v.number);
  if (v.kind == value_kind::boolean) return v.number ? "true" : "false";
  return std::to_string(v.number);
}

// The value that x has at the end, or the error: "overflow at 1:9".
std::string result_of(const std::string& source) {
  const outcome o = run(compiled(source), {});
  if (o.end == ending::error)
    return std::string(name_of(o.error.error)) + " at " + to_string(o.error.at);
  for (const auto& [name, v] : o.state)
    if (name == "x") return text_of(v);
  return "no x";
}

// Of an expression that starts in column 8.
std::string value_of(const std::string& expression) {
  return result_of("{ x := " + expression + " }");
}

// The same where t holds a task, on a line of its own.
std::string with_task(const std::string& statements) {
  return result_of("m(p) { skip } { spawn(m, 0, t); spawn(m, 0, u); x := 0;\n" + statements + " }");
}

TEST(Evaluate, ArithmeticGivesIntegers) {
  EXPECT_EQ(value_of("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(value_of("10 - 3 - 2"), "5");
  EXPECT_EQ(value_of("7 / 2"), "3");
  EXPECT_EQ(value_of("-7 / 2"), "-3");
  EXPECT_EQ(value_of("7 / -2"), "-3");
  EXPECT_EQ(value_of("7 % 3"), "1");
  EXPECT_EQ(value_of("-7 % 3"), "-1");
  EXPECT_EQ(value_of("7 % -3"), "1");
  EXPECT_EQ(value_of("true + true"), "2");
  EXPECT_EQ(value_of("-true"), "-1");
  EXPECT_EQ(value_of("- - 5"), "5");
  EXPECT_EQ(value_of("2 * (3 + 4)"), "14");
  EXPECT_EQ(value_of("100 / 10 / 5"), "2");
}

TEST(Evaluate, ComparisonsAndLogicGiveBooleans) {
  EXPECT_EQ(value_of("1 < 2"), "true");
  EXPECT_EQ(value_of("2 <= 1"), "false");
  EXPECT_EQ(value_of("true > false"), "true");
  EXPECT_EQ(value_of("1 >= true"), "true");
  EXPECT_EQ(value_of("1 == true"), "true");
  EXPECT_EQ(value_of("2 == true"), "false");
  EXPECT_EQ(value_of("0 != false"), "false");
  EXPECT_EQ(value_of("!5"), "false");
  EXPECT_EQ(value_of("!0"), "true");
  EXPECT_EQ(value_of("7 && 3"), "true");
  EXPECT_EQ(value_of("0 || 3"), "true");
  EXPECT_EQ(value_of("0 || 0"), "false");
  EXPECT_EQ(value_of("1 == 1 && 2 < 3 || false"), "true");
  EXPECT_EQ(value_of("true || false && false"), "true");
  EXPECT_EQ(value_of("1 < 2 == 2 < 3"), "true");
  EXPECT_EQ(value_of("!1 == 0"), "true");
  EXPECT_EQ(value_of("1 + (0 || 5) + (3 && 0)"), "2");
}

TEST(Evaluate, LogicStopsEarly) {
  EXPECT_EQ(value_of("false && 1 / 0"), "false");
  EXPECT_EQ(value_of("true || 1 / 0"), "true");
  EXPECT_EQ(value_of("true && 1 / 0"), "division-by-zero at 1:18");
  EXPECT_EQ(value_of("false || 1 / 0"), "division-by-zero at 1:19");
  EXPECT_EQ(value_of("(false && 1 / 0) || (true || 1 / 0)"), "true");
  EXPECT_EQ(value_of("false && false && 1 / 0"), "false");
  EXPECT_EQ(value_of("true && (false || true) && !false"), "true");
}

TEST(Evaluate, ErrorsOfNumbersAreAtTheOperator) {
  EXPECT_EQ(value_of("1 / 0"), "division-by-zero at 1:10");
  EXPECT_EQ(value_of("1 % false"), "division-by-zero at 1:10");
  EXPECT_EQ(value_of("9223372036854775807 + 1"), "overflow at 1:28");
  EXPECT_EQ(value_of("-9223372036854775807 - 2"), "overflow at 1:29");
  EXPECT_EQ(value_of("4611686018427387904 * 2"), "overflow at 1:28");
  EXPECT_EQ(value_of("-9223372036854775807 - 1"), "-9223372036854775808");
  EXPECT_EQ(value_of("-(-9223372036854775807 - 1)"), "overflow at 1:8");
  EXPECT_EQ(value_of("(-9223372036854775807 - 1) / -1"), "overflow at 1:35");
  EXPECT_EQ(value_of("(-9223372036854775807 - 1) % -1"), "0");
  EXPECT_EQ(value_of("(-9223372036854775807 - 1) / 1"), "-9223372036854775808");
  EXPECT_EQ(value_of("5 / -1"), "-5");
  // All operands are evaluated, from left to right.
  EXPECT_EQ(value_of("1 / 0 + 9223372036854775807 * 2"), "division-by-zero at 1:10");
}

TEST(Evaluate, TasksAreEqualToThemselvesOnly) {
  EXPECT_EQ(with_task("x := t == t"), "true");
  EXPECT_EQ(with_task("x := t == u"), "false");
  EXPECT_EQ(with_task("x := t != u"), "true");
  EXPECT_EQ(with_task("x := t == 1"), "false");
  EXPECT_EQ(with_task("x := 1 != t"), "true");
  EXPECT_EQ(with_task("x := true == t"), "false");
  EXPECT_EQ(with_task("x := t"), "task 1");
  EXPECT_EQ(with_task("x := (t)"), "task 1");
}

TEST(Evaluate, ATaskIsNoNumberAndTheErrorIsAtTheVariable) {
  EXPECT_EQ(with_task("x := t + 1"), "not-a-number at 2:6");
  EXPECT_EQ(with_task("x := 1 + t"), "not-a-number at 2:10");
  EXPECT_EQ(with_task("x := t < u"), "not-a-number at 2:6");
  EXPECT_EQ(with_task("x := -t"), "not-a-number at 2:7");
  EXPECT_EQ(with_task("x := !((t))"), "not-a-number at 2:9");
  EXPECT_EQ(with_task("x := t && true"), "not-a-number at 2:6");
  EXPECT_EQ(with_task("x := true && t"), "not-a-number at 2:14");
  EXPECT_EQ(with_task("x := false || t"), "not-a-number at 2:15");
  EXPECT_EQ(with_task("x := false && t"), "false");
  EXPECT_EQ(with_task("x := 1 / t"), "not-a-number at 2:10");
  EXPECT_EQ(with_task("x := t / 0"), "not-a-number at 2:6");
  EXPECT_EQ(with_task("if t { skip }"), "not-a-number at 2:4");
  EXPECT_EQ(with_task("while (t) { skip }"), "not-a-number at 2:8");
  EXPECT_EQ(with_task(":: t; skip"), "not-a-number at 2:4");
  // The right operand is evaluated before the left one is taken for a number.
  EXPECT_EQ(with_task("x := t + 1 / 0"), "division-by-zero at 2:12");
}

TEST(Evaluate, AwaitNeedsATask) {
  EXPECT_EQ(with_task("await x"), "not-a-task at 2:7");
  EXPECT_EQ(with_task("x := 1; await x"), "not-a-task at 2:15");
  EXPECT_EQ(with_task("x := t; await x; x := 5"), "5");
}

// The parameter is the task's own; a global of the same name is another variable.
TEST(Evaluate, AParameterHidesTheGlobal) {
  EXPECT_EQ(
      result_of("m(x) { x := x + 1; y := x } { x := 10; spawn(m, 1, t); await t; x := x + y }"),
      "12");
}

TEST(Evaluate, DeepExpressionsFitTheirStack) {
  std::string deep = "1";
  for (int i = 0; i < 200; ++i) deep = "1 + (false || 2 * (" + deep + ") > 0) - 0";
  EXPECT_EQ(errors_in("{ x := " + deep + " }").substr(0, 2), "1:");  // too deep by far
  deep = "1";
  for (int i = 0; i < 120; ++i) deep = "0 || 1 && 1 == 1 < 1 + 1 * (0 + (" + deep + "))";
  EXPECT_EQ(value_of(deep), "true");
}

}  // namespace
}  // namespace rota::coop::test
