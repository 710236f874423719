// What few cowns have: weak pointers, readers before writers, priority. Made on demand, and kept
// until the cown and the weak pointers to it are gone.
#ifndef ROTA_COWN_COWN_SIDE_H
#define ROTA_COWN_COWN_SIDE_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/cown/core.h>
#include <rota/task/core.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rota::detail {

struct cown_side {
  explicit cown_side(cown_base& c) noexcept : cown(&c) {}

  spin_lock lock;
  cown_base* cown;                      // null once it is gone; guarded by lock
  sync::atomic<std::uint32_t> refs{1};  // weak pointers, and the cown

  // The writer that waits until nobody reads. Published by cown_base::readers_.
  sync::cell<slot*> next_writer;

  // --- the rest is guarded by the lock of the board ---

  // Behaviours that have ended and whose cowns this cown has muted.
  std::vector<behaviour*> muted;

  // If this cown is muted: its place in its queue, which was not released.
  sync::cell<slot*> muted_at;

  // Whom priority was passed on to, because the behaviour that holds this cown waits there; and how
  // many have passed theirs on to this one.
  sync::cell<cown_base*> urges;
  sync::cell<std::uint32_t> urged;

  // The same for behaviours that read this cown, of which there may be many.
  struct reader {
    behaviour* who;
    cown_base* waits_for;
    bool urges;
  };
  std::vector<reader> readers;

  sync::cell<std::uint32_t> pressure;  // guards that are alive
  wait_list admission;
  std::shared_ptr<pump_state> pinned_to;  // set before the cown is shared
};

}  // namespace rota::detail

#endif
