// The semantics as rules over configurations.
//
//   std::vector<derivation> possible;
//   find_steps(rules, p, c, possible);    // all of them, in canonical order
//   take_step(p, c, possible[choice]);    // c becomes its successor
//
// A scheduler is a set of rules that leaves one step, another semantics one that leaves several;
// running, choosing at random, exploring and checking ask the same function. Each rule is one
// function in a table, so that a table with one rule replaced is another scheduler, a mutant say.
//
// Promised: what find_steps() gives does not change the configuration, and is in the same order
// for equal configurations.
// Threads: anyone's; each call works on what it is given, and nothing is shared.
#ifndef ROTA_COOP_RULES_H
#define ROTA_COOP_RULES_H

#include <rota/coop/configuration.h>
#include <rota/coop/local.h>
#include <rota/coop/program.h>
#include <rota/coop/value.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rota::coop {

// callEv, callREv, compEv, compREv, doneEv.
enum class event_kind : std::uint8_t {
  call,
  call_reaction,
  completion,
  completion_reaction,
  done,
};

struct event {
  event_kind kind = event_kind::done;
  task_id task = no_task;  // none of doneEv, and of calls in spawn and guard
  std::uint32_t procedure = no_procedure;
  value argument = {};
};

struct update {
  task_id owner = no_task;  // of a parameter
  variable slot = no_variable;
  value to = {};
};

// No step has more than two events or updates.
template <class T>
class pair_list {
 public:
  void push_back(const T& t) { items_[size_++] = t; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<T, 2> items_{};
  std::size_t size_ = 0;
};

// Where the task that a step acts on is afterwards.
enum class place : std::uint8_t {
  active,
  queue,    // at the rear; among the others, in their order, where nothing is scheduled
  nowhere,  // it has ended
};

struct rule;

// One step that a rule allows, described in full.
struct derivation {
  const rule* by = nullptr;
  task_id task = no_task;  // it acts on this one, which may be new
  position at = {};
  pair_list<event> events = {};
  pair_list<update> updates = {};
  continuation rest = empty_continuation;  // of the task, afterwards
  place to = place::active;
  bool queues_call = false;   // the task that was called goes to the queue at once, ready to run
  bool resumes = false;       // the task was suspended and goes on
  task_id pending = no_task;  // as configuration::pending afterwards
  std::int64_t c = 0;         // as configuration::c afterwards
  std::optional<failure> error = {};  // taking it ends the run
};

struct rule {
  using finder = void (*)(const program& p, const configuration& c, std::vector<derivation>& found);
  using taker = void (*)(const program& p, configuration& c, const derivation& d);

  std::string_view name;  // as in traces: "19", "LOCAL"
  finder find = nullptr;  // adds what it allows
  taker take = nullptr;   // how a step by this rule changes the configuration
};

using rule_table = std::vector<rule>;

// Those of the program's semantics and language.
rule_table rules_of(const program& p);

// What any of the rules allows, in canonical order. Replaces what was found before.
void find_steps(const rule_table& rules, const program& p, const configuration& c,
                std::vector<derivation>& found);

// What the derivation says. It has no error.
void take_step(const program& p, configuration& c, const derivation& d);

// "task 2 starts m(5)", "task 1 goes on at 6:11", "main goes on at 7:3 and fails".
std::string in_words(const program& p, const derivation& d);

// Nothing can ever happen again, though the configuration is not final. For a scheduler: every
// element of the queue is blocked, so that rotating it would change nothing. `found` are its steps.
bool is_deadlocked(const program& p, const configuration& c, const std::vector<derivation>& found);

}  // namespace rota::coop

#endif
