// Is there a fair behaviour that stays in a part of the graph for ever?
//
// Strongly connected components, after Tarjan. In a component, weak fairness of a group of steps
// holds on a way through all of it if the group takes a step inside or is disabled somewhere; if
// neither, no way inside is fair. Strong fairness holds if the group takes a step inside or is
// disabled everywhere; if neither, a fair way avoids the states in which it is enabled: they are
// taken out, and what is left falls into components again.
//
// A state alone is a component too: resting there is fair if nothing fair is enabled.
#ifndef ROTA_VERIFY_CHECKER_FAIR_CYCLES_H
#define ROTA_VERIFY_CHECKER_FAIR_CYCLES_H

#include <cstdint>
#include <functional>
#include <vector>

#include "verify/checker/graph.h"

namespace rota::verify::detail {

class fair_cycles {
 public:
  fair_cycles(const graph& g, const fair_groups& groups);

  using states = std::vector<bool>;

  // A fair component among the states of `allowed` that are reached inside it from `starts`; empty
  // if there is none. With `needed`, the component has one of these states.
  std::vector<state_id> find(const states& allowed, const std::vector<state_id>& starts,
                             const states* needed);

  // Of the component that was found last. A shortest way inside `allowed` from one of `starts` to
  // it, both ends included.
  std::vector<state_id> way(const states& allowed, const std::vector<state_id>& starts,
                            const std::vector<state_id>& component);

  // A closed fair way inside it from `at`: the states that come after it, `at` the last of them.
  // Empty: resting there is fair.
  std::vector<state_id> cycle(state_id at, const states* needed);

  // Ends a search soon.
  std::function<bool()> stop;

 private:
  using region = std::uint32_t;
  static constexpr region nowhere = 0;

  bool judge(const std::vector<state_id>& members, region here, const states* needed,
             std::vector<std::vector<state_id>>& again) const;
  template <class Inside, class Goal>
  std::vector<state_id> walk(const std::vector<state_id>& starts, Inside inside, Goal goal);

  const graph& graph_;
  const fair_groups& groups_;
  std::vector<region> region_;        // which part a state belongs to at the moment
  std::vector<std::uint32_t> order_;  // Tarjan's numbers; 0: not met
  std::vector<std::uint32_t> low_;
  std::vector<state_id> before_;  // walk's
};

}  // namespace rota::verify::detail

#endif
