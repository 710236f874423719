// Places in a source text, and what can be wrong with one before it runs.
//
//   std::cerr << to_string(error, "program.cw");   // program.cw:3:14: error: ... [syntax]
//
// Threads: as any value.
#ifndef ROTA_COOP_SOURCE_H
#define ROTA_COOP_SOURCE_H

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota::coop {

// Both count from 1; a line of 0 is no position. The column counts characters rather than bytes:
// those bytes of the line that do not continue a character of UTF-8.
struct position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  explicit operator bool() const noexcept { return line != 0; }
  auto operator<=>(const position&) const = default;
};

// "3:14".
std::string to_string(position at);

enum class static_error_kind : std::uint8_t {
  lexical,
  syntax,
  nesting,
  duplicate_procedure,
  unknown_procedure,
  unbound_variable,
  language,
};

// As it stands in messages: "duplicate-procedure".
std::string_view name_of(static_error_kind kind) noexcept;

struct static_error {
  static_error_kind kind = static_error_kind::lexical;
  position at;
  std::string message;
};

// "FILE:LINE:COL: error: MESSAGE [KIND]".
std::string to_string(const static_error& error, std::string_view file);

}  // namespace rota::coop

#endif
