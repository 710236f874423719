// The fair run queue of one worker: first in, first out, and others may take the oldest half.
//
//   queue.push(j);                 // the owner: to the rear
//   job* j = queue.pop();          // the owner: the oldest, or null
//   n = victim.steal(out, max);    // a thief: up to half, the oldest first
//
// Promised: jobs leave in the order in which they came, whoever takes them; none is lost and none
// is taken twice. The queue grows as needed, so a push never fails.
//
// Threads: push and pop are the owner's. steal, size and empty are anyone's.
// Cost: with `shared` false (a pool of one worker) no read-modify-write; otherwise one per pop.
// Spec: specs/run_queue.
#ifndef ROTA_QUEUE_RUN_QUEUE_H
#define ROTA_QUEUE_RUN_QUEUE_H

#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace rota::detail {

class run_queue {
 public:
  // `capacity` is where it begins (a power of two); tests make it small, so that corners are near.
  explicit run_queue(bool shared, std::size_t capacity = 256);
  run_queue(const run_queue&) = delete;
  run_queue& operator=(const run_queue&) = delete;

  void push(job* j) {
    // relaxed: tail_ is ours.
    const std::uint64_t t = tail_.load(sync::memory_order_relaxed);
    if (t - free_from_ > mask_) [[unlikely]]
      make_room(t);
    slots_[t & mask_].set(j);
    // release: pairs with the acquire in steal(); publishes the slot and the job.
    tail_.store(t + 1, sync::memory_order_release);
  }

  job* pop() noexcept {
    std::uint64_t h = head_.load(sync::memory_order_relaxed);
    // relaxed: tail_ is ours.
    const std::uint64_t t = tail_.load(sync::memory_order_relaxed);
    while (h != t) {
      job* j = slots_[h & mask_].get();
      if (!shared_) {
        head_.store(h + 1, sync::memory_order_relaxed);
        return j;
      }
      // relaxed: a thief that comes after us needs nothing of ours but the number; what we read
      // from the slot we wrote ourselves.
      if (head_.compare_exchange_weak(h, h + 1, sync::memory_order_relaxed,
                                      sync::memory_order_relaxed))
        return j;
    }
    return nullptr;
  }

  // Takes the older half, at least one and at most `max`, in order. 0 if there is nothing.
  std::size_t steal(job** out, std::size_t max) noexcept;

  // How many are queued; exact for the owner while no thief is at work, a hint for others.
  std::size_t size() const noexcept {
    // relaxed: thieves read tail_ again, and who must not miss a job has fenced.
    const std::uint64_t h = head_.load(sync::memory_order_relaxed);
    const std::uint64_t t = tail_.load(sync::memory_order_relaxed);
    return t > h ? static_cast<std::size_t>(t - h) : 0;
  }
  bool empty() const noexcept { return size() == 0; }

  // Numbers of the oldest job and of the next to come. Both only grow; the owner's.
  std::uint64_t head() const noexcept { return head_.load(sync::memory_order_relaxed); }
  std::uint64_t tail() const noexcept { return tail_.load(sync::memory_order_relaxed); }

  // Gives memory back after a burst. The owner's, when the queue is empty.
  void trim();

 private:
  friend struct inspect;

  using slot = sync::cell<job*>;

  static constexpr std::uint64_t nobody = ~std::uint64_t{0};

  void make_room(std::uint64_t t);
  void resize(std::size_t capacity);

  // Written by the owner only. Slots and mask change under thieves_ (see resize).
  std::unique_ptr<slot[]> slots_;
  std::uint64_t mask_;
  const bool shared_;
  const std::size_t first_capacity_;

  // Slots below this number are free to be written again. The owner's view of head_, refreshed
  // when the queue seems full.
  std::uint64_t free_from_ = 0;

  // The number of the next job to come. Written by the owner, read by thieves.
  sync::atomic<std::uint64_t> tail_{0};

  // The number of the oldest job. Advanced by compare-exchange by the owner and by one thief at a
  // time. Its own line: thieves write it.
  alignas(64) sync::atomic<std::uint64_t> head_{0};

  // Where the thief at work began to read, or `nobody`: slots from here on are still being read.
  sync::atomic<std::uint64_t> reading_from_{nobody};

  // Held by a thief from its claim to its last read, and by the owner while it resizes.
  spin_lock thieves_;
};

}  // namespace rota::detail

#endif
