// Requests about the workers rather than about topics: what `rota top` and `rota trace` ask for.
#ifndef ROTA_EVENT_INSPECTOR_LOOK_H
#define ROTA_EVENT_INSPECTOR_LOOK_H

#include <memory>

#include "event/inspector_errands.h"

namespace rota::detail {

std::unique_ptr<errand> begin_watch(const inspected& on, const request_words& words);
std::unique_ptr<errand> begin_trace(const inspected& on, const request_words& words);

}  // namespace rota::detail

#endif
