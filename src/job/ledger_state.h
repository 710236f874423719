// What is behind a sqlite_ledger: the lock, two connections, and how damage is dealt with.
#ifndef ROTA_SRC_JOB_LEDGER_STATE_H
#define ROTA_SRC_JOB_LEDGER_STATE_H

#include <rota/base/sync.h>
#include <rota/job/sqlite_ledger.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "job/ledger_db.h"
#include "job/ledger_files.h"

namespace rota::job {

struct sqlite_ledger::state {
  state(std::string store_path, ledger_options o);
  ~state();

  const std::string path;
  const ledger_options options;
  store::lock_file lock;

  // Taken in this order: backup, write, read.
  sync::mutex backup_mutex;
  sync::mutex write_mutex;
  sync::mutex read_mutex;
  std::unique_ptr<store::connection> writer;  // guarded by write_mutex, and so are:
  std::vector<std::string> notes;
  run_id next_id = 1;        // as in the table meta
  std::int64_t commits = 0;  // likewise
  std::string swept;         // prune_removed() has dealt with the jobs up to this name
  std::unique_ptr<store::connection> reader;  // guarded by read_mutex

  // Whether any call has met damage. Written and read by all; seq_cst, since nothing hangs on its
  // speed.
  sync::atomic<bool> damaged{false};

  // Calls f(connection) while no other of its kind does, and remembers damage.
  template <class F>
  auto writing(F f) {
    const std::lock_guard guard{write_mutex};
    return minding_damage([&] { return f(*writer); });
  }
  template <class F>
  auto reading(F f) {
    const std::lock_guard guard{read_mutex};
    return minding_damage([&] { return f(*reader); });
  }
  template <class F>
  auto minding_damage(F f) {
    refuse_if_damaged();
    try {
      return f();
    } catch (const ledger_damaged&) {
      note_damage();
      throw;
    }
  }

  // One transaction around f(): counted, and with ids up to `last` reserved. Within writing().
  template <class F>
  void change(run_id last, F f) {
    reserve_ids(last);
    store::transaction t{*writer};
    f(*writer);
    const run_id next = last >= next_id ? last + 1 : next_id;
    put_meta(next, commits + 1);
    t.commit();
    next_id = next;
    ++commits;
    lock.set_commits(commits);
  }

  // The rest is called with write_mutex and read_mutex held, or by the constructor.
  void open(instant now);
  void give_up(const std::string& why, instant now);
  saved_state load_rows();

  std::string good_path() const { return path + ".good"; }

 private:
  void refuse_if_damaged() const;
  void note_damage() noexcept;
  void reserve_ids(run_id last);
  void put_meta(run_id next, std::int64_t count);
  void connect();
  void check_store();
  void migrate_store();
  void check_tables();
  void read_meta();
  bool restore_good(instant now);
  void after_loss(instant now);
  void be_open();
};

// Writes a copy of the store that a connection has open, under a name that appears when it is
// whole.
void copy_store(store::connection& db, const std::string& to);

}  // namespace rota::job

#endif
