// Who runs next: the wait set, the run queue and the groups of specs/scheduler.
//
// A passive structure behind one lock; src/event/executor.h has the tasks that run what it gives.
//
//   trigger   puts a handler that waits into the wait set
//   take      moves the whole wait set to the rear of the run queue, by class and priority, then
//             takes the first of the queue whose group is free. One whose group is busy lines up
//             there, and is given the group, and the front of the run queue, in its turn
//   finish    the run has ended: the handler waits, or is triggered if there are events for it
//
// Promised (`starvation_free`): with N handlers, one that was triggered is passed by at most N - 1
// runs of others before it runs or lines up for its group, since a take moves all that is triggered
// before it gives something out. In the queue of a group of g it is passed by at most g - 1 of that
// group. Spec: specs/scheduler_built.
//
// Runners are known by number only: `idle_` of them have nothing to do, and each function gives how
// many of those are to be woken.
#ifndef ROTA_EVENT_SCHEDULE_H
#define ROTA_EVENT_SCHEDULE_H

#include <rota/base/inspect.h>
#include <rota/base/spin_lock.h>
#include <rota/event/core.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rota::detail {

// What is to be done once the lock is given back, since user code may run then.
struct aftermath {
  unsigned wakes = 0;             // idle runners that have something to do
  handler_list dropped;           // removed, and with nothing to do any more
  handler_list resumed;           // runs that have got their group back
  idle_watch* watches = nullptr;  // who is to be told that a handler has nothing to do

  void settle() noexcept;  // all but the wakes
};

class handler_schedule {
 public:
  // Puts handlers that have got their first event, a list by trigger_next_, into the wait set. The
  // caller drops the pointers of what is left of the list, which are removed ones, and of `kept`,
  // one that was put there: as long as a handler is there, so is its bus, and the aftermath needs
  // it.
  aftermath trigger(handler*& all, handler*& kept) noexcept;

  // The next to run, or null, and then the caller counts as idle.
  handler* take(aftermath& then) noexcept;

  // A run has ended, and its runner wants the next.
  handler* finish_and_take(handler& h, bool more, aftermath& then) noexcept;

  // A run that went on without a runner has ended.
  aftermath finish(handler& h, bool more) noexcept;

  // A run waits for something and lets others of its group run meanwhile. False: it has no group.
  bool leave_group(handler& h, aftermath& then) noexcept;

  // It goes on: true if it has the group. Otherwise `who`, which has begun to wait, is made ready
  // when it has; `begin`, called under the lock, does that.
  template <class Begin>
  bool enter_group(handler& h, activity* who, Begin&& begin) noexcept {
    spin_guard guard{lock_};
    handler_group& g = *h.group_;
    if (h.guest_) return true;
    if (!g.holder_) {
      g.holder_ = &h;
      h.has_group_ = true;
      return true;
    }
    begin();
    h.resumes_ = who;
    g.queue_.push(h);
    return false;
  }

  // The handler is not run any more.
  void remove(handler& h) noexcept;

  // `who` is about to wait for the end of a run. If it is a run that has the group which the other
  // needs to go on, it lets it in.
  aftermath wait_for(handler& h, const job* who) noexcept;

  // Nobody takes handlers any more: lets go of removed ones that are still queued.
  aftermath drop_removed() noexcept;

  // False if the handler has nothing to do, or was removed and does not run; otherwise `w` will be
  // told when that is so.
  bool watch(handler& h, idle_watch& w) noexcept;

  // Takes a watch back. False if it is too late for that: it will be told.
  bool unwatch(handler& h, idle_watch& w) noexcept;

  // A handler is there, and can be triggered.
  void enlist() noexcept;

  bool is_removed(const handler& h) const noexcept;

  // Whether it was removed and has nothing to do any more.
  bool is_over(const handler& h) const noexcept;

  // How often handlers have begun to run, and how many others ran before one of them, at most.
  struct totals {
    std::uint64_t runs = 0;
    std::uint64_t steps = 0;
    std::uint64_t max_passed = 0;
    std::size_t queued = 0;
    std::size_t handlers = 0;
    std::size_t most_handlers = 0;
  };
  totals statistics() const noexcept;
  void add_counters(const handler& h, handler_counters& to) const noexcept;

 private:
  friend struct inspect;
  using phase = handler::phase;
  static constexpr std::size_t buckets =
      static_cast<std::size_t>(handler::classes * handler::priorities);

  // All with the lock held.
  void add(handler& h) noexcept;
  void step() noexcept;
  handler* take_first(aftermath& then) noexcept;
  bool begin(handler& h) noexcept;
  void skip(handler& h, aftermath& then) noexcept;
  unsigned end(handler& h, bool more, aftermath& then) noexcept;
  void rest(handler& h, aftermath& then) noexcept;
  bool hand_over(handler& h, aftermath& then) noexcept;
  void wake(aftermath& then, unsigned count = 1) noexcept {
    for (; count > 0 && idle_ > 0; --count, --idle_) ++then.wakes;
  }

  mutable spin_lock lock_;
  // All below: guarded by lock_.
  std::array<handler_list, buckets> wait_set_;  // by class, then priority, then time
  std::uint32_t occupied_ = 0;                  // a bit a bucket
  handler_list run_queue_;
  std::size_t queued_ = 0;  // in the wait set, the run queue and groups
  unsigned idle_ = 0;
  std::size_t handlers_ = 0;
  std::size_t most_handlers_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t max_passed_ = 0;
};

}  // namespace rota::detail

#endif
