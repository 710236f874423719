// Handlers underneath: what the templates of node.h derive from. A program needs none of it.
//
// A handler is where events wait, and what is to be done with them. Its events are in a queue of
// its own (messages, requests, firings of a timer), behind a lock of its own. Who puts an event
// into a queue that had none triggers the handler; from then on the schedule has it, until a run
// has left the queue empty:
//
//   waiting --trigger--> triggered --step--> queued --take--> running --finish--> waiting
//   (nobody)             (the wait set)      (run queue)      (a runner)          or triggered
//                                               |  ^
//                                     group busy v  | handed over
//                                             grouped (the queue of its group)
//
// Spec: specs/scheduler_built.
#ifndef ROTA_EVENT_CORE_H
#define ROTA_EVENT_CORE_H

#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/counted.h>
#include <rota/task/core.h>
#include <rota/task/event.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace rota {

// Which of the handlers that were triggered together runs first: smaller ones. Only within one step
// of the schedule, so nobody starves.
enum class handler_class : std::uint8_t { timer, subscriber, server, client };

// What a handler counts. Taken while others use it, so a moment old.
struct handler_counters {
  std::uint64_t runs = 0;        // times that it was run
  std::uint64_t events = 0;      // what it was given: messages, requests, firings
  std::uint64_t dropped = 0;     // messages that found the queue full; firings that were missed
  std::uint64_t expired = 0;     // messages whose lifespan was over
  std::uint64_t late = 0;        // deadlines that passed without a message
  std::uint64_t failed = 0;      // exceptions that its function threw
  std::uint64_t pending = 0;     // events that wait now
  std::uint64_t max_passed = 0;  // runs of others that came before one of its own, at most
};

namespace detail {

class handler;
class handler_group;
struct message_base;
using message_ref = counted_ptr<message_base>;
class handler_schedule;
class executor;

// Handlers linked by their own pointer, first in, first out.
class handler_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  void push(handler& h) noexcept;
  void push_front(handler& h) noexcept;
  void take_out(handler& h) noexcept;  // which is in it
  handler* pop() noexcept;
  void append(handler_list& other) noexcept;
  handler* first() const noexcept { return first_; }

 private:
  friend struct inspect;
  handler* first_ = nullptr;
  handler* last_ = nullptr;
};

// Who waits until a handler that is removed or drained has nothing to do.
class idle_watch {
 public:
  // In a task that may suspend; elsewhere the thread waits, and a worker runs other jobs meanwhile.
  enum class by : std::uint8_t { task, thread };
  explicit idle_watch(by who) noexcept : by_(who) {}

  void signal() noexcept;
  void wait() noexcept;                                            // by a thread
  async_event::awaiter ended() noexcept { return event_.wait(); }  // by a task

 private:
  friend class handler_schedule;
  friend struct aftermath;
  const by by_;
  async_event event_;
  // Zero, then `called` while the signal is under way, then `over`. A futex.
  enum : std::uint32_t { called = 1, over = 2 };
  sync::atomic<std::uint32_t> done_{0};
  idle_watch* next_ = nullptr;  // of others that watch the same handler
};

// What a run has come to.
enum class run_end : std::uint8_t {
  done,      // no event is left
  more,      // some are left for another run
  detached,  // it goes on by itself, and says when it has ended: executor::finish
};

// Handlers of which only one runs at a time. Guarded by the lock of the schedule, unless said.
class handler_group : public counted {
 public:
  // Handlers of a group have one schedule: false if it has some on another bus.
  bool join(const counted* bus) noexcept {
    spin_guard guard{lock_};
    if (members_ > 0 && bus_ != bus) return false;
    bus_ = bus;
    ++members_;
    return true;
  }
  void part() noexcept {
    spin_guard guard{lock_};
    --members_;
  }

 private:
  friend class handler_schedule;
  friend struct inspect;
  handler* holder_ = nullptr;
  handler_list queue_;

  spin_lock lock_;
  const counted* bus_ = nullptr;  // guarded by lock_
  std::size_t members_ = 0;       // guarded by lock_
};

class handler : public counted {
 public:
  static constexpr int classes = 4;
  static constexpr int priorities = 3;  // -1, 0, 1

  handler(handler_class c, std::string name) : class_(c), name_(std::move(name)) {}

  // Takes events and does what there is to be done. Only the executor calls it, and nobody else
  // runs the handler meanwhile.
  virtual run_end run() noexcept = 0;

