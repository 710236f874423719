// `rota coop fuzz`: holds semantics, schedulers and checks against each other on random programs.
#ifndef ROTA_APPS_COOP_FUZZ_H
#define ROTA_APPS_COOP_FUZZ_H

#include "command_line.h"

namespace rota::app {

void add_coop_fuzz(command& coop);

}  // namespace rota::app

#endif
