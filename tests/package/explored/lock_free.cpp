// A program that explores code of its own with an installed Rota, without its runtime.

#include <rota/verify/explore/explore.h>

namespace explore = rota::explore;

int main() {
  const auto result = explore::run([] {
    explore::atomic<int> n{0};
    explore::thread other([&] { n.fetch_add(1, std::memory_order_relaxed); });
    n.fetch_add(1, std::memory_order_relaxed);
    other.join();
    explore::check(n.load(std::memory_order_relaxed) == 2, "both count");
  });
  return result.exhaustive ? 0 : 1;
}
