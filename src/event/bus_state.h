// What a bus is made of.
#ifndef ROTA_EVENT_BUS_STATE_H
#define ROTA_EVENT_BUS_STATE_H

#include <rota/event/bus.h>

#include <memory>

#include "event/executor.h"

namespace rota {

class bus::state : public detail::counted {
 public:
  explicit state(runtime& rt) : handlers(rt) {}

  detail::executor handlers;
  std::unique_ptr<transport> way;
};

}  // namespace rota

#endif
