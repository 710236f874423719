#include "job_text.h"

#include <rota/cron/time_zone.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "../table_text.h"

namespace rota::app {

namespace {

using json = nlohmann::ordered_json;
using row = std::vector<std::string>;

std::string text_at(const json& j, const char* name, const std::string& otherwise = "-") {
  const auto found = j.find(name);
  if (found == j.end() || found->is_null()) return otherwise;
  return plain_text(found->is_string() ? found->get<std::string>() : found->dump());
}

// In this machine's zone, without the fraction; in UTC, with a Z, where it is not known.
std::string time_at(const json& j, const char* name) {
  const std::string text = text_at(j, name, "");
  const auto t = parse_instant(text);
  if (!t) return "-";
  const auto zone = time_zone::find_local();
  std::string local =
      rota::to_text(std::chrono::floor<std::chrono::seconds>(*t), zone.value_or(time_zone{}));
  if (local.size() > 10) local[10] = ' ';
  return local.substr(0, zone ? 19 : 20);
}

std::string state_of(const json& job) {
  const bool paused = job.value("paused", false);
  if (job.value("running", 0) > 0) return paused ? "running, paused" : "running";
  if (job.value("waiting", 0) > 0) return paused ? "waiting, paused" : "waiting";
  if (paused) return "paused";
  if (job.value("absent", false)) return "absent";
  if (job.value("failing", false)) return "failing";
  return "ok";
}

std::string duration_of(const json& run) {
  const auto from = parse_instant(text_at(run, "started", ""));
  const auto to = parse_instant(text_at(run, "finished", ""));
  if (!from || !to) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>((*to - *from).count()) / 1000);
  return text;
}

std::string outcome_of(const json& run) {
  std::string text = text_at(run, "outcome", "");
  if (text.empty()) return text_at(run, "phase");
  if (text == "failed") text += " " + text_at(run, "exit_code");
  if (text == "signalled") text += " " + text_at(run, "signal");
  if (text == "skipped") text += ", " + text_at(run, "reason");
  return text;
}

// With why, where there is more to say than a word.
std::string outcome_and_note(const json& run) {
  const std::string note = text_at(run, "note", "");
  return outcome_of(run) + (note.empty() ? "" : ": " + note);
}

// "name  value" lines, without those that say nothing.
class card {
 public:
  void put(const std::string& name, const std::string& value) {
    if (!value.empty() && value != "-") rows_.push_back({name, value});
  }
  std::string text() const { return rows_.empty() ? "" : table_text(rows_); }

 private:
  std::vector<row> rows_;
};

}  // namespace

std::string plain_text(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return out;
}

std::string jobs_text(const json& jobs) {
  std::vector<row> rows{{"JOB", "SCHEDULE", "STATE", "NEXT", "LAST"}};
  for (const json& j : jobs) {
    const auto last = j.find("last_run");
    rows.push_back({text_at(j, "name"), text_at(j, "schedule", "only when asked"), state_of(j),
                    time_at(j, "next"),
                    last == j.end() || last->is_null() ? "-" : outcome_of(*last)});
  }
  return rows.size() == 1 ? "There are no jobs.\n" : table_text(rows);
}

std::string job_text(const json& j) {
  card c;
  c.put("job", text_at(j, "name"));
  c.put("owner", text_at(j, "owner"));
  c.put("schedule", text_at(j, "schedule", "only when asked"));
  c.put("", text_at(j, "explain"));
  c.put("zone", text_at(j, "zone"));
  c.put("state", state_of(j));
  c.put("next", time_at(j, "next"));
  c.put("last success", time_at(j, "last_success"));
  if (const auto last = j.find("last_run"); last != j.end() && !last->is_null())
    c.put("last run", text_at(*last, "id") + ", " + outcome_and_note(*last));
  const json command = j.value("command", json::object());
  c.put("shell", text_at(command, "shell"));
  if (const auto argv = command.find("argv"); argv != command.end() && argv->is_array()) {
    std::string words;
    for (const json& word : *argv) words += (words.empty() ? "" : " ") + word.get<std::string>();
    c.put("runs", plain_text(words));
  }
  c.put("user", text_at(j, "user"));
  c.put("from", text_at(j, "source", "rota job add"));
  const json rules = j.value("rules", json::object());
  c.put("overlap", text_at(rules, "overlap"));
  c.put("catch up", text_at(rules, "catchup"));
  if (rules.value("timeout_s", 0.0) > 0) c.put("timeout", text_at(rules, "timeout_s") + " s");
  c.put("group", text_at(rules, "group"));
  std::string text = c.text();
  for (const json& w : j.value("warnings", json::array()))
    text += "warning: " + plain_text(w.get<std::string>()) + "\n";
  return text;
}

std::string runs_text(const json& runs) {
  std::vector<row> rows{{"RUN", "JOB", "SCHEDULED", "WHY", "STARTED", "TOOK", "OUTCOME"}};
  for (const json& r : runs)
    rows.push_back({text_at(r, "id"), text_at(r, "job"), time_at(r, "scheduled"), text_at(r, "why"),
                    time_at(r, "started"), duration_of(r), outcome_and_note(r)});
  return rows.size() == 1 ? "There are no runs.\n" : table_text(rows);
}

std::string firings_text(const json& firings) {
  std::vector<row> rows{{"DUE", "JOB"}};
  for (const json& f : firings) rows.push_back({time_at(f, "at"), text_at(f, "job")});
  return table_text(rows);
}

std::string run_text(const json& r) {
  card c;
  c.put("run", text_at(r, "id"));
  c.put("job", text_at(r, "job"));
  c.put("scheduled", time_at(r, "scheduled"));
  c.put("attempt", text_at(r, "attempt"));
  c.put("why", text_at(r, "why"));
  c.put("asked by", text_at(r, "requested_by"));
  c.put("started", time_at(r, "started"));
  c.put("took", duration_of(r));
  c.put("outcome", outcome_of(r));
  c.put("note", text_at(r, "note"));
  return c.text();
}

std::string ending_text(const json& r) {
  std::string text = "run " + text_at(r, "id") + ": " + text_at(r, "outcome", text_at(r, "phase"));
  const auto add = [&](const char* name, const std::string& before) {
    if (const std::string value = text_at(r, name, ""); !value.empty()) text += before + value;
  };
  add("exit_code", ", exit code ");
  add("signal", ", signal ");
  add("reason", ", ");
  add("note", ": ");
  return text;
}

std::string count_text(const json& jobs) { return jobs.dump() + (jobs == 1 ? " job" : " jobs"); }

std::string status_text(const json& s) {
  card c;
  c.put("rota", text_at(s, "version"));
  c.put("since", time_at(s, "started"));
  c.put("state", text_at(s, "state"));
  c.put("page", text_at(s, "page"));
  c.put("zone", text_at(s, "zone"));
  c.put("jobs", text_at(s, "jobs"));
  c.put("active", text_at(s, "active") + " of " + text_at(s, "max_active"));
  c.put("waiting", text_at(s, "waiting"));
  const json ledger = s.value("ledger", json::object());
  c.put("ledger", ledger.value("ok", false) ? "ok" : text_at(ledger, "error"));
  std::string text = c.text();
  for (const json& t : s.value("tables", json::array())) {
    text += "table " + text_at(t, "file") + ": ";
    text += t.value("ok", false) ? count_text(t.value("jobs", json(0))) + "\n"
                                 : "NOT USED: " + text_at(t, "error") + "\n";
  }
  return text;
}

}  // namespace rota::app
