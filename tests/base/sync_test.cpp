// A broken promise shows as a hang (a lost futex wake), as a sleep of the wrong length, or as a
// round of the store-buffering test in which neither thread saw the other.

#include <rota/base/sync.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
namespace sync = rota::sync;

// Comes first in this file: what it watches for, under the thread sanitizer, happens only while
// nobody in the process has prepared the fences yet.
TEST(sync, threads_may_prepare_the_fences_at_the_same_time) {
  rota::test::run_together(4, [](unsigned) {
    sync::prepare_fences();
    sync::light_fence();
    sync::heavy_fence();
  });
}

TEST(sync, a_futex_word_is_four_bytes) {
  EXPECT_EQ(sizeof(sync::atomic<std::uint32_t>), sizeof(std::uint32_t));
}

TEST(sync, a_futex_wait_for_another_value_returns_at_once) {
  sync::atomic<std::uint32_t> word{1};
  sync::futex_wait(word, 2);
}

TEST(sync, a_futex_wait_ends_at_its_deadline_and_not_before) {
  sync::atomic<std::uint32_t> word{1};
  for (const auto length : {0us, 300us, 20'000us}) {
    const auto deadline = sync::now() + length;
    while (sync::now() < deadline) sync::futex_wait(word, 1, deadline);
    EXPECT_LT(sync::now() - deadline, 5s);
  }
}

TEST(sync, a_deadline_in_the_past_does_not_sleep) {
  sync::atomic<std::uint32_t> word{1};
  sync::futex_wait(word, 1, sync::now() - 1h);
  sync::futex_wait(word, 1, sync::time_point{});
  sync::futex_wait(word, 1, sync::time_point::min());
}

TEST(sync, a_futex_wake_ends_a_wait) {
  sync::atomic<std::uint32_t> word{0};
  std::thread sleeper{[&] {
    while (word.load(sync::memory_order_acquire) == 0) sync::futex_wait(word, 0);
  }};
  std::this_thread::sleep_for(20ms);
  word.store(1, sync::memory_order_release);
  sync::futex_wake(word);
  sleeper.join();
}

TEST(sync, a_futex_wake_wakes_as_many_as_it_is_told) {
  sync::atomic<std::uint32_t> word{0};
  std::atomic<int> woken{0};
  std::thread sleepers[3];
  for (auto& s : sleepers)
    s = std::thread{[&] {
      // A wake-up for no reason would spoil the count, so the sleeper tells only what it saw.
      while (word.load(sync::memory_order_acquire) == 0) sync::futex_wait(word, 0);
      woken.fetch_add(1);
    }};
  std::this_thread::sleep_for(50ms);
  word.store(1, sync::memory_order_release);
  sync::futex_wake(word, 3);
  for (auto& s : sleepers) s.join();
  EXPECT_EQ(woken.load(), 3);
}

TEST(sync, a_thread_slot_is_null_in_a_new_thread_and_of_each_its_own) {
  int mine = 0;
  sync::thread_slot<int>::set(&mine);
  std::thread{[] {
    EXPECT_EQ(sync::thread_slot<int>::get(), nullptr);
    int theirs = 0;
    sync::thread_slot<int>::set(&theirs);
    EXPECT_EQ(sync::thread_slot<int>::get(), &theirs);
  }}.join();
  EXPECT_EQ(sync::thread_slot<int>::get(), &mine);
  sync::thread_slot<int>::set(nullptr);
}

// Store buffering: two threads store, fence and load what the other stored. At least one of them
// must see the other's store; counts the rounds in which neither did.
template <class FenceA, class FenceB>
std::uint64_t store_buffering(std::uint64_t rounds, FenceA fence_a, FenceB fence_b) {
  struct alignas(128) variable {
    std::atomic<std::uint64_t> value{0};
  };
  variable x, y;
  variable arrived[2];
  std::uint64_t saw[2] = {0, 0};  // each thread's own until both have arrived for the next round
  std::uint64_t violations = 0;

  // Round r stores r, so nothing has to be set back: "saw the other" means "saw at least r".
  const auto play = [&](unsigned me, std::atomic<std::uint64_t>& mine,
                        std::atomic<std::uint64_t>& other, auto fence) {
    rota::detail::rng random{me + 1};
    for (std::uint64_t r = 1; r <= rounds; ++r) {
      arrived[me].value.store(2 * r, std::memory_order_release);
      rota::test::spin_until(
          [&] { return arrived[1 - me].value.load(std::memory_order_acquire) >= 2 * r; });
      rota::test::spin(random.below(4));
      mine.store(r, std::memory_order_relaxed);
      fence();
      saw[me] = other.load(std::memory_order_relaxed);
      arrived[me].value.store(2 * r + 1, std::memory_order_release);
      if (me == 0) {
        rota::test::spin_until(
            [&] { return arrived[1].value.load(std::memory_order_acquire) >= 2 * r + 1; });
        if (saw[0] < r && saw[1] < r) ++violations;
      }
    }
  };
  rota::test::run_together(2, [&](unsigned me) {
    if (me == 0)
      play(0, x.value, y.value, fence_a);
    else
      play(1, y.value, x.value, fence_b);
  });
  return violations;
}

TEST(sync, of_two_threads_with_light_and_heavy_fence_one_sees_the_other) {
  sync::prepare_fences();
  const std::uint64_t rounds = rota::test::rounds(20'000, 20'000'000);
  EXPECT_EQ(store_buffering(
                rounds, [] { sync::light_fence(); }, [] { sync::heavy_fence(); }),
            0u)
      << "in " << rounds << " rounds";
}

TEST(sync, of_two_threads_with_heavy_fences_one_sees_the_other) {
  sync::prepare_fences();
  const std::uint64_t rounds = rota::test::rounds(20'000, 5'000'000);
  EXPECT_EQ(store_buffering(
                rounds, [] { sync::heavy_fence(); }, [] { sync::heavy_fence(); }),
            0u)
      << "in " << rounds << " rounds";
}

// A control of the two above: the same rounds with nothing between store and load. A machine may
// be too busy to show it in a short run, so only a long one insists.
TEST(sync, without_fences_neither_may_see_the_other) {
  const auto nothing = [] { std::atomic_signal_fence(std::memory_order_seq_cst); };
  const std::uint64_t rounds = rota::test::rounds(50'000, 5'000'000);
  const std::uint64_t violations = store_buffering(rounds, nothing, nothing);
  std::printf("without fences: neither saw the other in %llu of %llu rounds\n",
              static_cast<unsigned long long>(violations), static_cast<unsigned long long>(rounds));
  RecordProperty("violations", std::to_string(violations));
  if (rota::test::long_tests()) {
    EXPECT_GT(violations, 0u) << "this harness cannot see store buffering on this machine";
  }
}

TEST(sync, only_two_light_fences_are_too_little_where_they_are_free) {
  sync::prepare_fences();
  if (!rota::real_sync::fences_are_asymmetric) GTEST_SKIP() << "the kernel has no membarrier";
  const auto light = [] { sync::light_fence(); };
  const std::uint64_t rounds = rota::test::rounds(50'000, 5'000'000);
  const std::uint64_t violations = store_buffering(rounds, light, light);
  std::printf("with light fences: neither saw the other in %llu of %llu rounds\n",
              static_cast<unsigned long long>(violations), static_cast<unsigned long long>(rounds));
  if (rota::test::long_tests()) {
    EXPECT_GT(violations, 0u) << "this harness cannot see store buffering on this machine";
  }
}

}  // namespace
