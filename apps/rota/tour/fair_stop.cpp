// quiescent_fair: a quiet task beside tasks that never stop, on one worker. Eight only give way,
// and two hand each other a message for ever: each is made ready by the other, and would go first
// if that were not limited. Broken, the quiet task is passed more often than the bound says, or
// stays away for ever.

#include <rota/rota.h>

#include <algorithm>
#include <atomic>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

constexpr std::uint64_t yielding_hogs = 8;
constexpr std::uint64_t live_tasks =
    yielding_hogs + 4;  // two that play, the quiet one, the program

struct fairness_run {
  // One worker writes them, the stage looks on: relaxed throughout.
  std::atomic<std::uint64_t> hog_steps = 0;
  std::atomic<std::uint64_t> wake_ups = 0;
  std::atomic<std::uint64_t> longest = 0;
  bool over = false;
};

task<void> yield_for_ever(fairness_run& run) {
  while (!run.over) {
    run.hog_steps.fetch_add(1, std::memory_order_relaxed);
    co_await suspend();
  }
}

task<void> play(fairness_run& run, channel<int>& from, channel<int>& to) {
  while (const auto ball = co_await from.receive()) {
    run.hog_steps.fetch_add(1, std::memory_order_relaxed);
    if (run.over) break;
    const bool sent = co_await to.send(1);
    if (!sent) break;
  }
  to.close();
}

task<void> stay_quiet(fairness_run& run, channel<std::uint64_t>& wake) {
  while (const auto sent_at = co_await wake.receive()) {
    const std::uint64_t passed = run.hog_steps.load(std::memory_order_relaxed) - *sent_at;
    run.longest.store(std::max(run.longest.load(std::memory_order_relaxed), passed),
                      std::memory_order_relaxed);
    run.wake_ups.fetch_add(1, std::memory_order_relaxed);
  }
}

task<void> beside_hogs(const stage& s, fairness_run& run) {
  channel<std::uint64_t> wake{1};
  channel<int> ping{1};
  channel<int> pong{1};
  task_group group;
  for (std::uint64_t i = 0; i < yielding_hogs; ++i) group.spawn(yield_for_ever(run));
  group.spawn(play(run, ping, pong));
  group.spawn(play(run, pong, ping));
  group.spawn(stay_quiet(run, wake));
  co_await ping.send(1);
  for (std::uint64_t i = 0; s.goes_on(i, 1'000); ++i) {
    co_await wake.send(run.hog_steps.load(std::memory_order_relaxed));
    for (int k = 0; k < 20; ++k) co_await suspend();
  }
  run.over = true;
  wake.close();
  co_await group.join();
}

}  // namespace

findings show_fairness(stage& s) {
  fairness_run run;
  runtime rt{options{}.with_workers(1)};
  constexpr std::uint64_t bound = live_tasks + fairness_slack;
  s.watch([&] { rt.run(beside_hogs(s, run)); },
          [&] {
            return view{run.wake_ups, grouped(run.hog_steps) + " steps of 10 hogs; woken " +
                                          grouped(run.wake_ups) + " times, passed by at most " +
                                          grouped(run.longest)};
          });
  const std::uint64_t delay = rt.statistics().max_ready_delay;
  return {{"quiescent_fair", run.longest <= bound && delay <= bound,
           grouped(run.wake_ups) + " wake-ups beside 10 hogs that took " + grouped(run.hog_steps) +
               " steps: passed by at most " + grouped(run.longest) + "; no ready task waited for " +
               "more than " + grouped(delay) + " points, bound " + grouped(bound)}};
}

}  // namespace rota::app
