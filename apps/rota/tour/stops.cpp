#include "stops.h"

namespace rota::app {

const std::vector<stop>& stops() {
  static const std::vector<stop> all = {
      {"fair",
       "A quiet task beside ten that never stop, on one worker",
       4,
       show_fairness,
       {"quiescent_fair"}},
      {"wakeups",
       "A thread outside sends to workers that keep falling asleep",
       4,
       show_wake_ups,
       {"no_lost_wakeup"}},
      {"forkjoin",
       "All workers are woken, add up numbers by fork-join, and rest",
       6,
       show_fork_join,
       {"work_conserving"}},
      {"turns",
       "Tasks, behaviours and a handler: one worker at a time",
       4,
       show_reentry,
       {"never_reentered"}},
      {"deadlock", "Three tasks wait for each other", 1, show_deadlock, {"deadlock_reported"}},
      {"order",
       "Random programs in strict order, held against the paper's scheduler",
       4,
       show_order,
       {"same_order"}},
      {"bank",
       "Transfers, audits and philosophers on cowns",
       5,
       show_behaviours,
       {"atomic_behaviour"}},
      {"flood",
       "Cowns under a flood, with backpressure and without",
       6,
       show_flood,
       {"bounded_queues"}},
      {"events",
       "A quiet topic and calls beside topics that are flooded",
       5,
       show_events,
       {"starvation_free"}},
#ifdef ROTA_APP_JOBS
      {"programs",
       "Programs under a cap; their daemon is killed in the middle",
       10,
       show_programs,
       {"bounded_programs", "every_due_run"}},
#endif
      {"models",
       "The protocols as models: every state of each, and a mistake planted",
       8,
       show_models,
       {"no_lost_wakeup", "work_conserving", "starvation_free", "never_reentered", "quiescent_fair",
        "same_order", "deadlock_reported", "atomic_behaviour", "bounded_queues", "bounded_programs",
        "every_due_run"}},
      {"explorer",
       "A lost wake-up, found in a broken notifier and replayed",
       1,
       show_exploration,
       {"no_lost_wakeup"}},
  };
  return all;
}

std::string names_of_stops() {
  std::string names;
  for (const stop& s : stops()) names += (names.empty() ? "" : ", ") + std::string(s.name);
  return names;
}

}  // namespace rota::app
