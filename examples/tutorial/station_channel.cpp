// A weather station, step 2: sensors send their readings, one task collects them.
#include <rota/rota.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

using namespace std::chrono_literals;

struct reading {
  std::string place;
  int degrees = 0;
};

rota::task<> sensor(std::string place, int base, rota::channel<reading>& out) {
  for (int i = 0; i < 3; ++i) {
    co_await rota::sleep_for(10ms);
    reading r{place, base + i};
    co_await out.send(std::move(r));  // waits while the channel is full
  }
}

rota::task<int> highest(rota::channel<reading>& in) {
  int found = -273;
  while (auto r = co_await in.receive())  // until it is closed and empty
    found = std::max(found, r->degrees);
  co_return found;
}

rota::task<> program() {
  rota::channel<reading> readings{4};
  auto collected = rota::spawn(highest(readings));

  rota::task_group sensors;  // none of its tasks outlives it
  sensors.spawn(sensor("roof", 10, readings));
  sensors.spawn(sensor("cellar", 5, readings));
  co_await sensors.join();
  readings.close();

  const int found = co_await collected;
  std::printf("the highest was %d\n", found);
}

int main() { rota::run(program()); }
