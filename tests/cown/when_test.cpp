// Behaviours do what when.h says: they have their cowns, their results arrive, and their order is
// as promised. A broken promise shows as a wrong value or order, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cown/cowns.h"

namespace {

using rota::async_event;
using rota::cown_ptr;
using rota::each;
using rota::make_cown;
using rota::read;
using rota::runtime;
using rota::task;
using rota::when;
using rota::when_result;
using rota::test::hold;
using rota::test::sorted_cowns;

using text = std::string;
using list = std::vector<int>;

class when_runs : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_runs, ::testing::Values(0u, 1u, 2u, 4u));

// --- what a behaviour gets -----------------------------------------------------------------------

TEST_P(when_runs, each_behaviour_once_with_its_cown) {
  auto c = make_cown<int>(1);
  runtime rt{options()};
  for (int i = 0; i < 100; ++i) when(rt, c) << [](int& x) { x += 2; };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 201);
  EXPECT_EQ(c.counters().pending, 0u);
  EXPECT_EQ(c.counters().passed, 100u);
}

TEST_P(when_runs, a_behaviour_without_cowns) {
  std::atomic<int> ran{0};
  runtime rt{options()};
  when(rt) << [&] { ++ran; };
  when(rt, std::vector<cown_ptr<int>>{}) << [&](each<int> none) { ran += none.empty(); };
  rt.quiesce();
  EXPECT_EQ(ran, 2);
}

TEST_P(when_runs, with_values_in_the_order_they_are_named) {
  std::vector<cown_ptr<text>> all;
  for (const char* word : {"a", "b", "c", "d", "e"}) all.push_back(make_cown<text>(word));
  std::vector<text> seen;
  runtime rt{options()};
  when(rt, all[3], all[0], all[4], all[1], all[2])
      << [&](text& d, text& a, text& e, text& b, text& c) { seen = {d, a, e, b, c}; };
  rt.quiesce();
  EXPECT_EQ(seen, (std::vector<text>{"d", "a", "e", "b", "c"}));
}

TEST_P(when_runs, with_a_cown_that_is_named_twice) {
  auto c = make_cown<int>(1);
  auto d = make_cown<int>(5);
  std::vector<cown_ptr<int>> twice{c, d, c};
  runtime rt{options()};
  when(rt, c, d, c, read(c)) << [](int& x, int& y, int& again, const int& seen) {
    x += 10;
    again += seen + y;
  };
  when(rt, twice, c) << [](each<int> all, int& x) { x += all[0] + all[1] + all[2]; };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 27 + 27 + 5 + 27);
}

TEST_P(when_runs, with_ranges_of_cowns) {
  std::vector<cown_ptr<int>> all;
  for (int i = 0; i < 50; ++i) all.push_back(make_cown<int>(i));
  const std::set<cown_ptr<int>> some{all.begin(), all.begin() + 10};
  const std::array<cown_ptr<int>, 2> two{all[20], all[21]};
  auto sum = make_cown<int>(0);
  runtime rt{options()};
  when(rt, all) << [](each<int> values) {
    for (int& v : values) v *= 2;
  };
  when(rt, read(all), sum) << [](each<const int> values, int& s) {
    for (int v : values) s += v;
  };
  rt.quiesce();
  when(rt, some, two) << [](each<int> first, each<int> second) {
    for (int& v : first) v = -1;
    second[1] = static_cast<int>(first.size() + second.size());
  };
  rt.quiesce();
  EXPECT_EQ(sum.unguarded(), 50 * 49);
  EXPECT_EQ(all[9].unguarded(), -1);
  EXPECT_EQ(all[10].unguarded(), 20);
  EXPECT_EQ(all[21].unguarded(), 12);
}

