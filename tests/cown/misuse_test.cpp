// What goes wrong is said: by an exception that tells what to do, by a deadlock report, or by the
// watchdog. And what is large, or odd, works. A broken promise shows as a wrong message or a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cown/cowns.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::cown_ptr;
using rota::each;
using rota::make_cown;
using rota::read;
using rota::runtime;
using rota::task;
using rota::when;

// What a call throws.
template <class Error, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

::testing::AssertionResult says(const std::string& message, const std::string& text) {
  if (message.find(text) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' is not in: " << message;
}

class cown_misuse : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, cown_misuse, ::testing::Values(0u, 1u, 2u));

TEST_P(cown_misuse, a_null_cown_is_refused_and_named) {
  auto a = make_cown<int>(0);
  const cown_ptr<int> null;
  const std::vector<cown_ptr<int>> all{a, a, null, a};
  runtime rt{options()};
  using error = std::invalid_argument;
  EXPECT_TRUE(says(message_of<error>([&] { when(rt, a, null, a) << [](int&, int&, int&) {}; }),
                   "cown 2 of 3 is null"));
  EXPECT_TRUE(says(message_of<error>([&] { when(rt, a, all) << [](int&, each<int>) {}; }),
                   "cown 4 of 5 is null"));
  EXPECT_TRUE(says(message_of<error>([&] { when(rt, read(null)) << [](const int&) {}; }),
                   "cown 1 of 1 is null"));
  EXPECT_TRUE(
      says(message_of<error>([&] { (void)(rota::try_when(rt, null) << [](int&) {}); }), "null"));
  rt.quiesce();
  EXPECT_EQ(a.counters().passed, 0u);
}

TEST_P(cown_misuse, when_outside_of_a_runtime_says_what_to_write) {
  auto a = make_cown<int>(0);
  EXPECT_TRUE(
      says(message_of<std::logic_error>([&] { when(a) << [](int&) {}; }), "when(runtime, cown)"));
}

TEST_P(cown_misuse, release_of_what_is_not_held_is_refused) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  std::string other;
  std::string in_task;
  runtime rt{options()};
  when(rt, a) << [&](int&) {
    other = message_of<std::logic_error>([&] { rota::release(b); });
    rota::release(a);
    rota::release(a);  // twice is once
  };
  rt.quiesce();
  const auto program = [&]() -> task<> {
    in_task = message_of<std::logic_error>([&] { rota::release(a); });
    co_return;
  };
  rt.run(program());
  EXPECT_TRUE(says(other, "none of those that the running behaviour holds"));
  EXPECT_TRUE(says(in_task, "outside of a behaviour"));
  EXPECT_TRUE(
      says(message_of<std::logic_error>([&] { rota::release(a); }), "outside of a behaviour"));
  EXPECT_EQ(a.counters().pending, 0u);
}

// --- deadlocks ----------------------------------------------------------------------------------

TEST_P(cown_misuse, a_behaviour_that_waits_for_its_own_cown_is_reported) {
  auto a = make_cown<int>(0);
  const auto program = [&]() -> task<> {
    co_await (when(a) << [&](int&) -> task<> { co_await (when(a) << [](int&) {}); });
  };
  runtime rt{options()};
  const std::string report = message_of<rota::deadlock>([&] { rt.run(program()); });
  EXPECT_TRUE(says(report, "waits for the end of a behaviour"));
  EXPECT_TRUE(says(report, "misuse_test.cpp"));
}

TEST_P(cown_misuse, tasks_that_wait_for_each_others_cowns_are_reported) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  async_event both;
  std::atomic<int> there{0};
  const auto take = [&](const cown_ptr<int>& mine, const cown_ptr<int>& other) -> task<> {
    co_await (when(mine) << [&](int&) -> task<> {
      if (++there == 2) both.set();
      co_await both.wait();
      co_await (when(other) << [](int&) {});
    });
  };
  const auto program = [&]() -> task<> { co_await rota::when_all(take(a, b), take(b, a)); };
  runtime rt{options()};
  const std::string report = message_of<rota::deadlock>([&] { rt.run(program()); });
  EXPECT_TRUE(says(report, "waits for the end of a behaviour"));
}

TEST_P(cown_misuse, a_task_that_waits_for_admission_for_ever_is_reported) {
  auto a = make_cown<int>(0);
  a.set_threshold(1);
  const auto program = [&]() -> task<> {
    co_await (when(a) << [&](int&) -> task<> { co_await rota::admit(a); });
  };
  runtime rt{options()};
  EXPECT_TRUE(says(message_of<rota::deadlock>([&] { rt.run(program()); }),
                   "waits for a cown to have room"));
}

