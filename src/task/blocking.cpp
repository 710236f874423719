#include <rota/task/blocking.h>

#include "pool/pool.h"
#include "pool/worker.h"
#include "task/runtime_state.h"

namespace rota::detail {

bool submit(awaited_call& call, std::coroutine_handle<> leaf) noexcept {
  worker& w = *worker::here();
  auto& a = static_cast<activity&>(*w.current());
  runtime_state& home = runtime_state::of(a);
  call.who = &a;
  home.workers().expect_outside(+1);
  // Only the call's end wakes the task, so it can be submitted after the task began to wait.
  a.begin_wait(w, leaf, wait_kind::blocking, &call, /*can_be_cancelled=*/false);
  home.blocking().submit(call);
  return true;
}

void finish_call(awaited_call& call) noexcept {
  activity& who = *call.who;
  pool& workers = runtime_state::of(who).workers();
  // From here on the call may be gone.
  if (who.claim()) make_ready(who);
  workers.expect_outside(-1);
}

}  // namespace rota::detail
