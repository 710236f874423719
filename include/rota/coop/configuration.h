// Configurations: all that the rest of a run depends on, as a value.
//
// Copies are independent of each other; equality and hash serve exploration and the search for
// periods. One type serves all semantics, each of which uses a part of it.
//
//   configuration c = initial_configuration(p);
//   while (!is_final(p, c)) take_step(p, c, choose(p, c));      // rules.h
//
// Threads: as any value.
#ifndef ROTA_COOP_CONFIGURATION_H
#define ROTA_COOP_CONFIGURATION_H

#include <rota/coop/local.h>
#include <rota/coop/program.h>
#include <rota/coop/value.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace rota::coop {

inline constexpr std::uint32_t no_procedure = 0xFFFFFFFF;

// What has happened to a task: its call event; its call reaction event; its completion event, or,
// where there is none, its end.
enum class phase : std::uint8_t { called, live, ended };

struct task_record {
  std::uint32_t procedure = no_procedure;  // main has none
  coop::phase phase = phase::called;
  bool bound = false;  // the parameter is a variable of the state
  continuation rest = empty_continuation;
  value argument;   // of the call
  value parameter;  // as it is now

  bool operator==(const task_record&) const = default;
};

struct call {
  std::uint32_t procedure = 0;
  value argument;

  bool operator==(const call&) const = default;
};

struct configuration {
  std::vector<value> globals;
  std::vector<task_record> tasks;  // by identifier; those that ended stay, as their parameter does
  task_id active = no_task;
  // The tasks that are not active: in a scheduler's order, or ascending where nothing is scheduled.
  // A task that was called, under lagc_sched, is a marker.
  std::deque<task_id> queue;
  task_id pending = no_task;  // lagc_sched, coopwhile: the last event is the call of this task
  std::vector<call> open;     // spawn, guard: calls without reaction, the earliest first
  std::int64_t c = 0;  // lagc_sched, coopwhile: counts local steps down. A measure, no state.

  // Without c.
  bool operator==(const configuration& other) const;
};

std::size_t hash_of(const configuration& c) noexcept;

configuration initial_configuration(const program& p);

// No continuation left, no open call.
bool is_final(const program& p, const configuration& c);

// No task is active.
inline bool is_quiescent(const configuration& c) noexcept { return c.active == no_task; }

// The state as task f sees it.
inline environment environment_of(const configuration& c, task_id f) noexcept {
  return {c.globals.data(), &c.tasks[f].parameter};
}

// Whether f waits at an await of a task that has not ended, or at a false guard. What cannot be
// evaluated does not block: it will be visited and reported.
bool is_blocked(const program& p, const configuration& c, task_id f);

// The names and values of all variables, in ascending order of the names' bytes.
using named_state = std::vector<std::pair<std::string, value>>;
named_state state_of(const program& p, const configuration& c);

// "p#3", the parameter of a task.
std::string parameter_name(const program& p, std::uint32_t procedure, task_id f);

}  // namespace rota::coop

template <>
struct std::hash<rota::coop::configuration> {
  std::size_t operator()(const rota::coop::configuration& c) const noexcept {
    return rota::coop::hash_of(c);
  }
};

#endif
