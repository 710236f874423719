// A broken promise shows as a number that is out of range, comes too often, or differs from run to
// run.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

namespace {

using rota::detail::rng;

TEST(rng, one_seed_gives_one_sequence) {
  rng a{42};
  rng b{42};
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.next(), b.next()) << "number " << i;
}

TEST(rng, the_sequence_is_that_of_splitmix64) {
  // The first numbers of the generator's reference implementation for the seed 1234567.
  rng r{1234567};
  EXPECT_EQ(r.next(), 6457827717110365317u);
  EXPECT_EQ(r.next(), 3203168211198807973u);
  EXPECT_EQ(r.next(), 9817491932198370423u);
}

TEST(rng, can_be_used_at_compile_time) {
  constexpr std::uint64_t first = rng{7}.next();
  rng r{7};
  EXPECT_EQ(r.next(), first);
}

TEST(rng, neighbouring_seeds_have_nothing_in_common) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    rng r{seed};
    for (int i = 0; i < 100; ++i) seen.insert(r.next());
  }
  EXPECT_EQ(seen.size(), 10'000u);
}

TEST(rng, below_stays_below) {
  rng r{1};
  for (std::uint64_t bound = 1; bound < 300; ++bound)
    for (int i = 0; i < 100; ++i) ASSERT_LT(r.below(bound), bound);
}

TEST(rng, below_reaches_every_number_about_equally_often) {
  constexpr int draws = 100'000;
  std::array<int, 10> count{};
  rng r{1};
  for (int i = 0; i < draws; ++i) ++count[r.below(count.size())];
  for (std::size_t i = 0; i < count.size(); ++i) {
    // Ten standard deviations (95 draws each) around the mean.
    EXPECT_NEAR(count[i], draws / 10, 950) << "number " << i;
  }
}

}  // namespace
