// Reads the fields of a cron expression, and words in error messages that others need too.
#ifndef ROTA_SRC_CRON_PARSE_H
#define ROTA_SRC_CRON_PARSE_H

#include <rota/cron/expression.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota::detail {

// Throws cron_error.
cron_fields parse_fields(std::string_view text, std::string_view name, cron_syntax syntax);

// The place of H in a field is stable_hash(name, field) modulo the number of places; fields count
// from 0, the second. FNV-1a of 64 bits over the name, a zero byte and the field, then the last
// three steps of MurmurHash3. Never changes: jobs would move.
std::uint64_t stable_hash(std::string_view name, unsigned field) noexcept;

// The text in quotes, cut if it is long, with bytes that are no letters shown as \xNN.
std::string in_quotes(std::string_view text);

inline bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

}  // namespace rota::detail

#endif
