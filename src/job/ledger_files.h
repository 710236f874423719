// The files around a store: who has it, whether it is safe where it lies, and copies that are there
// wholly or not at all.
#ifndef ROTA_SRC_JOB_LEDGER_FILES_H
#define ROTA_SRC_JOB_LEDGER_FILES_H

#include <rota/base/sync.h>
#include <rota/job/sqlite_ledger.h>

#include <cstdint>
#include <string>

namespace rota::job::store {

// The path with its directory made absolute and without links. Refuses a directory that others may
// write to, and anything but a file in the place of the store.
std::string safe_path(const std::string& path);

// Whether the first bytes are those of a ledger. A store has them in the file itself from the
// start, not only in its WAL.
bool looks_like_ledger(const std::string& path);

bool exists(const std::string& path);
std::uint64_t file_size(const std::string& path);  // 0: there is none

// Makes an empty file that only its owner may read, or takes such rights from others.
void make_private(const std::string& path);

// On the disk when they return.
void sync_file(const std::string& path);
void sync_directory_of(const std::string& path);
void rename_durably(const std::string& from, const std::string& to);
void copy_durably(const std::string& from, const std::string& to);

// Gives a store with its WAL another name, path.damaged-DATE, that none has yet. Gives the name.
std::string put_aside(const std::string& path, instant now);

// The lock on a store, and what has to be known of it if the store is damaged.
//
// A lock of fcntl(): the kernel tells its owner's pid, drops it with the process, and no child
// inherits it. Since it does not count within the process, we keep a list ourselves.
class lock_file {
 public:
  enum class condition : std::uint8_t { open, closed, damaged };

  // Throws if another process, or this one, has it.
  explicit lock_file(const std::string& store_path);
  ~lock_file();
  lock_file(const lock_file&) = delete;
  lock_file& operator=(const lock_file&) = delete;

  // Whether there is a lock file that was written by a ledger: then the store has been one.
  static bool was_there(const std::string& store_path);

  condition state() const;
  std::int64_t commits() const;  // that the store has at least
  run_id reserved() const;       // ids below may have been used

  void set_state(condition c);
  // Not synced: may be lost with the machine, never ahead of the store. Never throws.
  void set_commits(std::int64_t n);
  // Synced: no id from here on is used before this returned.
  void reserve(run_id below);

 private:
  void read();
  void write(bool durable);

  std::string path_;
  int fd_ = -1;
  mutable sync::mutex mutex_;
  condition state_ = condition::closed;  // these three: guarded by mutex_
  std::int64_t commits_ = 0;
  run_id reserved_ = 0;
};

}  // namespace rota::job::store

#endif
