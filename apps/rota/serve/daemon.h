// The daemon: one thread that owns the engine and waits for the clock, programs, tables, signals
// and requests.
#ifndef ROTA_APPS_SERVE_DAEMON_H
#define ROTA_APPS_SERVE_DAEMON_H

#include <rota/cron/expression.h>
#include <rota/cron/time_zone.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rota::app {

struct serve_settings {
  std::vector<std::string> crontabs;         // files, or directories with a file per user
  std::vector<std::string> system_crontabs;  // files, or directories such as /etc/cron.d
  std::vector<std::string> jobs;             // TOML files, or directories of them
  std::string state;                         // the state directory
  std::string store;                         // the ledger; empty: in the state directory
  std::uint32_t max_active = 16;
  std::uint32_t passes = 0xFFFF'FFFF;  // job::no_limit
  // Of each user but root, in root's daemon; zero: all but one of max_active.
  std::uint32_t owner_cap = 0;
  std::uint32_t owner_waiting = 10'000;
  std::uint32_t owner_bytes = 16u << 20;  // of the definitions that were added
  bool listens = true;
  std::string address = "127.0.0.1";
  std::uint16_t port = 8420;
  std::string socket;  // empty: in the state directory
  time_zone zone;
  cron_syntax syntax = cron_syntax::strict;
  dst_rule dst = dst_rule::wall;
  std::string log;  // a file; empty: standard output
  std::string sendmail;
  std::string runner;                          // the program rota-runner; empty: beside this one
  std::vector<std::uint32_t> alert_delays_ms;  // between attempts; empty: as alerts.h has them
  std::uint32_t zone_seconds = 60;             // how often zones are looked at
  std::uint32_t care_seconds = 3600;           // how often old runs go and the ledger is copied
};

// Until SIGTERM or SIGINT. Gives the exit status; throws bad_input (door.h) for what is wrong with
// the settings.
int run_daemon(const serve_settings& s);

}  // namespace rota::app

#endif
