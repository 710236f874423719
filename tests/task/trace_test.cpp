// A trace has every step, wake-up and sleep, or says how many it lost; it can begin and end at any
// time. What is in its file is read by tests/app/trace_test.py.

#include <rota/base/trace.h>

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/scratch_folder.h"
#include "support/stress.h"

namespace {

using namespace std::chrono_literals;
using rota::runtime;
using rota::task;
using rota::trace_summary;
using rota::detail::trace_kind;
using rota::detail::tracer;
using rota::test::scratch_folder;

std::string what_is_thrown(auto f) {
  try {
    f();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "nothing";
}

task<void> yield_often(int times) {
  for (int i = 0; i < times; ++i) co_await rota::suspend();
}

TEST(trace, has_a_record_of_each_step_and_of_what_made_it_ready) {
  const scratch_folder home;
  runtime rt{rota::options{}.with_workers(1)};
  rt.run(yield_often(100));  // the worker is there
  rt.trace_to(home / "a");
  rt.run(yield_often(100));
  const trace_summary s = rt.stop_trace();
  EXPECT_EQ(s.lost, 0u);
  // 101 steps and as many times ready. The worker sees that there is a trace when it has been woken
  // for the first step, at the latest; the last step is written when there is nothing more to do.
  EXPECT_GE(s.records, 2 * 101u - 2);
  EXPECT_LE(s.records, 2 * 101u + 20);  // and sleeps
  EXPECT_GT(std::filesystem::file_size(home / "a"), 1000u);
}

TEST(trace, in_strict_order_too) {
  const scratch_folder home;
  runtime rt{rota::options{}.with_order(rota::order::strict)};
  rt.trace_to(home / "a");
  rt.run(yield_often(100));
  EXPECT_GE(rt.stop_trace().records, 2 * 101u - 2);
}

TEST(trace, ends_with_the_runtime) {
  const scratch_folder home;
  {
    runtime rt{rota::options{}.with_workers(2)};
    rt.trace_to(home / "a");
    rt.run(yield_often(1000));
  }
  EXPECT_GT(std::filesystem::file_size(home / "a"), 10'000u);
}

TEST(trace, is_one_at_a_time) {
  const scratch_folder home;
  runtime rt{rota::options{}.with_workers(1)};
  EXPECT_EQ(rt.stop_trace().records, 0u);
  rt.trace_to(home / "a");
  EXPECT_EQ(what_is_thrown([&] { rt.trace_to(home / "b"); }),
            "trace file '" + home / "b" + "': there is a trace already");
  EXPECT_FALSE(std::filesystem::exists(home / "b"));
  rt.stop_trace();
  EXPECT_EQ(rt.stop_trace().records, 0u);
  rt.trace_to(home / "b");
  rt.run(yield_often(10));
  EXPECT_GE(rt.stop_trace().records, 10u);
}

TEST(trace, says_what_is_wrong_with_its_file) {
  const scratch_folder home;
  runtime rt{rota::options{}.with_workers(1)};
  EXPECT_EQ(what_is_thrown([&] { rt.trace_to(home / "no" + "/where"); }),
            "trace file '" + home / "no" + "/where': No such file or directory");
  std::filesystem::create_symlink(home / "elsewhere", home / "link");
  EXPECT_NE(what_is_thrown([&] { rt.trace_to(home / "link"); }), "nothing");
  EXPECT_FALSE(std::filesystem::exists(home / "elsewhere"));
  // And can be tried again.
  rt.trace_to("/dev/full");
  rt.run(yield_often(1000));
  EXPECT_EQ(what_is_thrown([&] { rt.stop_trace(); }),
            "trace file '/dev/full': No space left on device");
}

TEST(trace, loses_what_comes_too_fast_and_counts_it) {
  const scratch_folder home;
  tracer t{1};
  t.start(home / "a");
  constexpr std::uint64_t all = 300'000;
  for (std::uint64_t i = 0; i < all; ++i)
    t.ring(0)->add({.at = rota::detail::trace_time(), .kind = trace_kind::ready});
  const trace_summary s = t.stop();
  EXPECT_EQ(s.records + s.lost, all);
  EXPECT_GT(s.records, 0u);
  std::printf("%llu of %llu lost\n", static_cast<unsigned long long>(s.lost),
              static_cast<unsigned long long>(all));
  // What was lost in one trace is not told of the next.
  t.start(home / "b");
  EXPECT_EQ(t.stop().lost, 0u);
}

TEST(trace, begins_and_ends_while_everybody_works) {
  const scratch_folder home;
  runtime rt{rota::options{}.with_workers(3)};
  std::atomic<bool> over{false};
  auto busy = [](std::atomic<bool>& end) -> task<void> {
    rota::this_task::set_name("busy");
    rota::task_group group;
    while (!end) {
      group.spawn(yield_often(20));
      co_await rota::suspend();
      co_await rota::sleep_for(10us);
    }
    co_await group.join();
  };
  std::vector<rota::join_handle<void>> handles;
  for (int i = 0; i < 4; ++i) handles.push_back(rt.spawn(busy(over)));
  const std::uint64_t rounds = rota::test::rounds(60, 2000);
  std::uint64_t records = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    rt.trace_to(home / "a");
    std::this_thread::sleep_for(2ms);
    records += rt.stop_trace().records;
    if (i % 3 == 0) std::this_thread::sleep_for(1ms);
  }
  over = true;
  rt.run([](auto all) -> task<void> {
    for (auto& h : all) co_await h;
  }(std::move(handles)));
  EXPECT_GT(records, rounds);
}

}  // namespace
