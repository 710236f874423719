// When things may end, and whose they are meanwhile. What is used after its end shows under
// AddressSanitizer, or as a crash.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

// A server that answers and is gone at once, with the bus.
TEST(BusEnd, ABusMayEndWhileTheTaskOfAHandlerIsOnItsWayOut) {
  rota::runtime rt{rota::options{}.with_workers(2)};
  for (int round = 0; round < 300; ++round) {
    rota::bus bus{rt};
    rota::node n{bus, "n"};
    n.serve<int, int>("/next", [](int i) -> rota::task<int> {
      co_await rota::suspend();
      co_return i + 1;
    });
    n.serve<int, int>("/never", rota::handler_options{}.with_group(rota::group::reentrant()),
                      [](int) -> rota::task<int> {
                        co_await rota::sleep_for(1h);
                        co_return 0;
                      });
    auto next = n.client<int, int>("/next");
    auto never = n.client<int, int>("/never");
    EXPECT_EQ(rt.run([](auto n1, auto n2) -> rota::task<int> {
      auto lost =
          rota::spawn([](auto c) -> rota::task<void> { (void)co_await c.call(1, 1ms); }(n2));
      auto r = co_await n1.call(1, 10s);
      co_await std::move(lost);
      co_return r ? *r : 0;
    }(next, never)),
              2);
  }
}

// Cannot be copied.
struct lone_parcel {
  lone_parcel() = default;
  explicit lone_parcel(int i) : inside(std::make_unique<int>(i)) {}
  std::unique_ptr<int> inside;
};

TEST(BusEnd, AMessageThatCannotBeCopiedIsNotTakenFromUnderAnother) {
  auto quiet = rota::options{}.with_workers(2);
  quiet.on_unobserved = [](std::exception_ptr, const std::string&) {};
  rota::runtime rt{quiet};
  rota::bus bus{rt};
  rota::node n{bus, "n"};
  int taken = 0;
  const auto take = [&taken](lone_parcel&& p) {
    EXPECT_TRUE(p.inside);
    taken += p.inside ? *p.inside : 0;
  };
  std::vector<rota::message<lone_parcel>> kept;
  auto first = n.subscribe<lone_parcel>("/parcel", {}, take);
  auto out = n.advertise<lone_parcel>("/parcel");
  out.publish(lone_parcel{1});
  rt.quiesce();
  EXPECT_EQ(taken, 1);
  n.subscribe<lone_parcel>("/parcel", {},
                           [&kept](rota::message<lone_parcel> m) { kept.push_back(m); });
  out.publish(lone_parcel{2});
  rt.quiesce();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_TRUE(kept[0]->inside);
  EXPECT_EQ(first.counters().failed, 1U);
}

}  // namespace
