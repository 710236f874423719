#include <rota/task/guard.h>

#include <algorithm>
#include <vector>

#include "pool/pool.h"
#include "pool/worker.h"
#include "task/activity.h"

namespace rota::detail {

std::uint64_t progress() noexcept { return worker::here()->home().progress(); }

bool look_again::await_suspend(std::coroutine_handle<> leaf) noexcept {
  worker& w = *worker::here();
  auto& a = static_cast<activity&>(*w.current());
  pool& p = w.home();
  if (!first_) w.step_was_a_look();
  if (!p.is_strict() && p.progress() != seen_) {
    // Others have run meanwhile: next look in the next round.
    return give_way(leaf, stopped_);
  }
  if (p.watch(w, &a, seen_,
              [&] { return a.begin_wait(w, leaf, wait_kind::guard, this, !a.is_shielded()); }))
    return true;
  stopped_ = true;
  return false;
}

void look_again::await_resume() const {
  if (!stop_requested()) [[likely]]
    return;
  worker& w = *worker::here();
  w.home().unwatch(w.current());
  throw cancelled{};
}

bool give_way_if_strict::await_suspend(std::coroutine_handle<> leaf) noexcept {
  if (!worker::here()->home().is_strict()) return false;
  return give_way(leaf, stopped_);
}

// --- cells --------------------------------------------------------------------------------------

void cell_base::written() noexcept {
  ++version_;
  std::vector<activity*> claimed;
  if (!waiters_.empty()) {
    claimed.swap(waiters_);
    // Claimed under the lock: a task leaves all its cells, under their locks, before it goes on.
    std::erase_if(claimed, [](activity* a) { return !a->claim(); });
  }
  lock_.unlock();
  for (activity* a : claimed) make_ready(*a);
}

std::uint64_t cells_awaiter::version(const cell_base& c) noexcept {
  spin_guard guard{c.lock_};
  return c.version_;
}

bool cells_awaiter::await_suspend(std::coroutine_handle<> leaf) {
  struct entry {
    cell_base* cell;
    std::uint64_t seen;
  };
  std::vector<entry> all;
  for (std::size_t i = 0; i < count_; ++i) all.push_back({cells_[i], seen_[i]});
  // All locks at once, in one order for everybody, each once.
  std::sort(all.begin(), all.end(), [](const entry& x, const entry& y) { return x.cell < y.cell; });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const entry& x, const entry& y) { return x.cell == y.cell; }),
            all.end());
  for (const entry& e : all) e.cell->lock_.lock();
  activity* who = current_activity();
  bool changed = false;
  for (const entry& e : all) changed |= e.cell->version_ != e.seen;
  bool waits = false;
  if (!changed) {
    for (const entry& e : all) e.cell->waiters_.push_back(who);
    waited_ = true;
    waits = begin_wait(leaf, wait_kind::cell, this);
    if (!waits) {
      for (const entry& e : all) e.cell->waiters_.pop_back();
      stopped_ = true;
      waited_ = false;
    }
  }
  // From the last unlock on the task may run elsewhere.
  for (const entry& e : all) e.cell->lock_.unlock();
  return waits || (changed && go_on(leaf));
}

void cells_awaiter::await_resume() {
  if (waited_) {
    activity* who = current_activity();
    for (std::size_t i = 0; i < count_; ++i) {
      spin_guard guard{cells_[i]->lock_};
      std::erase(cells_[i]->waiters_, who);
    }
  }
  if (stopped_ || (waited_ && stop_requested())) throw cancelled{};
}

}  // namespace rota::detail
