#include "verify/models/coop.h"

#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> coop_models() {
  return {
      describe<coop>("coop", "tasks that give way in turn: the scheduler of CoopWhile (seed 002)"),
  };
}

}  // namespace rota::verify::detail
