// Values, behaviours and results end exactly once, however their runtime ends, and cowns can be
// used after it. A broken promise shows as a count that is not zero, as memory that grows, under
// AddressSanitizer, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cown/cowns.h"

namespace {

using namespace std::chrono_literals;
using rota::async_event;
using rota::cown_ptr;
using rota::make_cown;
using rota::read;
using rota::runtime;
using rota::task;
using rota::weak_cown_ptr;
using rota::when;
using rota::when_result;
using rota::test::hold;
using rota::test::tracked;

class cown_lifetime : public rota::test::on_runtimes {
 protected:
  void TearDown() override { EXPECT_EQ(tracked::alive, 0); }
};
INSTANTIATE_TEST_SUITE_P(workers, cown_lifetime, ::testing::Values(0u, 1u, 2u, 4u));

// --- values -------------------------------------------------------------------------------------

TEST_P(cown_lifetime, a_value_ends_with_the_last_pointer_once_nobody_wants_it) {
  runtime rt{options()};
  async_event open;
  auto c = make_cown<tracked>();
  auto other = c;
  hold(rt, c, open);
  when(rt, c) << [kept = tracked{}](tracked&) {};
  c.reset();
  other = nullptr;
  EXPECT_EQ(tracked::alive, 2);
  open.set();
  rt.quiesce();
  EXPECT_EQ(tracked::alive, 0);
}

TEST_P(cown_lifetime, cowns_that_a_behaviour_has_yet_to_come_to_are_kept) {
  runtime rt{options()};
  std::atomic<int> ran{0};
  for (std::size_t held = 0; held < 3; ++held) {
    async_event open;
    auto c = rota::test::sorted_cowns<tracked>(3);
    hold(rt, c[held], open);
    when(rt, c[0], read(c[1]), c[2]) << [&](tracked&, const tracked&, tracked&) { ++ran; };
    when(rt, read(c[0]), c[1], read(c[2]))
        << [&](const tracked&, tracked&, const tracked&) { ++ran; };
    c.clear();
    EXPECT_EQ(tracked::alive, 3);
    open.set();
    rt.quiesce();
    EXPECT_EQ(tracked::alive, 0);
  }
  EXPECT_EQ(ran, 6);
}

TEST_P(cown_lifetime, a_constructor_that_throws_leaves_nothing) {
  struct failing {
    tracked part;
    explicit failing(int) { throw std::runtime_error("no"); }
  };
  EXPECT_THROW(make_cown<failing>(1), std::runtime_error);
  EXPECT_EQ(tracked::alive, 0);
}

TEST_P(cown_lifetime, the_last_pointer_may_go_inside_the_behaviour_that_has_the_cown) {
  runtime rt{options()};
  for (int i = 0; i < 20; ++i) {
    auto c = make_cown<tracked>();
    auto d = make_cown<tracked>();
    when(rt, c, d) << [c, d, i](tracked&, tracked&) mutable {
      if (i % 2) c.reset();
      d.reset();
    };
  }
  rt.quiesce();
  EXPECT_EQ(tracked::alive, 0);
}

TEST_P(cown_lifetime, what_a_function_captured_ends_before_its_cowns_are_given_on) {
  struct flag_at_end {
    std::shared_ptr<bool> ended;
    explicit flag_at_end(std::shared_ptr<bool> e) : ended(std::move(e)) {}
    flag_at_end(flag_at_end&&) noexcept = default;
    ~flag_at_end() {
      if (ended) *ended = true;  // not atomic: the cown guards it
    }
  };
  runtime rt{options()};
  auto c = make_cown<int>(0);
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    auto ended = std::make_shared<bool>(false);
    if (i % 2)
      when(rt, c) << [f = flag_at_end{ended}](int&) {};
    else
      when(rt, c) << [f = flag_at_end{ended}](int&) -> task<> { co_await rota::suspend(); };
    when(rt, c) << [&late, ended](int&) { late += !*ended; };
  }
  rt.quiesce();
  EXPECT_EQ(late, 0);
}

// --- destructors that do things -----------------------------------------------------------------

// A value that says goodbye to another cown when it ends.
struct farewell {
  runtime& rt;  // it may end on any thread
  cown_ptr<int> to;
  tracked counted;
  farewell(runtime& r, cown_ptr<int> c) : rt(r), to(std::move(c)) {}
  farewell(const farewell&) = delete;
  farewell& operator=(const farewell&) = delete;
  ~farewell() {
    when(rt, to) << [](int& x) { ++x; };
  }
};

