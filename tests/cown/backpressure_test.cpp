// `bounded_queues`: who sends faster than the receiver works is muted until it has caught up, and
// is always unmuted. A broken promise shows as a queue that is too long, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
using rota::try_when;
using rota::when;
using rota::test::eventually;
using rota::test::hold;
using rota::test::sorted_cowns;

// --- how long queues get ------------------------------------------------------------------------

// Messages on their way from senders to one receiver, by way of proxies that only pass them on.
struct flood {
  static constexpr int senders = 100;
  int messages = rota::test::sanitized ? 30 : 150;  // of each

  cown_ptr<std::uint64_t> receiver = make_cown<std::uint64_t>(0u);
  std::vector<cown_ptr<int>> proxies;
  std::vector<cown_ptr<int>> from;
  std::atomic<int> pending{0};
  std::atomic<int> most{0};
  std::atomic<int> received{0};
  bool entangled = false;

  explicit flood(std::size_t proxy_count) {
    for (std::size_t i = 0; i < proxy_count; ++i) proxies.push_back(make_cown<int>(0));
    for (int i = 0; i < senders; ++i) from.push_back(make_cown<int>(0));
  }

  void run(runtime& rt) {
    for (auto& s : from) when(rt, s) << [this, s](int& n) { send(s, n); };
    rt.quiesce();
    EXPECT_EQ(received, senders * messages);
    for (auto& s : from) EXPECT_FALSE(s.counters().muted);
  }

 private:
  void send(const cown_ptr<int>& me, int& sent) {
    const int now = ++pending;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    pass_on(0);
    if (++sent < messages) when(me) << [this, me](int& n) { send(me, n); };
  }
  void pass_on(std::size_t proxy) {
    if (proxy < proxies.size())
      when(proxies[proxy]) << [this, proxy](int&) { pass_on(proxy + 1); };
    else
      when(receiver) << [this](std::uint64_t& x) { receive(x); };
  }
  void receive(std::uint64_t& x) {
    for (int i = 0; i < 500; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
    if (!entangled) return count();
    auto& sender = from[(x >> 33) % senders];
    when(receiver, sender) << [this](std::uint64_t&, int&) { count(); };
  }
  void count() {
    --pending;
    ++received;
  }
};

class bounded_queues : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, bounded_queues, ::testing::Values(0u, 1u, 2u, 4u));

// A sender adds one message to a queue that is too long, and is muted then.
TEST_P(bounded_queues, two_messages_a_sender_are_pending_at_most) {
  flood f{0};
  runtime rt{options()};
  f.run(rt);
  EXPECT_LE(f.most, 2 * flood::senders);
}

// Each stage may have some more than its threshold. Without backpressure it is nearly all of them.
TEST_P(bounded_queues, also_behind_proxies_that_only_pass_on) {
  flood f{3};
  runtime rt{options()};
  f.run(rt);
  EXPECT_LE(f.most, 3 * flood::senders);
}

TEST_P(bounded_queues, a_receiver_that_needs_its_senders_gets_them) {
  flood f{0};
  f.entangled = true;
  runtime rt{options()};
  f.run(rt);
}

// Senders of a receiver that is never idle, on one worker: all that is sent, and when.
struct turns {
  static constexpr int senders = 100;
  static constexpr int messages = 100;  // of each
  cown_ptr<int> receiver = make_cown<int>(0);
  std::vector<cown_ptr<int>> from;
  std::uint64_t fewest_muted = senders;  // while all have more to send
  int longest_wait = 0;                  // of a sender, in messages that were received meanwhile

  explicit turns(runtime& rt) {
    for (int i = 0; i < senders; ++i) from.push_back(make_cown<int>(0));
    for (auto& s : from) when(rt, s) << [this, s](int& n) { send(s, n, 0); };
    rt.quiesce();
    EXPECT_EQ(receiver.unguarded(), senders * messages);
  }

