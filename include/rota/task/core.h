// What tasks and everything that they wait for have in common. For the layers of Rota and for those
// who write awaitables of their own; a program needs none of it.
//
// The words:
//   frame      one suspended or running coroutine
//   task       a chain of frames that call each other, begun by spawn()
//   activity   a task's control block: what queues, wait lists and handles refer to
//   leaf       the innermost frame of a chain, the one to resume
//
// Everything here is a function in the library rather than inline: it uses the thread's worker, and
// a thread-local address must not be kept across a suspension.
#ifndef ROTA_TASK_CORE_H
#define ROTA_TASK_CORE_H

#include <rota/base/frame_pool.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/task/errors.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>
#include <utility>

namespace rota {

class fork_scope;

namespace detail {

class activity;
class runtime_state;

// What a task waits for. Shown in dumps and deadlock reports.
enum class wait_kind : std::uint8_t {
  none,
  join,
  group,
  send,
  receive,
  mutex,
  semaphore,
  event,
  guard,
  cell,
  timer,
  blocking,
  behaviour,
  admission,
  turn,
};

// The part of a promise that does not depend on the result.
class promise_base {
 public:
  // Who goes on when this frame ends: a frame that called it, a scope that forked it, or, for the
  // outermost frame of a task, the task's activity. The kind is in the low bits.
  enum class follower : std::uintptr_t { frame = 0, fork = 1, activity = 2 };

  void follow(follower kind, void* who) noexcept {
    next_ = reinterpret_cast<std::uintptr_t>(who) | static_cast<std::uintptr_t>(kind);
  }
  follower kind() const noexcept { return static_cast<follower>(next_ & 3); }
  void* who() const noexcept { return reinterpret_cast<void*>(next_ & ~std::uintptr_t{3}); }

  // Where the frame waits: the line of its last co_await.
  std::source_location where() const noexcept { return where_; }
  void set_where(std::source_location where) noexcept { where_ = where; }

  const std::exception_ptr& error() const noexcept { return error_; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  void rethrow_if_failed() {
    if (error_) [[unlikely]]
      std::rethrow_exception(std::move(error_));
  }

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

 private:
  std::uintptr_t next_ = 0;
  std::source_location where_;
  std::exception_ptr error_;
};

// --- control flow ---

// `frame` runs next, in the same step: a call or a return.
void transfer(std::coroutine_handle<> frame) noexcept;

// A forked frame, or the outermost frame of a task, has ended and is suspended for the last time.
void finish_fork(std::coroutine_handle<> frame, promise_base& promise) noexcept;
void finish_task(std::coroutine_handle<> frame, promise_base& promise) noexcept;

// The running task gives way: true. False with `stopped` set if it was asked to stop.
bool give_way(std::coroutine_handle<> leaf, bool& stopped) noexcept;

// A scheduling point between two pieces of work of the running task. False: nobody else is ready on
// this worker, and the task goes on. True: it was queued.
bool take_turns(std::coroutine_handle<> leaf) noexcept;

// An await found what it wanted. False: go on at once. True: the step's share of such awaits is
// spent, or the order is strict, and the task was queued.
bool go_on(std::coroutine_handle<> leaf) noexcept;

// --- waiting ---

// Tasks that wait for one thing, first come, first served. Guarded by a lock of its owner.
class wait_list {
 public:
  bool empty() const noexcept { return first_ == nullptr; }

 private:
  friend class activity;
  activity* first_ = nullptr;
  activity* last_ = nullptr;
};

// The running task begins to wait in `list`, with the owner's lock held; `awaiter` is for whoever
// wakes it. False if the task was asked to stop: it does not wait. After the lock is given back
// the task may run elsewhere, so the caller touches nothing of it any more.
bool begin_wait(wait_list& list, std::coroutine_handle<> leaf, wait_kind kind,
                void* awaiter) noexcept;

// As above, without a list: whoever holds the activity wakes it.
bool begin_wait(std::coroutine_handle<> leaf, wait_kind kind, void* awaiter) noexcept;

// The running task was resumed and leaves the list if it is still in it (it was cancelled). With
// the owner's lock held.
void end_wait(wait_list& list) noexcept;

// Takes the first task out of the list that is still waiting, so that the caller, and nobody else,
// will wake it; null if there is none. With the owner's lock held.
activity* claim_first(wait_list& list) noexcept;

// Whether the caller, and nobody else, will wake this task. For waits without a list.
bool claim(activity& a) noexcept;

// What the task gave to begin_wait(). For who has claimed it.
void* awaiter_of(const activity& a) noexcept;

// Queues a task that the caller has claimed.
void make_ready(activity& a) noexcept;

// The activity of the running task.
activity* current_activity() noexcept;

// What the running task is there for, as the layer of events sees it: a pointer of its own.
void set_purpose(void* purpose);
void* purpose() noexcept;

// Whether the running task was asked to stop and is not shielded.
bool stop_requested() noexcept;

// Waits between these are not cancelled. Nests.
void set_shield(bool on) noexcept;

// --- tasks ---

// Makes a task of a frame that has not begun. Null runtime: that of the running task.
activity* spawn(std::coroutine_handle<> frame, promise_base& promise, runtime_state* in);

// The handle's side of an activity. After release() the handle is gone: the result is destroyed
// here or, if the task still runs, when it ends.
bool is_done(const activity& a) noexcept;
void request_stop(activity& a) noexcept;
void release(activity& a, std::coroutine_handle<> frame) noexcept;

// Waits for the end of a task.
struct join_awaiter_base {
  activity* target;
  bool stopped = false;

  bool await_ready() const noexcept { return false; }
  bool wait(std::coroutine_handle<> leaf) noexcept;

  // True if the target has ended. Otherwise the wait was cancelled, and the target no longer knows
  // of us.
  bool finish_wait() noexcept;
};

}  // namespace detail
}  // namespace rota

#endif
