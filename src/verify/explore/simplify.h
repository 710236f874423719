// Looks for a simpler schedule that fails in the same way.
#ifndef ROTA_VERIFY_EXPLORE_SIMPLIFY_H
#define ROTA_VERIFY_EXPLORE_SIMPLIFY_H

#include <rota/verify/explore/explore.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "verify/explore/engine.h"

namespace rota::explore::detail {

using choice_list = std::vector<std::uint16_t>;

// Choices other than just going on: what makes a schedule hard to read.
std::size_t deviations(const choice_list& choices);

choice_list simplified(engine& e, const std::function<void()>& program, const choice_list& found,
                       failure_kind kind);

}  // namespace rota::explore::detail

#endif
