// How many steps do the hogs make while a quiet task is ready and does not run?
//
// Whoever makes the quiet task ready calls ready(); the quiet task calls ran()
// first thing when it runs; a hog calls step() once per turn. A trial that lasts
// longer than `patience` ends the program with "starved".
//
// When another OS thread wakes the quiet task, that thread calls wake_from_outside()
// and the quiet task ran_outside(). The count then begins when the waking call has
// returned: the operating system may take the waker's core away in the middle of the
// call, and that is not the scheduler's delay.
//
// Threads: wake_from_outside() is the other thread's, everything else the worker's.
#ifndef ROTA_BENCH_FAIRNESS_H
#define ROTA_BENCH_FAIRNESS_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "duel.h"

namespace bench {

inline constexpr int hogs = 10;
inline constexpr int pairs = 5;

// A hog acts (spawns, wakes) once in this many steps of all hogs. Prime, so
// that it is not always the same hog, or the same place in a round.
inline constexpr std::uint64_t act_every = 997;

class meter {
 public:
  explicit meter(trial& t)
      : trial_(t), trials_(static_cast<std::size_t>(t.n())), begin_(wall_now()) {
    delays_.reserve(trials_);
    trial_.start();
  }

  // A hog's turn.
  void step() {
    // relaxed: one worker writes; other threads only need some recent value.
    const std::uint64_t s = steps_.load(std::memory_order_relaxed) + 1;
    steps_.store(s, std::memory_order_relaxed);
    if (s % 256 == 0) look();
  }

  // For timers: also counts the steps made after `deadline`.
  void step_after_deadline() {
    step();
    if (deadline_ != 0 && wall_now() >= deadline_) ++late_steps_;
  }

  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

  // For a hog that spawns or wakes the quiet task: whether to do so now. If so, the
  // quiet task counts as ready.
  bool act() {
    // relaxed: the worker itself stores it.
    if (steps() % act_every != 0 || waiting_.load(std::memory_order_relaxed)) return false;
    ready();
    return true;
  }

  // The quiet task is ready from now on.
  void ready() {
    ready_at_ = steps();
    ready_time_ = wall_now();
    // release: pairs with the acquire in look(), shows it the two above.
    waiting_.store(true, std::memory_order_release);
  }

  // The quiet task runs. Returns whether another trial is wanted.
  bool ran() {
    // relaxed: look() runs on this thread.
    waiting_.store(false, std::memory_order_relaxed);
    if (steps() < settled) {
      // The hogs have yet to start. If they never do, it is they who starve.
      if (wall_now() - begin_ > patience) starved(0);
      return true;
    }
    delays_.push_back(steps() - ready_at_);
    return more();
  }

  // For another thread: lets `wake()` wake the quiet task, and waits until it ran.
  template <class Wake>
  void wake_from_outside(Wake wake) {
    usleep(1500);
    // relaxed: the quiet task stores again only after wake() below.
    ran_at_.store(not_yet, std::memory_order_relaxed);
    ready();
    wake();
    const std::uint64_t woken_at = steps();
    std::uint64_t ran_at = not_yet;
    // acquire: pairs with the release in ran_outside().
    while ((ran_at = ran_at_.load(std::memory_order_acquire)) == not_yet) usleep(200);
    delays_.push_back(ran_at > woken_at ? ran_at - woken_at : 0);
    if (!more()) finish();
  }
  void ran_outside() {
    waiting_.store(false, std::memory_order_relaxed);
    // release: pairs with the acquire in wake_from_outside().
    ran_at_.store(steps(), std::memory_order_release);
  }

  // The quiet task will be due at `deadline`; it reports to fired().
  void arm(std::int64_t deadline) {
    deadline_ = deadline;
    late_steps_ = 0;
    ready_time_ = deadline;
    waiting_.store(true, std::memory_order_release);
  }
  bool fired() {
    waiting_.store(false, std::memory_order_relaxed);
    delays_.push_back(late_steps_);
    late_ns_.push_back(
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, wall_now() - deadline_)));
    deadline_ = 0;
    return more();
  }

  // Prints the result and ends the program: hogs need not know how to stop.
  [[noreturn]] void finish() {
    trial_.stop();
    trial_.answer(static_cast<std::int64_t>(delays_.size()));
    summary("steps", delays_, 1);
    if (!late_ns_.empty()) summary("late_us", late_ns_, 1000);
    trial_.print();
    _exit(0);
  }

 private:
  static constexpr std::uint64_t not_yet = ~std::uint64_t{0};
  static constexpr std::uint64_t settled = 1000;
  static constexpr std::int64_t patience = 2'000'000'000;
  static constexpr std::int64_t budget = 3'000'000'000;

  bool more() const { return delays_.size() < trials_ && wall_now() - begin_ < budget; }

  void look() {
    if (!waiting_.load(std::memory_order_acquire) || wall_now() - ready_time_ < patience) return;
    starved(deadline_ != 0 ? late_steps_ : steps() - ready_at_);
  }

  [[noreturn]] void starved(std::uint64_t after_steps) {
    trial_.stop();
    trial_.report_flag("starved");
    trial_.report("steps_max", static_cast<double>(after_steps));
    trial_.answer(static_cast<std::int64_t>(delays_.size()));
    trial_.print();
    _exit(0);
  }

  void summary(const std::string& name, std::vector<std::uint64_t>& values, double unit) {
    std::sort(values.begin(), values.end());
    auto at = [&](double q) {
      return static_cast<double>(
                 values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))]) /
             unit;
    };
    trial_.report((name + "_p50").c_str(), at(0.5));
    trial_.report((name + "_p99").c_str(), at(0.99));
    trial_.report((name + "_max").c_str(), at(1));
  }

  trial& trial_;
  std::size_t trials_;
  std::int64_t begin_;
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<std::uint64_t> ran_at_{0};
  std::uint64_t ready_at_ = 0;
  std::int64_t ready_time_ = 0;
  std::int64_t deadline_ = 0;
  std::uint64_t late_steps_ = 0;
  std::vector<std::uint64_t> delays_;
  std::vector<std::uint64_t> late_ns_;
};

}  // namespace bench

#endif
