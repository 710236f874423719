#include "verify/models/backpressure.h"

#include "verify/models/families.h"

namespace rota::verify::detail {

std::vector<model_entry> backpressure_models() {
  const auto entry = [](const char* name, const char* summary, backpressure_variant v,
                        bool clears = false) {
    return describe<backpressure>(name, summary, backpressure{v, clears});
  };
  const backpressure_variant built = backpressure_variant::built();
  return {
      entry("backpressure", "cowns that mute the senders of overloaded ones (seed 001, as written)",
            {}),
      entry("backpressure_eager", "the same, and who becomes normal frees whom it muted at once",
            {.eager = true}),
      entry("backpressure_propagation", "eager, and sending to a muted cown mutes the sender too",
            {.eager = true, .propagate = true}),
      entry("backpressure_naive", "propagation without eager unmuting: known to deadlock",
            {.propagate = true}),
      entry("backpressure_acquire",
            "eager, and a cown that only passes messages on can be overloaded",
            {.eager = true, .acquire = true}),
      entry("backpressure_full", "eager, propagation, acquire, and clean mute sets",
            {.eager = true, .propagate = true, .acquire = true}, true),
      entry("backpressure_built", "full, with priority hop by hop and senders that do not lock",
            built, true),
      entry("backpressure_pressed", "built, and causes outside can put pressure on a cown",
            built.with_pressure(), true),
  };
}

}  // namespace rota::verify::detail
