// The protocols behind the promises as models, each searched through all its states, and once more
// with a mistake planted in it, which has to be found: a checker that finds nothing would be
// content with everything.

#include <rota/verify/checker/check.h>
#include <rota/verify/models/models.h>

#include <algorithm>
#include <stdexcept>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

// A promise that the model is behind, and a mistake that would break it.
struct planted_mistake {
  std::string_view promise;
  std::string mistake;
};

struct searched_model {
  std::string name;
  std::vector<verify::setting> larger;  // constants of the whole tour
  std::vector<planted_mistake> mistakes;
};

const std::vector<searched_model> searched_models = {
    {"parking", {{"Messages", "3"}}, {{"no_lost_wakeup", "look_before_ticket"}}},
    {"pool", {{"Jobs", "3"}}, {{"work_conserving", "wake_dropped"}}},
    {"scheduler_built",
     {{"Clients", "2"}},
     {{"starvation_free", "lifo_queue"}, {"never_reentered", "trigger_running"}}},
    {"coop_bypass", {{"Tasks", "5"}}, {{"quiescent_fair", "bypass_without_limit"}}},
    {"coop", {{"Steps", "3"}}, {{"same_order", "lifo"}, {"deadlock_reported", "no_report"}}},
    {"access", {}, {{"atomic_behaviour", "no_look"}}},
    {"backpressure_built", {}, {{"bounded_queues", "unmute_never"}}},
    {"crond_runs", {}, {{"bounded_programs", "cap_not_checked"}, {"every_due_run", "no_excl"}}},
};

const verify::model_entry& model_named(std::string_view name) {
  for (const verify::model_entry& m : verify::models())
    if (m.name == name) return m;
  throw std::logic_error("there is no model " + std::string(name));
}

bool all_hold(const verify::check_result& r) {
  return r.how == verify::outcome::complete &&
         std::all_of(r.properties.begin(), r.properties.end(),
                     [](const auto& p) { return p.result == verify::verdict::holds; });
}

bool finds_fault(const verify::check_result& r) {
  return std::any_of(r.properties.begin(), r.properties.end(),
                     [](const auto& p) { return p.result == verify::verdict::violated; });
}

// A search, with its states a second on the stage.
verify::check_result search(stage& s, double share, const std::string& title,
                            const verify::system& model, bool stop_at_first) {
  verify::check_options o;
  o.stop_at_first = stop_at_first;
  bool interrupted = false;
  std::stop_source give_up;
  o.stop = give_up.get_token();
  o.on_progress = [&](const verify::progress& p) {
    const double a_second = static_cast<double>(p.distinct) / std::max(p.seconds, 1e-3);
    try {
      s.show(share, title + ": " + grouped(p.distinct) + " states, " +
                        grouped(static_cast<std::uint64_t>(a_second)) + " a second");
    } catch (const tour_interrupted&) {
      interrupted = true;
      give_up.request_stop();
    }
  };
  s.show(share, title);
  verify::check_result r = verify::check(model, o);
  if (interrupted) throw tour_interrupted{};
  return r;
}

}  // namespace

findings show_models(stage& s) {
  findings found;
  for (std::size_t i = 0; i < searched_models.size(); ++i) {
    const searched_model& m = searched_models[i];
    const double share = static_cast<double>(i) / static_cast<double>(searched_models.size());
    const verify::model_entry& entry = model_named(m.name);
    const auto model = entry.make(s.is_quick() ? std::vector<verify::setting>{} : m.larger);
    const auto result = search(s, share, "model " + m.name, *model, false);
    const bool holds = all_hold(result);
    for (const auto& [promise, mistake] : m.mistakes) {
      const auto broken = entry.make({{"Mutant", mistake}});
      const bool caught = finds_fault(
          search(s, share, "model " + m.name + " with the mistake " + mistake, *broken, true));
      found.push_back({promise, holds && caught,
                       "model " + m.name + ": " + grouped(result.distinct) + " states, " +
                           (holds ? "all properties hold" : "a property DOES NOT HOLD") +
                           "; planted mistake " + mistake + (caught ? " found" : " NOT FOUND")});
    }
  }
  return found;
}

}  // namespace rota::app
