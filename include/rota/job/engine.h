// Runs jobs when they are due: rows first, then programs, never more than the cap.
//
//   rota::job::engine e{{.max_active = 4}, ledger, launcher};
//   e.restore(now);                  // what was under way is adopted, what was due is still due
//   e.set_jobs(definitions, now);    // the table, or the next version of it: a diff by name
//   // then, for ever: wait until e.wake_at() or an event of the launcher, and
//   e.advance(now);
//
// Passive: no thread, no clock, no I/O but through the two ports. Whoever calls it is one at a
// time; the launcher's events come on the same thread, and only note what happened: the next
// advance() acts on it, and wake_at() says that there is something to do.
//
// Promised: bounded_programs (at most max_active runs are launched and not over), every_due_run
// (each instant becomes one row, which runs once or says why it was skipped), and the order of rule
// C2: (scheduled, id), where a run that waits for its own job or group may be passed meanwhile, at
// most `passes` times if that is asked for. By default it may be passed as long as it has to wait,
// since it could not use the slot: a bound would let one hung job stop all others. Spec:
// specs/crond_runs, with its MAPPING.md.
//
// Each call is one transaction, and nothing is started, stopped, forgotten or told before the
// ledger has it. While the ledger cannot write, nothing starts and no instant is looked at: they
// are found as missed ones when it works again. What was asked for meanwhile (a pause, another
// table) is in force and is written then; only run_job() refuses, since it would promise a row.
//
// Not promised: how often a run was passed is forgotten by a restart.
//
// Threads: one at a time, the launcher's events included. An event's listener must not call the
// engine.
#ifndef ROTA_JOB_ENGINE_H
#define ROTA_JOB_ENGINE_H

#include <rota/job/definition.h>
#include <rota/job/launcher.h>
#include <rota/job/ledger.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rota::job {

inline constexpr std::uint32_t no_limit = 0xFFFF'FFFF;

// A pause outlives a job that is away, say while its file is moved: the job is paused again when it
// returns within this time, under the same name and owner.
inline constexpr std::chrono::days pause_outlives{30};

struct engine_options {
  std::uint32_t max_active = 16;    // C1; at least 1
  std::uint32_t passes = no_limit;  // C2
  // Of each owner, but not of root: how many runs at a time, and how many are due and wait. Who is
  // at the first waits as one whose group is full; beyond the second instants are skipped as
  // `queue_full`, and run_job() refuses.
  std::uint32_t owner_cap = no_limit;
  std::uint32_t owner_waiting = no_limit;
  std::map<std::string, std::uint32_t> groups = {};  // caps of groups, at least 1; others have none
  std::string boot = {};                             // id of this boot
  std::uint64_t seed = 0;                            // of the jitter of retries
  bool tell_first_table = true;  // job_added for each job of the first set_jobs()
};

// Too many runs of the owner wait: says how many may.
struct too_many_waiting : std::runtime_error {
  using runtime_error::runtime_error;
};

// What has happened, for the log, the page and alerts; sent after the ledger has it.
struct engine_event {
  enum class kind : std::uint8_t {
    job_added,
    job_changed,
    job_removed,
    job_paused,
    job_resumed,
    run_due,
    run_launched,
    run_started,
    run_over,
    run_skipped,
    job_failed,     // the last attempt of a run was no success
    job_recovered,  // the first success after that, or after job_absent
    job_absent,     // no success for `absence`; once, until there is one
    clock_back,
    clock_forward,
    ledger_failed,
    ledger_works,
  };
  kind what;
  std::string job;
  std::optional<rota::job::run> run;
  std::string text;   // for a person
  std::string owner;  // whose job it is, or was; empty: root's, or nobody's
};

std::string_view to_text(engine_event::kind k) noexcept;

// The seed's statuses. Only for an instant's time a job is `set`, `no` or `run`, unless it has no
// next instant (then it rests in `no`) or the ledger fails (then it stays in `run`).
enum class job_status : std::uint8_t {
  none,  // not in the table: a run of it is still under way, or its rows wait for the table
  set,   // in the table
  no,    // its next instant is known
  yes,   // and the timer waits for it
  run,   // it has passed, its row is on the way to the ledger
};

// A job as it stands.
struct job_view {
  std::shared_ptr<const definition> def;
  job_row row;
  std::optional<instant> next;
  std::uint32_t waiting = 0;  // due runs, and retries that wait for their time
  std::uint32_t running = 0;
  job_status status = job_status::none;
};

class engine {
 public:
  engine(engine_options o, ledger& l, launcher& s);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  void on_event(std::function<void(const engine_event&)> f);

  // Before the first set_jobs(), which then acts on what was found. Throws ledger_error if the
  // ledger cannot be read.
  void restore(instant now);

  // --- the table -------------------------------------------------------------------------------
  // All jobs that there are: those that are gone are removed, those that are the same stay
  // untouched (K4). What a removed job had waiting is skipped, what was launched goes on.
  void set_jobs(std::vector<definition> all, instant now);
  // Caps of groups, all that there are. A lower one stops nobody; the next call acts on it.
  void set_groups(std::map<std::string, std::uint32_t> caps);
  void add_job(definition d, instant now);  // or changes the one of that name
  bool remove_job(std::string_view name, instant now);

  // --- time ------------------------------------------------------------------------------------
  // The earliest instant at which advance() has something to do.
  std::optional<instant> wake_at() const;
  // Writes the rows of all instants that have passed and of all runs that are over, and launches
  // what may start: one transaction.
  void advance(instant now);

  // Zones are others than they were (time_zone::read_again()): next instants are found anew, from
  // what has its rows on (T4).
  void zones_changed(instant now);

  // --- requests --------------------------------------------------------------------------------
  // A manual run joins the queue; with `at_once` it starts beyond the caps, as soon as no other run
  // of a job that does not allow two is under way. Nothing: no such job. Throws ledger_error if
  // there can be no row, too_many_waiting if owner_waiting is reached.
  std::optional<run_id> run_job(std::string_view name, std::string by, bool at_once, instant now);
  bool pause(std::string_view name, instant now);
  bool resume(std::string_view name, instant now);
  bool cancel(run_id id,
              instant now);  // in every state; false: there is no such run, or it is over
  void drain();              // launches nothing more

  // --- looking ---------------------------------------------------------------------------------
  std::optional<job_view> find(std::string_view name) const;
  void each_job(const std::function<void(const job_view&)>& f) const;
  std::size_t job_count() const;
  std::vector<run> waiting() const;  // in the order of the queue, then retries by their time
  std::vector<run> running() const;  // launched and not over, by id
  std::optional<run> find_run(run_id id) const;  // of those that are not over
  // How often others have passed a run that is in the queue; nothing if it is not.
  std::optional<std::uint32_t> passed(run_id id) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace rota::job

#endif
