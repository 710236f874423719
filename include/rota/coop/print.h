// Writes a program from its syntax tree.
//
//   const std::string text = source_of(tree);
//
// Promised: parse(text) gives the same program, at other positions; printing it gives the same
// text. Brackets stand only where they are needed, so that the text is not nested deeper than what
// the tree was read from.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_PRINT_H
#define ROTA_COOP_PRINT_H

#include <rota/coop/syntax.h>

#include <string>

namespace rota::coop {

// The tree has no errors.
std::string source_of(const syntax_tree& tree);

}  // namespace rota::coop

#endif
