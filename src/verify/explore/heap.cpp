#include "verify/explore/heap.h"

#include <rota/base/sync.h>

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#ifdef ROTA_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace rota::explore::detail {

// Stands directly before what was allocated.
struct heap::block {
  std::size_t size;
  bool live;
};

namespace {

constexpr std::size_t granule = 16;

// What fresh and freed memory holds: the same in every schedule, and nothing that works by chance.
constexpr int fresh = 0xCD;
constexpr int freed_before = 0xDD;

// All heaps lie in a region far from where programs and libraries are put. The stretch is kept for
// the life of the process: there is one heap at a time.
constexpr std::uintptr_t region = 0x2000'0000'0000;

// Code under AddressSanitizer poisons the count that stands before an array.
void unpoison([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef ROTA_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#endif
}

std::size_t rounded(std::size_t n, std::size_t to) noexcept { return (n + to - 1) & ~(to - 1); }

}  // namespace

heap::heap() {
  use_own_new();
  // Pages cost nothing until they are used.
  void* got = mmap(reinterpret_cast<void*>(region), size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) throw std::bad_alloc();
  begin_ = static_cast<std::byte*>(got);
}

heap::~heap() { munmap(begin_, size); }

void* heap::allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment < granule) alignment = granule;
  const std::size_t at = rounded(used_ + sizeof(block), alignment);
  if (bytes > size || at + bytes > size) throw std::bad_alloc();
  unpoison(begin_ + used_, at + bytes - used_);
  auto* b = reinterpret_cast<block*>(begin_ + at - sizeof(block));
  *b = {bytes, true};
  blocks_.push_back(b);
  used_ = at + bytes;
  ++live_;
  return std::memset(begin_ + at, fresh, bytes);
}

heap::freed heap::free(void* p) noexcept {
  auto* b = reinterpret_cast<block*>(static_cast<std::byte*>(p) - sizeof(block));
  if (!b->live) return freed::twice;
  b->live = false;
  --live_;
  unpoison(p, b->size);
  std::memset(p, freed_before, b->size);
  return freed::well;
}

void heap::reuse(void* p) noexcept {
  auto* b = reinterpret_cast<block*>(static_cast<std::byte*>(p) - sizeof(block));
  b->live = true;
  ++live_;
  std::memset(p, fresh, b->size);
}

std::size_t heap::size_of(const void* p) const noexcept {
  return reinterpret_cast<const block*>(static_cast<const std::byte*>(p) - sizeof(block))->size;
}

heap::leak heap::leaked() const noexcept {
  leak all;
  for (const block* b : blocks_) {
    if (live_ == 0 || !b->live) continue;
    if (all.blocks++ == 0) all.first_size = b->size;
    all.bytes += b->size;
  }
  return all;
}

bool is_explored_memory(const void* p) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return address >= region && address < region + heap::size;
}

void heap::reset() noexcept {
  used_ = 0;
  live_ = 0;
  blocks_.clear();
}

}  // namespace rota::explore::detail
