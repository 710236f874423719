// Numbers of the enumerations are kept in the store, so they stay what they are; a new enumerator
// goes to the end, and makes a new version, since the view runs_readable knows the words.
#include "job/ledger_schema.h"

#include <array>

namespace rota::job::store {

namespace {

static_assert(static_cast<int>(trigger::reboot) == 5 && static_cast<int>(phase::over) == 2 &&
              static_cast<int>(outcome::unknown) == 10 && static_cast<int>(reason::removed) == 6);

// Times are milliseconds since 1970, UTC; zero: it has not been. The CHECKs are for the check of a
// store: a number without a word is damage.
constexpr const char* version_1 = R"sql(
CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  next_id INTEGER NOT NULL,
  commits INTEGER NOT NULL
);
INSERT INTO meta VALUES (1, 1, 0);

CREATE TABLE job (
  name TEXT PRIMARY KEY,
  cursor INTEGER NOT NULL,
  anchor INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  last_success INTEGER NOT NULL,
  known_since INTEGER NOT NULL,
  failing INTEGER NOT NULL,
  absent INTEGER NOT NULL,
  boot TEXT NOT NULL,
  schedule INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  job TEXT NOT NULL,
  scheduled INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  why INTEGER NOT NULL CHECK (why BETWEEN 0 AND 5),
  phase INTEGER NOT NULL CHECK (phase BETWEEN 0 AND 2),
  outcome INTEGER NOT NULL CHECK (outcome BETWEEN 0 AND 10),
  reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 6),
  count INTEGER NOT NULL,
  first INTEGER NOT NULL,
  recorded INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  launched INTEGER NOT NULL,
  started INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  exit_code INTEGER NOT NULL,
  signal INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  boot TEXT NOT NULL,
  note TEXT NOT NULL,
  requested_by TEXT NOT NULL,
  owner TEXT NOT NULL
);
CREATE UNIQUE INDEX run_key ON run (job, scheduled, attempt);
CREATE INDEX run_job ON run (job, id);
CREATE INDEX run_outcome ON run (outcome, id);
CREATE INDEX run_when ON run (scheduled, outcome, count);
CREATE INDEX run_unfinished ON run (scheduled, id) WHERE phase < 2;

CREATE TABLE total (
  outcome INTEGER PRIMARY KEY,
  count INTEGER NOT NULL
);
CREATE TRIGGER run_comes_over AFTER INSERT ON run WHEN new.phase = 2 BEGIN
  INSERT INTO total VALUES (new.outcome, new.count)
    ON CONFLICT (outcome) DO UPDATE SET count = count + excluded.count;
END;
CREATE TRIGGER run_gets_over AFTER UPDATE ON run WHEN new.phase = 2 AND old.phase < 2 BEGIN
  INSERT INTO total VALUES (new.outcome, new.count)
    ON CONFLICT (outcome) DO UPDATE SET count = count + excluded.count;
END;

CREATE TABLE definition (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  toml TEXT NOT NULL
) WITHOUT ROWID;
)sql";

// "CASE why WHEN 0 THEN 'schedule' ... END AS why". The words are ours, not anybody's input.
template <class Enum>
std::string words(const char* column, Enum last) {
  std::string sql = std::string("CASE ") + column;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    sql +=
        " WHEN " + std::to_string(i) + " THEN '" + std::string(to_text(static_cast<Enum>(i))) + "'";
  }
  return sql + " END AS " + column;
}

// A time as text, NULL if there is none: "2026-03-29 01:00:00.000".
std::string readable_time(const std::string& column) {
  return "CASE WHEN " + column + " <> 0 THEN strftime('%Y-%m-%d %H:%M:%f', " + column +
         " / 1000.0, 'unixepoch') END AS " + column;
}

std::string readable_view() {
  return "CREATE VIEW runs_readable AS SELECT id, job, " + readable_time("scheduled") +
         ", attempt, " + words("why", trigger::reboot) + ", " + words("phase", phase::over) + ", " +
         words("outcome", outcome::unknown) + ", " + words("reason", reason::removed) +
         ", count, " + readable_time("first") + ", " + readable_time("recorded") + ", " +
         readable_time("launched") + ", " + readable_time("started") + ", " +
         readable_time("finished") +
         ", CASE WHEN started <> 0 AND finished <> 0 THEN (finished - started) / 1000.0 END"
         " AS seconds, exit_code, signal, pid, note, requested_by, owner FROM run";
}

void make_version_1(connection& db) {
  db.execute(version_1);
  db.execute(readable_view().c_str());
}

// Pauses by owner and name, which outlive the job (job_row goes with it).
constexpr const char* version_2 = R"sql(
CREATE TABLE pause (
  owner TEXT NOT NULL,
  job TEXT NOT NULL,
  away INTEGER NOT NULL,
  PRIMARY KEY (owner, job)
) WITHOUT ROWID;
)sql";

}  // namespace

const std::vector<migration>& migrations() {
  static const std::vector<migration> all = {
      make_version_1,
      [](connection& db) { db.execute(version_2); },
  };
  return all;
}

std::size_t version_of(connection& db) {
  return static_cast<std::size_t>(db.ask("PRAGMA user_version"));
}

bool migrate(connection& db, const std::vector<migration>& steps,
             const std::function<void(std::size_t)>& keep) {
  const std::size_t from = version_of(db);
  if (from >= steps.size()) {
    return false;
  }
  if (db.ask("SELECT count(*) FROM sqlite_master") != 0) {
    keep(steps.size());
  }
  transaction all{db};
  for (std::size_t i = from; i < steps.size(); ++i) {
    steps[i](db);
  }
  db.execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
  db.execute(("PRAGMA user_version = " + std::to_string(steps.size())).c_str());
  all.commit();
  return true;
}

}  // namespace rota::job::store
