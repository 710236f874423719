// Watches that each element is taken exactly once, by the owner or by one thief, and that thieves
// get them oldest first: each element counts its takers. The owner pushes and pops as forking tasks
// do, mostly near empty, where both ends meet.

#include <rota/base/rng.h>
#include <rota/queue/fork_deque.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::fork_deque;
using rota::detail::rng;
using rota::test::spin;
using rota::test::yield_sometimes;

struct element {
  std::uint64_t number = 0;
  std::uint64_t payload = 0;  // written before the push: the thread sanitizer watches it
  std::atomic<unsigned> taken{0};
};

class contest {
 public:
  contest(unsigned thieves, std::size_t capacity, std::uint64_t elements, std::uint64_t seed)
      : thieves_(thieves), deque_(capacity), elements_(elements), seed_(seed) {}

  void run() {
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
    for (const auto& e : elements_) wrong += e.taken.load() != 1;
    EXPECT_EQ(wrong, 0u) << "elements were lost or taken twice, seed " << seed_;
    EXPECT_EQ(disorder_.load(), 0u) << "seed " << seed_;
    EXPECT_TRUE(deque_.empty());
  }

  std::uint64_t stolen() const { return stolen_.load(); }

 private:
  void take(void* x) {
    auto* e = static_cast<element*>(x);
    if (e->payload != e->number * 3 + 1) disorder_.fetch_add(1);
    e->taken.fetch_add(1, std::memory_order_relaxed);
  }

  // A walk over a tree: forks to some depth, then comes back.
  void own() {
    rng random{seed_};
    std::vector<element*> forked;
    std::uint64_t next = 0;
    while (next < elements_.size()) {
      const std::uint64_t depth = random.below(4) == 0 ? random.below(40) : 1 + random.below(3);
      while (forked.size() < depth && next < elements_.size()) {
        element& e = elements_[next];
        e.number = next++;
        e.payload = e.number * 3 + 1;
        deque_.push(&e);
        forked.push_back(&e);
        if (random.below(8) == 0) spin(random.below(10));
      }
      yield_sometimes(random, 256);
      const std::size_t keep = random.below(3) == 0 ? forked.size() / 2 : 0;
      while (forked.size() > keep) {
        // A pop that fails was stolen, and then so were all the older ones.
        if (random.below(8) == 0) {
          if (void* x = deque_.pop_any()) {
            if (x != forked.back()) disorder_.fetch_add(1);
            take(x);
          }
        } else if (deque_.pop(forked.back())) {
          take(forked.back());
        }
        forked.pop_back();
      }
      if (deque_.empty()) forked.clear();
    }
    while (void* x = deque_.pop_any()) take(x);
    done_.store(true, std::memory_order_release);
  }

  void steal(unsigned index) {
    rng random{seed_ * 31 + index};
    std::uint64_t last = 0;
    while (!done_.load(std::memory_order_acquire)) {
      if (void* x = deque_.steal()) {
        auto* e = static_cast<element*>(x);
        if (e->number < last) disorder_.fetch_add(1);
        last = e->number + 1;
        take(x);
        stolen_.fetch_add(1, std::memory_order_relaxed);
      } else {
        spin(random.below(20));
        yield_sometimes(random, 256);
      }
    }
  }

  const unsigned thieves_;
  fork_deque deque_;
  std::vector<element> elements_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> stolen_{0};
  std::atomic<std::uint64_t> disorder_{0};
  std::atomic<bool> done_{false};
};

TEST(fork_deque_stress, the_scaffolding_alone_loses_nothing) {
  contest c{0, 2, 100'000, rota::test::seed()};
  c.run();
  c.check();
}

void each_is_taken_once(unsigned thieves) {
  rota::test::run_contests<contest>(rota::test::rounds(200, 20'000), thieves, 10'000);
}

TEST(fork_deque_stress, each_element_is_taken_once_with_one_thief) { each_is_taken_once(1); }
TEST(fork_deque_stress, each_element_is_taken_once_with_two_thieves) { each_is_taken_once(2); }
TEST(fork_deque_stress, each_element_is_taken_once_with_three_thieves) { each_is_taken_once(3); }

}  // namespace
