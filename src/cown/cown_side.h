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

// Those whom a cown has muted, the oldest first, by their tokens: behaviours that have ended, whose
// `link` and `frame` lead to the next and to the one before.
class muted_list {
 public:
  bool empty() const noexcept { return !first_; }
  std::size_t size() const noexcept { return size_; }
  behaviour* first() const noexcept { return first_; }
  static behaviour* after(const behaviour& b) noexcept { return static_cast<behaviour*>(b.link); }
  void add(behaviour& b) noexcept {
    b.link = nullptr;
    b.frame = std::coroutine_handle<>::from_address(last_);
    if (last_)
      last_->link = &b;
    else
      first_ = &b;
    last_ = &b;
    ++size_;
  }
  void remove(behaviour& b) noexcept {
    auto* const next = after(b);
    auto* const before = static_cast<behaviour*>(b.frame.address());
    if (before)
      before->link = next;
    else
      first_ = next;
    if (next)
      next->frame = b.frame;
    else
      last_ = before;
    --size_;
  }

 private:
  behaviour* first_ = nullptr;
  behaviour* last_ = nullptr;
  std::size_t size_ = 0;
};

struct cown_side {
  explicit cown_side(cown_base& c) noexcept : cown(&c) {}

  spin_lock lock;
  cown_base* cown;                      // null once it is gone; guarded by lock
  sync::atomic<std::uint32_t> refs{1};  // weak pointers, and the cown

  // The writer that waits until nobody reads. Published by cown_base::readers_.
  sync::cell<slot*> next_writer;

  // --- the rest is guarded by the lock of the board ---

  // Whom this cown has muted, and how many of them it frees next, if it does not free all: twice as
  // many each time, while that leaves its queue short.
  muted_list muted;
  std::uint32_t batch = 1;

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
