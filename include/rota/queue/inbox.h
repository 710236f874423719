// Jobs from other threads: many put, anyone takes all.
//
//   inbox.put(j);                     // any thread
//   for (job* j = inbox.take_all(); j; j = next) ...   // oldest first
//
// Promised: jobs come out in the order in which they were put, each once. put() never waits.
// Taking everything at once is what makes it safe for several takers: there is no single element
// for two of them to disagree about, and no ABA.
// Spec: specs/inbox.
#ifndef ROTA_QUEUE_INBOX_H
#define ROTA_QUEUE_INBOX_H

#include <rota/base/inspect.h>
#include <rota/base/job.h>
#include <rota/base/sync.h>

namespace rota::detail {

class inbox {
 public:
  void put(job* j) noexcept {
    job* first = newest_.load(sync::memory_order_relaxed);
    do {
      j->link = first;
      // release: pairs with the acquire in take_all(); publishes the job.
    } while (!newest_.compare_exchange_weak(first, j, sync::memory_order_release,
                                            sync::memory_order_relaxed));
  }

  // All jobs as a list by `link`, oldest first; null if there are none.
  job* take_all() noexcept {
    if (empty()) return nullptr;
    // acquire: pairs with the release in put(); the read-modify-writes of earlier puts continue
    // their release sequences, so every job of the list is visible.
    job* newest = newest_.exchange(nullptr, sync::memory_order_acquire);
    job* oldest = nullptr;
    while (newest) {
      job* next = newest->link;
      newest->link = oldest;
      oldest = newest;
      newest = next;
    }
    return oldest;
  }

  // relaxed: a stale answer costs a look; who must not miss a job fences first.
  bool empty() const noexcept { return newest_.load(sync::memory_order_relaxed) == nullptr; }

 private:
  friend struct inspect;

  alignas(64) sync::atomic<job*> newest_{nullptr};
};

}  // namespace rota::detail

#endif
