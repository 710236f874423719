// The routes of the API and of the page: docs/jobs_api.md, over the engine and what surrounds it.
//
// Who calls was settled by the gate; here it is settled what they see. A job of somebody else is to
// a user as if it were not there.
#ifndef ROTA_APPS_SERVE_API_H
#define ROTA_APPS_SERVE_API_H

#include <rota/job/engine.h>
#include <rota/job/process_launcher.h>
#include <rota/job/sqlite_ledger.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "event_feed.h"
#include "gate.h"
#include "http.h"
#include "job_tables.h"
#include "metrics.h"

namespace rota::app {

// What a request may reach. All of it belongs to the loop's thread.
struct api_parts {
  job::engine& engine;
  job::sqlite_ledger& ledger;
  job::process_launcher& launcher;
  job_tables& tables;
  event_feed& feed;
  metrics& counts;
  const gate& door;
  time_zone zone;
  std::uint32_t max_active;
  std::uint32_t owner_cap;    // of each user but root; job::no_limit: none
  std::uint32_t owner_bytes;  // likewise, of the definitions that were added
  std::string boot;
  std::string state;  // the state directory
  std::string page;   // its address; empty: there is none
  instant started;
  std::function<void()> changed;  // the engine was asked for something: look when it wants to wake
  std::function<void()> added;    // a definition that only the ledger has: to be copied soon
  std::function<void()> reload;   // reads tables, and zones, again
  std::function<void(const std::string&)> log;
  std::function<bool()> draining;
};

class api {
 public:
  explicit api(api_parts parts) : parts_(std::move(parts)) {}

  // Never throws.
  response handle(const request& r);

 private:
  using json = nlohmann::ordered_json;
  class job_list;

  response route(const request& r);
  response answer(const request& r, const caller& who);
  response answer_job(const request& r, const caller& who);
  response answer_run(const request& r, const caller& who);

  response status(const caller& who);
  response list_jobs(const caller& who);
  response put_job(const std::string& name, const request& r, const caller& who);
  response remove_job(const std::string& name, const caller& who);
  response run_job(const std::string& name, const request& r, const caller& who);
  response next(const job::job_view& v, const request& r);
  response upcoming(const request& r, const caller& who);
  response list_runs(const request& r, const caller& who);
  response log(const job::run& r, const request& asked);
  response heat(const request& r, const caller& who);
  response events(const request& r, const caller& who);
  response reload(const caller& who);
  response metrics_text(const caller& who);

  // What the caller may see.
  std::optional<job::job_view> find(const std::string& name, const caller& who) const;
  static std::optional<std::string> owner_for(const caller& who);
  std::optional<std::vector<std::string>> jobs_of(const caller& who, const std::string& only) const;
  std::optional<job::run> last_run(const job::job_view& v) const;
  std::optional<job::run> find_run(job::run_id id) const;
  job::run now_of(const job::run& row) const;
  json job_json(const job::job_view& v) const;
  json run_json(const job::run& r) const;
  json tables_json(const caller& who) const;

  api_parts parts_;
};

}  // namespace rota::app

#endif
