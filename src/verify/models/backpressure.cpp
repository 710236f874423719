#include "verify/models/backpressure.h"

#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> backpressure_models() {
  return {
      describe<backpressure>(
          "backpressure", "cowns that mute the senders of overloaded ones (seed 001, as written)"),
  };
}

}  // namespace rota::verify::detail
