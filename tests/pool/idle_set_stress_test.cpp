// Watches that no two wakers choose one sleeper, and that a sleeper leaves the set exactly once for
// each time that it entered: by itself or by a waker. Each worker has a word that says whether it
// is in the set; who takes it out must find it in. At the end the searchers must be none.

#include <rota/base/rng.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pool/idle_set.h"
#include "support/stress.h"

namespace {

using rota::detail::idle_set;
using rota::detail::rng;
using rota::test::spin;

struct alignas(64) sleeper {
  // How often a waker has chosen this worker and not been answered yet.
  std::atomic<int> chosen{0};
};

// Two threads play several workers each, two threads wake.
void nobody_is_chosen_twice(unsigned workers, std::uint64_t rounds) {
  idle_set set{workers};
  std::vector<sleeper> sleepers(workers);
  std::atomic<unsigned> playing{2};
  std::atomic<std::uint64_t> twice{0};
  std::atomic<std::uint64_t> woken{0};
  std::atomic<std::uint64_t> progress{0};
  rota::test::watchdog dog{"a worker waits for the waker that took it out",
                           [&] { return progress.load(); }, [] {}};

  const auto work = [&](unsigned me) {
    rng random{rota::test::seed() * 10 + me};
    // Which of our workers are in the set, as far as we know.
    std::vector<unsigned> mine;
    for (unsigned w = me; w < workers; w += 2) mine.push_back(w);
    std::vector<bool> inside(workers, false);
    const auto get_out = [&](unsigned w) {
      if (set.leave(w)) {
        // We left by ourselves, so no waker may have chosen us.
        if (sleepers[w].chosen.load() != 0) twice.fetch_add(1);
      } else {
        rota::test::spin_until([&] { return sleepers[w].chosen.load() != 0; });
        if (sleepers[w].chosen.exchange(0) != 1) twice.fetch_add(1);
        set.end_search(w);
      }
      inside[w] = false;
    };
    // On a busy machine the wakers may come late: goes on until they were there.
    for (std::uint64_t i = 0; i < rounds || woken.load() == 0; ++i) {
      const unsigned w = mine[random.below(mine.size())];
      if (inside[w]) {
        get_out(w);
      } else {
        const bool searching = random.below(2) == 0 && set.begin_search(w);
        set.enter(w, searching);
        inside[w] = true;
      }
      if (random.below(4) == 0) spin(random.below(20));
      progress.fetch_add(1, std::memory_order_relaxed);
    }
    for (const unsigned w : mine)
      if (inside[w]) get_out(w);
    playing.fetch_sub(1);
  };
  const auto wake = [&](unsigned me) {
    rng random{rota::test::seed() * 10 + me};
    while (playing.load() != 0) {
      const auto waker = static_cast<unsigned>(random.below(workers + 1));
      const unsigned c = set.choose(waker == workers ? idle_set::nobody : waker,
                                    static_cast<unsigned>(random.below(workers)));
      if (c != idle_set::nobody) {
        if (sleepers[c].chosen.fetch_add(1) != 0) twice.fetch_add(1);
        woken.fetch_add(1, std::memory_order_relaxed);
      }
      spin(random.below(10));
    }
  };
  rota::test::run_together(4, [&](unsigned index) { index < 2 ? work(index) : wake(index); });

  EXPECT_EQ(twice.load(), 0u) << "seed " << rota::test::seed();
  EXPECT_FALSE(set.any());
  // Nobody is left over as a searcher: a sleeper is worth waking again, in each group.
  for (unsigned w = 0; w < workers; ++w) {
    set.enter(w, false);
    EXPECT_EQ(set.choose(w, idle_set::nobody), w);
    EXPECT_TRUE(set.end_search(w));
  }
}

TEST(idle_set_stress, no_two_wakers_choose_one_sleeper_of_two) {
  nobody_is_chosen_twice(2, rota::test::rounds(300'000, 30'000'000));
}

TEST(idle_set_stress, no_two_wakers_choose_one_sleeper_of_seven) {
  nobody_is_chosen_twice(7, rota::test::rounds(300'000, 30'000'000));
}

TEST(idle_set_stress, no_two_wakers_choose_one_sleeper_of_more_than_one_word) {
  nobody_is_chosen_twice(130, rota::test::rounds(300'000, 30'000'000));
}

}  // namespace
