// Memory for coroutine frames: size classes of 16 bytes, a magazine per thread and class, and a
// depot that the magazines exchange surplus with.
//
// Promised: allocating and freeing on one thread takes no lock; a magazine has a bounded length,
// so frames that are made on one thread and freed on another do not pile up there. Memory is
// reused, not given back. Frames above 2 KiB come from the global operator new.
//
// Threads: anyone's. Under AddressSanitizer and ThreadSanitizer every frame comes from operator
// new, so that they see each one.
#ifndef ROTA_BASE_FRAME_POOL_H
#define ROTA_BASE_FRAME_POOL_H

#include <cstddef>

namespace rota::detail {

[[nodiscard]] void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

}  // namespace rota::detail

#endif
