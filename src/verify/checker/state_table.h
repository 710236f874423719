// The states that a search has met: each once, exact, found by its hash.
//
// States lie in blocks that never move, with the state they were first reached from. The table
// holds a word a slot: 32 bits of the hash beside the state's number, so that a probe seldom looks
// at a state that differs. Slots are filled by compare-exchange; the table is doubled by one worker
// while the others wait (search.cpp).
//
// Threads: insert is anyone's, each worker with its own `writer`; grow and the counts are for a
// moment in which nobody inserts.
#ifndef ROTA_VERIFY_CHECKER_STATE_TABLE_H
#define ROTA_VERIFY_CHECKER_STATE_TABLE_H

#include <rota/base/sync.h>
#include <rota/verify/checker/system.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "verify/checker/zeroed_array.h"

namespace rota::verify::detail {

// The number of a state. Not all numbers below size() are in use.
using state_id = std::uint32_t;
inline constexpr state_id no_state = ~state_id{0};

class state_table {
 public:
  explicit state_table(std::size_t words);

  // Where a worker puts new states.
  class writer {
   private:
    friend class state_table;
    state_id next_ = 0;
    state_id end_ = 0;
  };

  struct inserted {
    state_id id;
    bool is_new;
  };

  // Where a state is looked for. Memory is far away: who has several states to insert asks for all
  // slots first, then for what these lead to, then inserts.
  using hash_value = std::uint64_t;
  hash_value hash(const word* s) const noexcept;
  void fetch_slot(hash_value h) const noexcept { __builtin_prefetch(&slots_[h >> shift_]); }
  void fetch_state(hash_value h) const noexcept;

  // Finds the state or adds it. The caller sees to it that the table has room: is_crowded().
  inserted insert(writer& w, const word* s, hash_value h, state_id from);
  inserted insert(writer& w, const word* s, state_id from) { return insert(w, s, hash(s), from); }

  // The state's number, or no_state.
  state_id find(const word* s) const noexcept;

  const word* state(state_id id) const noexcept {
    return blocks_[id / per_block]->states.data() + (id % per_block) * words_;
  }
  state_id from(state_id id) const noexcept {
    return blocks_[id / per_block]->from[id % per_block] - from_zero;
  }
  bool in_use(state_id id) const noexcept {
    return blocks_[id / per_block]->from[id % per_block] != unused;
  }

  // Numbers are below this.
  state_id size() const noexcept { return next_.load(real_sync::memory_order_relaxed); }

  bool is_crowded(std::uint64_t states) const noexcept { return states > capacity() / 8 * 5; }
  void grow();
  std::size_t capacity() const noexcept { return mask_ + 1; }

  std::size_t bytes() const noexcept;
  std::size_t bytes_to_grow() const noexcept { return 2 * capacity() * sizeof(slot); }

 private:
  using slot = real_sync::atomic<std::uint64_t>;
  static constexpr state_id per_block = 1u << 18;
  static constexpr state_id per_writer = 1u << 10;

  // What is kept as the origin of a state: from + from_zero, so that zeroed memory means unused.
  static constexpr state_id unused = 0;
  static constexpr state_id from_zero = 2;

  struct block {
    zeroed_array<word> states;
    zeroed_array<state_id> from;
  };

  bool equal(state_id id, const word* s) const noexcept;
  void refill(writer& w);
  state_id& origin(state_id id) noexcept { return blocks_[id / per_block]->from[id % per_block]; }
  word* place(state_id id) noexcept {
    return blocks_[id / per_block]->states.data() + (id % per_block) * words_;
  }

  const std::size_t words_;
  unsigned shift_;  // a hash's first bits choose its slot
  std::size_t mask_;
  zeroed_array<slot> slots_;
  std::vector<std::unique_ptr<block>> blocks_;  // all entries exist, the blocks come by and by
  real_sync::mutex block_lock_;
  real_sync::atomic<state_id> next_{0};
};

}  // namespace rota::verify::detail

#endif
