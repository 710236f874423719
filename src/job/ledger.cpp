// Opening, damage, and the port of the engine.
//
// What a start has to tell apart, from the file, the lock file and the copy:
//
//   nothing or an empty file, no copy    a new ledger
//   nothing or an empty file, a copy     restored: somebody stopped between putting aside and
//   copying no ledger's first bytes              refused, unless a lock file or copy says that it
//   was one checks fail, load() fails            put aside, restored fewer commits than the lock
//   counts   after_loss()
//
// The state in the lock file is `damaged` from the first sign of damage until a store is open that
// was checked throughout: whoever dies on the way leaves the next one to check and go on.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "job/fault_point.h"
#include "job/ledger_rows.h"
#include "job/ledger_schema.h"
#include "job/ledger_state.h"

namespace rota::job {

namespace {

// So many ids cost one sync of the lock file, and as many at most are left out after damage.
constexpr run_id ids_at_a_time = 10'000;

// Rows in one transaction that mean a new table of jobs: megabytes of pages that nobody asks for
// again soon.
constexpr std::size_t many_rows = 10'000;

// The path, once it is known that no file of something else lies there.
std::string ledger_path(const std::string& given) {
  std::string path = store::safe_path(given);
  const bool has_been = store::lock_file::was_there(path) || store::exists(path + ".good");
  if (store::file_size(path) > 0 && !store::looks_like_ledger(path) && !has_been) {
    throw ledger_error(path +
                       ": is a file of something else; a ledger is made where there is none");
  }
  return path;
}

}  // namespace

void copy_store(store::connection& db, const std::string& to) {
  const std::string partial = to + ".partial";
  std::remove(partial.c_str());  // of a copy that was interrupted
  try {
    store::make_private(partial);
    auto q = db.use("VACUUM INTO ?1");
    q.bind(std::string_view{partial});
    q.run();
    store::sync_file(partial);
    store::connection copy{partial, store::access::read, std::chrono::milliseconds{0}};
    const auto fault = copy.check(false);
    if (!fault.empty()) {
      throw ledger_damaged(db.path() + ": a copy of it is damaged: " + fault);
    }
  } catch (...) {
    std::remove(partial.c_str());
    throw;
  }
  store::rename_durably(partial, to);
}

sqlite_ledger::state::state(std::string store_path, ledger_options o)
    : path(std::move(store_path)), options(std::move(o)), lock(path) {
  open(options.now);
}

sqlite_ledger::state::~state() {
  if (!damaged.load()) {
    try {
      // Said before it is closed: from here on the WAL may go.
      lock.set_state(store::lock_file::condition::closed);
    } catch (const ledger_error&) {
      // Then the next start checks more than it has to.
    }
  }
  reader.reset();
  writer.reset();
}

void sqlite_ledger::state::refuse_if_damaged() const {
  if (damaged.load()) {
    throw ledger_damaged(path +
                         ": the ledger is damaged; it goes on from its last good copy "
                         "after a restart of the daemon");
  }
}

void sqlite_ledger::state::note_damage() noexcept {
  damaged.store(true);
  try {
    lock.set_state(store::lock_file::condition::damaged);
  } catch (const ledger_error&) {
    // The next start has no more than its own checks then.
  }
}

void sqlite_ledger::state::open(instant now) {
  reader.reset();
  writer.reset();
  if (store::exists(path + "-journal")) {  // A first start died on the way: SQLite undoes its part.
    try {
      store::connection{path, store::access::write, options.busy}.ask("PRAGMA schema_version");
    } catch (const ledger_damaged&) {
      // connect() finds the same.
    }
  }
  // A WAL without its store must not be taken for that of the next one.
  if (store::file_size(path) == 0 && (store::exists(good_path()) || store::exists(path + "-wal"))) {
    give_up(path + ": the ledger is missing or empty", now);
    return;
  }
  try {
    connect();
    if (commits < lock.commits()) {
      notes.push_back(path + ": " + std::to_string(lock.commits() - commits) +
                      " commits are missing: its WAL was deleted, or it was replaced by an older "
                      "copy; what ran since is not known, and does not run again");
      after_loss(now);
    }
    be_open();
  } catch (const ledger_damaged& e) {
    give_up(e.what(), now);
  }
}

void sqlite_ledger::state::connect() {
  const bool is_new = store::file_size(path) == 0;
  if (!is_new && !store::looks_like_ledger(path)) {
    throw ledger_damaged(path + ": does not begin as a ledger does");
  }
  if (is_new) {  // Before there is anything that could be taken for a file of something else.
    lock.set_state(store::lock_file::condition::damaged);
  }
  store::make_private(path);
  writer = std::make_unique<store::connection>(path, store::access::write, options.busy);
  writer->execute(
      "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
      "PRAGMA cache_size = -8000; PRAGMA journal_size_limit = 16000000");
  if (!is_new) {
    check_store();
  }
  migrate_store();
  // After the first migration, so that the first bytes are in the file itself (ledger_path()).
  writer->execute("PRAGMA journal_mode = WAL");
  check_tables();
  read_meta();
  reader = std::make_unique<store::connection>(path, store::access::read, options.busy);
  reader->execute("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF");
}

void sqlite_ledger::state::be_open() {
  lock.set_commits(commits);
  lock.set_state(store::lock_file::condition::open);
  damaged.store(false);
}

// All of it if it was seen to be damaged; if the last one just died, as much as a quick start
// allows.
void sqlite_ledger::state::check_store() {
  const auto latest = store::migrations().size();
  if (store::version_of(*writer) > latest) {
    throw ledger_error(path + ": the ledger is of version " +
                       std::to_string(store::version_of(*writer)) +
                       ", this program knows versions up to " + std::to_string(latest) +
                       "; use the program that wrote it, or a later one");
  }
  const auto was = lock.state();
  const bool all = was == store::lock_file::condition::damaged;
  if (all ||
      (was == store::lock_file::condition::open && store::file_size(path) <= options.check_most)) {
    const auto fault = writer->check(all);
    if (!fault.empty()) {
      throw ledger_damaged(path + ": the ledger is damaged: " + fault);
    }
  }
}

void sqlite_ledger::state::migrate_store() {
  const auto from = store::version_of(*writer);
  const bool done = store::migrate(*writer, store::migrations(), [this](std::size_t to) {
    copy_store(*writer, path + ".before-v" + std::to_string(to));
  });
  if (done && from > 0) {
    notes.push_back(path + ": brought from version " + std::to_string(from) + " to " +
                    std::to_string(store::migrations().size()) + "; a copy of what it was is kept");
  }
}

void sqlite_ledger::state::check_tables() {
  const auto found = writer->ask(
      "SELECT count(*) FROM sqlite_master WHERE name IN ('meta', 'job', 'run', 'total', "
      "'definition', 'run_key', 'run_job', 'run_outcome', 'run_when', 'run_unfinished', "
      "'run_comes_over', "
      "'run_gets_over', 'runs_readable', 'pause')");
  if (found != 14) {
    throw ledger_damaged(path + ": tables of the ledger are missing");
  }
}

void sqlite_ledger::state::read_meta() {
  auto q = writer->use("SELECT next_id, commits, (SELECT max(id) FROM run) FROM meta");
  if (!q.step()) {
    throw ledger_damaged(path + ": the row of the table meta is missing");
  }
  next_id = std::max(q.number(0), q.number(2) + 1);
  commits = q.number(1);
}

void sqlite_ledger::state::put_meta(run_id next, std::int64_t count) {
  auto q = writer->use("UPDATE meta SET next_id = ?1, commits = ?2");
  q.bind(next, count);
  q.run();
}

void sqlite_ledger::state::reserve_ids(run_id last) {
  if (last >= lock.reserved()) {
    lock.reserve(last + ids_at_a_time);
  }
}

void sqlite_ledger::state::give_up(const std::string& why, instant now) {
  lock.set_state(store::lock_file::condition::damaged);
  reader.reset();
  writer.reset();
  std::string note = why;
  if (store::exists(path) || store::exists(path + "-wal")) {
    note += "; it is kept as " + store::put_aside(path, now);
  }
  notes.push_back(note);
  const bool restored = restore_good(now);
  connect();
  after_loss(now);
  be_open();
  notes.push_back(path + (restored ? ": goes on from the last good copy; what came after it is not "
                                     "known, and does not run again"
                                   : ": there is no good copy, so the ledger starts anew; history, "
                                     "pauses and jobs that were added by hand are lost"));
}

bool sqlite_ledger::state::restore_good(instant now) {
  if (!store::exists(good_path())) {
    return false;
  }
  std::string fault = "does not begin as a ledger does";
  try {
    if (store::looks_like_ledger(good_path())) {
      store::connection good{good_path(), store::access::read, options.busy};
      fault = good.check(true);
    }
  } catch (const ledger_damaged& e) {
    fault = e.what();
  }
  if (!fault.empty()) {
    notes.push_back(good_path() + ": the copy is damaged too (" + fault + "); it is kept as " +
                    store::put_aside(good_path(), now));
    return false;
  }
  store::copy_durably(good_path(), path);
  return true;
}

// Nothing that may have been run is run again; see the header.
void sqlite_ledger::state::after_loss(instant now) {
  auto rows = store::unfinished_runs(*writer);
  for (run& r : rows) {
    if (options.has_files && options.has_files(r.id)) {
      r.launched = r.phase == phase::launched ? r.launched : now;
      r.phase = phase::launched;
      continue;
    }
    r.phase = phase::over;
    r.outcome = outcome::unknown;
    r.finished = now;
    r.note = "rows of the ledger were lost: nobody knows whether it ran";
  }
  // Also beyond what the lock file counts, so that the loss is dealt with once.
  commits = std::max(commits, lock.commits());
  next_id = std::max(next_id, lock.reserved());
  change(0, [&](store::connection& db) {
    auto q = db.use("UPDATE job SET cursor = max(cursor, ?1)");
    q.bind(store::number_of(now));
    q.run();
    store::put_runs(db, rows);
  });
}

saved_state sqlite_ledger::state::load_rows() {
  saved_state s;
  s.jobs = store::all_jobs(*writer);
  s.unfinished = store::unfinished_runs(*writer);
  s.pauses = store::all_pauses(*writer);
  s.next_id = next_id;
  writer->free_cache();
  return s;
}

sqlite_ledger::sqlite_ledger(std::string path, ledger_options o)
    : state_(std::make_unique<state>(ledger_path(path), std::move(o))) {}

sqlite_ledger::~sqlite_ledger() = default;

std::vector<std::string> sqlite_ledger::notes() const {
  const std::lock_guard guard{state_->write_mutex};
  return state_->notes;
}

saved_state sqlite_ledger::load() {
  try {
    return state_->writing([this](store::connection&) { return state_->load_rows(); });
  } catch (const ledger_damaged& e) {
    const std::scoped_lock all{state_->backup_mutex, state_->write_mutex, state_->read_mutex};
    state_->notes.push_back(e.what());
    state_->lock.set_state(store::lock_file::condition::damaged);
    state_->open(state_->options.now);
    return state_->load_rows();
  }
}

void sqlite_ledger::commit(const changes& c) {
  if (c.empty()) {
    return;
  }
  run_id last = 0;
  for (const run& r : c.runs) {
    last = std::max(last, r.id);
  }
  fault_point("before_commit");
  state_->writing([&](store::connection& writer) {
    state_->change(last, [&](store::connection& db) {
      store::put_runs(db, c.runs);
      fault_point("within_commit");
      store::put_jobs(db, c.jobs);
      store::forget_jobs(db, c.forgotten);
      store::put_pauses(db, c.pauses);
      store::end_pauses(db, c.resumed);
    });
    if (c.runs.size() + c.jobs.size() + c.forgotten.size() >= many_rows) writer.free_cache();
  });
  fault_point("after_commit");
}

bool sqlite_ledger::has(std::string_view job, instant scheduled) {
  return state_->writing([&](store::connection& db) {
    auto q = db.use("SELECT 1 FROM run WHERE job = ?1 AND scheduled = ?2 LIMIT 1");
    q.bind(job, store::number_of(scheduled));
    return q.step();
  });
}

void sqlite_ledger::raise_next_id(run_id at_least) {
  state_->writing([&](store::connection&) {
    if (at_least > state_->next_id) {
      state_->change(at_least - 1, [](store::connection&) {});
    }
  });
}

void sqlite_ledger::recover(instant now) {
  const std::scoped_lock all{state_->backup_mutex, state_->write_mutex, state_->read_mutex};
  state_->notes.clear();
  state_->lock.set_state(store::lock_file::condition::damaged);
  state_->open(now);
}

}  // namespace rota::job
