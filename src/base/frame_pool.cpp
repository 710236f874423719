#include <rota/base/frame_pool.h>

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include "base/keeps_memory.h"

namespace rota::detail {

namespace {

constexpr std::size_t granule = frame_granule;
constexpr std::size_t classes = largest_pooled_frame / granule + 1;
constexpr std::size_t chunk_size = 64 * 1024;

// Chunks begin at a cache line, so that blocks of 64 bytes share none.
constexpr std::size_t line = 64;

struct block {
  block* next;
};

// A magazine holds up to two batches; a batch is what goes to or comes from the depot at once.
constexpr std::int32_t batch_of(std::size_t c) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::size_t>(8192 / (c * granule), 8, 128));
}

struct magazine {
  block* first = nullptr;
  // How many more blocks it takes before it gives a batch away. A bound on growth rather than an
  // inventory: a batch from a thread that ended may be longer.
  std::int32_t room = 0;
};

struct thread_cache {
  std::array<magazine, classes> magazines{};

  thread_cache() noexcept {
    for (std::size_t c = 1; c < classes; ++c) magazines[c].room = 2 * batch_of(c);
  }
  ~thread_cache();
};

// Batches linked through the second word of their first block.
struct batch {
  block* next;
  batch* next_batch;
};
static_assert(sizeof(batch) <= granule);

struct depot_class {
  spin_lock lock;
  batch* first = nullptr;  // guarded by lock
};

// Never destroyed: threads may end after static destruction has begun.
std::array<depot_class, classes>& depot() {
  static auto* all = new std::array<depot_class, classes>;
  return *all;
}

void put_batch(std::size_t c, block* first) noexcept {
  auto* b = reinterpret_cast<batch*>(first);
  depot_class& d = depot()[c];
  spin_guard guard{d.lock};
  b->next_batch = d.first;
  d.first = b;
}

// Threads that end give what they have to the depot.
thread_cache::~thread_cache() {
  for (std::size_t c = 1; c < classes; ++c)
    if (magazines[c].first) put_batch(c, magazines[c].first);
  sync::thread_slot<thread_cache>::set(nullptr);
}

void make_cache() {
  static thread_local thread_cache cache;
  sync::thread_slot<thread_cache>::set(&cache);
}

// Has the system provide all pages of a chunk in one call, since all are about to be written: a
// fault for each takes a third longer. Where the system cannot, they come by faults.
void provide([[maybe_unused]] std::byte* memory, [[maybe_unused]] std::size_t size) noexcept {
#ifdef MADV_POPULATE_WRITE
  constexpr std::size_t unit = 4096;
  void* begin = memory;
  if (std::align(unit, unit, begin, size))
    ::madvise(begin, size / unit * unit, MADV_POPULATE_WRITE);
#endif
}

// The magazine is empty: a batch from the depot, or a new chunk cut up. The chunk's blocks beyond
// the first batch go to the depot in batches.
[[gnu::noinline]] void* refill(magazine& m, std::size_t c) {
  depot_class& d = depot()[c];
  batch* b = nullptr;
  {
    spin_guard guard{d.lock};
    b = d.first;
    if (b) d.first = b->next_batch;
  }
  if (b) {
    auto* first = reinterpret_cast<block*>(b);
    m.first = first->next;
    m.room = batch_of(c) + 1;
    return first;
  }
  const std::size_t size = c * granule;
  const std::size_t count = std::max<std::size_t>(chunk_size / size, 1);
  auto* memory = static_cast<std::byte*>(::operator new(count * size, std::align_val_t{line}));
  provide(memory, count * size);
  block* list = nullptr;
  std::int32_t in_list = 0;
  for (std::size_t i = count; i-- > 1;) {
    auto* fresh = reinterpret_cast<block*>(memory + i * size);
    fresh->next = list;
    list = fresh;
    if (++in_list == batch_of(c) && i > 1) {
      put_batch(c, list);
      list = nullptr;
      in_list = 0;
    }
  }
  m.first = list;
  m.room = 2 * batch_of(c) - in_list;
  return memory;
}

// The magazine is full: half of it goes to the depot.
[[gnu::noinline]] void give_surplus(magazine& m, std::size_t c) noexcept {
  block* first = m.first;
  block* last = first;
  for (std::int32_t i = 1; i < batch_of(c) && last->next; ++i) last = last->next;
  m.first = last->next;
  last->next = nullptr;
  m.room = batch_of(c);
  put_batch(c, first);
}

// The slow paths are functions of their own, and the last thing done, so that the fast ones need no
// stack frame.
[[gnu::noinline]] void* allocate_first(std::size_t c) {
  if (!keeps_memory) return ::operator new(c * granule);
  make_cache();
  return allocate_pooled(c);
}

[[gnu::noinline]] void free_first(void* frame, std::size_t c) noexcept {
  if (!keeps_memory) return ::operator delete(frame, c * granule);
  make_cache();
  free_pooled(frame, c);
}

}  // namespace

// Never inlined: the thread-local address must not get into a coroutine's body.
[[gnu::noinline]] void* allocate_pooled(std::size_t c) {
  thread_cache* cache = sync::thread_slot<thread_cache>::get();
  if (!cache) [[unlikely]]
    return allocate_first(c);
  magazine& m = cache->magazines[c];
  block* b = m.first;
  if (!b) [[unlikely]]
    return refill(m, c);
  m.first = b->next;
  ++m.room;
  return b;
}

[[gnu::noinline]] void free_pooled(void* frame, std::size_t c) noexcept {
  thread_cache* cache = sync::thread_slot<thread_cache>::get();
  if (!cache) [[unlikely]]
    return free_first(frame, c);
  magazine& m = cache->magazines[c];
  auto* b = static_cast<block*>(frame);
  b->next = m.first;
  m.first = b;
  if (--m.room <= 0) [[unlikely]]
    give_surplus(m, c);
}

}  // namespace rota::detail
