// When things may end. What is used after its end shows under AddressSanitizer, or as a crash.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace std::chrono_literals;

// A server that answers and is gone at once, with the bus.
TEST(EventLifetime, ABusMayEndWhileTheTaskOfAHandlerIsOnItsWayOut) {
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

}  // namespace
