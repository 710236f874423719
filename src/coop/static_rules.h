// The rules that a program keeps beyond its grammar: names and languages.
#ifndef ROTA_SRC_COOP_STATIC_RULES_H
#define ROTA_SRC_COOP_STATIC_RULES_H

#include <rota/coop/source.h>
#include <rota/coop/syntax.h>

#include <cstdint>
#include <vector>

namespace rota::coop {

// In the order of the text.
std::vector<static_error> broken_static_rules(const syntax_tree& tree);

// The names that are assigned somewhere where they do not denote a parameter, in ascending order of
// their bytes. Indices into tree.names.
std::vector<std::uint32_t> globals_of(const syntax_tree& tree);

}  // namespace rota::coop

#endif
