// A broken promise shows as a key that does something else than docs/job_files.md says, as a
// mistake that nobody is told of, or as a job that changes when it is written and read again.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include "job/tables.h"

namespace rota::job::test {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;
using rota::detail::rng;

definition only_native(std::string_view text, table_options o = {}) {
  const table t = read_native(text, std::move(o));
  EXPECT_EQ(joined(t.problems), "");
  EXPECT_EQ(t.jobs.size(), 1u);
  return t.jobs.empty() ? definition{} : t.jobs.front();
}

lines problems_of(std::string_view text, table_options o = {}) {
  const table t = read_native(text, std::move(o));
  EXPECT_TRUE(t.ok() || t.jobs.empty());
  return texts(t.problems);
}

TEST(TomlJobs, AFileIsAJobOfItsName) {
  const definition d = only_native("\nschedule = \"30 2 * * *\"\nrun = [\"a\", \"b c\"]\n");
  EXPECT_EQ(d.name, "one");
  EXPECT_EQ(d.text, "30 2 * * *");
  EXPECT_EQ(d.when, schedule::parse("30 2 * * *"));
  EXPECT_FALSE(d.command.shell);
  EXPECT_EQ(d.command.argv, (lines{"a", "b c"}));
  EXPECT_EQ(*d.rules, rules{});  // O1: skip is the default
  EXPECT_EQ(*d.surroundings, surroundings{});
  EXPECT_EQ(d.source.line, 2u);
  EXPECT_EQ(only_native("name = \"other\"\nshell = \"x\"").name, "other");
}

TEST(TomlJobs, EveryKeyHasItsPlace) {
  const definition d = only_native(R"(
name = "all"
schedule = "H 4 * * *"
zone = "Europe/Paris"
dst = "vixie"
shell = "x | y"
shell_program = "/bin/bash"
input = "one\ntwo"
user = "www-data"
user_group = "adm"
directory = "/srv"
umask = "027"
nice = -5
environment = {A = "1", B = "x y"}
environment_file = "/etc/secrets"
overlap = "queue"
queue = 3
catchup = "all"
catchup_most = 7
deadline = "2h"
timeout = "5m"
grace = "1m30s"
retry = {count = 3, delay = "20s", most = "10m", factor = 1.5, jitter = 0, codes = [1, 75]}
after = ["a", {job = "b", on = "failure"}, {job = "c"}, {job = "d", on = "any"}]
limit_group = "db"
on_unknown = "rerun"
absence = "26h"
output_limit = "1MiB"
keep_runs = 10
keep_for = "30d"
alert = {mail = "a@b", web_hook = "https://example.org/x", failure = false, recovery = false}
)");
  EXPECT_EQ(d.name, "all");
  EXPECT_EQ(d.when.zone().name(), "Europe/Paris");
  EXPECT_EQ(d.when.dst(), dst_rule::vixie);
  EXPECT_EQ(d.when, schedule::parse("H 4 * * *", {.name = "all",
                                                  .zone = time_zone::find("Europe/Paris").value(),
                                                  .dst = dst_rule::vixie}));
  EXPECT_EQ(d.command, (command{true, {"x | y"}, "one\ntwo"}));
  surroundings s;
  s.environment = {{"A", "1"}, {"B", "x y"}};
  s.environment_file = "/etc/secrets";
  s.user = "www-data";
  s.group = "adm";
  s.directory = "/srv";
  s.umask = 027;
  s.nice = -5;
  s.shell = "/bin/bash";
  s.output_limit = 1 << 20;
  s.keep_runs = 10;
  s.keep_for = 720h;
  s.alerts = {"a@b", "https://example.org/x", false, false};
  EXPECT_EQ(*d.surroundings, s);
  rules r;
  r.overlap = overlap_rule::queue;
  r.queue_length = 3;
  r.catchup = catchup_rule::all;
  r.catchup_most = 7;
  r.deadline = 2h;
  r.timeout = 5min;
  r.grace = 90s;
  r.retry = {3, 20s, 10min, 1.5, 0, {1, 75}};
  r.on_unknown = unknown_rule::rerun;
  r.group = "db";
  r.after = {{"a", dependency_on::success},
             {"b", dependency_on::failure},
             {"c", dependency_on::success},
             {"d", dependency_on::any}};
  r.absence = 26h;
  EXPECT_EQ(*d.rules, r);
}

TEST(TomlJobs, WithoutAScheduleAJobRunsOnlyWhenAsked) {
  const definition d = only_native("shell = \"x\"");
  EXPECT_EQ(d.when.what(), schedule::kind::never);
  EXPECT_EQ(d.text, "");
}

TEST(TomlJobs, ShortFormsOfRetryAndAfter) {
  const definition d = only_native("shell = \"x\"\nretry = 3\nafter = \"a\"");
  EXPECT_EQ(d.rules->retry.count, 3u);
  EXPECT_EQ(d.rules->after, (std::vector<dependency>{{"a", dependency_on::success}}));
}

TEST(TomlJobs, SeveralJobsAndGroupsComeInTheOrderOfTheText) {
  const table t = read_native(
      "[group.db]\ncap = 2\n[job.z]\nshell = \"1\"\n[job.\"a/b\"]\nshell = \"2\"\n"
      "[job.a.retry]\ncount = 1\n[job.a]\nshell = \"3\"");
  ASSERT_EQ(joined(t.problems), "");
  EXPECT_EQ(t.groups, (group_caps{{"db", 2}}));
  ASSERT_EQ(t.jobs.size(), 3u);
  EXPECT_EQ(t.jobs[0].name, "z");
  EXPECT_EQ(t.jobs[0].source.line, 3u);
  EXPECT_EQ(t.jobs[1].name, "a/b");
  EXPECT_EQ(t.jobs[2].name, "a");
  EXPECT_EQ(t.jobs[2].rules->retry.count, 1u);
}

TEST(TomlJobs, AFileWithoutJobsIsFine) {
  EXPECT_TRUE(read_native("").ok());
  EXPECT_TRUE(read_native("[group.a]\ncap = 1").ok());
}

TEST(TomlJobs, UnknownKeysAreErrorsWithTheNearestKnownOne) {
  EXPECT_EQ(problems_of("shell = \"x\"\ntiemout = \"5m\"\n"),
            (lines{"jobs/one.toml:2:1: there is no key `tiemout`; did you mean `timeout`?"}));
  EXPECT_EQ(problems_of("shell = \"x\"\ncommand = \"y\"\n"),
            (lines{"jobs/one.toml:2:1: there is no key `command`; did you mean `run` (a list) or "
                   "`shell` (a line)?"}));
  EXPECT_EQ(problems_of("shell = \"x\"\nretry = {cuont = 1}\n"),
            (lines{"jobs/one.toml:2:10: there is no key `retry.cuont`; did you mean "
                   "`retry.count`?"}));
  EXPECT_EQ(problems_of("shell = \"x\"\nqwertyuiop = 1\n"),
            (lines{"jobs/one.toml:2:1: there is no key `qwertyuiop`; docs/job_files.md lists the "
                   "keys"}));
}

TEST(TomlJobs, WrongTypesSayWhatWouldBeRight) {
  const auto first = [](const std::string& text) {
    const lines all = problems_of(text + "\nname = \"n\"\n");
    return all.empty() ? std::string{} : all.front().substr(all.front().find(": ") + 2);
  };
  EXPECT_EQ(first("shell = \"x\"\ntimeout = 90"),
            "timeout is a number, it must be text in quotes; it is `90`, which is no duration; "
            "write 90s, 5m, 1h30m or 2d");
  EXPECT_EQ(first("shell = \"x\"\nnice = \"5\""),
            "nice is text, it must be a whole number, without quotes");
  EXPECT_EQ(first("shell = \"x\"\nnice = 1.5").substr(0, 50),
            "nice is a number, it must be a whole number, witho");
  EXPECT_EQ(first("shell = \"x\"\nretry = {factor = \"2\"}"),
            "retry.factor is text, it must be a number, without quotes");
  EXPECT_EQ(first("shell = \"x\"\nalert = {failure = \"no\"}").substr(0, 60),
            "alert.failure is text, it must be true or false, without quo");
  EXPECT_EQ(first("run = \"x -y\""),
            "run is text, it must be a list of the program and its arguments, like [\"rsync\", "
            "\"-a\"]; a line for a shell is shell = \"...\"");
  EXPECT_EQ(first("run = [\"x\", 5]"), "what run lists must be text in quotes");
  EXPECT_EQ(first("shell = \"x\"\nenvironment = \"A=1\""),
            "environment is text, it must be a table, like environment = {LANG = \"C\"}");
  EXPECT_EQ(first("shell = \"x\"\nenvironment = {A = 1}"),
            "the variable `A` must be text in quotes");
  EXPECT_EQ(first("shell = \"x\"\nalert = \"a@b\""),
            "alert is text, it must be a table, like alert = {mail = \"ops@example.org\"}");
  EXPECT_EQ(first("shell = \"x\"\nschedule = 2026-01-01"),
            "schedule is a date or a time, it must be text in quotes");
  EXPECT_EQ(first("shell = \"x\"\nretry = {codes = 5}"),
            "retry.codes is a number, it must be a list of exit codes, like [1, 75]");
}

TEST(TomlJobs, ValuesOutOfRangeAreRefused) {
  for (const char* line : {"overlap = \"never\"",
                           "catchup = \"some\"",
                           "on_unknown = \"x\"",
                           "dst = \"x\"",
                           "zone = \"Mars/Base\"",
                           "umask = \"899\"",
                           "umask = \"7777\"",
                           "nice = 20",
                           "nice = -21",
                           "queue = 0",
                           "catchup_most = 0",
                           "deadline = \"0s\"",
                           "timeout = \"-5m\"",
                           "retry = {count = -1}",
                           "retry = {factor = 0.5}",
                           "retry = {factor = nan}",
                           "retry = {factor = inf}",
                           "retry = {jitter = 1.5}",
                           "retry = {codes = [0]}",
                           "retry = {codes = [\"1\"]}",
                           "retry = {delay = \"2h\"}",
                           "after = [\"\"]",
                           "after = [{on = \"any\"}]",
                           "after = [{job = \"a\", on = \"x\"}]",
                           "after = [1]",
                           "after = 1",
                           "after = [{job = \"a\", when = \"x\"}]",
                           "directory = \"srv\"",
                           "environment_file = \"x\"",
                           "environment = {\"A=B\" = \"x\"}",
                           "environment = {\"\" = \"x\"}",
                           "user = \"a b\"",
                           "user = \"-x\"",
                           "limit_group = \"a b\"",
                           "output_limit = \"1 MB\"",
                           "keep_runs = 0",
                           "alert = {mail = \"-x\"}",
                           "alert = {mail = \"a b\"}",
                           "alert = {mail = \"a\\nBcc:b\"}",
                           "alert = {web_hook = \"ftp://x\"}",
                           "alert = {web_hook = \"http://x\\r\\n\"}",
                           "name = \"a b\"",
                           "name = \"\"",
                           "name = \"-a\"",
                           "name = \"caf\u00e9\"",
                           "schedule = \"\"",
                           "schedule = \"0 0 31 2 *\"",
                           "schedule = \"61 * * * *\"",
                           "input = \"a\\u0000b\"",
                           "syntax = \"cronie\""}) {
    const table t = read_native(std::string("shell = \"x\"\n") + line);
    EXPECT_FALSE(t.ok()) << line;
    for (const problem& p : t.problems) {
      EXPECT_GT(p.line, 0u) << line;
      EXPECT_GT(p.column, 0u) << line;
    }
  }
}

TEST(TomlJobs, AllErrorsAreListed) {
  EXPECT_EQ(problems_of("[job.a]\nschedule = \"0 25 * * *\"\ntimeout = 5\n[job.b]\nrun = [\"x\"]\n"
                        "shell = \"x\"\n[job.c]\nname = \"d\"\nshell = \"x\"\n[group.g]\ncap = 0")
                .size(),
            6u);
}

TEST(TomlJobs, AnErrorOfTheScheduleHasItsColumn) {
  const lines all = problems_of("shell = \"x\"\nschedule = \"0 25 * * *\"\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].substr(0, 22), "jobs/one.toml:2:15: ho") << all[0];
}

TEST(TomlJobs, T3WarningsOfTheScheduleAreWarningsOfTheJob) {
  const table t = read_native("shell = \"x\"\nschedule = \"0 4 */2 * mon\"\n");
  EXPECT_TRUE(t.ok());
  ASSERT_EQ(t.problems.size(), 1u);
  EXPECT_EQ(t.problems[0].severity, severity::warning);
}

TEST(TomlJobs, WhatIsNoTomlSaysWhere) {
  const lines all = problems_of("shell = \"x\"\nrun = [\n");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].substr(0, 37), "jobs/one.toml:2:8: this is no TOML: E") << all[0];
}

