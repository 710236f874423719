// `rota check`: model-checks the specs.
#ifndef ROTA_APPS_CHECK_H
#define ROTA_APPS_CHECK_H

#include "command_line.h"

namespace rota::app {

void add_check(command& program);

}  // namespace rota::app

#endif
