// Messages arrive once, in order, whoever is cancelled. A broken promise shows as a lost or doubled
// message, or as a hang.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/tasks.h"

namespace {

using rota::channel;
using rota::task;

class channel_of : public ::testing::TestWithParam<std::tuple<unsigned, std::size_t>> {
 protected:
  static rota::options options() {
    const unsigned workers = std::get<0>(GetParam());
    return workers == 0 ? rota::test::strict() : rota::test::with_workers(workers);
  }
  static std::size_t capacity() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(workers_and_capacity, channel_of,
                         ::testing::Combine(::testing::Values(0u, 1u, 2u, 4u),
                                            ::testing::Values(0u, 1u, 2u, 64u)));

task<> produce(channel<int>& ch, int from, int count) {
  for (int i = from; i < from + count; ++i) EXPECT_TRUE(co_await ch.send(i));
}

TEST_P(channel_of, one_sender_keeps_the_order) {
  channel<int> ch{capacity()};
  auto sender = [&]() -> task<> {
    co_await produce(ch, 0, 500);
    ch.close();
  };
  auto program = [&]() -> task<> {
    auto h = rota::spawn(sender());
    int expected = 0;
    while (auto m = co_await ch.receive()) EXPECT_EQ(*m, expected++);
    EXPECT_EQ(expected, 500);
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(channel_of, many_senders_and_receivers_lose_and_double_nothing) {
  channel<int> ch{capacity()};
  std::vector<std::atomic<int>> seen(1000);
  auto receiver = [&]() -> task<> {
    while (auto m = co_await ch.receive()) ++seen[static_cast<std::size_t>(*m)];
  };
  auto program = [&]() -> task<> {
    rota::task_group senders;
    rota::task_group receivers;
    for (int i = 0; i < 5; ++i) receivers.spawn(receiver());
    for (int i = 0; i < 10; ++i) senders.spawn(produce(ch, i * 100, 100));
    co_await senders.join();
    ch.close();
    co_await receivers.join();
  };
  rota::run(program(), options());
  for (auto& n : seen) EXPECT_EQ(n, 1);
}

TEST_P(channel_of, never_holds_more_than_it_may) {
  channel<int> ch{capacity()};
  auto program = [&]() -> task<> {
    auto h = rota::spawn(produce(ch, 0, 200));
    for (int i = 0; i < 200; ++i) {
      EXPECT_LE(ch.size(), ch.capacity());
      auto m = co_await ch.receive();
      EXPECT_EQ(*m, i);
    }
    co_await h;
  };
  rota::run(program(), options());
}

TEST_P(channel_of, closing_wakes_who_waits) {
  channel<int> full{capacity()};
  channel<int> empty{capacity()};
  auto sender = [&]() -> task<bool> {
    for (std::size_t i = 0; i < capacity(); ++i) co_await full.send(0);
    co_return co_await full.send(1);
  };
  auto receiver = [&]() -> task<bool> {
    auto m = co_await empty.receive();
    co_return m.has_value();
  };
  auto program = [&]() -> task<> {
    auto s = rota::spawn(sender());
    auto r = rota::spawn(receiver());
    for (std::size_t i = 0; i < 200; ++i) co_await rota::suspend();
    full.close();
    empty.close();
    EXPECT_FALSE(co_await s);
    EXPECT_FALSE(co_await r);
  };
  rota::run(program(), options());
}

TEST_P(channel_of, what_was_sent_before_closing_is_received) {
  channel<int> ch{capacity()};
  auto program = [&]() -> task<> {
    for (std::size_t i = 0; i < capacity(); ++i) co_await ch.send(static_cast<int>(i));
    ch.close();
    const bool sent = co_await ch.send(7);
    EXPECT_FALSE(sent);
    std::size_t received = 0;
    while (auto m = co_await ch.receive()) ++received;
    EXPECT_EQ(received, capacity());
  };
  rota::run(program(), options());
}

TEST_P(channel_of, a_cancelled_receive_has_taken_nothing) {
  channel<int> ch{capacity()};
  std::vector<int> got;
  auto impatient = [&]() -> task<> {
    auto m = co_await ch.receive();
    if (m) got.push_back(*m);
  };
  auto program = [&]() -> task<> {
    for (int i = 0; i < 50; ++i) {
      got.clear();
      auto first = rota::spawn(impatient());
      co_await rota::suspend();
      auto sender = rota::spawn(produce(ch, i, 1));
      first.request_stop();
      bool stopped = false;
      try {
        co_await first;
      } catch (const rota::cancelled&) {
        stopped = true;
      }
      if (stopped) {
        auto m = co_await ch.receive();
        got.push_back(*m);
      }
      co_await sender;
      EXPECT_EQ(got, std::vector<int>{i});
    }
  };
  rota::run(program(), options());
}

TEST_P(channel_of, a_cancelled_send_has_not_sent) {
  channel<int> ch{capacity()};
  std::atomic<int> sent{0};
  auto sender = [&]() -> task<> {
    for (;;)
      if (co_await ch.send(1)) ++sent;
  };
  auto program = [&]() -> task<> {
    for (int i = 0; i < 20; ++i) {
      sent = 0;
      auto h = rota::spawn(sender());
      int received = 0;
      for (int k = 0; k < 10; ++k) {
        auto m = co_await ch.receive();
        received += *m;
      }
      h.request_stop();
      EXPECT_THROW(co_await h, rota::cancelled);
      while (auto m = ch.try_receive()) received += *m;
      EXPECT_EQ(received, sent);
    }
  };
  rota::run(program(), options());
}

TEST_P(channel_of, carries_what_can_only_be_moved) {
  channel<std::unique_ptr<int>> ch{capacity()};
  auto sender = [&]() -> task<> {
    auto message = std::make_unique<int>(4);
    co_await ch.send(std::move(message));
  };
  auto program = [&]() -> task<int> {
    auto h = rota::spawn(sender());
    auto m = co_await ch.receive();
    co_await h;
    co_return **m;
  };
  EXPECT_EQ(rota::run(program(), options()), 4);
}

TEST_P(channel_of, plain_threads_can_send_and_receive_if_they_need_not_wait) {
  channel<int> in{capacity()};
  auto program = [&]() -> task<int> {
    int sum = 0;
    while (auto m = co_await in.receive()) sum += *m;
    co_return sum;
  };
  rota::runtime rt{options()};
  std::jthread thread([&in, expected = rota::outside{rt}] {
    for (int i = 1; i <= 100; ++i)
      while (!in.try_send(i)) std::this_thread::yield();
    in.close();
  });
  EXPECT_EQ(rt.run(program()), 5050);
}

TEST(channel, serves_those_who_wait_in_the_order_of_waiting) {
  channel<int> ch{0};
  std::string log;
  auto receiver = [&](char name) -> task<> {
    auto m = co_await ch.receive();
    log += name;
    log += static_cast<char>('0' + *m);
  };
  auto program = [&]() -> task<> {
    rota::task_group g;
    for (char c = 'a'; c < 'f'; ++c) g.spawn(receiver(c));
    co_await rota::suspend();
    for (int i = 0; i < 5; ++i) co_await ch.send(i);
    co_await g.join();
  };
  rota::run(program(), rota::test::with_workers(1));
  EXPECT_EQ(log, "a0b1c2d3e4");
}

TEST(channel, try_send_keeps_the_message_that_it_could_not_send) {
  channel<std::unique_ptr<int>> ch{1};
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(ch.try_send(std::move(first)));
  EXPECT_FALSE(ch.try_send(std::move(second)));
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(**ch.try_receive(), 1);
  EXPECT_FALSE(ch.try_receive());
  ch.close();
  EXPECT_TRUE(ch.is_closed());
  EXPECT_FALSE(ch.try_send(std::move(second)));
}

}  // namespace
