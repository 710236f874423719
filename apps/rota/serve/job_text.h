// What `rota job` prints for people: tables and cards out of the API's JSON.
#ifndef ROTA_APPS_SERVE_JOB_TEXT_H
#define ROTA_APPS_SERVE_JOB_TEXT_H

#include <nlohmann/json.hpp>
#include <string>

namespace rota::app {

std::string jobs_text(const nlohmann::ordered_json& jobs);
std::string job_text(const nlohmann::ordered_json& job);
std::string runs_text(const nlohmann::ordered_json& runs);
// Of /upcoming.
std::string firings_text(const nlohmann::ordered_json& firings);
std::string run_text(const nlohmann::ordered_json& run);
// "run 6: failed, exit code 3", with the note if there is one.
std::string ending_text(const nlohmann::ordered_json& run);
std::string status_text(const nlohmann::ordered_json& status);

// "1 job", "2 jobs".
std::string count_text(const nlohmann::ordered_json& jobs);

// Without what would move a terminal's cursor: names and notes may come from anybody.
std::string plain_text(const std::string& text);

}  // namespace rota::app

#endif
