// The library's side of fork_scope.
#ifndef ROTA_TASK_FORK_ACCESS_H
#define ROTA_TASK_FORK_ACCESS_H

#include <rota/task/core.h>
#include <rota/task/fork.h>

#include <coroutine>
#include <cstddef>
#include <unordered_map>

#include "pool/worker.h"
#include "task/activity.h"

namespace rota {

struct fork_access {
  // Makes a strand of a parent whose fork was taken from a deque.
  static detail::job* adopt(detail::worker& w, void* scope);

  // A forked child has ended.
  static void finish(std::coroutine_handle<> child, detail::promise_base& promise) noexcept;

  // Adds the outermost frames that own the chain from `leaf`: the task's, and on the way there
  // those of forked children; each with how many forks it is away from the task's.
  static void collect_outermost(std::coroutine_handle<> leaf,
                                std::unordered_map<void*, std::size_t>& frames);

  static detail::promise_base& promise_of(std::coroutine_handle<> frame) noexcept {
    return std::coroutine_handle<detail::promise_base>::from_address(frame.address()).promise();
  }
  static std::coroutine_handle<> parent_of(const fork_scope& scope) noexcept {
    return scope.parent_;
  }
};

}  // namespace rota

#endif
