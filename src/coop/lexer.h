// From bytes to tokens.
#ifndef ROTA_SRC_COOP_LEXER_H
#define ROTA_SRC_COOP_LEXER_H

#include <rota/coop/source.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace rota::coop {

enum class token_kind : std::uint8_t { end, identifier, integer, reserved, symbol };

struct token {
  token_kind kind = token_kind::end;
  std::string_view text;  // of the source
  std::int64_t number = 0;
  position at;

  // A reserved word or a symbol.
  bool is(std::string_view word) const noexcept {
    return (kind == token_kind::reserved || kind == token_kind::symbol) && text == word;
  }
};

struct tokens {
  std::vector<token> all;  // the last is the end
  std::vector<static_error> errors;
};

// Reads on after an error, so that all of them are found.
tokens read_tokens(std::string_view source);

}  // namespace rota::coop

#endif
