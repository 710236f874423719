// Names of nodes, topics and services: what may be in them.
#ifndef ROTA_EVENT_NAMES_H
#define ROTA_EVENT_NAMES_H

#include <string>
#include <string_view>

namespace rota::detail {

// Throws std::invalid_argument that says what is wrong with the name, where, and what would be
// right. `what` is "topic", "service" or "node".
void check_name(std::string_view what, std::string_view name);

// The name in quotes, with whatever cannot be printed escaped and the end of a long one cut off.
std::string quoted(std::string_view name);

}  // namespace rota::detail

#endif
