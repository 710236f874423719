// What explored programs synchronise with: the names of rota::sync, under the explorer's control.
//
//   explore::atomic<int> ready{0};
//   explore::cell<int> data{0};                  // plain memory, watched for races
//   explore::thread t([&] { data = 42; ready.store(1, std::memory_order_release); });
//
// Inside a program that is explored every access is a step of the schedule. Outside of it, they
// act at once.
//
// Threads: inside, those of the program; outside, one.
#ifndef ROTA_VERIFY_EXPLORE_TYPES_H
#define ROTA_VERIFY_EXPLORE_TYPES_H

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <source_location>
#include <type_traits>
#include <utility>

namespace rota::explore {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

inline constexpr bool is_explored = true;

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

using where_t = std::source_location;

// Where the explorer keeps what it knows of an object, if it still says so itself.
struct place {
  mutable std::uint32_t index = ~std::uint32_t{0};
};

namespace detail {

enum class change : std::uint8_t { exchange, add, subtract, bit_and, bit_or, bit_xor };

// True while a program is being explored, outside of the explorer itself.
extern bool exploring;

void made(place& p, const void* object, std::uint64_t value);
void gone(place& p, const void* object);
std::uint64_t load(const place& p, const void* object, std::uint64_t first, std::memory_order order,
                   const where_t& where);
void store(place& p, const void* object, std::uint64_t first, std::uint64_t value,
           std::memory_order order, const where_t& where);
std::uint64_t update(place& p, const void* object, std::uint64_t first, change how,
                     std::uint64_t operand, std::uint64_t mask, std::memory_order order,
                     const where_t& where);
bool compare_exchange(place& p, const void* object, std::uint64_t first, std::uint64_t& expected,
                      std::uint64_t desired, bool weak, std::memory_order success,
                      std::memory_order failure, const where_t& where);
std::uint64_t peek(const place& p, const void* object, std::uint64_t first) noexcept;

enum class plain_access : std::uint8_t { made, read, write, gone };
void touch(const place& p, const void* object, plain_access how, const where_t& where);

void lock(place& p, const void* object, const where_t& where);
bool try_lock(place& p, const void* object, const where_t& where);
void unlock(place& p, const void* object, const where_t& where);
void mutex_gone(place& p, const void* object);

unsigned start_thread(std::function<void()> body, const where_t& where);
void join_thread(unsigned index, const where_t& where);
[[noreturn]] void unjoined_thread();
unsigned processors() noexcept;

void futex_wait(const place& p, const void* object, std::uint64_t first, std::uint64_t expected,
                time_point deadline, const where_t& where);
void futex_wake(const place& p, const void* object, int count, const where_t& where);

void** slot(std::size_t key) noexcept;
std::size_t new_slot_key() noexcept;

constexpr std::memory_order failure_order(std::memory_order order) noexcept {
  if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
  if (order == std::memory_order_release) return std::memory_order_relaxed;
  return order;
}

}  // namespace detail

// What all atomics have in common, for name() and for mappings.
class atomic_base {
 public:
  const place& at() const noexcept { return place_; }

 protected:
  constexpr atomic_base() noexcept = default;
  place place_;
};

template <class T>
class atomic : public atomic_base {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  using value_type = T;
  using change_type = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;
  static constexpr bool is_always_lock_free = true;

