// `rota tour`: the promises of the task layer, each shown at work.
#ifndef ROTA_APPS_TOUR_H
#define ROTA_APPS_TOUR_H

#include "command_line.h"

namespace rota::app {

// Ends with 0 if every promise was kept, with 1 if not.
void add_tour(command& program);

}  // namespace rota::app

#endif
