// What `rota cron` has in common, and a run of schedules against a clock that is only thought of.
#ifndef ROTA_APPS_CRON_SIMULATE_H
#define ROTA_APPS_CRON_SIMULATE_H

#include <rota/cron/schedule.h>
#include <rota/job/table.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace rota::app {

// How expressions are read, as the command line has it.
struct cron_options {
  std::string zone = "UTC";
  std::string dst = "wall";
  std::string compat = {};
  std::string name = {};
  bool may_never_fire = false;
  std::uint32_t max_active = 0;  // 0: no cap
  std::string takes = {};
};

// Throws std::invalid_argument.
time_zone zone_of(const cron_options& o);

// Throws cron_error, and std::invalid_argument for an option. Says on standard error if Debian's
// cron means something else by the text, and --dst vixie asks for that.
schedule read_schedule(const std::string& text, const cron_options& o);

// The tables that a word of the command line names: a crontab, a TOML file, a directory of them.
// Nothing: there is no such file, so it is an expression.
std::optional<std::vector<job::table>> tables_at(const std::string& word, const cron_options& o);

struct simulated_span {
  instant from;  // what is due after this
  instant to;    // up to this
};

// Prints a line for each start and for each change of the clock of --tz, in order. The words are
// expressions or files of jobs.
void simulate(const std::vector<std::string>& words, const simulated_span& span,
              const cron_options& o, bool json, std::ostream& out);

}  // namespace rota::app

#endif
