// JSON as one line, for people and programs that read lines.
#ifndef ROTA_APPS_JSON_LINE_H
#define ROTA_APPS_JSON_LINE_H

#include <nlohmann/json.hpp>
#include <string>

namespace rota::app {

// Bytes that are no UTF-8 become replacement characters.
inline std::string line_of(const nlohmann::ordered_json& j) {
  return j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace rota::app

#endif
