// Who sleeps, who searches, and whom to wake.
//
// One word for up to 56 workers: a bit for each that is about to sleep or sleeps, and how many are
// awake and searching for work. In one compare-exchange a waker clears a bit and counts the woken
// worker as a searcher, so no two wakers choose the same one, and nobody is woken while somebody
// searches already: who finds work wakes the next if more is there.
//
// Setting the bit is the seed's "tell the parent that I wait". The tree decides whom a waker
// prefers, its own children; failing them, anybody, since a pure tree leaves a subtree asleep
// behind a long task.
//
// Threads: everything is anyone's.
// Spec: specs/idle_set.
#ifndef ROTA_POOL_IDLE_SET_H
#define ROTA_POOL_IDLE_SET_H

#include <rota/base/inspect.h>
#include <rota/base/sync.h>

#include <cstdint>
#include <memory>

namespace rota::detail {

class idle_set {
 public:
  static constexpr unsigned nobody = ~0u;

  explicit idle_set(unsigned workers);

  // Adds a worker that is about to sleep. With `searching` it stops being counted as a searcher in
  // the same step.
  void enter(unsigned worker, bool searching) noexcept;

  // Removes a worker that woke by itself. False if a waker was faster: the worker now counts as a
  // searcher.
  bool leave(unsigned worker) noexcept;

  // Chooses a sleeper for `waker`, takes it out and counts it as a searcher; `nobody` if none
  // sleeps or somebody searches already. `last_choice` is taken only if there is no other.
  unsigned choose(unsigned waker, unsigned last_choice) noexcept;

  // Cheap: is there anybody whom choose() might return?
  bool worth_waking() const noexcept {
    if (groups_ > 1) [[unlikely]]
      return any();
    // relaxed: callers fence lightly first, sleepers heavily after enter().
    const std::uint64_t w = words_[0].bits.load(sync::memory_order_relaxed);
    return w - 1 < sleepers;  // at least one sleeper, no searcher
  }

  // Counts a searcher in, unless half of the workers search already.
  bool begin_search(unsigned worker) noexcept;

  // Counts a searcher out. True if it was the last of its group.
  bool end_search(unsigned worker) noexcept;

  // Whether a worker is in the set. A hint, as what follows.
  bool has(unsigned worker) const noexcept {
    return (words_[worker / per_group].bits.load(sync::memory_order_relaxed) >>
            (worker % per_group)) &
           1;
  }

  // How many are in the set. A hint: it may change at once.
  unsigned count() const noexcept;

  // Whether anybody, or everybody, is in the set.
  bool any() const noexcept {
    for (unsigned g = 0; g < groups_; ++g)
      if (words_[g].bits.load(sync::memory_order_relaxed) & sleepers) return true;
    return false;
  }
  bool all() const noexcept;

  // How often somebody left. Who reads it, then finds everybody in the set, and later finds both
  // unchanged knows that nobody was out in between.
  std::uint64_t departures() const noexcept {
    // acquire: pairs with leave(); who sees it counted does not see an old set.
    return departures_.load(sync::memory_order_acquire);
  }

 private:
  friend struct inspect;

  static constexpr unsigned per_group = 56;
  static constexpr std::uint64_t sleepers = (std::uint64_t{1} << per_group) - 1;
  static constexpr std::uint64_t one_searcher = std::uint64_t{1} << per_group;

  struct alignas(64) word {
    sync::atomic<std::uint64_t> bits{0};
  };

  static std::uint64_t bit(unsigned worker) noexcept {
    return std::uint64_t{1} << (worker % per_group);
  }
  word& word_of(unsigned worker) const noexcept { return words_[worker / per_group]; }
  std::uint64_t full(unsigned group) const noexcept;
  unsigned choose_in(unsigned group, unsigned waker, unsigned last_choice) noexcept;

  const unsigned workers_;
  const unsigned groups_;
  const std::unique_ptr<word[]> words_;
  alignas(64) sync::atomic<std::uint64_t> departures_{0};
};

}  // namespace rota::detail

#endif
