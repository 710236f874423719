// A broken promise shows as a sleeper that is chosen twice, never, or while somebody searches.

#include "pool/idle_set.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using rota::detail::idle_set;
constexpr unsigned nobody = idle_set::nobody;

// Chooses somebody, who finds nothing to do and stops searching.
unsigned choose_in_vain(idle_set& set, unsigned waker, unsigned last_choice) {
  const unsigned chosen = set.choose(waker, last_choice);
  EXPECT_TRUE(chosen == nobody || set.end_search(chosen));
  return chosen;
}

TEST(idle_set, an_empty_set_has_nobody_to_choose) {
  idle_set set{4};
  EXPECT_FALSE(set.any());
  EXPECT_FALSE(set.all());
  EXPECT_FALSE(set.worth_waking());
  EXPECT_EQ(set.choose(nobody, nobody), nobody);
  EXPECT_EQ(choose_in_vain(set, 0, nobody), nobody);
}

TEST(idle_set, a_sleeper_is_chosen_once) {
  idle_set set{4};
  set.enter(2, false);
  EXPECT_TRUE(set.worth_waking());
  EXPECT_EQ(set.choose(nobody, nobody), 2u);
  EXPECT_EQ(choose_in_vain(set, nobody, nobody), nobody);
  EXPECT_FALSE(set.leave(2)) << "the waker took it out already";
}

TEST(idle_set, who_leaves_by_itself_is_not_chosen) {
  idle_set set{4};
  set.enter(1, false);
  EXPECT_TRUE(set.leave(1));
  EXPECT_EQ(choose_in_vain(set, nobody, nobody), nobody);
}

TEST(idle_set, nobody_is_woken_while_somebody_searches) {
  idle_set set{4};
  set.enter(0, false);
  set.enter(1, false);
  EXPECT_EQ(set.choose(nobody, nobody), 0u);  // now counts as a searcher
  EXPECT_FALSE(set.worth_waking());
  EXPECT_EQ(set.choose(nobody, nobody), nobody);
  ASSERT_TRUE(set.begin_search(2));
  EXPECT_FALSE(set.end_search(0));
  EXPECT_TRUE(set.end_search(2)) << "the last searcher has to look whether more is there";
  EXPECT_EQ(set.choose(nobody, nobody), 1u);
}

TEST(idle_set, entering_ends_the_search_in_the_same_step) {
  idle_set set{2};
  ASSERT_TRUE(set.begin_search(0));
  set.enter(1, false);
  EXPECT_FALSE(set.worth_waking());
  set.enter(0, true);
  EXPECT_TRUE(set.worth_waking());
  EXPECT_TRUE(set.all());
  EXPECT_EQ(set.choose(nobody, nobody), 0u);
}

TEST(idle_set, at_most_half_of_the_workers_search) {
  for (unsigned n = 1; n <= 9; ++n) {
    idle_set set{n};
    unsigned searching = 0;
    for (unsigned i = 0; i < n; ++i) searching += set.begin_search(i);
    EXPECT_EQ(searching, (n + 1) / 2) << n << " workers";
  }
}

TEST(idle_set, a_waker_prefers_its_children) {
  idle_set set{16};
  for (unsigned i = 0; i < 16; ++i)
    if (i != 3) set.enter(i, false);
  EXPECT_EQ(choose_in_vain(set, 3, nobody), 7u);
  EXPECT_EQ(choose_in_vain(set, 3, nobody), 8u);
  EXPECT_EQ(choose_in_vain(set, 3, nobody), 0u) << "without children anybody will do";
}

TEST(idle_set, the_last_choice_is_taken_only_if_there_is_no_other) {
  idle_set set{4};
  set.enter(0, false);
  set.enter(3, false);
  EXPECT_EQ(choose_in_vain(set, nobody, 0), 3u);
  EXPECT_EQ(choose_in_vain(set, nobody, 0), 0u);
}

TEST(idle_set, departures_count_everybody_who_left_also_who_was_taken_out) {
  idle_set set{3};
  const auto before = set.departures();
  set.enter(0, false);
  set.enter(1, false);
  EXPECT_EQ(set.departures(), before);
  choose_in_vain(set, nobody, nobody);
  EXPECT_EQ(set.departures(), before) << "who was taken out counts itself";
  EXPECT_FALSE(set.leave(0));
  EXPECT_EQ(set.departures(), before + 1);
  EXPECT_TRUE(set.leave(1));
  EXPECT_EQ(set.departures(), before + 2);
}

class idle_sets : public testing::TestWithParam<unsigned> {};

TEST_P(idle_sets, all_are_in_the_set_when_each_has_entered) {
  const unsigned n = GetParam();
  idle_set set{n};
  for (unsigned i = 0; i < n; ++i) {
    EXPECT_FALSE(set.all()) << i << " of " << n;
    set.enter(i, false);
    EXPECT_TRUE(set.any());
  }
  EXPECT_TRUE(set.all());
  EXPECT_TRUE(set.leave(n - 1));
  EXPECT_FALSE(set.all());
}

TEST_P(idle_sets, everybody_is_chosen_once_whoever_wakes) {
  const unsigned n = GetParam();
  for (const unsigned waker : {nobody, 0u, n / 2, n - 1}) {
    idle_set set{n};
    for (unsigned i = 0; i < n; ++i) set.enter(i, false);
    std::set<unsigned> chosen;
    for (unsigned i = 0; i < n; ++i) {
      EXPECT_TRUE(set.any());
      const unsigned c = choose_in_vain(set, waker, n - 1);
      ASSERT_LT(c, n);
      ASSERT_TRUE(chosen.insert(c).second) << c << " was chosen twice";
    }
    EXPECT_EQ(choose_in_vain(set, waker, nobody), nobody);
    EXPECT_FALSE(set.any());
  }
}

TEST_P(idle_sets, a_lonely_sleeper_is_found_wherever_it_is) {
  const unsigned n = GetParam();
  idle_set set{n};
  for (unsigned i = 0; i < n; ++i) {
    set.enter(i, false);
    ASSERT_TRUE(set.worth_waking()) << i;
    ASSERT_EQ(set.choose(0, nobody), i);
    ASSERT_TRUE(set.end_search(i)) << i;
  }
}

// A word holds 56 workers.
INSTANTIATE_TEST_SUITE_P(sizes, idle_sets,
                         testing::Values(1u, 2u, 3u, 55u, 56u, 57u, 63u, 64u, 65u, 112u, 113u,
                                         200u));

}  // namespace