TEST_P(when_runs, functions_and_values_that_can_only_be_moved) {
  auto c = make_cown<std::unique_ptr<int>>(std::make_unique<int>(3));
  const auto program = [&]() -> task<int> {
    auto brought = std::make_unique<int>(4);
    // Named first, for g++ 12 (docs/compilers.md).
    auto add = [brought = std::move(brought)](std::unique_ptr<int>& x) {
      return std::make_unique<int>(*x + *brought);
    };
    std::unique_ptr<int> sum = co_await (when(c) << std::move(add));
    co_return *sum;
  };
  runtime rt{options()};
  EXPECT_EQ(rt.run(program()), 7);
}

TEST_P(when_runs, values_that_are_aligned_or_large) {
  struct alignas(128) wide {
    std::array<char, 1000> bytes{};
    bool aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 128 == 0; }
  };
  auto c = make_cown<wide>();
  bool aligned = false;
  const std::array<char, 5000> much{'x'};  // more than a block of the pool
  runtime rt{options()};
  when(rt, c) << [&aligned, much](wide& w) {
    aligned = w.aligned();
    w.bytes[999] = much[0];
  };
  rt.quiesce();
  EXPECT_TRUE(aligned);
  EXPECT_EQ(c.unguarded().bytes[999], 'x');
}

TEST_P(when_runs, what_behaviours_send) {
  struct chain {
    cown_ptr<int> me;
    void operator()(int& n) const {
      if (++n < 1000) when(me) << *this;
    }
  };
  auto c = make_cown<int>(0);
  runtime rt{options()};
  when(rt, c) << chain{c};
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 1000);
}

TEST_P(when_runs, what_other_threads_send_one_at_a_time) {
  // Not atomic: two behaviours at once would lose some, and ThreadSanitizer sees them.
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  runtime rt{options()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        when(rt, a) << [](int& x) { ++x; };
        when(rt, a, b) << [](int& x, int& y) { ++x, ++y; };
        when(rt, b) << [](int& y) { ++y; };
      }
    });
  for (auto& t : threads) t.join();
  rt.quiesce();
  EXPECT_EQ(a.unguarded(), 3000);
  EXPECT_EQ(b.unguarded(), 3000);
}

// --- results -------------------------------------------------------------------------------------

class when_result_of : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_result_of, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_result_of, a_behaviour_is_awaited) {
  auto c = make_cown<int>(41);
  const auto program = [&]() -> task<int> {
    co_return co_await (when(c) << [](int& x) { return ++x; });
  };
  runtime rt{options()};
  EXPECT_EQ(rt.run(program()), 42);
}

TEST_P(when_result_of, a_behaviour_comes_when_its_cowns_are_given_back) {
  auto a = make_cown<int>();
  auto b = make_cown<int>();
  int still_held = 0;
  const auto program = [&]() -> task<> {
    for (int i = 0; i < 300; ++i) {
      co_await (when(a, read(b)) << [](int&, const int&) {});
      still_held += a.counters().pending + b.counters().pending != 0;
    }
  };
  runtime rt{options()};
  rt.run(program());
  EXPECT_EQ(still_held, 0);
}

TEST_P(when_result_of, an_exception_is_kept_and_the_cowns_are_released) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  const auto program = [&]() -> task<text> {
    text seen;
    when_result<> r = when(a, read(b)) << [](int&, const int&) { throw std::runtime_error("no"); };
    try {
      co_await r;
    } catch (const std::runtime_error& e) {
      seen = e.what();
    }
    co_await (when(b, a) << [](int& x, int& y) { x = y = 7; });
    co_return seen;
  };
  runtime rt{options()};
  EXPECT_EQ(rt.run(program()), "no");
  EXPECT_EQ(a.unguarded(), 7);
}

