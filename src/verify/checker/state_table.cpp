#include "verify/checker/state_table.h"

#include <cstring>
#include <new>
#include <stdexcept>

namespace rota::verify::detail {

namespace {

constexpr unsigned first_bits = 16;

__extension__ using wide = unsigned __int128;

std::uint64_t tag_of(std::uint64_t hash) noexcept { return hash & 0xffff'ffff'0000'0000u; }

}  // namespace

state_table::state_table(std::size_t words)
    : words_(words),
      shift_(64 - first_bits),
      mask_((std::size_t{1} << first_bits) - 1),
      slots_(mask_ + 1),
      blocks_((std::size_t{no_state} + 1) / per_block) {}

// Folds 128-bit products: two words a multiplication would do, but states are short.
std::uint64_t state_table::hash(const word* s) const noexcept {
  std::uint64_t h = 0x9e37'79b9'7f4a'7c15u;
  for (std::size_t i = 0; i < words_; ++i) {
    const auto product = static_cast<wide>(s[i] ^ h) * 0xd6e8'feb8'6659'fd93u;
    h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ (h << 1);
  }
  return h * 0x9e37'79b9'7f4a'7c15u;
}

bool state_table::equal(state_id id, const word* s) const noexcept {
  return std::memcmp(state(id), s, words_ * sizeof(word)) == 0;
}

void state_table::refill(writer& w) {
  const state_id begin = next_.fetch_add(per_writer, real_sync::memory_order_relaxed);
  if (begin >= no_state - per_writer) throw std::length_error("more than 4 * 10^9 states");
  {
    const std::lock_guard guard{block_lock_};
    auto& b = blocks_[begin / per_block];
    if (!b) {
      auto fresh = std::make_unique<block>();
      fresh->states = zeroed_array<word>(per_block * words_);
      fresh->from = zeroed_array<state_id>(per_block);
      b = std::move(fresh);
    }
  }
  w.next_ = begin;
  w.end_ = begin + per_writer;
}

void state_table::fetch_state(hash_value h) const noexcept {
  // acquire: as in insert().
  const std::uint64_t seen = slots_[h >> shift_].load(real_sync::memory_order_acquire);
  if (seen != 0 && tag_of(seen) == tag_of(h))
    __builtin_prefetch(state(static_cast<state_id>(seen) - 1));
}

state_table::inserted state_table::insert(writer& w, const word* s, hash_value h, state_id from) {
  bool written = false;
  for (std::size_t i = h >> shift_;; i = (i + 1) & mask_) {
    // acquire: pairs with the release below, for what the state's number leads to.
    std::uint64_t seen = slots_[i].load(real_sync::memory_order_acquire);
    if (seen == 0) {
      if (!written) {
        if (w.next_ == w.end_) refill(w);
        std::memcpy(place(w.next_), s, words_ * sizeof(word));
        written = true;
      }
      if (slots_[i].compare_exchange_strong(seen, tag_of(h) | (w.next_ + 1u),
                                            real_sync::memory_order_release,
                                            real_sync::memory_order_acquire)) {
        // Nobody asks for it before its level is over.
        origin(w.next_) = from + from_zero;
        return {w.next_++, true};
      }
    }
    if (tag_of(seen) == tag_of(h)) {
      const auto id = static_cast<state_id>(seen) - 1;
      if (equal(id, s)) {
        return {id, false};
      }
    }
  }
}

state_id state_table::find(const word* s) const noexcept {
  const std::uint64_t h = hash(s);
  for (std::size_t i = h >> shift_;; i = (i + 1) & mask_) {
    const std::uint64_t seen = slots_[i].load(real_sync::memory_order_relaxed);
    if (seen == 0) return no_state;
    const auto id = static_cast<state_id>(seen) - 1;
    if (tag_of(seen) == tag_of(h) && equal(id, s)) return id;
  }
}

void state_table::grow() {
  if (shift_ == 32) throw std::length_error("more than 2 * 10^9 states");
  const std::size_t capacity = 2 * (mask_ + 1);
  zeroed_array<slot> bigger(capacity);
  for (std::size_t i = 0; i <= mask_; ++i) {
    const std::uint64_t seen = slots_[i].load(real_sync::memory_order_relaxed);
    if (seen == 0) continue;
    // The tag has the bits that choose the slot, so no state is looked at.
    std::size_t j = tag_of(seen) >> (shift_ - 1);
    while (bigger[j].load(real_sync::memory_order_relaxed) != 0) j = (j + 1) & (capacity - 1);
    bigger[j].store(seen, real_sync::memory_order_relaxed);
  }
  slots_ = std::move(bigger);
  mask_ = capacity - 1;
  --shift_;
}

std::size_t state_table::bytes() const noexcept {
  return capacity() * sizeof(slot) + size() * (words_ * sizeof(word) + sizeof(state_id)) +
         blocks_.size() * sizeof(blocks_[0]);
}

}  // namespace rota::verify::detail
