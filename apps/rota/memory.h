// How much memory a search may take before the system would end the program.
#ifndef ROTA_APPS_MEMORY_H
#define ROTA_APPS_MEMORY_H

#include <cstddef>

namespace rota::app {

// Nine tenths of what is free, by the kernel and by the control group; 0 if neither tells.
std::size_t usable_memory();

}  // namespace rota::app

#endif