TEST(TomlJobs, ColumnsAreBytes) {
  EXPECT_EQ(problems_of("shell = \"x\"\nalert = {mail = \"\u00e9\u00e9\", fialure = true}")[1],
            "jobs/one.toml:2:25: there is no key `alert.fialure`; did you mean `alert.failure`?");
}

TEST(TomlJobs, AFileHasOneJobOrSeveral) {
  EXPECT_EQ(
      problems_of("shell = \"x\"\n[job.a]\nshell = \"y\"\n"),
      (lines{"jobs/one.toml:1:1: `shell` belongs to no job: a file has one job, with its keys "
             "at the top level, or several, each below [job.NAME]"}));
  EXPECT_EQ(problems_of("job = 5").size(), 1u);
  EXPECT_EQ(problems_of("[[job]]\nshell = \"x\"").size(), 1u);
  EXPECT_EQ(problems_of("[job]\na = 5").size(), 1u);
  EXPECT_EQ(problems_of("group = \"x\"\nshell = \"x\"").size(), 1u);
  EXPECT_EQ(problems_of("[group.a]\n").size(), 1u);
  EXPECT_EQ(problems_of("[group.a]\ncap = 1\nmost = 2").size(), 1u);
}

TEST(TomlJobs, S1AUsersTableRunsAsThatUser) {
  const table_options alice{.owner = "alice"};
  EXPECT_EQ(only_native("shell = \"x\"", alice).surroundings->user, "alice");
  EXPECT_EQ(only_native("shell = \"x\"\nuser = \"alice\"", alice).surroundings->user, "alice");
  EXPECT_EQ(problems_of("shell = \"x\"\nuser = \"root\"", alice),
            (lines{"jobs/one.toml:1:1: user is `root`, but the table is that of `alice`; only "
                   "root's tables name other users"}));
  EXPECT_EQ(problems_of("shell = \"x\"\nuser_group = \"shadow\"", alice).size(), 1u);
}

