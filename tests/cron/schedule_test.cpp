// Schedules: zones in the text, periods without drift, single instants, and what is refused.

#include <rota/cron/schedule.h>

#include <gtest/gtest.h>

#include <limits>

namespace rota {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

instant at_text(const char* text) { return parse_instant(text).value(); }

std::string next_text(const schedule& s, const char* from, const char* anchor = "1970-01-01") {
  const auto t = s.next(at_text(from), at_text(anchor));
  return t ? to_text(*t) : "none";
}

std::size_t refused_at(const std::string& text, const schedule::context& c = {}) {
  try {
    (void)schedule::parse(text, c);
  } catch (const cron_error& e) {
    return e.column();
  }
  return 0;
}

TEST(CronSchedule, AZoneInTheTextWins) {
  const schedule::context tokyo{.zone = time_zone::find("Asia/Tokyo").value()};
  EXPECT_EQ(next_text(schedule::parse("0 4 * * *", tokyo), "2026-01-01T00:00:00Z"),
            "2026-01-01T19:00:00Z");
  for (const char* text : {"CRON_TZ=Europe/Paris 0 4 * * *", "TZ=Europe/Paris\t0 4 * * *",
                           "  CRON_TZ=Europe/Paris   0 4 * * *"}) {
    const schedule s = schedule::parse(text, tokyo);
    EXPECT_EQ(next_text(s, "2026-01-01T00:00:00Z"), "2026-01-01T03:00:00Z") << text;
    EXPECT_EQ(s.zone().name(), "Europe/Paris");
    EXPECT_EQ(s.what(), schedule::kind::cron);
  }
}

TEST(CronSchedule, ColumnsAreThoseOfTheWholeText) {
  EXPECT_EQ(refused_at("CRON_TZ=Mars/Olympus 0 4 * * *"), 9U);
  EXPECT_EQ(refused_at("TZ= 0 4 * * *"), 4U);
  EXPECT_EQ(refused_at("CRON_TZ=Europe/Paris 0 24 * * *"), 24U);
  EXPECT_EQ(refused_at("CRON_TZ=Europe/Paris"), 21U);
  EXPECT_EQ(refused_at("  0 0 31 2 *"), 3U);
  EXPECT_EQ(refused_at("@every 5x"), 9U);
  EXPECT_EQ(refused_at("@at tomorrow"), 5U);
  EXPECT_EQ(refused_at("@reboot now"), 9U);
}

TEST(CronSchedule, WhatNeverFiresIsRefusedUnlessItMay) {
  for (const char* text : {"0 0 31 2 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 2 *",
                           "0 0 L-30 2 *", "0 0 30 feb */2"}) {
    EXPECT_EQ(refused_at(text), 1U) << text;
    const schedule s = schedule::parse(text, {.may_never_fire = true});
    EXPECT_EQ(next_text(s, "2026-01-01"), "none") << text;
    EXPECT_FALSE(s.prev(at_text("2026-01-01"))) << text;
  }
  EXPECT_EQ(refused_at("0 0 * * fri-mon", {.syntax = cron_syntax::vixie}), 1U);
  // Rare is not never: 29 February on a Sunday, five Mondays in February.
  EXPECT_EQ(next_text(schedule::parse("0 0 29 2 */7"), "2026-01-01"), "2032-02-29T00:00:00Z");
  EXPECT_EQ(next_text(schedule::parse("0 0 * 2 1#5"), "2026-01-01"), "2044-02-29T00:00:00Z");
  EXPECT_EQ(next_text(schedule::parse("0 0 29 2 */7"), "2088-03-01"), "2128-02-29T00:00:00Z");
}

TEST(CronSchedule, PeriodsCountFromTheAnchorWithoutDrift) {
  const schedule s = schedule::parse("@every 90s");
  EXPECT_EQ(s, schedule::every(seconds{90}));
  EXPECT_EQ(next_text(s, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:30Z");
  EXPECT_EQ(next_text(s, "2026-01-01T00:01:29.999Z", "2026-01-01T00:00:00Z"),
            "2026-01-01T00:01:30Z");
  EXPECT_EQ(next_text(s, "2026-01-01T00:01:30Z", "2026-01-01T00:00:00Z"), "2026-01-01T00:03:00Z");
  EXPECT_EQ(next_text(s, "2025-01-01", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:30Z");
  const instant anchor = at_text("2026-01-01T00:00:00.123Z");
  instant t = anchor;
  for (int i = 1; i <= 1000; ++i) {
    const auto next = s.next(t, anchor);
    ASSERT_EQ(next, anchor + i * seconds{90});
    ASSERT_EQ(s.prev(*next, anchor), i == 1 ? std::nullopt : std::optional{t});
    t = *next;
  }
}

TEST(CronSchedule, PeriodsAreNumbersWithUnits) {
  const auto period = [](const char* text) {
    return (*schedule::parse(text).next(instant{}) - instant{}).count();
  };
  EXPECT_EQ(period("@every 250ms"), 250);
  EXPECT_EQ(period("@every 1h30m"), 5'400'000);
  EXPECT_EQ(period("@every 2d"), 172'800'000);
  EXPECT_EQ(period("@every 1d2h3m4s5ms"), 93'784'005);
  EXPECT_EQ(period("@every  90s "), 90'000);
  for (const char* text :
       {"@every", "@every ", "@every 5", "@every s", "@every 0s", "@every -5s", "@every 5 s",
        "@every 5s5m", "@every 5s5s", "@every 5y", "@every 99999999999999999999d", "@every 40000d",
        "@every 1.5h", "@every 5S", "@every\n5s"})
    EXPECT_NE(refused_at(text), 0U) << text;
  EXPECT_THROW(schedule::every(milliseconds{0}), std::invalid_argument);
  EXPECT_THROW(schedule::every(milliseconds::max()), std::invalid_argument);
}

TEST(CronSchedule, OnceIsOnce) {
  const schedule s = schedule::parse("@at 2026-12-24T18:00:00+01:00");
  EXPECT_EQ(next_text(s, "2026-01-01"), "2026-12-24T17:00:00Z");
  EXPECT_EQ(next_text(s, "2026-12-24T17:00:00Z"), "none");
  EXPECT_EQ(s.prev(at_text("2027-01-01")), at_text("2026-12-24T17:00:00Z"));
  EXPECT_EQ(s.times(at_text("2026-12-24T17:00:00Z")), 1U);
  EXPECT_EQ(next_text(schedule::parse("CRON_TZ=Asia/Tokyo @at 2026-12-24T18:00"), "2026-01-01"),
            "2026-12-24T09:00:00Z");
}

TEST(CronSchedule, SomeHaveNoInstants) {
  EXPECT_EQ(schedule{}.what(), schedule::kind::never);
  EXPECT_EQ(schedule::parse("@reboot").what(), schedule::kind::reboot);
  EXPECT_EQ(next_text(schedule{}, "2026-01-01"), "none");
  EXPECT_EQ(next_text(schedule::parse("@reboot"), "2026-01-01"), "none");
  // Debian has these two words not.
  EXPECT_NE(refused_at("@every 5m", {.syntax = cron_syntax::vixie}), 0U);
  EXPECT_NE(refused_at("@at 2026-01-01", {.syntax = cron_syntax::vixie}), 0U);
  EXPECT_EQ(schedule::parse("@reboot", {.syntax = cron_syntax::vixie}).what(),
            schedule::kind::reboot);
}

TEST(CronSchedule, TheEndsOfTimeAreNoTrouble) {
  for (const char* text : {"* * * * * *", "@every 1ms", "@every 36500d", "@at 2026-01-01",
                           "0 0 29 2 *", "CRON_TZ=Pacific/Apia */5 3 * * *"}) {
    const schedule s = schedule::parse(text);
    for (const instant t : {instant::min(), instant::max(), instant{}, instant{milliseconds{-1}}})
      for (const instant anchor : {instant::min(), instant::max(), instant{}}) {
        if (const auto n = s.next(t, anchor)) {
          EXPECT_GT(*n, t) << text;
        }
        if (const auto p = s.prev(t, anchor)) {
          EXPECT_LT(*p, t) << text;
        }
      }
  }
  const schedule each_second = schedule::parse("* * * * * *");
  EXPECT_EQ(to_text(each_second.next(instant::min()).value()), "0001-01-01T00:00:00Z");
  EXPECT_EQ(to_text(each_second.prev(instant::max()).value()), "9999-12-31T23:59:59Z");
  EXPECT_FALSE(each_second.next(instant::max()));
}

TEST(CronSchedule, ADstRuleBelongsToASchedule) {
  const schedule::context debian{.zone = time_zone::find("Europe/Paris").value(),
                                 .dst = dst_rule::vixie};
  const schedule s = schedule::parse("0,30 2,3 * * *", debian);
  const instant change = at_text("2026-03-29T01:00:00Z");
  EXPECT_EQ(s.next(at_text("2026-03-29T00:00:00Z")), change);
  EXPECT_EQ(s.times(change), 3U);  // 02:00, 02:30 and 03:00
  EXPECT_EQ(s.times(at_text("2026-03-29T01:30:00Z")), 1U);
  EXPECT_EQ(s.times(at_text("2026-03-29T01:31:00Z")), 0U);
  EXPECT_EQ(s.times(change + milliseconds{1}), 0U);
  const schedule wall = schedule::parse("0,30 2,3 * * *", {.zone = debian.zone});
  EXPECT_EQ(wall.times(change), 1U);
  EXPECT_NE(wall, s);
}

TEST(CronSchedule, InstantsAreARange) {
  const auto range =
      schedule::parse("0 */8 * * *")
          .instants(at_text("2026-01-01T00:00:00Z"), at_text("2026-01-02T00:00:00Z"));
  static_assert(std::input_iterator<schedule_instants::iterator>);
  std::string all;
  for (const instant t : range) all += to_text(t).substr(8, 6) + " ";
  EXPECT_EQ(all, "01T08: 01T16: 02T00: ");
  for (const instant t : schedule{}.instants(instant{}, instant::max()))
    ADD_FAILURE() << to_text(t);
}

TEST(CronSchedule, AnIdleOneIsSmall) { EXPECT_LE(sizeof(schedule), 64U); }

}  // namespace
}  // namespace rota
