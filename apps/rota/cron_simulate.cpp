#include "cron_simulate.h"

#include <rota/job/table_file.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <queue>
#include <stdexcept>

namespace rota::app {

namespace {

using nlohmann::ordered_json;

dst_rule dst_of(const cron_options& o) {
  if (o.dst == "wall") return dst_rule::wall;
  if (o.dst == "vixie") return dst_rule::vixie;
  throw std::invalid_argument("--dst: expected wall or vixie, not " + o.dst);
}

bool wants_vixie_syntax(const cron_options& o) {
  if (o.compat.empty() || o.compat == "strict") return false;
  if (o.compat == "vixie") return true;
  throw std::invalid_argument("--compat: expected strict or vixie, not " + o.compat);
}

// Whether it is meant as a file, though there is none: "jobs/backup", "backup.toml", but not "*/5".
bool is_like_a_path(const std::string& word) {
  if (word.ends_with(".toml") || word.ends_with(".crontab")) return true;
  const bool may_be_fields = word.find_first_of(" \t*@") != word.npos;
  return !may_be_fields && word.find('/') != word.npos;
}

job::table no_such_file(const std::string& path) {
  job::table none;
  none.file = path;
  none.problems.push_back({.file = path, .text = "no such file"});
  return none;
}

}  // namespace

time_zone zone_of(const cron_options& o) {
  if (o.zone == "local") return time_zone::local();
  if (const auto z = time_zone::find(o.zone)) return *z;
  throw std::invalid_argument("--tz: there is no time zone '" + o.zone +
                              "'; they look like Europe/Paris, UTC, local");
}

schedule read_schedule(const std::string& text, const cron_options& o) {
  schedule::context c{.name = o.name,
                      .zone = zone_of(o),
                      .dst = dst_of(o),
                      .syntax = wants_vixie_syntax(o) ? cron_syntax::vixie : cron_syntax::strict,
                      .may_never_fire = o.may_never_fire};
  const schedule ours = schedule::parse(text, c);
  if (c.dst != dst_rule::vixie || !o.compat.empty()) return ours;
  try {
    c.syntax = cron_syntax::vixie;
    const schedule debians = schedule::parse(text, c);
    if (debians.explain() != ours.explain())
      std::cerr << "note: Debian's cron takes it for: " << debians.explain()
                << " (--compat strict: " << ours.explain() << ")\n";
    return debians;
  } catch (const cron_error&) {
    return ours;  // Debian has no such thing; its clock changes can be had all the same.
  }
}

std::optional<std::vector<job::table>> tables_at(const std::string& word, const cron_options& o) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths{word};
  if (fs::is_directory(word, error)) {
    // Of TOML, or else a cron.d.
    for (const auto form : {job::table_form::toml, job::table_form::system_crontab})
      if (paths = job::list_tables(word, form).value_or(std::vector<std::string>{}); !paths.empty())
        break;
  } else if (!fs::exists(word, error)) {
    if (is_like_a_path(word)) return {{no_such_file(word)}};
    return std::nullopt;
  }
  std::vector<job::table> all;
  for (const std::string& path : paths) {
    job::table_options how;
    how.file = path;
    how.form = job::form_of(path);
    how.zone = zone_of(o);
    how.dst = dst_of(o);
    how.syntax = wants_vixie_syntax(o) ? cron_syntax::vixie : cron_syntax::strict;
    all.push_back(job::load_table(how));
  }
  return all;
}

// --- simulate -----------------------------------------------------------------------------------

