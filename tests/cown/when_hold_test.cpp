// How a behaviour has its cowns: together with other readers, over its waits, not after it has
// given them back, and not at all if it is stopped before. A broken promise shows as a wrong value
// or order, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <string>
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

// --- readers -------------------------------------------------------------------------------------

class when_read : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_read, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_read, readers_share_the_cown) {
  // Each waits until all are there, which none could if they had to take turns.
  constexpr int count = 10;
  async_event all_there;
  std::atomic<int> inside{0};
  auto c = make_cown<int>(5);
  runtime rt{options()};
  for (int i = 0; i < count; ++i)
    when(rt, read(c)) << [&](const int& x) -> task<> {
      EXPECT_EQ(x, 5);
      if (++inside == count) all_there.set();
      co_await all_there.wait();
    };
  rt.quiesce();
  EXPECT_EQ(inside, count);
  EXPECT_EQ(c.counters().pending, 0u);
}

TEST_P(when_read, a_writer_waits_for_all_readers_and_later_readers_for_the_writer) {
  async_event first_may_end;
  async_event second_may_end;
  auto c = make_cown<int>(0);
  list seen;
  runtime rt{options()};
  for (async_event* until : {&first_may_end, &second_may_end})
    when(rt, read(c)) << [until](const int&) -> task<> { co_await until->wait(); };
  when(rt, c) << [&](int& x) { seen.push_back(++x); };
  when(rt, read(c)) << [&](const int& x) { seen.push_back(10 + x); };
  rt.quiesce();
  EXPECT_TRUE(seen.empty());
  second_may_end.set();  // in another order than they came
  rt.quiesce();
  EXPECT_TRUE(seen.empty());
  first_may_end.set();
  rt.quiesce();
  EXPECT_EQ(seen, (list{1, 11}));
}

TEST_P(when_read, a_writer_waits_for_a_reader_that_is_in_no_queue_any_more) {
  async_event first_may_end;
  async_event second_may_end;
  auto c = make_cown<int>(0);
  runtime rt{options()};
  for (async_event* until : {&first_may_end, &second_may_end})
    when(rt, read(c)) << [until](const int&) -> task<> { co_await until->wait(); };
  second_may_end.set();  // the queue is empty now, and the first still reads
  rt.quiesce();
  when(rt, c) << [](int& x) { x = 1; };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 0);
  first_may_end.set();
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 1);
}

TEST_P(when_read, a_behaviour_reads_some_and_writes_others) {
  auto rate = make_cown<int>(3);
  std::vector<cown_ptr<int>> sums;
  for (int i = 0; i < 20; ++i) sums.push_back(make_cown<int>(0));
  runtime rt{options()};
  for (int i = 0; i < 50; ++i) {
    for (auto& s : sums) when(rt, s, read(rate)) << [](int& x, const int& r) { x += r; };
    if (i == 24) {
      // All of them before, and all of them after.
      when(rt, rate, read(sums)) << [](int& r, each<const int> all) {
        r = 4;
        for (int v : all) EXPECT_EQ(v % 3, 0);
      };
    }
  }
  rt.quiesce();
  for (auto& s : sums) {
    EXPECT_GE(s.unguarded(), 150);
    EXPECT_LE(s.unguarded(), 200);
  }
  EXPECT_EQ(rate.counters().passed, 1001u);
}

TEST_P(when_read, many_readers_and_writers_all_get_their_turn) {
  auto c = make_cown<int>(0);
  std::atomic<int> reads{0};
  runtime rt{options()};
  for (int i = 0; i < 2000; ++i) {
    if (i % 10 == 0)
      when(rt, c) << [](int& x) { ++x; };
    else
      when(rt, read(c)) << [&, i](const int& x) { reads += x == i / 10 + 1; };
  }
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 200);
  EXPECT_EQ(reads, 1800);
}

// --- coroutines ----------------------------------------------------------------------------------

class when_coroutine : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_coroutine, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_coroutine, keeps_its_cowns_while_it_waits) {
  auto c = make_cown<int>(0);
  list seen;
  runtime rt{options()};
  when(rt, c) << [&](int& x) -> task<> {
    for (int i = 0; i < 10; ++i) {
      seen.push_back(x);
      co_await rota::suspend();
      ++x;
    }
  };
  when(rt, c) << [&](int& x) { seen.push_back(-x); };
  rt.quiesce();
  EXPECT_EQ(seen, (list{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -10}));
}

TEST_P(when_coroutine, gives_its_result_and_its_exception) {
  auto c = make_cown<int>(20);
  const auto program = [&]() -> task<text> {
    const int twice = co_await (when(c) << [](int& x) -> task<int> {
      co_await rota::suspend();
      co_return 2 * x;
    });
    try {
      co_await (when(c) << [](int&) -> task<int> {
        co_await rota::suspend();
        throw std::runtime_error("no");
      });
    } catch (const std::runtime_error& e) {
      co_return std::to_string(twice) + e.what();
    }
    co_return "nothing";
  };
  runtime rt{options()};
  EXPECT_EQ(rt.run(program()), "40no");
  EXPECT_EQ(c.counters().pending, 0u);
}