  constexpr atomic() noexcept : atomic(T{}) {}
  constexpr atomic(T value) noexcept : real_(value) {
    if (!std::is_constant_evaluated() && detail::exploring)
      detail::made(place_, this, to_word(value));
  }
  constexpr ~atomic() {
    if (!std::is_constant_evaluated() && detail::exploring) detail::gone(place_, this);
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst,
         const where_t& where = where_t::current()) const noexcept {
    if (!detail::exploring) return real_;
    return from_word(detail::load(place_, this, to_word(real_), order, where));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst,
             const where_t& where = where_t::current()) noexcept {
    if (!detail::exploring)
      real_ = value;
    else
      detail::store(place_, this, to_word(real_), to_word(value), order, where);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst,
             const where_t& where = where_t::current()) noexcept {
    return update(detail::change::exchange, to_word(value), order, where);
  }
  operator T() const noexcept { return load(); }
  T operator=(T value) noexcept {
    store(value);
    return value;
  }

  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure,
                             const where_t& where = where_t::current()) noexcept {
    return compare_exchange(expected, desired, true, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst,
                             const where_t& where = where_t::current()) noexcept {
    return compare_exchange(expected, desired, true, order, detail::failure_order(order), where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure,
                               const where_t& where = where_t::current()) noexcept {
    return compare_exchange(expected, desired, false, success, failure, where);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst,
                               const where_t& where = where_t::current()) noexcept {
    return compare_exchange(expected, desired, false, order, detail::failure_order(order), where);
  }

  T fetch_add(change_type by, std::memory_order order = std::memory_order_seq_cst,
              const where_t& where = where_t::current()) noexcept {
    return update(detail::change::add, scaled(by), order, where);
  }
  T fetch_sub(change_type by, std::memory_order order = std::memory_order_seq_cst,
              const where_t& where = where_t::current()) noexcept {
    return update(detail::change::subtract, scaled(by), order, where);
  }
  T fetch_and(T mask, std::memory_order order = std::memory_order_seq_cst,
              const where_t& where = where_t::current()) noexcept {
    return update(detail::change::bit_and, to_word(mask), order, where);
  }
  T fetch_or(T mask, std::memory_order order = std::memory_order_seq_cst,
             const where_t& where = where_t::current()) noexcept {
    return update(detail::change::bit_or, to_word(mask), order, where);
  }
  T fetch_xor(T mask, std::memory_order order = std::memory_order_seq_cst,
              const where_t& where = where_t::current()) noexcept {
    return update(detail::change::bit_xor, to_word(mask), order, where);
  }

  T operator++() noexcept { return fetch_add(1) + 1; }
  T operator--() noexcept { return fetch_sub(1) - 1; }
  T operator++(int) noexcept { return fetch_add(1); }
  T operator--(int) noexcept { return fetch_sub(1); }
  T operator+=(change_type by) noexcept { return fetch_add(by) + by; }
  T operator-=(change_type by) noexcept { return fetch_sub(by) - by; }
  T operator&=(T mask) noexcept { return fetch_and(mask) & mask; }
  T operator|=(T mask) noexcept { return fetch_or(mask) | mask; }
  T operator^=(T mask) noexcept { return fetch_xor(mask) ^ mask; }

  void wait(T old, std::memory_order order = std::memory_order_seq_cst,
            const where_t& where = where_t::current()) const noexcept {
    while (to_word(load(order, where)) == to_word(old))
      detail::futex_wait(place_, this, to_word(real_), to_word(old), time_point::max(), where);
  }
  void notify_one(const where_t& where = where_t::current()) noexcept {
    detail::futex_wake(place_, this, 1, where);
  }
  void notify_all(const where_t& where = where_t::current()) noexcept {
    detail::futex_wake(place_, this, std::numeric_limits<int>::max(), where);
  }

  // The last value of all, as no thread needs to see it. No step of the schedule: for mappings.
  T peek() const noexcept { return from_word(detail::peek(place_, this, to_word(real_))); }

  place& futex_place() noexcept { return place_; }
  std::uint64_t first_word() const noexcept { return to_word(real_); }

 private:
  static constexpr std::uint64_t all_bits =
      sizeof(T) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * sizeof(T) % 64)) - 1;

