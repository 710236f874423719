// Which instants of a job have passed, and what becomes of each (rules M1, M3, T4).
//
// An instant is on time if it is the last that has passed and is at most a minute late: the daemon
// was busy. All others were missed.
//
// Each has its row, but more than a thousand that are skipped together are one row a reason, with
// their number. They are never walked over one by one: the newest are found from now backwards, and
// the older ones are counted by arithmetic (@every) or up to a limit, and then the row says "at
// least". The limits are per job and, so that a hundred thousand jobs after a year's downtime do
// not take minutes, for all jobs of a tick together.
#ifndef ROTA_JOB_MISSED_H
#define ROTA_JOB_MISSED_H

#include <rota/job/definition.h>
#include <rota/job/run.h>

#include <cstdint>
#include <vector>

namespace rota::job {

inline constexpr milliseconds punctual{60'000};
inline constexpr milliseconds least_deadline{1'000};  // a busy machine alone may take that long

// What one tick may spend on instants that are skipped.
struct missed_budget {
  std::size_t rows = 10'000;      // that are written one by one
  std::size_t steps = 1'000'000;  // of a schedule, to count
};

struct passed_instants {
  instant first{};
  instant last{};
  std::uint32_t count = 1;
  bool at_least = false;                    // there were more than `count`
  rota::job::reason reason = reason::none;  // none: it is due
  trigger why = trigger::schedule;
};

struct passed_by {
  std::vector<passed_instants> rows;  // oldest first
  instant cursor{};                   // beyond all of them
  instant next = instant::max();      // the first one to come
};

struct job_times {
  instant cursor;
  instant anchor;
  instant next;  // the first after the cursor; it has passed
  bool paused;
};

passed_by instants_passed(const schedule& when, const rules& r, const job_times& job, instant now,
                          missed_budget& budget);

}  // namespace rota::job

#endif
