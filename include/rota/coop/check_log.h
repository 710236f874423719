// Whether what a runtime has shown of a run can be true: is its log admissible?
//
//   if (auto fault = check_log(p, records, {.end = ending::done})) complain(*fault);
//
// A log is replayed in the relation that the scheduler chooses from. What the active task does is
// determined; where no task is active, the next record names the task that moves, and that must be
// able to. And nobody is overtaken for ever: while a task could move at every such point, others
// have few turns.
//
// Promised: a log that lagc-sched writes has no fault, and a log that no run writes has one.
// Not promised: that a log without fault is the scheduler's; for that, compare. Each turn takes
// time in proportion to the number of tasks.
//
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_CHECK_LOG_H
#define ROTA_COOP_CHECK_LOG_H

#include <rota/coop/configuration.h>
#include <rota/coop/log.h>
#include <rota/coop/program.h>
#include <rota/coop/run.h>
#include <rota/coop/value.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rota::coop {

// How far a task may be overtaken while it could move.
enum class overtaking : std::uint8_t {
  once,    // by every other task once: what the scheduler does
  within,  // by N + slack turns in all, where N tasks are live
  any,
};

struct log_options {
  // How the run ended. At the limit, the log may stop anywhere.
  ending end = ending::limit;
  // The variables in the end, if they are to be compared; not at the limit.
  std::optional<named_state> state = {};
  coop::overtaking overtaking = overtaking::once;
  std::uint64_t slack = 0;
  std::uint64_t bound = 1'000'000;  // local steps without a record that are looked through
  // See the run as it is replayed: its steps are those of the relation.
  std::vector<run_observer*> observers = {};
};

struct log_fault {
  std::size_t record = 0;  // from 0; how many there are, if it is the end that cannot be
  std::string expected;
  std::string found;
};

// The program is in coopwhile, under lagc_sched or lagc.
std::optional<log_fault> check_log(const program& p, std::span<const log_record> log,
                                   const log_options& options);

// Watches a run for awaited variables that are overwritten before the await is over. The rules read
// them when they visit the task; a runtime whose tasks await a handle has read them before, and its
// log may differ then.
class await_watch : public run_observer {
 public:
  explicit await_watch(const program& p) : program_(p) {}
  bool is_stable() const noexcept { return stable_; }

  void step(const taken_step& s, const configuration& c) override;

 private:
  const program& program_;
  bool stable_ = true;
  std::vector<std::optional<value>> awaited_;  // of each task that waits: what it gave way for
};

}  // namespace rota::coop

#endif
