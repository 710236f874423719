// A model that is a list of steps, for tests of the checker itself: states are numbers, and every
// property speaks of sets of them.
#ifndef ROTA_TESTS_SUPPORT_GRAPH_MODEL_H
#define ROTA_TESTS_SUPPORT_GRAPH_MODEL_H

#include <rota/verify/checker/check.h>
#include <rota/verify/checker/model.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace rota::verify::test {

struct graph_model {
  struct state {
    std::uint64_t at = 0;
  };
  struct edge {
    std::uint64_t from;
    std::uint64_t to;
    unsigned act = 0;
    unsigned parameter = 0;
  };
  using set = std::set<std::uint64_t>;

  std::vector<edge> edges;
  std::vector<std::uint64_t> starts = {0};
  std::vector<action> acts = {{"step"}};
  std::function<void(property_list<state>&)> say = [](auto&) {};
  std::function<bool(std::uint64_t)> inside = [](auto) { return true; };

  template <class C>
  void constants(C&) {}
  std::vector<action> actions() const { return acts; }
  template <class Emit>
  void initial(Emit emit) const {
    for (const auto s : starts) emit(state{s});
  }
  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (const edge& e : edges)
      if (e.from == s.at) emit(e.act, e.parameter, state{e.to});
  }
  bool within(const state& s) const { return inside(s.at); }
  template <class P>
  void properties(P& p) const {
    say(p);
  }
  template <class F>
  void fields(const state& s, F f) const {
    f("at", s.at);
  }
};

// The states that are in a set, as a predicate.
inline auto in(graph_model::set members) {
  return [members = std::move(members)](const graph_model::state& s) {
    return members.contains(s.at);
  };
}

inline check_result check_graph(const graph_model& m, unsigned workers = 1,
                                bool stop_at_first = false) {
  check_options o;
  o.workers = workers;
  o.stop_at_first = stop_at_first;
  return check(typed_system<graph_model>{m}, o);
}

// The states of a counterexample, in order.
inline std::vector<std::uint64_t> states_of(const trace& t) {
  std::vector<std::uint64_t> all;
  for (const trace_step& step : t.steps) all.push_back(step.state.at(0));
  return all;
}

}  // namespace rota::verify::test

#endif
