// A broken promise shows as an entry that is read as another one than cron reads, or as a line that
// is taken although it makes no sense, or refused without saying where and why.

#include <gtest/gtest.h>

#include <set>

#include "job/tables.h"

namespace rota::job::test {
namespace {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

definition only_entry(const table& t) {
  EXPECT_EQ(joined(t.problems), "");
  EXPECT_EQ(t.jobs.size(), 1u);
  return t.jobs.empty() ? definition{} : t.jobs.front();
}

std::string entry_command(const definition& d) {
  EXPECT_TRUE(d.command.shell);
  return d.command.argv.empty() ? "?" : d.command.argv.front();
}

std::string entry_variable(const definition& d, std::string_view name) {
  for (const auto& [n, value] : d.surroundings->environment)
    if (n == name) return value;
  return "?";
}

TEST(Crontab, AnEntryIsAScheduleAndACommand) {
  const definition d = only_entry(read_user("# nightly\n\n 30  2\t* * mon-fri   run -a  'b c' \n"));
  EXPECT_EQ(d.text, "30 2 * * mon-fri");
  EXPECT_EQ(d.when, schedule::parse("30 2 * * mon-fri"));
  EXPECT_EQ(entry_command(d), "run -a  'b c' ");
  EXPECT_EQ(*d.source.file, "tab");
  EXPECT_EQ(d.source.line, 3u);
}

TEST(Crontab, O1RunsMayOverlapAndM1TheLastMissedOneIsMadeUp) {
  const definition d = only_entry(read_user("* * * * * x"));
  EXPECT_EQ(d.rules->overlap, overlap_rule::allow);
  EXPECT_EQ(d.rules->catchup, catchup_rule::one);
  table_options o;
  o.crontab_rules.catchup = catchup_rule::none;
  EXPECT_EQ(only_entry(read_user("* * * * * x", o)).rules->catchup, catchup_rule::none);
}

TEST(Crontab, WordsStandForSchedules) {
  const table t =
      read_user("@reboot a\n@daily b b\n@every 90s c\n@at 2026-12-24T18:00:00Z d\n@hourly\te\n");
  ASSERT_EQ(joined(t.problems), "");
  ASSERT_EQ(t.jobs.size(), 5u);
  EXPECT_EQ(t.jobs[0].when.what(), schedule::kind::reboot);
  EXPECT_EQ(t.jobs[1].when, schedule::parse("@daily"));
  EXPECT_EQ(entry_command(t.jobs[1]), "b b");
  EXPECT_EQ(t.jobs[2].when, schedule::every(90s));
  EXPECT_EQ(t.jobs[2].text, "@every 90s");
  EXPECT_EQ(t.jobs[3].when.what(), schedule::kind::at);
  EXPECT_EQ(entry_command(t.jobs[4]), "e");
}

TEST(Crontab, ASixthColumnThatIsNoCommandMeansSeconds) {
  for (const char* text : {"*/10 * * * * *", "0 30 2 * * mon-fri", "5 0 4 * * 1,3", "0 0 4 * * 5L",
                           "0 0 4 * * sun#2"}) {
    const definition d = only_entry(read_user(std::string(text) + " x"));
    EXPECT_EQ(d.text, text);
    EXPECT_EQ(entry_command(d), "x");
  }
  EXPECT_EQ(entry_command(only_entry(read_user("0 4 * * * 7z a b"))), "7z a b");
  EXPECT_EQ(entry_command(only_entry(read_user("0 4 * * * monitor"))), "monitor");
  EXPECT_EQ(entry_command(only_entry(read_user("0 4 * * * -x"))), "-x");
  // Debian's cron knows no seconds.
  EXPECT_EQ(entry_command(only_entry(read_user("* * * * * * x", {.syntax = cron_syntax::vixie}))),
            "* x");
}

TEST(Crontab, PercentSignsSplitCommandAndInput) {
  const auto split = [](const std::string& text) {
    const table t = read_user("* * * * * " + text);
    EXPECT_TRUE(t.ok()) << joined(t.problems);
    return std::pair{entry_command(t.jobs.at(0)), t.jobs.at(0).command.input};
  };
  using both = std::pair<std::string, std::string>;
  EXPECT_EQ(split("x"), (both{"x", ""}));
  EXPECT_EQ(split("x%"), (both{"x", ""}));
  EXPECT_EQ(split("x%one%two"), (both{"x", "one\ntwo\n"}));
  EXPECT_EQ(split("x%one%two%"), (both{"x", "one\ntwo\n"}));
  EXPECT_EQ(split("x%%"), (both{"x", "\n"}));
  EXPECT_EQ(split("date +\\%F"), (both{"date +%F", ""}));
  EXPECT_EQ(split("x \\\\%in"), (both{"x \\\\", "in\n"}));
  EXPECT_EQ(split("x%50\\% off\\"), (both{"x", "50% off\\\n"}));
  EXPECT_EQ(split("x \\n%\\\\%"), (both{"x \\n", "\\%\n"}));
}

TEST(Crontab, APercentSignInADateIsWarnedAbout) {
  const table t = read_user("0 4 * * * date +%F\n");
  EXPECT_TRUE(t.ok());
  EXPECT_EQ(texts(t.problems), (lines{"tab:1:17: warning: the command ends at this %, the rest is "
                                      "its input; write \\% for a percent sign"}));
}

TEST(Crontab, VariablesCountForTheEntriesBelow) {
  const table t = read_user(
      "* * * * * a\nA=1\n* * * * * b\nA = 2 \n\"B\"='x '\nC=\"a'b\"\nD=\nE=''\n* * * * * c");
  ASSERT_EQ(joined(t.problems), "");
  ASSERT_EQ(t.jobs.size(), 3u);
  EXPECT_TRUE(t.jobs[0].surroundings->environment.empty());
  EXPECT_EQ(entry_variable(t.jobs[1], "A"), "1");
  EXPECT_EQ(entry_variable(t.jobs[2], "A"), "2");
  EXPECT_EQ(entry_variable(t.jobs[2], "B"), "x ");
  EXPECT_EQ(entry_variable(t.jobs[2], "C"), "a'b");
  EXPECT_EQ(entry_variable(t.jobs[2], "D"), "");
  EXPECT_EQ(entry_variable(t.jobs[2], "E"), "");
  EXPECT_EQ(t.jobs[2].surroundings->environment.size(), 5u);
}

TEST(Crontab, SomeVariablesMeanMore) {
  const definition d = only_entry(read_user(
      "MAILTO=a@example.org,b\nSHELL=/bin/bash\nHOME=/srv\nCRON_TZ=Europe/Paris\nTZ=Asia/Tokyo\n"
      "0 4 * * * x"));
  EXPECT_EQ(d.surroundings->alerts.mail, "a@example.org,b");
  EXPECT_EQ(d.surroundings->shell, "/bin/bash");
  EXPECT_EQ(d.surroundings->directory, "/srv");
  EXPECT_EQ(d.when.zone(), time_zone::find("Europe/Paris"));
  EXPECT_EQ(entry_variable(d, "TZ"), "Asia/Tokyo");
  EXPECT_EQ(entry_variable(d, "HOME"), "/srv");
  EXPECT_EQ(entry_variable(d, "CRON_TZ"), "?");
  EXPECT_EQ(only_entry(read_user("MAILTO=x\nMAILTO=\"\"\n@daily x")).surroundings->alerts.mail, "");
}

TEST(Crontab, TheZoneIsThatOfTheOptionsUnlessTheTableSaysOtherwise) {
  const table_options o{.zone = time_zone::find("Asia/Tokyo").value()};
  EXPECT_EQ(only_entry(read_user("0 4 * * * x", o)).when.zone().name(), "Asia/Tokyo");
  EXPECT_EQ(only_entry(read_user("CRON_TZ=UTC\n0 4 * * * x", o)).when.zone().name(), "UTC");
  EXPECT_EQ(only_entry(read_user("# rota: zone=Europe/Paris\n0 4 * * * x", o)).when.zone().name(),
            "Europe/Paris");
}

TEST(Crontab, VariablesThatSurpriseAreWarnedAbout) {
  EXPECT_EQ(texts(read_user("PATH=$HOME/bin:/bin\nTZ=UTC\n").problems),
            (lines{"tab:1:6: warning: the $ stays as it is: values in crontabs are not expanded",
                   "tab:2:1: warning: TZ is for the programs, the schedule does not follow it; "
                   "CRON_TZ is for that"}));
}

TEST(Crontab, TheSystemFormHasAUser) {
  const table t = read_system("0 4 * * * www-data run it\n@daily root x\n0 5 * * * www-data y");
  ASSERT_EQ(joined(t.problems), "");
  ASSERT_EQ(t.jobs.size(), 3u);
  EXPECT_EQ(t.jobs[0].surroundings->user, "www-data");
  EXPECT_EQ(entry_command(t.jobs[0]), "run it");
  EXPECT_EQ(t.jobs[1].surroundings->user, "root");
  EXPECT_EQ(t.jobs[0].surroundings, t.jobs[2].surroundings);
}

TEST(Crontab, S1AUsersTableRunsAsThatUser) {
  const definition d = only_entry(read_user("0 4 * * * x", {.owner = "alice"}));
  EXPECT_EQ(d.owner, "alice");
  EXPECT_EQ(d.surroundings->user, "alice");
  EXPECT_EQ(only_entry(read_user("0 4 * * * x", {.owner = "root"})).surroundings->user, "");
  const table t = read_system("0 4 * * * root x", {.owner = "alice"});
  EXPECT_EQ(texts(t.problems),
            (lines{"tab:1:1: user is `root`, but the table is that of `alice`; only root's tables "
                   "name other users"}));
  EXPECT_TRUE(t.jobs.empty());
}

TEST(Crontab, S1OnlyRootsTablesHaveGroupsOfTheSystemAndNegativeNiceness) {
  const std::string text = "# rota: user_group=shadow nice=-5\n0 4 * * * x";
  EXPECT_EQ(only_entry(read_user(text, {.owner = "root"})).surroundings->nice, -5);
  EXPECT_EQ(read_user(text, {.owner = "alice"}).problems.size(), 2u);
}

TEST(Crontab, ALineAboveAnEntryGivesNameAndRules) {
  const table t = read_user(
      "# rota: name=backup timeout=5m overlap=skip catchup=none retry=3 retry.delay=1m\n"
      "#rota: retry.codes=1,75 alert.web_hook=\"https://example.org/x y=z\" umask=077\n"
      "0 4 * * * x\n"
      "0 5 * * * y\n");
  EXPECT_EQ(t.problems.size(), 1u);  // the address has a blank
  const table fine = read_user(
      "# rota: name=backup timeout=5m overlap=skip catchup=none retry=3 retry.delay=1m\n"
      "#rota: retry.codes=1,75 directory=\"/srv/a b\" umask=077 after=dump,load\n"
      "0 4 * * * x\n"
      "0 5 * * * y\n");
  ASSERT_EQ(joined(fine.problems), "");
  const definition& d = fine.jobs.at(0);
  EXPECT_EQ(d.name, "backup");
  EXPECT_EQ(d.rules->timeout, 5min);
  EXPECT_EQ(d.rules->overlap, overlap_rule::skip);
  EXPECT_EQ(d.rules->catchup, catchup_rule::none);
  EXPECT_EQ(d.rules->retry.count, 3u);
  EXPECT_EQ(d.rules->retry.delay, 1min);
  EXPECT_EQ(d.rules->retry.codes, (std::vector{1, 75}));
  EXPECT_EQ(d.rules->after.size(), 2u);
  EXPECT_EQ(d.surroundings->directory, "/srv/a b");
  EXPECT_EQ(d.surroundings->umask, mode_t{077});
  // It is for one entry only.
  EXPECT_EQ(*fine.jobs.at(1).rules, default_crontab_rules());
  EXPECT_NE(fine.jobs.at(1).name, "backup");
}

TEST(Crontab, ALineAboveNoEntryIsAnError) {
  for (const char* below : {"", "\n0 4 * * * x", "# a comment\n0 4 * * * x", "A=b\n0 4 * * * x"})
    EXPECT_EQ(texts(read_user(std::string("# rota: name=a\n") + below).problems),
              (lines{"tab:1:1: no entry stands directly below this `# rota:` line; move it to its "
                     "entry"}))
        << below;
}

TEST(Crontab, NamesAreMadeOfTheEntryAndStay) {
  const table a = read_user("0 4 * * * x\n0 4 * * * y\n0  4 * * *  x\n", {.owner = "alice"});
  ASSERT_EQ(a.jobs.size(), 3u);
  const std::string first = a.jobs[0].name;
  EXPECT_EQ(first.substr(0, 6), "alice-");
  EXPECT_EQ(first.size(), 14u);
  EXPECT_NE(first, a.jobs[1].name);
  EXPECT_EQ(a.jobs[2].name, first + "-2");
  // Other lines around it make no difference.
  const table b = read_user("A=1\n5 5 * * * z\n\n0 4 * * * x\n", {.owner = "alice"});
  EXPECT_EQ(b.jobs.at(1).name, first);
  // Kept in ledgers: what it is today it must be tomorrow.
  EXPECT_EQ(first, "alice-6pd4x78e");
  EXPECT_EQ(read_user("@daily x", {.file = "/etc/cron.d/php 8.2"}).jobs.at(0).name.substr(0, 8),
            "php_8.2-");
}

TEST(Crontab, AThousandEqualEntriesAreNumbered) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "* * * * * x\n";
  const table t = read_user(text);
  std::set<std::string> names;
  for (const definition& d : t.jobs) names.insert(d.name);
  EXPECT_EQ(names.size(), 1000u);
  EXPECT_EQ(t.jobs.at(999).name, t.jobs.at(0).name + "-1000");
}

TEST(Crontab, ANameTwiceIsAnError) {
  EXPECT_EQ(texts(read_user("# rota: name=a\n@daily x\n# rota: name=a\n@daily y").problems),
            (lines{"tab:4:1: there is a job `a` in line 2 already, choose another name"}));
}

TEST(Crontab, AllErrorsAreListedWithTheirPlaces) {
  const table t = read_user(
      "61 4 * * * x\n"
      "0 4 * *\n"
      "@daily\n"
      "@dayly x\n"
      "1A=b\n"
      "A=\"b\n"
      "CRON_TZ=Europe/Pariss\n"
      "SHELL=bash\n"
      "MAILTO=-oQ/tmp\n"
      "# rota: tiemout=5m\n"
      "0 4 * * * x\n"
      "# rota: timeout=5 name=a/b! shell=x overlap\n"
      "0 5 * * * x\n"
      "0 6 * * * %x\n"
      "0 4 * * * x\r\n");
  EXPECT_FALSE(t.ok());
  EXPECT_TRUE(t.jobs.empty());
  std::vector<std::string> places;
  for (const std::string& text : texts(t.problems))
    places.push_back(text.substr(0, text.find(' ')));
  EXPECT_EQ(places, (lines{"tab:1:1:", "tab:2:8:", "tab:3:7:", "tab:4:1:", "tab:5:1:", "tab:6:4:",
                           "tab:7:9:", "tab:8:7:", "tab:9:8:", "tab:10:9:", "tab:12:9:",
                           "tab:12:19:", "tab:12:29:", "tab:12:37:", "tab:14:11:", "tab:15:12:"}))
      << joined(t.problems);
  EXPECT_EQ(to_text(t.problems[1]),
            "tab:2:8: the line ends after 4 columns; an entry has five fields and a command");
  EXPECT_EQ(to_text(t.problems[9]), "tab:10:9: there is no key `tiemout`; did you mean `timeout`?");
  EXPECT_EQ(to_text(t.problems[10]),
            "tab:12:9: timeout is `5`, which is no duration; write 90s, 5m, 1h30m or 2d");
}

TEST(Crontab, K4HalfATableIsNone) {
  EXPECT_EQ(read_user("@daily x\n@daily y\n").jobs.size(), 2u);
  EXPECT_TRUE(read_user("@daily x\njunk\n").jobs.empty());
  EXPECT_TRUE(read_native("[group.g]\ncap = 1\n[job.a]\nshell = \"x\"\n[job.b]\n").jobs.empty());
  EXPECT_TRUE(read_native("[group.g]\ncap = 1\n[job.b]\n").groups.empty());
}

TEST(Crontab, ErrorsOfTheSystemForm) {
  EXPECT_EQ(texts(read_system("0 4 * * * /usr/bin/x\n0 4 * * * root\n@daily root\n").problems),
            (lines{"tab:1:11: the column before the command is the user, it is `/usr/bin/x`, which "
                   "is no name of a user or a group of this system",
                   "tab:2:15: the line ends after the user; a command must follow (only tables of "
                   "the system have a user)",
                   "tab:3:12: the line ends after the user; a command must follow (only tables of "
                   "the system have a user)"}));
}

TEST(Crontab, WhatNeverFiresIsRefusedUnlessAsDebianTakesIt) {
  EXPECT_FALSE(read_user("0 0 31 2 * x").ok());
  EXPECT_TRUE(read_user("0 0 31 2 * x", {.syntax = cron_syntax::vixie}).ok());
  // What fires once, and has, is no error: tomorrow's reload must not break.
  EXPECT_TRUE(read_user("@at 2001-01-01T00:00:00Z x").ok());
}

TEST(Crontab, T3WarningsOfTheScheduleAreWarningsOfTheTable) {
  const table t = read_user("0 4 */2 * mon x");
  EXPECT_TRUE(t.ok());
  EXPECT_EQ(t.jobs.size(), 1u);
  ASSERT_EQ(t.problems.size(), 1u);
  EXPECT_EQ(t.problems[0].severity, severity::warning);
  EXPECT_EQ(t.problems[0].line, 1u);
}

TEST(Crontab, S1OnlyRootsTablesHavePeriodsBelowASecond) {
  const auto problems = [](const std::string& text, const std::string& owner) {
    return joined(read_user(text, {.owner = owner}).problems);
  };
  const std::string refused =
      "tab:1:1: periods below a second are for root's tables only; use @every 1s or longer\n";
  EXPECT_EQ(problems("@every 1ms x\n", "alice"), refused);
  EXPECT_EQ(problems("@every 999ms x\n", "alice"), refused);
  EXPECT_EQ(problems("@every 1s x\n", "alice"), "");
  EXPECT_EQ(problems("@every 1ms x\n", "root"), "");
  const std::string job = "shell = \"x\"\nschedule = ";
  EXPECT_FALSE(read_job(job + "\"@every 1ms\"", "j", {.owner = "alice"}).ok());
  EXPECT_TRUE(read_job(job + "\"* * * * * *\"", "j", {.owner = "alice"}).ok());
  EXPECT_TRUE(read_job(job + "\"@every 1ms\"", "j", {.owner = "root"}).ok());
}

TEST(Crontab, S1LinesEntriesAndSizeHaveLimits) {
  table_options o;
  o.limits = {.size = 100, .line = 20, .entries = 2};
  EXPECT_EQ(texts(read_user("* * * * * " + std::string(11, 'x'), o).problems),
            (lines{"tab:1: the line has 21 bytes, the limit is 20"}));
  EXPECT_TRUE(read_user("* * * * * " + std::string(10, 'x'), o).ok());
  EXPECT_TRUE(read_user("@daily x\n@daily y\n", o).ok());
  EXPECT_EQ(texts(read_user("@daily x\n@daily y\n@daily z\n@daily z\n", o).problems),
            (lines{"tab:3:1: more than 2 jobs, which is the limit of a table"}));
  EXPECT_EQ(texts(read_user(std::string(101, '\n'), o).problems),
            (lines{"tab: the file has 101 bytes, the limit is 100"}));
}

TEST(Crontab, S1ZeroBytesAndWhatIsNoUtf8AreRefused) {
  EXPECT_EQ(texts(read_user(std::string("@daily x\n@daily \0y", 17)).problems),
            (lines{"tab:2:8: there is a zero byte, which no text has; is this a table of jobs?"}));
  EXPECT_EQ(texts(read_user("# caf\xE9\n@daily caf\xE9\n").problems),
            (lines{"tab:2: the line is not UTF-8; save the file as UTF-8"}));
  EXPECT_FALSE(read_user("# rota: name=caf\xE9\n@daily x\n").ok());
  EXPECT_TRUE(read_user("@daily caf\xC3\xA9 \xF0\x9F\x98\x80\n").ok());
  for (const char* bad : {"\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\x80"})
    EXPECT_FALSE(read_user("@daily x" + std::string(bad)).ok());
}

TEST(Crontab, ProblemsAreNotEndless) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "junk\n";
  const table t = read_user(text);
  EXPECT_EQ(t.problems.size(), most_problems + 1);
  EXPECT_EQ(t.problems.back().text, "there are 4000 more problems; mend these first");
  // Warnings that fill the list do not hide that there is an error.
  std::string warned;
  for (int i = 0; i < 1500; ++i) warned += "A=$B\n";
  EXPECT_TRUE(read_user(warned).ok());
  EXPECT_FALSE(read_user(warned + "junk\n").ok());
}

}  // namespace
}  // namespace rota::job::test
