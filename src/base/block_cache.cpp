#include <rota/base/block_cache.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <utility>

#include "base/keeps_memory.h"

namespace rota::detail {

namespace {

using namespace std::chrono_literals;

// Enough for a queue of 64 messages of a mebibyte that is full and empty in turn.
constexpr std::size_t limit_of_all = std::size_t{128} << 20;

// Long enough that a sensor of 10 Hz finds its block again.
constexpr auto trim_every = 1s;

// The system begins large blocks where pages begin, and the first lines of them all, which are
// those that everybody uses, would compete for the same few places of a cache. So each begins
// elsewhere in its first page.
constexpr std::size_t page = 4096;
constexpr std::size_t smallest_shifted = std::size_t{64} << 10;
sync::atomic<std::uint32_t> next_shift{0};

// Never destroyed: messages may end after static destruction has begun.
union shared {
  constexpr shared() noexcept : cache{limit_of_all} {}
  ~shared() {}
  block_cache cache;
};
constinit shared the_blocks;

// When trim_blocks() is due, as a count of the clock.
sync::atomic<std::int64_t> next_trim{0};

}  // namespace

void* block_cache::make(std::size_t c) {
  const std::size_t size = block_size(c);
  if (size < smallest_shifted) return ::operator new(size, std::align_val_t{block_alignment});
  auto* const begin = static_cast<std::byte*>(::operator new(size + page, std::align_val_t{page}));
  // relaxed: any will do.
  const std::size_t shift = next_shift.fetch_add(1, sync::memory_order_relaxed);
  return begin + shift * block_alignment % page;
}

void block_cache::end(void* block, std::size_t c) noexcept {
  if (block_size(c) < smallest_shifted)
    return ::operator delete(block, std::align_val_t{block_alignment});
  const std::size_t shift = std::bit_cast<std::uintptr_t>(block) % page;
  ::operator delete(static_cast<std::byte*>(block) - shift, std::align_val_t{page});
}

void block_cache::open() noexcept { users_.fetch_add(1, sync::memory_order_relaxed); }

void block_cache::close() noexcept {
  // relaxed: who locks a class after give_back() has sees it, and gets no room any more.
  if (users_.fetch_sub(1, sync::memory_order_relaxed) == 1) give_back(everything);
}

void* block_cache::take(std::size_t c) noexcept {
  blocks& of = classes_[c];
  spin_guard guard{of.lock};
  if (of.count == 0) return nullptr;
  --of.count;
  of.idle = std::min(of.idle, of.count);
  return of.kept[of.count];
}

bool block_cache::keep(void* block, std::size_t c) noexcept {
  blocks& of = classes_[c];
  spin_guard guard{of.lock};
  if (of.count == of.room && !make_room(of, c)) return false;
  of.kept[of.count++] = block;
  return true;
}

// For one more. With the lock of the class held.
bool block_cache::make_room(blocks& of, std::size_t c) noexcept {
  const std::size_t size = block_size(c);
  // relaxed: see close().
  if (of.room == most_kept || users_.load(sync::memory_order_relaxed) == 0) return false;
  // relaxed: only the number counts.
  if (reserved_.fetch_add(size, sync::memory_order_relaxed) + size > limit_) {
    reserved_.fetch_sub(size, sync::memory_order_relaxed);
    return false;
  }
  ++of.room;
  return true;
}

// Room that is not filled is given up as well, so that other classes may have it. Blocks go to the
// system without the lock, since that may take a while.
void block_cache::give_back(amount what) noexcept {
  for (std::size_t c = 0; c < block_classes; ++c) {
    blocks& of = classes_[c];
    std::array<void*, most_kept> gone;
    std::uint32_t count = 0;
    {
      spin_guard guard{of.lock};
      if (of.room == 0) continue;
      count = what == everything ? of.count : of.idle;
      // The last in are the first out, so the first ones are those that were not used.
      std::copy_n(of.kept.begin(), count, gone.begin());
      std::copy(of.kept.begin() + count, of.kept.begin() + of.count, of.kept.begin());
      of.count -= count;
      of.idle = of.count;
      const std::uint32_t surplus = of.room - of.count;
      of.room = of.count;
      reserved_.fetch_sub(surplus * block_size(c), sync::memory_order_relaxed);
    }
    std::for_each_n(gone.begin(), count, [c](void* block) { end(block, c); });
  }
}

void* allocate_block(std::size_t size, std::size_t c) {
  if (!keeps_memory || size > largest_block)
    return ::operator new(size, std::align_val_t{block_alignment});
  if (void* block = the_blocks.cache.take(c)) return block;
  return block_cache::make(c);
}

void free_block(void* block, std::size_t size, std::size_t c) noexcept {
  if (!keeps_memory || size > largest_block)
    return ::operator delete(block, std::align_val_t{block_alignment});
  if (!the_blocks.cache.keep(block, c)) block_cache::end(block, c);
}

block_keeper::block_keeper() noexcept {
  if (keeps_memory) the_blocks.cache.open();
}
block_keeper::~block_keeper() {
  if (keeps_memory) the_blocks.cache.close();
}

std::size_t reserved_for_blocks() noexcept { return the_blocks.cache.reserved(); }

void trim_blocks() noexcept {
  if (!keeps_memory || the_blocks.cache.reserved() == 0) return;
  const auto now = sync::now();
  // relaxed: it only chooses who trims.
  std::int64_t due = next_trim.load(sync::memory_order_relaxed);
  if (now.time_since_epoch().count() < due) return;
  const auto next = (now + trim_every).time_since_epoch().count();
  if (next_trim.compare_exchange_strong(due, next, sync::memory_order_relaxed))
    the_blocks.cache.trim();
}

}  // namespace rota::detail
