// Checks a system: all its states and, for liveness, all its fair behaviours.
//
//   auto result = rota::verify::check(system, options);
//   for (const auto& p : result.properties) ...   // verdicts, with counterexamples
//
// Safety is a breadth-first search, so counterexamples are as short as possible. Liveness looks for
// fair cycles by strongly connected components of the state graph.
//
// Promised: exact: states are compared, not their hashes; a verdict other than unknown is of all
// states that the options let it see. Not promised: a shortest lasso.
// Threads: anyone's; it has workers of its own while it runs.
#ifndef ROTA_VERIFY_CHECKER_CHECK_H
#define ROTA_VERIFY_CHECKER_CHECK_H

#include <rota/verify/checker/system.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace rota::verify {

// What a search knows while it runs.
struct progress {
  const char* phase = "states";  // or "steps", "fair cycles", "walks"
  std::uint64_t distinct = 0;
  std::uint64_t generated = 0;
  std::uint64_t queued = 0;  // found, not yet looked at
  std::uint32_t depth = 0;
  std::size_t bytes = 0;
  double seconds = 0;
  // How many states there may be in all, once the levels of the search have begun to shrink.
  std::optional<std::uint64_t> estimate;
};

// Another strength for all actions of a group, or for one action.
struct fairness_rule {
  std::string name;
  fairness strength = fairness::none;
};

struct check_options {
  unsigned workers = 0;  // 0: one a processor
  bool symmetry = false;
  bool stop_at_first = false;                // at the first violation, rather than after all states
  std::uint64_t max_states = 0;              // 0: no limit
  std::size_t max_bytes = 0;                 // 0: no limit
  std::vector<std::size_t> properties = {};  // which ones; empty: all that are not known to fail
  std::vector<fairness_rule> fairness = {};  // instead of the model's own
  std::stop_token stop = {};
  std::function<void(const progress&)> on_progress = {};  // every half second or so
};

enum class outcome : std::uint8_t { complete, violation, stopped, max_states, max_memory };
enum class verdict : std::uint8_t { holds, violated, unknown };

// One state of a counterexample, and the step that led there (none for the first).
struct trace_step {
  std::optional<label> by;
  std::vector<word> state;
};

struct trace {
  std::vector<trace_step> steps;
  // Liveness: the last step leads back to this one. If it is the last itself, nothing happens any
  // more.
  std::optional<std::size_t> loop;
};

struct property_result {
  std::size_t property = 0;
  verdict result = verdict::unknown;
  unsigned instance = 0;  // which one is violated
  trace counterexample;
};

struct check_result {
  outcome how = outcome::complete;
  // Of the model's states, always: also of those that a search with symmetry did not look at.
  std::uint64_t distinct = 0;
  std::uint64_t generated = 0;
  std::uint64_t deadlocks = 0;  // states without a step
  std::uint32_t depth = 0;      // of the search: with symmetry it may be less
  // What a search with symmetry looked at. Without symmetry the same as above.
  bool symmetry = false;
  std::uint64_t representatives = 0;
  std::uint64_t representatives_generated = 0;

  std::size_t bytes = 0;  // at the most
  double seconds = 0;     // for the states
  double liveness_seconds = 0;
  std::vector<std::uint64_t> taken;  // per action: how many steps
  std::vector<property_result> properties;
};

check_result check(const system& s, const check_options& o = {});

// Random walks, for what is too large: finds violations of invariants and deadlocks, proves
// nothing. The same seed takes the same walks, whatever the number of workers.
struct simulate_options {
  std::uint64_t seed = 1;
  std::uint64_t walks = 10'000;
  std::uint32_t depth = 1'000;  // the most steps of a walk
  unsigned workers = 0;         // 0: one a processor
  std::vector<std::size_t> properties = {};
  std::stop_token stop = {};
  std::function<void(const progress&)> on_progress = {};
};

struct simulate_result {
  std::uint64_t walks = 0;
  std::uint64_t steps = 0;
  std::uint32_t longest = 0;  // steps of a walk
  std::uint64_t ended = 0;    // walks that came to a state without a step
  bool stopped = false;
  double seconds = 0;
  std::vector<std::uint64_t> taken;         // per action: how many steps
  std::vector<property_result> properties;  // violated or unknown
};

// Stops after the first walk that violates something. Its counterexample has no state twice.
simulate_result simulate(const system& s, const simulate_options& o = {});

}  // namespace rota::verify

#endif
