// The ring against a plain queue that rotates. A broken place shows as another order.

#include "coop/place_ring.h"

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

namespace rota::coop {
namespace {

TEST(PlaceRing, IsFirstInFirstOutWhileNobodyIsBlocked) {
  place_ring ring;
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.first(), no_task);
  for (task_id f : {7u, 3u, 5u}) ring.push(f);
  EXPECT_EQ(ring.size(), 3u);
  for (task_id f : {7u, 3u, 5u}) {
    EXPECT_EQ(ring.first(), f);
    EXPECT_EQ(ring.ahead(), 0u);
    ring.take_first();
  }
  EXPECT_TRUE(ring.empty());
}

TEST(PlaceRing, AWokenElementIsAtItsPlace) {
  place_ring ring;
  for (task_id f : {0u, 1u, 2u, 3u}) ring.push(f);
  ring.park_first();  // 0
  ring.park_first();  // 1
  ring.take_first();  // 2
  ring.push(2);       // the queue is 3 0 1 2
  ring.wake(1);
  EXPECT_EQ(ring.first(), 3u);
  EXPECT_EQ(ring.ahead(), 0u);
  ring.take_first();
  EXPECT_EQ(ring.first(), 1u);
  EXPECT_EQ(ring.ahead(), 1u);  // 0
  ring.take_first();
  EXPECT_EQ(ring.first(), 2u);
  ring.take_first();
  EXPECT_EQ(ring.blocked_at_rear(), std::vector<task_id>{0});
}

TEST(PlaceRing, KeepsTheOrderOfAQueueThatRotates) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    rota::detail::rng rng{seed};
    place_ring ring;
    std::deque<task_id> queue;
    std::set<task_id> parked;
    std::vector<task_id> outside;
    for (task_id f = 0; f < 1 + rng.below(60); ++f) outside.push_back(f);
    for (int n = 0; n < 600; ++n) {
      const std::uint64_t what = rng.below(5);
      if (what < 2 && !outside.empty()) {
        const auto at = outside.begin() + static_cast<std::ptrdiff_t>(rng.below(outside.size()));
        ring.push(*at);
        queue.push_back(*at);
        outside.erase(at);
      } else if (what == 2 && !parked.empty()) {
        const auto at =
            std::next(parked.begin(), static_cast<std::ptrdiff_t>(rng.below(parked.size())));
        ring.wake(*at);
        parked.erase(at);
      } else if (ring.first() != no_task) {
        std::size_t rotated = 0;
        for (; parked.contains(queue.front()); ++rotated) {
          queue.push_back(queue.front());
          queue.pop_front();
        }
        const task_id f = queue.front();
        ASSERT_EQ(ring.first(), f) << "seed " << seed << ", operation " << n;
        ASSERT_EQ(ring.ahead(), rotated) << "seed " << seed << ", operation " << n;
        queue.pop_front();
        if (what == 3) {
          ring.take_first();
          outside.push_back(f);
        } else {
          ring.park_first();
          parked.insert(f);
          queue.push_back(f);
        }
      }
      ASSERT_EQ(ring.size(), queue.size());
    }
    while (ring.first() != no_task) {
      while (queue.front() != ring.first()) {
        queue.push_back(queue.front());
        queue.pop_front();
      }
      ring.park_first();
      queue.push_back(queue.front());
      queue.pop_front();
    }
    EXPECT_EQ(ring.blocked_at_rear(), std::vector<task_id>(queue.begin(), queue.end()));
  }
}

}  // namespace
}  // namespace rota::coop
