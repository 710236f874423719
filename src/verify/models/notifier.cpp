#include "verify/models/event_notifier.h"
#include "verify/models/families.h"
#include "verify/models/notifier_mpsc.h"
#include "verify/models/parking.h"

namespace rota::verify::detail {

std::vector<model_entry> notifier_models() {
  return {
      describe<event_notifier_seed>(
          "event_notifier", "a worker sleeps and its parent wakes it (seed 003, as written)"),
      describe<event_notifier_fix>(
          "event_notifier_fix",
          "the same; the parent clears the request before it wakes the child"),
      describe<notifier_mpsc>("notifier_mpsc",
                              "the seed's notifier with several producers and an inbox"),
      describe<parking>("parking", "the notifier that Rota has: specs/event_notifier"),
  };
}

}  // namespace rota::verify::detail
