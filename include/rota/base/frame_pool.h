// Memory for coroutine frames: size classes of 16 bytes, a magazine per thread and class, and a
// depot that the magazines exchange surplus with.
//
// Promised: allocating and freeing on one thread takes no lock; a magazine has a bounded length,
// so frames that are made on one thread and freed on another do not pile up there. Memory is
// reused, not given back. Frames above 2 KiB come from the block cache (base/block_cache.h).
//
// Threads: anyone's. Under AddressSanitizer and ThreadSanitizer, and when the code is explored,
// every frame comes from operator new, so that they see each one.
#ifndef ROTA_BASE_FRAME_POOL_H
#define ROTA_BASE_FRAME_POOL_H

#include <rota/base/block_cache.h>

#include <cstddef>

namespace rota::detail {

inline constexpr std::size_t frame_granule = 16;  // what coroutine frames rely on
inline constexpr std::size_t largest_pooled_frame = smallest_block;

// Whether memory of allocate_frame() does for an object of this size and alignment.
constexpr bool fits_frame(std::size_t size, std::size_t alignment) noexcept {
  return alignment <= (size > largest_pooled_frame ? block_alignment : frame_granule);
}

// Frames of `granules` times 16 bytes.
[[nodiscard]] void* allocate_pooled(std::size_t granules);
void free_pooled(void* frame, std::size_t granules) noexcept;

[[nodiscard]] inline void* allocate_frame(std::size_t size) {
  if (size > largest_pooled_frame) return allocate_block(size);
  return allocate_pooled((size + frame_granule - 1) / frame_granule);
}

inline void free_frame(void* frame, std::size_t size) noexcept {
  if (size > largest_pooled_frame) return free_block(frame, size);
  free_pooled(frame, (size + frame_granule - 1) / frame_granule);
}

}  // namespace rota::detail

#endif
