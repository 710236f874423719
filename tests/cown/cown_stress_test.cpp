// Random behaviours over random cowns, from several threads and from each other: readers, batches,
// coroutines, early releases, exceptions, tasks that ask for admission, pressure, cowns that come
// and go. Watched: who has a cown, by a note in the value that a second writer or a reader beside a
// writer would find (and ThreadSanitizer by a plain counter); that every behaviour runs once; and
// that everybody is free in the end. A failure prints its seed; ROTA_TEST_SEED chooses the first.

#include <rota/base/rng.h>
#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/stress.h"

namespace {

using rota::cown_ptr;
using rota::each;
using rota::make_cown;
using rota::read;
using rota::runtime;
using rota::task;
using rota::weak_cown_ptr;
using rota::when;
using rota::detail::rng;

constexpr std::size_t cown_count = 8;

std::atomic<int> broken{0};

// Relaxed everywhere, so that the notes themselves order nothing.
class value {
 public:
  std::uint64_t writes = 0;  // plain: a race would lose some

  void begin_write() {
    if (inside_.exchange(-1, std::memory_order_relaxed) != 0) ++broken;
  }
  void end_write() {
    ++writes;
    if (inside_.exchange(0, std::memory_order_relaxed) != -1) ++broken;
  }
  void begin_read() const {
    if (inside_.fetch_add(1, std::memory_order_relaxed) < 0) ++broken;
    seen_ = writes;
  }
  void end_read() const {
    if (inside_.fetch_sub(1, std::memory_order_relaxed) < 1) ++broken;
    (void)seen_;
  }

 private:
  mutable std::atomic<int> inside_{0};  // readers, or -1
  mutable std::atomic<std::uint64_t> seen_{0};
};

struct failure : std::exception {};

struct world {
  std::vector<cown_ptr<value>> cowns;
  std::vector<weak_cown_ptr<value>> weak;
  std::array<std::atomic<std::uint64_t>, cown_count> expected{};
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> ran{0};
  std::atomic<std::uint64_t> muted{0};  // how often somebody was seen muted
  runtime* rt = nullptr;

  explicit world(std::uint32_t threshold) {
    for (std::size_t i = 0; i < cown_count; ++i) {
      cowns.push_back(make_cown<value>());
      cowns.back().set_threshold(threshold);
      weak.emplace_back(cowns.back());
    }
  }

  void act(rng& random, int depth);

 private:
  struct job;
  void one(rng& random, int depth);
  void batch(rng& random, int depth);
  void ask(rng& random);
  void pass(rng& random);
};

// Which cowns, and what to do with them.
struct world::job {
  world* w;
  std::uint64_t seed;
  int depth;
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;

  job(world& in, rng& random, int d) : w(&in), seed(random.next()), depth(d) {
    std::array<std::size_t, cown_count> order{};
    for (std::size_t i = 0; i < cown_count; ++i) order[i] = i;
    const std::size_t count = 1 + random.below(random.below(4) == 0 ? cown_count : 3);
    for (std::size_t i = 0; i < count; ++i) {
      std::swap(order[i], order[i + random.below(cown_count - i)]);
      (random.below(3) == 0 ? reads : writes).push_back(order[i]);
    }
    ++w->sent;
    for (std::size_t i : writes) ++w->expected[i];
  }

  std::vector<cown_ptr<value>> named(const std::vector<std::size_t>& which) const {
    std::vector<cown_ptr<value>> all;
    for (std::size_t i : which) all.push_back(w->weak[i].lock());
    return all;
  }

  void begin(each<const value> r, each<value> x) const {
    for (const value& v : r) v.begin_read();
    for (value& v : x) v.begin_write();
  }
  // Gives some back early, ends the rest, sends on, and sometimes fails.
  void end(each<const value> r, each<value> x) const {
    rng random{seed};
    const bool early = random.below(4) == 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      r[i].end_read();
      if (early && random.below(2)) rota::release(w->cowns[reads[i]]);
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i].end_write();
      if (early && random.below(2)) rota::release(w->cowns[writes[i]]);
    }
    w->muted.fetch_add(w->cowns[random.below(cown_count)].counters().muted,
                       std::memory_order_relaxed);
    for (std::uint64_t n = random.below(3); depth > 0 && n > 0; --n) w->act(random, depth - 1);
    ++w->ran;
    if (random.below(8) == 0) throw failure{};
  }
};

void world::one(rng& random, int depth) {
  job j{*this, random, depth};
  const auto r = j.named(j.reads);
  const auto x = j.named(j.writes);
  if (random.below(4) == 0) {
    when(*rt, read(r), x) << [j](each<const value> rs, each<value> xs) -> task<> {
      j.begin(rs, xs);
      co_await rota::suspend();
      j.end(rs, xs);
    };
  } else if (x.size() == 1 && r.empty()) {
    // The path of those who name one cown.
    when(*rt, x[0]) << [j](value& v) {
      v.begin_write();
      v.end_write();
      j.end(each<const value>{{}}, each<value>{{}});
    };
  } else if (random.below(2)) {
    rota::when_result<int> result = when(*rt, read(r), x)
                                    << [j](each<const value> rs, each<value> xs) {
                                         j.begin(rs, xs);
                                         j.end(rs, xs);
                                         return 1;
                                       };
  } else {
    when(*rt, x, read(r)) << [j](each<value> xs, each<const value> rs) {
      j.begin(rs, xs);
      j.end(rs, xs);
    };
  }
}

