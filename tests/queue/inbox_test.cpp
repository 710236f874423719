// A broken promise shows as a job out of order, lost or twice.

#include <rota/queue/inbox.h>

#include <gtest/gtest.h>

#include <vector>

namespace {

using rota::detail::inbox;
using rota::detail::job;

TEST(inbox, an_empty_inbox_gives_nothing) {
  inbox box;
  EXPECT_TRUE(box.empty());
  EXPECT_EQ(box.take_all(), nullptr);
}

TEST(inbox, jobs_come_out_in_the_order_in_which_they_were_put) {
  for (std::size_t n = 1; n < 20; ++n) {
    std::vector<job> jobs(n);
    inbox box;
    for (auto& j : jobs) box.put(&j);
    EXPECT_FALSE(box.empty());
    job* j = box.take_all();
    for (auto& expected : jobs) {
      ASSERT_EQ(j, &expected) << n << " jobs";
      j = j->link;
    }
    EXPECT_EQ(j, nullptr);
    EXPECT_TRUE(box.empty());
  }
}

TEST(inbox, taking_leaves_an_inbox_that_can_be_filled_again) {
  inbox box;
  job a, b;
  box.put(&a);
  EXPECT_EQ(box.take_all(), &a);
  EXPECT_EQ(box.take_all(), nullptr);
  box.put(&b);
  box.put(&a);
  job* first = box.take_all();
  ASSERT_EQ(first, &b);
  EXPECT_EQ(first->link, &a);
  EXPECT_EQ(a.link, nullptr) << "a job brought its old neighbour along";
}

}  // namespace
