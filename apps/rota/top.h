// `rota top` and `rota trace`: what a running program is at, live or as a file for Perfetto. By way
// of its door, as `rota topic`.
#ifndef ROTA_APPS_TOP_H
#define ROTA_APPS_TOP_H

#include "command_line.h"

namespace rota::app {

void add_top(command& program);
void add_trace(command& program);

}  // namespace rota::app

#endif
