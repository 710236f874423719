// What stands in for the rest of the world when the engine is tested: a ledger in memory, run files
// with their runners, and a time that the test makes up. Ledger and files survive a crash of the
// engine.
#ifndef ROTA_TESTS_SUPPORT_JOB_WORLD_H
#define ROTA_TESTS_SUPPORT_JOB_WORLD_H

#include <rota/job/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace rota::job::test {

using namespace std::chrono_literals;

// Keeps what a database would, and complains about what it would refuse.
class fake_ledger final : public ledger {
 public:
  saved_state load() override {
    saved_state s;
    for (const auto& [name, row] : jobs) s.jobs.push_back(row);
    for (const auto& [key, row] : pauses) s.pauses.push_back(row);
    for (const auto& [id, row] : rows) {
      if (row.phase != phase::over) s.unfinished.push_back(row);
      s.next_id = id + 1;
    }
    std::sort(s.unfinished.begin(), s.unfinished.end(), [](const run& a, const run& b) {
      return std::tuple(a.scheduled, a.id) < std::tuple(b.scheduled, b.id);
    });
    return s;
  }

  void commit(const changes& c) override {
    if (broken) throw ledger_error("the disk is full");
    for (const run& r : c.runs) put(r);
    for (const job_row& r : c.jobs) jobs[r.name] = r;
    for (const std::string& name : c.forgotten) jobs.erase(name);
    for (const pause_row& p : c.pauses) pauses[{p.owner, p.job}] = p;
    for (const pause_row& p : c.resumed) pauses.erase({p.owner, p.job});
    ++commits;
    last = c;
    if (on_commit) on_commit();
  }

  bool has(std::string_view job, instant scheduled) override {
    const auto at = keys_.lower_bound({std::string(job), scheduled, 0});
    return at != keys_.end() && std::get<0>(*at) == job && std::get<1>(*at) == scheduled;
  }

  // The rows of a job, by id.
  std::vector<run> of(std::string_view job) const {
    std::vector<run> all;
    for (const auto& [id, r] : rows)
      if (r.job == job) all.push_back(r);
    return all;
  }

  std::map<run_id, run> rows;
  std::map<std::string, job_row> jobs;
  std::map<std::pair<std::string, std::string>, pause_row> pauses;  // by owner and job
  changes last;
  int commits = 0;
  bool broken = false;
  std::function<void()> on_commit;

 private:
  void put(const run& r) {
    const auto known = rows.find(r.id);
    if (known == rows.end()) {
      EXPECT_TRUE(keys_.emplace(r.job, r.scheduled, r.attempt).second)
          << "T1: a second row for " << r.job << " at " << r.scheduled.time_since_epoch().count();
    } else {
      EXPECT_EQ(known->second.job, r.job);
      EXPECT_EQ(known->second.scheduled, r.scheduled);
      EXPECT_EQ(known->second.attempt, r.attempt);
      EXPECT_LE(known->second.phase, r.phase) << "run " << r.id << " goes back";
      EXPECT_NE(known->second.phase, phase::over) << "run " << r.id << " was over";
    }
    EXPECT_EQ(r.phase == phase::over, r.outcome != outcome::none) << "run " << r.id;
    rows[r.id] = r;
  }

  std::set<std::tuple<std::string, instant, std::uint32_t>> keys_;
};

// The files of runs and the runners on their way to them.
struct run_files {
  enum class file : std::uint8_t { absent, locked, ended, dead };
  struct entry {
    file f = file::absent;
    int runners = 0;  // that have not reached the file
    int starts = 0;   // of the program
    run_result result = {};
    bool stopped = false;
  };
  std::map<run_id, entry> all;
  bool claim_at_once = true;

  // A runner reaches the file: it creates it, or leaves.
  void claim(run_id id) {
    entry& e = all.at(id);
    --e.runners;
    if (e.f != file::absent) return;
    e.f = file::locked;
    ++e.starts;
  }
};

class fake_launcher final : public launcher {
 public:
  explicit fake_launcher(run_files& f) : files_(f) {}

  void listen(events e) override { events_ = std::move(e); }

