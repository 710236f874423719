// A program that simulates another with an installed Rota.

#include <rota/rota.h>
#include <rota/verify/explore/sim.h>

#include <chrono>

namespace sim = rota::sim;

rota::task<> sleep_an_hour() {
  const auto before = sim::now();
  co_await rota::sleep_for(std::chrono::hours(1));
  sim::check(sim::now() - before >= std::chrono::hours(1), "an hour has passed");
}

int main() {
  const auto passes = sim::explore(10, [] { rota::run(sleep_an_hour()); });
  const auto fails = sim::run(1, [] { sim::check(false, "never"); });
  return !passes.failed && fails.failed ? 0 : 1;
}
