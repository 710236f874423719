// Expressions in words, and what is said about those that may surprise.

#include <rota/cron/schedule.h>

#include <gtest/gtest.h>

namespace rota {
namespace {

std::string in_plain_words(const char* text) { return cron_expression::parse(text).explain(); }

TEST(CronExplain, Times) {
  EXPECT_EQ(in_plain_words("* * * * *"), "every minute");
  EXPECT_EQ(in_plain_words("*/15 * * * *"), "every 15 minutes");
  EXPECT_EQ(in_plain_words("0 * * * *"), "every hour");
  EXPECT_EQ(in_plain_words("5 * * * *"), "at minute 5 of every hour");
  EXPECT_EQ(in_plain_words("0 */2 * * *"), "every 2 hours");
  EXPECT_EQ(in_plain_words("5 */2 * * *"), "at minute 5 of every 2nd hour");
  EXPECT_EQ(in_plain_words("*/10 9-17 * * *"), "every 10 minutes from 09:00 to 17:59");
  EXPECT_EQ(in_plain_words("0 9-17 * * *"), "at minute 0 of every hour from 09:00 to 17:59");
  EXPECT_EQ(in_plain_words("*/20 9-17/2 * * *"),
            "every 20 minutes in the hours 9, 11, 13, 15 and 17");
  EXPECT_EQ(in_plain_words("0,30 2 * * *"), "at 02:00 and 02:30 every day");
  EXPECT_EQ(in_plain_words("1,2,3,58 3,4 * * *"), "at minutes 1 to 3 and 58 from 03:00 to 04:59");
  EXPECT_EQ(in_plain_words("*/10 * * * * *"), "every 10 seconds");
  EXPECT_EQ(in_plain_words("30 * * * * *"), "at second 30 of every minute");
  EXPECT_EQ(in_plain_words("10-20/5 59 23 * * *"), "at 23:59:10, 23:59:15 and 23:59:20 every day");
  EXPECT_EQ(in_plain_words("30 0 3 * * *"), "at 03:00:30 every day");
}

TEST(CronExplain, Days) {
  EXPECT_EQ(in_plain_words("30 2 * * mon-fri"), "at 02:30 on Monday to Friday");
  EXPECT_EQ(in_plain_words("0 22 * * 6-7"), "at 22:00 on Saturday and Sunday");
  EXPECT_EQ(in_plain_words("0 0 1,15 * *"), "at 00:00 on the 1st and 15th of the month");
  EXPECT_EQ(in_plain_words("0 0 22-24 1 *"), "at 00:00 on the 22nd to 24th of January");
  EXPECT_EQ(in_plain_words("0 0 */2 * *"), "at 00:00 on every 2nd day from the 1st of the month");
  EXPECT_EQ(in_plain_words("0 0 * 1-3,7 *"), "at 00:00 in January to March and July");
  EXPECT_EQ(in_plain_words("0 0 13 * 5"), "at 00:00 on the 13th of the month, and on Friday");
  EXPECT_EQ(in_plain_words("0 0 */10 * 3"),
            "at 00:00 on the 1st, 11th, 21st and 31st of the month, if that is Wednesday");
  EXPECT_EQ(in_plain_words("0 0 10,* * 1"), "at 00:00 every day");
  EXPECT_EQ(in_plain_words("*/5 * 1 2 *"), "every 5 minutes on the 1st of February");
  EXPECT_EQ(in_plain_words("0 0 L * *"), "at 00:00 on the last day of the month");
  EXPECT_EQ(in_plain_words("0 0 L-1,L-3 * *"),
            "at 00:00 on the day before the last and the day 3 days before the last of the month");
  EXPECT_EQ(in_plain_words("0 0 LW * *"),
            "at 00:00 on the last working day (Monday to Friday) of the month");
  EXPECT_EQ(in_plain_words("0 0 15W * *"),
            "at 00:00 on the working day nearest to the 15th of the month");
  EXPECT_EQ(in_plain_words("0 0 * * 5#2"), "at 00:00 on the second Friday of the month");
  EXPECT_EQ(in_plain_words("0 0 * 3 monL"), "at 00:00 on the last Monday of the month in March");
}

TEST(CronExplain, Schedules) {
  EXPECT_EQ(schedule{}.explain(), "only when asked");
  EXPECT_EQ(schedule::parse("@reboot").explain(), "when the machine has started");
  EXPECT_EQ(schedule::parse("@every 1h").explain(), "every hour");
  EXPECT_EQ(schedule::parse("@every 90s").explain(), "every 1 minute and 30 seconds");
  EXPECT_EQ(schedule::parse("@at 2026-12-24T18:00").explain(), "once, at 2026-12-24T18:00:00Z");
  EXPECT_EQ(schedule::parse("0 4 * * *").explain(), "at 04:00 every day, UTC");
  EXPECT_EQ(schedule::parse("TZ=Europe/Paris 0 4 * * *").explain(),
            "at 04:00 every day, Europe/Paris time; once when the clock is set back, and right "
            "after it was set forward over it");
  EXPECT_EQ(schedule::parse("TZ=Europe/Paris 0 * * * *").explain(),
            "every hour, Europe/Paris time; follows real time when the clock is changed");
  EXPECT_EQ(schedule::parse("TZ=Asia/Tokyo 0 4 * * *", {.dst = dst_rule::vixie}).explain(),
            "at 04:00 every day, Asia/Tokyo time; clock changes as Debian's cron takes them");
  EXPECT_EQ(schedule::parse("H 4 * * *", {.name = "backup"}).explain(),
            "at 04:33 every day (H, from the name), UTC");
}

// The first warning, or nothing.
std::string warned(const char* text, cron_syntax syntax = cron_syntax::strict) {
  const auto all = cron_expression::parse(text, {}, syntax).warnings();
  return all.empty() ? "" : all[0];
}

TEST(CronExplain, Warnings) {
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(warned("0 0 */2 * 1"), "must match together"));
  EXPECT_TRUE(contains(warned("0 0 1 * */2"), "must match together"));
  EXPECT_TRUE(contains(warned("0 0 13 * 5"), "either of them"));
  EXPECT_TRUE(contains(warned("0 0 10,* * 1"), "every day"));
  EXPECT_TRUE(contains(warned("*/7 * * * *"), "from minute 56 to the next are only 4"));
  EXPECT_TRUE(contains(warned("0 */5 * * *"), "from hour 20 to the next are only 4"));
  EXPECT_TRUE(contains(warned("* 3 * * *"), "every minute of its hours"));
  EXPECT_TRUE(contains(warned("*/90 * * * *"), "minute 0 alone"));
  EXPECT_TRUE(contains(warned("0 0 31 * *"), "not every month"));
  EXPECT_TRUE(contains(warned("0 0 31 2 *"), "never fires"));
  EXPECT_TRUE(contains(warned("0 0 * * 5#2", cron_syntax::vixie), "ignores"));
  for (const char* fine :
       {"* * * * *", "*/15 * * * *", "30 2 * * mon-fri", "0 0 1 * *", "0 0 L * *", "0 0 28-31 * *",
        "@daily", "0 0 31 1 *", "*/10 9-17 * * *", "0 0 * * 5#2"})
    EXPECT_EQ(warned(fine), "") << fine;
}

}  // namespace
}  // namespace rota
