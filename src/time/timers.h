// The timers of a runtime: a wheel a worker, each behind a lock of its own.
//
// A timer is set in the wheel of the worker that its task runs on; anybody may cancel it. Who fires
// it claims the task under the wheel's lock, and a task takes its timer out, under that lock,
// before it waits for something else: so a timer never wakes a task from another wait.
#ifndef ROTA_TIME_TIMERS_H
#define ROTA_TIME_TIMERS_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "pool/pool.h"
#include "time/timer_wheel.h"

namespace rota::detail {

class timers final : public timer_driver {
 public:
  explicit timers(pool& p);

  // The timers of the running task's runtime, and the wheel of its worker.
  static timers& here();

  // Sets `t` for the running task, unless `begin`, called under the lock, gives false.
  template <class Begin>
  bool set(timer& t, sync::time_point deadline, Begin&& begin) {
    const unsigned of = worker::here()->index();
    wheel& w = *wheels_[of];
    t.tick = tick_of(deadline);
    t.wheel = of;
    spin_guard guard{w.lock};
    if (!begin()) return false;
    w.timers.add(t);
    // relaxed: who sleeps looks again after a heavy fence; the wheel's own worker is the writer.
    if (t.tick < w.next.load(sync::memory_order_relaxed))
      w.next.store(t.tick, sync::memory_order_relaxed);
    return true;
  }

  // Takes the timer out if it has not fired.
  void cancel(timer& t) noexcept;

  bool fire(worker& w, unsigned of, sync::time_point now) override;
  sync::time_point next(unsigned of) const noexcept override;

 private:
  struct alignas(64) wheel {
    spin_lock lock;
    timer_wheel timers;                                    // guarded by lock
    sync::atomic<std::uint64_t> next{timer_wheel::never};  // written under lock, read by anyone
  };

  std::uint64_t tick_of(sync::time_point t) const noexcept;

  const sync::time_point began_;
  std::vector<std::unique_ptr<wheel>> wheels_;
};

}  // namespace rota::detail

#endif
