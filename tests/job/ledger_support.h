// A directory for a ledger that goes with the test, and rows to fill it with.
#ifndef ROTA_TESTS_JOB_LEDGER_SUPPORT_H
#define ROTA_TESTS_JOB_LEDGER_SUPPORT_H

#include <rota/job/sqlite_ledger.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/scratch_folder.h"

namespace rota_ledger_test {

using namespace rota::job;
using rota::instant;

inline instant at(std::int64_t ms) { return instant{std::chrono::milliseconds{ms}}; }

class folder {
 public:
  // In memory where there is such a place, since most tests ask little of the disk and sync a lot.
  explicit folder(bool on_disk = false)
      : folder_(!on_disk && ::access("/dev/shm", W_OK) == 0
                    ? std::filesystem::path("/dev/shm")
                    : std::filesystem::temp_directory_path()) {}

  std::string path() const { return folder_.path(); }
  std::string store() const { return folder_ / "ledger.db"; }

  // Names that begin so.
  std::vector<std::string> files(const std::string& begin) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().filename().string().starts_with(begin)) {
        found.push_back(entry.path().string());
      }
    }
    return found;
  }

 private:
  rota::test::scratch_folder folder_;
};

inline ledger_options when(std::int64_t ms) {
  ledger_options o;
  o.now = at(ms);
  return o;
}

// A run with something else in each field.
inline run full_run(run_id id, std::string job, std::int64_t scheduled) {
  run r;
  r.id = id;
  r.job = std::move(job);
  r.scheduled = at(scheduled);
  r.attempt = 3;
  r.why = trigger::retry;
  r.phase = phase::over;
  r.outcome = outcome::signalled;
  r.reason = reason::overlap;
  r.count = 4;
  r.first = at(scheduled - 1);
  r.recorded = at(scheduled + 2);
  r.not_before = at(scheduled + 3);
  r.launched = at(scheduled + 4);
  r.started = at(scheduled + 5);
  r.finished = at(scheduled + 6);
  r.exit_code = 7;
  r.signal = 8;
  r.pid = 9;
  r.boot = "boot";
  r.note = "note";
  r.requested_by = "somebody";
  r.owner = "whose";
  return r;
}

inline run due_run(run_id id, std::string job, std::int64_t scheduled) {
  run r;
  r.id = id;
  r.job = std::move(job);
  r.scheduled = at(scheduled);
  r.recorded = at(scheduled);
  return r;
}

inline run over_run(run_id id, std::string job, std::int64_t scheduled,
                    outcome o = outcome::success) {
  run r = due_run(id, std::move(job), scheduled);
  r.phase = phase::over;
  r.outcome = o;
  r.finished = at(scheduled + 1);
  return r;
}

inline job_row row_of(std::string name, std::int64_t cursor) {
  job_row j;
  j.name = std::move(name);
  j.cursor = at(cursor);
  return j;
}

inline std::vector<run_id> ids_of(const std::vector<run>& runs) {
  std::vector<run_id> ids;
  for (const run& r : runs) {
    ids.push_back(r.id);
  }
  return ids;
}

// What commit(), say, threw.
template <class Error = ledger_error, class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

inline std::string all_notes(const sqlite_ledger& l) {
  std::string text;
  for (const auto& note : l.notes()) {
    text += note + "\n";
  }
  return text;
}

}  // namespace rota_ledger_test

#endif
