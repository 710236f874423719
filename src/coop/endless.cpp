#include "endless.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace rota::coop {

namespace {

using part = std::vector<state_number>;

// --- strongly connected parts -------------------------------------------------------------------

// Tarjan's algorithm, with a stack of its own: paths are long.
class part_finder {
 public:
  explicit part_finder(const state_graph& graph)
      : graph_(graph), order_(graph.size(), unseen), low_(graph.size(), unseen) {}

  // Those with a cycle.
  std::vector<part> find() {
    for (state_number n = 0; n < graph_.size(); ++n)
      if (order_[n] == unseen) visit_all_from(n);
    return std::move(parts_);
  }

 private:
  static constexpr std::uint32_t unseen = 0xFFFFFFFF;
  static constexpr std::uint32_t closed = 0xFFFFFFFE;  // as low: its part is known

  struct visit {
    state_number at;
    std::size_t next = 0;  // edge
  };

  void enter(state_number n) {
    order_[n] = low_[n] = entered_++;
    open_.push_back(n);
    visits_.push_back({n});
  }

  void visit_all_from(state_number first) {
    enter(first);
    while (!visits_.empty()) {
      visit& v = visits_.back();
      const auto edges = graph_.edges(v.at);
      if (v.next == edges.size()) {
        leave();
        continue;
      }
      const graph_edge& e = edges[v.next++];
      if (!e.inside()) continue;
      if (order_[e.to] == unseen)
        enter(e.to);
      else if (low_[e.to] != closed)
        low_[v.at] = std::min(low_[v.at], order_[e.to]);
    }
  }

  void leave() {
    const state_number n = visits_.back().at;
    visits_.pop_back();
    if (!visits_.empty()) {
      std::uint32_t& above = low_[visits_.back().at];
      above = std::min(above, low_[n]);
    }
    if (low_[n] == order_[n]) close(n);
  }

  void close(state_number root) {
    const auto from = std::find(open_.rbegin(), open_.rend(), root).base() - 1;
    part found{from, open_.end()};
    open_.erase(from, open_.end());
    for (state_number n : found) low_[n] = closed;
    if (found.size() == 1 && !has_loop(root)) return;
    std::sort(found.begin(), found.end());
    parts_.push_back(std::move(found));
  }

  bool has_loop(state_number n) const {
    const auto edges = graph_.edges(n);
    return std::any_of(edges.begin(), edges.end(), [&](const graph_edge& e) { return e.to == n; });
  }

  const state_graph& graph_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> low_;
  std::vector<state_number> open_;
  std::vector<visit> visits_;
  std::vector<part> parts_;
  std::uint32_t entered_ = 0;
};

// --- one of them --------------------------------------------------------------------------------

class connected_part {
 public:
  connected_part(const state_graph& graph, const part& states) : graph_(graph), states_(states) {}

  state_number entry() const { return states_.front(); }

  // A state without active task.
  state_number quiescent() const {
    for (state_number n : states_)
      if (graph_.is_quiescent(n)) return n;
    return no_state;
  }

  // The tasks that could move at each state without active task, and never do.
  std::vector<task_id> passed_over() const {
    std::set<task_id> left = tasks_of(quiescent());
    for (state_number n : states_) {
      for (const graph_edge& e : graph_.edges(n))
        if (contains(e.to)) left.erase(e.task);
      if (graph_.is_quiescent(n)) std::erase_if(left, [&](task_id f) { return !can_move(n, f); });
    }
    return {left.begin(), left.end()};
  }

  graph_path shortest_cycle() const {
    graph_path path;
    extend(path, [&](const graph_step& s) { return graph_.edge(s).to == entry(); });
    return path;
  }

  // A cycle that is fair to every task that can move at a state without active task.
  graph_path fair_cycle() const {
    graph_path path;
    std::set<task_id> all;
    for (state_number n : states_)
      if (graph_.is_quiescent(n)) all.merge(tasks_of(n));
    for (task_id f : all) {
      const auto is_fair = [&](const graph_step& s) {
        return graph_.edge(s).task == f || (graph_.is_quiescent(s.from) && !can_move(s.from, f));
      };
      if (std::none_of(path.begin(), path.end(), is_fair)) extend(path, is_fair);
    }
    if (path.empty() || graph_.edge(path.back()).to != entry())
      extend(path, [&](const graph_step& s) { return graph_.edge(s).to == entry(); });
    return path;
  }

 private:
  bool contains(state_number n) const {
    return std::binary_search(states_.begin(), states_.end(), n);
  }

  std::set<task_id> tasks_of(state_number n) const {
    std::set<task_id> all;
    for (const graph_edge& e : graph_.edges(n)) all.insert(e.task);
    return all;
  }

  bool can_move(state_number n, task_id f) const {
    const auto edges = graph_.edges(n);
    return std::any_of(edges.begin(), edges.end(),
                       [&](const graph_edge& e) { return e.task == f; });
  }

  // Goes on inside the part, by the fewest steps, until a step is as wanted, which there is.
  void extend(graph_path& path, const std::function<bool(const graph_step&)>& wanted) const {
    const state_number start = path.empty() ? entry() : graph_.edge(path.back()).to;
    std::map<state_number, graph_step> reached_by;
    std::deque<state_number> next{start};
    for (; !next.empty(); next.pop_front()) {
      const state_number from = next.front();
      for (std::uint32_t i = 0; i < graph_.edges(from).size(); ++i) {
        const graph_step s{from, i};
        const state_number to = graph_.edge(s).to;
        if (!contains(to)) continue;
        if (wanted(s)) return append(path, start, s, reached_by);
        if (to != start && reached_by.try_emplace(to, s).second) next.push_back(to);
      }
    }
  }

  static void append(graph_path& path, state_number start, graph_step last,
                     const std::map<state_number, graph_step>& reached_by) {
    graph_path backwards{last};
    while (backwards.back().from != start)
      backwards.push_back(reached_by.at(backwards.back().from));
    path.insert(path.end(), backwards.rbegin(), backwards.rend());
  }

  const state_graph& graph_;
  const part& states_;
};

endless_path endless_in(const state_graph& graph, const part& states, bool complete) {
  const connected_part here{graph, states};
  endless_path run;
  run.quiescent = here.quiescent();
  if (run.quiescent == no_state) {
    run.kind = endless_kind::local;
    return run;
  }
  run.whom = here.passed_over();
  if (run.whom.empty())
    run.kind = endless_kind::fair;
  else
    run.kind = complete ? endless_kind::unfair : endless_kind::undecided;
  return run;
}

}  // namespace

std::vector<endless_path> find_endless(const state_graph& graph, bool complete) {
  std::vector<part> parts = part_finder{graph}.find();
  // By their nearest states.
  std::sort(parts.begin(), parts.end());
  std::vector<endless_path> found;
  for (const part& states : parts) {
    endless_path run = endless_in(graph, states, complete);
    const auto same = [&](const endless_path& other) { return other.kind == run.kind; };
    if (std::any_of(found.begin(), found.end(), same)) continue;
    const connected_part here{graph, states};
    run.prefix = graph.path_to(here.entry());
    run.cycle = run.kind == endless_kind::fair ? here.fair_cycle() : here.shortest_cycle();
    found.push_back(std::move(run));
  }
  return found;
}

}  // namespace rota::coop