 private:
  void send(const cown_ptr<int>& me, int& sent, int before) {
    const int now = receiver.unguarded();
    longest_wait = std::max(longest_wait, now - before);
    when(receiver) << [this](int& received) {
      ++received;
      if (received > senders && received < senders * messages / 2)
        fewest_muted = std::min(fewest_muted, rota::count_pressure().muted);
    };
    if (++sent < messages) when(me) << [this, me, now](int& n) { send(me, n, now); };
  }
};

// All at once would fill the queue again, and be muted again for one message each.
TEST(backpressure, a_receiver_that_has_caught_up_frees_a_few_of_many) {
  runtime rt{rota::test::with_workers(1)};
  EXPECT_GT(turns{rt}.fewest_muted, turns::senders / 2u);
}

// Each is freed when its turn comes: after 32 messages of each that was muted before it, at most,
// and the queue.
TEST(backpressure, a_muted_sender_waits_no_longer_than_those_before_it_take) {
  runtime rt{rota::test::with_workers(1)};
  EXPECT_LE(turns{rt}.longest_wait, 32 * turns::senders + 64);
}

// The other tests would notice: without muting the queue does get longer.
TEST(backpressure, switched_off_bounds_nothing) {
  flood f{0};
  f.messages = 100;
  runtime rt{rota::test::with_workers(1).with_backpressure(false)};
  f.run(rt);
  EXPECT_GT(f.most, 10 * flood::senders);
}

// --- muting, step by step -----------------------------------------------------------------------

// A receiver that is overloaded, and held by a behaviour that waits for an event.
struct overloaded {
  explicit overloaded(runtime& rt, cown_ptr<int> which = make_cown<int>(0)) : cown(which) {
    cown.set_threshold(16);
    async_event first;
    hold(rt, cown, first);
    when(rt, cown) << [this](int&) -> task<> { co_await end.wait(); };
    for (int i = 0; i < 20; ++i) when(rt, cown) << [](int& x) { ++x; };
    first.set();
    rt.quiesce();
    EXPECT_TRUE(cown.counters().overloaded);
    EXPECT_EQ(cown.counters().pending, 21u);
  }
  cown_ptr<int> cown;
  async_event end;
};

class muting : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, muting, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(muting, of_a_sender_lasts_until_the_receiver_has_caught_up) {
  runtime rt{options()};
  auto sender = make_cown<int>(0);
  overloaded r{rt};
  when(rt, sender) << [&](int& n) {
    when(r.cown) << [](int&) {};
    n = 1;
  };
  when(rt, sender) << [](int& n) { n = 2; };
  rt.quiesce();
  EXPECT_TRUE(sender.counters().muted);
  EXPECT_EQ(sender.counters().pending, 1u);
  EXPECT_EQ(sender.unguarded(), 1);
  r.end.set();
  rt.quiesce();
  EXPECT_FALSE(sender.counters().muted);
  EXPECT_FALSE(r.cown.counters().overloaded);
  EXPECT_EQ(sender.unguarded(), 2);
  EXPECT_EQ(r.cown.unguarded(), 20);
}

TEST_P(muting, is_passed_on_to_those_who_send_to_a_muted_cown) {
  runtime rt{options()};
  auto c = sorted_cowns<int>(3);
  overloaded r{rt};
  when(rt, c[1]) << [&](int&) { when(r.cown) << [](int&) {}; };
  rt.quiesce();
  for (const std::size_t i : {0u, 2u}) when(rt, c[i]) << [&](int&) { when(c[1]) << [](int&) {}; };
  rt.quiesce();
  for (auto& cown : c) EXPECT_TRUE(cown.counters().muted);
  for (auto& cown : c) when(rt, cown) << [](int& x) { x = 1; };
  rt.quiesce();
  for (auto& cown : c) EXPECT_EQ(cown.unguarded(), 0);
  r.end.set();
  rt.quiesce();
  for (auto& cown : c) {
    EXPECT_FALSE(cown.counters().muted);
    EXPECT_EQ(cown.unguarded(), 1);
  }
}

