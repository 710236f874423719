// `rota check`: model-checks the specs.
#ifndef ROTA_APPS_CHECK_H
#define ROTA_APPS_CHECK_H

#include <CLI/CLI.hpp>
#include <functional>

namespace rota::app {

// Adds the command to the program. When it is chosen, `run` becomes what there is to do; that
// returns the exit status.
void add_check(CLI::App& program, std::function<int()>& run);

}  // namespace rota::app

#endif
