// A broken promise shows as tables that are taken together although a job would wait for ever, run
// under a cap that nobody gave, or push another one out; or as equal rules that are kept twice.

#include <gtest/gtest.h>

#include "job/tables.h"

namespace rota::job::test {
namespace {

using lines = std::vector<std::string>;

table native_file(const std::string& name, const std::string& text,
                  const std::string& owner = "root") {
  table t = read_native(text, {.file = name, .owner = owner});
  EXPECT_EQ(joined(t.problems), "");
  return t;
}

lines problems_together(const std::vector<table>& tables, const group_caps& groups = {},
                        const table_limits& limits = {}) {
  std::vector<const table*> all;
  for (const table& t : tables) all.push_back(&t);
  return texts(check_together(all, groups, limits));
}

TEST(TablesTogether, WhatIsInOrderHasNoProblems) {
  EXPECT_EQ(problems_together({native_file("a.toml", "shell = \"x\"\nlimit_group = \"g\""),
                               native_file("b.toml", "shell = \"x\"\nafter = [\"a\", \"c\"]"),
                               native_file("c.toml", "shell = \"x\"\nafter = [\"a\"]"),
                               native_file("g.toml", "[group.g]\ncap = 1"),
                               native_file("h.toml", "[group.g]\ncap = 1")}),
            lines{});
}

TEST(TablesTogether, ANameStandsInOneFile) {
  EXPECT_EQ(problems_together({native_file("a.toml", "[job.x]\nshell = \"x\""),
                               native_file("b.toml", "\n[job.x]\nshell = \"x\"")}),
            (lines{"b.toml:2: job `x` stands in a.toml:1 too; choose another name"}));
}

TEST(TablesTogether, S1NobodyPushesOutRootsJobsOrLearnsOfOthers) {
  const auto job = [](const std::string& file_name, const std::string& owner) {
    return native_file(file_name, "[job.x]\nshell = \"x\"", owner);
  };
  const lines taken{"alice.toml:1: job `x` has a name that is taken; choose another one"};
  EXPECT_EQ(problems_together({job("alice.toml", "alice"), job("root.toml", "root")}), taken);
  EXPECT_EQ(problems_together({job("root.toml", "root"), job("alice.toml", "alice")}), taken);
  EXPECT_EQ(problems_together({job("bob.toml", "bob"), job("alice.toml", "alice")}), taken);
  EXPECT_EQ(problems_together({native_file("alice.toml", "[group.g]\ncap = 1", "alice"),
                               native_file("root.toml", "[group.g]\ncap = 2")}),
            (lines{"alice.toml: group `g` has a name that is taken; choose another one"}));
}

TEST(TablesTogether, S1ALimitGroupIsOneOfOnesOwnTables) {
  const std::string uses = "shell = \"x\"\nlimit_group = \"db\"";
  const table of_root = native_file("r.toml", "[group.db]\ncap = 1");
  const table of_alice = native_file("g.toml", "[group.db]\ncap = 1", "alice");
  const lines refused{
      "a.toml:1: job `a` has the limit_group `db`, which has no cap in your tables; add [group.db] "
      "with cap = 1, say, to a table in TOML"};
  EXPECT_EQ(problems_together({of_root, native_file("a.toml", uses, "alice")}), refused);
  EXPECT_EQ(problems_together({native_file("a.toml", uses, "alice")}, {{"db", 1}}), refused);
  EXPECT_EQ(problems_together({native_file("g.toml", "[group.db]\ncap = 1", "bob"),
                               native_file("a.toml", uses, "alice")}),
            refused);
  EXPECT_EQ(problems_together({of_alice, native_file("a.toml", uses, "alice")}), lines{});
  EXPECT_EQ(problems_together({of_alice, native_file("a.toml", uses)}), lines{});
  // The same cap would make it the same group all the same.
  EXPECT_EQ(problems_together({of_alice, of_root}),
            (lines{"g.toml: group `db` has a name that is taken; choose another one"}));
}

TEST(TablesTogether, AfterNamesJobsThatAreThere) {
  EXPECT_EQ(
      problems_together({native_file("a.toml",
                                     "[job.backup]\nshell = \"x\"\n[job.b]\nafter = \"bakcup\"\n"
                                     "shell = \"x\"\n[job.c]\nafter = \"zzzzzz\"\nshell = \"x\"")}),
      (lines{"a.toml:3: job `b` comes after `bakcup`, and there is no such job; did you mean "
             "`backup`?",
             "a.toml:6: job `c` comes after `zzzzzz`, and there is no such job"}));
}

TEST(TablesTogether, S1AfterSeesOnlyJobsOfTheSameOwner) {
  const table of_root = native_file("r.toml", "[job.r]\nshell = \"x\"");
  EXPECT_EQ(
      problems_together({of_root, native_file("a.toml", "shell = \"x\"\nafter = \"r\"", "alice")}),
      (lines{"a.toml:1: job `a` comes after `r`, and there is no such job"}));
  EXPECT_EQ(problems_together({native_file("a.toml", "shell = \"x\"", "alice"),
                               native_file("r.toml", "shell = \"x\"\nafter = \"a\"")}),
            lines{});
}

TEST(TablesTogether, NoJobComesAfterItself) {
  EXPECT_EQ(problems_together({native_file("a.toml", "shell = \"x\"\nafter = \"a\"")}),
            (lines{"a.toml:1: job `a` comes after itself: a -> a; take one `after` out of the "
                   "circle"}));
  EXPECT_EQ(
      problems_together(
          {native_file("s.toml", "shell = \"x\"\nafter = \"a\""),
           native_file("a.toml", "shell = \"x\"\nafter = [{job = \"b\", on = \"failure\"}]"),
           native_file("b.toml", "shell = \"x\"\nafter = \"c\""),
           native_file("c.toml", "shell = \"x\"\nafter = \"a\"")}),
      (lines{"a.toml:1: job `a` comes after itself: a -> b -> c -> a; take one `after` out of "
             "the circle"}));
}

TEST(TablesTogether, LongChainsAreFollowed) {
  std::string text = "[job.j0]\nshell = \"x\"\n";
  constexpr int length = 20'000;
  for (int i = 1; i < length; ++i)
    text += "[job.j" + std::to_string(i) + "]\nshell = \"x\"\nafter = \"j" + std::to_string(i - 1) +
            "\"\n";
  EXPECT_EQ(problems_together({native_file("a.toml", text)}), lines{});
  text.insert(text.find('\n') + 1, "after = \"j" + std::to_string(length - 1) + "\"\n");
  EXPECT_EQ(problems_together({native_file("a.toml", text)}).size(), 1u);
}

TEST(TablesTogether, AGroupHasOneCap) {
  EXPECT_EQ(problems_together({native_file("a.toml", "shell = \"x\"\nlimit_group = \"db\"")}),
            (lines{"a.toml:1: job `a` has the limit_group `db`, which has no cap; add [group.db] "
                   "with cap = 1, say, to a table in TOML"}));
  EXPECT_EQ(
      problems_together({native_file("a.toml", "shell = \"x\"\nlimit_group = \"databse\"")},
                        {{"database", 1}}),
      (lines{"a.toml:1: job `a` has the limit_group `databse`, which has no cap; did you mean "
             "`database`?"}));
  EXPECT_EQ(problems_together({native_file("a.toml", "shell = \"x\"\nlimit_group = \"db\"")},
                              {{"db", 4}}),
            lines{});
  EXPECT_EQ(problems_together({native_file("a.toml", "[group.g]\ncap = 1"),
                               native_file("b.toml", "[group.g]\ncap = 2")}),
            (lines{"b.toml: group `g` has the cap 2 here and 1 elsewhere; give it one"}));
}

TEST(TablesTogether, S1AnOwnerHasSoManyJobsInAllTables) {
  const auto two = [](const std::string& name, const std::string& owner) {
    return native_file(
        name, "[job." + name + "1]\nshell = \"x\"\n[job." + name + "2]\nshell = \"x\"", owner);
  };
  table_limits three;
  three.entries = 3;
  EXPECT_EQ(problems_together({two("a", "alice"), two("b", "bob")}, {}, three), lines{});
  EXPECT_EQ(problems_together({two("a", "alice"), two("b", "alice")}, {}, three),
            (lines{"b:3: job `b2` is one more than the 3 that `alice` may have"}));
}

TEST(TablesTogether, S1OnlyRootsDaemonRunsJobsOfOthers) {
  const table t = read_system("@daily bob x\n@daily carol y", {.file = "/etc/crontab"});
  EXPECT_TRUE(check_users(t, "root", true).empty());
  const auto found = check_users(t, "carol", false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found[0]).substr(0, 19), "/etc/crontab:1: job");
  EXPECT_NE(found[0].text.find("runs as `bob`, which only root's daemon can do"),
            std::string::npos);
}

TEST(TablesTogether, EqualRulesAndSurroundingsAreShared) {
  interner shared;
  const auto read = [&](const std::string& text) {
    return read_user(text, {.file = "tab", .shared = &shared});
  };
  const table a = read("A=1\n* * * * * x\n# rota: timeout=5m\n* * * * * y\n");
  const table b = read("* * * * * w\nA=1\n* * * * * z\n# rota: timeout=5m\n* * * * * y\n");
  ASSERT_EQ(a.jobs.size(), 2u);
  ASSERT_EQ(b.jobs.size(), 3u);
  EXPECT_EQ(a.jobs[0].surroundings, a.jobs[1].surroundings);
  EXPECT_EQ(a.jobs[0].surroundings, b.jobs[1].surroundings);
  EXPECT_NE(a.jobs[0].surroundings, b.jobs[0].surroundings);
  EXPECT_EQ(a.jobs[0].rules, b.jobs[0].rules);
  EXPECT_EQ(a.jobs[1].rules, b.jobs[2].rules);
  EXPECT_NE(a.jobs[0].rules, a.jobs[1].rules);
  EXPECT_EQ(a.jobs[0].source.file, b.jobs[0].source.file);
  EXPECT_EQ(shared.size(), 5u);
}

TEST(TablesTogether, WhatNobodyUsesIsForgotten) {
  interner shared;
  std::weak_ptr<const rules> watched;
  for (int i = 0; i < 1000; ++i) {
    rules r;
    r.timeout = milliseconds{i};
    const auto kept = shared.share(r);
    EXPECT_EQ(*kept, r);
    EXPECT_EQ(shared.share(r), kept);
    watched = kept;
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(shared.size(), 0u);
  EXPECT_LT(shared.kept(), 300u);
}

}  // namespace
}  // namespace rota::job::test
