// What is an expression and what is none. A broken promise shows as an expression that fires at
// another time than its plain form, or as an error at another column.

#include <rota/cron/expression.h>

#include <gtest/gtest.h>

#include <set>

namespace rota {
namespace {

struct refusal {
  const char* text;
  std::size_t column;
  const char* part;  // of the message
};

void expect_refused(const refusal& r, cron_syntax syntax = cron_syntax::strict) {
  try {
    cron_expression::parse(r.text, {}, syntax);
    ADD_FAILURE() << "'" << r.text << "' was taken";
  } catch (const cron_error& e) {
    EXPECT_EQ(e.column(), r.column) << r.text << ": " << e.what();
    EXPECT_NE(std::string(e.what()).find(r.part), std::string::npos) << r.text << ": " << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << r.text;
  }
}

std::vector<std::string> parse_firings(const std::string& text, const char* from, int count,
                                       const std::string& name = {}) {
  const auto e = cron_expression::parse(text, name);
  std::vector<std::string> all;
  for (auto t = e.next(parse_instant(from).value()); t && count-- > 0; t = e.next(*t))
    all.push_back(to_text(*t));
  return all;
}

void expect_same(const char* a, const char* b) {
  EXPECT_EQ(parse_firings(a, "2026-01-15T03:04:05Z", 50),
            parse_firings(b, "2026-01-15T03:04:05Z", 50))
      << a << " and " << b;
}

TEST(CronParse, TwoWaysToSayTheSame) {
  expect_same("*/15 * * * *", "0,15,30,45 * * * *");
  expect_same("0 9-17/4 * * MON-fri", "0 9,13,17 * * 1-5");
  expect_same("0 0 1 JAN,jul *", "0 0 1 1,7 *");
  expect_same("0 0 * * 7", "0 0 * * 0");
  expect_same("0 0 * * 5-7", "0 0 * * 5,6,sun");
  expect_same("0 0 * * 1-7/2", "0 0 * * mon,wed,fri,sun");
  expect_same("? ? ? ? ?", "* * * * *");
  expect_same("0 0 0 * * *", "@daily");
  expect_same("@midnight", "0 0 * * *");
  expect_same("@weekly", "0 0 * * sun");
  expect_same("@annually", "0 0 1 1 *");
  expect_same("@yearly", "0 0 1 1 *");
  expect_same("@monthly", "0 0 1 * *");
  expect_same("@hourly", "0 * * * *");
  expect_same(" \t 5\t4  3 2\t*  ", "5 4 3 2 *");
  expect_same("0 0 l * *", "0 0 L * *");
  expect_same("0 0 L-0 * *", "0 0 L * *");
  expect_same("0 0 * * friL", "0 0 * * 5l");
  expect_same("0 0 * * 7#2", "0 0 * * sun#2");
  expect_same("007 * * * *", "7 * * * *");
}

TEST(CronParse, SpecialDays) {
  using list = std::vector<std::string>;
  // The 15th is a Sunday, a Wednesday, a Friday, a Monday, a Wednesday, a Saturday.
  EXPECT_EQ(parse_firings("0 0 15W * *", "2026-02-01T00:00:00Z", 6),
            (list{"2026-02-16T00:00:00Z", "2026-03-16T00:00:00Z", "2026-04-15T00:00:00Z",
                  "2026-05-15T00:00:00Z", "2026-06-15T00:00:00Z", "2026-07-15T00:00:00Z"}));
  // It stays in its month: 1 August 2026 is a Saturday, 31 May a Sunday.
  EXPECT_EQ(parse_firings("0 0 1W 8 *", "2026-01-01T00:00:00Z", 1), (list{"2026-08-03T00:00:00Z"}));
  EXPECT_EQ(parse_firings("0 0 31W 5 *", "2026-01-01T00:00:00Z", 1),
            (list{"2026-05-29T00:00:00Z"}));
  // A month without that day has none near it.
  EXPECT_EQ(parse_firings("0 0 31W 4,5 *", "2026-03-01T00:00:00Z", 1),
            (list{"2026-05-29T00:00:00Z"}));
  EXPECT_EQ(parse_firings("0 0 LW * *", "2026-01-01T00:00:00Z", 3),
            (list{"2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z", "2026-03-31T00:00:00Z"}));
  EXPECT_EQ(parse_firings("0 0 L-3 * *", "2026-02-01T00:00:00Z", 2),
            (list{"2026-02-25T00:00:00Z", "2026-03-28T00:00:00Z"}));
  EXPECT_EQ(parse_firings("0 0 * * 1#5", "2026-01-01T00:00:00Z", 2),
            (list{"2026-03-30T00:00:00Z", "2026-06-29T00:00:00Z"}));
  EXPECT_EQ(parse_firings("0 0 L * 5L", "2026-02-01T00:00:00Z", 3),  // either
            (list{"2026-02-27T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-27T00:00:00Z"}));
}

TEST(CronParse, ErrorsSayWhereAndWhat) {
  for (const refusal& r : std::initializer_list<refusal>{
           {"", 1, "no expression"},
           {"   ", 1, "no expression"},
           {"* * * *", 8, "found 4 fields, expected 5"},
           {"*", 2, "found 1 field, expected 5"},
           {"* * * * * * *", 13, "found 7 fields"},
           {"60 * * * *", 1, "minute 60 is out of range (0-59)"},
           {"* 24 * * *", 3, "hour 24 is out of range (0-23)"},
           {"* * 0 * *", 5, "day of month 0 is out of range (1-31)"},
           {"* * 32 * *", 5, "(1-31)"},
           {"* * * 13 *", 7, "month 13 is out of range (1-12)"},
           {"* * * * 8", 9, "weekday 8 is out of range (0-7)"},
           {"60 * * * * *", 1, "second 60"},
           {"1-70 * * * *", 3, "minute 70"},
           {"*/0 * * * *", 3, "step of 0"},
           {"*/ * * * *", 3, "a step is missing"},
           {"*/x * * * *", 3, "a step is missing"},
           {"*5 * * * *", 2, "unexpected '5'"},
           {"5/10 * * * *", 2, "write 5-59/10"},
           {"0x10 * * * *", 2, "unexpected 'x10'"},
           {"1.5 * * * *", 2, "unexpected '.5'"},
           {"1--3 * * * *", 3, "unexpected '-3'"},
           {"1- * * * *", 3, "a minute is missing"},
           {"1-3-5 * * * *", 4, "unexpected '-5'"},
           {"-5 * * * *", 1, "unexpected '-5'"},
           {"+5 * * * *", 1, "unexpected '+5'"},
           {",1 * * * *", 1, "a minute is missing"},
           {"1, * * * *", 3, "a minute is missing"},
           {"1,,2 * * * *", 3, "a minute is missing"},
           {"a * * * *", 1, "'a' is no minute"},
           {"jan * * * *", 1, "'jan' is no minute"},
           {"0 0 * * sunday", 9, "'sunday' is no weekday"},
           {"0 0 * * xyz", 9, "or a name such as sun"},
           {"0 0 * * fri-mon", 9, "the range fri-mon is empty"},
           {"0 0 * nov-feb *", 7, "the range nov-feb is empty"},
           {"0 0 * * 7-1", 9, "Sunday is also 7"},
           {"0 0 * * 1#0", 11, "#1 to #5"},
           {"0 0 * * 1#6", 11, "#1 to #5"},
           {"0 0 * * 1#", 11, "#1 to #5"},
           {"0 0 * * 1#2#3", 12, "unexpected '#3'"},
           {"0 0 * * L", 9, "'L' is no weekday"},
           {"0 0 * * 1-5L", 12, "unexpected 'L'"},
           {"L * * * *", 1, "'L' is no minute"},
           {"0 0 32W * *", 5, "day of month 32"},
           {"0 0 W * *", 5, "'W' is no day of month"},
           {"0 0 1-5W * *", 8, "unexpected 'W'"},
           {"0 0 L-31 * *", 7, "L-1 to L-30"},
           {"0 0 L- * *", 7, "L-1 to L-30"},
           {"0 0 LWW * *", 5, "'LWW' is no day of month"},
           {"H(5-1) * * * *", 3, "the range 5-1 is empty"},
           {"H(5) * * * *", 4, "such as H(0-29)"},
           {"H(0-70) * * * *", 5, "minute 70"},
           {"H(0-5 * * * *", 6, "expected )"},
           {"H/0 * * * *", 3, "step of 0"},
           {"HH * * * *", 1, "'HH' is no minute"},
           {"?/5 * * * *", 2, "unexpected '/5'"},
           {"99999999999999999999999999 * * * *", 1, "out of range"},
           {"@Daily", 1,
            "there is no '@Daily', expected @yearly, @annually, @monthly, @weekly, @daily, "
            "@midnight, @hourly, @every, @at or @reboot"},
           {"@daily x", 8, "unexpected 'x'"},
           {"@reboot", 1, "@reboot is no calendar"},
           {"@every 5m", 1, "@every is no calendar"},
           {"* * * * \xff\x01", 9, "\\xff\\x01"},
           {"* * * * *\n", 10, "unexpected '\\x0a'"},
       })
    expect_refused(r);
}

// What `crontab -n` of Debian's cron 3.0pl1-162 says.
TEST(CronParse, VixieTakesWhatDebianTakes) {
  const auto vixie = [](const char* text) {
    return cron_expression::parse(text, {}, cron_syntax::vixie);
  };
  const auto strict = [](const char* text) { return cron_expression::parse(text); };
  const auto fires_alike = [](const cron_expression& a, const cron_expression& b) {
    instant t = parse_instant("2026-01-15T00:00:00Z").value();
    for (int i = 0; i < 20; ++i) {
      const auto next = a.next(t);
      if (next != b.next(t)) return false;
      if (!next) return true;
      t = *next;
    }
    return true;
  };
  for (const auto& [text, plain] : std::initializer_list<std::pair<const char*, const char*>>{
           {"1.5 * * * *", "1 * * * *"},
           {"*5 * * * *", "* * * * *"},
           {"** * * * *", "* * * * *"},
           {"*-5 * * * *", "* * * * *"},
           {"5* * * * *", "5 * * * *"},
           {"1;2 * * * *", "1 * * * *"},
           {"1-3-5 * * * *", "1-3 * * * *"},
           {"*/5/2 * * * *", "*/5 * * * *"},
           {"*/61 * * * *", "0 * * * *"},
           {"1-5/70 * * * *", "1 * * * *"},
           {"0 0 * * 5#2", "0 0 * * 5"},
           {"0 0 * * MON", "0 0 * * 1"},
           {"0 0 * * 0-7", "0 0 * * *"},
           {"@daily", "0 0 * * *"},
       })
    EXPECT_TRUE(fires_alike(vixie(text), strict(plain))) << text;
  for (const char* never : {"0 0 * * fri-mon", "0 0 * * 7-1", "0 0 31 2 *"})
    EXPECT_FALSE(vixie(never).ever_fires()) << never;
  for (const char* refused :
       {"5/10 * * * *",   "0x10 * * * *", "0 0 L * *",   "0 0 * * 5L",    "0 0 15W * *",
        "0 0 * * sunday", "0 0 * * ,1",   "0 0 * * 1,",  "60 * * * *",    "*/0 * * * *",
        "0 0 ? * *",      "1--3 * * * *", "0 0 0 * *",   "-5 * * * *",    "1/ * * * *",
        "60-70 * * * *",  "1-70 * * * *", "+5 * * * *",  "5-5/0 * * * *", "1,2,,3 * * * *",
        "*/5x * * * *",   "*/x * * * *",  "mon * * * *", "0 0 jan * *",   "0 0 * mon *",
        "0 0 * 0 *",      "0 0 0-5 * *",  "~ * * * *",   "0 0 * * mo",    "1-3a * * * *",
        "H * * * *",      "* * * * * *",  "@Daily",      "@reboot",       "0 0 * * 8"})
    EXPECT_THROW(vixie(refused), cron_error) << refused;
}

// Never changes: jobs would move.
TEST(CronParse, HashedPlacesAreTheSameForEver) {
  using list = std::vector<std::string>;
  EXPECT_EQ(parse_firings("H H H H H", "2026-01-01T00:00:00Z", 1, "backup"),
            (list{"2026-03-03T06:33:00Z"}));
  EXPECT_EQ(parse_firings("H * * * *", "2026-01-01T00:00:00Z", 1, "report"),
            (list{"2026-01-01T00:47:00Z"}));
  EXPECT_EQ(parse_firings("H(0-29)/10 * * * *", "2026-01-01T00:00:00Z", 4, "backup"),
            (list{"2026-01-01T00:03:00Z", "2026-01-01T00:13:00Z", "2026-01-01T00:23:00Z",
                  "2026-01-01T01:03:00Z"}));
  EXPECT_EQ(parse_firings("H/15 * * * *", "2026-01-01T00:00:00Z", 4, "backup"),
            (list{"2026-01-01T00:03:00Z", "2026-01-01T00:18:00Z", "2026-01-01T00:33:00Z",
                  "2026-01-01T00:48:00Z"}));
}

TEST(CronParse, HashedPlacesAreSpreadAndInRange) {
  std::set<std::string> minutes;
  for (int i = 0; i < 600; ++i) {
    const std::string name = "job " + std::to_string(i);
    const auto first = parse_firings("H(10-29) 0 H * *", "2026-02-01T00:00:00Z", 2, name);
    const int minute = std::stoi(first[0].substr(14, 2));
    ASSERT_GE(minute, 10);
    ASSERT_LE(minute, 29);
    ASSERT_EQ(first[1].substr(5, 2), "03") << "each month has its day";
    minutes.insert(first[0].substr(8));
  }
  EXPECT_GT(minutes.size(), 300U);  // of 560 places
}

TEST(CronParse, IdleOnesAreSmall) { EXPECT_LE(sizeof(cron_expression), 48U); }

TEST(CronParse, EqualIsWhatMeansTheSame) {
  EXPECT_EQ(cron_expression::parse("*/15 1 * * *"), cron_expression::parse("*/15  01 * * *"));
  EXPECT_NE(cron_expression::parse("*/15 1 * * *"), cron_expression::parse("*/20 1 * * *"));
}

}  // namespace
}  // namespace rota