// --- pumps --------------------------------------------------------------------------------------

TEST_P(cown_misuse, cowns_of_two_pumps_are_refused) {
  runtime rt{options()};
  rota::pump first{rt};
  rota::pump second{rt};
  auto a = first.make_cown<int>(0);
  auto b = second.make_cown<int>(0);
  EXPECT_TRUE(says(message_of<std::invalid_argument>([&] { when(rt, a, b) << [](int&, int&) {}; }),
                   "two pumps"));
}

TEST_P(cown_misuse, a_coroutine_in_a_pump_fails_and_gives_its_cowns_back) {
  runtime rt{options()};
  rota::pump ui{rt};
  auto a = ui.make_cown<int>(0);
  std::string error;
  rota::when_result<> r = when(rt, a) << [](int&) -> task<> { co_return; };
  EXPECT_TRUE(ui.run_one_for(10s));
  const auto program = [&]() -> task<> {
    try {
      co_await r;
    } catch (const std::logic_error& e) {
      error = e.what();
    }
  };
  rt.run(program());
  EXPECT_TRUE(says(error, "cannot be a coroutine"));
  EXPECT_EQ(a.counters().pending, 0u);
}

// --- long and large -----------------------------------------------------------------------------

TEST(cown_limits, a_behaviour_that_does_not_give_way_is_named_by_the_watchdog) {
  std::mutex mutex;
  std::vector<std::string> texts;
  const auto heard = [&] {
    std::lock_guard guard{mutex};
    return texts.size();
  };
  auto o = rota::test::with_workers(1).with_watchdog(5ms);
  o.on_long_step = [&](const std::string& text) {
    std::lock_guard guard{mutex};
    texts.push_back(text);
  };
  auto c = make_cown<int>(0);
  struct hog {
    std::function<bool()> until;
    void operator()(int&) const { EXPECT_TRUE(rota::test::eventually(until)); }
  };
  runtime rt{o};
  when(rt, c) << hog{[&] { return heard() > 0; }};
  rt.quiesce();
  ASSERT_GE(heard(), 1u);
  EXPECT_TRUE(says(texts[0], "behaviour "));
  EXPECT_TRUE(says(texts[0], "hog"));
  EXPECT_TRUE(says(texts[0], "let it return a task"));
}

// Waking all of them for one behaviour would be 8 wake-ups each.
TEST(cown_limits, a_behaviour_from_outside_wakes_one_worker) {
  constexpr unsigned behaviours = 50;
  runtime rt{rota::options{}.with_workers(8)};
  auto c = make_cown<unsigned>(0u);
  rt.quiesce();
  const auto before = rt.statistics().wakes;
  for (unsigned i = 0; i < behaviours; ++i) {
    when(rt, c) << [](unsigned& n) { ++n; };
    rt.quiesce();
  }
  EXPECT_EQ(c.unguarded(), behaviours);
  // One each, and now and then one more, for a job that somebody else is about to take.
  EXPECT_LE(rt.statistics().wakes - before, 2 * behaviours);
}

TEST(cown_limits, a_million_cowns_in_one_behaviour) {
  const std::size_t count = rota::test::sanitized ? 100'000 : 1'000'000;
  std::vector<cown_ptr<int>> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) all.push_back(make_cown<int>(1));
  std::size_t sum = 0;
  async_event open;
  runtime rt{rota::test::with_workers(2)};
  // Its slots have numbers that are larger than a slot can say.
  auto greatest = *std::max_element(all.begin(), all.end());
  rota::test::hold(rt, greatest, open);
  when(rt, all) << [&](each<int> values) {
    for (int& v : values) sum += static_cast<std::size_t>(v++);
  };
  when(rt, read(all)) << [&](each<const int> values) {
    for (int v : values) sum += static_cast<std::size_t>(v);
  };
  open.set();
  rt.quiesce();
  EXPECT_EQ(sum, 3 * count);
  EXPECT_EQ(greatest.counters().pending, 0u);
}

TEST(cown_limits, a_million_behaviours_wait_for_one_cown) {
  const int count = rota::test::sanitized ? 50'000 : 1'000'000;
  auto c = make_cown<int>(0);
  async_event open;
  runtime rt{rota::test::with_workers(2)};
  rota::test::hold(rt, c, open);
  for (int i = 0; i < count; ++i) when(rt, c) << [](int& x) { ++x; };
  open.set();
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), count);
}

}  // namespace
