// What the daemon's jobs do, live (`rota job top`) or as a file for Perfetto (`rota job trace`).
#ifndef ROTA_APPS_SERVE_JOB_LOOK_H
#define ROTA_APPS_SERVE_JOB_LOOK_H

#include <cstdint>
#include <string>

#include "job_client.h"

namespace rota::app {

struct job_top_request {
  std::string every = "1";  // seconds
  std::uint64_t count = 0;  // 0: until Ctrl-C
  std::uint32_t rows = 10;
  bool json = false;
};
int job_top(const job_client& daemon, const job_top_request& r);

struct job_trace_request {
  std::string hours = "24";
  std::string file = "jobs.perfetto-trace";
  bool json = false;
};
int job_trace(const job_client& daemon, const job_trace_request& r);

}  // namespace rota::app

#endif
