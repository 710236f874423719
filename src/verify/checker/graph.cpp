#include "verify/checker/graph.h"

#include <cstring>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace rota::verify::detail {

namespace {

// The actions of a system, as the rules want them.
std::vector<action> ruled(const system& s, const std::vector<fairness_rule>& rules) {
  std::vector<action> actions = s.actions();
  for (const fairness_rule& r : rules) {
    bool known = false;
    for (action& a : actions) {
      if (a.name != r.name && a.group != r.name) continue;
      a.fair = r.strength;
      known = true;
    }
    if (known) continue;
    std::set<std::string> names;
    for (const action& a : actions) names.insert(a.group.empty() ? a.name : a.group);
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    throw std::invalid_argument("no action is called '" + r.name + "'; fairness is promised to " +
                                all);
  }
  return actions;
}

}  // namespace

fair_groups::fair_groups(const system& s, const std::vector<fairness_rule>& rules) {
  std::map<std::pair<std::string, unsigned>, std::uint8_t> known;
  for (const action& a : ruled(s, rules)) {
    auto& here = by_label_.emplace_back(a.instances, none);
    if (a.fair == fairness::none) continue;
    for (unsigned i = 0; i < a.instances; ++i) {
      const auto [at, is_new] = known.try_emplace({a.group.empty() ? a.name : a.group, i},
                                                  static_cast<std::uint8_t>(known.size()));
      if (is_new && known.size() > most)
        throw std::length_error("more than 64 groups of fair steps");
      here[i] = at->second;
      (a.fair == fairness::weak ? weak_ : strong_) |= std::uint64_t{1} << at->second;
    }
  }
}

graph::graph(const system& s, const state_table& states, const fair_groups& groups,
             unsigned workers, const std::function<bool()>& stop)
    : parts_((states.size() + per_part - 1) / per_part), enabled_(states.size()) {
  real_sync::atomic<std::size_t> next{0};
  real_sync::atomic<bool> over{false};
  real_sync::atomic<bool> failed{false};
  std::exception_ptr failure;
  const auto work = [&](bool asks) {
    try {
      step_list steps{s.words()};
      for (std::size_t i; (i = next.fetch_add(1)) < parts_.size() && !over;) {
        fill(s, states, groups, i, steps);
        if (asks && stop()) over = true;
      }
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
      over = true;
    }
  };
  std::vector<real_sync::thread> others;
  for (unsigned i = 1; i < workers; ++i) others.emplace_back([&] { work(false); });
  work(true);
  for (auto& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

void graph::fill(const system& s, const state_table& states, const fair_groups& groups,
                 std::size_t i, step_list& steps) {
  part& p = parts_[i];
  p.begin.reserve(per_part + 1);
  p.begin.push_back(0);
  for (state_id k = 0; k < per_part; ++k) {
    const auto id = static_cast<state_id>(i * per_part + k);
    if (id < states.size() && states.in_use(id)) {
      const word* from = states.state(id);
      steps.clear();
      s.steps(from, steps);
      for (std::size_t j = 0; j < steps.size(); ++j) {
        const word* to = steps.state_of(j);
        if (std::memcmp(from, to, s.words() * sizeof(word)) == 0) continue;
        const std::uint8_t group = groups.of(steps.label_of(j));
        if (group != fair_groups::none) enabled_[id] |= std::uint64_t{1} << group;
        const state_id target = states.find(to);
        if (target == no_state) continue;  // outside the constraint
        p.to.push_back(target);
        p.group.push_back(group);
      }
    }
    p.begin.push_back(static_cast<std::uint32_t>(p.to.size()));
  }
  p.to.shrink_to_fit();
  p.group.shrink_to_fit();
}

}  // namespace rota::verify::detail