  static std::uint64_t to_word(T value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
  static T from_word(std::uint64_t word) noexcept {
    std::remove_const_t<T> value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
  static std::uint64_t scaled(change_type by) noexcept {
    if constexpr (std::is_pointer_v<T>)
      return static_cast<std::uint64_t>(by) * sizeof(std::remove_pointer_t<T>);
    else
      return to_word(by);
  }

  T update(detail::change how, std::uint64_t operand, std::memory_order order,
           const where_t& where) noexcept;
  bool compare_exchange(T& expected, T desired, bool weak, std::memory_order success,
                        std::memory_order failure, const where_t& where) noexcept;

  T real_;  // the first value while exploring, the value otherwise
};

namespace detail {

constexpr std::uint64_t changed(std::uint64_t old, change how, std::uint64_t operand) noexcept {
  switch (how) {
    case change::exchange:
      return operand;
    case change::add:
      return old + operand;
    case change::subtract:
      return old - operand;
    case change::bit_and:
      return old & operand;
    case change::bit_or:
      return old | operand;
    case change::bit_xor:
      return old ^ operand;
  }
  return old;
}

}  // namespace detail

template <class T>
T atomic<T>::update(detail::change how, std::uint64_t operand, std::memory_order order,
                    const where_t& where) noexcept {
  if (detail::exploring)
    return from_word(
        detail::update(place_, this, to_word(real_), how, operand, all_bits, order, where));
  const T old = real_;
  real_ = from_word(detail::changed(to_word(old), how, operand) & all_bits);
  return old;
}

template <class T>
bool atomic<T>::compare_exchange(T& expected, T desired, bool weak, std::memory_order success,
                                 std::memory_order failure, const where_t& where) noexcept {
  if (detail::exploring) {
    std::uint64_t word = to_word(expected);
    const bool done = detail::compare_exchange(place_, this, to_word(real_), word, to_word(desired),
                                               weak, success, failure, where);
    if (!done) expected = from_word(word);
    return done;
  }
  if (to_word(real_) != to_word(expected)) {
    expected = real_;
    return false;
  }
  real_ = desired;
  return true;
}

time_point now(const where_t& where = where_t::current()) noexcept;

// Plain memory that is watched: two accesses, one of them a write, that are not ordered by
// happens-before are reported as a data race.
template <class T>
class cell {
 public:
  cell(const where_t& where = where_t::current()) : value_{} {
    touch(detail::plain_access::made, where);
  }
  cell(T value, const where_t& where = where_t::current()) : value_(std::move(value)) {
    touch(detail::plain_access::made, where);
  }
  ~cell() { touch(detail::plain_access::gone, where_t::current()); }
  cell(const cell&) = delete;
  cell& operator=(const cell&) = delete;

  const T& get(const where_t& where = where_t::current()) const {
    touch(detail::plain_access::read, where);
    return value_;
  }
  void set(T value, const where_t& where = where_t::current()) {
    touch(detail::plain_access::write, where);
    value_ = std::move(value);
  }
  // A reference to change it through, at once.
  T& change(const where_t& where = where_t::current()) {
    touch(detail::plain_access::write, where);
    return value_;
  }
  // The value without an access: for mappings and checks between steps.
  const T& peek() const noexcept { return value_; }
  operator const T&() const { return get(); }
  cell& operator=(T value) {
    set(std::move(value));
    return *this;
  }

 private:
  void touch(detail::plain_access how, const where_t& where) const {
    if (detail::exploring) detail::touch(place_, this, how, where);
  }

  place place_;
  T value_;
};

class mutex {
 public:
  constexpr mutex() noexcept = default;
  constexpr ~mutex() {
    if (!std::is_constant_evaluated() && detail::exploring) detail::mutex_gone(place_, this);
  }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock(const where_t& where = where_t::current()) {
    if (detail::exploring) detail::lock(place_, this, where);
  }
  bool try_lock(const where_t& where = where_t::current()) {
    return !detail::exploring || detail::try_lock(place_, this, where);
  }
  void unlock(const where_t& where = where_t::current()) {
    if (detail::exploring) detail::unlock(place_, this, where);
  }

 private:
  place place_;
};

// With std::unique_lock<explore::mutex>.
class condition_variable {
 public:
  void wait(std::unique_lock<mutex>& lock, const where_t& where = where_t::current()) {
    wait_until(lock, time_point::max(), where);
  }
  template <class F>
    requires std::predicate<F&>
  void wait(std::unique_lock<mutex>& lock, F until, const where_t& where = where_t::current()) {
    while (!until()) wait(lock, where);
  }
  // timeout: the deadline has come.
  std::cv_status wait_until(std::unique_lock<mutex>& lock, time_point deadline,
                            const where_t& where = where_t::current());
  template <class F>
    requires std::predicate<F&>
  bool wait_until(std::unique_lock<mutex>& lock, time_point deadline, F until,
                  const where_t& where = where_t::current()) {
    while (!until())
      if (wait_until(lock, deadline, where) == std::cv_status::timeout) return until();
    return true;
  }
  template <class... F>
  auto wait_for(std::unique_lock<mutex>& lock, clock::duration length, F... until) {
    return wait_until(lock, now() + length, until...);
  }

  void notify_one(const where_t& where = where_t::current()) noexcept { notify(1, where); }
  void notify_all(const where_t& where = where_t::current()) noexcept {
    notify(std::numeric_limits<int>::max(), where);
  }

 private:
  void notify(int count, const where_t& where) noexcept;

  atomic<std::uint32_t> notifications_{0};
};

// A fiber with the face of std::thread. Only inside of an explored program.
class thread {
 public:
  thread() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, thread>)
  explicit thread(F&& f, const where_t& where = where_t::current())
      : index_(start(std::forward<F>(f), where)) {}
  thread(thread&& other) noexcept : index_(std::exchange(other.index_, none)) {}
  thread& operator=(thread&& other) noexcept {
    if (joinable()) detail::unjoined_thread();
    index_ = std::exchange(other.index_, none);
    return *this;
  }
  ~thread() {
    if (joinable() && detail::exploring) detail::unjoined_thread();
  }

  bool joinable() const noexcept { return index_ != none; }
  void join(const where_t& where = where_t::current()) {
    detail::join_thread(std::exchange(index_, none), where);
  }
  void detach() noexcept { index_ = none; }

  static unsigned hardware_concurrency() noexcept { return detail::processors(); }

 private:
  static constexpr unsigned none = ~0u;

  template <class F>
  static unsigned start(F&& f, const where_t& where) {
    auto body = std::make_shared<std::decay_t<F>>(std::forward<F>(f));
    return detail::start_thread([body] { (*body)(); }, where);
  }

  unsigned index_ = none;
};

inline void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                       time_point deadline = time_point::max(),
                       const where_t& where = where_t::current()) noexcept {
  detail::futex_wait(word.futex_place(), &word, word.first_word(), expected, deadline, where);
}
inline void futex_wake(atomic<std::uint32_t>& word, int count = 1,
                       const where_t& where = where_t::current()) noexcept {
  detail::futex_wake(word.futex_place(), &word, count, where);
}

