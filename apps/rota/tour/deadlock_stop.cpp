// deadlock_reported: three tasks that wait for each other's mutex. Broken, run() never returns, or
// the report does not name them.

#include <rota/rota.h>

#include <atomic>

#include "stops.h"

namespace rota::app {

namespace {

struct dinner {
  async_mutex forks[3];
  std::atomic<int> taken{0};
  async_event all_are_taken;
};

// The second fork only once each has its first, or they might all eat.
task<void> take_both(dinner& t, int number, const char* name) {
  this_task::set_name(name);
  auto one = co_await t.forks[number].lock();
  if (++t.taken == 3) t.all_are_taken.set();
  co_await t.all_are_taken.wait();
  auto two = co_await t.forks[(number + 1) % 3].lock();
}

task<void> dine() {
  this_task::set_name("table");
  dinner t;
  task_group group;
  group.spawn(take_both(t, 0, "Plato"));
  group.spawn(take_both(t, 1, "Zeno"));
  group.spawn(take_both(t, 2, "Thales"));
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
