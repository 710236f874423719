// How a runtime is set up.
//
//   rota::runtime rt{rota::options{}.with_workers(2).with_watchdog(100ms)};
//
// Read once, when the runtime is made: what is changed later changes nothing. Functions in it are
// called on threads of the runtime, so they must bear that. Threads: as any value.
#ifndef ROTA_POOL_OPTIONS_H
#define ROTA_POOL_OPTIONS_H

#include <rota/base/sync.h>

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace rota {

enum class order {
  // Ready tasks run first come, first served, give or take the bypasses of `quiescent_fair`.
  fair,
  // One worker; exactly the order of the paper's scheduler: every await gives way, and a task keeps
  // its place in the queue while it is blocked (`same_order`).
  strict,
};

// What ~runtime does with tasks that have not ended.
enum class at_exit {
  cancel,  // asks them to stop, and waits until they have
  drain,   // waits until they end by themselves
};

// A class with setters rather than an aggregate: g++ 12 destroys braced aggregates twice when they
// are made inside a co_await.
class options {
 public:
  // 0: one per core. Strict order has one worker, whatever is said here.
  unsigned workers = 0;

  rota::order order = order::fair;

  rota::at_exit at_exit = at_exit::cancel;

  // A task that runs longer than this without giving way is reported to `on_long_step`.
  // Zero: nobody watches, and there is no watching thread.
  std::chrono::nanoseconds watchdog{0};

  // Gets a line that names the task. Called on the watching thread. Empty: prints to stderr.
  std::function<void(const std::string&)> on_long_step;

  // Gets an exception that ended a task whose handle was detached or dropped, or a behaviour whose
  // result nobody awaits. Called on a worker, or where the result is dropped. Empty: prints to
  // stderr.
  std::function<void(std::exception_ptr, const std::string& task)> on_unobserved;

  // Whether behaviours that send to an overloaded cown have their own cowns muted until it has
  // caught up. Off, queues grow without bound: for measuring what it costs.
  bool backpressure = true;

  // Short steps that share what they touch can be slower on several cores than on fewer. A worker
  // that has tried, and found that the others get as much done without it, keeps away for a while
  // and tries again: at most so long, and not while jobs wait for more than some 250 us behind
  // short steps, or come from outside, nor for more than 4 ms once steps have become long. Zero, as
  // in programs that are explored: all workers always take part.
  std::chrono::microseconds longest_rest{sync::is_explored ? 0 : 32'000};

  // How many threads run_blocking() may use at once.
  unsigned blocking_threads = 256;

  options& with_workers(unsigned count) & { return workers = count, *this; }
  options&& with_workers(unsigned count) && { return workers = count, std::move(*this); }
  options& with_order(rota::order o) & { return order = o, *this; }
  options&& with_order(rota::order o) && { return order = o, std::move(*this); }
  options& with_at_exit(rota::at_exit a) & { return at_exit = a, *this; }
  options&& with_at_exit(rota::at_exit a) && { return at_exit = a, std::move(*this); }
  options& with_backpressure(bool on) & { return backpressure = on, *this; }
  options&& with_backpressure(bool on) && { return backpressure = on, std::move(*this); }
  options& with_longest_rest(std::chrono::microseconds t) & { return longest_rest = t, *this; }
  options&& with_longest_rest(std::chrono::microseconds t) && {
    return longest_rest = t, std::move(*this);
  }
  options& with_watchdog(std::chrono::nanoseconds limit) & { return watchdog = limit, *this; }
  options&& with_watchdog(std::chrono::nanoseconds limit) && {
    return watchdog = limit, std::move(*this);
  }
};

}  // namespace rota

#endif