TEST(TomlJobs, S1EntriesHaveALimit) {
  table_options o;
  o.limits.entries = 1;
  EXPECT_EQ(problems_of("[job.a]\nshell = \"x\"\n[job.b]\nshell = \"x\"\n", o).size(), 1u);
}

TEST(TomlJobs, OneJobOfAGivenName) {
  const table_options o{.file = "request"};
  const table t = read_job("shell = \"x\"\nschedule = \"@daily\"", "a/b", o);
  ASSERT_EQ(joined(t.problems), "");
  EXPECT_EQ(t.jobs.at(0).name, "a/b");
  EXPECT_TRUE(read_job("name = \"a\"\nshell = \"x\"", "a", o).ok());
  EXPECT_EQ(joined(read_job("name = \"b\"\nshell = \"x\"", "a", o).problems),
            "request:1:8: name must be `a`, or be left out\n");
  EXPECT_FALSE(read_job("shell = \"x\"\n[group.a]\ncap = 1", "a", o).ok());
  EXPECT_FALSE(read_job("[job.a]\nshell = \"x\"", "a", o).ok());
  EXPECT_FALSE(read_job("shell = \"x\"", "", o).ok());
  EXPECT_FALSE(read_job("", "a", o).ok());
}

// --- the way back
// ---------------------------------------------------------------------------------

