// Runs without end in a graph of finitely many states: they stay in one of its strongly connected
// parts from some step on, and can visit all of it again and again. So a part has a fair run if and
// only if the run that visits all of it is fair: every task moves somewhere in the part, or is
// disabled somewhere in it while no task is active.
#ifndef ROTA_SRC_COOP_ENDLESS_H
#define ROTA_SRC_COOP_ENDLESS_H

#include <rota/coop/explore.h>
#include <rota/coop/value.h>

#include <vector>

#include "state_graph.h"

namespace rota::coop {

struct endless_path {
  endless_kind kind = endless_kind::undecided;
  graph_path prefix;
  graph_path cycle;
  state_number quiescent = no_state;  // one on the way, if it is unfair
  std::vector<task_id> whom;
};

// The nearest of each kind. What is not known of an incomplete graph may make a run fair.
std::vector<endless_path> find_endless(const state_graph& graph, bool complete);

}  // namespace rota::coop

#endif
