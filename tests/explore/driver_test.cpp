// The command line of explore::main: what it prints and with which status it ends.

#include <rota/verify/explore/driver.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace explore = rota::explore;
using explore::failure_kind;

void counts(std::memory_order order) {
  explore::atomic<int> flag{0};
  explore::cell<int> data{0};
  explore::thread writer([&] {
    data.set(42);
    flag.store(1, order);
  });
  if (flag.load(std::memory_order_acquire) == 1) explore::check(data.get() == 42, "data is there");
  writer.join();
}
void fine() { counts(std::memory_order_release); }
void racy() { counts(std::memory_order_relaxed); }

const std::vector<explore::scenario> scenarios{
    {"good.fine", "publishes with release", fine},
    {"good.known", "is known to race", racy, {}, {failure_kind::data_race}},
    {"bad.racy", "publishes with relaxed", racy},
    {"bad.tame", "does not race as expected", fine, {}, {failure_kind::data_race}},
    {"bad.other", "races instead of deadlocking", racy, {}, {failure_kind::deadlock}},
};

struct answer {
  int status;
  std::string out;
  std::string err;
};

answer said(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "prog");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  answer a;
  a.status = explore::main(static_cast<int>(argv.size()), argv.data(), scenarios);
  std::fflush(stdout);
  a.out = testing::internal::GetCapturedStdout();
  a.err = testing::internal::GetCapturedStderr();
  return a;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(driver, list_names_every_scenario_and_runs_none) {
  const answer a = said({"list"});
  EXPECT_EQ(a.status, 0);
  for (const auto& s : scenarios) EXPECT_TRUE(has(a.out, s.name + " ")) << a.out;
  EXPECT_FALSE(has(a.out, "schedules"));
}

TEST(driver, what_goes_as_expected_ends_with_0) {
  const answer a = said({"good"});
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(has(a.out, "good.fine")) << a.out;
  EXPECT_TRUE(has(a.out, "all schedules are covered, none fails")) << a.out;
  EXPECT_TRUE(has(a.out, "data race, as expected")) << a.out;
  EXPECT_FALSE(has(a.out, "bad.")) << a.out;
}

TEST(driver, a_failure_ends_with_1_and_shows_how_to_repeat_it) {
  const answer a = said({"bad.racy"});
  EXPECT_EQ(a.status, 1);
  const std::size_t at = a.out.find("replay: prog bad.racy --replay ");
  ASSERT_NE(at, std::string::npos) << a.out;
  const std::size_t token = at + std::string("replay: prog bad.racy --replay ").size();
  const answer again =
      said({"bad.racy", "--replay", a.out.substr(token, a.out.find('\n', token) - token)});
  EXPECT_EQ(again.status, 1) << again.out;
  EXPECT_TRUE(has(again.out, "data race")) << again.out;
  EXPECT_TRUE(has(again.out, "driver_test.cpp:")) << again.out;
}

TEST(driver, a_replay_that_does_not_fail_says_so) {
  const answer a = said({"good.fine", "--replay", "0"});
  EXPECT_EQ(a.status, 0);
  EXPECT_TRUE(has(a.out, "this schedule does not fail")) << a.out;
}

TEST(driver, what_was_expected_to_fail_has_to) {
  EXPECT_EQ(said({"bad.tame"}).status, 1);
  EXPECT_EQ(said({"bad.other"}).status, 1);
}

TEST(driver, a_search_that_was_cut_short_is_called_not_exhaustive) {
  EXPECT_TRUE(has(said({"good.fine", "--schedules", "1"}).out, "NOT exhaustive"));
  const answer few = said({"good.fine", "--strategy", "bounded", "--preemptions", "1"});
  EXPECT_TRUE(has(few.out, "none with at most 1 preemptions fails; NOT exhaustive")) << few.out;
  const answer some = said({"good.fine", "--strategy", "random", "--schedules", "7"});
  EXPECT_TRUE(has(some.out, "random: 7 schedules")) << some.out;
}

TEST(driver, json_is_a_line_for_each_scenario) {
  const answer a = said({"bad.racy", "good.fine", "--json"});
  EXPECT_EQ(a.status, 1);
  EXPECT_EQ(std::count(a.out.begin(), a.out.end(), '\n'), 2) << a.out;
  EXPECT_TRUE(has(a.out, "{\"scenario\": \"bad.racy\"")) << a.out;
  EXPECT_TRUE(has(a.out, "\"kind\": \"data race\"")) << a.out;
  EXPECT_TRUE(has(a.out, "\"exhaustive\": true")) << a.out;
}

TEST(driver, quiet_prints_only_what_is_not_as_expected) {
  EXPECT_EQ(said({"good", "--quiet"}).out, "");
  EXPECT_NE(said({"bad.racy", "--quiet"}).out, "");
}

TEST(driver, a_wrong_command_line_ends_with_2_and_says_what_would_be_right) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
      {{"nobody"}, "try list"},
      {{"--frobnicate"}, "no option --frobnicate"},
      {{"--strategy", "best"}, "exhaustive, bounded, pct or random"},
      {{"--memory", "strong"}, "weak or sc"},
      {{"--seed", "x"}, "takes a number"},
      {{"--seconds", "-1"}, "takes a number"},
      {{"--seed"}, "needs a value"},
      {{"--replay", "0"}, "name of the one scenario"},
      {{"good.fine", "--replay", "gibberish"}, "token"},
      {{"list", "good"}, "list takes no names"},
  };
  for (const auto& [arguments, hint] : wrong) {
    const answer a = said(arguments);
    EXPECT_EQ(a.status, 2) << arguments.front();
    EXPECT_TRUE(has(a.err, hint)) << arguments.front() << ": " << a.err;
    EXPECT_EQ(a.out, "") << arguments.front();
  }
}

TEST(driver, help_is_no_failure) {
  const answer a = said({"--help"});
  EXPECT_EQ(a.status, 0);
  EXPECT_TRUE(has(a.out, "usage: prog"));
}

}  // namespace
