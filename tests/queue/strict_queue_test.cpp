// A broken promise shows as an order that differs from that of a scheduler which really takes the
// first of its queue, runs it if it can and otherwise puts it to the rear.

#include <rota/queue/strict_queue.h>

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::job;
using rota::detail::rng;
using rota::detail::strict_queue;

// The queue of the paper, as it is told there.
class rotating_queue {
 public:
  void push(job* j) { places_.push_back({j, true}); }
  void hold(job* j) { places_.push_back({j, false}); }
  void enable(job* j) {
    if (auto p = find(j); p != places_.end()) p->enabled = true;
  }
  void remove(job* j) {
    if (auto p = find(j); p != places_.end()) places_.erase(p);
  }
  job* pop() {
    for (std::size_t visited = 0; visited < places_.size(); ++visited) {
      const place first = places_.front();
      places_.pop_front();
      if (first.enabled) return first.who;
      places_.push_back(first);
    }
    return nullptr;
  }
  bool has_place(job* j) { return find(j) != places_.end(); }
  std::vector<job*> order() const {
    std::vector<job*> all;
    for (const place& p : places_) all.push_back(p.who);
    return all;
  }
  std::size_t enabled() const {
    return static_cast<std::size_t>(
        std::count_if(places_.begin(), places_.end(), [](const place& p) { return p.enabled; }));
  }

 private:
  struct place {
    job* who;
    bool enabled;
  };
  std::deque<place>::iterator find(job* j) {
    return std::find_if(places_.begin(), places_.end(), [j](const place& p) { return p.who == j; });
  }

  std::deque<place> places_;
};

// Half of the time so that labels come to their end.
strict_queue::label any_beginning(rng& random) {
  return random.below(2) ? strict_queue::all_labels - 1 - random.below(1 << 18) : 0;
}

std::vector<job*> order_of(const strict_queue& queue) {
  std::vector<job*> all;
  queue.for_each_place([&](job* j) { all.push_back(j); });
  return all;
}

TEST(strict_queue, an_empty_queue_gives_nothing) {
  strict_queue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(strict_queue, jobs_that_can_run_take_turns) {
  job a, b, c;
  strict_queue queue;
  for (job* j : {&a, &b, &c}) queue.push(j);
  for (int round = 0; round < 100; ++round)
    for (job* expected : {&a, &b, &c}) {
      job* j = queue.pop();
      ASSERT_EQ(j, expected) << "round " << round;
      queue.push(j);
    }
}

TEST(strict_queue, a_blocked_job_keeps_its_place) {
  job a, b, c;
  strict_queue queue;
  queue.push(&a);
  queue.hold(&b);
  queue.push(&c);
  EXPECT_EQ(queue.pop(), &a);
  queue.push(&a);  // order: b (blocked), c, a
  queue.enable(&b);
  EXPECT_EQ(queue.pop(), &b) << "b was before c and a";
  EXPECT_EQ(queue.pop(), &c);
  EXPECT_EQ(queue.pop(), &a);
}

TEST(strict_queue, a_job_that_is_enabled_behind_the_cursor_waits_for_the_next_round) {
  job a, b, c;
  strict_queue queue;
  queue.hold(&a);
  queue.push(&b);
  queue.push(&c);
  EXPECT_EQ(queue.pop(), &b);  // passes a
  queue.enable(&a);
  EXPECT_EQ(queue.pop(), &c);
  EXPECT_EQ(queue.pop(), &a);
}

TEST(strict_queue, blocked_jobs_do_not_count_as_queued) {
  job a;
  strict_queue queue;
  queue.hold(&a);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.has_place(&a));
  EXPECT_EQ(queue.pop(), nullptr);
  queue.enable(&a);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.pop(), &a);
  EXPECT_FALSE(queue.has_place(&a));
}

TEST(strict_queue, enabling_a_job_without_a_place_does_nothing) {
  job a;
  strict_queue queue;
  queue.enable(&a);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.pop(), nullptr);
}

TEST(strict_queue, a_removed_job_does_not_come_back) {
  job a, b;
  strict_queue queue;
  queue.push(&a);
  queue.hold(&b);
  queue.remove(&a);
  queue.remove(&b);
  queue.enable(&b);
  EXPECT_EQ(queue.pop(), nullptr);
  queue.push(&b);
  EXPECT_EQ(queue.pop(), &b);
}

