// Threads for code that blocks: made when needed, ended when idle for a while.
#ifndef ROTA_POOL_BLOCKING_POOL_H
#define ROTA_POOL_BLOCKING_POOL_H

#include <rota/base/sync.h>
#include <rota/park/event_notifier.h>
#include <rota/pool/blocking_call.h>

#include <cstddef>
#include <list>
#include <vector>

namespace rota::detail {

class blocking_pool {
 public:
  explicit blocking_pool(unsigned limit) noexcept : limit_(limit) {}
  ~blocking_pool() { stop(); }

  // Runs the call on a thread of its own, soon. First come, first served beyond the limit.
  void submit(blocking_call& call);

  // Waits until the calls that were submitted have ended, and ends the threads.
  void stop();

 private:
  struct helper {
    sync::thread thread;
    event_notifier notifier;
    bool gone = false;  // guarded by mutex_
  };

  void main(helper& self);
  blocking_call* next_call(helper& self);
  void join_gone(std::list<helper>& gone);

  const std::size_t limit_;
  sync::mutex mutex_;
  std::list<helper> helpers_;       // guarded by mutex_
  std::vector<helper*> idle_;       // guarded by mutex_
  blocking_call* first_ = nullptr;  // guarded by mutex_
  blocking_call* last_ = nullptr;   // guarded by mutex_
  bool stopping_ = false;           // guarded by mutex_
};

}  // namespace rota::detail

#endif
