// Every frame is destroyed exactly once, however its task ends, and also when memory runs out. A
// broken promise shows as a count that is not zero, or as a hang.

#include <rota/base/block_cache.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "support/tasks.h"

// The sanitizers bring operators of their own, so there memory does not run out.
#if !defined(ROTA_TSAN) && !defined(ROTA_ASAN)
#define ROTA_TEST_FAILING_MEMORY 1
#endif

// Frames of more than this are not kept for the next: each comes from the operators below.
static constexpr std::size_t large = rota::detail::largest_block;

#ifdef ROTA_TEST_FAILING_MEMORY
namespace {

// Which allocation of a large block fails, counted down; negative: none.
std::atomic<int> failing{-1};
std::atomic<bool> failed{false};
void* allocate(std::size_t size, std::size_t alignment) {
  if (size > large && size < 2 * large && failing >= 0 && failing.fetch_sub(1) == 0) {
    failed = true;
    throw std::bad_alloc{};
  }
  if (void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment))
    return memory;
  throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace {

using namespace std::chrono_literals;
using rota::task;
using rota::test::tracked;

class lifetime : public ::testing::TestWithParam<unsigned> {
 protected:
  static rota::options options() {
    return GetParam() == 0 ? rota::test::strict() : rota::test::with_workers(GetParam());
  }
  void TearDown() override { EXPECT_EQ(tracked::alive, 0); }
};
INSTANTIATE_TEST_SUITE_P(workers, lifetime, ::testing::Values(0u, 1u, 2u, 4u));

task<tracked> ends(tracked) {
  tracked local;
  co_await rota::suspend();
  co_return local;
}

task<> throws(tracked) {
  tracked local;
  co_await rota::suspend();
  throw std::runtime_error("as expected");
}

task<> waits(tracked, rota::async_event& event) {
  tracked local;
  co_await event.wait();
}

TEST_P(lifetime, of_tasks_that_end) {
  auto program = []() -> task<> {
    {
      tracked t = co_await ends({});
      auto joined = rota::spawn(ends({}));
      auto kept = rota::spawn(ends({}));
      rota::spawn(ends({})).detach();
      t = co_await joined;
      while (!kept.done()) co_await rota::suspend();
    }
    auto never_begun = ends({});
  };
  rota::run(program(), options().with_at_exit(rota::at_exit::drain));
}

TEST_P(lifetime, of_tasks_that_throw) {
  auto o = options();
  o.on_unobserved = [](std::exception_ptr, const std::string&) {};
  auto program = []() -> task<> {
    EXPECT_THROW(co_await throws({}), std::runtime_error);
    auto joined = rota::spawn(throws({}));
    rota::spawn(throws({})).detach();
    EXPECT_THROW(co_await joined, std::runtime_error);
    rota::task_group g;
    g.spawn(throws({}));
    g.spawn(throws({}));
    EXPECT_THROW(co_await g.join(), std::runtime_error);
  };
  rota::run(program(), o);
}

TEST_P(lifetime, of_tasks_that_are_stopped) {
  rota::async_event never;
  auto program = [&]() -> task<> {
    auto h = rota::spawn(waits({}, never));
    auto unbegun = rota::spawn(waits({}, never));
    unbegun.request_stop();
    co_await rota::suspend();
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
    EXPECT_THROW(co_await unbegun, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(lifetime, of_tasks_in_a_deadlock) {
  rota::async_event never;
  auto program = [&]() -> task<> {
    tracked local;
    auto h = rota::spawn(waits({}, never));
    rota::task_group g;
    g.spawn(waits({}, never));
    rota::fork_scope forks;
    co_await forks.fork(waits({}, never));
    co_await forks.join();
    co_await g.join();
  };
  EXPECT_THROW(rota::run(program(), options()), rota::deadlock);
}

TEST_P(lifetime, of_tasks_that_the_runtime_outlives) {
  rota::async_event never;
  {
    rota::runtime rt{options()};
    for (int i = 0; i < 10; ++i) rt.spawn(waits({}, never));
  }
}

TEST_P(lifetime, of_messages) {
  auto program = []() -> task<> {
    rota::channel<tracked> ch{3};
    co_await ch.send({});
    co_await ch.send({});
    auto m = co_await ch.receive();
    ch.close();
    const bool sent = co_await ch.send({});
    EXPECT_FALSE(sent);
  };
  rota::run(program(), options());
}

[[gnu::noinline]] void set(char& place) { place = 1; }

// A frame of more than that; nobody touches most of it.
task<int> big(int n) {
  std::array<char, large> room;
  tracked local;
  set(room[static_cast<std::size_t>(n)]);
  co_await rota::suspend();
  co_return room[static_cast<std::size_t>(n)];
}

task<> big_child(int n) {
  const int one = co_await big(n);
  EXPECT_EQ(one, 1);
}

// Everything that makes frames.
task<int> everything() {
  tracked local;
  int sum = co_await big(1);
  auto handle = rota::spawn(big(2));
  sum += co_await handle;
  auto [a, b] = co_await rota::when_all(big(3), big(4));
  auto first = co_await rota::when_any(big(5), big(6));
  sum += a + b + std::visit([](int n) { return n; }, first);
  rota::task_group group;
  group.spawn(big_child(1));
  group.spawn(big_child(2));
  co_await group.join();
  rota::fork_scope forks;
  int c = 0;
  int d = 0;
  co_await forks.fork(c, big(7));
  co_await forks.fork(d, big(8));
  sum += co_await big(9);
  co_await forks.join();
  sum += c + d + co_await rota::with_timeout(10s, big(10));
  co_return sum;
}

#ifdef ROTA_TEST_FAILING_MEMORY
TEST_P(lifetime, of_everything_when_the_nth_allocation_of_a_frame_fails) {
  int n = 0;
  for (;; ++n) {
    ASSERT_LT(n, 100) << "there is no end of failures";
    failed = false;
    try {
      rota::runtime rt{options()};
      failing = n;
      const int sum = rt.run(everything());
      failing = -1;
      EXPECT_EQ(sum, 9);
    } catch (const std::bad_alloc&) {
      EXPECT_TRUE(failed);
    }
    failing = -1;
    EXPECT_EQ(tracked::alive, 0) << "when allocation " << n << " failed";
    if (!failed) break;
  }
  EXPECT_GE(n, 10) << "the frames are not allocated where the test looks";
}
#else
TEST_P(lifetime, of_everything_when_memory_lasts) {
  EXPECT_EQ(rota::run(everything(), options()), 9);
}
#endif

}  // namespace
