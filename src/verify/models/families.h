// The models, one function a family: each is a source file of its own.
#ifndef ROTA_VERIFY_MODELS_FAMILIES_H
#define ROTA_VERIFY_MODELS_FAMILIES_H

#include <rota/verify/checker/catalogue.h>

#include <vector>

namespace rota::verify::detail {

std::vector<model_entry> scheduler_models();
std::vector<model_entry> coop_models();
std::vector<model_entry> backpressure_models();
std::vector<model_entry> access_models();
std::vector<model_entry> notifier_models();
std::vector<model_entry> queue_models();
std::vector<model_entry> crond_models();

}  // namespace rota::verify::detail

#endif
