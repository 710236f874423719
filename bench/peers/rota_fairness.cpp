// How long does Rota leave a ready task waiting? With N live tasks it promises
// N + 64 scheduling points at most (`quiescent_fair`).
#include <rota/rota.h>

#include <chrono>
#include <deque>
#include <thread>

#include "../fairness.h"
#include "rota.h"

namespace {

using bench::meter;
using bench::trial;
using rota::task;
using channel = rota::channel<int>;

void run_on_one_worker(task<> t) { rota::run(std::move(t), rota::options{}.with_workers(1)); }

task<> hog(meter& m) {
  for (;;) {
    m.step();
    co_await rota::suspend();
  }
}

// Asks for a turn like everybody else, and counts what passes meanwhile.
task<> quiet_yields(meter& m) {
  do {
    m.ready();
    co_await rota::suspend();
  } while (m.ran());
  m.finish();
}

task<> hogs_yield(meter& m) {
  for (int i = 0; i < bench::hogs; ++i) rota::spawn(hog(m));
  co_await quiet_yields(m);
}

task<> quiet_once(meter& m) {
  if (!m.ran()) m.finish();
  co_return;
}

task<> spawning_hog(meter& m) {
  for (;;) {
    m.step();
    if (m.act()) rota::spawn(quiet_once(m));
    co_await rota::suspend();
  }
}

task<> spawned_by_hog(meter& m) {
  for (int i = 1; i < bench::hogs; ++i) rota::spawn(spawning_hog(m));
  co_await spawning_hog(m);
}

task<> waking_hog(meter& m, channel& wake) {
  for (;;) {
    m.step();
    if (m.act()) wake.try_send(0);
    co_await rota::suspend();
  }
}

task<> woken_by_hog(meter& m) {
  channel wake{1};
  for (int i = 0; i < bench::hogs; ++i) rota::spawn(waking_hog(m, wake));
  while (const auto message = co_await wake.receive()) {
    if (!m.ran()) m.finish();
  }
}

task<> other_thread(meter& m) {
  channel wake{1};
  const rota::outside waker;
  std::thread{[&] {
    for (;;) m.wake_from_outside([&] { wake.try_send(0); });
  }}.detach();
  for (int i = 0; i < bench::hogs; ++i) rota::spawn(hog(m));
  while (const auto message = co_await wake.receive()) m.ran_outside();
}

task<> player(meter& m, channel& out, channel& in, bool serves) {
  if (serves) co_await out.send(0);
  while (const auto message = co_await in.receive()) {
    m.step();
    co_await out.send(0);
  }
}

task<> pingpong_pairs(meter& m) {
  std::deque<channel> channels;
  for (int i = 0; i < bench::pairs; ++i) {
    channel& there = channels.emplace_back(1U);
    channel& back = channels.emplace_back(1U);
    rota::spawn(player(m, there, back, true));
    rota::spawn(player(m, back, there, false));
  }
  co_await quiet_yields(m);
}

// Goes on for ever; the compiler takes it for a recursion and wants to see an end.
task<> link_of_chain(meter& m, bool go_on) {
  m.step();
  if (go_on) rota::spawn(link_of_chain(m, go_on));
  co_return;
}

task<> respawn_chain(meter& m) {
  rota::spawn(link_of_chain(m, true));
  co_await quiet_yields(m);
}

task<> timed_hog(meter& m) {
  for (;;) {
    m.step_after_deadline();
    co_await rota::suspend();
  }
}

task<> timer_under_load(meter& m) {
  for (int i = 0; i < bench::hogs; ++i) rota::spawn(timed_hog(m));
  do {
    m.arm(bench::wall_now() + 1'000'000);
    co_await rota::sleep_for(std::chrono::milliseconds{1});
  } while (m.fired());
  m.finish();
}

// ---- a loop of awaits that never have to wait, one flavor for each kind

task<> through_channel(meter& m) {
  channel own{1};
  for (;;) {
    m.step();
    co_await own.send(0);
    const auto message = co_await own.receive();
    bench::keep(message.has_value());
  }
}

task<> through_event(meter& m) {
  rota::async_event set;
  set.set();
  for (;;) {
    m.step();
    co_await set.wait();
  }
}

task<> through_mutex(meter& m) {
  rota::async_mutex mutex;
  for (;;) {
    m.step();
    const auto lock = co_await mutex.lock();
  }
}

task<> nothing() { co_return; }

task<> through_calls(meter& m) {
  for (;;) {
    m.step();
    co_await nothing();
  }
}

task<> through_forks(meter& m) {
  for (;;) {
    m.step();
    rota::fork_scope forks;
    co_await forks.fork(nothing());
    co_await forks.join();
  }
}

task<> through_sleep(meter& m) {
  for (;;) {
    m.step();
    co_await rota::sleep_for(std::chrono::nanoseconds{0});
  }
}

task<> dispatch_loop(meter& m, task<> dispatcher) {
  rota::spawn(std::move(dispatcher));
  co_await quiet_yields(m);
}

void run_hogs_yield(trial& t) {
  meter m{t};
  run_on_one_worker(hogs_yield(m));
}
void run_spawned_by_hog(trial& t) {
  meter m{t};
  run_on_one_worker(spawned_by_hog(m));
}
void run_woken_by_hog(trial& t) {
  meter m{t};
  run_on_one_worker(woken_by_hog(m));
}
void run_other_thread(trial& t) {
  meter m{t};
  run_on_one_worker(other_thread(m));
}
void run_pingpong_pairs(trial& t) {
  meter m{t};
  run_on_one_worker(pingpong_pairs(m));
}
void run_respawn_chain(trial& t) {
  meter m{t};
  run_on_one_worker(respawn_chain(m));
}
void run_timer_under_load(trial& t) {
  meter m{t};
  run_on_one_worker(timer_under_load(m));
}
void run_dispatch_loop(trial& t) {
  meter m{t};
  const auto dispatcher = [&]() -> task<> {
    if (t.flavor() == "event") return through_event(m);
    if (t.flavor() == "mutex") return through_mutex(m);
    if (t.flavor() == "calls") return through_calls(m);
    if (t.flavor() == "forks") return through_forks(m);
    if (t.flavor() == "sleep") return through_sleep(m);
    return through_channel(m);
  };
  run_on_one_worker(dispatch_loop(m, dispatcher()));
}

}  // namespace

void bench::add_fairness(contestant& me) {
  me.add("hogs_yield", run_hogs_yield);
  me.add("spawned_by_hog", run_spawned_by_hog);
  me.add("woken_by_hog", run_woken_by_hog);
  me.add("other_thread", run_other_thread);
  me.add("pingpong_pairs", run_pingpong_pairs);
  me.add("respawn_chain", run_respawn_chain);
  me.add("timer_under_load", run_timer_under_load);
  me.add("dispatch_loop", run_dispatch_loop);
}
