// Fork and join: a sum over a large range, split in halves. A fork costs little more than a call,
// and idle workers take over what is left to do.
#include <rota/rota.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

rota::task<std::int64_t> sum(std::span<const int> values) {
  if (values.size() <= 4096)
    co_return std::accumulate(values.begin(), values.end(), std::int64_t{0});

  const std::size_t half = values.size() / 2;
  rota::fork_scope forks;
  std::int64_t left = 0;
  co_await forks.fork(left, sum(values.first(half)));  // may run beside what follows
  const std::int64_t right = co_await sum(values.subspan(half));
  co_await forks.join();  // now left is there
  co_return left + right;
}

int main() {
  std::vector<int> values(1'000'000);
  std::iota(values.begin(), values.end(), 1);
  const std::int64_t total = rota::run(sum(values));
  std::printf("1 + 2 + ... + 1000000 = %lld\n", static_cast<long long>(total));
}
