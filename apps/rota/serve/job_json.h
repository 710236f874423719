// Jobs and runs as the API shows them (docs/jobs_api.md).
#ifndef ROTA_APPS_SERVE_JOB_JSON_H
#define ROTA_APPS_SERVE_JOB_JSON_H

#include <rota/job/engine.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "../json_line.h"

namespace rota::app {

using nlohmann::ordered_json;

// Zero is "not yet": null.
ordered_json json_of(instant t);
ordered_json json_of(std::optional<instant> t);
ordered_json json_of(const job::run& r);
// `last` is the job's last run; log sizes and other things of files are for the caller to add.
ordered_json json_of(const job::job_view& v, const std::optional<job::run>& last);
ordered_json json_of(const job::engine_event& e, instant at);

std::string_view to_text(schedule::kind k);

// A web hook without what is secret in it: "https://hooks.example.com".
std::string host_of(std::string_view url);

}  // namespace rota::app

#endif
