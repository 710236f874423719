// Looking at the ledger. Each query walks an index from where it begins to where it may stop:
// run_job (job, id), run_outcome (outcome, id), run_when (scheduled, outcome, count), run_key (job,
// scheduled, attempt).
#include <algorithm>
#include <functional>
#include <limits>

#include "job/ledger_rows.h"
#include "job/ledger_state.h"

namespace rota::job {

namespace {

// A job may be named twice and still counts once.
std::vector<std::string> distinct(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The end of a statement over run r: what the filter says, with ?1 the id to begin before, ?2 the
// outcome, ?3 the limit, ?4 the owner, ?5 the job.
std::string history_sql(const history_filter& f, bool of_job) {
  std::string sql = "FROM run r ";
  const bool unfinished = f.phase && *f.phase != phase::over;
  if (unfinished && !of_job) {  // there are few; SQLite would rather go through all by id
    sql += "INDEXED BY run_unfinished ";
  }
  sql += of_job ? "WHERE r.job = ?5 AND r.id < ?1" : "WHERE r.id < ?1";
  if (f.phase) {
    sql += unfinished ? " AND r.phase < 2" : "";
    sql += " AND r.phase = " + std::to_string(static_cast<int>(*f.phase));
  }
  sql += f.outcome ? " AND r.outcome = ?2" : " AND ?2 = 0";
  sql += f.owner ? " AND r.owner = ?4" : " AND ?4 = ''";
  return sql + " ORDER BY r.id DESC LIMIT ?3";
}

// What ?4 is; without an owner, nothing that counts.
std::string_view owner_text(const std::optional<std::string>& owner) {
  return owner ? std::string_view{*owner} : std::string_view{""};
}

std::int64_t outcome_number(const history_filter& f) {
  return f.outcome ? static_cast<std::int64_t>(*f.outcome) : 0;
}

// The newest ids of all the jobs together: the best `most` so far are in a heap with the oldest on
// top, and a job is left as soon as it has nothing newer.
std::vector<run_id> newest_ids(store::connection& db, const history_filter& f, run_id before,
                               std::size_t most) {
  std::vector<run_id> best;
  auto q = db.use("SELECT r.id " + history_sql(f, true));
  for (const std::string& job : distinct(*f.jobs)) {
    q.bind(before, outcome_number(f), static_cast<std::int64_t>(most), owner_text(f.owner),
           std::string_view{job});
    while (q.step()) {
      const run_id id = q.number(0);
      if (best.size() == most) {
        if (id <= best.front()) {
          break;
        }
        std::pop_heap(best.begin(), best.end(), std::greater<>{});
        best.pop_back();
      }
      best.push_back(id);
      std::push_heap(best.begin(), best.end(), std::greater<>{});
    }
    q.reset();
  }
  std::sort(best.begin(), best.end(), std::greater<>{});
  return best;
}

std::optional<run> run_by_id(store::connection& db, run_id id) {
  auto q = db.use(store::select_runs("FROM run r WHERE r.id = ?1"));
  q.bind(id);
  return q.step() ? std::optional{store::run_at(q, db.path())} : std::nullopt;
}

void count_into(day_counts& day, outcome o, std::uint64_t n) {
  switch (o) {
    case outcome::none:
      return;
    case outcome::success:
      day.success += n;
      return;
    case outcome::failed:
    case outcome::signalled:
    case outcome::timed_out:
    case outcome::not_started:
      day.failed += n;
      return;
    case outcome::skipped:
      day.skipped += n;
      return;
    case outcome::cancelled:
    case outcome::replaced:
    case outcome::lost:
    case outcome::unknown:
      day.other += n;
      return;
  }
}

// Adds rows of (scheduled, outcome, count) to the days that they are in.
void count_rows(store::query& q, const std::vector<instant>& days, std::vector<day_counts>& into) {
  while (q.step()) {
    const auto at = store::instant_of(q.number(0));
    const auto after = std::upper_bound(days.begin(), days.end(), at);
    if (after == days.begin() || after == days.end()) {
      continue;  // days that do not grow
    }
    count_into(into[static_cast<std::size_t>(after - days.begin() - 1)],
               static_cast<outcome>(q.number(1)), static_cast<std::uint64_t>(q.number(2)));
  }
}

}  // namespace

history_page sqlite_ledger::history(const history_filter& f) const {
  const run_id before = f.before > 0 ? f.before : std::numeric_limits<run_id>::max();
  constexpr std::size_t limit_most = 1'000'000;
  const std::size_t most = std::min(f.limit, limit_most) + 1;  // one more tells that there is more
  history_page page;
  state_->reading([&](store::connection& db) {
    const store::snapshot all{db};
    if (f.jobs) {
      for (const run_id id : newest_ids(db, f, before, most)) {
        if (auto found = run_by_id(db, id)) {
          page.runs.push_back(std::move(*found));
        }
      }
      return;
    }
    auto q = db.use(store::select_runs(history_sql(f, false)));
    q.bind(before, outcome_number(f), static_cast<std::int64_t>(most), owner_text(f.owner));
    while (q.step()) {
      page.runs.push_back(store::run_at(q, db.path()));
    }
  });
  if (page.runs.size() == most) {
    page.more = true;
    page.runs.pop_back();
  }
  return page;
}

std::optional<run> sqlite_ledger::find_run(run_id id) const {
  return state_->reading([&](store::connection& db) { return run_by_id(db, id); });
}

std::vector<run> sqlite_ledger::last_runs(bool also_of_removed) const {
  // The names of all runs, from one to the next: as many seeks as there are jobs, however many runs
  // they have.
  constexpr const char* of_all =
      "FROM (WITH RECURSIVE names (name) AS (SELECT min(job) FROM run UNION ALL "
      "SELECT (SELECT min(job) FROM run WHERE job > name) FROM names WHERE name IS NOT NULL) "
      "SELECT name FROM names) n JOIN run r ON r.id = (SELECT max(id) FROM run WHERE job = n.name)";
  constexpr const char* of_known =
      "FROM job n JOIN run r ON r.id = (SELECT max(id) FROM run WHERE job = n.name)";
  std::vector<run> all;
  state_->reading([&](store::connection& db) {
    auto q = db.use(store::select_runs(also_of_removed ? of_all : of_known));
    while (q.step()) {
      all.push_back(store::run_at(q, db.path()));
    }
  });
  return all;
}

std::vector<day_counts> sqlite_ledger::heat(const std::optional<std::vector<std::string>>& jobs,
                                            const std::vector<instant>& days,
                                            const std::optional<std::string>& owner) const {
  if (days.size() < 2) {
    return {};
  }
  std::vector<day_counts> counts(days.size() - 1);
  const auto from = store::number_of(days.front());
  const auto to = store::number_of(days.back());
  state_->reading([&](store::connection& db) {
    const store::snapshot all{db};
    const std::string whose = owner ? " AND owner = ?3" : " AND ?3 = ''";
    if (!jobs) {
      auto q = db.use(
          "SELECT scheduled, outcome, count FROM run INDEXED BY run_when "
          "WHERE scheduled >= ?1 AND scheduled < ?2" +
          whose);
      q.bind(from, to, owner_text(owner));
      count_rows(q, days, counts);
      return;
    }
    auto q = db.use(
        "SELECT scheduled, outcome, count FROM run INDEXED BY run_key "
        "WHERE job = ?4 AND scheduled >= ?1 AND scheduled < ?2" +
        whose);
    for (const std::string& job : distinct(*jobs)) {
      q.bind(from, to, owner_text(owner), std::string_view{job});
      count_rows(q, days, counts);
      q.reset();
    }
  });
  return counts;
}

std::array<std::uint64_t, 11> sqlite_ledger::totals() const {
  std::array<std::uint64_t, 11> all{};
  state_->reading([&](store::connection& db) {
    auto q = db.use("SELECT outcome, count FROM total");
    while (q.step()) {
      const auto at = static_cast<std::uint64_t>(q.number(0));
      if (at < all.size()) {
        all[at] = static_cast<std::uint64_t>(q.number(1));
      }
    }
  });
  return all;
}

ledger_sizes sqlite_ledger::sizes() const {
  ledger_sizes s;
  s.store_bytes = store::file_size(state_->path);
  s.wal_bytes = store::file_size(state_->path + "-wal");
  state_->reading([&](store::connection& db) {
    const auto asked = [&db](std::string_view sql) {
      return static_cast<std::uint64_t>(db.ask(sql));
    };
    s.free_bytes = asked("PRAGMA freelist_count") * asked("PRAGMA page_size");
    s.runs = asked("SELECT count(*) FROM run");
    s.jobs = asked("SELECT count(*) FROM job");
    s.definitions = asked("SELECT count(*) FROM definition");
  });
  return s;
}

}  // namespace rota::job
