#include "job/ledger_rows.h"

#include <algorithm>
#include <utility>

namespace rota::job::store {

namespace {

// In the order that run_at() and put_runs() use.
constexpr std::string_view run_columns =
    "r.id, r.job, r.scheduled, r.attempt, r.why, r.phase, r.outcome, r.reason, r.count, r.first, "
    "r.recorded, r.not_before, r.launched, r.started, r.finished, r.exit_code, r.signal, r.pid, "
    "r.boot, r.note, r.requested_by, r.owner ";

// Not INSERT OR REPLACE, which would also drop another row with the same key (rule T1).
constexpr std::string_view put_run =
    "INSERT INTO run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
    "?16, ?17, ?18, ?19, ?20, ?21, ?22) ON CONFLICT (id) DO UPDATE SET job = ?2, scheduled = ?3, "
    "attempt = ?4, why = ?5, phase = ?6, outcome = ?7, reason = ?8, count = ?9, first = ?10, "
    "recorded = ?11, not_before = ?12, launched = ?13, started = ?14, finished = ?15, "
    "exit_code = ?16, signal = ?17, pid = ?18, boot = ?19, note = ?20, requested_by = ?21, "
    "owner = ?22";

constexpr std::string_view put_job =
    "INSERT INTO job VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (name) DO UPDATE "
    "SET cursor = ?2, anchor = ?3, paused = ?4, last_success = ?5, known_since = ?6, failing = ?7, "
    "absent = ?8, boot = ?9, schedule = ?10";

template <class Enum>
std::int64_t code(Enum e) noexcept {
  return static_cast<std::int64_t>(e);
}

// A number that this version has a word for.
template <class Enum>
Enum known(std::int64_t n, Enum last, const char* column, const query& q, const std::string& path) {
  if (n < 0 || n > code(last)) {
    throw ledger_damaged(path + ": run " + std::to_string(q.number(0)) + " has the " + column +
                         " " + std::to_string(n) + ", which there is not");
  }
  return static_cast<Enum>(n);
}

struct named_row {
  std::uint64_t first;  // bytes of the name, behind what all names begin with
  const job_row* job;
};

// In the order of the table: a hundred thousand of them, as when a large crontab is read for the
// first time, take half as long. Of two with one name the last one stays. Names lie apart and begin
// alike, so the bytes that tell them apart are taken out once.
std::vector<named_row> in_order(std::span<const job_row> jobs) {
  std::size_t alike = jobs.empty() ? 0 : jobs[0].name.size();
  for (const job_row& j : jobs) {
    const auto end = j.name.begin() + static_cast<std::ptrdiff_t>(std::min(alike, j.name.size()));
    alike = static_cast<std::size_t>(
        std::mismatch(j.name.begin(), end, jobs[0].name.begin()).first - j.name.begin());
  }
  std::vector<named_row> sorted;
  sorted.reserve(jobs.size());
  for (const job_row& j : jobs) {
    std::uint64_t first = 0;
    for (std::size_t n = 0; n < sizeof(first); ++n) {
      const std::size_t at = alike + n;
      first = first << 8 | (at < j.name.size() ? static_cast<unsigned char>(j.name[at]) : 0U);
    }
    sorted.push_back({first, &j});
  }
  std::sort(sorted.begin(), sorted.end(), [](const named_row& a, const named_row& b) {
    if (a.first != b.first) {
      return a.first < b.first;
    }
    const int order = a.job->name.compare(b.job->name);
    return order != 0 ? order < 0 : a.job < b.job;
  });
  return sorted;
}

}  // namespace

std::string select_runs(std::string_view rest) {
  return "SELECT " + std::string(run_columns) + std::string(rest);
}

run run_at(const query& q, const std::string& path) {
  run r;
  r.id = q.number(0);
  r.job = q.text(1);
  r.scheduled = instant_of(q.number(2));
  r.attempt = static_cast<std::uint32_t>(q.number(3));
  r.why = known(q.number(4), trigger::reboot, "trigger", q, path);
  r.phase = known(q.number(5), phase::over, "phase", q, path);
  r.outcome = known(q.number(6), outcome::unknown, "outcome", q, path);
  r.reason = known(q.number(7), reason::removed, "reason", q, path);
  r.count = static_cast<std::uint32_t>(q.number(8));
  r.first = instant_of(q.number(9));
  r.recorded = instant_of(q.number(10));
  r.not_before = instant_of(q.number(11));
  r.launched = instant_of(q.number(12));
  r.started = instant_of(q.number(13));
  r.finished = instant_of(q.number(14));
  r.exit_code = static_cast<int>(q.number(15));
  r.signal = static_cast<int>(q.number(16));
  r.pid = static_cast<pid_t>(q.number(17));
  r.boot = q.text(18);
  r.note = q.text(19);
  r.requested_by = q.text(20);
  r.owner = q.text(21);
  return r;
}

void put_runs(connection& db, std::span<const run> runs) {
  auto q = db.use(put_run);
  for (const run& r : runs) {
    q.bind(r.id, std::string_view{r.job}, number_of(r.scheduled), std::int64_t{r.attempt},
           code(r.why), code(r.phase), code(r.outcome), code(r.reason), std::int64_t{r.count},
           number_of(r.first), number_of(r.recorded), number_of(r.not_before),
           number_of(r.launched), number_of(r.started), number_of(r.finished),
           std::int64_t{r.exit_code}, std::int64_t{r.signal}, std::int64_t{r.pid},
           std::string_view{r.boot}, std::string_view{r.note}, std::string_view{r.requested_by},
           std::string_view{r.owner});
    try {
      q.run();
    } catch (const ledger_damaged&) {
      throw;
    } catch (const ledger_error& e) {
      throw ledger_error(std::string(e.what()) + " (run " + std::to_string(r.id) + ": job '" +
                         r.job + "', scheduled " + std::to_string(number_of(r.scheduled)) +
                         " ms, attempt " + std::to_string(r.attempt) + ")");
    }
  }
}

void put_jobs(connection& db, std::span<const job_row> jobs) {
  auto q = db.use(put_job);
  for (const named_row& row : in_order(jobs)) {
    const job_row& j = *row.job;
    q.bind(std::string_view{j.name}, number_of(j.cursor), number_of(j.anchor),
           std::int64_t{j.paused}, number_of(j.last_success), number_of(j.known_since),
           std::int64_t{j.failing}, std::int64_t{j.absent}, std::string_view{j.boot},
           std::int64_t{j.schedule});
    q.run();
  }
}

void forget_jobs(connection& db, std::span<const std::string> names) {
  auto q = db.use("DELETE FROM job WHERE name = ?1");
  for (const std::string& name : names) {
    q.bind(std::string_view{name});
    q.run();
  }
}

std::vector<job_row> all_jobs(connection& db) {
  std::vector<job_row> all;
  all.reserve(static_cast<std::size_t>(db.ask("SELECT count(*) FROM job")));
  auto q = db.use(
      "SELECT name, cursor, anchor, paused, last_success, known_since, failing, absent, boot, "
      "schedule FROM job");
  while (q.step()) {
    job_row& j = all.emplace_back();
    j.name = q.text(0);
    j.cursor = instant_of(q.number(1));
    j.anchor = instant_of(q.number(2));
    j.paused = q.number(3) != 0;
    j.last_success = instant_of(q.number(4));
    j.known_since = instant_of(q.number(5));
    j.failing = q.number(6) != 0;
    j.absent = q.number(7) != 0;
    j.boot = q.text(8);
    j.schedule = static_cast<std::uint32_t>(q.number(9));
  }
  return all;
}

void put_pauses(connection& db, std::span<const pause_row> pauses) {
  auto q = db.use("INSERT OR REPLACE INTO pause VALUES (?1, ?2, ?3)");
  for (const pause_row& p : pauses) {
    q.bind(std::string_view{p.owner}, std::string_view{p.job}, number_of(p.away));
    q.run();
  }
}

void end_pauses(connection& db, std::span<const pause_row> pauses) {
  auto q = db.use("DELETE FROM pause WHERE owner = ?1 AND job = ?2");
  for (const pause_row& p : pauses) {
    q.bind(std::string_view{p.owner}, std::string_view{p.job});
    q.run();
  }
}

std::vector<pause_row> all_pauses(connection& db) {
  std::vector<pause_row> all;
  auto q = db.use("SELECT owner, job, away FROM pause");
  while (q.step()) {
    all.push_back({std::string(q.text(0)), std::string(q.text(1)), instant_of(q.number(2))});
  }
  return all;
}

std::vector<run> unfinished_runs(connection& db) {
  std::vector<run> all;
  auto q = db.use(select_runs(
      "FROM run r INDEXED BY run_unfinished WHERE r.phase < 2 ORDER BY r.scheduled, r.id"));
  while (q.step()) {
    all.push_back(run_at(q, db.path()));
  }
  return all;
}

}  // namespace rota::job::store
