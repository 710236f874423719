// A broken promise shows as a block that is not the one that was freed, as bytes that are kept
// beyond the limit or for too long, or, under AddressSanitizer, as a leak or a second free.

#include <rota/base/block_cache.h>

#include <rota/base/frame_pool.h>

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::block_cache;
using rota::detail::block_class;
using rota::detail::block_size;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// How many of `count` new blocks of the class are kept.
std::size_t fill(block_cache& cache, std::size_t c, std::size_t count) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    void* const block = block_cache::make(c);
    if (cache.keep(block, c))
      ++kept;
    else
      block_cache::end(block, c);
  }
  return kept;
}

TEST(block_cache, a_class_is_large_enough_and_wastes_an_eighth_at_most) {
  const auto check = [](std::size_t size) {
    const std::size_t c = block_class(size);
    ASSERT_LT(c, rota::detail::block_classes);
    ASSERT_GE(block_size(c), size);
    ASSERT_LE(block_size(c) - size, size / 8) << "size " << size;
    ASSERT_EQ(block_class(block_size(c)), c) << "size " << size;
  };
  for (std::size_t size = 2049; size < 70'000; ++size) check(size);
  for (std::size_t size = 70'000; size < 32 * mebibyte; size += 997) check(size);
  for (std::size_t power = 4096; power <= 32 * mebibyte; power *= 2) {
    check(power - 1);
    check(power);
    if (power < 32 * mebibyte) check(power + 1);
  }
}

TEST(block_cache, the_last_block_that_was_kept_is_the_next_of_its_class) {
  block_cache cache{mebibyte};
  cache.open();
  const std::size_t c = block_class(5000);
  void* const first = block_cache::make(c);
  void* const second = block_cache::make(c);
  EXPECT_EQ(cache.take(c), nullptr);
  EXPECT_TRUE(cache.keep(first, c));
  EXPECT_TRUE(cache.keep(second, c));
  EXPECT_EQ(cache.take(c + 1), nullptr) << "a block of another size";
  EXPECT_EQ(cache.take(c), second);
  EXPECT_EQ(cache.take(c), first);
  EXPECT_EQ(cache.take(c), nullptr);
  block_cache::end(first, c);
  block_cache::end(second, c);
}

// Otherwise their first lines would be in the way of each other in every cache.
TEST(block_cache, large_blocks_begin_at_different_places_of_a_page) {
  const std::size_t c = block_class(mebibyte);
  std::vector<void*> blocks;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 32; ++i) {
    blocks.push_back(block_cache::make(c));
    std::memset(blocks.back(), i, block_size(c));
    places.insert(std::bit_cast<std::uintptr_t>(blocks.back()) % 4096);
  }
  EXPECT_EQ(places.size(), 32u);
  for (const std::uintptr_t place : places) EXPECT_EQ(place % rota::detail::block_alignment, 0u);
  for (void* block : blocks) block_cache::end(block, c);
}

TEST(block_cache, no_more_bytes_are_kept_than_the_limit_says) {
  const std::size_t small = block_class(4096);
  const std::size_t large = block_class(mebibyte);
  block_cache cache{8 * mebibyte};
  cache.open();
  EXPECT_EQ(fill(cache, small, 100), 100u);
  EXPECT_EQ(cache.reserved(), 100u * 4096);
  EXPECT_EQ(fill(cache, large, 10), 7u);
  EXPECT_EQ(cache.reserved(), 100u * 4096 + 7 * mebibyte);
  EXPECT_LE(fill(cache, small, 1000), 256u) << "a class has a bounded number";
  EXPECT_LE(cache.reserved(), 8 * mebibyte);
}

TEST(block_cache, what_nobody_took_between_two_trims_is_given_back) {
  const std::size_t c = block_class(mebibyte);
  block_cache cache{100 * mebibyte};
  cache.open();
  ASSERT_EQ(fill(cache, c, 8), 8u);
  cache.trim();
  EXPECT_EQ(cache.reserved(), 8 * mebibyte) << "they have only come";
  std::vector<void*> used;
  for (int i = 0; i < 3; ++i) used.push_back(cache.take(c));
  for (void* block : used) EXPECT_TRUE(cache.keep(block, c));
  cache.trim();
  EXPECT_EQ(cache.reserved(), 3 * mebibyte);
  EXPECT_EQ(cache.take(c), used.back()) << "those that were used stay";
  EXPECT_TRUE(cache.keep(used.back(), c));
  cache.trim();
  EXPECT_EQ(cache.reserved(), mebibyte);
  cache.trim();
  EXPECT_EQ(cache.reserved(), 0u);
  EXPECT_EQ(cache.take(c), nullptr);
}

TEST(block_cache, room_that_is_not_filled_goes_to_others_at_the_next_trim) {
  const std::size_t c = block_class(mebibyte);
  block_cache cache{4 * mebibyte};
  cache.open();
  ASSERT_EQ(fill(cache, c, 4), 4u);
  std::vector<void*> in_use;
  while (void* block = cache.take(c)) in_use.push_back(block);
  EXPECT_EQ(fill(cache, c - 1, 1), 0u);
  cache.trim();
  EXPECT_EQ(fill(cache, c - 1, 1), 1u);
  for (void* block : in_use) block_cache::end(block, c);
}

TEST(block_cache, only_an_open_cache_keeps_blocks) {
  const std::size_t c = block_class(mebibyte);
  block_cache cache{100 * mebibyte};
  EXPECT_EQ(fill(cache, c, 1), 0u);
  cache.open();
  cache.open();
  EXPECT_EQ(fill(cache, c, 5), 5u);
  cache.close();
  EXPECT_EQ(cache.reserved(), 5 * mebibyte) << "somebody still has it open";
  cache.close();
  EXPECT_EQ(cache.reserved(), 0u);
  EXPECT_EQ(cache.take(c), nullptr);
  EXPECT_EQ(fill(cache, c, 1), 0u);
}

// --- the one of the process ---------------------------------------------------------------------

using rota::detail::allocate_frame;
using rota::detail::block_keeper;
using rota::detail::free_frame;
using rota::detail::reserved_for_blocks;

TEST(block_cache, a_block_freed_on_another_thread_is_used_again) {
  const block_keeper keeper;
  for (const std::size_t size : {2049ul, 10'000ul, mebibyte + 40, 32 * mebibyte}) {
    void* const first = allocate_frame(size);
    std::thread{[&] { free_frame(first, size); }}.join();
    // Under sanitizers blocks come from operator new, and go back to it.
    EXPECT_GE(reserved_for_blocks(), rota::test::sanitized ? 0 : size);
    void* const second = allocate_frame(size);
    if (!rota::test::sanitized) {
      EXPECT_EQ(first, second) << "size " << size;
    }
    free_frame(second, size);
  }
}

TEST(block_cache, without_a_keeper_nothing_is_kept) {
  {
    const block_keeper keeper;
    free_frame(allocate_frame(mebibyte), mebibyte);
    EXPECT_EQ(reserved_for_blocks(), rota::test::sanitized ? 0 : mebibyte);
  }
  EXPECT_EQ(reserved_for_blocks(), 0u);
  free_frame(allocate_frame(mebibyte), mebibyte);
  EXPECT_EQ(reserved_for_blocks(), 0u);
}

TEST(block_cache, blocks_are_aligned_and_whole_at_every_size) {
  const block_keeper keeper;
  for (const std::size_t size :
       {2049ul, 4096ul, 4097ul, mebibyte - 1, mebibyte + 1, 32 * mebibyte, 33 * mebibyte}) {
    for (int again = 0; again < 2; ++again) {
      void* const block = allocate_frame(size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % rota::detail::block_alignment, 0u);
      std::memset(block, 0x5a, size);
      free_frame(block, size);
    }
  }
  EXPECT_LE(reserved_for_blocks(), 128 * mebibyte);
}

}  // namespace
