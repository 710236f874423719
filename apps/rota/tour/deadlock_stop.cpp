// deadlock_reported: three tasks that wait for each other's mutex. Broken, run() never returns, or
// the report does not name them.

#include <rota/rota.h>

#include <atomic>
#include <chrono>

#include "stops.h"

namespace rota::app {

namespace {

using namespace std::chrono_literals;

task<void> take_both(async_mutex& first, async_mutex& second, const char* name) {
  this_task::set_name(name);
  auto one = co_await first.lock();
  co_await sleep_for(1ms);
  auto two = co_await second.lock();
}

task<void> dine() {
  this_task::set_name("table");
  async_mutex forks[3];
  task_group group;
  group.spawn(take_both(forks[0], forks[1], "Plato"));
  group.spawn(take_both(forks[1], forks[2], "Zeno"));
  group.spawn(take_both(forks[2], forks[0], "Thales"));
  co_await group.join();
}

}  // namespace

findings show_deadlock(stage& s) {
  std::string report;
  s.watch(
      [&] {
        try {
          run(dine());
        } catch (const deadlock& found) {
          report = found.what();
        }
      },
      [] { return view{0, "waiting for the report"}; });
  bool complete = true;
  for (const char* word : {"Plato", "Zeno", "Thales", "cycle"})
    complete = complete && report.find(word) != std::string::npos;
  if (!report.empty()) s.say(report);
  return {{"deadlock_reported", complete,
           complete         ? "three tasks that wait for each other: who, for what, and the cycle"
           : report.empty() ? "it ended WITHOUT A REPORT"
                            : "the report does NOT NAME them"}};
}

}  // namespace rota::app
