// Messages as JSON: what `rota topic echo` prints, and `rota topic pub` and `rota service call` are
// given.
//
//   bool, numbers      as they are; nan, inf and -inf are texts; bytes are numbers
//   string, char       texts; bytes that are no UTF-8 are printed as U+FFFD
//   duration, time     integers, nanoseconds
//   byte[], byte[N]    hex in a text; an array of numbers is taken too
//   T[], T[N]          arrays
//   T?                 null if there is nothing; a field of it may be left out
//   structs            objects with all fields
#ifndef ROTA_APPS_MESSAGE_JSON_H
#define ROTA_APPS_MESSAGE_JSON_H

#include <rota/event/schema.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "json_line.h"

namespace rota::app {

// The same in words, for the help of commands.
extern const char* const message_json_help;

// The text of a schema. Throws std::runtime_error.
schema schema_from(const std::string& text);

// Throws std::runtime_error if the bytes are none of the schema.
nlohmann::ordered_json to_json(const schema& s, std::span<const std::byte> bytes);
nlohmann::ordered_json to_json(const schema& s, const std::string& hex);

// The bytes in hex. Throws bad_input, which says what is wrong with the text, where, and what would
// be right: "message.points[2].x: expected float64, not a string".
std::string to_hex(const schema& s, const std::string& json_text);

}  // namespace rota::app

#endif
