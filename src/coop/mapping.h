// How what a scheduler does looks in the relation that it chooses from.
#ifndef ROTA_SRC_COOP_MAPPING_H
#define ROTA_SRC_COOP_MAPPING_H

#include <rota/coop/configuration.h>
#include <rota/coop/program.h>

#include <optional>
#include <string_view>

namespace rota::coop {

// What a rule of a scheduler is in its relation.
struct mapped_rule {
  std::string_view name;  // empty: the step is invisible

  bool is_visible() const { return !name.empty(); }
};

// None if no scheduler has such a rule.
std::optional<mapped_rule> mapped(std::string_view rule);

// The configuration without the order of its queue, without markers, and without a task of which
// nothing is left.
configuration mapped(const program& p, const configuration& c);

}  // namespace rota::coop

#endif