TEST_P(when_result_of, an_exception_that_nobody_awaits_is_reported_with_a_name) {
  std::mutex mutex;
  std::vector<text> reports;
  auto o = options();
  o.on_unobserved = [&](std::exception_ptr error, const text& who) {
    std::lock_guard guard{mutex};
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      reports.push_back(who + ": " + e.what());
    }
  };
  auto c = make_cown<int>(0);
  {
    runtime rt{o};
    when(rt, c) << [](int&) { throw std::runtime_error("first"); };
    // The handle is gone before the end, and after it.
    {
      when_result<> r = when(rt, c) << [](int&) { throw std::runtime_error("second"); };
    }
    rt.quiesce();
    when(rt, c) << [](int& x) -> task<> {
      co_await rota::suspend();
      ++x;
      throw std::runtime_error("third");
    };
    (when(rt, c) << [](int&) { throw std::runtime_error("fourth"); }) + (when(rt) << [] {});
    rt.quiesce();
  }
  ASSERT_EQ(reports.size(), 4u);
  const char* const expected[] = {"first", "second", "third", "fourth"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(reports[i].find("behaviour "), text::npos) << reports[i];
    EXPECT_NE(reports[i].find(expected[i]), text::npos) << reports[i];
  }
  EXPECT_EQ(c.unguarded(), 1);
}

// ... also if the handle goes last, on a thread that is none of the runtime's.
TEST_P(when_result_of, an_exception_is_reported_where_its_handle_is_dropped) {
  std::vector<text> reports;
  auto o = options();
  o.on_unobserved = [&](std::exception_ptr, const text& who) { reports.push_back(who); };
  when_result<> late;
  {
    runtime rt{o};
    when_result<> r = when(rt) << [] { throw std::runtime_error("in time"); };
    late = when(rt) << [] { throw std::runtime_error("too late"); };
    rt.quiesce();
    EXPECT_EQ(reports.size(), 0u);
    r = {};
    EXPECT_EQ(reports.size(), 1u);
  }
  ::testing::internal::CaptureStderr();
  late = {};
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("too late"), text::npos);
  EXPECT_EQ(reports.size(), 1u) << "who is told may be gone with the runtime";
}

TEST_P(when_result_of, a_behaviour_may_be_dropped_and_it_runs_all_the_same) {
  auto c = make_cown<int>(0);
  runtime rt{options()};
  for (int i = 0; i < 100; ++i) {
    when_result<text> r = when(rt, c) << [](int& x) { return std::to_string(++x); };
    EXPECT_TRUE(r);
  }
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 100);
}

TEST_P(when_result_of, a_behaviour_says_whether_it_is_done) {
  async_event open;
  auto c = make_cown<int>(0);
  runtime rt{options()};
  hold(rt, c, open);
  when_result<> r = when(rt, c) << [](int&) {};
  rt.quiesce();
  EXPECT_FALSE(r.done());
  open.set();
  rt.quiesce();
  EXPECT_TRUE(r.done());
}

TEST_P(when_result_of, a_request_that_is_kept_comes_at_the_end_of_its_scope_or_when_told) {
  auto c = make_cown<list>();
  runtime rt{options()};
  {
    auto late = when(rt, c) << [](list& l) { l.push_back(3); };
    auto early = when(rt, c) << [](list& l) { l.push_back(1); };
    early.send();
    early.send();  // once
    when(rt, c) << [](list& l) { l.push_back(2); };
    rt.quiesce();
    EXPECT_EQ(c.unguarded(), (list{1, 2}));
  }
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), (list{1, 2, 3}));
}

// --- order ---------------------------------------------------------------------------------------

class when_order : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_order, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_order, of_behaviours_with_the_same_least_cown_is_that_of_their_requests) {
  constexpr int rounds = 300;
  auto c = sorted_cowns<list>(3);
  runtime rt{options()};
  for (int i = 0; i < rounds; ++i) {
    when(rt, c[0], c[1], c[2]) << [i](list& x, list& y, list& z) {
      for (list* l : {&x, &y, &z}) l->push_back(3 * i);
    };
    when(rt, c[2], c[0]) << [i](list& z, list& x) {
      for (list* l : {&x, &z}) l->push_back(3 * i + 1);
    };
    when(rt, c[0]) << [i](list& x) { x.push_back(3 * i + 2); };
  }
  rt.quiesce();
  for (auto& cown : c)
    EXPECT_TRUE(std::is_sorted(cown.unguarded().begin(), cown.unguarded().end()));
  EXPECT_EQ(c[0].unguarded().size(), 3u * rounds);
  EXPECT_EQ(c[2].unguarded().size(), 2u * rounds);
}

