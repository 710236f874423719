// `rota topic`, `rota service` and `rota graph`: looks at a running program, by way of its door.
#ifndef ROTA_APPS_TOPIC_H
#define ROTA_APPS_TOPIC_H

#include "command_line.h"

namespace rota::app {

void add_topic(command& program);
void add_service(command& program);
void add_graph(command& program);

}  // namespace rota::app

#endif
