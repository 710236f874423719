#include "verify/models/scheduler.h"

#include "verify/models/families.h"
#include "verify/models/scheduler_bound.h"
#include "verify/models/scheduler_built.h"
#include "verify/models/scheduler_built_bound.h"

namespace rota::verify::detail {

std::vector<model_entry> scheduler_models() {
  return {
      describe<scheduler>("scheduler", "event handlers in three classes (seed 000, as written)"),
      describe<scheduler_consume>(
          "scheduler_consume",
          "the same, with events that are used up: the idea of the event layer"),
      describe<scheduler_bound>("scheduler_bound",
                                "scheduler_consume with the bound: how many run before a task"),
      describe<scheduler_built>("scheduler_built", "the executor of the event layer, step by step"),
      describe<scheduler_built_bound>(
          "scheduler_built_bound", "scheduler_built with the bound: how many run before a handler"),
  };
}

}  // namespace rota::verify::detail