// A job that uses a few of all keys.
class random_job {
 public:
  explicit random_job(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    maybe("zone", "\"Europe/Paris\"", "\"Asia/Tokyo\"", "\"UTC\"");
    maybe("dst", "\"vixie\"", "\"wall\"");
    maybe("schedule", "\"H H * * *\"", "\"@every 90s\"", "\"@reboot\"", "\"@at 2026-12-24T18:00\"",
          "\"*/5 * * * * *\"", "\"@daily\"", "\"CRON_TZ=Asia/Tokyo 0 4 * * *\"");
    if (random_.below(2) == 0)
      put("shell", "\"a \\\"b\\\" \\\\ \\t\\u001b \u00e9\"");
    else
      put("run", "[\"a\", \"\", \"b c\", \"\\n\"]");
    maybe("input", "\"one\\ntwo\\r\"", "\"x\"");
    maybe("shell_program", "\"/bin/bash\"");
    maybe("user", "\"www-data\"");
    maybe("user_group", "\"adm\"");
    maybe("directory", "\"/srv/a b\"");
    maybe("umask", "\"0\"", "\"777\"", "\"022\"");
    maybe("nice", "-20", "7");
    maybe("environment", "{B = \"1\", A = \"\\\"\", _c = \"\"}");
    maybe("environment_file", "\"/etc/x\"");
    maybe("overlap", "\"queue\"", "\"allow\"", "\"replace\"", "\"skip\"");
    maybe("queue", "2", "99");
    maybe("catchup", "\"none\"", "\"all\"");
    maybe("catchup_most", "1", "5");
    maybe("deadline", "\"1s\"", "\"3d4h\"");
    maybe("timeout", "\"1ms\"", "\"1w\"");
    maybe("grace", "\"0\"", "\"59m\"");
    maybe("retry", "{count = 2, factor = 1.1, jitter = 0.3333333333333333}",
          "{delay = \"7s\", most = \"7s\", codes = [3, 1, 2]}", "5");
    maybe("after", "[\"x\"]", "[{job = \"x\", on = \"any\"}, \"y/z\"]");
    maybe("limit_group", "\"a.b\"");
    maybe("on_unknown", "\"rerun\"");
    maybe("absence", "\"26h\"");
    maybe("output_limit", "\"0\"", "\"1000001\"", "\"5GiB\"");
    maybe("keep_runs", "1", "77");
    maybe("keep_for", "\"1h\"");
    maybe("alert", "{mail = \"a@b\"}", "{web_hook = \"http://x/?a=%20\", recovery = false}",
          "{failure = false}");
    return std::move(text_);
  }

