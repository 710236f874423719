// Zones by name, and instants as text.

#include <rota/cron/time_zone.h>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/zone_folder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROTA_TEST_KEEPS_FREED_MEMORY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROTA_TEST_KEEPS_FREED_MEMORY
#endif
#endif

namespace rota {

namespace {

TEST(CronZone, NamesOfTheDatabaseAreZones) {
  for (const char* name : {"UTC", "Europe/Paris", "Etc/GMT+12", "America/Argentina/Buenos_Aires",
                           "America/Port-au-Prince", "EST5EDT", "Etc/UTC", "GMT"}) {
    const auto zone = time_zone::find(name);
    ASSERT_TRUE(zone) << name;
    EXPECT_EQ(zone->name(), name);
    EXPECT_EQ(zone, time_zone::find(name));
  }
  EXPECT_EQ(time_zone::find("UTC"), time_zone{});
  EXPECT_NE(time_zone::find("Europe/Paris"), time_zone::find("Europe/Berlin"));
}

TEST(CronZone, NothingElseIsAZone) {
  for (const char* name : {"",
                           "Mars/Olympus",
                           "+99:00",
                           "+02:00",
                           "-05",
                           "UTC+5",
                           "europe/paris",
                           "Europe",
                           "Europe/",
                           "/Europe/Paris",
                           "/etc/passwd",
                           "/usr/share/zoneinfo/Europe/Paris",
                           "../../../etc/passwd",
                           "../zoneinfo/Europe/Paris",
                           "Europe/../Europe/Paris",
                           "./Europe/Paris",
                           "Europe//Paris",
                           "libc:localtime",
                           "localtime",
                           "Fixed/UTC+01:00:00",
                           "right/Europe/Paris",
                           "posix/Europe/Paris",
                           "zone.tab",
                           "tzdata.zi",
                           "leapseconds",
                           "posixrules",
                           "UTC0",
                           "Europe/Paris ",
                           " Europe/Paris",
                           "Europe/Paris\n",
                           ":Europe/Paris",
                           "CET-1CEST",
                           "\xff"})
    EXPECT_FALSE(time_zone::find(name)) << name;
  EXPECT_FALSE(time_zone::find(std::string("Europe/Paris\0x", 14)));
  EXPECT_FALSE(time_zone::find(std::string(100'000, 'a')));
}

#ifndef ROTA_TEST_KEEPS_FREED_MEMORY  // as sanitizers do

// Kilobytes of memory that this program has.
long memory_in_use() {
  std::ifstream file{"/proc/self/statm"};
  long all = 0;
  long resident = 0;
  file >> all >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

// Anybody may ask for zones: 50,000 names of that length would be 10 MB, if they were kept.
TEST(CronZone, NamesThatAreNoZonesTakeNoMemory) {
  const auto ask = [](int i) {
    const std::string name = std::string(50, 'a') + std::to_string(i);
    EXPECT_FALSE(time_zone::find(name));
  };
  for (int i = 0; i < 100; ++i) ask(i);
  const long before = memory_in_use();
  for (int i = 0; i < 50'000; ++i) ask(i);
  EXPECT_LT(memory_in_use() - before, 3'000);
}

#endif

// T4. The database is a folder with one zone.
TEST(CronZone, AZoneWhoseFileIsNewIsReadAgain) {
  const rota::test::zone_folder zones;
  zones.put("GMT-1", "Test/Moving");
  const time_zone moving = time_zone::find("Test/Moving").value();
  const instant t = parse_instant("2026-06-01T00:00:00Z").value();
  EXPECT_EQ(to_text(t, moving), "2026-06-01T01:00:00+01:00");
  EXPECT_TRUE(time_zone::read_again().empty());
  for (const auto& [zone, text] : {std::pair{"GMT-2", "2026-06-01T02:00:00+02:00"},
                                   std::pair{"GMT-3", "2026-06-01T03:00:00+03:00"}}) {
    zones.put(zone, "Test/Moving");
    EXPECT_EQ(time_zone::read_again(), std::vector<std::string>{"Test/Moving"});
    EXPECT_EQ(to_text(t, moving), text);
    EXPECT_EQ(time_zone::find("Test/Moving"), moving);
    EXPECT_EQ(moving.name(), "Test/Moving");
    EXPECT_TRUE(time_zone::read_again().empty());
  }
  // What is no zone, or is gone, changes nothing.
  std::ofstream{zones / "Test/Moving"} << "TZif, and then nothing of the kind";
  EXPECT_TRUE(time_zone::read_again().empty());
  std::filesystem::remove(zones / "Test/Moving");
  EXPECT_TRUE(time_zone::read_again().empty());
  EXPECT_EQ(to_text(t, moving), "2026-06-01T03:00:00+03:00");
  zones.put("GMT-4", "Test/Moving");
  EXPECT_EQ(time_zone::read_again().size(), 1u);
  EXPECT_EQ(to_text(t, moving), "2026-06-01T04:00:00+04:00");
}

TEST(CronZone, TheZoneOfTheMachineIsWhatTzSays) {
  const char* const before = ::getenv("TZ");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TZ", "Asia/Tokyo", 1);
  EXPECT_EQ(time_zone::local().name(), "Asia/Tokyo");
  ::setenv("TZ", ":Europe/Paris", 1);
  EXPECT_EQ(time_zone::local().name(), "Europe/Paris");
  for (const char* set : {"/usr/share/zoneinfo/Asia/Tokyo", ":/usr/share/zoneinfo/Asia/Tokyo"}) {
    ::setenv("TZ", set, 1);
    EXPECT_EQ(time_zone::local().name(), "Asia/Tokyo") << set;
  }
  for (const char* set : {"", ":", "UTC", "UTC0"}) {
    ::setenv("TZ", set, 1);
    EXPECT_EQ(time_zone::local().name(), "UTC") << set;
  }
  // None of them is silently UTC.
  for (const char* set : {"../../etc/passwd", "Europe/Pariss", "XYZ-3", "/etc/passwd",
                          "/usr/share/zoneinfo/../../../etc/passwd"}) {
    ::setenv("TZ", set, 1);
    EXPECT_EQ(time_zone::find_local(), std::nullopt) << set;
    try {
      time_zone::local();
      ADD_FAILURE() << set;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string_view{e.what()}.find(std::string("TZ is '") + set + "'"),
                std::string_view::npos)
          << e.what();
    }
  }
  ::unsetenv("TZ");
  const auto machines = time_zone::find_local();
  ::setenv("TZ", ":/etc/localtime", 1);
  EXPECT_EQ(time_zone::find_local(), machines);
  if (before != nullptr)
    ::setenv("TZ", kept.c_str(), 1);
  else
    ::unsetenv("TZ");
  EXPECT_FALSE(time_zone::local().name().empty());
}

TEST(CronZone, ClocksAreSetWhenTheDatabaseSaysSo) {
  const auto paris = time_zone::find("Europe/Paris").value();
  const auto forward = paris.next_change(parse_instant("2026-01-01").value());
  ASSERT_TRUE(forward);
  EXPECT_EQ(to_text(forward->at), "2026-03-29T01:00:00Z");
  EXPECT_EQ(forward->before, std::chrono::hours{1});
  EXPECT_EQ(forward->after, std::chrono::hours{2});
  const auto back = paris.next_change(forward->at);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_text(back->at), "2026-10-25T01:00:00Z");
  EXPECT_EQ(to_text(paris.next_change(parse_instant("2100-05-01").value())->at),
            "2100-10-31T01:00:00Z");
  EXPECT_FALSE(paris.next_change(instant::max()));
  // In October 1968 summer time became London's standard time: the clock was not set.
  EXPECT_EQ(
      to_text(
          time_zone::find("Europe/London")->next_change(parse_instant("1968-06-01").value())->at),
      "1971-10-31T02:00:00Z");
  EXPECT_FALSE(time_zone{}.next_change(instant{}));
  EXPECT_FALSE(time_zone::find("Asia/Tokyo")->next_change(parse_instant("1990-01-01").value()));
}

TEST(CronZone, TextAndBack) {
  for (const char* text :
       {"2026-03-29T01:00:00Z", "1969-12-31T23:59:59.999Z", "2400-02-29T12:00:00Z",
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-06-15T12:00:00.001Z"})
    EXPECT_EQ(to_text(parse_instant(text).value()), text);
}

TEST(CronZone, TextInAZone) {
  const auto zone = [](const char* name) { return time_zone::find(name).value(); };
  const instant t = parse_instant("2026-03-29T01:00:00Z").value();
  EXPECT_EQ(to_text(t, zone("Europe/Paris")), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(to_text(t - std::chrono::milliseconds{1}, zone("Europe/Paris")),
            "2026-03-29T01:59:59.999+01:00");
  EXPECT_EQ(to_text(t, zone("America/St_Johns")), "2026-03-28T22:30:00-02:30");
  EXPECT_EQ(to_text(t, time_zone{}), "2026-03-29T01:00:00Z");
}

TEST(CronZone, WaysToWriteAnInstant) {
  const auto paris = time_zone::find("Europe/Paris").value();
  const auto read = [&](const char* text) { return to_text(parse_instant(text, paris).value()); };
  EXPECT_EQ(read("2026-03-29T03:00:00+02:00"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-03-29T03:00:00+0200"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-03-28T23:30:00-01:30"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-03-29 01:00:00z"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-03-29T01:00Z"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-03-29T01:00:00.25Z"), "2026-03-29T01:00:00.250Z");
  EXPECT_EQ(read("2026-03-29T01:00:00.123456789Z"), "2026-03-29T01:00:00.123Z");
  // The wall's: a summer day, the end of a gap for what is in it, the first of two.
  EXPECT_EQ(read("2026-07-01"), "2026-06-30T22:00:00Z");
  EXPECT_EQ(read("2026-03-29T02:30"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(read("2026-10-25T02:30:00.5"), "2026-10-25T00:30:00.500Z");
}

TEST(CronZone, WhatIsNoInstant) {
  for (const char* text : {"",
                           "now",
                           "2026",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-02-29",
                           "2026-04-31",
                           "2026-1-1",
                           "2026-01-01T",
                           "2026-01-01T24:00",
                           "2026-01-01T00:60",
                           "2026-01-01T00:00:60",
                           "2026-01-01T00",
                           "2026-01-01T00:00:00.",
                           "2026-01-01T00:00:00.1234567890",
                           "2026-01-01T00:00+99:00",
                           "2026-01-01T00:00+16:00",
                           "2026-01-01T00:00+02:60",
                           "2026-01-01T00:00+2",
                           "2026-01-01Z",
                           "2026-01-01T00:00Zx",
                           "2026-01-01T00:00:00Z ",
                           " 2026-01-01",
                           "12026-01-01",
                           "-2026-01-01",
                           "0000-01-01",
                           "0001-01-01T00:00+10:00",
                           "9999-12-31T23:00-02:00",
                           "2026-01-01T00:00\xff"})
    EXPECT_FALSE(parse_instant(text)) << text;
}

}  // namespace
}  // namespace rota
