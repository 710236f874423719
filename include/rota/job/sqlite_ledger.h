// The ledger in a file: SQLite, one file that anybody may read with `sqlite3`.
//
//   rota::job::sqlite_ledger l{"/var/lib/rota/ledger.db", {.now = clock.now()}};
//   for (auto& note : l.notes()) log(note);     // damage, loss, a migration: said once, loudly
//   rota::job::engine e{options, l, launcher};  // load() and commit()
//   l.history({.jobs = {{"backup"}}, .limit = 20});
//
// Promised: a commit() that returned is on the disk, also after kill -9 or loss of power (WAL,
// synchronous = FULL); one that threw has changed nothing and may be asked again. (If the disk
// failed while the commit was synced, a loss of power right then may leave it done. To ask again is
// harmless: rows replace those of the same id.) A key (job, scheduled, attempt) is there once (T1).
// Run ids are never used again, also after pruning and after damage.
// One daemon per ledger: a second one is refused and told the pid of the first.
//
// Beside the store, all 0600, in a directory that only its owner may write to:
//
//   ledger.db, -wal, -shm    the store
//   ledger.db.lock           locked while it is open; says how many commits and ids there were
//   ledger.db.good           the last copy by backup(), which was checked before it got the name
//   ledger.db.before-v2      what migrating to schema version 2 started from
//   ledger.db.damaged-DATE   a store that was given up
//
// Damage. It is noticed by opening (a bounded check, unless the ledger was closed in order), by
// load(), by any other call, and by backup(). The constructor and load() then call recover()
// themselves; from any other call comes ledger_damaged, and from then on from all of them, until
// recover() or the next start. recover() keeps the damaged file aside and goes on from the last
// good copy, or from nothing. What came after the copy is not known, and nothing is run twice:
//   - every cursor is moved to `now`: no instant up to now runs (again), and none gets a row;
//   - a row that was unfinished in the copy is over, `unknown`, unless `has_files` says that there
//     are files of that run: then it is `launched`, and rule K3 finds out what became of it;
//   - next_id is beyond every id that was ever used: ids are reserved in the lock file, durably, a
//     few thousand at a time. Who finds files with a higher id calls raise_next_id();
//   - definitions, pauses and times of last success are those of the copy. So call backup() soon
//     after put_definition(), and otherwise once in a while.
// The same, but for the copy, holds for a store that lacks commits which the lock file counts: its
// WAL was deleted, or somebody put an old copy in its place.
// Not noticed: bytes that changed but still make a row, since SQLite keeps no checksums.
//
// Threads: anyone's. commit() and whatever changes something wait for each other, and so do
// queries; neither waits for the other kind, nor for backup(). recover() waits for all.
#ifndef ROTA_JOB_SQLITE_LEDGER_H
#define ROTA_JOB_SQLITE_LEDGER_H

#include <rota/job/ledger.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::job {

// The store is damaged: asking again does not help, recover() does.
struct ledger_damaged : ledger_error {
  using ledger_error::ledger_error;
};

struct ledger_options {
  instant now{};                            // for the names of damaged files, and for recover()
  std::function<bool(run_id)> has_files{};  // whether files of a run are there; none: they are not
  std::chrono::milliseconds busy{2'000};    // how long another program's lock is waited for
  std::uint64_t check_most = 64'000'000;    // bytes of a store that opening checks throughout
};

// Which rows history() gives.
struct history_filter {
  std::optional<std::vector<std::string>> jobs{};  // of these; nothing: of all
  std::optional<std::string> owner{};              // of jobs that were this user's then (S1)
  std::optional<rota::job::phase> phase{};
  std::optional<rota::job::outcome> outcome{};
  run_id before = 0;  // older than this one; zero: from the newest
  std::size_t limit = 100;
};

struct history_page {
  std::vector<run> runs;  // newest first
  bool more = false;      // there are older ones
};

// What happened in one day, in instants: a row of 30 missed ones counts as 30. Unfinished runs do
// not count yet.
struct day_counts {
  std::uint64_t success = 0;
  std::uint64_t failed = 0;  // failed, signalled, timed_out, not_started
  std::uint64_t skipped = 0;
  std::uint64_t other = 0;  // cancelled, replaced, lost, unknown
  friend bool operator==(const day_counts&, const day_counts&) = default;
};

struct ledger_sizes {
  std::uint64_t store_bytes = 0;
  std::uint64_t wal_bytes = 0;
  std::uint64_t free_bytes = 0;  // of the store, to be used by later rows
  std::uint64_t runs = 0;
  std::uint64_t jobs = 0;
  std::uint64_t definitions = 0;
};

// A job that was added by `rota job add`.
struct stored_definition {
  std::string name;
  std::string owner;
  std::string toml;
  friend bool operator==(const stored_definition&, const stored_definition&) = default;
};

struct keep_limits {
  std::uint32_t runs = 1'000;
  std::chrono::milliseconds age{90LL * 86'400'000};
};

struct pruned {
  std::vector<run_id> ids;  // their rows are gone, their logs may go
  bool more = false;        // call again, when there is time
};

class sqlite_ledger final : public ledger {
 public:
  // Opens the store, or makes it. Throws ledger_error if that is not possible: no permission,
  // another daemon, a file of something else, a schema of a later version.
  explicit sqlite_ledger(std::string path, ledger_options o);
  ~sqlite_ledger() override;

  sqlite_ledger(const sqlite_ledger&) = delete;
  sqlite_ledger& operator=(const sqlite_ledger&) = delete;

  // What opening or recover() found and did, for the log.
  std::vector<std::string> notes() const;

  // --- the port --------------------------------------------------------------------------------
  saved_state load() override;
  // A job that is both in `jobs` and in `forgotten` is forgotten.
  void commit(const changes& c) override;
  bool has(std::string_view job, instant scheduled) override;

  // No run gets an id below this.
  void raise_next_id(run_id at_least);

  // --- looking ---------------------------------------------------------------------------------
  history_page history(const history_filter& f) const;
  std::optional<run> find_run(run_id id) const;
  // The newest row of each job that has any; of jobs that there are, or of all that ever were.
  std::vector<run> last_runs(bool also_of_removed = false) const;
  // One entry for each two neighbours in `days`, which grow: a run counts where it was scheduled.
  // With an owner, only if the job was that user's then.
  std::vector<day_counts> heat(const std::optional<std::vector<std::string>>& jobs,
                               const std::vector<instant>& days,
                               const std::optional<std::string>& owner = {}) const;
  // How many runs (of skipped: instants) ended so since the ledger was made, also pruned ones; by
  // the number of the outcome.
  std::array<std::uint64_t, 11> totals() const;
  ledger_sizes sizes() const;

  // --- definitions -----------------------------------------------------------------------------
  void put_definition(const stored_definition& d);  // or replaces the one of that name
  bool remove_definition(std::string_view name);
  std::vector<stored_definition> definitions() const;  // by name

  // --- care ------------------------------------------------------------------------------------
  // Deletes rows of a job beyond the newest `keep.runs`, and those older than `keep.age`; never
  // unfinished ones. At most 200 in one call.
  pruned prune(std::string_view job, const keep_limits& keep, instant now);
  // The same for jobs that are no more: each call goes on where the last one stopped.
  pruned prune_removed(const keep_limits& keep, instant now);

  // Writes a copy, checks it, and only then puts it in the place of the last one. Takes as long as
  // reading all of the store; commits go on meanwhile.
  void backup();

  void recover(instant now);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace rota::job

#endif
