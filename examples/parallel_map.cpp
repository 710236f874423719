// A function on every element of an array, in parallel: each element is a cown, so behaviours on
// different elements run at the same time. The last behaviour needs all of them and comes after.
#include <rota/rota.h>

#include <cstdio>
#include <vector>

rota::task<> program() {
  std::vector<rota::cown_ptr<long>> cells;
  for (long i = 0; i < 1000; ++i) cells.push_back(rota::make_cown<long>(i));

  // One request for all of them, and one wait.
  rota::batch squares;
  for (auto& c : cells) squares += rota::when(c) << [](long& x) { x *= x; };
  co_await squares;

  const long sum = co_await (rota::when(rota::read(cells)) << [](rota::each<const long> all) {
    long s = 0;
    for (long x : all) s += x;
    return s;
  });
  std::printf("the sum of the squares below 1000 is %ld\n", sum);
}

int main() { rota::run(program()); }
