// How the tour ends: a table promise by promise, and what to do next.
#ifndef ROTA_APPS_TOUR_TABLE_H
#define ROTA_APPS_TOUR_TABLE_H

#include <nlohmann/json.hpp>
#include <string>

#include "stage.h"
#include "stops.h"

namespace rota::app {

bool all_kept(const findings& found);

// In the order of the promises, those that nothing was found about left out.
std::string text_table(const screen& s, const findings& found, double seconds);
// [{promise, kept, seen: [text], read, test}]
nlohmann::ordered_json json_table(const findings& found);

std::string what_next(const screen& s);

}  // namespace rota::app

#endif
