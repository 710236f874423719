// The wheel against a sorted map: what is due, when, and in which order. A broken promise shows as
// a difference; the seed is printed.

#include "time/timer_wheel.h"

#include <rota/base/rng.h>
#include <rota/base/sync.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace {

using rota::detail::rng;
using rota::detail::timer;
using rota::detail::timer_wheel;

// The same promises, kept by a sorted map.
class reference {
 public:
  void add(timer& t) { all_.emplace(std::pair{t.tick, ++count_}, &t); }
  void remove(timer& t) {
    for (auto it = all_.begin(); it != all_.end(); ++it)
      if (it->second == &t) return void(all_.erase(it));
  }
  std::vector<timer*> advance(std::uint64_t to) {
    std::vector<timer*> due;
    while (!all_.empty() && all_.begin()->first.first <= to) {
      due.push_back(all_.begin()->second);
      all_.erase(all_.begin());
    }
    return due;
  }
  std::uint64_t next() const {
    return all_.empty() ? timer_wheel::never : all_.begin()->first.first;
  }
  std::size_t size() const { return all_.size(); }

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, timer*> all_;
  std::uint64_t count_ = 0;
};

std::vector<timer*> listed(timer* first) {
  std::vector<timer*> all;
  for (timer* t = first; t; t = t->next) all.push_back(t);
  return all;
}

constexpr std::size_t no_limit = 1'000'000;

TEST(timer_wheel, agrees_with_a_sorted_map) {
#if defined(ROTA_TSAN) || defined(ROTA_ASAN)
  constexpr std::uint64_t seeds = 60;
#else
  constexpr std::uint64_t seeds = 300;
#endif
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    rng random{seed};
    timer_wheel wheel;
    reference expected;
    std::vector<std::unique_ptr<timer>> timers;
    std::vector<timer*> set;
    std::uint64_t now = 0;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        // From the next tick to days away, each magnitude as often; some ticks several times.
        const std::uint64_t away = random.next() >> (63 - random.below(45));
        timer& t = *timers.emplace_back(std::make_unique<timer>());
        t.tick = now + 1 + away;
        if (!set.empty() && random.below(3) == 0) {
          const std::uint64_t same = set[random.below(set.size())]->tick;
          if (same > now) t.tick = same;
        }
        wheel.add(t);
        expected.add(t);
        set.push_back(&t);
      } else if (what < 7 && !set.empty()) {
        timer& t = *set[random.below(set.size())];  // perhaps one that has fired
        wheel.remove(t);
        expected.remove(t);
      } else {
        now += random.next() >> (63 - random.below(40));
        ASSERT_EQ(listed(wheel.advance(now, no_limit)), expected.advance(now))
            << "seed " << seed << ", step " << step;
      }
      ASSERT_EQ(wheel.size(), expected.size()) << "seed " << seed << ", step " << step;
      ASSERT_LE(wheel.next(), expected.next()) << "seed " << seed << ", step " << step;
      ASSERT_EQ(wheel.empty(), expected.size() == 0) << "seed " << seed << ", step " << step;
    }
    // Everything comes due in the end.
    now += std::uint64_t{1} << 47;
    ASSERT_EQ(listed(wheel.advance(now, no_limit)), expected.advance(now)) << "seed " << seed;
  }
}

TEST(timer_wheel, gives_timers_of_one_tick_in_the_order_in_which_they_were_set) {
  for (const std::uint64_t tick : {5u, 63u, 64u, 100u, 5'000u, 300'000u, 20'000'000u}) {
    timer_wheel wheel;
    std::vector<timer> timers(5);
    std::vector<timer*> order;
    for (timer& t : timers) {
      t.tick = tick;
      wheel.add(t);
      order.push_back(&t);
    }
    EXPECT_EQ(listed(wheel.advance(tick, no_limit)), order) << "tick " << tick;
  }
}

TEST(timer_wheel, gives_no_more_than_the_limit_and_the_rest_later) {
  timer_wheel wheel;
  std::vector<timer> timers(100);
  for (std::size_t i = 0; i < timers.size(); ++i) {
    timers[i].tick = 10 + i / 10;
    wheel.add(timers[i]);
  }
  std::size_t got = 0;
  std::uint64_t last = 0;
  for (int i = 0; i < 100 && !wheel.empty(); ++i) {
    const auto due = listed(wheel.advance(1000, 7));
    EXPECT_LE(due.size(), 7u);
    for (timer* t : due) {
      EXPECT_GE(t->tick, last);
      last = t->tick;
    }
    got += due.size();
  }
  EXPECT_EQ(got, 100u);
}

TEST(timer_wheel, is_never_early_and_next_leads_to_what_is_due) {
  rng random{7};
  timer_wheel wheel;
  std::vector<timer> timers(1000);
  for (timer& t : timers) {
    t.tick = 1 + (random.next() >> (63 - random.below(30)));
    wheel.add(t);
  }
  std::size_t fired = 0;
  std::uint64_t now = 0;
  for (int looks = 0; looks < 100'000 && !wheel.empty(); ++looks) {
    const std::uint64_t next = wheel.next();
    ASSERT_GT(next, now == 0 ? 0 : now - 1);
    now = next;
    for (timer* t : listed(wheel.advance(now, no_limit))) {
      EXPECT_LE(t->tick, now);
      ++fired;
    }
  }
  EXPECT_EQ(fired, timers.size());
}

TEST(timer_wheel, holds_deadlines_that_never_come) {
  timer_wheel wheel;
  timer far;
  far.tick = ~std::uint64_t{0} - 1;
  timer near;
  near.tick = 3;
  wheel.add(far);
  wheel.add(near);
  EXPECT_EQ(listed(wheel.advance(1'000'000'000'000, no_limit)), std::vector<timer*>{&near});
  EXPECT_EQ(wheel.size(), 1u);
  wheel.remove(far);
  wheel.remove(far);
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.next(), timer_wheel::never);
}

TEST(timer_wheel, gives_at_once_what_is_due_already) {
  timer_wheel wheel;
  EXPECT_EQ(wheel.advance(500, no_limit), nullptr);
  timer late;
  late.tick = 100;
  wheel.add(late);
  EXPECT_LE(wheel.next(), 500u);
  EXPECT_EQ(listed(wheel.advance(500, no_limit)), std::vector<timer*>{&late});
}

}  // namespace