  void start(const run& r, const definition& d) override {
    if (on_start) on_start(r);  // as things stand before
    started.push_back(r.id);
    definitions[r.id] = d;
    ++files_.all[r.id].runners;
    if (files_.claim_at_once) files_.claim(r.id);
    if (after_start) after_start();
  }
  void stop(run_id id) override {
    stopped.push_back(id);
    files_.all[id].stopped = true;
  }
  survey look(const run& r) override {
    looked.push_back(r.id);
    const auto at = files_.all.find(r.id);
    if (at == files_.all.end()) return {};
    switch (at->second.f) {
      case run_files::file::absent:
        return {finding::absent, {}};
      case run_files::file::locked:
        return {finding::running, {.pid = 7, .started = at->second.result.started, .note = {}}};
      case run_files::file::ended:
        return {finding::over, at->second.result};
      case run_files::file::dead:
        return {finding::dead, {}};
    }
    return {};
  }
  void forget(run_id id) override { forgotten.push_back(id); }

  // The program ends, and the daemon hears of it.
  void ends(run_id id, run_result result) {
    run_files::entry& e = files_.all.at(id);
    e.f = run_files::file::ended;
    e.result = std::move(result);
    if (events_.on_over) events_.on_over(id, e.result);
  }
  void says_started(run_id id, pid_t pid, instant at) { events_.on_started(id, pid, at); }

  std::vector<run_id> started;
  std::vector<run_id> stopped;
  std::vector<run_id> looked;
  std::vector<run_id> forgotten;
  std::map<run_id, definition> definitions;
  std::function<void(const run&)> on_start;
  std::function<void()> after_start;

 private:
  run_files& files_;
  events events_;
};

// 2026-11-17T12:00:00Z, a Tuesday.
inline constexpr instant noon{std::chrono::seconds{1'794'916'800}};

inline definition job_of(std::string name, std::string_view when, rules r = {}) {
  definition d;
  d.name = std::move(name);
  d.owner = "me";
  d.text = when;
  if (!when.empty()) d.when = schedule::parse(when);
  d.rules = std::make_shared<const rules>(std::move(r));
  d.surroundings = std::make_shared<const surroundings>();
  d.command = {.shell = true, .argv = {"true"}, .input = {}};
  return d;
}

// An engine in its world.
class world {
 public:
  explicit world(engine_options o = {}) : options(std::move(o)) {
    if (options.boot.empty()) options.boot = "boot 1";
    start();
  }

  // A new daemon on the same ledger and files.
  void start() {
    launch = std::make_unique<fake_launcher>(files);
    e = std::make_unique<engine>(options, book, *launch);
    e->on_event([this](const engine_event& n) { events.push_back(n); });
  }
  void crash() {
    e.reset();
    launch.reset();
  }
  void restart(std::vector<definition> jobs) {
    crash();
    start();
    e->restore(now);
    e->set_jobs(std::move(jobs), now);
  }

  // Time passes as the daemon sees it: from wake to wake.
  void go_to(instant t) {
    for (int n = 0; n < 1'000'000; ++n) {
      const std::optional<instant> wake = e->wake_at();
      if (!wake || *wake > t) break;
      now = std::max(now, *wake);
      e->advance(now);
    }
    now = std::max(now, t);
    e->advance(now);
  }
  void go(milliseconds d) { go_to(now + d); }
  // The machine sleeps, or the clock is set.
  void jump(milliseconds d) {
    now += d;
    e->advance(now);
  }

  void ends(run_id id, outcome o = outcome::success, int code = 0) {
    launch->ends(
        id,
        {.outcome = o, .exit_code = code, .pid = 7, .started = now, .finished = now, .note = {}});
    e->advance(now);
  }
  // Of the only run of the job that is under way.
  void ends(std::string_view job, outcome o = outcome::success, int code = 0) {
    ends(running(job).at(0), o, code);
  }

  std::vector<run_id> running(std::string_view job) const {
    std::vector<run_id> all;
    for (const run& r : e->running())
      if (r.job == job) all.push_back(r.id);
    return all;
  }
  std::vector<std::string> waiting() const {
    std::vector<std::string> all;
    for (const run& r : e->waiting()) all.push_back(r.job);
    return all;
  }
  std::vector<std::string> launched() const {
    std::vector<std::string> all;
    for (const run_id id : launch->started) all.push_back(book.rows.at(id).job);
    return all;
  }
  int told(engine_event::kind k) const {
    return static_cast<int>(std::count_if(events.begin(), events.end(),
                                          [k](const engine_event& n) { return n.what == k; }));
  }

  engine_options options;
  instant now = noon;
  fake_ledger book;
  run_files files;
  std::vector<engine_event> events;
  std::unique_ptr<fake_launcher> launch;
  std::unique_ptr<engine> e;
};

}  // namespace rota::job::test

#endif
