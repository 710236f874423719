// An eventcount lets a consumer sleep until there is work, and costs a producer one load while
// nobody sleeps. All depends on the order: the consumer announces itself, looks, and only then
// sleeps. One that looks before it announces itself can sleep for ever, and so can one whose
// announcement and look are not kept in order.

#include <rota/verify/explore/explore.h>

#include <cstdint>
#include <iostream>

namespace explore = rota::explore;

struct design {
  bool looks_again;         // between the announcement and sleep
  std::memory_order order;  // of the announcement, the work, and the looks for each
};

class eventcount {
 public:
  explicit eventcount(design d) : design_(d) {}

  template <class Ready>
  void wait(Ready ready) {
    while (!ready()) {
      sleepers.fetch_add(1, design_.order);
      const std::uint32_t ticket = epoch.load(std::memory_order_acquire);
      if (!design_.looks_again || !ready()) explore::futex_wait(epoch, ticket);
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }

  void notify() {
    if (sleepers.load(design_.order) == 0) return;
    epoch.fetch_add(1, std::memory_order_release);
    explore::futex_wake(epoch);
  }

 private:
  const design design_;
  explore::atomic<std::uint32_t> sleepers{0};
  explore::atomic<std::uint32_t> epoch{0};
};

void try_out(const char* name, design d) {
  const auto result = explore::run([d] {
    eventcount work_came(d);
    explore::atomic<int> work{0};
    explore::thread consumer([&] { work_came.wait([&] { return work.load(d.order) != 0; }); });
    work.store(1, d.order);
    work_came.notify();
    consumer.join();
  });
  std::cout << name << ": ";
  if (!result.failed) {
    std::cout << (result.exhaustive ? "proven" : "not proven") << ", " << result.schedules
              << " schedules\n";
    return;
  }
  std::cout << name_of(result.failure->kind) << "\n" << result.failure->schedule;
}

int main() {
  try_out("announces itself, looks, sleeps", {true, std::memory_order_seq_cst});
  try_out("looks, announces itself, sleeps", {false, std::memory_order_seq_cst});
  try_out("relaxed", {true, std::memory_order_relaxed});
}
