#include "verify/models/coop.h"

#include "verify/models/coop_bypass.h"
#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> coop_models() {
  return {
      describe<coop>("coop", "tasks that give way in turn: the scheduler of CoopWhile (seed 002)"),
      describe<coop_bypass>("coop_bypass",
                            "how a worker chooses: the ring, the next slot, posts from outside"),
  };
}

}  // namespace rota::verify::detail