// The receiver is overloaded, so that those who send to it get a mutor.
struct busy_receiver {
  explicit busy_receiver(runtime& rt) {
    cown.set_threshold(0);
    hold(rt, cown, end);
    when(rt, cown) << [](int&) {};
  }
  cown_ptr<int> cown = make_cown<int>(0);
  async_event end;
};

TEST_P(cown_lifetime, a_value_may_send_from_its_destructor) {
  constexpr int rounds = 50;
  runtime rt{options()};
  busy_receiver r{rt};
  for (int i = 0; i < rounds; ++i) {
    auto a = make_cown<farewell>(rt, r.cown);
    auto b = make_cown<farewell>(rt, r.cown);
    when(rt, a, b) << [](farewell&, farewell&) {};
    when(rt, read(a)) << [](const farewell&) {};
    when(rt, b) << [](farewell&) -> task<> { co_await rota::suspend(); };
  }
  rt.quiesce();
  r.end.set();
  rt.quiesce();
  EXPECT_EQ(r.cown.unguarded(), 2 * rounds);
  EXPECT_EQ(tracked::alive, 0);
}

TEST_P(cown_lifetime, a_result_that_nobody_wants_may_send_from_its_destructor) {
  constexpr int rounds = 50;
  runtime rt{options()};
  busy_receiver r{rt};
  auto c = make_cown<int>(0);
  for (int i = 0; i < rounds; ++i) {
    when_result<cown_ptr<farewell>> dropped =
        when(rt, c) << [&](int&) { return make_cown<farewell>(rt, r.cown); };
  }
  rt.quiesce();
  r.end.set();
  rt.quiesce();
  EXPECT_EQ(r.cown.unguarded(), rounds);
  EXPECT_EQ(tracked::alive, 0);
}

// --- weak pointers ------------------------------------------------------------------------------

TEST_P(cown_lifetime, a_weak_pointer_knows_whether_the_cown_is_there) {
  runtime rt{options()};
  async_event open;
  weak_cown_ptr<tracked> none;
  EXPECT_FALSE(none.lock());
  auto c = make_cown<tracked>();
  weak_cown_ptr<tracked> weak{c};
  weak_cown_ptr<tracked> copy = weak;
  weak_cown_ptr<tracked> moved = std::move(copy);
  EXPECT_EQ(moved.lock(), c);
  hold(rt, c, open);
  c.reset();
  EXPECT_TRUE(weak.lock()) << "a behaviour has it";
  open.set();
  rt.quiesce();
  EXPECT_FALSE(weak.lock());
  none = moved;
  EXPECT_FALSE(none.lock());
}

TEST_P(cown_lifetime, a_weak_pointer_breaks_a_circle) {
  struct node {
    tracked counted;
    cown_ptr<node> child;
    weak_cown_ptr<node> parent;
  };
  runtime rt{options()};
  std::atomic<bool> up{false};
  {
    auto parent = make_cown<node>();
    auto child = make_cown<node>();
    when(rt, parent, child) << [=](node& p, node& c) {
      p.child = child;
      c.parent = parent;
    };
    when(rt, child) << [&up](node& c) {
      if (auto p = c.parent.lock()) when(p) << [&up](node& n) { up = n.child != nullptr; };
    };
    rt.quiesce();
  }
  EXPECT_TRUE(up);
  EXPECT_EQ(tracked::alive, 0);
}

TEST_P(cown_lifetime, weak_pointers_are_asked_while_the_last_pointer_goes) {
  runtime rt{options()};
  for (int i = 0; i < 100; ++i) {
    auto c = make_cown<tracked>();
    const weak_cown_ptr<tracked> weak{c};
    std::thread asks([&] {
      for (int k = 0; k < 20; ++k)
        if (auto locked = weak.lock()) when(rt, locked) << [](tracked&) {};
    });
    when(rt, c) << [](tracked&) {};
    c.reset();
    asks.join();
  }
  rt.quiesce();
  EXPECT_EQ(tracked::alive, 0);
}

// --- ends of runtimes ---------------------------------------------------------------------------

