// never_reentered: tasks, behaviours and a handler say when they come in and when they leave, and
// count in a plain variable, without any synchronisation of their own. Broken, somebody is found
// inside already, or counts are lost.

#include <rota/rota.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "../check_output.h"
#include "stops.h"

namespace rota::app {

namespace {

// Only one may be inside.
class turnstile {
 public:
  void enter() {
    if (inside_.exchange(true, std::memory_order_relaxed))
      met_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t before = plain_;
    if (before % 32 == 0) std::this_thread::yield();  // lets others come, if they can
    plain_ = before + 1;
  }
  void leave() {
    entered_.fetch_add(1, std::memory_order_relaxed);
    inside_.store(false, std::memory_order_relaxed);
  }

  std::uint64_t met() const { return met_; }
  std::uint64_t entered() const { return entered_; }
  // When everybody has left.
  bool lost_nothing() const { return plain_ == entered_; }

 private:
  std::atomic<bool> inside_ = false;
  std::atomic<std::uint64_t> met_ = 0;
  std::atomic<std::uint64_t> entered_ = 0;
  std::uint64_t plain_ = 0;  // whoever is inside
};

struct reentry_run {
  std::deque<turnstile> of_tasks{64};
  std::deque<turnstile> of_cowns{8};
  turnstile of_handler;

  std::uint64_t entered(const std::deque<turnstile>& all) const {
    std::uint64_t sum = 0;
    for (const turnstile& t : all) sum += t.entered();
    return sum;
  }
  std::uint64_t met() const {
    std::uint64_t sum = of_handler.met();
    for (const turnstile& t : of_tasks) sum += t.met();
    for (const turnstile& t : of_cowns) sum += t.met();
    return sum;
  }
  bool lost_nothing() const {
    const auto fine = [](const turnstile& t) { return t.lost_nothing(); };
    return fine(of_handler) && std::all_of(of_tasks.begin(), of_tasks.end(), fine) &&
           std::all_of(of_cowns.begin(), of_cowns.end(), fine);
  }
};

// Steps wherever it is taken to, and asks for a behaviour or publishes now and then.
task<void> wander(const stage& s, turnstile& own, const std::vector<cown_ptr<turnstile*>>& cowns,
                  publisher<int> out, std::size_t number) {
  for (std::uint64_t i = 0; s.goes_on(i, 200); ++i) {
    own.enter();
    own.leave();
    if (i % 8 == 0)
      co_await (when(cowns[(number + i / 8) % cowns.size()]) << [](turnstile*& t) {
        t->enter();
        t->leave();
      });
    if (i % 64 == 0) co_await out.publish(1);
    co_await suspend();
  }
}

task<void> wander_all(const stage& s, bus& on, reentry_run& run) {
  std::vector<cown_ptr<turnstile*>> cowns;
  for (turnstile& t : run.of_cowns) cowns.push_back(make_cown<turnstile*>(&t));
  node hall{on, "hall"};
  // A coroutine that gives way inside: the next message waits until it has ended.
  hall.subscribe<int>("/walks", qos{}.with_overflow(overflow::block), [&run](int) -> task<void> {
    run.of_handler.enter();
    co_await suspend();
    run.of_handler.leave();
  });
  const auto out = hall.advertise<int>("/walks");
  {
    task_group group;
    for (std::size_t i = 0; i < run.of_tasks.size(); ++i)
      group.spawn(wander(s, run.of_tasks[i], cowns, out, i));
    co_await group.join();
  }
  co_await hall.drain();
}

}  // namespace

findings show_reentry(stage& s) {
  reentry_run run;
  // More than the processors of a small machine, so that threads are interrupted anywhere.
  runtime rt{options{}.with_workers(4)};
  bus on{rt};
  s.watch([&] { rt.run(wander_all(s, on, run)); },
          [&] {
            return view{run.entered(run.of_tasks),
                        grouped(run.entered(run.of_tasks)) + " steps of 64 tasks, " +
                            grouped(rt.statistics().stolen) + " stolen; somebody was inside " +
                            grouped(run.met()) + " times"};
          });
  return {{"never_reentered", run.met() == 0 && run.lost_nothing(),
           grouped(run.entered(run.of_tasks)) + " steps of 64 tasks (" +
               grouped(rt.statistics().stolen) + " moved), " + grouped(run.entered(run.of_cowns)) +
               " behaviours, " + grouped(run.of_handler.entered()) + " events: " +
               (run.met() == 0 ? "never two inside" : grouped(run.met()) + " times TWO INSIDE") +
               (run.lost_nothing() ? ", no count lost" : ", counts LOST")}};
}

}  // namespace rota::app
