// same_order: programs that chance has written, run by Rota's tasks in strict order. What each task
// does, and when, has to be exactly what the rules of the paper's scheduler say. Broken, a log
// differs, and the seed that made the program is told.

#include <rota/coop/generate.h>
#include <rota/coop/parse.h>

#include <atomic>

#include "../check_output.h"
#include "../coop_runner.h"
#include "stops.h"

namespace rota::app {

namespace {

struct order_run {
  std::atomic<std::uint64_t> programs = 0;
  std::atomic<std::uint64_t> steps = 0;
  std::uint64_t deadlocks = 0;
  std::string wrong;  // the first one
};

void compare_orders(const stage& s, order_run& run) {
  // By guard, so that all programs can be compared (coop/runner.h).
  const coop::runner_options how{.limit = 2'000, .awaits = coop::awaits::by_guard};
  for (std::uint64_t seed = 1; s.goes_on(run.programs, 100); ++seed) {
    const coop::parsed source = coop::parse(coop::random_program(seed, {}));
    const coop::program p = coop::compile(source.tree, coop::semantics::lagc_sched);
    const judged_run judged = run_and_judge(p, how, nullptr);
    if (judged.verdict.is != log_verdict::kind::exact && run.wrong.empty())
      run.wrong = "program " + std::to_string(seed) + ": " + judged.verdict.text;
    run.steps += judged.end.steps;
    run.deadlocks += judged.end.end == coop::ending::deadlock;
    ++run.programs;
  }
}

}  // namespace

findings show_order(stage& s) {
  order_run run;
  s.watch([&] { compare_orders(s, run); },
          [&] {
            return view{run.programs, grouped(run.programs) + " random programs, " +
                                          grouped(run.steps) + " steps, each as the rules say"};
          });
  if (!run.wrong.empty()) s.say(run.wrong);
  return {{"same_order", run.wrong.empty() && run.steps > 0,
           grouped(run.programs) + " random programs, " + grouped(run.steps) + " steps, " +
               grouped(run.deadlocks) + " deadlocks: " +
               (run.wrong.empty() ? "every log is the paper's" : "NOT the paper's, " + run.wrong)}};
}

}  // namespace rota::app
