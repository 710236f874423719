#include <rota/verify/checker/check.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "verify/checker/fair_cycles.h"
#include "verify/checker/graph.h"
#include "verify/checker/search.h"

namespace rota::verify {

namespace {

using detail::fair_cycles;
using detail::graph;
using detail::search;
using detail::state_id;

bool is_liveness(property_kind k) noexcept {
  return k != property_kind::invariant && k != property_kind::deadlock_free;
}

// Tells how far a check is, now and then, and whether to stop.
class teller {
 public:
  teller(const check_options& o, progress p) : options_(o), progress_(p) {}

  bool operator()(const char* phase) {
    const auto now = real_sync::now();
    if (options_.on_progress && now - told_ >= detail::tells_every) {
      told_ = now;
      progress_.phase = phase;
      progress_.seconds = std::chrono::duration<double>(now - began_).count();
      options_.on_progress(progress_);
    }
    return options_.stop.stop_requested();
  }

 private:
  const check_options& options_;
  progress progress_;
  const real_sync::time_point began_ = real_sync::now();
  real_sync::time_point told_ = began_;
};

// The liveness properties of one finished search, one after the other.
class liveness {
 public:
  liveness(const system& s, const check_options& o, const search& found,
           const detail::fair_groups& groups, teller& tell)
      : system_(s),
        options_(o),
        search_(found),
        states_(found.table()),
        graph_(s, states_, groups, o.workers, [&] { return tell("steps"); }),
        cycles_(graph_, groups) {
    cycles_.stop = [&] { return tell("fair cycles"); };
  }

  // About: per step and per state of the graph, and what the search in it needs.
  static std::size_t bytes(const check_result& r) noexcept {
    return r.generated * 5 + r.distinct * (12 + 24 + 8);
  }

  void check(property_result& r) {
    const property& p = system_.properties()[r.property];
    for (unsigned i = 0; i < p.instances; ++i) {
      if (violated(r, p.kind, i)) {
        r.result = verdict::violated;
        r.instance = i;
        return;
      }
      if (options_.stop.stop_requested()) return;
    }
    r.result = verdict::holds;
  }

 private:
  template <class Holds>
  fair_cycles::states where(Holds holds) const {
    fair_cycles::states all(graph_.size());
    for (state_id id = 0; id < graph_.size(); ++id)
      all[id] = states_.in_use(id) && holds(states_.state(id));
    return all;
  }

  // Each kind is violated by a fair behaviour that stays for ever in some states once it has
  // reached them in some way.
  bool violated(property_result& r, property_kind kind, unsigned instance) {
    const std::size_t p = r.property;
    const auto premise = [&](const word* s) { return system_.premise(p, instance, s); };
    const auto conclusion = [&](const word* s) { return system_.conclusion(p, instance, s); };
    fair_cycles::states stays;
    fair_cycles::states needed;
    std::vector<state_id> starts;
    const auto start_where = [&](auto may) {
      for (state_id id = 0; id < graph_.size(); ++id)
        if (stays[id] && may(id)) starts.push_back(id);
    };
    switch (kind) {
      case property_kind::eventually:
        stays = where([&](const word* s) { return !premise(s); });
        start_where([&](state_id id) { return states_.from(id) == detail::no_state; });
        break;
      case property_kind::leads_to:
        stays = where([&](const word* s) { return !conclusion(s); });
        start_where([&](state_id id) { return premise(states_.state(id)); });
        break;
      case property_kind::always_eventually:
        stays = where([&](const word* s) { return !premise(s); });
        start_where([](state_id) { return true; });
        break;
      case property_kind::eventually_always:
        stays = where([](const word*) { return true; });
        needed = where([&](const word* s) { return !premise(s); });
        start_where([](state_id) { return true; });
        break;
      default:
        throw std::logic_error("not a liveness property");
    }
    const fair_cycles::states* sees = needed.empty() ? nullptr : &needed;
    const auto component = cycles_.find(stays, starts, sees);
    if (component.empty()) return false;
    const auto way = cycles_.way(stays, starts, component);
    trace& t = r.counterexample;
    t = search_.trace_to(way.front());
    for (std::size_t i = 1; i < way.size(); ++i) search_.extend(t, states_.state(way[i]));
    t.loop = t.steps.size() - 1;
    for (const state_id s : cycles_.cycle(way.back(), sees)) search_.extend(t, states_.state(s));
    return true;
  }

  const system& system_;
  const check_options& options_;
  const search& search_;
  const detail::state_table& states_;
  const graph graph_;
  fair_cycles cycles_;
};

}  // namespace

std::string_view name_of(property_kind k) noexcept {
  switch (k) {
    case property_kind::invariant:
      return "invariant";
    case property_kind::deadlock_free:
      return "deadlock_free";
    case property_kind::eventually:
      return "eventually";
    case property_kind::leads_to:
      return "leads_to";
    case property_kind::always_eventually:
      return "always_eventually";
    case property_kind::eventually_always:
      return "eventually_always";
  }
  return "";
}

check_result check(const system& s, const check_options& given) {
  check_options o = given;
  if (o.workers == 0) o.workers = std::max(1u, real_sync::thread::hardware_concurrency());
  if (o.symmetry && !s.has_symmetry())
    throw std::invalid_argument("the model declares no interchangeable identities");
  std::vector<std::size_t> asked = o.properties;
  if (asked.empty())
    for (std::size_t i = 0; i < s.properties().size(); ++i)
      if (!s.properties()[i].known_to_fail) asked.push_back(i);

  check_result r;
  const auto began = real_sync::now();
  const auto seconds_since = [](real_sync::time_point t) {
    return std::chrono::duration<double>(real_sync::now() - t).count();
  };
  const detail::fair_groups groups{s, o.fairness};  // first, since a rule may be wrong
  search all{s, o, asked};
  all.run();
  all.report(r);
  r.seconds = seconds_since(began);

  // With symmetry a cycle of representatives need not be a cycle of states.
  const bool any = std::any_of(asked.begin(), asked.end(),
                               [&](std::size_t p) { return is_liveness(s.properties()[p].kind); });
  if (!any || o.symmetry || r.how != outcome::complete) return r;
  if (o.max_bytes && r.bytes + liveness::bytes(r) > o.max_bytes) {
    r.how = outcome::max_memory;
    return r;
  }
  const auto began_liveness = real_sync::now();
  try {
    progress p;
    p.distinct = r.distinct;
    p.generated = r.generated;
    p.depth = r.depth;
    p.bytes = r.bytes + liveness::bytes(r);
    teller tell{o, p};
    liveness cycles{s, o, all, groups, tell};
    r.bytes += liveness::bytes(r);
    for (property_result& q : r.properties)
      if (is_liveness(s.properties()[q.property].kind) && !o.stop.stop_requested()) cycles.check(q);
    if (o.stop.stop_requested()) r.how = outcome::stopped;
  } catch (const std::bad_alloc&) {
    r.how = outcome::max_memory;
  }
  r.liveness_seconds = seconds_since(began_liveness);
  return r;
}

}  // namespace rota::verify
