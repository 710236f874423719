// The table is exact: a state is found once inserted, and never taken for another, while several
// threads insert and while it grows.

#include "verify/checker/state_table.h"

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace rota::verify::detail {
namespace {

using state = std::array<word, 2>;

state numbered(std::uint64_t i) { return {i, i * i}; }

TEST(StateTable, FindsWhatWasInsertedAndNothingElse) {
  state_table table{2};
  state_table::writer writer;
  constexpr std::uint64_t count = 20'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto [id, is_new] = table.insert(writer, numbered(i).data(), no_state);
    ASSERT_TRUE(is_new);
    ASSERT_EQ(table.find(numbered(i).data()), id);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_NE(table.find(numbered(i).data()), no_state);
    ASSERT_FALSE(table.insert(writer, numbered(i).data(), no_state).is_new);
    const state other{i, i * i + 1};
    ASSERT_EQ(table.find(other.data()), no_state);
  }
}

TEST(StateTable, KeepsStatesAndWhereTheyCameFromWhileItGrows) {
  state_table table{2};
  state_table::writer writer;
  std::vector<state_id> ids;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    if (table.is_crowded(i)) table.grow();
    const state_id from = ids.empty() ? no_state : ids.back();
    ids.push_back(table.insert(writer, numbered(i).data(), from).id);
  }
  EXPECT_GE(table.capacity(), 300'000u);
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(table.in_use(ids[i]));
    ASSERT_EQ(table.find(numbered(i).data()), ids[i]);
    ASSERT_EQ(table.state(ids[i])[0], i);
    ASSERT_EQ(table.from(ids[i]), i == 0 ? no_state : ids[i - 1]);
  }
}

TEST(StateTable, StatesThatDifferInOneBitAreDifferent) {
  state_table table{2};
  state_table::writer writer;
  for (unsigned bit = 0; bit < 128; ++bit) {
    state s{};
    s[bit / 64] = std::uint64_t{1} << (bit % 64);
    EXPECT_TRUE(table.insert(writer, s.data(), no_state).is_new) << bit;
  }
}

// Each state is offered by every thread, in another order: exactly one may be told that it is new.
TEST(StateTable, OneOfSeveralThreadsInsertsAState) {
  constexpr unsigned threads = 4;
  constexpr std::uint64_t count = 30'000;
  state_table table{2};
  while (table.is_crowded(count + 10)) table.grow();
  std::vector<std::vector<state_id>> ids(threads, std::vector<state_id>(count));
  std::atomic<std::uint64_t> added{0};
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      state_table::writer writer;
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t i = t % 2 ? count - 1 - k : (k + t * 7) % count;
        const auto [id, is_new] = table.insert(writer, numbered(i).data(), no_state);
        ids[t][i] = id;
        added += is_new;
      }
    });
  for (auto& t : all) t.join();
  EXPECT_EQ(added, count);
  std::set<state_id> different;
  for (std::uint64_t i = 0; i < count; ++i) {
    for (unsigned t = 1; t < threads; ++t) ASSERT_EQ(ids[t][i], ids[0][i]);
    different.insert(ids[0][i]);
  }
  EXPECT_EQ(different.size(), count);
  std::uint64_t in_use = 0;
  for (state_id id = 0; id < table.size(); ++id) in_use += table.in_use(id);
  EXPECT_EQ(in_use, count);
}

}  // namespace
}  // namespace rota::verify::detail
