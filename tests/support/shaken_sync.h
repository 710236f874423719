// A rota::sync that shakes threads where they meet.
//
// Included by base/sync.h through ROTA_SYNC_HEADER. The names are those of rota::real_sync and mean
// the same; but before some of the atomic accesses, fences, locks and futex calls, chosen at
// random, the thread spins a little, lets others run, or sleeps for some microseconds. So on real
// threads the rare interleavings become common.
//
// Chance comes from a seed per thread: the threads are numbered as they first get here, and
// ROTA_SHAKE_SEED in the environment changes all of their seeds. The schedule depends on the
// machine as well, so one seed does not always repeat one run.
#ifndef ROTA_TESTS_SUPPORT_SHAKEN_SYNC_H
#define ROTA_TESTS_SUPPORT_SHAKEN_SYNC_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <type_traits>

#define ROTA_SHAKEN 1

namespace rota::sync {

using real_sync::adopt_worker_thread;
using real_sync::cell;
using real_sync::clock;
using real_sync::is_explored;
using real_sync::memory_order_acq_rel;
using real_sync::memory_order_acquire;
using real_sync::memory_order_relaxed;
using real_sync::memory_order_release;
using real_sync::memory_order_seq_cst;
using real_sync::now;
using real_sync::prepare_fences;
using real_sync::thread;
using real_sync::thread_slot;
using real_sync::time_point;

namespace shaking {

// Of this many accesses one is delayed, on average.
inline constexpr std::uint64_t accesses_per_delay = 128;

// Zero until the thread's first access, odd from then on.
inline thread_local constinit std::uint64_t state = 0;

inline std::uint64_t fresh_seed() noexcept {
  static const std::uint64_t chosen = [] {
    const char* text = std::getenv("ROTA_SHAKE_SEED");
    return text ? std::strtoull(text, nullptr, 0) : 1;
  }();
  static constinit std::atomic<std::uint64_t> threads{0};
  const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return (chosen * 0x9E3779B97F4A7C15u + number * 0xD1B54A32D192ED03u) | 1;
}

// Mostly a few hundred nanoseconds, sometimes the processor, rarely a sleep.
[[gnu::cold, gnu::noinline]] inline void delay(std::uint64_t chance) noexcept {
  const std::uint64_t kind = chance % 32;
  const std::uint64_t length = (chance / 32) % 64;
  if (kind < 24) {
    for (std::uint64_t i = 0; i < length; ++i) real_sync::pause();
  } else if (kind < 31) {
    real_sync::yield_thread();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(length / 4 + 1));
  }
}

// Not inlined: a coroutine that is resumed by another thread must not find this thread's state.
[[gnu::noinline]] inline void shake() noexcept {
  if (state == 0) [[unlikely]]
    state = fresh_seed();
  // A multiplicative generator, of which the upper bits are good.
  state *= 0xD1342543DE82EF95u;
  const std::uint64_t chance = state >> 32;
  if (chance % accesses_per_delay == 0) [[unlikely]]
    delay(chance / accesses_per_delay);
}

}  // namespace shaking

// A std::atomic whose accesses shake the thread first.
template <class T>
class atomic {
 public:
  using value_type = T;
  using change_type = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : real_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    shaking::shake();
    return real_.load(order);
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    real_.store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.exchange(value, order);
  }
  operator T() const noexcept { return load(); }
  T operator=(T value) noexcept {
    store(value);
    return value;
  }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    shaking::shake();
    return real_.compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.compare_exchange_weak(expected, desired, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    shaking::shake();
    return real_.compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.compare_exchange_strong(expected, desired, order);
  }

  T fetch_add(change_type change, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.fetch_add(change, order);
  }
  T fetch_sub(change_type change, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.fetch_sub(change, order);
  }
  T fetch_and(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.fetch_and(mask, order);
  }
  T fetch_or(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.fetch_or(mask, order);
  }
  T fetch_xor(T mask, std::memory_order order = std::memory_order_seq_cst) noexcept {
    shaking::shake();
    return real_.fetch_xor(mask, order);
  }

  // What the kernel knows as a futex.
  std::atomic<T>& real() noexcept { return real_; }

 private:
  std::atomic<T> real_{};
};

static_assert(sizeof(atomic<std::uint32_t>) == sizeof(std::uint32_t));

class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() {
    shaking::shake();
    real_.lock();
  }
  bool try_lock() {
    shaking::shake();
    return real_.try_lock();
  }
  void unlock() {
    shaking::shake();
    real_.unlock();
  }

 private:
  std::mutex real_;
};

inline void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                       time_point deadline = time_point::max()) noexcept {
  shaking::shake();
  real_sync::futex_wait(word.real(), expected, deadline);
}

inline void futex_wake(atomic<std::uint32_t>& word, int count = 1) noexcept {
  shaking::shake();
  real_sync::futex_wake(word.real(), count);
}

inline void light_fence() noexcept {
  shaking::shake();
  real_sync::light_fence();
}

inline void heavy_fence() noexcept {
  shaking::shake();
  real_sync::heavy_fence();
}

inline void pause() noexcept {
  shaking::shake();
  real_sync::pause();
}

inline void yield_thread() noexcept {
  shaking::shake();
  real_sync::yield_thread();
}

}  // namespace rota::sync

#endif
