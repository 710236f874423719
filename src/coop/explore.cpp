#include <rota/coop/explore.h>

#include <rota/base/assert.h>
#include <rota/coop/trace.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "endless.h"
#include "state_graph.h"

namespace rota::coop {

std::string_view name_of(endless_kind kind) noexcept {
  switch (kind) {
    case endless_kind::local:
      return "local";
    case endless_kind::fair:
      return "fair";
    case endless_kind::unfair:
      return "unfair";
    case endless_kind::undecided:
      break;
  }
  return "undecided";
}

pick_list schedule::picks() const {
  pick_list all;
  for (const choice& c : choices) all.push_back(c.index);
  return all;
}

// --- who awaits whom ----------------------------------------------------------------------------

// A task awaits one task at most, so whoever follows them either comes to an end or goes round.
std::vector<std::vector<task_id>> waiting_cycles(const std::vector<blocked_task>& blocked) {
  std::unordered_map<task_id, task_id> on;
  for (const blocked_task& b : blocked)
    if (b.on != no_task) on[b.task] = b.on;
  std::vector<std::vector<task_id>> cycles;
  for (const blocked_task& b : blocked) {
    std::vector<task_id> path{b.task};
    for (auto next = on.find(b.task); next != on.end(); next = on.find(next->second)) {
      if (next->second == b.task) {
        // Each cycle is told once: by its smallest task.
        if (*std::min_element(path.begin(), path.end()) == b.task) cycles.push_back(path);
        break;
      }
      if (std::find(path.begin(), path.end(), next->second) != path.end()) break;
      path.push_back(next->second);
    }
  }
  return cycles;
}

// --- the search ---------------------------------------------------------------------------------

namespace {

// What makes two ends one.
std::string key_of(const outcome& o) {
  if (o.end == ending::error)
    return "error " + std::to_string(o.task) + ' ' + to_string(o.error.at) + ' ' +
           std::string(name_of(o.error.error));
  std::string key = to_json(o.state);
  for (const blocked_task& b : o.blocked)
    key += ' ' + std::to_string(b.task) + ' ' + to_string(b.at) + ' ' + std::to_string(b.on);
  return key;
}

// How a run ends in c: because there are no steps, or by the one that fails; then without its
// state, which may have many variables and seldom matters.
outcome end_of(const program& p, const configuration& c, const std::vector<derivation>& possible,
               std::uint32_t step) {
  outcome o;
  if (!possible.empty()) {
    o.end = ending::error;
    o.task = possible[step].task;
    o.error = *possible[step].error;
  } else if (!is_final(p, c)) {
    o.end = ending::deadlock;
    o.blocked = blocked_tasks(p, c);
  }
  if (possible.empty()) o.state = state_of(p, c);
  return o;
}

// Whether a is the step b of a task that is called otherwise in a's configuration.
bool same_step(const derivation& a, const derivation& b, task_id task) {
  const auto same_event = [](const event& x, const event& y) {
    return x.kind == y.kind && x.procedure == y.procedure && x.argument == y.argument;
  };
  return a.by == b.by && a.task == task &&
         std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(), same_event);
}

// Follows paths of the graph in a configuration that is not packed: there, tasks may have other
// numbers and the same steps come in another order, and picks are for these.
class path_follower {
 public:
  path_follower(const program& p, const rule_table& rules, const state_graph& graph)
      : program_(p), rules_(rules), graph_(graph), here_(initial_configuration(p)) {}

  // What there was to choose on the path.
  schedule follow(const graph_path& path) {
    schedule s;
    for (const graph_step& step : path) {
      take(step, s);
      ++s.steps;
    }
    return s;
  }

  // The same of a step that fails, which is chosen but not taken.
  void fail(graph_step step, schedule& s) { take(step, s); }

  const configuration& here() const noexcept { return here_; }

  // The number that a task of the graph has here. One that is about to start has none yet.
  task_id name_of(task_id packed) const {
    if (packed >= here_.tasks.size()) return packed;
    return packed_order(here_, graph_.names())[packed];
  }

