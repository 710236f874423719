// starvation_free: three topics that are flooded, a timer that is always due, and beside them a
// topic that is quiet and a service that is called now and then. Broken, the quiet ones are passed
// more often than once by each other handler, a call ends without an answer, or nothing comes any
// more.

#include <rota/rota.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

using namespace std::chrono_literals;

constexpr int flooded_topics = 3;

struct event_run {
  std::atomic<std::uint64_t> flooded = 0;
  std::atomic<std::uint64_t> ticks = 0;
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<std::uint64_t> heard = 0;
  std::atomic<std::uint64_t> calls = 0;
  std::atomic<std::uint64_t> answered = 0;
  std::atomic<bool> over = false;
  std::size_t handlers = 0;  // once all are there
};

task<void> flood_topic(event_run& run, publisher<int> out) {
  while (!run.over) co_await out.publish(1);
}

task<void> whisper(const stage& s, event_run& run, publisher<int> out) {
  while (s.goes_on(run.sent, 50)) {
    ++run.sent;
    co_await out.publish(1);
    while (run.heard < run.sent) co_await suspend();
  }
}

task<void> call_again(const stage& s, event_run& run, client<int, int> add_one) {
  while (s.goes_on(run.calls, 50)) {
    const int asked = static_cast<int>(run.calls % 1'000);
    const auto answer = co_await add_one.call(asked, 10min);
    run.answered += answer && *answer == asked + 1;
    ++run.calls;
    co_await sleep_for(1ms);
  }
}

task<void> shout_and_whisper(const stage& s, bus& on, event_run& run) {
  const auto patient = qos{}.with_depth(64).with_overflow(overflow::block);
  node crowd{on, "crowd"};
  node corner{on, "corner"};
  task_group shouting;
  for (int i = 0; i < flooded_topics; ++i) {
    const std::string topic = "/crowd/" + std::to_string(i);
    crowd.subscribe<int>(topic, patient, [&run](int) { ++run.flooded; });
    shouting.spawn(flood_topic(run, crowd.advertise<int>(topic)));
  }
  crowd.every(1us, [&run] { ++run.ticks; });
  corner.subscribe<int>("/corner", patient, [&run](int) { ++run.heard; });
  corner.serve<int, int>("/add_one", [](int n) { return n + 1; });
  const auto out = corner.advertise<int>("/corner");
  const auto add_one = corner.client<int, int>("/add_one");
  run.handlers = on.statistics().handlers;
  auto whispers = whisper(s, run, out);
  auto calls = call_again(s, run, add_one);
  co_await when_all(std::move(whispers), std::move(calls));
  run.over = true;
  co_await shouting.join();
}

}  // namespace

findings show_events(stage& s) {
  event_run run;
  runtime rt{options{}.with_workers(2)};
  bus on{rt};
  s.watch([&] { rt.run(shout_and_whisper(s, on, run)); },
          [&] {
            const bus_statistics now = on.statistics();
            return view{run.heard + run.calls,
                        grouped(run.flooded) + " shouted, " + grouped(run.ticks) +
                            " ticks; heard " + grouped(run.heard) + " of " + grouped(run.sent) +
                            " whispers, " + grouped(run.answered) + " of " + grouped(run.calls) +
                            " calls; passed by " + grouped(now.max_passed)};
          });
  const bus_statistics seen = on.statistics();
  const bool kept =
      run.heard == run.sent && run.answered == run.calls && seen.max_passed < run.handlers;
  return {{"starvation_free", kept,
           grouped(run.heard) + " of " + grouped(run.sent) + " quiet messages and " +
               grouped(run.answered) + " of " + grouped(run.calls) + " calls beside " +
               grouped(run.flooded) + " loud ones: a handler was passed by at most " +
               grouped(seen.max_passed) + " runs, bound " + grouped(run.handlers - 1)}};
}

}  // namespace rota::app
