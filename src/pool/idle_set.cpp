#include "pool/idle_set.h"

#include <algorithm>
#include <bit>

namespace rota::detail {

idle_set::idle_set(unsigned workers)
    : workers_(workers),
      groups_((workers + per_group - 1) / per_group),
      words_(std::make_unique<word[]>(groups_)) {}

std::uint64_t idle_set::full(unsigned group) const noexcept {
  const unsigned here = std::min(per_group, workers_ - group * per_group);
  return (std::uint64_t{1} << here) - 1;
}

void idle_set::enter(unsigned worker, bool searching) noexcept {
  // The bit was clear, so adding sets it. "Either they see that we sleep or we see what they
  // pushed" is up to the heavy fence that follows. release: pairs with all().
  word_of(worker).bits.fetch_add(bit(worker) - (searching ? one_searcher : 0),
                                 sync::memory_order_release);
}

bool idle_set::leave(unsigned worker) noexcept {
  // acquire: pairs with choose(); shows why we were chosen.
  const std::uint64_t before =
      word_of(worker).bits.fetch_and(~bit(worker), sync::memory_order_acquire);
  // By the one who leaves, before it does anything else: a waker that took it out could be late,
  // and the worker be back in the set by then. release: who sees it counted sees us out.
  departures_.fetch_add(1, sync::memory_order_release);
  return (before & bit(worker)) != 0;
}

unsigned idle_set::choose_in(unsigned group, unsigned waker, unsigned last_choice) noexcept {
  auto& bits = words_[group].bits;
  std::uint64_t w = bits.load(sync::memory_order_relaxed);
  for (;;) {
    if ((w & sleepers) == 0 || w > sleepers) return nobody;
    std::uint64_t candidates = w & sleepers;
    if (last_choice / per_group == group && candidates != bit(last_choice))
      candidates &= ~bit(last_choice);
    unsigned chosen = group * per_group + static_cast<unsigned>(std::countr_zero(candidates));
    for (const unsigned child : {2 * waker + 1, 2 * waker + 2}) {
      if (waker != nobody && child / per_group == group && (candidates & bit(child))) {
        chosen = child;
        break;
      }
    }
    // release: the woken worker's leave() sees what we published. acquire: its enter() comes
    // before.
    if (bits.compare_exchange_weak(w, (w & ~bit(chosen)) + one_searcher, sync::memory_order_acq_rel,
                                   sync::memory_order_relaxed))
      return chosen;
  }
}

unsigned idle_set::choose(unsigned waker, unsigned last_choice) noexcept {
  const unsigned first = waker == nobody ? 0 : waker / per_group;
  for (unsigned i = 0; i < groups_; ++i) {
    const unsigned chosen = choose_in((first + i) % groups_, waker, last_choice);
    if (chosen != nobody) return chosen;
  }
  return nobody;
}

bool idle_set::begin_search(unsigned worker) noexcept {
  const unsigned group = worker / per_group;
  const auto here = static_cast<unsigned>(std::popcount(full(group)));
  auto& bits = words_[group].bits;
  std::uint64_t w = bits.load(sync::memory_order_relaxed);
  do {
    if (2 * (w / one_searcher) >= here) return false;
    // relaxed: it is only a number; what producers leave to searchers is looked for behind a fence.
  } while (!bits.compare_exchange_weak(w, w + one_searcher, sync::memory_order_relaxed));
  return true;
}

bool idle_set::end_search(unsigned worker) noexcept {
  // relaxed: the last one fences heavily and looks for what producers left to it.
  const std::uint64_t before =
      word_of(worker).bits.fetch_sub(one_searcher, sync::memory_order_relaxed);
  return before / one_searcher == 1;
}

unsigned idle_set::count() const noexcept {
  int sum = 0;
  for (unsigned g = 0; g < groups_; ++g)
    sum += std::popcount(words_[g].bits.load(sync::memory_order_relaxed) & sleepers);
  return static_cast<unsigned>(sum);
}

bool idle_set::all() const noexcept {
  // acquire: pairs with enter(); shows what they did while they were out.
  for (unsigned g = 0; g < groups_; ++g)
    if ((words_[g].bits.load(sync::memory_order_acquire) & sleepers) != full(g)) return false;
  return true;
}

}  // namespace rota::detail
