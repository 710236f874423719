// Tasks of their own: spawn() and the handle that it gives.
//
//   auto h = rota::spawn(compute());     // queued behind everything that is ready; we go on
//   int r = co_await std::move(h);       // its result, or its exception
//
//   rota::spawn(log_forever());          // dropping the handle detaches
//
// Promised: the exception of a detached task goes to options::on_unobserved, never nowhere.
// Not promised: any order between the new task and its spawner beyond the queue's.
//
// Threads: a handle belongs to one thread or task at a time. request_stop() and done() may be
// called while the task runs.
#ifndef ROTA_TASK_SPAWN_H
#define ROTA_TASK_SPAWN_H

#include <rota/base/assert.h>
#include <rota/task/core.h>
#include <rota/task/task.h>

#include <coroutine>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace rota {

template <class T = void>
class join_handle {
 public:
  join_handle() noexcept = default;
  join_handle(join_handle&& other) noexcept
      : activity_(std::exchange(other.activity_, nullptr)), frame_(other.frame_) {}
  join_handle& operator=(join_handle&& other) noexcept {
    join_handle moved{std::move(other)};
    std::swap(activity_, moved.activity_);
    std::swap(frame_, moved.frame_);
    return *this;
  }
  ~join_handle() { detach(); }

  explicit operator bool() const noexcept { return activity_ != nullptr; }

  // Whether the task has ended.
  bool done() const noexcept { return activity_ && detail::is_done(*activity_); }

  // Asks the task to stop: what it waits for now or later throws rota::cancelled.
  void request_stop() const noexcept {
    if (activity_) detail::request_stop(*activity_);
  }

  // Lets the task go on alone.
  void detach() noexcept {
    if (activity_) detail::release(*std::exchange(activity_, nullptr), frame_);
  }

  class awaiter : detail::join_awaiter_base {
   public:
    explicit awaiter(join_handle& handle) noexcept
        : join_awaiter_base{handle.activity_}, handle_(handle) {
      ROTA_CHECK(handle.activity_, "an empty join_handle is awaited");
    }
    using join_awaiter_base::await_ready;
    bool await_suspend(std::coroutine_handle<> leaf) noexcept { return wait(leaf); }
    T await_resume() {
      if (!finish_wait()) throw cancelled{};
      // Takes the result out, then lets go of the frame.
      join_handle ended = std::move(handle_);
      return ended.frame_.promise().take();
    }

   private:
    join_handle& handle_;
  };

  // Waits for the end. A cancelled wait leaves the handle as it was.
  awaiter operator co_await() & noexcept { return awaiter{*this}; }
  awaiter operator co_await() && noexcept { return awaiter{*this}; }

  // For the layers of Rota.
  join_handle(detail::activity* a, std::coroutine_handle<detail::task_promise<T>> frame) noexcept
      : activity_(a), frame_(frame) {}
  detail::activity* get() const noexcept { return activity_; }

 private:
  detail::activity* activity_ = nullptr;
  std::coroutine_handle<detail::task_promise<T>> frame_{};
};

// Begins a task of its own, behind everything that is queued on this worker. From inside a task;
// other threads use runtime::spawn.
template <class T>
join_handle<T> spawn(task<T> t) {
  // Released after the spawn: if that fails, the frame is still the task's.
  detail::activity* a = detail::spawn(t.frame(), t.frame().promise(), nullptr);
  return {a, t.release()};
}

// Gives way: everybody who is ready now runs before the task goes on.
class [[nodiscard("co_await it")]] suspend {
 public:
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) noexcept {
    return detail::give_way(leaf, stopped_);
  }
  void await_resume() const {
    if (stopped_) [[unlikely]]
      throw cancelled{};
  }

 private:
  bool stopped_ = false;
};

// The task that runs. Only from inside a task.
namespace this_task {

// Becomes stopped when the task is asked to stop; for code that polls or registers callbacks.
std::stop_token stop_token();

// Whether it was.
bool stop_requested() noexcept;

// Numbers tasks from 1 in the order in which they were spawned, roughly.
std::uint32_t id() noexcept;

// The name shown in dumps, deadlock reports and by the watchdog.
void set_name(std::string_view name);
std::string name();

}  // namespace this_task

// While it lives, the task's waits are not cancelled: for cleaning up.
//
//   std::exception_ptr stopped;
//   try { co_await serve(c); } catch (const rota::cancelled&) { stopped = std::current_exception();
//   } { rota::shield cleaning; co_await c.close(); } if (stopped) std::rethrow_exception(stopped);
class [[nodiscard("name it")]] shield {
 public:
  shield() noexcept { detail::set_shield(true); }
  shield(const shield&) = delete;
  shield& operator=(const shield&) = delete;
  ~shield() { detail::set_shield(false); }
};

}  // namespace rota

#endif