TEST_P(muting, spares_cowns_that_are_read_released_or_receive_themselves) {
  runtime rt{options()};
  auto shared = make_cown<int>(0);
  auto given_back = make_cown<int>(0);
  overloaded r{rt};
  when(rt, read(shared), given_back) << [&](const int&, int&) {
    rota::release(given_back);
    when(r.cown) << [](int&) {};
  };
  when(rt, given_back) << [&](int&) { when(given_back, r.cown) << [](int&, int&) {}; };
  rt.quiesce();
  EXPECT_FALSE(shared.counters().muted);
  EXPECT_FALSE(given_back.counters().muted);
  r.end.set();
  rt.quiesce();
  EXPECT_EQ(r.cown.counters().pending, 0u);
}

TEST_P(muting, ends_when_somebody_of_high_priority_needs_the_cown) {
  // The receiver is once less and once greater than its sender.
  for (const std::size_t receiver : {0u, 1u}) {
    runtime rt{options()};
    auto c = sorted_cowns<int>(2);
    auto sender = c[1 - receiver];
    overloaded r{rt, c[receiver]};
    when(rt, sender) << [&](int&) { when(r.cown) << [](int&) {}; };
    rt.quiesce();
    EXPECT_TRUE(sender.counters().muted);
    std::atomic<bool> met{false};
    when(rt, r.cown, sender) << [&](int&, int&) { met = true; };
    r.end.set();
    rt.quiesce();
    EXPECT_TRUE(met);
    EXPECT_FALSE(sender.counters().muted);
  }
}

TEST_P(muting, with_coroutines_and_batches_as_senders) {
  runtime rt{options()};
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  overloaded r{rt};
  when(rt, a) << [&](int&) -> task<> {
    co_await rota::suspend();
    when(r.cown) << [](int&) {};
    co_await rota::suspend();
  };
  (when(rt, b) << [&](int&) { when(r.cown) << [](int&) {}; }) + (when(rt, b) << [&](int& x) {
    ++x;
    (when(r.cown) << [](int&) {}) + (when(r.cown) << [](int&) {});
  });
  for (auto* c : {&a, &b}) when(rt, *c) << [](int& x) { x += 10; };
  rt.quiesce();
  EXPECT_TRUE(a.counters().muted);
  EXPECT_TRUE(b.counters().muted);
  EXPECT_EQ(b.unguarded(), 1) << "the members of a batch come together";
  r.end.set();
  rt.quiesce();
  EXPECT_EQ(a.unguarded(), 10);
  EXPECT_EQ(b.unguarded(), 11);
}

// A receiver whose behaviours wait, each for its own event, so that its queue has the length that a
// test wants. It has muted two senders, and caught up so far that the first of them is free.
struct caught_up {
  explicit caught_up(runtime& home) : rt(home) {
    cown.set_threshold(4);
    for (int i = 0; i < 6; ++i) add();
    for (auto& s : senders) {
      when(rt, s) << [this](int&) { when(cown) << [](int&) {}; };
      rt.quiesce();
      EXPECT_TRUE(s.counters().muted);
    }
    // Two of ours, and theirs, which do not wait: so two are added behind them.
    for (int i = 0; i < 2; ++i) add();
    for (int i = 0; i < 6; ++i) open();
    EXPECT_EQ(cown.counters().pending, 2u);
    EXPECT_FALSE(senders[0].counters().muted);
    EXPECT_TRUE(senders[1].counters().muted);
    EXPECT_TRUE(cown.counters().overloaded) << "for whom it has muted";
  }
  ~caught_up() {
    while (opened < gates.size()) open();
    EXPECT_FALSE(senders[1].counters().muted);
    EXPECT_FALSE(cown.counters().overloaded);
  }
  caught_up(const caught_up&) = delete;
  caught_up& operator=(const caught_up&) = delete;

  void add() {
    gates.push_back(std::make_unique<async_event>());
    when(rt, cown) << [gate = gates.back().get()](int&) -> task<> { co_await gate->wait(); };
    rt.quiesce();
  }
  void open() {
    gates[opened++]->set();
    rt.quiesce();
  }

