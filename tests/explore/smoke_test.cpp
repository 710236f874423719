#include <rota/verify/explore/explore.h>

#include <gtest/gtest.h>

namespace {

namespace explore = rota::explore;

TEST(explore, publishing_without_release_is_a_race) {
  const auto result = explore::run([] {
    explore::atomic<int> flag{0};
    explore::cell<int> data{0};
    explore::thread writer([&] {
      data.set(42);
      flag.store(1, std::memory_order_relaxed);
    });
    if (flag.load(std::memory_order_acquire) == 1)
      explore::check(data.get() == 42, "data is there");
    writer.join();
  });
  ASSERT_TRUE(result.failed) << result.text();
  EXPECT_EQ(result.failure->kind, explore::failure_kind::data_race) << result.text();
}

}  // namespace