 private:
  void take(graph_step step, schedule& s) {
    find_steps(rules_, program_, graph_.at(step.from), packed_);
    find_steps(rules_, program_, here_, possible_);
    const derivation& wanted = packed_.at(step.index);
    const task_id task = name_of(wanted.task);
    const auto at = std::find_if(possible_.begin(), possible_.end(),
                                 [&](const derivation& d) { return same_step(d, wanted, task); });
    ROTA_CHECK(at != possible_.end(), "a configuration lacks a step that its packed form has");
    if (possible_.size() > 1)
      s.choices.push_back({taken_ + 1, static_cast<std::uint32_t>(at - possible_.begin()),
                           static_cast<std::uint32_t>(possible_.size()), in_words(program_, *at)});
    if (at->error) return;
    at->by->take(program_, here_, *at);
    ++taken_;
  }

  const program& program_;
  const rule_table& rules_;
  const state_graph& graph_;
  configuration here_;
  std::uint64_t taken_ = 0;
  std::vector<derivation> packed_;
  std::vector<derivation> possible_;
};

}  // namespace

exploration::exploration(const program& p, const rule_table& rules, const explore_options& options)
    : program_(p),
      rules_(rules),
      graph_(std::make_unique<state_graph>(names_in(p), options.max_states, options.max_bytes)) {
  ROTA_CHECK(!is_scheduler(p.semantics()), "a scheduler has one run: there is nothing to explore");
  search();
  if (names_in(p) == task_names::do_not) name_tasks_of_ends();
  find_endless_runs();
}

exploration::~exploration() = default;

std::uint64_t exploration::states() const noexcept { return graph_->size(); }
std::uint64_t exploration::steps() const noexcept { return graph_->steps(); }
std::uint64_t exploration::choices() const noexcept { return graph_->choices(); }

// A state for which there is no room is not looked at, but all others are, to the last step.
void exploration::search() {
  std::unordered_set<std::string> known;
  std::vector<derivation> possible;
  std::vector<graph_edge> edges;
  graph_->add(initial_configuration(program_), {});
  for (state_number n = 0; n < graph_->size(); ++n) {
    const configuration c = graph_->at(n);
    find_steps(rules_, program_, c, possible);
    edges.clear();
    const auto add_end = [&](std::uint32_t step) {
      outcome o = end_of(program_, c, possible, step);
      if (!known.insert(key_of(o)).second) return;
      o.state = state_of(program_, c);
      o.steps = graph_->path_to(n).size();
      auto cycles = waiting_cycles(o.blocked);
      ends_.push_back({std::move(o), std::move(cycles), n, step});
    };
    if (possible.empty()) add_end(0);
    for (std::uint32_t i = 0; i < possible.size(); ++i) {
      const derivation& d = possible[i];
      if (d.error) {
        edges.push_back({no_state, d.task});
        add_end(i);
        continue;
      }
      configuration next = c;
      d.by->take(program_, next, d);
      edges.push_back({graph_->add(next, {n, i}), d.task});
      if (edges.back().to == unknown_state) complete_ = false;
    }
    graph_->add_edges(edges);
  }
}

// As their witnesses have them.
void exploration::name_tasks_of_ends() {
  for (found_end& e : ends_) {
    path_follower follower{program_, rules_, *graph_};
    follower.follow(graph_->path_to(e.state));
    e.what.state = state_of(program_, follower.here());
    if (e.what.end == ending::deadlock) e.what.blocked = blocked_tasks(program_, follower.here());
    if (e.what.end == ending::error) e.what.task = follower.name_of(e.what.task);
  }
}

schedule exploration::witness(const found_end& e) const {
  path_follower follower{program_, rules_, *graph_};
  schedule s = follower.follow(graph_->path_to(e.state));
  if (e.what.end == ending::error) follower.fail({e.state, e.step}, s);
  return s;
}

void exploration::find_endless_runs() {
  for (const endless_path& found : find_endless(*graph_, complete_)) {
    path_follower follower{program_, rules_, *graph_};
    endless_run run;
    run.kind = found.kind;
    run.prefix = follower.follow(found.prefix);
    run.cycle = follower.follow(found.cycle);
    for (task_id f : found.whom)
      run.whom.push_back({follower.name_of(f), place_of(found.quiescent, f)});
    endless_.push_back(std::move(run));
  }
}

// Where a task stands that can move.
position exploration::place_of(std::uint32_t state, task_id f) const {
  std::vector<derivation> possible;
  find_steps(rules_, program_, graph_->at(state), possible);
  const auto at = std::find_if(possible.begin(), possible.end(),
                               [&](const derivation& d) { return d.task == f; });
  return at == possible.end() ? position{} : at->at;
}

}  // namespace rota::coop
