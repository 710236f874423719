// What a job is: its name, when it is due, by which rules it runs, and what is run.
//
// Rules and surroundings are shared by the jobs that have the same, so that a hundred thousand
// entries of a crontab take little more than their text.
//
//   rota::job::definition d{.name = "backup", .when = rota::schedule::parse("30 2 * * *")};
//   d.command.argv = {"rsync", "-a", "/srv/", "far:/srv/"};
//
// Threads: as any value; what is shared is const.
#ifndef ROTA_JOB_DEFINITION_H
#define ROTA_JOB_DEFINITION_H

#include <rota/cron/schedule.h>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::job {

using milliseconds = std::chrono::milliseconds;

// A firing is due while a run of the same job is under way (rule O1).
enum class overlap_rule : std::uint8_t {
  skip,     // it is recorded as skipped
  queue,    // it waits, at most queue_length of them
  allow,    // both run
  replace,  // the one under way is stopped, then this one starts
};

// Instants have passed that nobody saw: the daemon was down, the clock was set (rule M1).
enum class catchup_rule : std::uint8_t {
  none,  // all are skipped
  one,   // the last one runs
  all,   // all run, oldest first, at most catchup_most
};

// After a restart nobody can tell whether a run has ended (rule K3).
enum class unknown_rule : std::uint8_t {
  report,  // at most once: it is recorded as lost or unknown
  rerun,   // at least once: the next attempt is due, see below
};

// A program that takes its runner with it each time is not run for ever: the attempts after the
// first are at most retry.count + reruns_more, after which it is reported. The first of them is due
// at once, the others after the delay of the retry rule, and never sooner than least_rerun_delay.
inline constexpr std::uint32_t reruns_more = 3;
inline constexpr milliseconds least_rerun_delay{1'000};

enum class dependency_on : std::uint8_t { success, failure, any };

struct dependency {
  std::string job;
  dependency_on on = dependency_on::success;
  friend bool operator==(const dependency&, const dependency&) = default;
};

// Rule R1. The delay before attempt n + 1 is delay * factor^(n - 1), at most `most`, give or take a
// share of `jitter`.
struct retry_rule {
  std::uint32_t count = 0;  // attempts after the first
  milliseconds delay{10'000};
  milliseconds most{3'600'000};
  double factor = 2.0;
  double jitter = 0.1;
  std::vector<int> codes = {};  // exit codes that are tried again; empty: whatever is no success
  friend bool operator==(const retry_rule&, const retry_rule&) = default;
};

struct rules {
  overlap_rule overlap = overlap_rule::skip;
  std::uint32_t queue_length = 1;
  catchup_rule catchup = catchup_rule::one;
  std::uint32_t catchup_most = 100;
  milliseconds deadline{86'400'000};  // what is older is skipped
  milliseconds timeout{0};            // zero: none
  milliseconds grace{10'000};         // between TERM and KILL
  retry_rule retry;
  unknown_rule on_unknown = unknown_rule::report;
  std::string group;              // which cap it shares; empty: only that of all
  std::vector<dependency> after;  // due when one of these is over
  milliseconds absence{0};        // alert if there is no success for so long; zero: never
  friend bool operator==(const rules&, const rules&) = default;
};

// Who is told when a job fails, works again, or has not succeeded for `absence`.
struct alerts {
  std::string mail;      // an address
  std::string web_hook;  // http or https; gets a POST with JSON
  bool on_failure = true;
  bool on_recovery = true;
  friend bool operator==(const alerts&, const alerts&) = default;
};

// How a program is run.
struct surroundings {
  std::vector<std::pair<std::string, std::string>> environment;  // later ones win
  std::string environment_file;  // NAME=VALUE lines; secrets go here
  std::string user;              // empty: the daemon's own
  std::string group;             // empty: the user's
  std::string directory;         // empty: the user's home
  std::optional<mode_t> umask;
  int nice = 0;
  std::string shell = "/bin/sh";
  std::uint64_t output_limit = 10'000'000;  // bytes kept of a run's output
  std::uint32_t keep_runs = 1'000;          // rows and logs kept, newest first
  milliseconds keep_for{90LL * 86'400'000};
  rota::job::alerts alerts;
  friend bool operator==(const surroundings&, const surroundings&) = default;
};

struct command {
  bool shell = false;             // then argv is the one text that the shell gets
  std::vector<std::string> argv;  // a job of functions has none
  std::string input;              // what it reads from standard input
  friend bool operator==(const command&, const command&) = default;
};

// Where a definition stands, for messages: "jobs/backup.toml:3".
struct source {
  std::shared_ptr<const std::string> file;  // none: it was added by `rota job add`
  std::uint32_t line = 0;
};

struct definition {
  std::string name;   // stable: what is kept in the ledger is kept under it
  std::string owner;  // the user who may see and change it
  std::string text;   // the schedule as it was written
  schedule when;
  std::shared_ptr<const rota::job::rules> rules;                // never null
  std::shared_ptr<const rota::job::surroundings> surroundings;  // never null
  rota::job::command command;
  rota::job::source source;
};

// Whether two definitions mean the same job done in the same way; where they stand does not count.
bool same(const definition& a, const definition& b);

// "skip", "queue", ... and back; nothing if there is no such word.
std::string_view to_text(overlap_rule r) noexcept;
std::string_view to_text(catchup_rule r) noexcept;
std::string_view to_text(unknown_rule r) noexcept;
std::string_view to_text(dependency_on d) noexcept;

}  // namespace rota::job

#endif
