// Whether freed memory is kept for the next who wants some. Not where somebody watches each piece
// of it: under AddressSanitizer, ThreadSanitizer and the explorer.
#ifndef ROTA_SRC_BASE_KEEPS_MEMORY_H
#define ROTA_SRC_BASE_KEEPS_MEMORY_H

#include <rota/base/sync.h>

namespace rota::detail {

#if defined(ROTA_ASAN) || defined(ROTA_TSAN)
inline constexpr bool keeps_memory = false;
#else
inline constexpr bool keeps_memory = !sync::is_explored;
#endif

}  // namespace rota::detail

#endif
