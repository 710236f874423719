// `rota cron`: when cron expressions fire, what they say in words, and whether they are right.
#ifndef ROTA_APPS_CRON_H
#define ROTA_APPS_CRON_H

#include "command_line.h"

namespace rota::app {

void add_cron(command& program);

}  // namespace rota::app

#endif
