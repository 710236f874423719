// A rota::sync whose every access is a step of an explored schedule.
//
// Included by base/sync.h through ROTA_SYNC_HEADER: who links rota::explored gets the runtime, and
// its own sources, compiled against it.
#ifndef ROTA_VERIFY_EXPLORE_SYNC_H
#define ROTA_VERIFY_EXPLORE_SYNC_H

#include <rota/verify/explore/types.h>

namespace rota {
namespace sync = explore;
}

#endif
