// Watches that every job that was put is taken once, and that each taker gets the jobs of each
// producer in order. Jobs are used again and again, so that an ABA mistake would show.

#include <rota/base/rng.h>
#include <rota/queue/inbox.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::inbox;
using rota::detail::job;
using rota::detail::rng;
using rota::test::spin;
using rota::test::spin_until;

struct letter : job {
  unsigned producer = 0;
  std::uint64_t number = 0;
  std::atomic<bool> in_use{false};
};

class exchange {
 public:
  exchange(unsigned producers, unsigned takers, std::uint64_t each)
      : producers_(producers), takers_(takers), each_(each), letters_(producers) {
    for (auto& l : letters_) l = std::make_unique<std::array<letter, 8>>();
  }

  void run() {
    rota::test::watchdog dog{"letters were put and are not taken", [this] { return taken_.load(); },
                             [this] {
                               std::fprintf(stderr, "%llu of %llu taken, inbox %s\n",
                                            static_cast<unsigned long long>(taken_.load()),
                                            static_cast<unsigned long long>(total()),
                                            box_.empty() ? "empty" : "not empty");
                             }};
    rota::test::run_together(producers_ + takers_, [this](unsigned index) {
      if (index < producers_)
        produce(index);
      else
        take(index);
    });
  }

  std::uint64_t total() const { return each_ * producers_; }
  std::uint64_t taken() const { return taken_.load(); }
  std::uint64_t sum() const { return sum_.load(); }
  std::uint64_t disorder() const { return disorder_.load(); }

 private:
  void produce(unsigned index) {
    rng random{rota::test::seed() * 100 + index};
    for (std::uint64_t i = 1; i <= each_; ++i) {
      letter& l = (*letters_[index])[i % 8];
      spin_until([&] { return !l.in_use.load(std::memory_order_acquire); });
      l.in_use.store(true, std::memory_order_relaxed);
      l.producer = index;
      l.number = i;
      box_.put(&l);
      if (random.below(8) == 0) spin(random.below(30));
    }
  }

  void take(unsigned index) {
    rng random{rota::test::seed() * 100 + index};
    std::vector<std::uint64_t> last(producers_);
    while (taken_.load(std::memory_order_relaxed) < total()) {
      job* j = box_.take_all();
      if (!j) {
        spin(random.below(20));
        if (random.below(64) == 0) std::this_thread::yield();
      }
      std::uint64_t count = 0;
      while (j) {
        auto* l = static_cast<letter*>(j);
        j = j->link;
        if (!l->in_use.load(std::memory_order_relaxed) || l->number <= last[l->producer])
          disorder_.fetch_add(1);
        last[l->producer] = l->number;
        sum_.fetch_add(l->number, std::memory_order_relaxed);
        ++count;
        l->in_use.store(false, std::memory_order_release);
      }
      taken_.fetch_add(count, std::memory_order_relaxed);
    }
  }

  const unsigned producers_;
  const unsigned takers_;
  const std::uint64_t each_;
  std::vector<std::unique_ptr<std::array<letter, 8>>> letters_;
  inbox box_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> disorder_{0};
};

void every_letter_arrives(unsigned producers, unsigned takers) {
  const std::uint64_t each = rota::test::rounds(300'000, 30'000'000) / producers;
  exchange e{producers, takers, each};
  e.run();
  EXPECT_EQ(e.taken(), e.total());
  EXPECT_EQ(e.sum(), producers * (each * (each + 1) / 2)) << "one was lost and another came twice";
  EXPECT_EQ(e.disorder(), 0u);
}

TEST(inbox_stress, every_job_is_taken_once_with_one_producer) { every_letter_arrives(1, 1); }
TEST(inbox_stress, every_job_is_taken_once_with_three_producers) { every_letter_arrives(3, 1); }
TEST(inbox_stress, every_job_is_taken_once_with_two_takers) { every_letter_arrives(2, 2); }

}  // namespace
