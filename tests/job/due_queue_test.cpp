// The due queue against one that looks at everything: a broken promise shows as another run that is
// next. The last test is about cost: it takes minutes if a launch looks at all that wait.
#include "job/due_queue.h"

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "support/strength.h"

namespace rota::job::test {
namespace {

using rota::detail::rng;

// The rule as it is written in jobs.md (C2).
class slow_queue {
 public:
  std::vector<queued_run> rows;
  std::set<job_index> busy;
  std::vector<std::uint32_t> used;                 // by limit
  std::vector<std::uint32_t> caps;                 // likewise
  std::vector<std::vector<std::uint32_t>> limits;  // by group
  std::uint32_t passes = 0;

  bool held(const queued_run& r) const {
    return (r.alone && busy.contains(r.job)) ||
           std::any_of(limits[r.group].begin(), limits[r.group].end(),
                       [&](std::uint32_t l) { return used[l] >= caps[l]; });
  }
  void uses(std::uint32_t group, int more) {
    for (const std::uint32_t l : limits[group]) used[l] += static_cast<std::uint32_t>(more);
  }
  const queued_run* next() {
    std::sort(rows.begin(), rows.end(),
              [](const queued_run& a, const queued_run& b) { return a.key < b.key; });
    for (const queued_run& r : rows) {
      if (!held(r)) return &r;
      if (r.passed >= passes) return nullptr;
    }
    return nullptr;
  }
  void launch(due_key k) {
    for (queued_run& r : rows)
      if (r.key < k) ++r.passed;
    take(k);
  }
  void take(due_key k) {
    std::erase_if(rows, [k](const queued_run& r) { return r.key == k; });
  }
};

instant ms_at(std::uint64_t n) { return instant{milliseconds{static_cast<std::int64_t>(n)}}; }

TEST(DueQueue, IsTheRuleAtRandom) {
  for (std::uint64_t seed = 0; seed < (rota::test::sanitized ? 100u : 300u); ++seed) {
    SCOPED_TRACE(seed);
    rng random{seed};
    slow_queue slow;
    slow.passes = static_cast<std::uint32_t>(random.below(4));
    due_queue fast{slow.passes};
    // Three limits; the groups 3 and 4 have two of them, each of which another group has too.
    for (std::uint32_t l = 0; l < 3; ++l) {
      slow.caps.push_back(l + 1);
      slow.used.push_back(0);
      fast.add_limit(slow.caps.back());
    }
    slow.limits = {{}, {0}, {1}, {0, 2}, {1, 2}};
    for (const auto& limits : slow.limits) fast.add_group(limits);
    std::vector<queued_run> running;
    const auto is_busy = [&](job_index j) {
      return std::any_of(running.begin(), running.end(),
                         [j](const queued_run& r) { return r.job == j; });
    };
    for (run_id id = 1; id < 200; ++id) {
      const auto job = static_cast<job_index>(random.below(10));
      const queued_run fresh{{ms_at(random.below(50)), id}, job, job % 5, job % 2 == 0, 0};
      fast.push(fresh, is_busy(job));
      slow.rows.push_back(fresh);
      for (std::uint64_t n = random.below(4); n > 0; --n) {
        if (!running.empty() && random.below(2)) {
          const queued_run ended = running[random.below(running.size())];
          std::erase_if(running, [&](const queued_run& r) { return r.key == ended.key; });
          slow.uses(ended.group, -1);
          fast.group_uses(ended.group, -1);
          fast.job_is_busy(ended.job, is_busy(ended.job));
        } else if (!slow.rows.empty() && random.below(8) == 0) {
          const due_key k = slow.rows[random.below(slow.rows.size())].key;
          slow.take(k);
          fast.take(k);
        } else if (const queued_run* next = slow.next()) {
          const queued_run r = *next;
          ASSERT_TRUE(fast.next());
          ASSERT_EQ(fast.next()->key, r.key);
          ASSERT_EQ(fast.next()->passed, r.passed);
          slow.launch(r.key);
          fast.launch(r.key);
          running.push_back(r);
          slow.uses(r.group, 1);
          fast.group_uses(r.group, 1);
          fast.job_is_busy(r.job, true);
        }
        slow.busy.clear();
        for (const queued_run& r : running) slow.busy.insert(r.job);
        const queued_run* next = slow.next();
        ASSERT_EQ(fast.next() == nullptr, next == nullptr);
        if (next) {
          ASSERT_EQ(fast.next()->key, next->key);
        }
        ASSERT_EQ(fast.size(), slow.rows.size());
        for (std::uint32_t l = 0; l < 3; ++l) {
          if (random.below(20) == 0) {
            slow.caps[l] = static_cast<std::uint32_t>(1 + random.below(3));
            fast.set_cap(l, slow.caps[l]);
          }
          ASSERT_EQ(fast.waiting(l),
                    static_cast<std::size_t>(
                        std::count_if(slow.rows.begin(), slow.rows.end(), [&](const queued_run& r) {
                          const auto& limits = slow.limits[r.group];
                          return std::find(limits.begin(), limits.end(), l) != limits.end();
                        })));
        }
      }
    }
  }
}

TEST(DueQueue, AHundredThousandThatAreHeldDoNotSlowDownTheOthers) {
  due_queue q{16};
  q.add_group({});
  const std::uint32_t full = q.add_group({q.add_limit(1)});
  q.group_uses(full, 1);
  constexpr run_id many = 100'000;
  // Those of the full group stand behind, so that nobody is passed.
  for (run_id id = 1; id <= many; ++id) {
    q.push({{ms_at(1), id}, static_cast<job_index>(id), 0, true, 0}, false);
    q.push({{ms_at(2), many + id}, static_cast<job_index>(many + id), full, false, 0}, false);
  }
  for (run_id id = 1; id <= many; ++id) {
    ASSERT_EQ(q.next()->key.id, id);
    q.launch(q.next()->key);
    q.job_is_busy(static_cast<job_index>(id), true);
  }
  EXPECT_EQ(q.next(), nullptr);
  // And if they stand before, each is passed sixteen times and no more.
  for (run_id id = 2 * many + 1; id <= 2 * many + 20; ++id)
    q.push({{ms_at(3), id}, static_cast<job_index>(id), 0, true, 0}, false);
  int launched = 0;
  while (q.next()) {
    q.launch(q.next()->key);
    ++launched;
  }
  EXPECT_EQ(launched, 16);
}

}  // namespace
}  // namespace rota::job::test
