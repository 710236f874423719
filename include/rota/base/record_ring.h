// Records on their way from one thread to another, where nobody waits: what does not fit is lost,
// and counted.
//
//   record_ring<int> ring;
//   ring.add(1);                                  // one thread
//   ring.take([](int record) { ... });            // another
//
// Promised: a record is taken whole and once, in the order in which they were added, or counted as
// lost.
//
// Threads: add() is for one, take() for one, lost() for anyone.
#ifndef ROTA_BASE_RECORD_RING_H
#define ROTA_BASE_RECORD_RING_H

#include <rota/base/sync.h>

#include <cstdint>
#include <memory>

namespace rota::detail {

// Why that is so: the writer's index says how many there have been, the reader's how many of them
// are gone, and each is written by one thread. A place between the two is the reader's, any other
// the writer's; who moves an index gives places to the other, by release and acquire.
template <class T>
class record_ring {
 public:
  static constexpr std::uint64_t size = sync::is_explored ? 2 : std::uint64_t{1} << 16;

  record_ring() : records_(std::make_unique<T[]>(size)) {}

  void add(const T& r) noexcept {
    const std::uint64_t head = head_.load(sync::memory_order_relaxed);  // ours
    // acquire: pairs with take(); what we overwrite has been read.
    if (head - tail_.load(sync::memory_order_acquire) == size) {
      // relaxed: ours, and a number for people.
      lost_.store(lost_.load(sync::memory_order_relaxed) + 1, sync::memory_order_relaxed);
      return;
    }
    records_[head % size] = r;
    // release: pairs with take().
    head_.store(head + 1, sync::memory_order_release);
  }

  // Calls f(record) for each that there is, and gives how many they were.
  template <class F>
  std::uint64_t take(F&& f) {
    const std::uint64_t first = tail_.load(sync::memory_order_relaxed);  // ours
    // acquire: pairs with add().
    const std::uint64_t head = head_.load(sync::memory_order_acquire);
    for (std::uint64_t i = first; i != head; ++i) f(records_[i % size]);
    // release: pairs with add().
    tail_.store(head, sync::memory_order_release);
    return head - first;
  }

  std::uint64_t lost() const noexcept { return lost_.load(sync::memory_order_relaxed); }

 private:
  const std::unique_ptr<T[]> records_;
  alignas(64) sync::atomic<std::uint64_t> head_{0};  // written by add()
  sync::atomic<std::uint64_t> lost_{0};              // the same
  alignas(64) sync::atomic<std::uint64_t> tail_{0};  // written by take()
};

}  // namespace rota::detail

#endif
