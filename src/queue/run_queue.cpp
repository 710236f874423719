// A thief claims before it reads, so that a fast owner cannot make it fail for ever: it moves head_
// on by compare-exchange and copies the slots afterwards. Two rules keep the copy intact:
//   R1  reading_from_ is set before the claim, and the owner, who reads head_ (acquire) before
//       reading_from_, does not write into a slot that is being read;
//   R2  slots_ is replaced only under the thieves' lock.
// head_ never goes back, so the compare-exchange cannot be fooled by an old value.

#include <rota/queue/run_queue.h>

#include <rota/base/assert.h>

#include <algorithm>

namespace rota::detail {

run_queue::run_queue(bool shared, std::size_t capacity)
    : slots_(std::make_unique<slot[]>(capacity)),
      mask_(capacity - 1),
      shared_(shared),
      first_capacity_(capacity) {
  ROTA_CHECK(capacity != 0 && (capacity & (capacity - 1)) == 0,
             "a run queue's capacity is %zu, expected a power of two", capacity);
}

std::size_t run_queue::steal(job** out, std::size_t max) noexcept {
  if (empty() || !thieves_.try_lock()) return 0;
  std::size_t taken = 0;
  std::uint64_t h = head_.load(sync::memory_order_relaxed);
  for (;;) {
    // acquire: pairs with the release in push(); shows the slots and the jobs.
    const std::uint64_t t = tail_.load(sync::memory_order_acquire);
    if (t <= h) break;
    const std::uint64_t n = std::min<std::uint64_t>((t - h + 1) / 2, max);
    // Published by the claim that follows (R1). release: what we read on earlier visits comes
    // before the owner's write, also if the owner misses the `nobody` in between.
    reading_from_.store(h, sync::memory_order_release);
    // release: an owner that sees the claim sees reading_from_ (R1).
    if (head_.compare_exchange_weak(h, h + n, sync::memory_order_release,
                                    sync::memory_order_relaxed)) {
      for (; taken < n; ++taken) out[taken] = slots_[(h + taken) & mask_].get();
      break;
    }
  }
  // release: our reads come before the owner's next write into these slots.
  reading_from_.store(nobody, sync::memory_order_release);
  thieves_.unlock();
  return taken;
}

void run_queue::make_room(std::uint64_t t) {
  // acquire, and in this order: R1.
  const std::uint64_t h = head_.load(sync::memory_order_acquire);
  const std::uint64_t reading = reading_from_.load(sync::memory_order_acquire);
  free_from_ = std::min(h, reading);
  if (t - free_from_ > mask_) resize((static_cast<std::size_t>(mask_) + 1) * 2);
}

void run_queue::resize(std::size_t capacity) {
  auto larger = std::make_unique<slot[]>(capacity);
  spin_guard guard{thieves_};
  const std::uint64_t t = tail_.load(sync::memory_order_relaxed);
  // No thief is at work, so head_ stands still and everything below it is free.
  // relaxed: the lock orders us behind the last of them.
  free_from_ = head_.load(sync::memory_order_relaxed);
  for (std::uint64_t i = free_from_; i != t; ++i)
    larger[i & (capacity - 1)].set(slots_[i & mask_].get());
  slots_ = std::move(larger);
  mask_ = capacity - 1;
}

void run_queue::trim() {
  // A burst of ten thousand is ordinary; beyond that the memory is worth a call.
  constexpr std::size_t worth_keeping = 16384;
  if (mask_ + 1 > worth_keeping && empty()) resize(first_capacity_);
}

}  // namespace rota::detail
