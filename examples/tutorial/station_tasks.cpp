// A weather station, step 1: two sensors, each a task of its own.
#include <rota/rota.h>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

// Measures three times and gives the mean. To wait takes no thread.
rota::task<int> sensor(int base) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    co_await rota::sleep_for(10ms);
    sum += base + i;
  }
  co_return sum / 3;
}

rota::task<> program() {
  auto roof = rota::spawn(sensor(10));  // begins now, and runs while we go on
  auto cellar = rota::spawn(sensor(5));
  const int above = co_await roof;  // waits for its result
  const int below = co_await cellar;
  std::printf("roof %d, cellar %d\n", above, below);
}

int main() { rota::run(program()); }