// A notification between the two looks at the count, also one that comes before we sleep, ends it.
inline std::cv_status condition_variable::wait_until(std::unique_lock<mutex>& lock,
                                                     time_point deadline, const where_t& where) {
  const std::uint32_t before = notifications_.load(std::memory_order_relaxed, where);
  lock.unlock();
  futex_wait(notifications_, before, deadline, where);
  const bool late = deadline != time_point::max() && now(where) >= deadline;
  lock.lock();
  return late ? std::cv_status::timeout : std::cv_status::no_timeout;
}
inline void condition_variable::notify(int count, const where_t& where) noexcept {
  notifications_.fetch_add(1, std::memory_order_relaxed, where);
  futex_wake(notifications_, count, where);
}

inline void prepare_fences() noexcept {}
void light_fence(const where_t& where = where_t::current()) noexcept;
void heavy_fence(const where_t& where = where_t::current()) noexcept;
void atomic_thread_fence(std::memory_order order,
                         const where_t& where = where_t::current()) noexcept;

void pause() noexcept;
void yield_thread() noexcept;
void adopt_worker_thread(unsigned index) noexcept;

// A pointer of its own for every thread of the program.
template <class T>
class thread_slot {
 public:
  static T* get() noexcept { return static_cast<T*>(*detail::slot(key())); }
  static void set(T* value) noexcept {
    *detail::slot(key()) = const_cast<std::remove_const_t<T>*>(value);
  }

 private:
  static std::size_t key() noexcept {
    static const std::size_t k = detail::new_slot_key();
    return k;
  }
};

}  // namespace rota::explore

#endif
