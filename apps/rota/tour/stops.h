// The stops of the tour. Each runs something, watches a promise meanwhile, and says what it saw;
// each can find that a promise is not kept, and its source says how that would show.
#ifndef ROTA_APPS_TOUR_STOPS_H
#define ROTA_APPS_TOUR_STOPS_H

#include <string>
#include <string_view>
#include <vector>

#include "stage.h"

namespace rota::app {

// What a stop has found about a promise.
struct finding {
  std::string_view promise;
  bool kept = false;
  std::string seen;
};
using findings = std::vector<finding>;

struct stop {
  std::string_view name;   // for --stop
  std::string_view about;  // a sentence
  double seconds = 1;      // of the whole tour
  findings (*show)(stage&);
  // What it is about, should it not come to its end.
  std::vector<std::string_view> promises;
};

// In the order of the tour.
const std::vector<stop>& stops();
// "fair, wakeups, ...".
std::string names_of_stops();

findings show_fairness(stage& s);     // fair_stop.cpp
findings show_wake_ups(stage& s);     // pool_stops.cpp
findings show_fork_join(stage& s);    // pool_stops.cpp
findings show_reentry(stage& s);      // reentry_stop.cpp
findings show_deadlock(stage& s);     // deadlock_stop.cpp
findings show_order(stage& s);        // order_stop.cpp
findings show_behaviours(stage& s);   // bank_stop.cpp
findings show_flood(stage& s);        // flood_stop.cpp
findings show_events(stage& s);       // event_stop.cpp
findings show_programs(stage& s);     // program_stop.cpp
findings show_models(stage& s);       // model_stop.cpp
findings show_exploration(stage& s);  // explorer_stop.cpp

}  // namespace rota::app

#endif