  // No event comes any more; those that wait are dropped. Asks a run under way to stop.
  virtual void close() noexcept = 0;

  // No event comes any more; those that wait are still handled.
  virtual void drain() noexcept { close(); }

  // Of a run that goes on by itself and has not begun: true if it never will, and the caller is to
  // end it. Others wait for their turn as well, maybe for the one who removes the handler.
  virtual bool abandon() noexcept { return false; }

  // Events that were held back until now may come. True if some wait, and the caller has to trigger
  // the handler.
  virtual bool open() noexcept { return false; }

  // Whether events wait. Called with the lock of the schedule.
  virtual bool has_events() const noexcept = 0;

  virtual handler_counters counters() const = 0;

  handler_class kind() const noexcept { return class_; }
  const std::string& name() const noexcept { return name_; }

  // Before the first trigger. `bus` is what the handler uses to its end, which may come after that
  // of its node: the last run has a pointer of its own.
  void keep(counted_ptr<counted> bus) noexcept { kept_ = std::move(bus); }
  bool set_group(counted_ptr<handler_group> g) noexcept {  // false: it is another bus's
    if (g && !g->join(kept_.get())) return false;
    group_ = std::move(g);
    return true;
  }
  void set_priority(int p) noexcept { priority_ = static_cast<std::int8_t>(p); }

 protected:
  // Of a run that goes on by itself: nobody runs the function yet; the job here does.
  void runs_as_nobody() noexcept { runs_as_.store(nullptr, sync::memory_order_relaxed); }
  void runs_here() noexcept;

  ~handler() override {
    if (group_) group_->part();
  }

 private:
  friend class handler_list;
  friend class handler_schedule;
  friend struct aftermath;
  friend class executor;
  friend class trigger_list;
  friend class detached_run;
  friend struct inspect;

  counted_ptr<counted> kept_;  // first, so that it ends last

  // The job in which the function of the handler runs: who finds it to be its own must not wait for
  // the end of the run. Means something only while it runs.
  sync::atomic<const job*> runs_as_{nullptr};

  executor* runs_on_ = nullptr;  // the run's own

  enum class phase : std::uint8_t { waiting, triggered, queued, grouped, running };

  const handler_class class_;
  std::int8_t priority_ = 0;
  const std::string name_;
  counted_ptr<handler_group> group_;

  // In the list of the one who is about to trigger us, and whose this is: there is one at most.
  handler* trigger_next_ = nullptr;

  // In the wait set, the run queue or the queue of a group. All below: guarded by the lock of the
  // schedule.
  handler* next_ = nullptr;
  phase phase_ = phase::waiting;
  bool again_ = false;           // triggered while it runs
  bool has_group_ = false;       // holds its group
  bool removed_ = false;         // is not run any more; unless it waits, the schedule has a pointer
  bool guest_ = false;           // runs beside who has its group, and waits for its end
  activity* resumes_ = nullptr;  // in the queue of a group: a run that goes on, not one that begins
  std::uint64_t since_ = 0;      // how many runs had begun when it was triggered
  std::uint64_t runs_ = 0;
  std::uint64_t max_passed_ = 0;
  idle_watch* watches_ = nullptr;
};

// Handlers that have got their first event, to be triggered together once the caller has given its
// locks back.
class trigger_list {
 public:
  explicit trigger_list(executor& home) noexcept : home_(home) {}
  trigger_list(const trigger_list&) = delete;
  trigger_list& operator=(const trigger_list&) = delete;
  ~trigger_list() {
    if (first_ || gone_) flush();
  }

  // Keeps the handler until it is triggered.
  void add(handler& h) noexcept {
    h.add_ref();
    h.trigger_next_ = nullptr;
    (last_ ? last_->trigger_next_ : first_) = &h;
    last_ = &h;
  }

  // Drops a message. If nobody else has it, it ends after the locks are given back, too: its
  // destructor is the user's.
  void discard(message_ref m) noexcept;

 private:
  void flush() noexcept;

  executor& home_;
  handler* first_ = nullptr;
  handler* last_ = nullptr;
  message_base* gone_ = nullptr;
};

// For the templates: who is running and how it goes on.

// Whether the handler was taken out of use.
bool is_removed(executor& home, const handler& h) noexcept;

// A run that goes on by itself has ended.
void finish_run(executor& home, handler& h, bool more) noexcept;

// An exception that a handler's function threw, for options::on_unobserved.
void report_failure(executor& home, const handler& h, std::exception_ptr error) noexcept;

}  // namespace detail
}  // namespace rota

#endif
