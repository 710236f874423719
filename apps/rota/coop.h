// `rota coop`: programs in the languages of fair scheduling.
#ifndef ROTA_APPS_COOP_H
#define ROTA_APPS_COOP_H

#include "command_line.h"

namespace rota::app {

void add_coop(command& program);

}  // namespace rota::app

#endif