TEST_P(when_order, waits_only_at_the_first_cown_that_is_not_free) {
  async_event open;
  auto c = sorted_cowns<list>(3);
  runtime rt{options()};
  hold(rt, c[1], open);
  when(rt, c[0], c[1], c[2]) << [](list&, list&, list& z) { z.push_back(1); };
  // Not promised, but what the example in when.h says: the last cown does not know of it yet.
  when(rt, c[2]) << [](list& z) { z.push_back(2); };
  rt.quiesce();
  EXPECT_EQ(c[2].unguarded(), (list{2}));
  open.set();
  rt.quiesce();
  EXPECT_EQ(c[2].unguarded(), (list{2, 1}));
}

TEST_P(when_order, of_a_behaviour_whose_cowns_are_idle_is_kept_on_all_of_them) {
  runtime rt{options()};
  int overtaken = 0;
  for (int i = 0; i < 300; ++i) {
    auto c = sorted_cowns<list>(4);
    when(rt, c) << [](each<list> all) {
      for (list& l : all) l.push_back(1);
    };
    for (auto& cown : c) when(rt, cown) << [](list& l) { l.push_back(2); };
    when(rt, c[3], c[1]) << [](list& y, list& x) { x.push_back(3), y.push_back(3); };
    rt.quiesce();
    for (auto& cown : c)
      overtaken += cown.unguarded().empty() || cown.unguarded().front() != 1 ||
                   !std::is_sorted(cown.unguarded().begin(), cown.unguarded().end());
  }
  EXPECT_EQ(overtaken, 0);
}

// --- batches -------------------------------------------------------------------------------------

class when_batch : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_batch, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_batch, is_one_request_with_nobody_in_between) {
  constexpr int rounds = 200;
  auto a = make_cown<list>();
  auto b = make_cown<list>();
  runtime rt{options()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const int id = t * rounds + i;
        const auto note = [id](list& l) { l.push_back(id); };
        const auto note_both = [id](list& l, list& m) { l.push_back(id), m.push_back(id); };
        (when(rt, a) << note) + (when(rt, b, a) << note_both) + (when(rt, b) << note);
      }
    });
  for (auto& t : threads) t.join();
  rt.quiesce();
  ASSERT_EQ(a.unguarded().size(), 6u * rounds);
  EXPECT_EQ(a.unguarded(), b.unguarded());
  int torn = 0;
  for (std::size_t i = 0; i < a.unguarded().size(); i += 2)
    torn += a.unguarded()[i] != a.unguarded()[i + 1];
  EXPECT_EQ(torn, 0);
}

TEST_P(when_batch, closes_the_gap_between_requests) {
  async_event open;
  auto c = sorted_cowns<list>(2);
  runtime rt{options()};
  hold(rt, c[0], open);
  (when(rt, c[0], c[1]) << [](list&, list& y) { y.push_back(1); }) +
      (when(rt, c[1]) << [](list& y) { y.push_back(2); });
  rt.quiesce();
  EXPECT_TRUE(c[1].unguarded().empty());
  open.set();
  rt.quiesce();
  EXPECT_EQ(c[1].unguarded(), (list{1, 2}));
}

