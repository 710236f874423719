// A broken promise shows as a job that comes out of turn, twice or never.

#include <rota/queue/run_queue.h>

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::job;
using rota::detail::rng;
using rota::detail::run_queue;

class run_queues : public testing::TestWithParam<bool> {};

TEST_P(run_queues, an_empty_queue_gives_nothing) {
  run_queue queue{GetParam()};
  job* out[4];
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(queue.steal(out, 4), 0u);
}

TEST_P(run_queues, jobs_leave_in_the_order_in_which_they_came) {
  std::vector<job> jobs(1000);
  run_queue queue{GetParam(), 4};  // grows many times
  for (auto& j : jobs) queue.push(&j);
  EXPECT_EQ(queue.size(), jobs.size());
  for (auto& j : jobs) ASSERT_EQ(queue.pop(), &j);
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST_P(run_queues, the_queue_goes_round_in_a_ring_that_is_full) {
  std::vector<job> jobs(4);
  run_queue queue{GetParam(), 4};
  for (auto& j : jobs) queue.push(&j);
  for (int i = 0; i < 1000; ++i) {
    job* j = queue.pop();
    ASSERT_EQ(j, &jobs[static_cast<std::size_t>(i) % jobs.size()]);
    queue.push(j);
  }
}

TEST_P(run_queues, head_and_tail_number_the_jobs) {
  std::vector<job> jobs(3);
  run_queue queue{GetParam(), 2};
  for (auto& j : jobs) queue.push(&j);
  EXPECT_EQ(queue.head(), 0u);
  EXPECT_EQ(queue.tail(), 3u);
  queue.pop();
  EXPECT_EQ(queue.head(), 1u);
  queue.push(&jobs[0]);
  EXPECT_EQ(queue.tail(), 4u);
}

TEST_P(run_queues, a_trimmed_queue_goes_on_as_before) {
  std::vector<job> jobs(100'000);
  run_queue queue{GetParam(), 8};
  for (int burst = 0; burst < 3; ++burst) {
    for (auto& j : jobs) queue.push(&j);
    for (auto& j : jobs) ASSERT_EQ(queue.pop(), &j);
    queue.trim();
    EXPECT_TRUE(queue.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(run_queue, run_queues, testing::Bool(),
                         [](const auto& of) { return of.param ? "shared" : "of_one_worker"; });

TEST(run_queue, a_thief_takes_the_older_half_in_order) {
  for (std::size_t n = 1; n <= 9; ++n) {
    std::vector<job> jobs(n);
    run_queue queue{true, 4};
    for (auto& j : jobs) queue.push(&j);
    job* out[16];
    ASSERT_EQ(queue.steal(out, 16), (n + 1) / 2) << n << " jobs";
    for (std::size_t i = 0; i < (n + 1) / 2; ++i) ASSERT_EQ(out[i], &jobs[i]);
    for (std::size_t i = (n + 1) / 2; i < n; ++i) ASSERT_EQ(queue.pop(), &jobs[i]);
    ASSERT_EQ(queue.pop(), nullptr);
  }
}

TEST(run_queue, a_thief_takes_no_more_than_it_has_room_for) {
  std::vector<job> jobs(100);
  run_queue queue{true, 4};
  for (auto& j : jobs) queue.push(&j);
  job* out[3];
  EXPECT_EQ(queue.steal(out, 3), 3u);
  EXPECT_EQ(out[2], &jobs[2]);
  EXPECT_EQ(queue.size(), 97u);
  EXPECT_EQ(queue.pop(), &jobs[3]);
}

TEST(run_queue, random_operations_agree_with_a_deque) {
  std::vector<job> jobs(5000);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    rng random{seed};
    run_queue queue{true, std::size_t{1} << random.below(4)};
    std::deque<job*> reference;
    const std::uint64_t pushes = 1 + random.below(9);  // of ten operations
    std::size_t next = 0;
    for (int step = 0; step < 1000; ++step) {
      if (random.below(10) < pushes) {
        job* j = &jobs[next++ % jobs.size()];
        queue.push(j);
        reference.push_back(j);
      } else if (random.below(2) == 0) {
        job* expected = nullptr;
        if (!reference.empty()) {
          expected = reference.front();
          reference.pop_front();
        }
        ASSERT_EQ(queue.pop(), expected) << "seed " << seed << ", step " << step;
      } else {
        job* out[8];
        const std::size_t n = queue.steal(out, 1 + random.below(8));
        ASSERT_LE(n, (reference.size() + 1) / 2) << "seed " << seed << ", step " << step;
        ASSERT_EQ(n == 0, reference.empty()) << "seed " << seed << ", step " << step;
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(out[i], reference.front()) << "seed " << seed << ", step " << step;
          reference.pop_front();
        }
      }
      ASSERT_EQ(queue.size(), reference.size()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(run_queue_death_test, a_capacity_that_is_no_power_of_two_is_refused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH((run_queue{true, 6}), "capacity is 6, expected a power of two");
}

}  // namespace
