// What is to be run, as the launcher sent it.
#ifndef ROTA_RUNNER_REQUEST_H
#define ROTA_RUNNER_REQUEST_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "job/runner_wire.h"

namespace rota::runner {

struct request {
  job::wire::request_head head;
  const std::uint32_t* groups = nullptr;
  const char* key = nullptr;
  const char* directory = nullptr;
  const char* environment_file = nullptr;
  char** arguments = nullptr;  // ends with a null pointer
  char** variables = nullptr;  // likewise; there is room for those of an environment file
  std::size_t variable_count = 0;
  std::string_view input;
  std::int64_t clock_offset_ms = 0;  // what the daemon's clock is ahead of ours
};

// Takes apart `size` bytes at `data`, which stay where they are. False: they are no request.
bool read_request(char* data, std::size_t size, request& into) noexcept;

// Appends NAME=VALUE, or puts it in the place of the variable of that name. False: there are too
// many.
bool set_variable(request& r, char* name_and_value) noexcept;

// The value of a variable of the program; null if it has none.
const char* variable(const request& r, std::string_view name) noexcept;

}  // namespace rota::runner

#endif
