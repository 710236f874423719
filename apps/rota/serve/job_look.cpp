#include "job_look.h"

#include <rota/base/perfetto.h>
#include <rota/cron/time_zone.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "../door.h"
#include "../interrupt.h"
#include "../live_page.h"
#include "job_text.h"

namespace rota::app {

namespace {

using json = nlohmann::ordered_json;
using std::chrono::milliseconds;

std::optional<instant> time_of(const json& run, const char* name) {
  const auto found = run.find(name);
  if (found == run.end() || !found->is_string()) return std::nullopt;
  return parse_instant(found->get<std::string>());
}

// --- top ----------------------------------------------------------------------------------------

json look_at(const job_client& daemon, std::uint32_t rows) {
  const std::string limit = "&limit=" + std::to_string(rows);
  json seen;
  seen["status"] = daemon.get("/api/v1/status");
  seen["running"] = daemon.get("/api/v1/runs?phase=launched" + limit).at("runs");
  seen["waiting"] = daemon.get("/api/v1/runs?phase=due" + limit).at("runs");
  seen["next"] = daemon.get("/api/v1/upcoming?hours=24" + limit).at("firings");
  seen["over"] = daemon.get("/api/v1/runs?phase=over" + limit).at("runs");
  return seen;
}

std::string section(const char* name, const std::string& text) {
  return std::string("\n") + name + "\n" + text;
}

std::string page_of(const json& seen) {
  const json& s = seen.at("status");
  std::string text = s.at("active").dump() + " of at most " + s.at("max_active").dump() + " run, " +
                     s.at("waiting").dump() + " wait; " + count_text(s.at("jobs"));
  if (s.value("draining", false)) text += "; the daemon is about to end";
  if (const json ledger = s.value("ledger", json::object()); !ledger.value("ok", true))
    text += "; THE LEDGER FAILS: " + plain_text(ledger.value("error", ""));
  text += "\n";
  if (!seen.at("running").empty()) text += section("RUNNING", runs_text(seen.at("running")));
  if (!seen.at("waiting").empty()) text += section("WAITING", runs_text(seen.at("waiting")));
  if (!seen.at("next").empty()) text += section("NEXT", firings_text(seen.at("next")));
  if (!seen.at("over").empty()) text += section("OVER", runs_text(seen.at("over")));
  return text;
}

// True: somebody wants us to stop.
bool wait_or_stop(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any sleep;
  std::unique_lock lock{mutex};
  sleep.wait_for(lock, stop, time, [] { return false; });
  return stop.stop_requested();
}

// --- trace --------------------------------------------------------------------------------------

std::int64_t nanoseconds_of(instant t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

// One track a job. Runs that overlap are on different tracks of the same name, and an arrow goes
// from an attempt to the next.
class run_chart {
 public:
  explicit run_chart(const std::string& path) : out_(path) {}

  void add(const json& run, instant now) {
    ++runs_;
    const auto due = time_of(run, "scheduled").value_or(now);
    const auto from = time_of(run, "started");
    const std::string outcome = run.value("outcome", json()).is_string()
                                    ? run["outcome"].get<std::string>()
                                    : run.value("phase", "");
    const auto number = run.at("id").get<std::uint64_t>();
    const std::string text =
        outcome +
        (run.value("reason", json()).is_string() ? ", " + run["reason"].get<std::string>() : "");
    const auto waited_from = time_of(run, "not_before").value_or(due);
    const instant end = time_of(run, "finished").value_or(from || outcome == "due" ? now : due);
    const instant begin = std::min(waited_from, from.value_or(end));
    const auto on = track_of(run.at("job").get<std::string>(), begin, end);
    perfetto_file::event e{.name = text,
                           .category = "job",
                           .begins_arrow = arrow(run, +1),
                           .ends_arrow = arrow(run, 0),
                           .number_name = "run",
                           .number = number};
    if (!from && outcome != "due" && outcome != "launched") {
      out_.moment(on, nanoseconds_of(begin), e);
      return;
    }
    const instant start = from.value_or(end);
    if (begin < start) {
      out_.begin(on, nanoseconds_of(begin), {.name = "waits", .category = "job"});
      out_.end(on, nanoseconds_of(start));
    }
    if (!from) return;
    out_.begin(on, nanoseconds_of(start), e);
    out_.end(on, nanoseconds_of(std::max(start, end)));
  }

  void close() { out_.close(); }
  std::uint64_t runs() const { return runs_; }

 private:
  struct lane {
    perfetto_file::track_id id;
    instant until;
  };

  // The same number for the attempt that is `ahead` of this one, whoever names it.
  static std::uint64_t arrow(const json& run, std::uint64_t ahead) {
    const auto attempt = run.at("attempt").get<std::uint64_t>() + ahead;
    if (attempt < 2) return 0;
    return std::hash<std::string>{}(run.at("job").get<std::string>() + run.at("scheduled").dump() +
                                    std::to_string(attempt)) |
           1;
  }

  perfetto_file::track_id track_of(const std::string& job, instant begin, instant end) {
    std::vector<lane>& all = jobs_[job];
    for (lane& l : all)
      if (l.until <= begin) return l.until = end, l.id;
    all.push_back({out_.track(plain_text(job)), end});
    return all.back().id;
  }

  perfetto_file out_;
  std::map<std::string, std::vector<lane>> jobs_;
  std::uint64_t runs_ = 0;
};

// Those that were due since then, oldest first.
std::vector<json> runs_since(const job_client& daemon, instant since) {
  std::vector<json> all;
  std::string before;
  for (bool more = true; more;) {
    json page = daemon.get("/api/v1/runs?limit=1000" + before);
    more = page.at("more").get<bool>();
    for (json& r : page.at("runs")) {
      before = "&before=" + r.at("id").dump();
      // By when its row was written, which grows as the numbers do.
      if (time_of(r, "recorded").value_or(since) < since)
        more = false;
      else
        all.push_back(std::move(r));
    }
  }
  std::reverse(all.begin(), all.end());
  return all;
}

}  // namespace

int job_top(const job_client& daemon, const job_top_request& r) {
  const interrupt stop;
  const milliseconds period{
      std::max<std::int64_t>(20, static_cast<std::int64_t>(seconds_of("--every", r.every) * 1000))};
  live_page page;
  for (std::uint64_t i = 1;; ++i) {
    const json seen = look_at(daemon, r.rows);
    if (r.json)
      std::cout << seen.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    else
      page.show(page_of(seen));
    if (i == r.count || wait_or_stop(stop.token(), period)) return 0;
  }
}

int job_trace(const job_client& daemon, const job_trace_request& r) {
  const double hours = seconds_of("--hours", r.hours);
  const auto now = time_of(daemon.get("/api/v1/status"), "now");
  if (!now) throw std::runtime_error("the daemon does not say what time it is");
  const milliseconds back{static_cast<std::int64_t>(hours * 3'600'000)};
  const std::vector<json> all = runs_since(daemon, *now - back);
  const std::string path = std::filesystem::absolute(r.file).string();
  run_chart chart{path};
  for (const json& run : all) chart.add(run, *now);
  chart.close();
  if (r.json)
    std::cout << json{{"file", path}, {"runs", chart.runs()}}.dump() << '\n';
  else
    std::cout << path << ": " << chart.runs() << (chart.runs() == 1 ? " run" : " runs")
              << "; open it at https://ui.perfetto.dev\n";
  return 0;
}

}  // namespace rota::app
