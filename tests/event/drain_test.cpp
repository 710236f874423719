// A node that drains waits for the answers to calls that were made with a function. A broken
// promise shows as a function that is not called.

#include <rota/rota.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace {

using namespace std::chrono_literals;

TEST(EventDrain, FunctionsThatWaitForAnAnswerAreCalled) {
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  rota::node slow{bus, "slow"};
  slow.serve<int, int>("/later", [](int x) -> rota::task<int> {
    co_await rota::sleep_for(5ms);
    co_return x + 1;
  });
  std::atomic<int> answered{0};
  std::atomic<int> late{0};
  rota::node caller{bus, "caller"};
  const auto ask = caller.client<int, int>("/later");
  const auto count = [&](const rota::call_result<int>& r) { ++(r ? answered : late); };
  ask.call(1, 10s, count);
  ask.call(2, 10s, count);
  ask.call(3, 1ms, count);  // ends by its deadline, and that is told too
  rt.run(caller.drain());
  EXPECT_EQ(answered + late, 3);
  EXPECT_GE(answered, 2);
  EXPECT_EQ(caller.phase(), rota::node_phase::stopped);
}

}  // namespace
