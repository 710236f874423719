// The output of a run as a body: what is there, or all of it as it comes.
#ifndef ROTA_APPS_SERVE_LOG_STREAM_H
#define ROTA_APPS_SERVE_LOG_STREAM_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http.h"

namespace rota::app {

// From `offset` on. With `is_over` it goes on until that says so, and then to the end of the file;
// without, it ends with the file. A file that is not there is empty, or comes later.
std::shared_ptr<body_stream> open_log(std::string path, std::uint64_t offset,
                                      std::function<bool()> is_over);

}  // namespace rota::app

#endif
