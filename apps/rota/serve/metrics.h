// What Prometheus reads at /metrics, and what /status says of the ledger.
#ifndef ROTA_APPS_SERVE_METRICS_H
#define ROTA_APPS_SERVE_METRICS_H

#include <rota/job/engine.h>
#include <rota/job/sqlite_ledger.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "alerts.h"
#include "job_tables.h"

namespace rota::app {

class metrics {
 public:
  void count(const job::engine_event& e);
  void count_request(int status) { ++requests_[status]; }
  void count_alert(alert_end e) { ++alerts_[static_cast<std::size_t>(e)]; }
  void count_reload() { ++reloads_; }

  // Why it cannot be written; empty: it can.
  const std::string& ledger_error() const { return ledger_error_; }

  std::string text(const job::engine& e, const job::sqlite_ledger& l, const job_tables& t,
                   instant now) const;

 private:
  static constexpr std::array<double, 14> limits{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                 1,     2.5,  5,     10,   30,  60,   300};

  void count_delay(double seconds);

  // From the scheduled instant to the program's start, of runs by schedule.
  std::array<std::uint64_t, limits.size() + 1> delays_{};
  double delay_sum_ = 0;
  double delay_most_ = 0;
  std::uint64_t clock_changes_ = 0;
  std::array<std::uint64_t, 3> alerts_{};  // by alert_end
  std::uint64_t reloads_ = 0;
  std::map<int, std::uint64_t> requests_;
  std::string ledger_error_;
};

}  // namespace rota::app

#endif
