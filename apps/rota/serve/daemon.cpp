// Who calls whom: all that happens ends in step(), which lets the engine act and asks it when it
// wants to wake. What the engine tells is noted at once (log, feed, counts); alerts, which look at
// the engine, come a turn of the loop later.

#include "daemon.h"

#include <rota/job/engine.h>
#include <rota/job/process_launcher.h>
#include <rota/job/sqlite_ledger.h>

#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "../door.h"
#include "alerts.h"
#include "api.h"
#include "event_feed.h"
#include "event_log.h"
#include "gate.h"
#include "http.h"
#include "job_json.h"
#include "job_tables.h"
#include "loop.h"
#include "machine.h"
#include "metrics.h"
#include "place.h"
#include "wall_clock.h"

namespace rota::app {

namespace {

namespace fs = std::filesystem;

// From a job that was added to the next copy of the ledger.
constexpr std::chrono::seconds copy_delay{10};
// Logs that a start looks at: seconds, in the background. What is left waits for the next one.
constexpr std::size_t most_logs = 100'000;
// So many that megabytes are given back when all of them were looked at.
constexpr std::size_t many_jobs = 10'000;
// Between two looks at what the launcher has to say: a little for each start that is under way.
constexpr std::chrono::microseconds pause_for_start{100};
constexpr std::chrono::microseconds shortest_pause{1'000};
constexpr std::chrono::microseconds longest_pause{20'000};
constexpr std::chrono::milliseconds between_preparations{4};

// The runner stands beside the program, or where it was installed.
std::string runner_of(const serve_settings& s) {
  if (!s.runner.empty()) return s.runner;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate : {here / "rota-runner", here / "../libexec/rota/rota-runner",
                                    here / "../lib/rota/rota-runner"})
    if (fs::exists(candidate, error)) return candidate.lexically_normal().string();
  throw bad_input("the program rota-runner is not beside rota; --runner says where it is");
}

std::vector<job_tables::source> sources_of(const serve_settings& s) {
  std::vector<job_tables::source> all;
  const auto add = [&](const std::vector<std::string>& paths, job::table_form form) {
    for (const std::string& given : paths) {
      std::string path = fs::absolute(given).lexically_normal().string();
      while (path.size() > 1 && path.back() == '/') path.pop_back();
      all.push_back({path, form});
    }
  };
  add(s.crontabs, job::table_form::user_crontab);
  add(s.system_crontabs, job::table_form::system_crontab);
  add(s.jobs, job::table_form::toml);
  return all;
}

std::vector<int> signals_of_daemon() {
  std::vector<int> which{SIGTERM, SIGINT, SIGHUP, SIGPIPE};
  if (::getpid() == 1) which.push_back(SIGCHLD);
  return which;
}

class daemon {
 public:
  explicit daemon(const serve_settings& s);
  int run();

 private:
  void step();
  void step_soon();
  void hear_launcher();
  void prepare();
  void note(const job::engine_event& e);
  void tell_people(const job::engine_event& e);
  void on_signal(int number);
  void remove_lost_logs();
  void take_care();
  void look_at_zones();
  void copy_ledger();
  void greet();
  void end();

  serve_settings settings_;
  place place_;
  event_log log_;
  loop loop_;
  signals signals_;  // before anything that is started or opened: what comes meanwhile is kept
  metrics counts_;
  event_feed feed_;
  job::process_launcher launcher_;
  std::optional<job::sqlite_ledger> ledger_;
  std::optional<job::engine> engine_;
  std::optional<job_tables> tables_;
  std::optional<alert_sender> alerts_;
  std::optional<gate> gate_;
  std::optional<api> api_;
  std::optional<http_server> server_;
  std::optional<orphan_reaper> reaper_;
  clock_watch clock_;
  timer retry_;
  timer care_;
  timer zones_;
  timer copy_;  // its own: who adds jobs all the time does not put off the care
  timer hear_;  // while the launcher is not watched
  timer prepare_;
  std::string page_;
  bool draining_ = false;
  bool step_is_due_ = false;
  bool caring_ = false;
  bool copy_is_due_ = false;
  bool logs_are_seen_ = false;
};

daemon::daemon(const serve_settings& s)
    : settings_(s),
      place_(s.state),
      log_(s.log, s.zone),
      signals_(loop_, signals_of_daemon(), [this](int number) { on_signal(number); }),
      launcher_({.runner = runner_of(s), .runs = place_.file("runs"), .logs = place_.file("logs")}),
      clock_(loop_, [this] { step(); }),
      retry_(loop_, [this] { step(); }),
      care_(loop_, [this] { take_care(); }),
      zones_(loop_, [this] { look_at_zones(); }),
      copy_(loop_, [this] { copy_ledger(); }),
      hear_(loop_, [this] { hear_launcher(); }),
      prepare_(loop_, [this] { prepare(); }) {
  loop_.on_error(
      [this](const std::exception& error) { log_.write(std::string("error: ") + error.what()); });
  const instant now = wall_now();
  const std::vector<job::run_id> claims = launcher_.claims();
  const std::set<job::run_id> with_files(claims.begin(), claims.end());
  ledger_.emplace(s.store.empty() ? place_.file("ledger.db") : s.store,
                  job::ledger_options{.now = now, .has_files = [with_files](job::run_id id) {
                                        return with_files.contains(id);
                                      }});
  if (!with_files.empty()) ledger_->raise_next_id(*with_files.rbegin() + 1);

  alert_options how{.sendmail = s.sendmail};
  if (!s.alert_delays_ms.empty())
    for (how.again.clear(); const std::uint32_t ms : s.alert_delays_ms) how.again.emplace_back(ms);
  alerts_.emplace(loop_, how, [this](alert_end how_it_ended, const std::string& text) {
    counts_.count_alert(how_it_ended);
    if (!text.empty()) log_.write("error: " + text);
  });

  const std::string boot = boot_id();
  // Only root's daemon has users.
  const bool shared = ::geteuid() == 0;
  const std::uint32_t all_but_one = std::max(s.max_active, 2u) - 1;
  const std::uint32_t owner_cap =
      shared ? (s.owner_cap > 0 ? s.owner_cap : all_but_one) : job::no_limit;
  engine_.emplace(job::engine_options{.max_active = s.max_active,
                                      .passes = s.passes,
                                      .owner_cap = owner_cap,
                                      .owner_waiting = shared ? s.owner_waiting : job::no_limit,
                                      .groups = {},
                                      .boot = boot,
                                      .seed = std::random_device{}(),
                                      // They are not news, and may be many: greet() counts them.
                                      .tell_first_table = false},
                  *ledger_, launcher_);
  engine_->on_event([this](const job::engine_event& e) { note(e); });
  tables_.emplace(loop_,
                  job_tables::options{.sources = sources_of(s),
                                      .last_good = place_.file("last_good"),
                                      .zone = s.zone,
                                      .dst = s.dst,
                                      .syntax = s.syntax},
                  *engine_, *ledger_,
                  job_tables::events{.log = [this](const std::string& t) { log_.write(t); },
                                     .reloaded =
                                         [this] {
                                           counts_.count_reload();
                                           feed_.publish("", [at = wall_now()] {
                                             return line_of({{"kind", "reloaded"},
                                                             {"job", nullptr},
                                                             {"run", nullptr},
                                                             {"text", nullptr},
                                                             {"at", rota::to_text(at)}});
                                           });
                                           step_soon();
                                           prepare_.after(between_preparations);
                                         },
                                     .now = [] { return wall_now(); }});

  gate_.emplace(token_of(place_.file("token")), ::geteuid());
  server_.emplace(loop_, http_limits{}, [this](const request& r) {
    response answered = api_->handle(r);
    counts_.count_request(answered.status);
    return answered;
  });
  if (s.listens)
    page_ =
        "http://" + s.address + ":" + std::to_string(server_->listen_tcp(s.address, s.port)) + "/";
  // Others than the owner reach the socket only where they reach its directory.
  server_->listen_unix(s.socket.empty() ? place_.file("rota.sock") : s.socket, 0666);
  api_.emplace(api_parts{.engine = *engine_,
                         .ledger = *ledger_,
                         .launcher = launcher_,
                         .tables = *tables_,
                         .feed = feed_,
                         .counts = counts_,
                         .door = *gate_,
                         .zone = s.zone,
                         .max_active = s.max_active,
                         .owner_cap = owner_cap,
                         .owner_bytes = shared ? s.owner_bytes : job::no_limit,
                         .boot = boot,
                         .state = place_.directory(),
                         .page = page_,
                         .started = now,
                         .changed = [this] { step_soon(); },
                         .added =
                             [this] {
                               if (!std::exchange(copy_is_due_, true)) copy_.after(copy_delay);
                             },
                         .reload =
                             [this] {
                               look_at_zones();
                               tables_->reload(wall_now());
                             },
                         .log = [this](const std::string& t) { log_.write(t); },
                         .draining = [this] { return draining_; }});
  if (::getpid() == 1) reaper_.emplace(loop_);
}

int daemon::run() {
  for (const std::string& text : ledger_->notes()) log_.write("ledger: " + text);
  const instant now = wall_now();
  engine_->restore(now);
  // Files of runs whose end was written when the daemon was killed.
  for (const job::run_id id : launcher_.claims())
    if (!engine_->find_run(id)) launcher_.forget(id);
  tables_->start(now);
  hear_launcher();
  care_.after(std::chrono::seconds(std::min<std::uint32_t>(60, settings_.care_seconds)));
  zones_.after(std::chrono::seconds(settings_.zone_seconds));
  greet();
  step();
  notify_service_manager("READY=1\nSTATUS=" + std::to_string(engine_->job_count()) + " jobs");
  loop_.run();
  loop_.unwatch(launcher_.fd());
  return 0;
}

void daemon::greet() {
  const std::size_t jobs = engine_->job_count();
  log_.write("rota serve: " + std::to_string(jobs) + (jobs == 1 ? " job" : " jobs") + ", at most " +
             std::to_string(settings_.max_active) + " runs at a time; state in " +
             place_.directory());
  // The token is a secret, and logs are read by many.
  if (!page_.empty())
    log_.write("page: " + page_ + ", with the token in " + place_.file("token") +
               "; `rota job page` prints both");
  if (clock_is_faked()) log_.write("warning: the clock is faked; it is looked at all the time");
}

// --- the heart ----------------------------------------------------------------------------------

void daemon::step() {
  try {
    engine_->advance(wall_now());
    const auto next = engine_->wake_at();
    clock_.set(draining_ ? std::nullopt : next);
    // Where the clock is faked, its timer would come only with its next look.
    if (next && !draining_ && *next <= wall_now()) step_soon();
  } catch (const std::exception& error) {
    log_.write(std::string("error: ") + error.what());
    clock_.set(std::nullopt);
    retry_.after(std::chrono::seconds(1));
  }
}

// What comes back of starts is many small things, and each look at them takes the processor from
// the starts themselves: of a thousand the last came half as late again. So while many are under
// way we look less often; a single one is not kept waiting.
void daemon::hear_launcher() {
  loop_.watch(launcher_.fd(), [this] {
    launcher_.handle();
    step();
    const auto pause =
        std::min(longest_pause, pause_for_start * static_cast<int>(launcher_.starting()));
    if (pause < shortest_pause) return;
    loop_.unwatch(launcher_.fd());
    hear_.after(std::chrono::duration_cast<std::chrono::milliseconds>(pause));
  });
}

// What the next start needs is made while there is nothing to start.
void daemon::prepare() {
  const std::size_t most = std::min<std::size_t>(settings_.max_active, engine_->job_count());
  if (draining_) return;
  if (launcher_.starting() > 0)
    prepare_.after(std::chrono::seconds(1));
  else if (launcher_.prepare(most))
    prepare_.after(between_preparations);
}

void daemon::step_soon() {
  if (step_is_due_) return;
  step_is_due_ = true;
  loop_.post([this] {
    step_is_due_ = false;
    step();
  });
}

void daemon::note(const job::engine_event& e) {
  log_.write(e);
  counts_.count(e);
  // Only what is about no job is everybody's business.
  const std::string whose = e.owner.empty() ? "root" : e.owner;
  feed_.publish(e.job.empty() ? "" : whose,
                [e, at = wall_now()] { return line_of(json_of(e, at)); });
  using kind = job::engine_event::kind;
  if (e.what == kind::job_failed || e.what == kind::job_recovered || e.what == kind::job_absent)
    loop_.post([this, e] { tell_people(e); });
}

void daemon::tell_people(const job::engine_event& e) {
  using kind = job::engine_event::kind;
  const auto v = engine_->find(e.job);
  if (!v) return;
  const job::alerts& to = v->def->surroundings->alerts;
  if (e.what == kind::job_failed && !to.on_failure) return;
  if (e.what == kind::job_recovered && !to.on_recovery) return;
  if (to.mail.empty() && to.web_hook.empty()) return;
  alert a;
  a.kind = e.what == kind::job_failed      ? "failed"
           : e.what == kind::job_recovered ? "recovered"
                                           : "absent";
  a.job = e.job;
  a.to = to;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  a.subject = "rota on " + std::string(host) + ": " + e.job +
              (a.kind == "absent" ? " has not succeeded for too long" : " has " + a.kind);
  a.text = a.subject + "\n\n" + (e.text.empty() ? "" : e.text + "\n");
  if (e.run)
    a.text += "run " + std::to_string(e.run->id) + ", scheduled " +
              rota::to_text(e.run->scheduled, settings_.zone) + ", attempt " +
              std::to_string(e.run->attempt) + ": " + std::string(job::to_text(e.run->outcome)) +
              (e.run->note.empty() ? "" : " (" + e.run->note + ")") + "\nrota job logs " +
              std::to_string(e.run->id) + " shows what it said.\n";
  ordered_json json = json_of(e, wall_now());
  json["kind"] = a.kind;
  json["host"] = host;
  a.json = line_of(json);
  alerts_->send(a);
}

// --- signals ------------------------------------------------------------------------------------

void daemon::on_signal(int number) {
  if (number == SIGCHLD && reaper_) reaper_->look_soon();
  if (number == SIGHUP && !draining_) {
    notify_service_manager("RELOADING=1");
    log_.reopen();
    log_.write("SIGHUP: reading the tables again");
    look_at_zones();
    tables_->reload(wall_now());
    notify_service_manager("READY=1");
  }
  if (number == SIGTERM || number == SIGINT) end();
}

// Launches nothing more, leaves alone what runs, and has written all it knows.
void daemon::end() {
  if (draining_) return;
  draining_ = true;
  notify_service_manager("STOPPING=1");
  engine_->drain();
  launcher_.handle();
  step();
  const std::size_t left = engine_->running().size();
  log_.write("ends; " + (left == 0 ? std::string("nothing runs")
                                   : std::to_string(left) +
                                         " programs go on, and are adopted at the next start"));
  server_->close();
  loop_.stop();
}

// T4: new data of time zones counts at once. A time of day in a table (@at) is read by it as well.
void daemon::look_at_zones() {
  zones_.after(std::chrono::seconds(settings_.zone_seconds));
  std::string names;
  step();  // what has passed was by the old ones
  for (const std::string& name : time_zone::read_again())
    names += (names.empty() ? "" : ", ") + name;
  if (names.empty() || draining_) return;
  log_.write("new time zone data: " + names + "; next runs are computed anew");
  const instant now = wall_now();
  engine_->zones_changed(now);
  tables_->reload(now);
}

// --- now and then -------------------------------------------------------------------------------

// A daemon that was killed had no time to remove the logs of rows that it had pruned. A row is
// there before its program, so a log without one belongs to nobody.
void daemon::remove_lost_logs() {
  auto gone = std::make_shared<std::vector<job::run_id>>();
  const auto work = [this, gone] {
    std::size_t looked_at = 0;
    std::error_code error;
    for (const auto& log : fs::directory_iterator(place_.file("logs"), error)) {
      if (++looked_at > most_logs) break;
      const std::string name = log.path().filename().string();
      job::run_id id = 0;
      const auto [rest, wrong] = std::from_chars(name.data(), name.data() + name.size(), id);
      if (wrong == std::errc{} && std::string_view(rest) == ".log" && !ledger_->find_run(id))
        gone->push_back(id);
    }
  };
  alerts_->in_background(work, [this, gone](const std::string& wrong) {
    for (const job::run_id id : *gone) launcher_.remove_log(id);
    if (!gone->empty()) log_.write("removed " + std::to_string(gone->size()) + " logs of no run");
    if (!wrong.empty()) log_.write("error: while looking for old logs: " + wrong);
  });
}

void daemon::copy_ledger() {
  copy_is_due_ = false;
  alerts_->in_background([this] { ledger_->backup(); },
                         [this](const std::string& wrong) {
                           if (!wrong.empty())
                             log_.write("error: the ledger is not copied: " + wrong);
                         });
}

void daemon::take_care() {
  care_.after(std::chrono::seconds(settings_.care_seconds));
  if (caring_) return;
  caring_ = true;
  if (!std::exchange(logs_are_seen_, true)) remove_lost_logs();
  struct of_job {
    std::string name;
    job::keep_limits keep;
  };
  auto jobs = std::make_shared<std::vector<of_job>>();
  engine_->each_job([&](const job::job_view& v) {
    jobs->push_back({v.def->name, {v.def->surroundings->keep_runs, v.def->surroundings->keep_for}});
  });
  auto gone = std::make_shared<std::vector<job::run_id>>();
  const instant now = wall_now();
  const auto work = [this, jobs, gone, now] {
    const auto all_of = [&](auto prune) {
      for (bool more = true; more;) {
        const job::pruned p = prune();
        gone->insert(gone->end(), p.ids.begin(), p.ids.end());
        more = p.more;
      }
    };
    for (const of_job& j : *jobs) all_of([&] { return ledger_->prune(j.name, j.keep, now); });
    std::vector<of_job>().swap(*jobs);
    all_of([&] { return ledger_->prune_removed({}, now); });
    ledger_->backup();
  };
  alerts_->in_background(work, [this, gone](const std::string& wrong) {
    caring_ = false;
    if (engine_->job_count() >= many_jobs) ::malloc_trim(0);
    for (const job::run_id id : *gone) launcher_.remove_log(id);
    if (!gone->empty()) log_.write("removed " + std::to_string(gone->size()) + " old runs");
    if (!wrong.empty()) log_.write("error: while tidying up: " + wrong);
  });
}

}  // namespace

int run_daemon(const serve_settings& s) {
  std::optional<daemon> d;
  try {
    d.emplace(s);
  } catch (const bad_input&) {
    throw;
  } catch (const std::exception& error) {
    // A port that is taken, a ledger of another daemon: nothing that trying again would change.
    throw bad_input(error.what());
  }
  return d->run();
}

}  // namespace rota::app
