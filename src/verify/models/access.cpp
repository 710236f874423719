#include "verify/models/access.h"

#include "verify/models/batch.h"
#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> access_models() {
  return {
      describe<access>("access", "a cown that behaviours read or write: fair, readers together"),
      describe<batch>("batch", "behaviours over several cowns, alone and in batches of two"),
  };
}

}  // namespace rota::verify::detail
