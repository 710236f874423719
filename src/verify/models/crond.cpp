#include "verify/models/crond.h"

#include "verify/models/crond_runs.h"
#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> crond_models() {
  return {
      describe<crond>("crond", "jobs that start programs by timers (seed 004)"),
      describe<crond_processes>("crond_processes",
                                "the same, remembering how many processes of a program run"),
      describe<crond_runs>("crond_runs",
                           "runs in order under a cap, across crashes: what we build"),
  };
}

}  // namespace rota::verify::detail
