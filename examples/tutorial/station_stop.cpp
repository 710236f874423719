// A weather station, step 5: limits on time, and an end in good order.
#include <rota/rota.h>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

// Another station, which answers when it likes.
rota::task<int> neighbour(std::chrono::milliseconds delay) {
  co_await rota::sleep_for(delay);
  co_return 12;
}

rota::task<> measure_for_ever() {
  try {
    for (;;) co_await rota::sleep_for(1ms);
  } catch (const rota::cancelled&) {
    std::puts("the sensor is switched off");
    throw;  // let it pass: this is how a task stops
  }
}

rota::task<> program() {
  const int near = co_await rota::with_timeout(10s, neighbour(1ms));
  std::printf("our neighbour has %d\n", near);
  try {
    co_await rota::with_timeout(5ms, neighbour(1h));
  } catch (const rota::timed_out&) {
    std::puts("the other one is too slow");
  }

  auto sensor = rota::spawn(measure_for_ever());
  co_await rota::sleep_for(5ms);
  sensor.request_stop();
  try {
    co_await sensor;
  } catch (const rota::cancelled&) {
    std::puts("good night");
  }
}

int main() { rota::run(program()); }
