// `rota tour`: every promise of the design, shown at work in about a minute.
#ifndef ROTA_APPS_TOUR_TOUR_H
#define ROTA_APPS_TOUR_TOUR_H

#include "../command_line.h"

namespace rota::app {

// Ends with 0 if every promise was kept, with 1 if not.
void add_tour(command& program);

}  // namespace rota::app

#endif
