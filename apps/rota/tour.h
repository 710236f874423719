// `rota tour`: the promises of the task layer, each shown at work.
#ifndef ROTA_APPS_TOUR_H
#define ROTA_APPS_TOUR_H

namespace rota::app {

// Runs the tour; 0 if every promise was kept, 1 if not. With `json` prints one JSON array instead.
int tour(bool json);

}  // namespace rota::app

#endif
