// Behaviours that need a cown of a pump run in its run functions and nowhere else. A broken promise
// shows as a thread that is not the pump's, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cown/cowns.h"

namespace {

using namespace std::chrono_literals;
using rota::cown_ptr;
using rota::make_cown;
using rota::pump;
using rota::read;
using rota::runtime;
using rota::task;
using rota::when;
using rota::when_result;
using rota::test::eventually;

class cown_pump : public rota::test::on_runtimes {
 protected:
  // Runs `count` behaviours; false if they do not come.
  static bool run(pump& p, int count) {
    for (int i = 0; i < count; ++i)
      if (!p.run_one_for(10s)) return false;
    return true;
  }
};
INSTANTIATE_TEST_SUITE_P(workers, cown_pump, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(cown_pump, runs_what_needs_its_cowns_on_the_thread_that_pumps_in_order) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<std::vector<int>>();
  auto model = make_cown<int>(0);
  std::atomic<int> elsewhere{0};
  const auto here = std::this_thread::get_id();
  for (int i = 0; i < 10; ++i) {
    when(rt, window, model) << [&, i](std::vector<int>& w, int& m) {
      w.push_back(i);
      ++m;
      elsewhere += std::this_thread::get_id() != here;
    };
    when(rt, read(window)) <<
        [&](const std::vector<int>&) { elsewhere += std::this_thread::get_id() != here; };
  }
  EXPECT_FALSE(model.counters().passed > 20);
  EXPECT_TRUE(run(ui, 20));
  EXPECT_FALSE(ui.run_one());
  EXPECT_FALSE(ui.run_one_for(1ms));
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(model.unguarded(), 10);
  EXPECT_EQ(window.unguarded().size(), 10u);
  EXPECT_TRUE(std::is_sorted(window.unguarded().begin(), window.unguarded().end()));
}

TEST_P(cown_pump, runs_nothing_by_itself) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<int>(0);
  auto model = make_cown<int>(0);
  when(rt, window, model) << [](int& w, int&) { w = 1; };
  when(rt, model) << [](int& m) { m = 1; };
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(window.unguarded(), 0);
  EXPECT_TRUE(run(ui, 1));
  rt.quiesce();
  EXPECT_EQ(window.unguarded() + model.unguarded(), 2);
}

TEST_P(cown_pump, is_told_when_something_comes_to_an_empty_pump) {
  runtime rt{options()};
  std::atomic<int> told{0};
  pump ui{rt, [&] { ++told; }};
  auto window = ui.make_cown<int>(0);
  auto other = ui.make_cown<int>(0);
  when(rt, window) << [](int&) {};
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  when(rt, other) << [](int&) {};  // not empty
  EXPECT_TRUE(run(ui, 2));
  EXPECT_EQ(told, 1);
  when(rt, window) << [](int&) {};
  EXPECT_TRUE(run(ui, 1));
  EXPECT_EQ(told, 2);
}

TEST_P(cown_pump, keeps_the_runtime_from_rest_and_answers_tasks) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<int>(20);
  const auto program = [&]() -> task<int> {
    const int before = co_await (when(window) << [](int& w) { return ++w; });
    try {
      co_await (when(window) << [](int&) { throw std::runtime_error("no"); });
    } catch (const std::runtime_error&) {
      co_return 2 * before;
    }
    co_return 0;
  };
  std::thread pumps([&] {
    std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(run(ui, 3));
  });
  EXPECT_EQ(rt.run(program()), 42);  // and no deadlock is reported
  when(rt, window) << [](int& w) { w = 0; };
  rt.quiesce();
  EXPECT_EQ(window.unguarded(), 0);
  pumps.join();
}

TEST_P(cown_pump, its_behaviours_send_release_and_are_muted_like_others) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<int>(0);
  auto model = make_cown<int>(0);
  when(rt, window, model) << [&](int& w, int&) {
    rota::release(model);
    when(model) << [&](int& m) {
      m = 1;
      when(window) << [](int& again) { again += 10; };
    };
    w = 1;
  };
  EXPECT_TRUE(run(ui, 2));
  EXPECT_EQ(window.unguarded(), 11);
  EXPECT_EQ(model.unguarded(), 1);
  {
    rota::pressure full{rt, model};
    when(rt, window) << [&](int&) { when(model) << [](int&) {}; };
    when(rt, window) << [](int& w) { w = 5; };
    EXPECT_TRUE(run(ui, 1));
    EXPECT_TRUE(window.counters().muted);
    EXPECT_FALSE(ui.run_one());
  }
  EXPECT_TRUE(run(ui, 1));
  EXPECT_EQ(window.unguarded(), 5);
}

TEST_P(cown_pump, runs_the_members_of_a_batch_that_need_it) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<int>(0);
  auto model = make_cown<int>(0);
  std::thread::id first;
  std::thread::id second;
  (when(rt, model) << [](int& m) { m = 1; }) + (when(rt, window) << [&](int&) {
    first = std::this_thread::get_id();
  }) + (when(rt, window, model) << [&](int&, int& m) {
    second = std::this_thread::get_id();
    ++m;
  });
  while (second == std::thread::id{} && ui.run_one_for(1s)) {
  }
  EXPECT_EQ(first, std::this_thread::get_id());
  EXPECT_EQ(second, std::this_thread::get_id());
  rt.quiesce();
  EXPECT_EQ(model.unguarded(), 2);
}

TEST_P(cown_pump, that_ends_drops_what_waits_and_what_comes_later) {
  runtime rt{options()};
  std::optional<pump> ui{std::in_place, rt};
  auto window = ui->make_cown<int>(0);
  auto model = make_cown<int>(0);
  std::vector<when_result<>> results;
  results.push_back(when(rt, window) << [t = rota::test::tracked{}](int& w) { ++w; });
  results.push_back(when(rt, window, model) << [t = rota::test::tracked{}](int& w, int&) { ++w; });
  ui.reset();
  results.push_back(when(rt, window, model) << [t = rota::test::tracked{}](int& w, int&) { ++w; });
  when(rt, model) << [](int& m) { m = 1; };
  int cancelled = 0;
  const auto program = [&]() -> task<> {
    for (auto& r : results) {
      try {
        co_await r;
      } catch (const rota::cancelled&) {
        ++cancelled;
      }
    }
  };
  rt.run(program());
  rt.quiesce();
  EXPECT_EQ(cancelled, 3);
  EXPECT_EQ(window.unguarded(), 0);
  EXPECT_EQ(model.unguarded(), 1);
  EXPECT_EQ(rota::test::tracked::alive, 0);
}

TEST_P(cown_pump, is_fed_by_many_threads) {
  runtime rt{options()};
  pump ui{rt};
  auto window = ui.make_cown<int>(0);  // not atomic
  auto model = make_cown<int>(0);
  constexpr int each_sends = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < each_sends; ++i) {
        when(rt, model) << [&](int& m) {
          ++m;
          when(window) << [](int& w) { ++w; };
        };
      }
    });
  EXPECT_TRUE(run(ui, 3 * each_sends));
  for (auto& t : threads) t.join();
  EXPECT_EQ(window.unguarded(), 3 * each_sends);
}

}  // namespace
