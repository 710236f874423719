// The states of a finished search with their steps, for questions about infinite behaviours.
//
// Steps that change nothing are left out: a behaviour may rest in a state at any time, and a step
// that changes nothing neither keeps a promise of fairness nor breaks one.
#ifndef ROTA_VERIFY_CHECKER_GRAPH_H
#define ROTA_VERIFY_CHECKER_GRAPH_H

#include <rota/verify/checker/check.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/checker/state_table.h"

namespace rota::verify::detail {

// The groups of steps to which fairness is promised, one per group and parameter.
class fair_groups {
 public:
  static constexpr std::uint8_t none = 255;
  static constexpr std::size_t most = 64;

  // `rules` replace what the model says; a name that no action has is an invalid_argument.
  explicit fair_groups(const system& s, const std::vector<fairness_rule>& rules = {});

  std::uint8_t of(label l) const noexcept { return by_label_[l.action][l.parameter]; }
  std::uint64_t weak() const noexcept { return weak_; }
  std::uint64_t strong() const noexcept { return strong_; }

 private:
  std::vector<std::vector<std::uint8_t>> by_label_;
  std::uint64_t weak_ = 0;
  std::uint64_t strong_ = 0;
};

class graph {
 public:
  struct edges {
    std::span<const state_id> to;
    std::span<const std::uint8_t> group;
  };

  // The calling thread asks `stop` now and then. If that says yes, the graph is of no use.
  graph(const system& s, const state_table& states, const fair_groups& groups, unsigned workers,
        const std::function<bool()>& stop);

  state_id size() const noexcept { return static_cast<state_id>(enabled_.size()); }

  edges from(state_id id) const noexcept {
    const part& p = parts_[id / per_part];
    const std::uint32_t begin = p.begin[id % per_part];
    const std::uint32_t end = p.begin[id % per_part + 1];
    return {std::span{p.to}.subspan(begin, end - begin),
            std::span{p.group}.subspan(begin, end - begin)};
  }

  // The groups that can take a step here.
  std::uint64_t enabled(state_id id) const noexcept { return enabled_[id]; }

 private:
  static constexpr state_id per_part = 4096;

  struct part {
    std::vector<std::uint32_t> begin;
    std::vector<state_id> to;
    std::vector<std::uint8_t> group;
  };

  void fill(const system& s, const state_table& states, const fair_groups& groups, std::size_t i,
            step_list& steps);

  std::vector<part> parts_;
  std::vector<std::uint64_t> enabled_;
};

}  // namespace rota::verify::detail

#endif
