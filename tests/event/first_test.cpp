#include <rota/rota.h>

#include <gtest/gtest.h>

#include <iostream>
using namespace std::chrono_literals;
namespace {
struct add {
  int x = 0, y = 0;
};
rota::task<void> program(rota::bus& bus) {
  rota::node n{bus, "n"};
  rota::async_event done;
  int got = 0;
  auto pub = n.advertise<int>("/numbers");
  auto sub = n.subscribe<int>("/numbers", rota::qos{}.with_depth(1000), [&](const int& i) {
    got += i;
    if (i == 100) done.set();
  });
  for (int i = 1; i <= 100; ++i) co_await pub.publish(i);
  co_await done.wait();
  EXPECT_EQ(got, 5050);
  n.serve<add, int>("/add", [](const add& a) { return a.x + a.y; });
  auto c = n.client<add, int>("/add");
  auto r = co_await c.call({1, 2}, 200ms);
  EXPECT_TRUE(r) << r.reason();
  EXPECT_EQ(*r, 3);
  n.serve<add, int>("/slow", [&](add a) -> rota::task<int> {
    auto in = co_await c.call(a, 200ms);
    co_await rota::sleep_for(1ms);
    co_return *in * 2;
  });
  auto c2 = n.client<add, int>("/slow");
  auto r2 = co_await c2.call({3, 4}, 200ms);
  EXPECT_TRUE(r2) << r2.reason();
  EXPECT_EQ(*r2, 14);
  int ticks = 0;
  rota::async_event ticked;
  auto t = n.every(1ms, [&] {
    if (++ticks == 5) ticked.set();
  });
  co_await ticked.wait();
  t.remove();
  auto cown = rota::make_cown<int>(0);
  rota::async_event counted;
  n.subscribe<int>("/numbers", rota::qos{}.with_depth(4).with_overflow(rota::overflow::block),
                   rota::on(cown, [&](int& total, const int& i) {
                     total += i;
                     if (total == 55) counted.set();
                   }));
  for (int i = 1; i <= 10; ++i) co_await pub.publish(i);
  co_await counted.wait();
  auto none = n.client<int, int>("/none");
  auto r3 = co_await none.call(1, 10ms);
  EXPECT_EQ(r3.status(), rota::call_status::no_responder);
  co_await n.drain();
}
TEST(First, Works) {
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  rt.run(program(bus));
}
}  // namespace
