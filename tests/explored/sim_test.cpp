// Whole programs on virtual workers. A broken promise shows as a result that says something else;
// no test waits for real time or depends on how fast the machine is.

#include <rota/verify/explore/sim.h>

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

namespace sim = rota::sim;
using rota::explore::failure_kind;
using namespace std::chrono_literals;

rota::options workers(unsigned count) { return rota::options{}.with_workers(count); }

// A program of one task, on two workers.
template <class Task>
std::function<void()> program(Task task) {
  return [task] { rota::run(task(), workers(2)); };
}

// All of these are to pass with every seed.
void expect_passes(std::uint64_t seeds, std::function<void()> p, sim::options o = {}) {
  const sim::result r = sim::explore(seeds, std::move(p), o);
  EXPECT_FALSE(r.failed) << r.text();
  EXPECT_EQ(r.seeds, seeds);
}

// --- seeds ---

rota::task<int> add_later(int a, int b) {
  co_await rota::suspend();
  co_return a + b;
}

rota::task<> some_sums() {
  auto x = rota::spawn(add_later(1, 2));
  auto y = rota::spawn(add_later(3, 4));
  sim::note("spawned");
  const int sum = co_await x + co_await y;
  sim::check(sum == 10, "ten");
  sim::note("sum is " + std::to_string(sum));
}

TEST(sim, a_seed_gives_the_same_run_again) {
  const auto once = sim::run(7, program(some_sums));
  const auto again = sim::run(7, program(some_sums));
  EXPECT_FALSE(once.failed) << once.text();
  EXPECT_EQ(once.fingerprint, again.fingerprint);
  EXPECT_EQ(once.steps, again.steps);
  EXPECT_EQ(once.log, again.log);
  EXPECT_TRUE(sim::is_deterministic(7, program(some_sums)));
}

TEST(sim, seeds_give_different_runs) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    seen.insert(sim::run(seed, program(some_sums)).fingerprint);
  EXPECT_EQ(seen.size(), 20u);
}

TEST(sim, a_program_that_remembers_its_last_run_is_not_deterministic) {
  int runs = 0;
  const auto remembers = [&runs] {
    const int tasks = 1 + runs++ % 2;
    rota::run(
        [](int n) -> rota::task<> {
          for (int i = 0; i < n; ++i) co_await rota::spawn(add_later(i, i));
        }(tasks),
        workers(2));
  };
  EXPECT_FALSE(sim::is_deterministic(1, remembers));
}

TEST(sim, a_failure_that_does_not_come_again_is_named_as_such) {
  int runs = 0;
  const auto r = sim::run(1, [&runs] { sim::check(runs++ > 0, "not the first time"); });
  ASSERT_TRUE(r.failed);
  EXPECT_NE(r.text().find("not deterministic"), std::string::npos) << r.text();
}

TEST(sim, no_seeds_are_no_runs) {
  int runs = 0;
  const auto r = sim::explore(0, [&runs] { ++runs; });
  EXPECT_FALSE(r.failed);
  EXPECT_EQ(runs, 0);
}

// --- what is found ---

// A withdrawal that looks, waits, and then takes: two of them may both have looked.
rota::task<> withdraw(int& balance, int amount) {
  if (balance < amount) co_return;
  co_await rota::suspend();
  balance -= amount;
}

rota::task<> two_withdrawals(int& balance) {
  rota::task_group g;
  g.spawn(withdraw(balance, 80));
  co_await rota::suspend();
  co_await rota::suspend();
  g.spawn(withdraw(balance, 80));
  co_await g.join();
}

void overdraw() {
  int balance = 100;
  rota::run(two_withdrawals(balance), workers(2));
  sim::check(balance >= 0, "the account is not overdrawn");
}

