// `rota serve` and `rota job`: the job daemon, and what talks to it.
#ifndef ROTA_APPS_SERVE_SERVE_H
#define ROTA_APPS_SERVE_SERVE_H

#include "../command_line.h"

namespace rota::app {

void add_serve(command& program);
void add_job(command& program);

}  // namespace rota::app

#endif