 private:
  void put(const std::string& key, const std::string& value) {
    text_ += key + " = " + value + '\n';
  }
  template <class... Values>
  void maybe(const std::string& key, Values... values) {
    const std::vector<std::string> all{values...};
    if (random_.below(2) == 0) put(key, all[random_.below(all.size())]);
  }

  rng random_;
  std::string text_;
};

TEST(TomlJobs, WhatIsWrittenReadsAsTheSameJob) {
  // Another default zone must make no difference.
  const table_options there{.zone = time_zone::find("America/New_York").value()};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = random_job{seed}.text();
    const table t = read_native(text, {.file = "a/na-me.x.toml"});
    ASSERT_TRUE(t.ok()) << "seed " << seed << '\n' << text << joined(t.problems);
    const std::string written = to_toml(t.jobs.at(0));
    const table back = read_native(written, there);
    ASSERT_TRUE(back.ok()) << "seed " << seed << '\n' << written << joined(back.problems);
    ASSERT_TRUE(same(t.jobs[0], back.jobs.at(0))) << "seed " << seed << '\n' << text << written;
    ASSERT_EQ(to_toml(back.jobs[0]), written);
  }
}

TEST(TomlJobs, ACrontabIsWrittenAsTomlThatReadsAsTheSameJobs) {
  const std::string text =
      "CRON_TZ=Europe/Paris\nMAILTO=a@b\nZ=1\nA='x\"y'\nSHELL=/bin/bash\n"
      "0 4 * * * a \"b\" \\\\ \\% c%in%put\n0 4 * * * a\n0 4 * * * a\n@reboot  x\n"
      "# rota: name=n:1 retry=2 dst=vixie\nH H(0-5) * * * y\n";
  for (cron_syntax syntax : {cron_syntax::strict, cron_syntax::vixie}) {
    std::string all = text;
    if (syntax == cron_syntax::vixie) all.erase(all.find("# rota")) += "0 0 31 2 * never\n";
    const table t = read_user(all, {.file = "x", .owner = "alice", .syntax = syntax});
    ASSERT_TRUE(t.ok()) << joined(t.problems);
    const std::string written = to_toml(t.jobs, {{"g", 2}});
    const table back = read_native(written, {.owner = "alice"});
    ASSERT_TRUE(back.ok()) << written << joined(back.problems);
    EXPECT_EQ(back.groups, (group_caps{{"g", 2}}));
    ASSERT_EQ(back.jobs.size(), t.jobs.size());
    for (std::size_t i = 0; i < t.jobs.size(); ++i)
      EXPECT_TRUE(same(t.jobs[i], back.jobs[i])) << to_toml(t.jobs[i]);
  }
}

TEST(TomlJobs, S1TheContentsOfAnEnvironmentFileAreNotWritten) {
  const std::string text =
      to_toml(only_native("shell = \"x\"\nenvironment_file = \"/etc/passwd\""));
  EXPECT_EQ(text, "name = \"one\"\nshell = \"x\"\nenvironment_file = \"/etc/passwd\"\n");
}

TEST(TomlJobs, NamesMayHaveSomeMarks) {
  EXPECT_EQ(wrong_with_name("a_B.c-1:d/e@f+g"), "");
  EXPECT_EQ(wrong_with_name(std::string(longest_name, 'a')), "");
  EXPECT_EQ(wrong_with_name(std::string(longest_name + 1, 'a')),
            "a name has at most 128 characters, not 129");
  EXPECT_EQ(wrong_with_name(""), "a name has at least one character");
  EXPECT_EQ(wrong_with_name("-a"), "a name starts with a letter, a digit or _");
  for (const char* bad : {"a b", "a\n", "a\x01", "caf\xC3\xA9", "a\xE9", "a\\", "a'", "a;b"})
    EXPECT_EQ(wrong_with_name(bad), "names are made of letters, digits and _ . - : / @ +") << bad;
}

}  // namespace
}  // namespace rota::job::test
