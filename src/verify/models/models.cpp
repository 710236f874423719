#include <rota/verify/models/models.h>

#include <iterator>

#include "verify/models/families.h"

namespace rota::verify {

const std::vector<model_entry>& models() {
  static const std::vector<model_entry> all = [] {
    std::vector<model_entry> found;
    for (auto family : {detail::scheduler_models, detail::coop_models, detail::backpressure_models,
                        detail::access_models, detail::notifier_models, detail::queue_models,
                        detail::crond_models}) {
      auto some = family();
      std::move(some.begin(), some.end(), std::back_inserter(found));
    }
    return found;
  }();
  return all;
}

}  // namespace rota::verify
