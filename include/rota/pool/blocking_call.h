// A call that may block, on its way to a thread of its own.
#ifndef ROTA_POOL_BLOCKING_CALL_H
#define ROTA_POOL_BLOCKING_CALL_H

namespace rota::detail {

// Owned by whoever waits for it. `run` ends by waking that one, after which the call may be gone.
struct blocking_call {
  void (*run)(blocking_call&) noexcept = nullptr;
  blocking_call* next = nullptr;
};

}  // namespace rota::detail

#endif
