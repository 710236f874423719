// A weather station, step 7: a test that runs its archive in a thousand orders and finds one that
// is wrong; then the same of the repaired one.
#include <rota/rota.h>
#include <rota/verify/explore/sim.h>

#include <chrono>
#include <iostream>
#include <string>

namespace sim = rota::sim;
using namespace std::chrono_literals;

// The disk is played: now and then it is slow.
rota::task<> write_to_disk(int degrees) {
  const bool slow = sim::choose(4) == 3;
  co_await rota::sleep_for(slow ? 50ms : 1ms);
  sim::note(std::to_string(degrees) + " is on the disk");
}

struct archive {
  bool looks_again = false;  // the repair
  int highest = -273;

  rota::task<> store(int degrees) {
    if (degrees <= highest) co_return;
    co_await write_to_disk(degrees);
    if (looks_again && degrees <= highest) co_return;
    highest = degrees;
  }
};

rota::task<> day(archive& a) {
  rota::task_group sensors;
  sensors.spawn(a.store(11));
  sensors.spawn(a.store(14));
  co_await sensors.join();
}

void test(bool looks_again) {
  archive a{looks_again};
  rota::run(day(a), rota::options{}.with_workers(1));
  sim::check(a.highest == 14, "the highest is kept");
}

int main() {
  const auto found = sim::explore(1'000, [] { test(false); });
  std::cout << found.text();
  const auto repaired = sim::explore(1'000, [] { test(true); });
  std::cout << "repaired: " << repaired.seeds << " seeds, "
            << (repaired.failed ? "one fails" : "none fails") << "\n";
  return found.failed && !repaired.failed ? 0 : 1;
}
