// next() and prev() against a walk over all minutes (walk.h), in 38 zones from 1990 to 2100, mostly
// where clocks are set. A broken rule shows as an expression, a zone and a list of instants. With
// ROTA_LONG_TESTS thirty times as many.

#include "cron/walk.h"

#include <rota/cron/expression.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "support/strength.h"

namespace rota::cron_test {
namespace {

std::uint64_t repeated(std::uint64_t n) {
  if (rota::test::long_tests()) return 30 * n;
  return rota::test::sanitized ? n / 3 : n;
}

constexpr std::int64_t day = 1440;
constexpr std::int64_t first_minute = 20 * 365 * day;  // in 1989
constexpr std::int64_t last_minute = 131 * 365 * day;  // in 2100

instant at_minute(std::int64_t m) { return instant{std::chrono::minutes{m}}; }

std::string text_of(const firing_counts& fires) {
  std::string text;
  for (const auto& [minute, times] : fires)
    text += to_text(at_minute(minute)) + (times == 1 ? " " : "*" + std::to_string(times) + " ");
  return text;
}

// What next() gives from the window's second minute on, and prev() from its end.
firing_counts forwards(const cron_expression& e, const time_zone& z, dst_rule dst,
                       std::int64_t first, std::int64_t last) {
  firing_counts fires;
  for (auto t = e.next(at_minute(first), z, dst); t && *t <= at_minute(last);
       t = e.next(*t, z, dst))
    fires[std::chrono::floor<std::chrono::minutes>(*t).time_since_epoch().count()] =
        e.times(*t, z, dst);
  return fires;
}
firing_counts backwards(const cron_expression& e, const time_zone& z, dst_rule dst,
                        std::int64_t first, std::int64_t last) {
  firing_counts fires;
  for (auto t = e.prev(at_minute(last + 1), z, dst); t && *t > at_minute(first);
       t = e.prev(*t, z, dst))
    fires[std::chrono::floor<std::chrono::minutes>(*t).time_since_epoch().count()] =
        e.times(*t, z, dst);
  return fires;
}

// Nothing happens in the first two days, so that the walk knows what has been there before.
void compare(const meant& m, const std::string& zone_name, const walked_window& w, dst_rule dst) {
  const time_zone zone = time_zone::find(zone_name).value();
  const std::int64_t first = w.first + 2 * day;
  const std::int64_t last = w.first + static_cast<std::int64_t>(w.walls.size()) - 1;
  firing_counts expected = dst == dst_rule::wall ? fires_by_wall(m, w) : fires_by_vixie(m, w);
  expected.erase(expected.begin(), expected.upper_bound(first));
  const auto e = cron_expression::parse(m.text);
  const std::string what =
      m.text + " in " + zone_name + (dst == dst_rule::wall ? " wall" : " vixie");
  const firing_counts found = forwards(e, zone, dst, first, last);
  ASSERT_TRUE(found == expected) << what << "\n found " << text_of(found) << "\n expected "
                                 << text_of(expected);
  const firing_counts back = backwards(e, zone, dst, first, last);
  ASSERT_TRUE(back == expected) << what << ", backwards\n found " << text_of(back) << "\n expected "
                                << text_of(expected);
}

// The minutes at which the clock of the zone that was entered is set, found by its offset.
std::vector<std::int64_t> clock_changes() {
  std::vector<std::int64_t> changes;
  const auto offset = [](std::int64_t m) { return local_minute(m).number - m; };
  constexpr std::int64_t step = 10 * day;
  for (std::int64_t m = first_minute; m < last_minute; m += step) {
    if (offset(m) == offset(m + step)) continue;
    std::int64_t low = m;
    std::int64_t high = m + step;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (offset(middle) == offset(m) ? low : high) = middle;
    }
    changes.push_back(high);
  }
  return changes;
}

class CronWalk : public ::testing::Test {
 protected:
  void TearDown() override { enter_zone("UTC"); }
};

TEST_F(CronWalk, NextAndPrevAreTheWalksAnswer) {
  maker random{2026};
  std::size_t with_change = 0;
  for (const char* zone : walked_zones) {
    enter_zone(zone);
    const auto changes = clock_changes();
    for (std::uint64_t i = 0; i < repeated(3); ++i) {
      std::int64_t first = random.minute_between(first_minute, last_minute);
      if (!changes.empty() && !random.one_in(8)) {
        const auto n = static_cast<std::size_t>(random.minute_between(0, std::ssize(changes)));
        first = changes[n] - 3 * day + random.minute_between(0, day);
        ++with_change;
      }
      const walked_window w = walk(first, 5 * day);
      for (int k = 0; k < 6; ++k) {
        const meant m = random.make(false);
        ASSERT_NO_FATAL_FAILURE(compare(m, zone, w, dst_rule::wall));
        ASSERT_NO_FATAL_FAILURE(compare(m, zone, w, dst_rule::vixie));
      }
    }
  }
  EXPECT_GT(with_change, 20 * repeated(3));
}

// The same days, if they are far away: all dates of 400 years, without zones.
TEST_F(CronWalk, DatesAreThoseOfTheCalendar) {
  maker random{400};
  for (std::uint64_t i = 0; i < repeated(15); ++i) {
    meant m = random.make(random.one_in(2));
    m.minutes = {30};
    m.hours = {7};
    m.text = "30 7" + m.text.substr(m.text.find(' ', m.text.find(' ') + 1));
    const auto e = cron_expression::parse(m.text);
    const std::int64_t start = random.minute_between(-1 * 365 * day, 430 * 365 * day) / day * day;
    auto next = e.next(at_minute(start));
    std::optional<instant> before;
    for (std::int64_t d = start; d < start + 400 * 366 * day && next; d += day) {
      if (!m.date_matches(any_minute(d))) continue;
      const instant expected = at_minute(d + 7 * 60 + 30);
      ASSERT_EQ(to_text(*next), to_text(expected))
          << m.text << " from " << to_text(at_minute(start));
      if (before) {
        ASSERT_EQ(e.prev(expected), before) << m.text << " before " << to_text(expected);
      }
      before = expected;
      next = e.next(expected);
    }
    if (!before) {
      ASSERT_FALSE(next) << m.text;
      ASSERT_FALSE(e.ever_fires()) << m.text;
    }
  }
}

}  // namespace
}  // namespace rota::cron_test
