// NAME=VALUE lines that become variables of the program.
//
// Blank lines and those that begin with # count for nothing, and quotes around a whole value are
// taken off. It is read by the user whose program it is for. What stands in it is a secret:
// messages name lines, not what is on them.
#ifndef ROTA_RUNNER_ENVIRONMENT_FILE_H
#define ROTA_RUNNER_ENVIRONMENT_FILE_H

#include "request.h"

namespace rota::runner {

struct environment_fault {
  const char* what = nullptr;  // null: none
  int error = 0;               // errno, if the system said no
  int line = 0;                // 0: the whole file
};

environment_fault read_environment_file(request& r) noexcept;

}  // namespace rota::runner

#endif
