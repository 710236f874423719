// The specs of Rota's protocols as models: what `rota check` knows by name.
//
//   for (const auto& entry : rota::verify::models()) std::cout << entry.name << '\n';
//
// Threads: made once, then const.
#ifndef ROTA_VERIFY_MODELS_MODELS_H
#define ROTA_VERIFY_MODELS_MODELS_H

#include <rota/verify/checker/catalogue.h>

#include <vector>

namespace rota::verify {

const std::vector<model_entry>& models();

}  // namespace rota::verify

#endif