  runtime& rt;
  cown_ptr<int> cown = make_cown<int>(0);
  std::array<cown_ptr<int>, 2> senders{make_cown<int>(0), make_cown<int>(0)};
  std::vector<std::unique_ptr<async_event>> gates;
  std::size_t opened = 0;
};

TEST_P(muting, ends_in_turn_however_much_others_send) {
  runtime rt{options()};
  caught_up r{rt};
  r.add();
  for (int i = 0; i < 32 && r.senders[1].counters().muted; ++i) {
    r.add();
    EXPECT_EQ(r.cown.counters().pending, 4u) << "between half of the threshold and the threshold";
    r.open();
  }
  EXPECT_FALSE(r.senders[1].counters().muted);
}

TEST_P(muting, of_new_senders_begins_again_above_the_threshold_and_lasts) {
  runtime rt{options()};
  caught_up r{rt};
  const std::array late{make_cown<int>(0), make_cown<int>(0)};
  const auto send = [&](const cown_ptr<int>& from) {
    when(rt, from) << [&](int&) { when(r.cown) << [](int&) {}; };
    rt.quiesce();
    return from.counters().muted;
  };
  r.add();
  r.add();
  EXPECT_EQ(r.cown.counters().pending, 4u);
  EXPECT_FALSE(send(late[0])) << "there is room";
  EXPECT_TRUE(send(late[0])) << "5 are too many";
  r.open();
  r.open();
  EXPECT_EQ(r.cown.counters().pending, 4u);
  EXPECT_TRUE(send(late[1])) << "it has not caught up";
}

TEST_P(muting, begins_above_the_threshold_and_ends_at_half_of_it) {
  for (const std::uint32_t threshold : {0u, 1u, 5u, 6u, 8u, ~0u}) {
    runtime rt{options()};
    auto c = make_cown<int>(0);
    c.set_threshold(threshold);
    async_event open;
    hold(rt, c, open);
    std::atomic<int> wrong{0};
    for (std::uint32_t left = 8; left > 0; --left)
      when(rt, c) << [&, left](int&) {
        const rota::cown_counters now = c.counters();
        const bool lasts = threshold < 8 && left > threshold / 2;
        wrong += now.pending != left || now.overloaded != lasts;
      };
    open.set();
    rt.quiesce();
    EXPECT_EQ(wrong, 0) << "threshold " << threshold;
    EXPECT_FALSE(c.counters().overloaded);
    EXPECT_EQ(c.counters().passed, 9u);
  }
}

TEST_P(muting, ends_with_the_last_reader_whoever_that_is) {
  for (const bool reverse : {false, true}) {
    runtime rt{options()};
    auto c = make_cown<int>(0);
    c.set_threshold(1);
    async_event may_end[2];
    for (async_event& e : may_end)
      when(rt, read(c)) << [&e](const int&) -> task<> { co_await e.wait(); };
    rt.quiesce();
    EXPECT_TRUE(c.counters().overloaded);
    for (int i = 0; i < 2; ++i) {
      may_end[reverse ? 1 - i : i].set();
      rt.quiesce();
    }
    EXPECT_FALSE(c.counters().overloaded);
    EXPECT_TRUE(try_when(rt, c) << [](int&) {});
    rt.quiesce();
  }
}

// --- admission ----------------------------------------------------------------------------------

