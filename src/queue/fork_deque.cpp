// The THE protocol of Cilk-5. Owner and thief each write their own end and then read the other's,
// in sequentially consistent order, so of two that want the last element at least one notices:
//   the thief notices:  it takes its step back and leaves with nothing;
//   the owner notices:  it takes the lock, behind which the thief has finished or stepped back,
//                       and looks again.

#include <rota/queue/fork_deque.h>

namespace rota::detail {

fork_deque::fork_deque(std::size_t capacity)
    : slots_(std::make_unique<slot[]>(capacity)), mask_(static_cast<std::int64_t>(capacity) - 1) {}

void* fork_deque::steal() noexcept {
  if (empty() || !thieves_.try_lock()) return nullptr;
  const std::int64_t t = top_.load(sync::memory_order_relaxed);  // ours, under the lock
  // seq_cst: see take().
  top_.exchange(t + 1, sync::memory_order_seq_cst);
  const std::int64_t b = bottom_.load(sync::memory_order_seq_cst);
  void* x = nullptr;
  if (t < b) {
    x = slots_[static_cast<std::size_t>(t & mask_)].get();
  } else {
    // relaxed: an owner that misses our step back takes the lock, behind which it sees it.
    top_.store(t, sync::memory_order_relaxed);
  }
  // Also releases our read of the slot to an owner that makes room.
  thieves_.unlock();
  return x;
}

bool fork_deque::settle(std::int64_t b) noexcept {
  spin_guard guard{thieves_};
  const std::int64_t t = top_.load(sync::memory_order_relaxed);  // stands still under the lock
  if (t <= b) return true;                                       // the thief stepped back
  bottom_.store(t, sync::memory_order_relaxed);                  // taken: the deque is empty
  return false;
}

void fork_deque::make_room(std::int64_t b) {
  spin_guard guard{thieves_};
  old_top_ = top_.load(sync::memory_order_relaxed);  // no thief is at work
  if (b - old_top_ <= mask_) return;
  const std::int64_t mask = mask_ * 2 + 1;
  auto larger = std::make_unique<slot[]>(static_cast<std::size_t>(mask) + 1);
  for (std::int64_t i = old_top_; i != b; ++i)
    larger[static_cast<std::size_t>(i & mask)].set(
        slots_[static_cast<std::size_t>(i & mask_)].get());
  slots_ = std::move(larger);
  mask_ = mask;
}

}  // namespace rota::detail
