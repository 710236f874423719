// What the engine holds: the table, the runs that are not over, and the next transaction.
//
// Memory is ahead of the ledger: a change is made here and noted in `plan`, and flush() writes it.
// What others can see (starts, stops, forgotten files, events) waits in the plan until then (rule
// K1). If the ledger fails, the plan stays, and is all that is tried until it works: so a crash at
// any time loses only what nobody was told of.
#ifndef ROTA_JOB_ENGINE_STATE_H
#define ROTA_JOB_ENGINE_STATE_H

#include <rota/base/rng.h>
#include <rota/job/engine.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "job/due_queue.h"
#include "job/job_table.h"
#include "job/missed.h"

namespace rota::job {

inline constexpr milliseconds rebase_step{3 * 3'600'000};  // T4: a clock set back by so much
inline constexpr milliseconds told_step{60'000};           // by so much: it is told
inline constexpr instant long_ago{milliseconds{-1'000'000'000'000'000}};
inline constexpr milliseconds ledger_pause{1'000};  // between two tries of a broken ledger
// Of one owner; who is away for longest is forgotten first. As many as there may be jobs.
inline constexpr std::size_t most_pauses = 100'000;
// After a restart: so long an end waits for its job, if jobs come one by one.
inline constexpr milliseconds held_most{60'000};

// What a definition leaves out, as in one that is made by hand.
inline const definition& fill_in(definition& d) {
  if (!d.rules) d.rules = std::make_shared<const rota::job::rules>();
  if (!d.surroundings) d.surroundings = std::make_shared<const rota::job::surroundings>();
  return d;
}

// A run that is not over.
struct live_run {
  // Where it is:
  //   held     restored; the table that says what it is has not come yet
  //   queued   in the due queue
  //   later    a retry before its time
  //   launched
  enum class place : std::uint8_t { held, queued, later, launched };

  rota::job::run row;
  job_index job = no_job;
  std::uint32_t group = 0;  // launched: whose slot it has
  place at = place::held;
  bool touched = false;             // part of the next transaction
  bool handed = false;              // launched: the launcher has it
  bool restored = false;            // launched: by a daemon before this one
  bool in_slot = false;             // launched, and not known to have ended
  bool at_once = false;             // beyond the caps
  outcome stopped = outcome::none;  // what it becomes if the launcher says cancelled

  // Nobody can have started it: a launch that is only planned is none yet.
  bool waits() const noexcept { return at != place::launched || (!handed && !restored); }
  due_key key() const noexcept { return {row.scheduled, row.id}; }
};

// The next transaction, and what follows it.
struct plan {
  std::vector<run> over;                           // rows of runs that are over, or were skipped
  std::vector<run_id> touched;                     // runs that are not over
  std::vector<job_index> jobs;                     // whose job_row has changed
  std::set<std::string> forgotten;                 // whose job_row goes
  std::set<std::pair<std::string, instant>> keys;  // of new rows (T1)
  std::set<std::pair<std::string, std::string>> pauses;  // by owner and job: those that changed
  std::vector<run> doubts;  // of the rows whose key the ledger could not tell of: id and key
  // Afterwards:
  std::vector<job_index> recorded;  // jobs whose instants have their rows: armed again
  std::vector<run_id> starts;
  std::vector<run_id> stops;
  std::vector<run_id> forgets;
  std::vector<engine_event> events;
};

struct engine::state {
  state(engine_options o, ledger& l, launcher& s);

  // --- engine.cpp: transactions ----------------------------------------------------------------
  // Writes the plan and lets its consequences out. False: the ledger failed, all is still planned.
  bool flush(instant now);
  changes planned();
  void release();
  void step(instant now);
  void touch(job_index i);
  void touch(live_run& r);
  void tell(engine_event::kind what, std::string_view job, const run* r = nullptr,
            std::string text = {});
  job_row row_of(job_index i) const;
  std::optional<instant> wake_at() const;
  bool pause(std::string_view name, bool paused, instant now);
  job_view view(job_index i) const;

  // --- engine_table.cpp ------------------------------------------------------------------------
  void restore(instant now);
  void take_over(run row);
  void before_change(instant now);
  void put(const definition& d, instant now);
  bool define(job_index i, const definition& d);
  void add(job_index i, const definition& d, instant now);
  void change(job_index i, const definition& d, instant now);
  void set_jobs(std::vector<definition> all, instant now);
  void remove(std::vector<job_index> gone, instant now);
  void drop_if_unused(job_index i);
  void put_pause(const std::string& owner, const std::string& job, std::optional<instant> away);
  void find_pause(job_index i, instant now);   // as the job comes
  void leave_pause(job_index i, instant now);  // as it goes
  void sweep_pauses(instant now);
  static bool too_old(const run& row, const rota::job::rules& r, instant now);
  void release_held(job_index i, instant now);  // what waited for the table
  void decide_held(instant now);                // what the table does not have
  void listen_to_others(job_index i);
  std::uint32_t group_of(job_index i);
  std::uint32_t group_of(const std::string& owner, const std::string& group);
  bool too_many_wait(const std::string& owner) const;
  std::uint32_t cap_of(const std::string& group) const;
  instant absent_at(job_index i) const;
  void set_next(job_index i);
  void arm(job_index i);
  std::vector<run_id> runs_of(job_index i) const;

  // --- engine_due.cpp: instants become rows ----------------------------------------------------
  void look_at_clock(instant now);
  void rebase(instant now);
  void tick(instant now);
  void record(job_index i, instant now, missed_budget& budget);
  void notice_absence(job_index i, instant now);
  void reboot(job_index i, instant now);
  // A first attempt: due, or skipped by the rules O1 and M3.
  run_id admit(job_index i, instant scheduled, trigger why, instant now);
  reason refusal(job_index i, trigger why) const;
  // O1, replace: what waits or runs gives way to the run that is due.
  void make_room(job_index i, run_id due, instant now);
  void skip(job_index i, const passed_instants& p, instant now);
  instant unused(job_index i, instant scheduled, run_id id);
  bool is_taken(const std::string& job, instant scheduled);
  // Asks for all keys in doubt again. Throws if the ledger still cannot tell.
  void settle_doubts();
  void move_row(run_id id, instant to);
  run_id next_id() { return next_id_++; }
  live_run& hold(run row, job_index i);
  void enqueue(live_run& r, std::uint32_t passed = 0);

  // --- engine_runs.cpp: rows become runs -------------------------------------------------------
  void wake_retries(instant now);
  void launch(instant now);
  void launch_at_once(instant now);
  void do_launch(live_run& r, std::uint32_t group, instant now, std::string text = {});
  void take_ends(instant now);
  void finish(live_run& r, const run_result& result, instant now);
  void take_slot(live_run& r);
  void free_slot(live_run& r);
  bool try_again(const live_run& r, instant now);
  milliseconds back_off(const retry_rule& rule, std::uint32_t attempt);
  void judge(const run& row, job_index i);
  void wake_dependents(const run& row, instant now);
  // Takes it out of where it waits.
  void unplace(live_run& r);
  void end(live_run& r, outcome o, reason why, instant now);
  bool cancel(run_id id, instant now);
  void stop(live_run& r, outcome o);

  engine_options options;
  ledger& book;
  launcher& starter;
  std::function<void(const engine_event&)> listener;

  job_table table;
  std::unordered_map<std::string, std::uint32_t> group_limits;  // of the queue, by name
  struct of_owner {
    std::optional<std::uint32_t> limit;                     // of the queue
    std::unordered_map<std::string, std::uint32_t> groups;  // of the queue, by name
  };
  std::unordered_map<std::string, of_owner> owners;  // root, and who has no limit, is ""
  // Since when a job that is paused is away, or zero, by owner and name.
  std::map<std::string, std::map<std::string, instant>> pauses;
  // Who is due after a job, by its name; entries of jobs that are gone or changed are dropped when
  // they are met.
  std::unordered_map<std::string, std::vector<job_index>> dependents;

  std::unordered_map<run_id, live_run> runs;
  due_queue queue;
  std::set<std::pair<instant, run_id>> retries;  // by their time
  std::set<run_id> at_once;                      // that wait
  std::uint32_t used = 0;                        // slots: launched and not over
  run_id next_id_ = 1;

  std::vector<std::pair<run_id, run_result>> ends;  // what the launcher has said
  // Of jobs that the table may still bring; none of these has a slot.
  std::vector<std::pair<run_id, run_result>> held_ends;
  std::unordered_map<job_index, std::vector<run_id>> held;
  std::multiset<job_index> ending;  // of rows that are launched and have no slot any more

  rota::job::plan plan;
  rota::detail::rng random;
  instant latest = long_ago;  // the latest time seen
  instant seen = long_ago;    // the last time seen; below `latest` after the clock was set back
  instant last_try{};         // of a ledger that fails
  bool failing = false;
  bool ready = false;      // there is a table
  bool held_back = false;  // restored, and the whole table has not come yet
  instant held_until{};    // then held_ends do without their jobs
  bool draining = false;
  std::uint32_t generation = 0;
};

}  // namespace rota::job

#endif