TEST_P(cown_lifetime, a_runtime_that_cancels_drops_what_has_not_begun) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  async_event never;
  std::vector<when_result<>> results;
  {
    runtime rt{options()};
    hold(rt, a, never);
    for (int i = 0; i < 10; ++i) {
      results.push_back(when(rt, a, b) << [t = tracked{}](int& x, int&) { ++x; });
      results.push_back(when(rt, read(a)) << [t = tracked{}](const int&) {});
      results.push_back(when(rt, a) << [t = tracked{}](int&) -> task<> { co_return; });
      (when(rt, b) << [t = tracked{}](int&) {}) + (when(rt, a) << [t = tracked{}](int&) {});
    }
    rt.quiesce();
    EXPECT_GT(tracked::alive, 0);
  }
  EXPECT_EQ(tracked::alive, 0);
  EXPECT_EQ(a.unguarded(), 0);
  EXPECT_EQ(a.counters().pending + b.counters().pending, 0u);
  // The results tell, in another runtime if need be.
  int cancelled = 0;
  const auto look = [&]() -> task<> {
    for (auto& r : results) {
      try {
        co_await r;
      } catch (const rota::cancelled&) {
        ++cancelled;
      }
    }
  };
  rota::run(look());
  EXPECT_EQ(cancelled, 30);
}

TEST_P(cown_lifetime, a_runtime_that_drains_runs_everything) {
  auto c = make_cown<int>(0);
  auto d = make_cown<int>(0);
  {
    runtime rt{options().with_at_exit(rota::at_exit::drain)};
    for (int i = 0; i < 100; ++i) {
      when(rt, c) << [t = tracked{}, d](int& x) {
        ++x;
        when(d) << [](int& y) { ++y; };
      };
      when(rt, c, read(d)) << [](int& x, const int&) -> task<> {
        co_await rota::suspend();
        ++x;
      };
    }
  }
  EXPECT_EQ(c.unguarded(), 200);
  EXPECT_EQ(d.unguarded(), 100);
}

TEST_P(cown_lifetime, muted_cowns_are_free_after_the_end_of_a_runtime) {
  auto sender = make_cown<int>(0);
  cown_ptr<int> receiver;
  {
    runtime rt{options()};
    busy_receiver r{rt};
    receiver = r.cown;
    when(rt, sender) << [receiver](int&) { when(receiver) << [t = tracked{}](int&) {}; };
    when(rt, sender) << [t = tracked{}](int&) {};
    rt.quiesce();
    EXPECT_TRUE(sender.counters().muted);
    r.end.set();
    r.end.reset();
  }
  EXPECT_EQ(tracked::alive, 0);
  runtime second{options()};
  when(second, sender, receiver) << [](int& x, int& y) { x = y = 1; };
  second.quiesce();
  EXPECT_EQ(sender.unguarded() + receiver.unguarded(), 2);
  EXPECT_FALSE(sender.counters().muted);
  EXPECT_FALSE(receiver.counters().overloaded);
}

TEST_P(cown_lifetime, pressure_ends_with_its_runtime) {
  auto sender = make_cown<int>(0);
  auto receiver = make_cown<int>(0);
  std::optional<rota::pressure> longer;
  for (const auto at_exit : {rota::at_exit::cancel, rota::at_exit::drain}) {
    {
      runtime rt{options().with_at_exit(at_exit)};
      longer.emplace(rt, receiver);
      for (int i = 0; i < 2; ++i)
        when(rt, sender) << [receiver](int& x) {
          ++x;
          when(receiver) << [](int&) {};
        };
      EXPECT_TRUE(rota::test::eventually([&] { return sender.counters().muted; }));
    }
    EXPECT_FALSE(sender.counters().muted);
    EXPECT_FALSE(receiver.counters().overloaded);
  }
  EXPECT_GE(sender.unguarded(), 1 + 2);  // who drains runs the second as well
}

// Two behaviours hold a cown each and wait for the other's.
TEST_P(cown_lifetime, a_runtime_that_is_in_a_deadlock_of_behaviours_can_be_destroyed) {
  auto a = make_cown<tracked>();
  auto b = make_cown<tracked>();
  std::atomic<bool> ran{false};
  when_result<int> result;
  {
    const auto program = [&]() -> task<> {
      result = when() << []() -> task<int> {
        async_event never;
        co_await never.wait();
        co_return 1;
      };
      // Named first, for g++ 12 (docs/compilers.md).
      auto outer = [&, t = tracked{}](tracked&) -> task<> {
        tracked local;
        auto inner = [&, u = tracked{}](tracked&) -> task<> {
          when(read(b)) << [v = tracked{}](const tracked&) {};
          auto innermost = [&, w = tracked{}](tracked&) { ran = true; };
          co_await (when(a) << std::move(innermost));
        };
        co_await (when(b) << std::move(inner));
      };
      co_await (when(a) << std::move(outer));
    };
    runtime rt{options()};
    EXPECT_THROW(rt.run(program()), rota::deadlock);
    when(rt, a) << [&](tracked&) { ran = true; };
  }
  EXPECT_EQ(tracked::alive, 2);
  EXPECT_FALSE(ran);
  // Both have been given back, and results that never came are cancelled.
  runtime second{options()};
  const auto look = [&]() -> task<int> { co_return co_await result; };
  EXPECT_THROW(second.run(look()), rota::cancelled);
  when(second, a, b) << [&](tracked&, tracked&) { ran = true; };
  second.quiesce();
  EXPECT_TRUE(ran);
  a.reset();
  b.reset();
}