namespace {

// What is run in a simulation.
struct simulated_job {
  std::string text;  // the expression, or the name of the job
  schedule when;
};

// The jobs that a word of the command line stands for.
std::vector<simulated_job> jobs_of(const std::string& word, const cron_options& o) {
  if (const auto tables = tables_at(word, o)) {
    std::vector<simulated_job> all;
    for (const job::table& t : *tables) {
      for (const job::problem& p : t.problems)
        if (p.severity == job::severity::error) throw std::invalid_argument(to_text(p));
      for (const job::definition& d : t.jobs) all.push_back({d.name, d.when});
    }
    return all;
  }
  try {
    return {{word, read_schedule(word, o)}};
  } catch (const cron_error& e) {
    throw std::invalid_argument("'" + word + "': column " + std::to_string(e.column()) + ": " +
                                e.what());
  }
}

// The next thing that is due of a job.
struct due_start {
  instant at;
  std::size_t job;
  bool operator>(const due_start& other) const {
    return std::tie(at, job) > std::tie(other.at, other.job);
  }
};

template <class T>
using earliest_first = std::priority_queue<T, std::vector<T>, std::greater<T>>;

class simulation {
 public:
  simulation(std::vector<simulated_job> jobs, const simulated_span& span, const cron_options& o,
             bool json, std::ostream& out)
      : jobs_(std::move(jobs)),
        span_(span),
        zone_(zone_of(o)),
        cap_(o.max_active),
        json_(json),
        out_(out),
        change_(zone_.next_change(span.from)) {
    if (!o.takes.empty()) {
      const schedule period = schedule::parse("@every " + o.takes);
      takes_ = *period.next(instant{}) - instant{};
    }
  }

  void run() {
    earliest_first<due_start> due;
    const auto add = [&](std::size_t job, instant after) {
      if (const auto t = jobs_[job].when.next(after, span_.from); t && *t <= span_.to)
        due.push({*t, job});
    };
    for (std::size_t i = 0; i < jobs_.size(); ++i) add(i, span_.from);
    while (!due.empty()) {
      const due_start d = due.top();
      due.pop();
      for (std::uint32_t n = jobs_[d.job].when.times(d.at, span_.from); n > 0; --n) start(d);
      add(d.job, d.at);
    }
    changes_until(span_.to);
  }

 private:
  // Runs start in the order in which they are due, each as soon as there is a place for it (C2).
  void start(const due_start& d) {
    instant at = d.at;
    while (!ends_.empty() && ends_.top() <= at) ends_.pop();
    if (cap_ != 0 && ends_.size() >= cap_) {
      at = ends_.top();
      ends_.pop();
    }
    if (takes_.count() > 0) ends_.push(at + takes_);
    changes_until(at);
    const std::string& text = jobs_[d.job].text;
    const std::chrono::milliseconds late = at - d.at;
    if (json_) {
      const ordered_json line{{"start", to_text(at)},
                              {"wall", to_text(at, zone_)},
                              {"late_ms", late.count()},
                              {"expression", text}};
      out_ << line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
      return;
    }
    out_ << to_text(at) << "  " << to_text(at, zone_) << "  " << text;
    if (late.count() > 0) out_ << "  (due " << to_text(d.at) << ")";
    out_ << '\n';
  }

  void changes_until(instant t) {
    for (; change_ && change_->at <= t && change_->at <= span_.to;
         change_ = zone_.next_change(change_->at)) {
      const std::chrono::seconds by = change_->after - change_->before;
      if (json_) {
        const ordered_json line{{"clock_change", to_text(change_->at)},
                                {"wall", to_text(change_->at, zone_)},
                                {"seconds", by.count()}};
        out_ << line.dump() << '\n';
        continue;
      }
      const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(by).count();
      out_ << to_text(change_->at) << "  " << to_text(change_->at, zone_)
           << "  -- the clock is set " << (minutes > 0 ? "forward" : "back") << " by "
           << std::abs(minutes) << " minutes\n";
    }
  }

  std::vector<simulated_job> jobs_;
  simulated_span span_;
  time_zone zone_;
  std::size_t cap_;
  bool json_;
  std::ostream& out_;
  std::optional<clock_change> change_;
  std::chrono::milliseconds takes_{0};
  earliest_first<instant> ends_;  // when the places become free
};

}  // namespace

void simulate(const std::vector<std::string>& words, const simulated_span& span,
              const cron_options& o, bool json, std::ostream& out) {
  std::vector<simulated_job> jobs;
  for (const std::string& word : words)
    for (simulated_job& j : jobs_of(word, o)) jobs.push_back(std::move(j));
  simulation{std::move(jobs), span, o, json, out}.run();
}

}  // namespace rota::app
