// How runs and jobs become rows of the store, and rows become runs and jobs.
#ifndef ROTA_SRC_JOB_LEDGER_ROWS_H
#define ROTA_SRC_JOB_LEDGER_ROWS_H

#include <rota/job/ledger.h>

#include <span>
#include <string>
#include <vector>

#include "job/ledger_db.h"

namespace rota::job::store {

constexpr std::int64_t number_of(instant t) noexcept { return t.time_since_epoch().count(); }
constexpr instant instant_of(std::int64_t n) noexcept {
  return instant{std::chrono::milliseconds{n}};
}

// "SELECT <all columns of run r> " + rest, where rest begins with FROM.
std::string select_runs(std::string_view rest);
// The run that such a statement stands at. Throws ledger_damaged for what cannot be one.
run run_at(const query& q, const std::string& path);

// New rows, or in the place of those with the same id or name.
void put_runs(connection& db, std::span<const run> runs);
void put_jobs(connection& db, std::span<const job_row> jobs);
void forget_jobs(connection& db, std::span<const std::string> names);
void put_pauses(connection& db, std::span<const pause_row> pauses);
void end_pauses(connection& db, std::span<const pause_row> pauses);

std::vector<job_row> all_jobs(connection& db);
std::vector<pause_row> all_pauses(connection& db);
std::vector<run> unfinished_runs(connection& db);  // by (scheduled, id)

}  // namespace rota::job::store

#endif
