// A broken promise shows as two frames that overlap, as memory that grows without end, or, under a
// sanitizer, as a race or a bad free.

#include <rota/base/frame_pool.h>

#include <rota/base/rng.h>
#include <rota/base/sync.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "support/stress.h"

namespace {

using rota::detail::allocate_frame;
using rota::detail::free_frame;
using rota::detail::rng;

// Under these every frame comes from operator new, which reuses as it pleases.
constexpr bool pooled = !rota::test::sanitized;

// A frame that is filled with a pattern of its own.
struct filled {
  unsigned char* memory;
  std::size_t size;
  unsigned char pattern;

  static filled make(std::size_t size, std::uint64_t number) {
    filled f{static_cast<unsigned char*>(allocate_frame(size)), size,
             static_cast<unsigned char>(number)};
    std::memset(f.memory, f.pattern, size);
    return f;
  }
  bool is_intact() const {
    return std::all_of(memory, memory + size, [this](unsigned char c) { return c == pattern; });
  }
  void free() const { free_frame(memory, size); }
};

TEST(frame_pool, frames_of_every_size_are_aligned_and_do_not_overlap) {
  std::vector<filled> frames;
  for (std::size_t size = 1; size <= 4096; ++size) {
    frames.push_back(filled::make(size, size));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frames.back().memory) % 16, 0u) << "size " << size;
  }
  for (const filled& f : frames) ASSERT_TRUE(f.is_intact()) << "size " << f.size;
  for (const filled& f : frames) f.free();
}

TEST(frame_pool, a_freed_frame_is_the_next_of_its_size) {
  if (!pooled) GTEST_SKIP() << "frames come from operator new under sanitizers";
  for (std::size_t size = 1; size <= 2048; ++size) {
    void* first = allocate_frame(size);
    free_frame(first, size);
    void* second = allocate_frame(size);
    ASSERT_EQ(first, second) << "size " << size;
    free_frame(second, size);
  }
}

TEST(frame_pool, sizes_of_one_class_share_their_frames) {
  if (!pooled) GTEST_SKIP() << "frames come from operator new under sanitizers";
  void* frame = allocate_frame(33);
  free_frame(frame, 33);
  EXPECT_EQ(allocate_frame(48), frame);
  free_frame(frame, 48);
}

TEST(frame_pool, random_sizes_and_lifetimes_keep_every_frame_intact) {
  rng random{rota::test::seed()};
  std::vector<filled> frames;
  for (int i = 0; i < 200'000; ++i) {
    const bool grow = frames.size() < 64 || (frames.size() < 2000 && random.below(2) == 0);
    if (grow) {
      frames.push_back(
          filled::make(1 + random.below(random.below(4) == 0 ? 4096 : 256), random.next()));
    } else {
      std::swap(frames[random.below(frames.size())], frames.back());
      ASSERT_TRUE(frames.back().is_intact()) << "step " << i;
      frames.back().free();
      frames.pop_back();
    }
  }
  for (const filled& f : frames) f.free();
}

// How many different frames ever existed is what memory grows by.
class frames_seen {
 public:
  void* allocate(std::size_t size) {
    void* frame = allocate_frame(size);
    seen_.insert(frame);
    return frame;
  }
  std::size_t count() const { return seen_.size(); }

 private:
  std::set<void*> seen_;
};

TEST(frame_pool, frames_made_here_and_freed_elsewhere_come_back) {
  if (!pooled) GTEST_SKIP() << "frames come from operator new under sanitizers";
  constexpr std::size_t size = 160;
  constexpr std::size_t at_once = 1000;
  constexpr int times = 200;
  frames_seen seen;
  std::vector<void*> handed;
  std::atomic<int> turn{0};  // even: we make frames; odd: the other frees them
  std::thread other{[&] {
    for (int i = 0; i < times; ++i) {
      rota::test::spin_until([&] { return turn.load() == 2 * i + 1; });
      for (void* frame : handed) free_frame(frame, size);
      turn.store(2 * i + 2);
    }
  }};
  for (int i = 0; i < times; ++i) {
    handed.clear();
    for (std::size_t k = 0; k < at_once; ++k) handed.push_back(seen.allocate(size));
    turn.store(2 * i + 1);
    rota::test::spin_until([&] { return turn.load() == 2 * i + 2; });
  }
  other.join();
  // What is alive, what two magazines may keep, and a chunk that was cut on the way.
  EXPECT_LE(seen.count(), at_once + 2 * 128 * 2 + 64 * 1024 / size);
}

TEST(frame_pool, threads_that_end_leave_their_frames_to_others) {
  if (!pooled) GTEST_SKIP() << "frames come from operator new under sanitizers";
  constexpr std::size_t size = 208;
  constexpr std::size_t at_once = 300;
  frames_seen seen;
  for (int generation = 0; generation < 200; ++generation) {
    std::thread{[&] {
      std::vector<void*> frames;
      for (std::size_t k = 0; k < at_once; ++k) frames.push_back(seen.allocate(size));
      for (void* frame : frames) free_frame(frame, size);
    }}.join();
  }
  EXPECT_LE(seen.count(), at_once + 2 * (64 * 1024 / size));
}

// A magazine is bounded whatever its thread inherited: otherwise generations of threads that free
// what others made would pile frames up in one of them.
TEST(frame_pool, what_a_thread_inherits_does_not_grow_from_generation_to_generation) {
  if (!pooled) GTEST_SKIP() << "frames come from operator new under sanitizers";
  constexpr std::size_t size = 1008;
  constexpr std::size_t at_once = 100;
  frames_seen seen;
  for (int generation = 0; generation < 300; ++generation) {
    std::vector<void*> frames;
    for (std::size_t k = 0; k < at_once; ++k) frames.push_back(seen.allocate(size));
    std::thread{[&] {
      void* own = seen.allocate(size);
      for (void* frame : frames) free_frame(frame, size);
      free_frame(own, size);
    }}.join();
  }
  EXPECT_LE(seen.count(), at_once + 4 * (64 * 1024 / size));
}

TEST(frame_pool, many_threads_exchange_frames_and_none_is_given_out_twice) {
  constexpr unsigned threads = 3;
  const std::uint64_t each = rota::test::rounds(150'000, 15'000'000);
  // Slots in which the threads leave frames for each other. A frame begins with its size.
  constexpr std::size_t slot_count = 256;
  std::vector<std::atomic<unsigned char*>> slots(slot_count);
  std::atomic<std::uint64_t> broken{0};
  const auto release = [&](unsigned char* frame) {
    std::size_t size = 0;
    std::memcpy(&size, frame, sizeof size);
    for (std::size_t i = sizeof size; i < size; ++i)
      if (frame[i] != static_cast<unsigned char>(size)) {
        broken.fetch_add(1);
        break;
      }
    free_frame(frame, size);
  };
  rota::test::run_together(threads, [&](unsigned index) {
    rng random{rota::test::seed() * 100 + index};
    for (std::uint64_t i = 0; i < each; ++i) {
      const std::size_t size = sizeof(std::size_t) + random.below(200);
      auto* frame = static_cast<unsigned char*>(allocate_frame(size));
      std::memcpy(frame, &size, sizeof size);
      std::memset(frame + sizeof size, static_cast<unsigned char>(size), size - sizeof size);
      unsigned char* old =
          slots[random.below(slot_count)].exchange(frame, std::memory_order_acq_rel);
      if (old) release(old);
    }
  });
  for (auto& slot : slots)
    if (unsigned char* frame = slot.load()) release(frame);
  EXPECT_EQ(broken.load(), 0u) << "seed " << rota::test::seed();
}

}  // namespace
