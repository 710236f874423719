// The one place that names atomics, locks, threads, futexes, fences and clocks.
//
// Everything above writes `sync::atomic`, `sync::thread`, `sync::now()` and so on. In an ordinary
// build these are the standard's, at no cost. When ROTA_SYNC_HEADER names a header, that header
// defines namespace rota::sync instead, from the pieces in rota::real_sync: this is how the same
// sources run under a scheduler that shakes or explores them.
//
//   sync::atomic<std::uint32_t> state_{0};
//   state_.store(1, sync::memory_order_release);     // orders are spelled, and say their partner
//
// Two fences come in a pair: `light_fence()` on the path that is taken often, `heavy_fence()` on
// the path that is taken rarely. Together they order as two seq_cst fences would: of two threads
// that each store, fence and load what the other stored, at least one sees the other's store.
// The light one costs no instruction where the kernel has membarrier(2).
//
// Threads: everything is anyone's.
#ifndef ROTA_BASE_SYNC_H
#define ROTA_BASE_SYNC_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#define ROTA_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROTA_TSAN 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ROTA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROTA_ASAN 1
#endif
#endif

namespace rota::real_sync {

using std::atomic;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;
using std::mutex;
using std::thread;

// Whether the names are those of an explorer, who sees more if nothing is kept for later.
inline constexpr bool is_explored = false;

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

inline time_point now() noexcept { return clock::now(); }

// Plain memory that threads use one after the other, ordered by something else. An explorer watches
// that it is.
template <class T>
class cell {
 public:
  T get() const noexcept { return value_; }
  void set(T value) noexcept { value_ = value; }

 private:
  T value_{};
};

// Sleeps while `word` holds `expected`, until woken or until the deadline. May return early for no
// reason. time_point::max() means no deadline.
void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                time_point deadline = time_point::max()) noexcept;

// Wakes at most `count` sleepers of `word`.
void futex_wake(atomic<std::uint32_t>& word, int count = 1) noexcept;

// Asks the kernel for membarrier(2) once; called by whoever is about to use the fences below.
void prepare_fences() noexcept;

// True once heavy_fence() reaches into other threads, so that light_fence() may be free.
extern bool fences_are_asymmetric;

// Keeps the compiler from moving accesses; the processor too, unless the heavy side does it for us.
inline void light_fence() noexcept {
  if (fences_are_asymmetric) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return;
  }
#ifndef ROTA_TSAN  // ThreadSanitizer knows no fences; the kernel's is there whenever it runs.
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// A full fence in this thread and in every running thread of the process.
void heavy_fence() noexcept;

// Tells the processor, and whoever controls the schedule, that this thread waits for another.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Lets other threads of the machine run.
inline void yield_thread() noexcept { std::this_thread::yield(); }

// Asks for timers without slack and names the thread; for workers.
void adopt_worker_thread(unsigned index) noexcept;

// A thread-local pointer. Not to be used in the body of a coroutine, nor in anything that may be
// inlined there: compilers keep its address across a suspension, after which the coroutine may
// run on another thread.
template <class T>
class thread_slot {
 public:
  static T* get() noexcept { return value_; }
  static void set(T* value) noexcept { value_ = value; }

 private:
  static inline thread_local constinit T* value_ = nullptr;
};

}  // namespace rota::real_sync

#ifdef ROTA_SYNC_HEADER
#include ROTA_SYNC_HEADER
#else
namespace rota {
namespace sync = real_sync;
}
#endif

#endif
