// Waiting until a condition holds.
//
//   co_await rota::guard([&] { return stock >= wanted; });      // looked at once a round
//
//   rota::cell<int> stock{0};
//   co_await stock.until([&](int s) { return s >= wanted; });   // looked at when it changes
//   co_await rota::guard(enough, stock, budget);                // ... or when one of these does
//   stock.update([](int& s) { ++s; });
//
// A plain guard reads what it likes, so after other tasks have run it is looked at again, once a
// round, at its place in the queue; when nothing ran it sleeps. A guard that names cells is looked
// at only when one of them was written: that is the way to say what changed.
//
// Promised: the condition holds when the task goes on, as far as tasks of one worker are concerned;
// a guard that holds at every look goes on (`quiescent_fair`). Among guards that hold, first come,
// first served.
// Not promised: that a guard is looked at while it holds only for a moment.
//
// Threads: to await is for tasks; a cell is written and read by anyone.
// With several workers the condition is evaluated while other tasks run: what it reads must bear
// that (cells, atomics). What a thread outside of the runtime changes must be a cell. g++ 12: a
// closure that owns something is named first, then passed.
#ifndef ROTA_TASK_GUARD_H
#define ROTA_TASK_GUARD_H

#include <rota/base/spin_lock.h>
#include <rota/task/core.h>
#include <rota/task/task.h>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rota {

namespace detail {

// One look at a plain guard has failed: waits until another task has run.
class look_again {
 public:
  // `seen` is progress() from before the look; `first` says that the step did more than look.
  look_again(std::uint64_t seen, bool first) noexcept : seen_(seen), first_(first) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept;
  void await_resume() const;

 private:
  std::uint64_t seen_;
  bool first_;
  bool stopped_ = false;
};

// How many steps that may have changed something have ended.
std::uint64_t progress() noexcept;

// In strict order a guard gives way before its first look; otherwise this is nothing.
class give_way_if_strict {
 public:
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept;
  void await_resume() const {
    if (stopped_) throw cancelled{};
  }

 private:
  bool stopped_ = false;
};

// What cells have in common: those who wait for the next write.
class cell_base {
 public:
  cell_base() = default;
  cell_base(const cell_base&) = delete;
  cell_base& operator=(const cell_base&) = delete;

 protected:
  friend class cells_awaiter;

  // Ends the write: gives the lock back and wakes everybody who waits.
  void written() noexcept;

  mutable spin_lock lock_;
  std::uint64_t version_ = 0;       // guarded by lock_; grows with every write
  std::vector<activity*> waiters_;  // guarded by lock_
};

// Waits until one of the cells was written since the given versions were read.
class cells_awaiter {
 public:
  cells_awaiter(cell_base* const* cells, const std::uint64_t* seen, std::size_t count) noexcept
      : cells_(cells), seen_(seen), count_(count) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf);
  void await_resume();

  static std::uint64_t version(const cell_base& c) noexcept;

 private:
  cell_base* const* cells_;
  const std::uint64_t* seen_;
  std::size_t count_;
  bool waited_ = false;
  bool stopped_ = false;
};

}  // namespace detail

// A value that guards can wait for. Reads and writes are atomic, from any thread.
template <class T>
class cell : public detail::cell_base {
 public:
  explicit cell(T value = T{}) : value_(std::move(value)) {}

  T get() const {
    detail::spin_guard guard{lock_};
    return value_;
  }
  void set(T value) {
    lock_.lock();
    value_ = std::move(value);
    written();
  }
  // f(T&) changes the value; short, since others spin meanwhile. It must not throw.
  template <class F>
  void update(F&& f) noexcept {
    lock_.lock();
    f(value_);
    written();
  }

  // Waits until f(value) holds.
  template <class F>
  task<void> until(F f) {
    detail::cell_base* const cells[] = {this};
    for (;;) {
      const std::uint64_t seen[] = {detail::cells_awaiter::version(*this)};
      if (f(get())) co_return;
      co_await detail::cells_awaiter{cells, seen, 1};
    }
  }

 private:
  T value_;  // guarded by lock_
};

// Waits until the condition holds; looked at after other tasks have run.
template <std::predicate F>
task<void> guard(F condition) {
  co_await detail::give_way_if_strict{};
  for (bool first = true;; first = false) {
    const std::uint64_t seen = detail::progress();
    if (condition()) co_return;
    co_await detail::look_again{seen, first};
  }
}

// Waits until the condition holds; looked at when one of the cells is written.
template <std::predicate F, class... Ts>
  requires(sizeof...(Ts) > 0)
task<void> guard(F condition, cell<Ts>&... cells) {
  co_await detail::give_way_if_strict{};
  detail::cell_base* const all[] = {&cells...};
  for (;;) {
    const std::uint64_t seen[] = {detail::cells_awaiter::version(cells)...};
    if (condition()) co_return;
    co_await detail::cells_awaiter{all, seen, sizeof...(Ts)};
  }
}

}  // namespace rota

#endif