TEST_P(when_coroutine, waits_for_other_behaviours_tasks_and_time) {
  auto a = make_cown<int>(1);
  auto b = make_cown<int>(2);
  runtime rt{options()};
  when(rt, a) << [b](int& x) -> task<> {
    co_await rota::sleep_for(std::chrono::milliseconds(1));
    x += co_await (when(b) << [](int& y) -> task<int> {
      co_await rota::suspend();
      co_return ++y;
    });
    const auto more = [](int from) -> task<int> { co_return from + 10; };
    x += co_await rota::spawn(more(1));
  };
  rt.quiesce();
  EXPECT_EQ(a.unguarded(), 1 + 3 + 11);
}

// --- release -------------------------------------------------------------------------------------

class when_release : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_release, ::testing::Values(0u, 1u, 2u, 4u));

// Of three cowns each in turn is released first, then another; readers as well.
TEST_P(when_release, gives_a_cown_back_before_the_end) {
  for (std::size_t first = 0; first < 3; ++first) {
    for (const bool reads : {false, true}) {
      SCOPED_TRACE(std::to_string(first) + (reads ? ", read" : ""));
      async_event open;
      auto c = sorted_cowns<int>(3);
      runtime rt{options()};
      const std::size_t second = (first + 1) % 3;
      const std::size_t kept = (first + 2) % 3;
      const auto work = [&](each<int>, const int&) -> task<> {
        rota::release(c[first]);
        co_await rota::suspend();
        rota::release(c[second]);
        co_await open.wait();
      };
      const auto read_work = [&](each<const int>, int&) -> task<> {
        rota::release(c[first]);
        co_await rota::suspend();
        rota::release(c[second]);
        co_await open.wait();
      };
      if (reads)
        when(rt, read(c), c[kept]) << read_work;
      else
        when(rt, c, read(c[kept])) << work;
      for (auto& cown : c) when(rt, cown) << [](int& x) { x = 1; };
      rt.quiesce();
      EXPECT_EQ(c[first].unguarded(), 1);
      EXPECT_EQ(c[second].unguarded(), 1);
      EXPECT_EQ(c[kept].unguarded(), 0);
      open.set();
      rt.quiesce();
      for (auto& cown : c) {
        EXPECT_EQ(cown.unguarded(), 1);
        EXPECT_EQ(cown.counters().pending, 0u);
      }
    }
  }
}

TEST_P(when_release, works_in_a_plain_function_and_with_the_only_cown) {
  auto c = make_cown<int>(0);
  std::atomic<bool> got{false};
  runtime rt{options()};
  when(rt, c) << [&](int& x) {
    x = 1;
    when(c) << [&](int& y) { got = y == 1; };
    rota::release(c);
    // On one worker the next cannot run before we end.
    if (rota::test::on_runtimes::GetParam() > 1) {
      EXPECT_TRUE(rota::test::eventually([&] { return got.load(); }));
    }
  };
  rt.quiesce();
  EXPECT_TRUE(got);
}

// --- stop tokens ---------------------------------------------------------------------------------

class when_stop : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, when_stop, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(when_stop, drops_a_behaviour_that_has_not_begun) {
  std::stop_source stop;
  async_event open;
  auto c = make_cown<int>(0);
  runtime rt{options()};
  hold(rt, c, open);
  when(rt, c).stop_on(stop.get_token()) << [](int& x) { x += 1; };
  when_result<> r = when(rt, c).stop_on(stop.get_token()) << [](int& x) { x += 10; };
  when(rt, c).stop_on(std::stop_token{}) << [](int& x) { x += 100; };
  stop.request_stop();
  open.set();
  const auto program = [&]() -> task<bool> {
    try {
      co_await r;
    } catch (const rota::cancelled&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(rt.run(program()));
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 100);
}

TEST_P(when_stop, asks_a_coroutine_to_stop_where_it_waits) {
  std::stop_source stop;
  async_event never;
  std::atomic<bool> unwound{false};
  auto c = make_cown<int>(0);
  runtime rt{options()};
  when_result<int> r = when(rt, c).stop_on(stop.get_token()) << [&](int& x) -> task<int> {
    struct on_exit {
      std::atomic<bool>& flag;
      ~on_exit() { flag = true; }
    } end{unwound};
    co_await never.wait();
    co_return x;
  };
  when(rt, c) << [](int& x) { ++x; };
  rt.quiesce();
  EXPECT_FALSE(r.done());
  stop.request_stop();
  rt.quiesce();
  EXPECT_TRUE(r.done());
  EXPECT_TRUE(unwound);
  EXPECT_EQ(c.unguarded(), 1);
}

}  // namespace
