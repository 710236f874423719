#include "verify/models/crond.h"

#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> crond_models() {
  return {
      describe<crond>("crond", "jobs that start programs by timers (seed 004)"),
      describe<crond_processes>("crond_processes",
                                "the same, remembering how many processes of a program run"),
  };
}

}  // namespace rota::verify::detail
