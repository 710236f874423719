#include <rota/base/frame_pool.h>

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace rota::detail {

namespace {

#if defined(ROTA_ASAN) || defined(ROTA_TSAN)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

constexpr std::size_t granule = 16;  // what operator new promises, and coroutine frames rely on
constexpr std::size_t largest = 2048;
constexpr std::size_t classes = largest / granule + 1;
constexpr std::size_t chunk_size = 64 * 1024;

struct block {
  block* next;
};

constexpr std::size_t class_of(std::size_t size) noexcept { return (size + granule - 1) / granule; }

// A magazine holds up to two batches; a batch is what goes to or comes from the depot at once.
constexpr std::int32_t batch_of(std::size_t c) noexcept {
  return static_cast<std::int32_t>(std::clamp<std::size_t>(8192 / (c * granule), 8, 128));
}

struct magazine {
  block* first = nullptr;
  std::int32_t count = 0;  // a bound on growth rather than an inventory: a batch may be longer
};

struct thread_cache {
  std::array<magazine, classes> magazines{};

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

thread_cache& make_cache() {
  static thread_local thread_cache cache;
  sync::thread_slot<thread_cache>::set(&cache);
  return cache;
}

thread_cache& my_cache() {
  thread_cache* cache = sync::thread_slot<thread_cache>::get();
  return cache ? *cache : make_cache();
}

// The magazine is empty: a batch from the depot, or a new chunk cut up. The chunk's blocks beyond
// the first batch go to the depot in batches.
void* refill(magazine& m, std::size_t c) {
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
    m.count = batch_of(c) - 1;
    return first;
  }
  const std::size_t size = c * granule;
  const std::size_t count = std::max<std::size_t>(chunk_size / size, 1);
  auto* memory = static_cast<std::byte*>(::operator new(count * size));
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
  m.count = in_list;
  return memory;
}

// The magazine is full: half of it goes to the depot.
void give_surplus(magazine& m, std::size_t c) noexcept {
  block* first = m.first;
  block* last = first;
  for (std::int32_t i = 1; i < batch_of(c) && last->next; ++i) last = last->next;
  m.first = last->next;
  last->next = nullptr;
  m.count = batch_of(c);
  put_batch(c, first);
}

}  // namespace

[[gnu::noinline]] void* allocate_frame(std::size_t size) {
  const std::size_t c = class_of(size);
  if (!pooled || c >= classes) [[unlikely]]
    return ::operator new(size);
  magazine& m = my_cache().magazines[c];
  if (block* b = m.first) [[likely]] {
    m.first = b->next;
    --m.count;
    return b;
  }
  return refill(m, c);
}

[[gnu::noinline]] void free_frame(void* frame, std::size_t size) noexcept {
  const std::size_t c = class_of(size);
  if (!pooled || c >= classes) [[unlikely]] {
    ::operator delete(frame, size);
    return;
  }
  magazine& m = my_cache().magazines[c];
  auto* b = static_cast<block*>(frame);
  b->next = m.first;
  m.first = b;
  if (++m.count >= 2 * batch_of(c)) [[unlikely]]
    give_surplus(m, c);
}

}  // namespace rota::detail
