#include "verify/models/scheduler.h"

#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> scheduler_models() {
  return {
      describe<scheduler>("scheduler", "event handlers in three classes (seed 000, as written)"),
      describe<scheduler_consume>("scheduler_consume",
                                  "the same, with events that are used up: what we build"),
  };
}

}  // namespace rota::verify::detail
