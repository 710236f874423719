// Dekker's mutual exclusion, from memory orders that are too weak to ones that are enough. Each
// process says that it wants in and then looks at the other: a store and a load of two different
// atomics, whose order release and acquire do not keep.

#include <rota/verify/explore/explore.h>

#include <atomic>
#include <iostream>

namespace explore = rota::explore;

struct orders {
  std::memory_order store;
  std::memory_order load;
  bool fences = false;
};

class dekker {
 public:
  explicit dekker(orders o) : with_(o) {}

  void lock(int self) {
    const int other = 1 - self;
    for (;;) {
      wants[self].store(1, with_.store);
      fence();
      if (turn.load(with_.load) == self) {
        while (wants[other].load(with_.load) != 0) explore::pause();
        break;
      }
      // It is the other's turn: give way if it wants in.
      if (wants[other].load(with_.load) == 0) break;
      wants[self].store(0, with_.store);
      while (turn.load(with_.load) != self) explore::pause();
    }
    if (with_.fences) explore::atomic_thread_fence(std::memory_order_acquire);
  }

  void unlock(int self) {
    if (with_.fences) explore::atomic_thread_fence(std::memory_order_release);
    turn.store(1 - self, with_.store);
    wants[self].store(0, with_.store);
  }

 private:
  // Between saying and looking: either we see the other's wish or it sees ours.
  void fence() {
    if (with_.fences) explore::atomic_thread_fence(std::memory_order_seq_cst);
  }

  const orders with_;
  explore::atomic<int> wants[2] = {0, 0};
  explore::atomic<int> turn{0};
};

void try_out(const char* name, orders o) {
  const auto result = explore::run([o] {
    dekker mutex(o);
    explore::cell<int> count{0};
    const auto enter = [&](int self) {
      mutex.lock(self);
      count.set(count.get() + 1);
      mutex.unlock(self);
    };
    explore::thread other([&] { enter(1); });
    enter(0);
    other.join();
    explore::check(count.get() == 2, "both have counted");
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
  using std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release;
  using std::memory_order_seq_cst;
  try_out("sequentially consistent", {memory_order_seq_cst, memory_order_seq_cst});
  try_out("relaxed, with fences", {memory_order_relaxed, memory_order_relaxed, true});
  try_out("release and acquire", {memory_order_release, memory_order_acquire});
}
