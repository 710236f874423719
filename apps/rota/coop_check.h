// `rota coop check`: holds a scheduler against its theorems, step by step.
#ifndef ROTA_APPS_COOP_CHECK_H
#define ROTA_APPS_COOP_CHECK_H

#include "command_line.h"

namespace rota::app {

void add_coop_check(command& coop);

}  // namespace rota::app

#endif
