// Where the rows of runs and the cursors of jobs are kept: the port that the engine writes through.
//
//   const saved_state before = l.load();          // what a daemon goes on from
//   l.commit({.runs = {row}, .jobs = {cursor}});  // one transaction
//
// Promised by every ledger: commit() is all or nothing, and durable when it returns (rule K1). A
// ledger that cannot write throws ledger_error, has changed nothing, and may be asked again.
// `sqlite_ledger` (sqlite_ledger.h) keeps them in a file; `memory_ledger` as long as the program
// runs.
//
// Threads: one at a time, unless a ledger says more.
#ifndef ROTA_JOB_LEDGER_H
#define ROTA_JOB_LEDGER_H

#include <rota/job/run.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota::job {

struct ledger_error : std::runtime_error {
  using runtime_error::runtime_error;
};

// What is kept of a job besides its definition.
struct job_row {
  std::string name;
  instant cursor{};  // instants up to here have their rows
  instant anchor{};  // @every counts from here
  bool paused = false;
  instant last_success{};      // zero: never
  instant known_since{};       // when the job was first seen
  bool failing = false;        // its last run was no success
  bool absent = false;         // an alert has said that there is no success
  std::string boot;            // @reboot: the boot it ran in
  std::uint32_t schedule = 0;  // a hash of the schedule that the cursor is about; zero: not known
};

// That a job is paused: a fact about its owner and name, which outlives the job's absence.
struct pause_row {
  std::string owner;
  std::string job;
  instant away{};  // since when there is no such job; zero: there is
  friend bool operator==(const pause_row&, const pause_row&) = default;
};

// One transaction.
struct changes {
  std::vector<run> runs;                // new rows, and rows that replace those of the same id
  std::vector<job_row> jobs;            // likewise, by name
  std::vector<std::string> forgotten;   // jobs whose job_row goes; their runs stay, as history
  std::vector<pause_row> pauses = {};   // new ones, and in the place of those of the same job
  std::vector<pause_row> resumed = {};  // pauses that are over
  bool empty() const noexcept {
    return runs.empty() && jobs.empty() && forgotten.empty() && pauses.empty() && resumed.empty();
  }
};

// What a daemon needs to go on where it was.
struct saved_state {
  std::vector<job_row> jobs;
  std::vector<run> unfinished;  // due and launched, by (scheduled, id)
  std::vector<pause_row> pauses = {};
  run_id next_id = 1;
};

class ledger {
 public:
  virtual ~ledger() = default;
  virtual saved_state load() = 0;
  virtual void commit(const changes& c) = 0;
  // Whether there is a row of this job at this instant, of any attempt. Asked before a new row is
  // made: after the clock was set back, or for a manual run, an instant may have been used before,
  // and a commit with its key would fail for ever.
  virtual bool has(std::string_view job, instant scheduled) {
    static_cast<void>(job), static_cast<void>(scheduled);
    return false;
  }
};

// Keeps nothing: for programs that schedule functions and have no yesterday.
class memory_ledger final : public ledger {
 public:
  saved_state load() override { return {}; }
  void commit(const changes&) override {}
};

}  // namespace rota::job

#endif
