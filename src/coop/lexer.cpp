#include "lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace rota::coop {

namespace {

constexpr std::array<std::string_view, 10> reserved_words{
    "language", "skip", "if", "while", "spawn", "suspend", "await", "true", "false", "return"};

// The longer ones first, so that the longest wins.
constexpr std::array<std::string_view, 22> symbols{
    ":=", "::", "||", "&&", "==", "!=", "<=", ">=", ";", ",", "(",
    ")",  "{",  "}",  "<",  ">",  "+",  "-",  "*",  "/", "%", "!"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
// Of UTF-8: the second and later bytes of a character.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

class lexer {
 public:
  explicit lexer(std::string_view source) : rest_(source) {}

  tokens read() {
    for (skip_space(); !rest_.empty(); skip_space()) read_token();
    found_.all.push_back({token_kind::end, {}, 0, at_});
    return std::move(found_);
  }

 private:
  void read_token() {
    if (starts_name(rest_.front()))
      read_word();
    else if (is_digit(rest_.front()))
      read_integer();
    else
      read_symbol();
  }

  void read_word() {
    const position at = at_;
    const std::string_view text = take(length_while(continues_name));
    const bool reserved =
        std::find(reserved_words.begin(), reserved_words.end(), text) != reserved_words.end();
    found_.all.push_back({reserved ? token_kind::reserved : token_kind::identifier, text, 0, at});
  }

  void read_integer() {
    const position at = at_;
    const std::string_view digits = take(length_while(is_digit));
    if (!rest_.empty() && starts_name(rest_.front()))
      return complain(at, "a number is followed directly by a letter");
    std::int64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{})
      return complain(at, "the number is larger than 9223372036854775807");
    found_.all.push_back({token_kind::integer, digits, number, at});
  }

  void read_symbol() {
    for (std::string_view symbol : symbols) {
      if (!rest_.starts_with(symbol)) continue;
      const position at = at_;
      found_.all.push_back({token_kind::symbol, take(symbol.size()), 0, at});
      return;
    }
    const position at = at_;
    const std::string_view bad = take(1);
    const auto byte = static_cast<unsigned char>(bad.front());
    if (byte > 0x7F) {
      take(length_while(continues_character));
      return complain(at, "characters beyond ASCII may stand in comments only");
    }
    if (byte < 0x20 || byte == 0x7F)
      return complain(at, "a control character, code " + std::to_string(byte));
    complain(at, "'" + std::string(bad) + "' begins nothing" + hint_for(bad.front()));
  }

  static std::string hint_for(char c) {
    switch (c) {
      case ':':
        return "; there are := and ::";
      case '=':
        return "; there are := and ==";
      case '&':
        return "; there is &&";
      case '|':
        return "; there is ||";
      default:
        return "";
    }
  }

  // White space and comments.
  void skip_space() {
    for (;;) {
      if (rest_.starts_with("//")) {
        take(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("/*")) {
        skip_long_comment();
      } else if (!rest_.empty() && is_space(rest_.front())) {
        take(1);
      } else {
        return;
      }
    }
  }

  void skip_long_comment() {
    const position at = at_;
    const std::size_t end = rest_.find("*/", 2);
    if (end == std::string_view::npos) complain(at, "the comment is not closed");
    take(end == std::string_view::npos ? rest_.size() : end + 2);
  }

  template <class Predicate>
  std::size_t length_while(Predicate holds) const {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), holds);
    return static_cast<std::size_t>(end - rest_.begin());
  }

  std::string_view take(std::size_t length) {
    const std::string_view taken = rest_.substr(0, length);
    for (char c : taken) {
      if (c == '\n')
        at_ = {at_.line + 1, 1};
      else if (!continues_character(c))
        ++at_.column;
    }
    rest_.remove_prefix(length);
    return taken;
  }

  void complain(position at, std::string message) {
    found_.errors.push_back({static_error_kind::lexical, at, std::move(message)});
  }

  std::string_view rest_;
  position at_{1, 1};
  tokens found_;
};

}  // namespace

tokens read_tokens(std::string_view source) { return lexer{source}.read(); }

}  // namespace rota::coop
