// A task's control block, 64 bytes, in memory that is only ever used for control blocks: a late
// look at one that was freed is a look at another task, never at something else.
//
// Who may touch what:
//   frame, link, ready_at          whoever holds the job: a queue, a worker, who has claimed it
//   next_, prev_, linked_          the owner of the wait list, under its lock
//   state_                         anyone, by read-modify-write
//   follower_                      the task when it ends, its handle, and the one task that joins
//
// A fork whose parent went on without it makes a second strand of one task. Such a strand has an
// activity of its own, a branch, which knows the task's activity as its root.
#ifndef ROTA_TASK_ACTIVITY_H
#define ROTA_TASK_ACTIVITY_H

#include <rota/base/job.h>
#include <rota/base/sync.h>
#include <rota/task/core.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace rota::detail {

class worker;

// What few tasks have: made on demand.
struct extras {
  std::stop_source stop;
  std::string name;
  spin_lock lock;            // guards name
  job* behaviour = nullptr;  // which the task runs; the task's own
  void* purpose = nullptr;   // of the layer of events; the task's own
};

class activity : public job {
 public:
  enum bits : std::uint32_t {
    live = 1,         // in use
    branch = 2,       // a strand of root()
    waiting = 4,      // suspended until somebody claims it
    cancellable = 8,  // ... and request_stop() may
    looked_at = 16,   // ... but not now: a dump reads its frames
    stop = 32,        // asked to stop
    branched = 64,    // has or had branches
  };

  // States of follower_ besides "a task that joins us" (its address).
  enum : std::uintptr_t { nobody = 0, done = 1, detached = 2, ending = 3, locked = 4 };

  // --- waiting; see core.h ---
  bool begin_wait(worker& w, std::coroutine_handle<> leaf, wait_kind kind, void* awaiter,
                  bool can_be_cancelled) noexcept;
  bool claim() noexcept;
  // As claim(), for a request to stop `root`: only a wait that can be cancelled, of one of its
  // strands.
  bool claim_to_stop(const activity& root) noexcept;
  static void append(wait_list& list, activity& a) noexcept;
  static void remove(wait_list& list, activity& a) noexcept;
  static activity* claim_first(wait_list& list) noexcept;

  // For a dump: keeps a waiting task from being resumed. False if it does not wait.
  bool begin_look() noexcept;
  void end_look() noexcept;

  // What a waiting task waits for; for who has claimed it or looks at it.
  wait_kind kind() const noexcept {
    return static_cast<wait_kind>(reinterpret_cast<std::uintptr_t>(link) >> 56);
  }
  void* awaiter() const noexcept {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(link) & low_56);
  }

  // --- stopping ---
  // Whether the task's waits are to be left alone.
  bool is_shielded() const noexcept {
    return root_of(*this).shields_.load(sync::memory_order_relaxed) != 0;
  }

  // Quick: false means that nobody asked the task to stop.
  bool may_be_stopped() const noexcept {
    return (state_.load(sync::memory_order_relaxed) & (stop | branch)) != 0;
  }
  bool stop_requested() const noexcept {
    return (root_of(*this).state_.load(sync::memory_order_relaxed) & stop) != 0;
  }
  extras& get_extras();
  extras* existing_extras() const noexcept {
    const std::uintptr_t side = side_.load(sync::memory_order_seq_cst);
    return (side & is_root) ? nullptr : reinterpret_cast<extras*>(side);
  }

  void set_root(activity& root) noexcept {
    side_.store(reinterpret_cast<std::uintptr_t>(&root) | is_root, sync::memory_order_relaxed);
  }

  // The task that a strand belongs to.
  static activity& root_of(const activity& a) noexcept {
    if (a.state_.load(sync::memory_order_relaxed) & branch) [[unlikely]]
      return *reinterpret_cast<activity*>(a.side_.load(sync::memory_order_relaxed) & ~is_root);
    return const_cast<activity&>(a);
  }

  activity* prev_ = nullptr;

  // Who joins us, or how we stand with the handle. Of a free control block: the next free one.
  sync::atomic<std::uintptr_t> follower_{nobody};

  // The next in a wait list. Not `link`: a task that was cancelled is queued while it is still
  // listed. While it waits, link holds the wait kind in the top byte and the awaiter below.
  activity* next_ = nullptr;

  // The extras of a task; of a branch its root, with is_root set.
  sync::atomic<std::uintptr_t> side_{0};

  sync::atomic<std::uint32_t> id_{0};
  std::uint16_t depth_ = 0;                // of a task: how many spawns it is away from a thread's
  bool linked_ = false;                    // in a wait list; guarded by its owner's lock
  sync::atomic<std::uint8_t> shields_{0};  // of a task: how many are up; of a branch: unused

 private:
  static constexpr std::uintptr_t is_root = 1;
  static constexpr std::uint64_t low_56 = (std::uint64_t{1} << 56) - 1;
};

static_assert(sizeof(activity) == 64 || sync::is_explored);

}  // namespace rota::detail

#endif
