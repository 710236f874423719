#include "metrics.h"

#include <algorithm>
#include <cstdio>

namespace rota::app {

namespace {

std::string number_text(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", v);
  return text;
}

class writer {
 public:
  void head(const char* name, const char* type, const char* help) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }
  void value(const std::string& name, double v) { text += name + " " + number_text(v) + "\n"; }
  void one(const char* name, const char* type, const char* help, double v) {
    head(name, type, help);
    value(name, v);
  }

  std::string text;
};

std::string label_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

double in_seconds(instant t) { return static_cast<double>(t.time_since_epoch().count()) / 1000; }

}  // namespace

void metrics::count_delay(double seconds) {
  const double delay = std::max(0.0, seconds);
  const auto place = std::lower_bound(limits.begin(), limits.end(), delay) - limits.begin();
  ++delays_[static_cast<std::size_t>(place)];
  delay_sum_ += delay;
  delay_most_ = std::max(delay_most_, delay);
}

void metrics::count(const job::engine_event& e) {
  using kind = job::engine_event::kind;
  if (e.what == kind::run_started && e.run && e.run->why == job::trigger::schedule)
    count_delay(static_cast<double>((e.run->started - e.run->scheduled).count()) / 1000);
  if (e.what == kind::clock_back || e.what == kind::clock_forward) ++clock_changes_;
  if (e.what == kind::ledger_failed)
    ledger_error_ = e.text.empty() ? "it cannot be written" : e.text;
  if (e.what == kind::ledger_works) ledger_error_.clear();
}

std::string metrics::text(const job::engine& e, const job::sqlite_ledger& l, const job_tables& t,
                          instant now) const {
  std::uint64_t jobs = 0, paused = 0, failing = 0, absent = 0;
  std::optional<instant> next;
  e.each_job([&](const job::job_view& v) {
    ++jobs;
    paused += v.row.paused ? 1 : 0;
    failing += v.row.failing ? 1 : 0;
    absent += v.row.absent ? 1 : 0;
    if (v.next && !v.row.paused && (!next || *v.next < *next)) next = v.next;
  });
  writer w;
  w.one("rota_jobs", "gauge", "Jobs in the table.", static_cast<double>(jobs));
  w.one("rota_jobs_paused", "gauge", "Jobs that are paused.", static_cast<double>(paused));
  w.one("rota_jobs_failing", "gauge", "Jobs whose last run was no success.",
        static_cast<double>(failing));
  w.one("rota_jobs_absent", "gauge", "Jobs without a success for longer than their absence.",
        static_cast<double>(absent));
  w.one("rota_runs_active", "gauge", "Runs that are launched and not over.",
        static_cast<double>(e.running().size()));
  w.one("rota_runs_waiting", "gauge", "Runs that are due and wait.",
        static_cast<double>(e.waiting().size()));
  w.head("rota_runs_total", "counter", "Runs (of skipped: instants) that are over, by outcome.");
  const auto totals = l.totals();
  for (std::size_t i = 1; i < totals.size(); ++i)
    w.value("rota_runs_total{outcome=\"" + std::string(job::to_text(static_cast<job::outcome>(i))) +
                "\"}",
            static_cast<double>(totals[i]));

  w.head("rota_start_delay_seconds", "histogram",
         "From the scheduled instant to the start of the program.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < delays_.size(); ++i) {
    sum += delays_[i];
    const std::string limit = i < limits.size() ? number_text(limits[i]) : "+Inf";
    w.value("rota_start_delay_seconds_bucket{le=\"" + limit + "\"}", static_cast<double>(sum));
  }
  w.value("rota_start_delay_seconds_sum", delay_sum_);
  w.value("rota_start_delay_seconds_count", static_cast<double>(sum));
  w.one("rota_start_delay_seconds_max", "gauge", "The largest such delay since the start.",
        delay_most_);
  if (next)
    w.one("rota_next_due_seconds", "gauge", "Until the next instant of any job.",
          in_seconds(*next) - in_seconds(now));

  w.one("rota_ledger_ok", "gauge", "1 if the ledger can be written.",
        ledger_error_.empty() ? 1 : 0);
  const auto sizes = l.sizes();
  w.one("rota_ledger_bytes", "gauge", "Size of the ledger's file.",
        static_cast<double>(sizes.store_bytes));
  w.one("rota_ledger_rows", "gauge", "Runs in the ledger.", static_cast<double>(sizes.runs));
  w.head("rota_table_ok", "gauge", "1 if the file's last version is in use.");
  for (const table_status& s : t.status())
    w.value("rota_table_ok{file=\"" + label_text(s.file) + "\"}", s.ok ? 1 : 0);
  w.one("rota_table_reloads_total", "counter", "How often the tables were read.",
        static_cast<double>(reloads_));
  w.one("rota_clock_changes_total", "counter", "How often the clock was set, as far as noticed.",
        static_cast<double>(clock_changes_));
  w.one("rota_alerts_sent_total", "counter", "Web hooks and mails that went out.",
        static_cast<double>(alerts_[0]));
  w.one("rota_alerts_failed_total", "counter", "Web hooks and mails that were given up.",
        static_cast<double>(alerts_[1]));
  w.one("rota_alerts_dropped_total", "counter",
        "Web hooks and mails that were never tried: too many waited.",
        static_cast<double>(alerts_[2]));
  w.head("rota_http_requests_total", "counter", "Requests, by status.");
  for (const auto& [status, n] : requests_)
    w.value("rota_http_requests_total{status=\"" + std::to_string(status) + "\"}",
            static_cast<double>(n));
  return std::move(w.text);
}

}  // namespace rota::app
