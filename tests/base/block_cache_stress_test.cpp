// Threads make blocks, hand them to each other and free what they get, while one trims, and the
// cache is opened and closed. A block that two have shows in its pattern, or as a race; one that is
// lost or freed twice shows under AddressSanitizer; what is kept after the end in reserved().

#include <rota/base/block_cache.h>
#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::block_cache;
using rota::detail::block_size;
using rota::detail::rng;

class exchange {
 public:
  explicit exchange(std::size_t limit) : cache_(limit), slots_(slot_count) {}

  void work(rng& random) {
    const std::size_t c = random.below(2);
    std::atomic<unsigned char*>& slot = slots_[c * slot_count / 2 + random.below(slot_count / 2)];
    unsigned char* const old = slot.exchange(make(c, random), std::memory_order_acq_rel);
    if (old) end(old, c);
  }
  void clear() {
    for (std::size_t i = 0; i < slot_count; ++i)
      if (unsigned char* block = slots_[i].exchange(nullptr))
        end(block, i < slot_count / 2 ? 0 : 1);
  }
  block_cache& cache() { return cache_; }
  std::uint64_t broken() const { return broken_.load(); }
  std::uint64_t reused() const { return reused_.load(); }

 private:
  static constexpr std::size_t slot_count = 16;
  static constexpr std::size_t written = 64;

  unsigned char* make(std::size_t c, rng& random) {
    void* block = cache_.take(c);
    if (block)
      reused_.fetch_add(1, std::memory_order_relaxed);
    else
      block = ::operator new(block_size(c), std::align_val_t{64});
    std::memset(block, static_cast<int>(random.below(256)), written);
    return static_cast<unsigned char*>(block);
  }
  void end(unsigned char* block, std::size_t c) {
    for (std::size_t i = 1; i < written; ++i)
      if (block[i] != block[0]) {
        broken_.fetch_add(1);
        break;
      }
    if (!cache_.keep(block, c)) ::operator delete(block, std::align_val_t{64});
  }

  block_cache cache_;
  std::vector<std::atomic<unsigned char*>> slots_;
  std::atomic<std::uint64_t> broken_{0};
  std::atomic<std::uint64_t> reused_{0};
};

TEST(block_cache_stress, blocks_that_threads_exchange_are_one_thread_s_at_a_time) {
  constexpr std::size_t limit = 10 * 2048;
  exchange e{limit};
  e.cache().open();
  std::atomic<std::uint64_t> beyond{0};
  const std::uint64_t each = rota::test::rounds(200'000, 20'000'000);
  rota::test::run_together(3, [&](unsigned index) {
    rng random{rota::test::seed() * 100 + index};
    for (std::uint64_t i = 0; i < each; ++i) {
      e.work(random);
      if (index == 0 && i % 64 == 0) e.cache().trim();
      // A class that asks for room and gets none is counted for a moment.
      if (e.cache().reserved() > limit + 3 * block_size(1)) beyond.fetch_add(1);
    }
  });
  EXPECT_EQ(e.broken(), 0u) << "seed " << rota::test::seed();
  EXPECT_EQ(beyond.load(), 0u);
  EXPECT_GT(e.reused(), each / 10);
  e.cache().close();
  EXPECT_EQ(e.cache().reserved(), 0u);
  e.clear();
  EXPECT_EQ(e.cache().reserved(), 0u);
}

TEST(block_cache_stress, what_is_freed_while_the_last_user_closes_is_not_kept) {
  exchange e{64 * 2304};
  rota::test::run_together(2, [&](unsigned index) {
    rng random{rota::test::seed() * 100 + index};
    for (std::uint64_t i = rota::test::rounds(100'000, 10'000'000); i-- > 0;) {
      if (index == 1) {
        e.work(random);
        continue;
      }
      e.cache().open();
      e.work(random);
      e.cache().close();
    }
  });
  EXPECT_EQ(e.broken(), 0u) << "seed " << rota::test::seed();
  EXPECT_EQ(e.cache().reserved(), 0u);
  e.clear();
}

}  // namespace
