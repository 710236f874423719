// What a waiting task costs. Shows as more bytes a task than docs/guarantees.md says.

#include <rota/rota.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>

namespace {

rota::task<> wait_for(rota::async_event& event) { co_await event.wait(); }

std::uint64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

rota::task<double> bytes_per_parked_task(int count) {
  rota::async_event event;
  const std::uint64_t before = heap_bytes();
  for (int i = 0; i < count; ++i) {
    rota::spawn(wait_for(event));
    if (i % 256 == 0) co_await rota::suspend();
  }
  co_await rota::suspend();
  const std::uint64_t after = heap_bytes();
  event.set();
  co_return static_cast<double>(after - before) / count;
}

TEST(memory, a_task_that_waits_for_an_event_takes_128_bytes) {
#if defined(ROTA_ASAN) || defined(ROTA_TSAN)
  constexpr double limit = 10'000;  // sanitizers have their own allocator; only run it
#elif !defined(__clang__)
  constexpr double limit = 240;  // g++ makes larger frames
#else
  constexpr double limit = 140;  // 128, and what is left of the last chunk and region
#endif
  EXPECT_LE(rota::run(bytes_per_parked_task(100'000), rota::options{}.with_workers(1)), limit);
}

}  // namespace