TEST_P(when_batch, has_its_order_on_every_cown_also_with_readers) {
  auto a = make_cown<list>();
  auto b = make_cown<int>(0);
  std::atomic<int> seen{0};
  runtime rt{options()};
  for (int i = 0; i < 100; ++i) {
    (when(rt, b) << [](int& y) { ++y; }) +
        (when(rt, read(b), a) << [](const int& y, list& l) { l.push_back(y); }) +
        (when(rt, read(b)) << [&](const int& y) { seen += y; }) +
        (when(rt, b, a) << [](int& y, list& l) { l.push_back(++y); });
  }
  rt.quiesce();
  ASSERT_EQ(a.unguarded().size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(a.unguarded()[static_cast<std::size_t>(i)], i + 1);
  EXPECT_EQ(seen, 100 * 100);
  EXPECT_EQ(b.counters().pending, 0u);
}

TEST_P(when_batch, that_only_reads_lets_other_readers_in) {
  async_event open;
  std::atomic<int> inside{0};
  auto c = make_cown<int>(0);
  const auto look = [&](const int&) -> task<> {
    if (++inside == 3) open.set();
    co_await open.wait();
  };
  runtime rt{options()};
  when(rt, read(c)) << look;
  (when(rt, read(c)) << look) + (when(rt, read(c)) << look);
  when(rt, c) << [](int& x) { x = 1; };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 1);
}

TEST_P(when_batch, is_awaited_for_all_and_gives_the_first_exception) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  std::atomic<bool> slow_ended{false};
  const auto program = [&]() -> task<text> {
    co_await ((when(a) << [](int& x) { ++x; }) + (when() << [] {}) +
              (when(a, b) << [](int& x, int& y) -> task<> {
                co_await rota::suspend();
                y = ++x;
              }));
    EXPECT_EQ(b.counters().pending + a.counters().pending, 0u);
    rota::batch failing;
    failing += when(a) << [](int&) { throw std::runtime_error("first"); };
    failing += when(a) << [](int&) { throw std::runtime_error("second"); };
    failing += when(b) << [&](int&) -> task<> {
      for (int i = 0; i < 10; ++i) co_await rota::suspend();
      slow_ended = true;
    };
    when_result<> r = failing.with_result();
    try {
      co_await r;
    } catch (const std::runtime_error& e) {
      co_return e.what();
    }
    co_return "nothing";
  };
  runtime rt{options()};
  EXPECT_EQ(rt.run(program()), "first");
  EXPECT_TRUE(slow_ended);
  EXPECT_EQ(b.unguarded(), 2);
}

TEST_P(when_batch, of_ranges_and_of_one) {
  std::vector<cown_ptr<int>> all;
  for (int i = 0; i < 20; ++i) all.push_back(make_cown<int>(0));
  runtime rt{options()};
  {
    rota::batch steps;
    for (auto& c : all) steps += when(rt, c) << [](int& x) { ++x; };
    steps += when(rt, all) << [](each<int> values) {
      for (int& v : values) v *= 10;
    };
    rota::batch moved{std::move(steps)};
    rota::batch one;
    one += when(rt, all[0]) << [](int& x) { x = 1; };
    one.send();
    rota::batch none;
    none.send();
  }
  rt.quiesce();
  EXPECT_EQ(all[0].unguarded(), 20);  // the batch came at the end of its scope, after the other
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].unguarded(), 10);
}

// --- pointers ------------------------------------------------------------------------------------

TEST(cown_ptr, compares_hashes_and_swaps_like_a_pointer) {
  auto a = make_cown<int>(1);
  auto b = make_cown<int>(2);
  cown_ptr<int> null;
  EXPECT_FALSE(null);
  EXPECT_TRUE(null == nullptr);
  EXPECT_TRUE(a);
  auto copy = a;
  EXPECT_EQ(copy, a);
  EXPECT_NE(a, b);
  EXPECT_NE(a < b, b < a);
  std::unordered_map<cown_ptr<int>, int> map{{a, 1}, {b, 2}};
  EXPECT_EQ(map[copy], 1);
  copy.swap(b);
  EXPECT_EQ(b, a);
  EXPECT_EQ(copy.unguarded(), 2);
  auto moved = std::move(copy);
  EXPECT_EQ(moved.unguarded(), 2);
  moved = std::move(b);
  EXPECT_EQ(moved, a);
}

}  // namespace
