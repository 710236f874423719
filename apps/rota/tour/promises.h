// The promises of the design by name, where to read about each, and what holds it in the tests.
#ifndef ROTA_APPS_TOUR_PROMISES_H
#define ROTA_APPS_TOUR_PROMISES_H

#include <array>
#include <string_view>

namespace rota::app {

struct promise {
  std::string_view name;
  std::string_view text;
  std::string_view test;  // a file of the tree
};

// docs/guarantees.md has assumptions and bounds of all of them.
inline constexpr std::string_view promises_page = "docs/guarantees.md";

inline constexpr std::array<promise, 11> promises{{
    {"no_lost_wakeup", "who is notified does not sleep on",
     "tests/park/event_notifier_stress_test.cpp"},
    {"work_conserving", "nobody sleeps beside queued work", "tests/explored/pool_conform_test.cpp"},
    {"starvation_free", "a handler that has an event runs", "tests/event/schedule_test.cpp"},
    {"never_reentered", "one task, handler or cown, one worker at a time",
     "tests/task/task_stress_test.cpp"},
    {"quiescent_fair", "a ready task runs within N + 64 scheduling points",
     "tests/task/fairness_test.cpp"},
    {"same_order", "strict order is the order of the paper's scheduler",
     "tests/coop/runner_test.cpp"},
    {"deadlock_reported", "a deadlock is reported instead of hanging",
     "tests/task/deadlock_test.cpp"},
    {"atomic_behaviour", "a behaviour has all its cowns, in the order of requests",
     "tests/cown/cown_stress_test.cpp"},
    {"bounded_queues", "who sends too fast is muted, and runs again",
     "tests/cown/backpressure_test.cpp"},
    {"bounded_programs", "never more than max_active programs at once",
     "tests/app/serve_cap_test.py"},
    {"every_due_run", "no due run is lost, none is run twice", "tests/app/serve_crash_test.py"},
}};

}  // namespace rota::app

#endif
