// operator new of programs that link the explorer: what an explored program allocates comes from
// its schedule's own heap, everything else from malloc.

#include <new>

#include <cstdlib>

#include "verify/explore/engine.h"

namespace {

using rota::explore::detail::exploring;

void* allocate(std::size_t size, std::size_t alignment) {
  if (exploring) return rota::explore::detail::allocate(size, alignment);
  if (size == 0) size = 1;
  void* p = alignment <= alignof(std::max_align_t)
                ? std::malloc(size)
                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!p) throw std::bad_alloc();
  return p;
}

void release(void* p) noexcept {
  if (!p) return;
  if (!rota::explore::detail::is_explored_memory(p)) return std::free(p);
  // What the explorer itself still held goes with the schedule's heap.
  if (exploring) rota::explore::detail::release(p);
}

}  // namespace

// A sanitizer brings its own, which would do for the linker: whoever calls this gets ours.
void rota::explore::detail::use_own_new() noexcept {}

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}

void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
