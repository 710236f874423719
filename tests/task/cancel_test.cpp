// A stop reaches a task wherever it waits, and no later than there. A broken promise shows as a
// hang, or as a task that goes on.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include "support/tasks.h"

namespace {

using namespace std::chrono_literals;
using rota::task;

// Things to wait for that never come.
struct never {
  rota::async_event event;
  rota::async_semaphore permits{0};
  rota::async_mutex mutex;
  rota::channel<int> empty{1};
  rota::channel<int> unread{0};
  rota::cell<int> zero{0};
  rota::async_event end;
};

task<> wait_event(never& n) { co_await n.event.wait(); }
task<> wait_semaphore(never& n) { co_await n.permits.acquire(); }
task<> wait_mutex(never& n) {
  auto once = co_await n.mutex.lock();
  auto twice = co_await n.mutex.lock();
}
task<> wait_receive(never& n) { co_await n.empty.receive(); }
task<> wait_send(never& n) { co_await n.unread.send(1); }
task<> wait_sleep(never&) { co_await rota::sleep_for(1h); }
task<> wait_guard(never& n) {
  co_await rota::guard([&n] { return n.zero.get() > 0; });
}
task<> wait_cell(never& n) {
  co_await n.zero.until([](int v) { return v > 0; });
}
task<> wait_suspend(never&) {
  for (;;) co_await rota::suspend();
}
task<> wait_call(never& n) { co_await wait_event(n); }
task<> wait_join(never& n) {
  auto h = rota::spawn(wait_event(n));
  try {
    co_await h;
  } catch (const rota::cancelled&) {
    h.request_stop();  // not done for us
    throw;
  }
}
task<> wait_group(never& n) {
  rota::task_group g;
  g.spawn(wait_event(n));
  co_await g.join();
}
task<> wait_all(never& n) { co_await rota::when_all(wait_event(n), wait_sleep(n)); }
task<> wait_any(never& n) { co_await rota::when_any(wait_event(n), wait_sleep(n)); }
task<> wait_timeout(never& n) { co_await rota::with_timeout(1h, wait_event(n)); }
task<> wait_fork(never& n) {
  rota::fork_scope forks;
  co_await forks.fork(wait_event(n));
  co_await forks.fork(wait_sleep(n));
  co_await forks.join();
}

struct wait_kind {
  const char* name;
  task<> (*wait)(never&);
};

class stop : public ::testing::TestWithParam<std::tuple<unsigned, wait_kind>> {
 protected:
  static rota::options options() {
    const unsigned workers = std::get<0>(GetParam());
    return workers == 0 ? rota::test::strict() : rota::test::with_workers(workers);
  }
  static task<> wait(never& n) { return std::get<1>(GetParam()).wait(n); }
};

INSTANTIATE_TEST_SUITE_P(
    all, stop,
    ::testing::Combine(
        ::testing::Values(0u, 1u, 2u, 4u),
        ::testing::Values(wait_kind{"event", wait_event}, wait_kind{"semaphore", wait_semaphore},
                          wait_kind{"mutex", wait_mutex}, wait_kind{"receive", wait_receive},
                          wait_kind{"send", wait_send}, wait_kind{"sleep", wait_sleep},
                          wait_kind{"guard", wait_guard}, wait_kind{"cell", wait_cell},
                          wait_kind{"suspend", wait_suspend}, wait_kind{"call", wait_call},
                          wait_kind{"join", wait_join}, wait_kind{"group", wait_group},
                          wait_kind{"when_all", wait_all}, wait_kind{"when_any", wait_any},
                          wait_kind{"timeout", wait_timeout}, wait_kind{"fork", wait_fork})),
    [](const auto& tested) {
      return std::string(std::get<1>(tested.param).name) + "_" +
             std::to_string(std::get<0>(tested.param));
    });

TEST_P(stop, reaches_a_task_that_waits) {
  never n;
  auto program = [&]() -> task<> {
    auto h = rota::spawn(wait(n));
    for (int i = 0; i < 10; ++i) co_await rota::suspend();
    EXPECT_FALSE(h.done());
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(stop, reaches_a_task_that_has_not_begun_to_wait) {
  never n;
  auto program = [&]() -> task<> {
    auto h = rota::spawn(wait(n));
    h.request_stop();
    EXPECT_THROW(co_await h, rota::cancelled);
  };
  rota::run(program(), options());
}

TEST_P(stop, reaches_a_task_again_when_it_waits_again) {
  never n;
  auto stubborn = [&]() -> task<> {
    for (int i = 0; i < 3; ++i) EXPECT_THROW(co_await wait(n), rota::cancelled);
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(stubborn());
    co_await rota::suspend();
    h.request_stop();
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(stop, reaches_it_when_the_runtime_ends) {
  never n;
  auto waits = [&](rota::test::tracked) -> task<> { co_await wait(n); };
  auto program = [&]() -> task<> {
    for (int i = 0; i < 3; ++i) rota::spawn(waits({}));
    for (int i = 0; i < 5; ++i) co_await rota::suspend();
  };
  {
    rota::runtime rt{options()};
    rt.run(program());
  }
  EXPECT_EQ(rota::test::tracked::alive, 0);
}

TEST(shield, keeps_waits_from_being_cancelled) {
  never n;
  auto shielded = [&]() -> task<int> {
    {
      rota::shield cleaning;
      EXPECT_FALSE(rota::this_task::stop_requested());
      {
        rota::shield nested;
        co_await n.end.wait();
      }
      co_await rota::sleep_for(100us);
      co_await rota::suspend();
    }
    EXPECT_TRUE(rota::this_task::stop_requested());
    EXPECT_THROW(co_await rota::suspend(), rota::cancelled);
    co_return 1;
  };
  auto program = [&]() -> task<int> {
    auto h = rota::spawn(shielded());
    for (int i = 0; i < 3; ++i) co_await rota::suspend();
    h.request_stop();
    for (int i = 0; i < 3; ++i) co_await rota::suspend();
    EXPECT_FALSE(h.done());
    n.end.set();
    co_return co_await h;
  };
  EXPECT_EQ(rota::run(program(), rota::test::with_workers(2)), 1);
}

TEST(stop_token, becomes_stopped_and_calls_back) {
  std::atomic<int> called{0};
  rota::async_event never_set;
  auto listens = [&]() -> task<> {
    std::stop_token token = rota::this_task::stop_token();
    EXPECT_FALSE(token.stop_requested());
    std::stop_callback callback(token, [&] { ++called; });
    EXPECT_THROW(co_await never_set.wait(), rota::cancelled);
    EXPECT_TRUE(token.stop_requested());
  };
  auto late = [&]() -> task<> {
    EXPECT_TRUE(rota::this_task::stop_token().stop_requested());
    co_return;
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(listens());
    for (int i = 0; i < 3; ++i) co_await rota::suspend();
    h.request_stop();
    h.request_stop();
    co_await h;
    auto l = rota::spawn(late());
    l.request_stop();
    co_await l;
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(called, 1);
}

TEST(at_exit, drain_lets_tasks_end_by_themselves) {
  std::atomic<int> ended{0};
  auto slow = [&]() -> task<> {
    co_await rota::sleep_for(2ms);
    for (int i = 0; i < 10; ++i) co_await rota::suspend();
    ++ended;
  };
  {
    rota::runtime rt{rota::test::with_workers(2).with_at_exit(rota::at_exit::drain)};
    for (int i = 0; i < 10; ++i) rt.spawn(slow());
  }
  EXPECT_EQ(ended, 10);
}

TEST(at_exit, cancel_asks_every_task_to_stop) {
  std::atomic<int> stopped{0};
  auto forever = [&]() -> task<> {
    try {
      for (;;) co_await rota::suspend();
    } catch (const rota::cancelled&) {
      ++stopped;
      throw;
    }
  };
  {
    rota::runtime rt{rota::test::with_workers(2)};
    for (int i = 0; i < 10; ++i) rt.spawn(forever());
  }
  EXPECT_EQ(stopped, 10);
}

TEST(at_exit, cancel_reaches_tasks_that_are_spawned_meanwhile) {
  // Each task that is stopped begins another, three times over; none may keep the runtime alive.
  std::atomic<int> begun{0};
  struct hydra {
    static task<> head(std::atomic<int>& count, int generation) {
      ++count;
      try {
        for (;;) co_await rota::suspend();
      } catch (const rota::cancelled&) {
        if (generation < 3) rota::spawn(head(count, generation + 1));
        throw;
      }
    }
  };
  {
    rota::runtime rt{rota::test::with_workers(2)};
    rt.spawn(hydra::head(begun, 0));
    EXPECT_TRUE(rota::test::eventually([&] { return begun == 1; }));
  }
  EXPECT_EQ(begun, 4);
}

TEST(at_exit, tasks_that_cannot_be_stopped_are_destroyed) {
  never n;
  {
    auto stubborn = [&](rota::test::tracked) -> task<> {
      rota::shield deaf;
      co_await n.event.wait();
    };
    auto forked = [&]() -> task<> {
      rota::fork_scope forks;
      co_await forks.fork(stubborn({}));
      co_await forks.join();
    };
    auto grouped = [&]() -> task<> {
      rota::task_group g;
      g.spawn(stubborn({}));
      co_await g.join();
    };
    auto joined = [&]() -> task<> {
      auto h = rota::spawn(stubborn({}));
      rota::shield deaf;
      co_await h;
    };
    auto program = [&]() -> task<> {
      rota::spawn(stubborn({}));
      rota::spawn(forked());
      rota::spawn(grouped());
      rota::spawn(joined());
      for (int i = 0; i < 20; ++i) co_await rota::suspend();
    };
    rota::runtime rt{rota::test::with_workers(2)};
    rt.run(program());
    EXPECT_TRUE(rota::test::eventually([] { return rota::test::tracked::alive == 4; }));
  }
  EXPECT_EQ(rota::test::tracked::alive, 0);
}

}  // namespace
