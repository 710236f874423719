// A word to the processor about memory that is needed soon.
//
// A hint: nothing depends on it. Threads: anyone's.
#ifndef ROTA_BASE_PREFETCH_H
#define ROTA_BASE_PREFETCH_H

namespace rota::detail {

// The line of `p` will be written here. One that another core has comes over once and for good,
// rather than first for reading and then again for writing.
inline void will_write([[maybe_unused]] const void* p) noexcept {
#if defined(__x86_64__)
  // By hand: compilers emit it only if told that the processor is younger than 2014. Older ones
  // take it for no operation.
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace rota::detail

#endif
