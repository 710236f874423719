// A broken promise shows as a duration or a size that is read as another one, or taken for none.

#include <rota/job/units.h>

#include <rota/base/rng.h>

#include <gtest/gtest.h>

namespace rota::job {
namespace {

using namespace std::chrono_literals;

TEST(Units, DurationsAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_duration("90s"), 90s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("2d"), 48h);
  EXPECT_EQ(parse_duration("1w"), 168h);
  EXPECT_EQ(parse_duration("1500ms"), 1500ms);
  EXPECT_EQ(parse_duration("1m1s1ms"), 61'001ms);
  EXPECT_EQ(parse_duration("0"), 0s);
  EXPECT_EQ(parse_duration("0s"), 0s);
}

TEST(Units, WhatIsNoDurationIsNone) {
  for (const char* text : {"", "5", "m", "5 m", " 5m", "5m ", "-5m", "5M", "5x", "30m1h", "1h1h",
                           "1.5h", "5ms5s", "99999999999999999999s", "400000d", "5m\n"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Units, DurationTextIsTheWayBack) {
  EXPECT_EQ(duration_text(90min), "1h30m");
  EXPECT_EQ(duration_text(48h), "2d");
  EXPECT_EQ(duration_text(240h), "10d");
  EXPECT_EQ(duration_text(168h), "1w");
  EXPECT_EQ(duration_text(0s), "0s");
  EXPECT_EQ(duration_text(-1s), "0s");
  rota::detail::rng random{1};
  for (int i = 0; i < 10'000; ++i) {
    const std::chrono::milliseconds d{random.next() >> (30 + random.below(34))};
    if (d > 3'000'000h) continue;
    ASSERT_EQ(parse_duration(duration_text(d)), d) << d.count();
  }
}

TEST(Units, SizesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_size("10MB"), 10'000'000u);
  EXPECT_EQ(parse_size("500kB"), 500'000u);
  EXPECT_EQ(parse_size("1GiB"), 1u << 30);
  EXPECT_EQ(parse_size("64KiB"), 65'536u);
  EXPECT_EQ(parse_size("12"), 12u);
  EXPECT_EQ(parse_size("0"), 0u);
  for (const char* text : {"", "MB", "10 MB", "-1", "10mb", "1.5MB", "99999999999999GB", "1MBs"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
}

TEST(Units, SizeTextIsTheWayBack) {
  EXPECT_EQ(size_text(10'000'000), "10MB");
  EXPECT_EQ(size_text(65'536), "64KiB");
  EXPECT_EQ(size_text(7), "7B");
  rota::detail::rng random{2};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t size = random.next() >> random.below(64);
    ASSERT_EQ(parse_size(size_text(size)), size);
  }
}

}  // namespace
}  // namespace rota::job
