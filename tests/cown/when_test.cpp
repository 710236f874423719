// Behaviours do what when.h says: they have their cowns, their results arrive, and their order is
// as promised.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tasks.h"

namespace {

using rota::cown_ptr;
using rota::each;
using rota::make_cown;
using rota::options;
using rota::read;
using rota::runtime;
using rota::task;
using rota::when;

TEST(When, RunsWithItsCown) {
  auto c = make_cown<int>(1);
  runtime rt{options{}.with_workers(2)};
  for (int i = 0; i < 100; ++i) when(rt, c) << [](int& x) { x += 2; };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 201);
}

TEST(When, WithoutCownsJustRuns) {
  std::atomic<int> ran{0};
  runtime rt{options{}.with_workers(2)};
  when(rt) << [&] { ++ran; };
  rt.quiesce();
  EXPECT_EQ(ran.load(), 1);
}

TEST(When, SeveralCownsAreHeldTogetherInTheOrderTheyAreNamed) {
  std::vector<cown_ptr<std::string>> all;
  for (const char* text : {"a", "b", "c", "d", "e"}) all.push_back(make_cown<std::string>(text));
  std::vector<std::string> seen;
  runtime rt{options{}.with_workers(2)};
  when(rt, all[3], all[0], all[4], all[1], all[2])
      << [&](std::string& d, std::string& a, std::string& e, std::string& b, std::string& c) {
           seen = {d, a, e, b, c};
         };
  rt.quiesce();
  EXPECT_EQ(seen, (std::vector<std::string>{"d", "a", "e", "b", "c"}));
}

TEST(When, ACownMayBeNamedTwice) {
  auto c = make_cown<int>(1);
  auto d = make_cown<int>(5);
  runtime rt{options{}.with_workers(2)};
  when(rt, c, d, c, read(c)) << [](int& x, int& y, int& again, const int& seen) {
    x += 10;
    again += seen + y;
  };
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 27);
}

TEST(When, ARangeOfCowns) {
  std::vector<cown_ptr<int>> all;
  for (int i = 0; i < 50; ++i) all.push_back(make_cown<int>(i));
  auto sum = make_cown<int>(0);
  runtime rt{options{}.with_workers(2)};
  when(rt, all) << [](each<int> values) {
    for (int& v : values) v *= 2;
  };
  when(rt, read(all), sum) << [](each<const int> values, int& s) {
    for (int v : values) s += v;
  };
  rt.quiesce();
  EXPECT_EQ(sum.unguarded(), 50 * 49);
}

TEST(When, TheResultIsAwaited) {
  auto c = make_cown<int>(41);
  const auto program = [](cown_ptr<int> cown) -> task<int> {
    const int r = co_await (when(cown) << [](int& x) { return ++x; });
    co_return r;
  };
  EXPECT_EQ(rota::run(program(c)), 42);
}

TEST(When, AnExceptionIsKeptAndTheCownReleased) {
  auto c = make_cown<int>(0);
  const auto program = [](cown_ptr<int> cown) -> task<std::string> {
    std::string text;
    rota::when_result<void> r = when(cown) << [](int&) { throw std::runtime_error("no"); };
    try {
      co_await r;
    } catch (const std::runtime_error& e) {
      text = e.what();
    }
    co_await (when(cown) << [](int& x) { x = 7; });
    co_return text;
  };
  EXPECT_EQ(rota::run(program(c)), "no");
  EXPECT_EQ(c.unguarded(), 7);
}

TEST(When, ACoroutineKeepsItsCowns) {
  auto c = make_cown<int>(0);
  std::vector<int> seen;
  runtime rt{options{}.with_workers(2)};
  when(rt, c) << [&](int& x) -> task<void> {
    for (int i = 0; i < 10; ++i) {
      seen.push_back(x);
      co_await rota::suspend();
      ++x;
    }
  };
  when(rt, c) << [&](int& x) { seen.push_back(-x); };
  rt.quiesce();
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -10}));
}

TEST(When, ABatchIsOneRequest) {
  auto a = make_cown<std::vector<int>>();
  auto b = make_cown<std::vector<int>>();
  runtime rt{options{}.with_workers(2)};
  for (int i = 0; i < 200; ++i) {
    (when(rt, a) << [i](std::vector<int>& v) { v.push_back(i); }) +
        (when(rt, b) << [i](std::vector<int>& v) { v.push_back(i); });
  }
  rt.quiesce();
  EXPECT_EQ(a.unguarded(), b.unguarded());
  EXPECT_EQ(a.unguarded().size(), 200u);
}

TEST(When, Readers) {
  auto c = make_cown<int>(0);
  std::atomic<int> reads{0};
  runtime rt{options{}.with_workers(2)};
  for (int i = 0; i < 1000; ++i) {
    if (i % 10 == 0)
      when(rt, c) << [](int& x) { ++x; };
    else
      when(rt, read(c)) << [&](const int& x) { reads += x >= 0; };
  }
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 100);
  EXPECT_EQ(reads.load(), 900);
}

TEST(When, AMutedSenderRunsAgain) {
  auto receiver = make_cown<int>(0);
  std::vector<cown_ptr<int>> senders;
  for (int i = 0; i < 10; ++i) senders.push_back(make_cown<int>(0));
  struct chain {
    cown_ptr<int> me, to;
    void operator()(int& n) {
      when(to) << [](int& x) { ++x; };
      if (++n < 1000) when(me) << *this;
    }
  };
  runtime rt{options{}.with_workers(2)};
  for (auto& s : senders) when(rt, s) << chain{s, receiver};
  rt.quiesce();
  EXPECT_EQ(receiver.unguarded(), 10000);
  for (auto& s : senders) EXPECT_EQ(s.counters().pending, 0u);
}

}  // namespace
