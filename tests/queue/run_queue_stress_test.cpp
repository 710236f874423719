// Watches that none is lost, none is taken twice, and every taker gets its jobs in the order in
// which they were pushed: each job is a number, each taker writes down whether its numbers grow and
// counts how often each number was taken. A hang would be a taker that waits for a lost job; the
// watchdog tells.

#include <rota/base/rng.h>
#include <rota/queue/run_queue.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::job;
using rota::detail::rng;
using rota::detail::run_queue;
using rota::test::spin;
using rota::test::yield_sometimes;

struct numbered : job {
  std::uint64_t number = 0;
  std::uint64_t payload = 0;  // written before the push: the thread sanitizer watches it
  std::atomic<unsigned> taken{0};
};

class contest {
 public:
  contest(unsigned thieves, std::size_t capacity, std::uint64_t jobs, std::uint64_t seed)
      : thieves_(thieves), queue_(true, capacity), jobs_(jobs), seed_(seed) {}

  void run() {
    rota::test::watchdog dog{"jobs were pushed and are not taken", [this] { return taken_.load(); },
                             [this] { report(); }};
    if (thieves_ == 0) return own();  // the scaffolding alone
    rota::test::run_together(thieves_ + 1, [this](unsigned index) {
      if (index == 0)
        own();
      else
        steal(index);
    });
  }

  void check() {
    std::uint64_t wrong = 0;
    for (const auto& j : jobs_) wrong += j.taken.load() != 1;
    EXPECT_EQ(wrong, 0u) << "jobs were lost or taken twice, seed " << seed_;
    EXPECT_EQ(disorder_.load(), 0u) << "a taker got a younger job first, seed " << seed_;
    EXPECT_EQ(queue_.pop(), nullptr);
    EXPECT_EQ(queue_.tail(), jobs_.size());
  }

  std::uint64_t stolen() const { return stolen_.load(); }

 private:
  void take(job* j, std::uint64_t& last) {
    auto* n = static_cast<numbered*>(j);
    if (n->payload != n->number * 3 + 1) disorder_.fetch_add(1);
    if (n->number < last) disorder_.fetch_add(1);
    last = n->number + 1;
    n->taken.fetch_add(1, std::memory_order_relaxed);
    taken_.fetch_add(1, std::memory_order_relaxed);
  }

  // Bursts of pushes and of pops, so that the queue is sometimes empty and sometimes grows.
  void own() {
    rng random{seed_};
    std::uint64_t last = 0;
    std::uint64_t next = 0;
    while (next < jobs_.size()) {
      const std::uint64_t pushes = std::min<std::uint64_t>(random.below(24), jobs_.size() - next);
      for (std::uint64_t i = 0; i < pushes; ++i, ++next) {
        numbered& n = jobs_[next];
        n.number = next;
        n.payload = next * 3 + 1;
        queue_.push(&n);
      }
      yield_sometimes(random, 64);
      const std::uint64_t pops = random.below(24);
      for (std::uint64_t i = 0; i < pops; ++i)
        if (job* j = queue_.pop()) take(j, last);
      if (random.below(16) == 0) spin(random.below(100));
      if (random.below(256) == 0) queue_.trim();
    }
    while (job* j = queue_.pop()) take(j, last);
    done_.store(true, std::memory_order_release);
  }

  void steal(unsigned index) {
    rng random{seed_ * 31 + index};
    std::uint64_t last = 0;
    job* out[16];
    while (!done_.load(std::memory_order_acquire) || !queue_.empty()) {
      const std::size_t n = queue_.steal(out, 1 + random.below(16));
      for (std::size_t i = 0; i < n; ++i) take(out[i], last);
      stolen_.fetch_add(n, std::memory_order_relaxed);
      if (n == 0) {
        spin(random.below(50));
        yield_sometimes(random, 64);
      }
    }
  }

  void report() const {
    std::fprintf(stderr, "%zu jobs, %llu taken, head %llu, tail %llu, owner %s, seed %llu\n",
                 jobs_.size(), static_cast<unsigned long long>(taken_.load()),
                 static_cast<unsigned long long>(queue_.head()),
                 static_cast<unsigned long long>(queue_.tail()), done_.load() ? "done" : "at work",
                 static_cast<unsigned long long>(seed_));
  }

  const unsigned thieves_;
  run_queue queue_;
  std::vector<numbered> jobs_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> stolen_{0};
  std::atomic<std::uint64_t> disorder_{0};
  std::atomic<bool> done_{false};
};

TEST(run_queue_stress, the_scaffolding_alone_loses_nothing) {
  contest c{0, 2, 100'000, rota::test::seed()};
  c.run();
  c.check();
}

void none_lost_none_twice(unsigned thieves) {
  rota::test::run_contests<contest>(rota::test::rounds(150, 15'000), thieves, 5000);
}

TEST(run_queue_stress, none_is_lost_or_taken_twice_with_one_thief) { none_lost_none_twice(1); }
TEST(run_queue_stress, none_is_lost_or_taken_twice_with_two_thieves) { none_lost_none_twice(2); }
TEST(run_queue_stress, none_is_lost_or_taken_twice_with_three_thieves) { none_lost_none_twice(3); }

// The ring stays full and small, so that every push writes into a slot that a thief has just left.
TEST(run_queue_stress, an_owner_on_the_heels_of_a_thief_does_not_overwrite_what_it_reads) {
  const std::uint64_t pushes = rota::test::rounds(2'000'000, 200'000'000);
  constexpr std::size_t live = 64;
  std::vector<numbered> jobs(live);
  run_queue queue{true, 4};
  // A job is in the queue, or with the one who took it. Who takes it flips `taken` from 0 to 1.
  std::atomic<std::uint64_t> twice{0};
  std::atomic<bool> done{false};
  rota::test::run_together(2, [&](unsigned index) {
    rng random{rota::test::seed() + index};
    const auto take = [&](job* j) {
      if (static_cast<numbered*>(j)->taken.exchange(1, std::memory_order_acq_rel) != 0)
        twice.fetch_add(1);
    };
    if (index == 1) {
      job* out[8];
      while (!done.load(std::memory_order_relaxed)) {
        const std::size_t n = queue.steal(out, 8);
        for (std::size_t i = 0; i < n; ++i) take(out[i]);
        if (n != 0)
          // Gives them back: only now may the owner push them again.
          for (std::size_t i = 0; i < n; ++i)
            static_cast<numbered*>(out[i])->number = 0,
            static_cast<numbered*>(out[i])->taken.store(2, std::memory_order_release);
      }
      return;
    }
    for (auto& j : jobs) j.taken.store(2, std::memory_order_relaxed);
    std::size_t next = 0;
    for (std::uint64_t pushed = 0; pushed < pushes;) {
      numbered& n = jobs[next++ % live];
      if (n.taken.load(std::memory_order_acquire) == 2) {
        n.number = pushed++;
        n.taken.store(0, std::memory_order_relaxed);
        queue.push(&n);
      }
      if (random.below(4) == 0)
        if (job* j = queue.pop()) {
          take(j);
          static_cast<numbered*>(j)->taken.store(2, std::memory_order_release);
        }
      if (queue.size() == live) std::this_thread::yield();
    }
    done.store(true, std::memory_order_relaxed);
  });
  EXPECT_EQ(twice.load(), 0u);
}

}  // namespace
