// Reads a program.
//
//   const parsed p = parse(text);
//   if (!p) for (const static_error& e : p.errors) std::cerr << to_string(e, file) << '\n';
//
// Any bytes give a tree or errors: nesting is bounded. The errors are those of one kind of reading:
// of the characters if there are any, else the first of the grammar, else those of the static
// rules, in the order of the text.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_PARSE_H
#define ROTA_COOP_PARSE_H

#include <rota/coop/source.h>
#include <rota/coop/syntax.h>

#include <string_view>
#include <vector>

namespace rota::coop {

// Open braces, open brackets of expressions and pending unary operators, all together.
inline constexpr unsigned max_nesting = 256;

struct parsed {
  syntax_tree tree;  // complete if there are no errors
  std::vector<static_error> errors;

  explicit operator bool() const noexcept { return errors.empty(); }
};

parsed parse(std::string_view source);

}  // namespace rota::coop

#endif