TEST(strict_queue, random_operations_give_the_order_of_a_queue_that_rotates) {
  const std::uint64_t seeds = rota::test::rounds(3000, 300'000);
  for (std::uint64_t s = 0; s < seeds; ++s) {
    const std::uint64_t seed = rota::test::seed() * 1'000'000 + s;
    rng random{seed};
    std::vector<job> jobs(1 + random.below(s % 10 == 0 ? 100 : 8));
    const std::uint64_t blocking = random.below(10);  // of ten that give way, so many are blocked
    strict_queue queue{any_beginning(random)};
    rotating_queue reference;
    for (int step = 0; step < 400; ++step) {
      job* j = &jobs[random.below(jobs.size())];
      const std::uint64_t what = random.below(16);
      if (what < 6) {
        job* expected = reference.pop();
        ASSERT_EQ(queue.pop(), expected) << "seed " << seed << ", step " << step;
      } else if (what < 12) {
        if (reference.has_place(j)) continue;
        const bool blocked = random.below(10) < blocking;
        blocked ? reference.hold(j) : reference.push(j);
        blocked ? queue.hold(j) : queue.push(j);
      } else if (what < 15) {
        reference.enable(j);
        queue.enable(j);
      } else {
        reference.remove(j);
        queue.remove(j);
      }
      ASSERT_EQ(queue.has_place(j), reference.has_place(j)) << "seed " << seed << ", step " << step;
      ASSERT_EQ(queue.size(), reference.enabled()) << "seed " << seed << ", step " << step;
      if (s % 10 != 0) {
        ASSERT_EQ(order_of(queue), reference.order()) << "seed " << seed << ", step " << step;
      }
    }
  }
}

// Each starts a job behind everything, waits, and the job does the same at once: its place lies
// between that of its parent and itself, so the room halves with every level.
TEST(strict_queue, room_is_made_nearby) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<job> jobs(200'000);
  strict_queue queue;
  queue.push(&jobs[0]);
  for (std::size_t i = 0; i + 1 < jobs.size(); ++i) {
    ASSERT_EQ(queue.pop(), &jobs[i]);
    queue.push(&jobs[i + 1]);
    queue.hold(&jobs[i]);
  }
  // The cursor is behind the last that waited, whose job is just before it.
  std::vector<job*> expected;
  for (std::size_t i = jobs.size() - 2; i-- > 0;) expected.push_back(&jobs[i]);
  expected.push_back(&jobs[jobs.size() - 1]);
  expected.push_back(&jobs[jobs.size() - 2]);
  EXPECT_EQ(order_of(queue), expected);
  // Takes less than a second; minutes if each level moves all places.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{30});
}

TEST(strict_queue, random_nesting_keeps_the_order) {
  for (std::uint64_t s = 0; s < rota::test::rounds(200, 20'000); ++s) {
    const std::uint64_t seed = rota::test::seed() * 1'000'000 + s;
    rng random{seed};
    std::vector<job> jobs(500);
    strict_queue queue{any_beginning(random)};
    rotating_queue reference;
    std::size_t started = 0;
    const auto start = [&] {
      reference.push(&jobs[started]);
      queue.push(&jobs[started++]);
    };
    start();
    while (started < jobs.size()) {
      job* const j = reference.pop();
      ASSERT_EQ(queue.pop(), j) << "seed " << seed << ", job " << started;
      if (!j) {
        start();
        continue;
      }
      if (random.below(8) != 0) start();
      if (random.below(8) != 0) {
        reference.hold(j);
        queue.hold(j);
      } else {
        reference.push(j);
        queue.push(j);
      }
    }
    ASSERT_EQ(order_of(queue), reference.order()) << "seed " << seed;
  }
}

// The room between two neighbours is used up again and again.
TEST(strict_queue, the_order_holds_when_the_room_between_two_places_runs_out) {
  job a, b, c, d;
  strict_queue queue;
  rotating_queue reference;
  const auto both = [&](auto operation) {
    operation(queue);
    operation(reference);
  };
  for (job* j : {&a, &b, &c}) both([j](auto& q) { q.push(j); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(queue.pop(), reference.pop());
    both([&](auto& q) { q.push(&d); });
    both([&](auto& q) { q.remove(&d); });
  }
  // a and b block, with the cursor between them, and c gives way again and again.
  both([&](auto& q) { q.push(&a); });
  both([&](auto& q) { q.push(&b); });
  ASSERT_EQ(queue.pop(), reference.pop());
  both([&](auto& q) { q.hold(&d); });
  both([&](auto& q) { q.push(&c); });
  ASSERT_EQ(queue.pop(), reference.pop());
  both([&](auto& q) { q.hold(&a); });
  const std::uint64_t times = rota::test::sanitized ? 1'100'000 : 3'000'000;
  for (std::uint64_t i = 0; i < times; ++i) {
    job* j = queue.pop();
    ASSERT_EQ(j, reference.pop()) << i;
    if (!j) break;
    both([j](auto& q) { q.push(j); });
  }
  both([&](auto& q) { q.enable(&d); });
  both([&](auto& q) { q.enable(&a); });
  for (int i = 0; i < 10; ++i) {
    job* j = queue.pop();
    ASSERT_EQ(j, reference.pop()) << i;
    if (j && i < 5) both([j](auto& q) { q.push(j); });
  }
}

}  // namespace