class admission : public rota::test::on_runtimes {};
INSTANTIATE_TEST_SUITE_P(workers, admission, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(admission, keeps_the_queue_below_the_threshold_and_those_who_ask) {
  constexpr int tasks = 3;
  auto c = make_cown<int>(0);
  c.set_threshold(5);
  std::atomic<std::uint32_t> most{0};
  const auto produce = [&]() -> task<> {
    for (int i = 0; i < 200; ++i) {
      co_await rota::admit(c);
      when(c) << [&](int& x) {
        ++x;
        most = std::max(most.load(), c.counters().pending);
      };
    }
  };
  const auto program = [&]() -> task<> {
    rota::task_group all;
    for (int i = 0; i < tasks; ++i) all.spawn(produce());
    co_await all.join();
  };
  runtime rt{options()};
  rt.run(program());
  rt.quiesce();
  EXPECT_EQ(c.unguarded(), 200 * tasks);
  EXPECT_LT(most, 5u + tasks);
}

TEST_P(admission, is_first_come_first_served) {
  auto c = make_cown<int>(0);
  c.set_threshold(1);
  async_event open;
  std::vector<int> order;
  const auto ask = [&](int who) -> task<> {
    co_await rota::admit(c);
    co_await (when(c) << [&, who](int&) { order.push_back(who); });
  };
  runtime rt{options()};
  hold(rt, c, open);
  for (int i = 0; i < 5; ++i) {
    rt.spawn(ask(i)).detach();
    rt.quiesce();
  }
  EXPECT_TRUE(order.empty());
  open.set();
  rt.quiesce();
  std::sort(order.begin(), order.end());  // an empty queue lets in all, who then race
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_P(admission, waits_for_a_muted_cown_as_well) {
  runtime rt{options()};
  auto sender = make_cown<int>(0);
  overloaded r{rt};
  when(rt, sender) << [&](int&) { when(r.cown) << [](int&) {}; };
  rt.quiesce();
  ASSERT_TRUE(sender.counters().muted);
  std::atomic<bool> let_in{false};
  const auto ask = [&]() -> task<> {
    co_await rota::admit(sender);
    let_in = true;
  };
  rt.spawn(ask()).detach();
  rt.quiesce();
  EXPECT_FALSE(let_in);
  r.end.set();
  rt.quiesce();
  EXPECT_TRUE(let_in);
}

TEST_P(admission, can_be_stopped_and_lets_the_others_in) {
  auto c = make_cown<int>(0);
  c.set_threshold(1);
  async_event open;
  std::atomic<int> let_in{0};
  std::atomic<int> stopped{0};
  const auto ask = [&]() -> task<> {
    try {
      co_await rota::admit(c);
      ++let_in;
    } catch (const rota::cancelled&) {
      ++stopped;
    }
  };
  runtime rt{options()};
  hold(rt, c, open);
  std::vector<rota::join_handle<>> all;
  for (int i = 0; i < 3; ++i) all.push_back(rt.spawn(ask()));
  rt.quiesce();
  all[1].request_stop();
  rt.quiesce();
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(let_in, 0);
  open.set();
  rt.quiesce();
  EXPECT_EQ(let_in, 2);
}

TEST_P(admission, try_when_sends_only_if_all_have_room) {
  auto a = make_cown<int>(0);
  auto b = make_cown<int>(0);
  a.set_threshold(3);
  async_event open;
  runtime rt{options()};
  hold(rt, a, open);
  EXPECT_TRUE(try_when(rt, a) << [](int& x) { ++x; });
  EXPECT_TRUE((try_when(rt, b, a) << [](int& y, int& x) { ++x, ++y; }));
  if (b < a) rt.quiesce();  // it has come to a
  if (a < b) {
    EXPECT_EQ(a.counters().pending, 3u);
  }
  EXPECT_FALSE(try_when(rt, a) << [](int& x) { x = 100; });
  EXPECT_FALSE((try_when(rt, b, read(a)) << [](int& y, const int&) { y = 100; }));
  EXPECT_TRUE(try_when(rt, read(b)) << [](const int&) {});
  open.set();
  rt.quiesce();
  EXPECT_EQ(a.unguarded(), 2);
  EXPECT_EQ(b.unguarded(), 1);
  a.set_threshold(0);
  EXPECT_TRUE(try_when(rt, a) << [](int& x) { ++x; }) << "an empty queue always has room";
  rt.quiesce();
  const auto inside = [&]() -> task<bool> { co_return try_when(a) << [](int&) {}; };
  EXPECT_TRUE(rt.run(inside()));
}

// --- pressure -----------------------------------------------------------------------------------

class pressure : public rota::test::on_runtimes {
 protected:
  // A cown whose behaviours send to `to`, twice, and count.
  static void send_twice(runtime& rt, const cown_ptr<int>& from, const cown_ptr<int>& to) {
    for (int i = 0; i < 2; ++i)
      when(rt, from) << [to](int& n) {
        ++n;
        when(to) << [](int& x) { ++x; };
      };
  }
};
INSTANTIATE_TEST_SUITE_P(workers, pressure, ::testing::Values(0u, 1u, 2u, 4u));

TEST_P(pressure, mutes_senders_as_long_as_it_lives) {
  auto sender = make_cown<int>(0);
  auto receiver = make_cown<int>(0);
  runtime rt{options()};
  {
    rota::pressure first{rt, receiver};
    EXPECT_TRUE(receiver.counters().overloaded);
    std::optional<rota::pressure> second{std::in_place, rt, receiver};
    send_twice(rt, sender, receiver);
    EXPECT_TRUE(eventually([&] { return sender.counters().muted; }));
    EXPECT_TRUE(eventually([&] { return receiver.counters().passed == 1; }));
    second.reset();
    EXPECT_TRUE(sender.counters().muted) << "one of two is left";
    rota::pressure moved{std::move(first)};
    rota::pressure assigned{rt, sender};
    assigned = std::move(moved);
    EXPECT_TRUE(sender.counters().muted || sender.counters().overloaded);
    assigned.relieve();
    EXPECT_FALSE(receiver.counters().overloaded);
  }
  rt.quiesce();
  EXPECT_FALSE(sender.counters().muted);
  EXPECT_FALSE(sender.counters().overloaded);
  EXPECT_EQ(sender.unguarded(), 2);
  EXPECT_EQ(receiver.unguarded(), 2);
}

TEST_P(pressure, may_end_on_another_thread_while_the_runtime_waits_for_it) {
  auto sender = make_cown<int>(0);
  auto receiver = make_cown<int>(0);
  std::thread other;
  {
    runtime rt{options().with_at_exit(rota::at_exit::drain)};
    rota::pressure p{rt, receiver};
    send_twice(rt, sender, receiver);
    EXPECT_TRUE(eventually([&] { return sender.counters().muted; }));
    other = std::thread([held = std::move(p)]() mutable {
      std::this_thread::sleep_for(5ms);
      held.relieve();
    });
  }
  EXPECT_EQ(sender.unguarded(), 2);
  EXPECT_EQ(receiver.unguarded(), 2);
  other.join();
}

TEST_P(pressure, ends_while_a_behaviour_holds_the_cown_or_waits_for_it) {
  for (int i = 0; i < 50; ++i) {
    auto c = sorted_cowns<int>(3);
    runtime rt{options()};
    {
      rota::pressure p{rt, c[static_cast<std::size_t>(i % 3)]};
      when(rt, c) << [](rota::each<int> all) -> task<> {
        co_await rota::suspend();
        for (int& x : all) ++x;
      };
      for (auto& cown : c) send_twice(rt, cown, c[0]);
      for (auto& cown : c) when(rt, read(cown), c[2]) << [](const int&, int&) {};
    }
    rt.quiesce();
    for (auto& cown : c) {
      EXPECT_EQ(cown.counters().pending, 0u);
      EXPECT_FALSE(cown.counters().muted);
      EXPECT_FALSE(cown.counters().overloaded);
    }
  }
}

TEST(backpressure, switched_off_mutes_nobody) {
  auto sender = make_cown<int>(0);
  auto receiver = make_cown<int>(0);
  runtime rt{rota::test::with_workers(2).with_backpressure(false)};
  rota::pressure p{rt, receiver};
  for (int i = 0; i < 10; ++i)
    when(rt, sender) << [receiver](int& n) {
      ++n;
      when(receiver) << [](int& x) { ++x; };
    };
  EXPECT_TRUE(eventually([&] { return receiver.counters().passed == 10; }));
  EXPECT_FALSE(sender.counters().muted);
}

}  // namespace
