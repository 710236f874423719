// `rota coop explore`: all that a program can do when nothing is scheduled.
#ifndef ROTA_APPS_COOP_EXPLORE_H
#define ROTA_APPS_COOP_EXPLORE_H

#include "command_line.h"

namespace rota::app {

void add_coop_explore(command& coop);

}  // namespace rota::app

#endif
