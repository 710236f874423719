// Continuations of forking tasks: the owner pushes and pops at the young end, thieves take from
// the old end.
//
//   deque.push(x);                   // the owner forks
//   if (deque.pop(x)) ...            // the owner: back at x, unless somebody took it
//   void* x = victim.steal();        // a thief: the oldest, or null
//
// Promised: each element is taken exactly once.
// Threads: push, pop and pop_any are the owner's; steal and empty are anyone's.
// Cost: push is two stores, pop one exchange; thieves pay with a lock.
// Spec: specs/fork_deque.
#ifndef ROTA_QUEUE_FORK_DEQUE_H
#define ROTA_QUEUE_FORK_DEQUE_H

#include <rota/base/inspect.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rota::detail {

class fork_deque {
 public:
  explicit fork_deque(std::size_t capacity = 256);
  fork_deque(const fork_deque&) = delete;
  fork_deque& operator=(const fork_deque&) = delete;

  void push(void* x) {
    const std::int64_t b = bottom_.load(sync::memory_order_relaxed);  // ours
    if (b - old_top_ > mask_) [[unlikely]]
      make_room(b);
    slots_[static_cast<std::size_t>(b & mask_)].set(x);
    // release: pairs with the load in steal(); publishes the slot and what x points to.
    bottom_.store(b + 1, sync::memory_order_release);
  }

  // Takes the youngest element if it is `x`. False if x was taken by somebody else.
  bool pop(void* x) noexcept {
    const std::int64_t b = bottom_.load(sync::memory_order_relaxed) - 1;  // ours
    if (b < 0 || slots_[static_cast<std::size_t>(b & mask_)].get() != x) return false;
    return take(b);
  }

  // Takes the youngest element, whatever it is; null if there is none.
  void* pop_any() noexcept {
    const std::int64_t b = bottom_.load(sync::memory_order_relaxed) - 1;  // ours
    if (b < 0) return nullptr;
    void* x = slots_[static_cast<std::size_t>(b & mask_)].get();
    return take(b) ? x : nullptr;
  }

  // Takes the oldest element; null if there is none or another thief is at work.
  void* steal() noexcept;

  // A hint for others; exact for the owner only if it says true.
  bool empty() const noexcept {
    // In this order, as the spec has it.
    const std::int64_t b = bottom_.load(sync::memory_order_relaxed);
    return b <= top_.load(sync::memory_order_relaxed);
  }

 private:
  friend struct inspect;

  using slot = sync::cell<void*>;

  // The owner's half of the THE protocol; see the source.
  bool take(std::int64_t b) noexcept {
    // seq_cst: either we see the thief's step on top_, or it sees ours on bottom_.
    bottom_.exchange(b, sync::memory_order_seq_cst);
    if (top_.load(sync::memory_order_seq_cst) <= b) [[likely]]
      return true;
    return settle(b);
  }
  bool settle(std::int64_t b) noexcept;
  void make_room(std::int64_t b);

  std::unique_ptr<slot[]> slots_;  // replaced under thieves_
  std::int64_t mask_;
  std::int64_t old_top_ = 0;  // the owner's view of top_, refreshed when the deque seems full

  // One beyond the youngest element. Written by the owner, read by thieves.
  sync::atomic<std::int64_t> bottom_{0};

  // The oldest element. Written by the thief who holds thieves_. Its own line.
  alignas(64) sync::atomic<std::int64_t> top_{0};
  spin_lock thieves_;
};

}  // namespace rota::detail

#endif