TEST_P(cown_lifetime, pressure_after_a_deadlock_ends_with_the_runtime_too) {
  auto c = make_cown<int>(0);
  std::optional<rota::pressure> longer;
  {
    async_event never;
    runtime rt{options()};
    const auto program = [&]() -> task<> { co_await never.wait(); };
    EXPECT_THROW(rt.run(program()), rota::deadlock);
    longer.emplace(rt, c);
  }
  longer.reset();
  EXPECT_FALSE(c.counters().overloaded);
}

// The pool stops while the function of a behaviour still makes its coroutine.
TEST_P(cown_lifetime, a_coroutine_that_was_made_and_never_began_gives_its_cowns_back) {
  auto c = make_cown<int>(0);
  when_result<> result;
  {
    async_event never;
    runtime rt{options()};
    const auto stuck = [&]() -> task<> { co_await never.wait(); };
    EXPECT_THROW(rt.run(stuck()), rota::deadlock);
    std::atomic<bool> inside{false};
    result = when(rt, c) << [&inside, t = tracked{}](int&) -> task<> {
      inside = true;
      std::this_thread::sleep_for(30ms);  // the runtime is on its way to the end
      const auto body = [](tracked) -> task<> { co_await rota::suspend(); };
      return body(tracked{});
    };
    ASSERT_TRUE(rota::test::eventually([&] { return inside.load(); }));
  }
  EXPECT_TRUE(result.done());
  EXPECT_EQ(c.counters().pending, 0u);
}

TEST_P(cown_lifetime, a_runtime_may_end_on_a_worker_of_another) {
  auto c = make_cown<tracked>();
  async_event never;
  const auto program = [&]() -> task<> {
    const auto stuck = [&]() -> task<> {
      co_await (when(c) << [&](tracked&) -> task<> { co_await never.wait(); });
    };
    runtime inner{options()};
    inner.spawn(stuck()).detach();
    rota::test::eventually([&] { return c.counters().pending == 1; });
    co_return;
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(c.counters().pending, 0u);
  c.reset();
}

// --- memory -------------------------------------------------------------------------------------

#if !defined(ROTA_ASAN) && !defined(ROTA_TSAN)  // LeakSanitizer sees it, and brings its own heap
std::uint64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_P(cown_lifetime, nothing_is_left_in_memory) {
  const auto round = [&] {
    runtime rt{options()};
    std::vector<cown_ptr<tracked>> all;
    for (int i = 0; i < 20; ++i) all.push_back(make_cown<tracked>());
    all[0].set_threshold(1);
    for (std::size_t i = 0; i < 100; ++i) {
      const auto& a = all[i % 20];
      const auto& b = all[i * 7 % 20];
      when(rt, a, b) << [to = all[0]](tracked&, tracked&) { when(to) << [](tracked&) {}; };
      when(rt, read(all)) << [](rota::each<const tracked>) {};
      when(rt, a, read(b)) << [](tracked&, const tracked&) -> task<> { co_await rota::suspend(); };
      (when(rt, a) << [](tracked&) {}) + (when(rt, read(a), b) << [](const tracked&, tracked&) {});
      when_result<int> r = when(rt, b) << [](tracked&) { return 1; };
      const weak_cown_ptr<tracked> weak{a};
    }
    rt.quiesce();
  };
  for (int i = 0; i < 10; ++i) round();
  const std::uint64_t before = heap_bytes();
  for (int i = 0; i < 100; ++i) round();
  const std::uint64_t after = heap_bytes();
  // One kind of behaviour that stays would be 100 * 100 blocks of 64 bytes or more. How many are
  // kept for reuse, in chunks of 64 KiB, depends on who was how fast.
  EXPECT_LT(after, before + 320 * 1024);
}
#endif

}  // namespace
