// A broken promise shows as an element that comes from the wrong end, twice or never.

#include <rota/queue/fork_deque.h>

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <vector>

namespace {

using rota::detail::fork_deque;
using rota::detail::rng;

TEST(fork_deque, an_empty_deque_gives_nothing) {
  fork_deque deque;
  int x = 0;
  EXPECT_TRUE(deque.empty());
  EXPECT_EQ(deque.pop_any(), nullptr);
  EXPECT_FALSE(deque.pop(&x));
  EXPECT_EQ(deque.steal(), nullptr);
}

TEST(fork_deque, the_owner_takes_the_youngest) {
  std::vector<int> elements(1000);
  fork_deque deque{2};  // grows many times
  for (int& x : elements) deque.push(&x);
  for (std::size_t i = elements.size(); i-- > 0;) {
    if (i % 2 == 0)
      ASSERT_TRUE(deque.pop(&elements[i])) << i;
    else
      ASSERT_EQ(deque.pop_any(), &elements[i]) << i;
  }
  EXPECT_TRUE(deque.empty());
}

TEST(fork_deque, thieves_take_the_oldest) {
  std::vector<int> elements(1000);
  fork_deque deque{2};
  for (int& x : elements) deque.push(&x);
  for (int& x : elements) ASSERT_EQ(deque.steal(), &x);
  EXPECT_EQ(deque.steal(), nullptr);
  EXPECT_TRUE(deque.empty());
}

TEST(fork_deque, pop_fails_for_an_element_that_was_stolen) {
  int x = 0;
  fork_deque deque;
  deque.push(&x);
  EXPECT_EQ(deque.steal(), &x);
  EXPECT_FALSE(deque.pop(&x));
  EXPECT_EQ(deque.pop_any(), nullptr);
  deque.push(&x);
  EXPECT_TRUE(deque.pop(&x)) << "the deque does not recover from a pop that failed";
}

TEST(fork_deque, pop_leaves_an_element_that_is_not_the_one) {
  int x = 0;
  int y = 0;
  fork_deque deque;
  deque.push(&x);
  EXPECT_FALSE(deque.pop(&y));
  EXPECT_FALSE(deque.empty());
  EXPECT_TRUE(deque.pop(&x));
}

TEST(fork_deque, the_last_element_goes_to_either_end) {
  int x = 0;
  fork_deque deque{2};
  for (int i = 0; i < 1000; ++i) {
    deque.push(&x);
    ASSERT_EQ(i % 3 == 0 ? deque.steal() : deque.pop_any(), &x) << i;
    ASSERT_TRUE(deque.empty());
  }
}

TEST(fork_deque, random_operations_agree_with_a_deque) {
  std::vector<int> elements(64);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    rng random{seed};
    fork_deque deque{std::size_t{1} << random.below(4)};
    std::deque<void*> reference;
    const std::uint64_t pushes = 2 + random.below(7);  // of ten operations
    for (int step = 0; step < 1000; ++step) {
      if (random.below(10) < pushes) {
        void* x = &elements[random.below(elements.size())];
        deque.push(x);
        reference.push_back(x);
        continue;
      }
      switch (random.below(3)) {
        case 0: {
          void* expected = reference.empty() ? nullptr : reference.back();
          if (expected) reference.pop_back();
          ASSERT_EQ(deque.pop_any(), expected) << "seed " << seed << ", step " << step;
          break;
        }
        case 1: {
          void* x = &elements[random.below(elements.size())];
          const bool expected = !reference.empty() && reference.back() == x;
          if (expected) reference.pop_back();
          ASSERT_EQ(deque.pop(x), expected) << "seed " << seed << ", step " << step;
          break;
        }
        default: {
          void* expected = reference.empty() ? nullptr : reference.front();
          if (expected) reference.pop_front();
          ASSERT_EQ(deque.steal(), expected) << "seed " << seed << ", step " << step;
          break;
        }
      }
      ASSERT_EQ(deque.empty(), reference.empty()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
