#include "verify/models/scheduler.h"

#include "verify/models/families.h"
#include "verify/models/scheduler_bound.h"

namespace rota::verify::detail {

std::vector<model_entry> scheduler_models() {
  return {
      describe<scheduler>("scheduler", "event handlers in three classes (seed 000, as written)"),
      describe<scheduler_consume>("scheduler_consume",
                                  "the same, with events that are used up: what we build"),
      describe<scheduler_bound>("scheduler_bound",
                                "scheduler_consume with the bound: how many run before a task"),
  };
}

}  // namespace rota::verify::detail
