// One thread writes a value and raises a flag, the other waits for the flag and reads the value.
// Which memory orders does the flag need?
#include <rota/verify/explore/explore.h>

#include <atomic>
#include <iostream>

namespace explore = rota::explore;

void hand_over(std::memory_order raise, std::memory_order look) {
  explore::cell<int> value{0};  // plain memory, watched for data races
  explore::atomic<int> flag{0};
  explore::thread reader([&] {
    while (flag.load(look) == 0) explore::pause();
    explore::check(value.get() == 7, "the reader has the value");
  });
  value.set(7);
  flag.store(1, raise);
  reader.join();
}

void try_out(const char* title, std::memory_order raise, std::memory_order look) {
  const auto result = explore::run([=] { hand_over(raise, look); });
  std::cout << title << ": ";
  if (result.failed)
    std::cout << name_of(result.failure->kind) << "\n" << result.failure->schedule;
  else
    std::cout << (result.exhaustive ? "proven" : "not proven") << ", " << result.schedules
              << " schedules\n";
}

int main() {
  try_out("release and acquire", std::memory_order_release, std::memory_order_acquire);
  try_out("relaxed and acquire", std::memory_order_relaxed, std::memory_order_acquire);
}