void world::batch(rng& random, int depth) {
  rota::batch all;
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    job j{*this, random, depth};
    all += when(*rt, read(j.named(j.reads)), j.named(j.writes))
           << [j](each<const value> rs, each<value> xs) {
                j.begin(rs, xs);
                j.end(rs, xs);
              };
  }
}

// A task that sends when there is room.
void world::ask(rng& random) {
  const std::size_t at = random.below(cown_count);
  ++sent;
  ++expected[at];
  const auto body = [](world* w, std::size_t which) -> task<> {
    co_await rota::admit(w->cowns[which]);
    co_await (when(w->cowns[which]) << [w](value& v) {
      v.begin_write();
      v.end_write();
      ++w->ran;
    });
  };
  rt->spawn(body(this, at)).detach();
}

// A cown that lives as long as somebody wants it.
void world::pass(rng& random) {
  const std::size_t at = random.below(cown_count);
  auto brief = make_cown<value>();
  ++sent;
  ++expected[at];
  when(*rt, brief, cowns[at]) << [this](value& b, value& v) {
    b.begin_write();
    v.begin_write();
    b.end_write();
    v.end_write();
    ++ran;
  };
}

void world::act(rng& random, int depth) {
  switch (random.below(8)) {
    case 0:
    case 1:
      return batch(random, depth);
    case 2:
      return ask(random);
    case 3:
      return pass(random);
    default:
      return one(random, depth);
  }
}

struct tally {
  std::uint64_t ran = 0;
  std::uint64_t muted = 0;
};

tally run_world(std::uint64_t seed, unsigned workers, unsigned threads, std::uint32_t threshold) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", workers " + std::to_string(workers) +
               ", threshold " + std::to_string(threshold));
  world w{threshold};
  std::atomic<int> unexpected{0};
  auto o = rota::options{}.with_workers(workers);
  o.on_unobserved = [&](std::exception_ptr error, const std::string&) {
    try {
      std::rethrow_exception(error);
    } catch (const failure&) {
    } catch (...) {
      ++unexpected;
    }
  };
  runtime rt{o};
  w.rt = &rt;
  rota::test::watchdog dog{
      "behaviours run", [&] { return w.ran.load(); },
      [&] {
        std::fprintf(stderr, "seed %llu: ran %llu of %llu\n%s\n",
                     static_cast<unsigned long long>(seed),
                     static_cast<unsigned long long>(w.ran.load()),
                     static_cast<unsigned long long>(w.sent.load()), rt.dump().c_str());
        for (auto& c : w.cowns) {
          const auto n = c.counters();
          std::fprintf(stderr, "pending %u%s%s\n", n.pending, n.muted ? ", muted" : "",
                       n.overloaded ? ", overloaded" : "");
        }
      }};
  rota::test::run_together(threads, [&](unsigned index) {
    rng random{seed * 100 + index};
    for (int i = 0; i < 40; ++i) {
      std::optional<rota::pressure> full;
      if (random.below(8) == 0) full.emplace(rt, w.cowns[random.below(cown_count)]);
      w.act(random, 3);
    }
  });
  rt.quiesce();
  EXPECT_EQ(broken, 0) << "somebody had a cown that another wrote";
  EXPECT_EQ(unexpected, 0);
  EXPECT_EQ(w.ran, w.sent);
  for (std::size_t i = 0; i < cown_count; ++i) {
    const rota::cown_counters n = w.cowns[i].counters();
    EXPECT_EQ(w.cowns[i].unguarded().writes, w.expected[i]);
    EXPECT_EQ(n.pending, 0u);
    EXPECT_FALSE(n.muted);
    EXPECT_FALSE(n.overloaded);
  }
  return {w.ran, w.muted};
}

TEST(cown_stress, alone_first) { EXPECT_GT(run_world(rota::test::seed(), 1, 1, 64).ran, 40u); }

TEST(cown_stress, random_behaviours_on_random_cowns) {
  constexpr std::uint32_t thresholds[] = {0, 1, 2, 64};
  const std::uint64_t rounds = rota::test::rounds(120, 20'000);
  tally all;
  for (std::uint64_t i = 0; i < rounds && !testing::Test::HasFailure(); ++i) {
    const tally t = run_world(rota::test::seed() + i, static_cast<unsigned>(2 + i % 3),
                              static_cast<unsigned>(1 + i % 4), thresholds[i % 4]);
    all.ran += t.ran;
    all.muted += t.muted;
  }
  std::printf("%llu behaviours, %llu met a muted cown\n", static_cast<unsigned long long>(all.ran),
              static_cast<unsigned long long>(all.muted));
  EXPECT_GT(all.muted, 0u);
}

}  // namespace