TEST(sim, a_bug_of_some_seeds_is_found_and_comes_again_with_its_seed) {
  const auto found = sim::explore(2'000, overdraw);
  ASSERT_TRUE(found.failed) << found.text();
  EXPECT_EQ(found.failure->kind, failure_kind::check);
  EXPECT_GT(found.seed, 1u) << "every seed shows it, so this test shows little";

  const auto again = sim::run(found.seed, overdraw);
  ASSERT_TRUE(again.failed);
  EXPECT_EQ(again.failure->message, found.failure->message);
  EXPECT_EQ(again.failure->token, found.failure->token);
  EXPECT_EQ(again.seed, found.seed);

  const auto replayed = sim::replay(found.failure->token, overdraw);
  ASSERT_TRUE(replayed.failed);
  EXPECT_EQ(replayed.failure->message, found.failure->message);

  // The seeds before it pass.
  EXPECT_FALSE(sim::run(found.seed - 1, overdraw).failed);
  EXPECT_FALSE(sim::explore(found.seed - 1, overdraw).failed);
}

TEST(sim, the_report_names_seed_place_and_log) {
  const auto r = sim::run(42, program([]() -> rota::task<> {
                            co_await rota::sleep_for(90s);
                            sim::note("about to fail");
                            sim::check(false, "never so");
                          }));
  ASSERT_TRUE(r.failed);
  const std::string text = r.text();
  EXPECT_NE(text.find("seed 42 fails: check failed"), std::string::npos) << text;
  EXPECT_NE(text.find("sim_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("never so"), std::string::npos) << text;
  EXPECT_NE(text.find("   90.0"), std::string::npos) << text;
  EXPECT_NE(text.find("about to fail"), std::string::npos) << text;
  EXPECT_EQ(r.log.find("about to fail"), r.log.rfind("about to fail")) << "a log is of one run";
}

TEST(sim, a_deadlock_of_tasks_is_an_exception_that_names_them) {
  const auto crossed = [] {
    rota::async_mutex a;
    rota::async_mutex b;
    const auto both = [](rota::async_mutex& first, rota::async_mutex& second) -> rota::task<> {
      auto one = co_await first.lock();
      co_await rota::suspend();
      auto two = co_await second.lock();
    };
    rota::run(
        [](auto take, rota::async_mutex& x, rota::async_mutex& y) -> rota::task<> {
          rota::task_group g;
          g.spawn(take(x, y));
          g.spawn(take(y, x));
          co_await g.join();
        }(both, a, b),
        workers(2));
  };
  const auto found = sim::explore(1'000, crossed);
  ASSERT_TRUE(found.failed);
  EXPECT_EQ(found.failure->kind, failure_kind::exception);
  EXPECT_NE(found.text().find("deadlock"), std::string::npos) << found.text();
  EXPECT_NE(found.text().find("mutex"), std::string::npos) << found.text();
}

TEST(sim, a_deadlock_can_be_caught_by_the_program) {
  expect_passes(50, [] {
    bool reported = false;
    try {
      rota::channel<int> nobody_sends{1};
      rota::run([](rota::channel<int>& c) -> rota::task<> { co_await c.receive(); }(nobody_sends),
                workers(2));
    } catch (const rota::deadlock&) {
      reported = true;
    }
    sim::check(reported, "the deadlock is reported");
  });
}

TEST(sim, a_leak_is_found) {
  const auto r = sim::run(1, program([]() -> rota::task<> {
                            int* volatile forgotten = new int(1);
                            sim::check(*forgotten == 1, "used");
                            co_return;
                          }));
  ASSERT_TRUE(r.failed);
  EXPECT_EQ(r.failure->kind, failure_kind::leak);
}

TEST(sim, a_program_that_never_ends_is_a_livelock) {
  sim::options few;
  few.max_steps = 5'000;
  few.shrink = false;
  const auto r = sim::run(1, program([]() -> rota::task<> {
                            for (;;) co_await rota::suspend();
                          }),
                          few);
  ASSERT_TRUE(r.failed);
  EXPECT_EQ(r.failure->kind, failure_kind::livelock);
  EXPECT_LT(r.steps, 15'000u);
}

TEST(sim, an_assertion_of_the_runtime_is_a_failure_of_the_run) {
  const auto r = sim::run(1, program([]() -> rota::task<> {
                            rota::task_group g;
                            g.spawn([]() -> rota::task<> { co_return; }());
                            co_await rota::suspend();
                            // Left without join().
                          }));
  ASSERT_TRUE(r.failed);
  EXPECT_EQ(r.failure->kind, failure_kind::assertion) << r.text();
}

TEST(sim, chance_is_the_seeds) {
  std::array<int, 3> drawn{};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto r = sim::run(seed, [&drawn] {
      const unsigned n = sim::choose(3);
      sim::check(n < 3, "in range");
      ++drawn[n];
    });
    ASSERT_FALSE(r.failed) << r.text();
  }
  EXPECT_GT(drawn[0], drawn[1] + drawn[2]);
  EXPECT_GT(drawn[1], 0);
  EXPECT_GT(drawn[2], 0);
}

// --- time ---

TEST(sim, an_hour_of_sleep_takes_an_hour_of_virtual_time_and_no_other) {
  const auto begin = std::chrono::steady_clock::now();
  expect_passes(100, program([]() -> rota::task<> {
                  const auto before = sim::now();
                  co_await rota::sleep_for(1h);
                  const auto slept = sim::now() - before;
                  sim::check(slept >= 1h, "not less");
                  sim::check(slept < 1h + 1s, "nor much more");
                }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10min);
}

TEST(sim, sleepers_wake_in_the_order_of_their_deadlines) {
  expect_passes(100, [] {
    std::string order;
    const auto sleeper = [](std::string& out, char name, std::chrono::seconds s) -> rota::task<> {
      co_await rota::sleep_for(s);
      out += name;
    };
    rota::run(
        [](auto sleep, std::string& out) -> rota::task<> {
          rota::task_group g;
          g.spawn(sleep(out, 'c', 30s));
          g.spawn(sleep(out, 'a', 10s));
          g.spawn(sleep(out, 'b', 20s));
          co_await g.join();
        }(sleeper, order),
        workers(2));
    sim::check(order == "abc", "by deadline: " + order);
  });
}

rota::task<> several_steps() {
  for (int i = 0; i < 10; ++i) co_await rota::suspend();
}

// Work that takes no time and a limit: either may be first if threads are held up.
TEST(sim, a_timeout_and_what_it_limits_come_in_either_order) {
  sim::options slow;
  slow.stalls = 10;
  int finished = 0;
  int timed_out = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto r = sim::run(
        seed,
        [&] {
          bool late = false;
          rota::run(
              [](bool& too_late) -> rota::task<> {
                try {
                  co_await rota::with_timeout(1ms, several_steps());
                } catch (const rota::timed_out&) {
                  too_late = true;
                }
              }(late),
              workers(2));
          ++(late ? timed_out : finished);
        },
        slow);
    ASSERT_FALSE(r.failed) << r.text();
  }
  EXPECT_GT(finished, 0);
  EXPECT_GT(timed_out, 0);
}

TEST(sim, a_timeout_stops_what_would_take_too_long) {
  expect_passes(100, program([]() -> rota::task<> {
                  bool late = false;
                  try {
                    co_await rota::with_timeout(
                        10s, []() -> rota::task<> { co_await rota::sleep_for(1h); }());
                  } catch (const rota::timed_out&) {
                    late = true;
                  }
                  sim::check(late, "the limit was reached");
                }));
}

TEST(sim, advance_brings_all_that_is_due_and_nothing_else) {
  expect_passes(50, [] {
    int ticks = 0;
    bool stopped = false;
    rota::runtime rt{workers(2)};
    auto clock = rt.spawn([](int& n, bool& end) -> rota::task<> {
      try {
        for (;; ++n) co_await rota::sleep_for(1min);
      } catch (const rota::cancelled&) {
        end = true;
      }
    }(ticks, stopped));
    sim::settle();
    sim::check(ticks == 0, "nothing is due yet");
    sim::advance(59s);
    sim::check(ticks == 0, "nor a second before");
    sim::advance(2s);
    sim::check(ticks == 1, "one: " + std::to_string(ticks));
    sim::advance(1h);
    sim::check(ticks == 61, "sixty more: " + std::to_string(ticks));
    clock.request_stop();
    sim::settle();
    sim::check(stopped, "it was asked to");
  });
}

// --- what tasks wait for ---

TEST(sim, channels_lose_nothing_and_keep_the_order) {
  expect_passes(100, program([]() -> rota::task<> {
                  rota::channel<int> c{1};
                  std::vector<int> got;
                  rota::task_group g;
                  g.spawn([](rota::channel<int>& out) -> rota::task<> {
                    for (int i = 0; i < 5; ++i) co_await out.send(i);
                    out.close();
                  }(c));
                  g.spawn([](rota::channel<int>& in, std::vector<int>& all) -> rota::task<> {
                    while (auto m = co_await in.receive()) all.push_back(*m);
                  }(c, got));
                  co_await g.join();
                  sim::check(got == std::vector<int>{0, 1, 2, 3, 4}, "all, in order");
                }));
}

rota::task<> count_up(rota::async_mutex& m, int& n) {
  for (int i = 0; i < 2; ++i) {
    auto held = co_await m.lock();
    const int seen = n;
    co_await rota::suspend();
    n = seen + 1;
  }
}

TEST(sim, a_mutex_excludes_also_across_a_wait) {
  expect_passes(100, program([]() -> rota::task<> {
                  rota::async_mutex m;
                  int n = 0;
                  rota::task_group g;
                  for (int i = 0; i < 3; ++i) g.spawn(count_up(m, n));
                  co_await g.join();
                  sim::check(n == 6, "no count is lost");
                }));
}

TEST(sim, a_semaphore_admits_no_more_than_its_permits) {
  expect_passes(
      100, program([]() -> rota::task<> {
        rota::async_semaphore two{2};
        rota::sync::atomic<int> inside{0};
        rota::task_group g;
        for (int i = 0; i < 4; ++i)
          g.spawn([](rota::async_semaphore& s, rota::sync::atomic<int>& n) -> rota::task<> {
            co_await s.acquire();
            sim::check(n.fetch_add(1) < 2, "at most two");
            co_await rota::suspend();
            n.fetch_sub(1);
            s.release();
          }(two, inside));
        co_await g.join();
      }));
}

TEST(sim, the_first_failure_of_a_group_stops_the_others) {
  expect_passes(100, program([]() -> rota::task<> {
                  bool thrown = false;
                  try {
                    rota::task_group g;
                    g.spawn([]() -> rota::task<> { co_await rota::sleep_for(24h); }());
                    g.spawn([]() -> rota::task<> {
                      co_await rota::suspend();
                      throw std::runtime_error("broken");
                    }());
                    co_await g.join();
                  } catch (const std::runtime_error&) {
                    thrown = true;
                  }
                  sim::check(thrown, "the failure arrives");
                }));
}

TEST(sim, a_task_is_cancelled_wherever_it_waits) {
  expect_passes(100, program([]() -> rota::task<> {
                  rota::channel<int> empty{1};
                  bool stopped = false;
                  auto h = rota::spawn([](rota::channel<int>& c, bool& flag) -> rota::task<> {
                    try {
                      co_await rota::suspend();
                      co_await c.receive();
                    } catch (const rota::cancelled&) {
                      flag = true;
                      throw;
                    }
                  }(empty, stopped));
                  co_await rota::suspend();
                  h.request_stop();
                  bool ended_so = false;
                  try {
                    co_await h;
                  } catch (const rota::cancelled&) {
                    ended_so = true;
                  }
                  sim::check(ended_so, "it ends as cancelled");
                }));
}

TEST(sim, of_two_the_first_wins_and_the_other_is_stopped) {
  expect_passes(50, program([]() -> rota::task<> {
                  const auto after = [](std::chrono::seconds s, int v) -> rota::task<int> {
                    co_await rota::sleep_for(s);
                    co_return v;
                  };
                  const auto before = sim::now();
                  auto first = co_await rota::when_any(after(2s, 2), after(100s, 100));
                  sim::check(first.index() == 0, "the shorter sleep");
                  sim::check(sim::now() - before < 50s, "without waiting for the longer one");
                }));
}

TEST(sim, blocking_calls_and_threads_outside_are_part_of_the_run) {
  expect_passes(50, program([]() -> rota::task<> {
                  const int n = co_await rota::run_blocking([] { return 5; });
                  sim::check(n == 5, "its result");
                }));
}

TEST(sim, strict_order_has_one_order) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto r = sim::run(seed, [] {
      const auto say = [](char name) -> rota::task<> {
        for (int i = 0; i < 2; ++i) {
          sim::note(std::string(1, name));
          co_await rota::suspend();
        }
      };
      rota::run(
          [](auto talk) -> rota::task<> {
            rota::task_group g;
            for (const char c : {'a', 'b', 'c'}) g.spawn(talk(c));
            co_await g.join();
          }(say),
          rota::options{}.with_order(rota::order::strict));
    });
    ASSERT_FALSE(r.failed) << r.text();
    std::string order;
    for (const char c : r.log)
      if (c >= 'a' && c <= 'c') order += c;
    orders.insert(order);
  }
  EXPECT_EQ(orders, std::set<std::string>{"abcabc"});
}

}  // namespace
