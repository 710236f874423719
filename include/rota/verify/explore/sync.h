// A rota::sync whose every access is a step of an explored schedule.
//
//   target_link_libraries(my_tests PRIVATE rota::explored)   # in CMake: instead of rota::rota
//
// Included by base/sync.h through ROTA_SYNC_HEADER: who links rota::explored gets the runtime, and
// its own sources, compiled against it.
//
// Threads: as types.h.
#ifndef ROTA_VERIFY_EXPLORE_SYNC_H
#define ROTA_VERIFY_EXPLORE_SYNC_H

#include <rota/verify/explore/types.h>

namespace rota {
namespace sync = explore;
}

#endif
