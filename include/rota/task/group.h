// Tasks that belong together: none outlives the group.
//
//   rota::task_group g;
//   for (auto& url : urls) g.spawn(fetch(url));
//   co_await g.join();                   // all have ended
//
// The first child that fails stops its siblings; join() waits for all and rethrows its exception.
// If the joining task is asked to stop, so are the children. A group that is destroyed by an
// exception stops its children and waits for them, running other work meanwhile; forgetting join()
// otherwise ends the program with a message.
//
// Threads: spawn and request_stop are anyone's inside the runtime; join is for the task that owns
// the group.
#ifndef ROTA_TASK_GROUP_H
#define ROTA_TASK_GROUP_H

#include <rota/base/spin_lock.h>
#include <rota/task/core.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace rota {

class task_group {
 public:
  task_group() noexcept = default;
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group() {
    if (running_ != 0 || !joined_) left_open();
  }

  // Begins a child. In a group that is stopping it is asked to stop at once.
  void spawn(task<void> child);

  // As above; the result is assigned to `result`, which outlives the group.
  template <class T>
  void spawn(T& result, task<T> child) {
    spawn(store(result, std::move(child)));
  }

  // Asks all children, and those to come, to stop.
  void request_stop() noexcept;

  // Waits until no child is left. Children may be spawned meanwhile. The group can be used again.
  task<void> join();

  // How many children have not ended.
  std::size_t size() const noexcept {
    detail::spin_guard guard{lock_};
    return running_;
  }

 private:
  // A child. All but `who`: guarded by lock_.
  struct member {
    detail::activity* who = nullptr;
    member* next = nullptr;
    member* prev = nullptr;
    int held = 0;  // somebody is asking it to stop just now: it must not go
  };

  template <class T>
  static task<void> store(T& result, task<T> child) {
    result = co_await std::move(child);
  }
  static task<void> run_child(task_group& group, task<void> child, std::unique_ptr<member> self);

  class [[nodiscard("co_await it")]] all_ended {
   public:
    explicit all_ended(task_group& group) noexcept : group_(group) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> leaf) noexcept;
    // False if the wait was cancelled.
    bool await_resume() noexcept;

   private:
    friend class task_group;
    task_group& group_;
    bool served_ = false;
  };

  void stop(member& m) noexcept;
  void ended(member& self, std::exception_ptr error) noexcept;
  void left_open() noexcept;

  mutable detail::spin_lock lock_;
  bool stopping_ = false;      // guarded by lock_
  bool joined_ = true;         // guarded by lock_: nothing was spawned since the last join
  std::size_t running_ = 0;    // guarded by lock_
  member* first_ = nullptr;    // guarded by lock_
  std::exception_ptr error_;   // the first; guarded by lock_
  detail::wait_list waiters_;  // guarded by lock_
};

}  // namespace rota

#endif
