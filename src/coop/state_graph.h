// The states of an exploration and the steps between them.
//
// A state is kept as a string of bytes, some tens of them: what is the same in two configurations
// that differ in nothing that matters is left out, and what follows from the rest is worked out
// again. States are numbered in the order in which they were met, so a path of parents is a
// shortest one.
#ifndef ROTA_SRC_COOP_STATE_GRAPH_H
#define ROTA_SRC_COOP_STATE_GRAPH_H

#include <rota/coop/configuration.h>
#include <rota/coop/program.h>
#include <rota/coop/value.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace rota::coop {

// Tasks of spawn and guard have no identity: their numbers say who started first, and nobody can
// tell. So they are kept in the order of procedures and arguments instead. The key of a task does
// not change while it lives; so it keeps its number as long as no task starts, on a cycle say.
enum class task_names : bool { matter, do_not };

task_names names_in(const program& p) noexcept;

// The tasks in the order in which they are packed.
std::vector<task_id> packed_order(const configuration& c, task_names names);

// All that matters of a configuration of lagc or sos.
std::string pack(const configuration& c, task_names names);

// The configuration that stands for all those that are packed the same.
configuration unpack(std::string_view packed, task_names names);

using state_number = std::uint32_t;
inline constexpr state_number no_state = 0xFFFFFFFF;       // the step fails
inline constexpr state_number unknown_state = 0xFFFFFFFE;  // there was no room for the state

// The step with this number among those of its state.
struct graph_edge {
  state_number to = no_state;
  task_id task = no_task;

  bool inside() const noexcept { return to < unknown_state; }
};

// One step of a path.
struct graph_step {
  state_number from = 0;
  std::uint32_t index = 0;

  bool operator==(const graph_step&) const = default;
};
using graph_path = std::vector<graph_step>;

class state_graph {
 public:
  state_graph(task_names names, std::uint64_t most_states, std::uint64_t most_bytes)
      : names_(names),
        most_states_(most_states),
        most_bytes_(most_bytes),
        known_(0, hasher{this}, equals{this}) {}
  state_graph(const state_graph&) = delete;
  state_graph& operator=(const state_graph&) = delete;

  // The number of the configuration, new or not; unknown_state if it is new and there are enough.
  state_number add(const configuration& c, graph_step from);

  // The steps of the next state, from 0; states get them in their order.
  void add_edges(const std::vector<graph_edge>& edges);

  std::size_t size() const noexcept { return states_.size(); }
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t choices() const noexcept { return choices_; }

  task_names names() const noexcept { return names_; }
  configuration at(state_number n) const { return unpack(packed(n), names_); }
  bool is_quiescent(state_number n) const noexcept { return states_[n].quiescent; }
  std::span<const graph_edge> edges(state_number n) const;
  const graph_edge& edge(const graph_step& s) const { return edges(s.from)[s.index]; }

  // A shortest path from the first state.
  graph_path path_to(state_number n) const;

 private:
  struct state {
    std::uint64_t begin = 0;  // of its bytes, which end where those of the next begin
    graph_step parent;
    bool quiescent = false;
  };

  struct hasher {
    const state_graph* graph;
    std::size_t operator()(state_number n) const {
      return std::hash<std::string_view>{}(graph->packed(n));
    }
  };
  struct equals {
    const state_graph* graph;
    bool operator()(state_number a, state_number b) const {
      return graph->packed(a) == graph->packed(b);
    }
  };

  std::string_view packed(state_number n) const;

  task_names names_;
  std::uint64_t most_states_;
  std::uint64_t most_bytes_;
  std::string bytes_;
  std::vector<state> states_;
  std::vector<graph_edge> edges_;
  std::vector<std::uint64_t> expanded_;  // by state: where its edges end
  std::unordered_set<state_number, hasher, equals> known_;
  std::uint64_t steps_ = 0;
  std::uint64_t choices_ = 0;
};

}  // namespace rota::coop

#endif
