#include "verify/checker/fair_cycles.h"

#include <algorithm>
#include <utility>

namespace rota::verify::detail {

namespace {

constexpr std::uint32_t asks_every = 1u << 16;  // states between two questions whether to stop

struct frame {
  state_id state;
  std::uint32_t edge;  // the next one to follow
};

std::uint64_t bit(std::uint8_t group) noexcept {
  return group == fair_groups::none ? 0 : std::uint64_t{1} << group;
}

}  // namespace

fair_cycles::fair_cycles(const graph& g, const fair_groups& groups)
    : graph_(g), groups_(groups), region_(g.size()), order_(g.size()), low_(g.size()) {}

// Whether the members of `here` are a fair component. If a strongly fair group forbids that, those
// of them that may be part of one are added to `again`.
bool fair_cycles::judge(const std::vector<state_id>& members, region here, const states* needed,
                        std::vector<std::vector<state_id>>& again) const {
  if (needed &&
      std::none_of(members.begin(), members.end(), [&](state_id s) { return (*needed)[s]; }))
    return false;
  std::uint64_t taken = 0;
  std::uint64_t anywhere = 0;
  std::uint64_t everywhere = ~std::uint64_t{0};
  for (const state_id s : members) {
    const auto [to, group] = graph_.from(s);
    for (std::size_t i = 0; i < to.size(); ++i)
      if (region_[to[i]] == here) taken |= bit(group[i]);
    anywhere |= graph_.enabled(s);
    everywhere &= graph_.enabled(s);
  }
  if (groups_.weak() & everywhere & ~taken) return false;
  const std::uint64_t avoid = groups_.strong() & anywhere & ~taken;
  if (!avoid) return true;
  std::vector<state_id> rest;
  for (const state_id s : members)
    if (!(graph_.enabled(s) & avoid)) rest.push_back(s);
  if (!rest.empty()) again.push_back(std::move(rest));
  return false;
}

std::vector<state_id> fair_cycles::find(const states& allowed, const std::vector<state_id>& starts,
                                        const states* needed) {
  region last = 1;
  for (state_id s = 0; s < graph_.size(); ++s) region_[s] = allowed[s] ? last : nowhere;
  std::fill(order_.begin(), order_.end(), 0);
  std::uint32_t count = 0;
  bool stopped = false;
  std::vector<frame> frames;
  std::vector<state_id> open;
  std::vector<std::vector<state_id>> again{starts};
  while (!again.empty()) {
    const std::vector<state_id> roots = std::move(again.back());
    again.pop_back();
    region here = 1;
    if (last > 1) {
      here = ++last;
      for (const state_id s : roots) {
        region_[s] = here;
        order_[s] = 0;
      }
    }
    for (const state_id root : roots) {
      if (region_[root] != here || order_[root] != 0) continue;
      const auto enter = [&](state_id s) {
        order_[s] = low_[s] = ++count;
        if (count % asks_every == 0) stopped = stopped || (stop && stop());
        open.push_back(s);
        frames.push_back({s, 0});
      };
      enter(root);
      while (!frames.empty() && !stopped) {
        frame& top = frames.back();
        const state_id s = top.state;
        const auto to = graph_.from(s).to;
        if (top.edge < to.size()) {
          const state_id next = to[top.edge++];
          if (region_[next] != here) continue;
          if (order_[next] == 0)
            enter(next);
          else
            low_[s] = std::min(low_[s], order_[next]);
          continue;
        }
        frames.pop_back();
        if (!frames.empty()) {
          const state_id below = frames.back().state;
          low_[below] = std::min(low_[below], low_[s]);
        }
        if (low_[s] != order_[s]) continue;
        // s and what was entered after it are a component. They leave `here`.
        const auto begin = std::find(open.rbegin(), open.rend(), s).base() - 1;
        std::vector<state_id> members{begin, open.end()};
        open.erase(begin, open.end());
        ++last;
        for (const state_id m : members) region_[m] = last;
        if (judge(members, last, needed, again)) return members;
      }
      if (stopped) return {};
    }
  }
  return {};
}

// Breadth first among the states of `inside`, from `starts`. `goal` gives no_state where it is not
// reached, the state itself where it is, or one more state to go to.
template <class Inside, class Goal>
std::vector<state_id> fair_cycles::walk(const std::vector<state_id>& starts, Inside inside,
                                        Goal goal) {
  if (before_.empty()) before_.assign(graph_.size(), no_state);
  std::vector<state_id> met;
  const auto meet = [&](state_id s, state_id from) {
    if (before_[s] != no_state || !inside(s)) return;
    before_[s] = from;
    met.push_back(s);
  };
  std::vector<state_id> way;
  for (const state_id s : starts) meet(s, s);
  for (std::size_t i = 0; i < met.size() && way.empty(); ++i) {
    const state_id s = met[i];
    if (const state_id end = goal(s); end != no_state) {
      if (end != s) way.push_back(end);
      for (state_id at = s;; at = before_[at]) {
        way.push_back(at);
        if (before_[at] == at) break;
      }
      std::reverse(way.begin(), way.end());
      break;
    }
    for (const state_id to : graph_.from(s).to) meet(to, s);
  }
  for (const state_id s : met) before_[s] = no_state;
  return way;
}

std::vector<state_id> fair_cycles::way(const states& allowed, const std::vector<state_id>& starts,
                                       const std::vector<state_id>& component) {
  const region here = region_[component.front()];
  return walk(
      starts, [&](state_id s) { return allowed[s]; },
      [&](state_id s) { return region_[s] == here ? s : no_state; });
}

std::vector<state_id> fair_cycles::cycle(state_id at, const states* needed) {
  const region here = region_[at];
  const auto inside = [&](state_id s) { return region_[s] == here; };
  const auto takes = [&](state_id s, std::uint64_t groups) {
    const auto [to, group] = graph_.from(s);
    for (std::size_t i = 0; i < to.size(); ++i)
      if (inside(to[i]) && (bit(group[i]) & groups)) return to[i];
    return no_state;
  };

  std::vector<state_id> open{at};  // a way from `at` that visits what it has to
  const auto extend = [&](auto goal) {
    const auto more = walk({open.back()}, inside, goal);
    if (!more.empty()) open.insert(open.end(), more.begin() + 1, more.end());
    return !more.empty();
  };
  if (needed) extend([&](state_id s) { return (*needed)[s] ? s : no_state; });
  for (;;) {
    std::vector<state_id> closed = open;
    if (closed.size() > 1 && closed.back() != at) {
      const auto back =
          walk({closed.back()}, inside, [&](state_id s) { return s == at ? s : no_state; });
      closed.insert(closed.end(), back.begin() + 1, back.end());
    }
    std::uint64_t taken = 0;
    std::uint64_t anywhere = 0;
    std::uint64_t everywhere = ~std::uint64_t{0};
    for (std::size_t i = 0; i < closed.size(); ++i) {
      anywhere |= graph_.enabled(closed[i]);
      everywhere &= graph_.enabled(closed[i]);
      if (i + 1 == closed.size()) break;
      const auto [to, group] = graph_.from(closed[i]);
      for (std::size_t k = 0; k < to.size(); ++k)
        if (to[k] == closed[i + 1]) taken |= bit(group[k]);
    }
    const std::uint64_t missing =
        ((groups_.weak() & everywhere) | (groups_.strong() & anywhere)) & ~taken;
    if (!missing) return {closed.begin() + 1, closed.end()};
    const std::uint64_t first = missing & (~missing + 1);
    if (extend([&](state_id s) { return takes(s, first); })) continue;
    // The group takes no step inside: it is a weakly fair one that is disabled somewhere.
    extend([&](state_id s) { return graph_.enabled(s) & first ? no_state : s; });
  }
}

}  // namespace rota::verify::detail
