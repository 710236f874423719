// What do CAF's actors cost, and how fair is its scheduler? An actor is the task,
// a message to itself its yield. The flavor "sharing" asks for the other policy
// that CAF offers, one queue for all workers and one message per turn.
#include <atomic>
#include <caf/all.hpp>
#include <chrono>
#include <mutex>
#include <thread>

#include "../duel.h"
#include "../fairness.h"
#include "../work.h"

namespace {

using bench::meter;
using bench::trial;

using go = caf::atom_constant<caf::atom("go")>;
using done = caf::atom_constant<caf::atom("done")>;

struct config : caf::actor_system_config {
  explicit config(const trial& t) {
    set("scheduler.max-threads", static_cast<std::size_t>(t.workers()));
    if (t.flavor() == "sharing") {
      set("scheduler.policy", caf::atom("sharing"));
      set("scheduler.max-throughput", std::size_t{1});
    }
  }
};

// A finished scenario ends the program: actors that never end are left behind.
[[noreturn]] void print_and_exit(trial& t) {
  t.print();
  _exit(0);
}

[[noreturn]] void wait_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours{1});
}

// ---- yield, spawn, ping-pong

struct yield_state {
  std::int64_t turns = 0;
};

caf::behavior yielder(caf::stateful_actor<yield_state>* self, std::int64_t times,
                      caf::actor parent) {
  self->send(self, go::value);
  return {[self, times, parent](go) {
    if (++self->state.turns < times) {
      self->send(self, go::value);
    } else {
      self->send(parent, self->state.turns);
      self->quit();
    }
  }};
}

// Runs `wave()` until `n` tasks have reported, `size` at a time: first for the
// warm-up, then measured.
struct boss_state {
  std::int64_t done_in_wave = 0;
  std::int64_t done_in_pass = 0;
  bool measuring = false;
};

template <class Wave>
caf::behavior boss(caf::stateful_actor<boss_state>* self, trial* t, std::int64_t warm,
                   std::int64_t n, std::int64_t size, Wave wave) {
  wave(self);
  return {[=](done) {
    boss_state& s = self->state;
    if (++s.done_in_wave < size) return;
    s.done_in_wave = 0;
    s.done_in_pass += size;
    if (!s.measuring && s.done_in_pass >= warm) {
      s.measuring = true;
      s.done_in_pass = 0;
      t->start();
    } else if (s.measuring && s.done_in_pass >= n) {
      t->stop();
      t->answer(s.done_in_pass);
      print_and_exit(*t);
    }
    wave(self);
  }};
}

void run_yield(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  const auto wave = [&t](caf::stateful_actor<boss_state>* self) {
    for (int i = 0; i < bench::yielders; ++i) {
      self->spawn(yielder, t.n() / bench::yielders, caf::actor_cast<caf::actor>(self));
    }
  };
  // Adds up the turns that the yielders counted.
  const auto count = [&t, wave](caf::stateful_actor<boss_state>* self) -> caf::behavior {
    wave(self);
    return {[self, &t, wave](std::int64_t turns) {
      boss_state& s = self->state;
      s.done_in_pass += turns;
      if (++s.done_in_wave < bench::yielders) return;
      s.done_in_wave = 0;
      if (s.measuring) {
        t.stop();
        t.answer(s.done_in_pass);
        print_and_exit(t);
      }
      s.measuring = true;
      s.done_in_pass = 0;
      t.start();
      wave(self);
    }};
  };
  system.spawn(count);
  wait_for_ever();
}

void spawn(trial& t, std::int64_t warm, std::int64_t size) {
  config cfg{t};
  caf::actor_system system{cfg};
  const auto wave = [size](caf::stateful_actor<boss_state>* self) {
    const caf::actor parent{self};
    for (std::int64_t j = 0; j < size; ++j) {
      self->spawn([parent](caf::event_based_actor* child) { child->send(parent, done::value); });
    }
  };
  system.spawn(boss<decltype(wave)>, &t, warm, t.n(), size, wave);
  wait_for_ever();
}

void run_spawn_waves(trial& t) { spawn(t, t.n() / 10, bench::wave); }
void run_spawn_burst(trial& t) { spawn(t, t.n(), t.n()); }

caf::behavior pong(caf::event_based_actor* self) {
  return {[self](std::int64_t v) {
    self->send(caf::actor_cast<caf::actor>(self->current_sender()), v + 1);
  }};
}

struct ping_state {
  std::int64_t i = 0;
  std::int64_t sum = 0;
};

caf::behavior ping(caf::stateful_actor<ping_state>* self, trial* t, caf::actor other) {
  t->start();
  self->send(other, std::int64_t{0});
  return {[self, t, other](std::int64_t v) {
    ping_state& s = self->state;
    s.sum += v - s.i;
    if (++s.i < t->n()) {
      self->send(other, s.i);
      return;
    }
    t->stop();
    t->answer(s.sum);
    print_and_exit(*t);
  }};
}

void run_pingpong(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  system.spawn(ping, &t, system.spawn(pong));
  wait_for_ever();
}

// A detached actor has a thread of its own.
void run_pingpong_across(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  system.spawn<caf::detached>(ping, &t, system.spawn<caf::detached>(pong));
  wait_for_ever();
}

// ---- memory, idle

void run_parked(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  static std::atomic<std::int64_t> parked{0};
  static std::atomic<std::int64_t> woken{0};
  std::vector<caf::actor> all;
  all.reserve(static_cast<std::size_t>(t.n()));
  const std::int64_t before = bench::resident_bytes();
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    all.push_back(system.spawn([](caf::event_based_actor*) -> caf::behavior {
      parked.fetch_add(1, std::memory_order_relaxed);
      return {[](go) { woken.fetch_add(1, std::memory_order_relaxed); }};
    }));
  }
  while (parked < t.n()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  t.stop();
  t.report("bytes",
           static_cast<double>(bench::resident_bytes() - before) / static_cast<double>(t.n()));
  for (const auto& a : all) caf::anon_send(a, go::value);
  while (woken < t.n()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  t.answer(woken);
  print_and_exit(t);
}

void run_idle_long(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  system.spawn([&t](caf::event_based_actor*) {
    t.start();
    const std::int64_t own = bench::spin_for(bench::long_task);
    t.stop();
    t.report_own(own);
    print_and_exit(t);
  });
  wait_for_ever();
}
void run_idle_pool(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  system.spawn([](caf::event_based_actor*) {});
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  t.start();
  std::this_thread::sleep_for(std::chrono::nanoseconds{bench::long_task});
  t.stop();
  print_and_exit(t);
}

// ---- fairness

template <class Step>
caf::behavior hog(caf::event_based_actor* self, Step step) {
  self->send(self, go::value);
  return {[self, step](go) {
    step();
    self->send(self, go::value);
  }};
}

caf::behavior quiet_yields(caf::event_based_actor* self, meter* m) {
  m->ready();
  self->send(self, go::value);
  return {[self, m](go) {
    if (!m->ran()) m->finish();
    m->ready();
    self->send(self, go::value);
  }};
}

template <class Step>
void spawn_hogs(caf::actor_system& system, Step step) {
  for (int i = 0; i < bench::hogs; ++i) system.spawn(hog<Step>, step);
}

void run_hogs_yield(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  const auto step = [&m] { m.step(); };
  system.spawn(quiet_yields, &m);
  spawn_hogs(system, step);
  wait_for_ever();
}

void run_spawned_by_hog(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  const auto step = [&] {
    m.step();
    if (!m.act()) return;
    system.spawn([&m](caf::event_based_actor*) {
      if (!m.ran()) m.finish();
    });
  };
  spawn_hogs(system, step);
  wait_for_ever();
}

void run_woken_by_hog(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  const caf::actor quiet = system.spawn([&m]() -> caf::behavior {
    return {[&m](go) {
      if (!m.ran()) m.finish();
    }};
  });
  const auto step = [&] {
    m.step();
    if (!m.act()) return;
    caf::anon_send(quiet, go::value);
  };
  spawn_hogs(system, step);
  wait_for_ever();
}

void run_other_thread(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  const caf::actor quiet =
      system.spawn([&m]() -> caf::behavior { return {[&m](go) { m.ran_outside(); }}; });
  const auto step = [&m] { m.step(); };
  spawn_hogs(system, step);
  for (;;) m.wake_from_outside([&] { caf::anon_send(quiet, go::value); });
}

caf::behavior player(caf::event_based_actor* self, meter* m) {
  return {[self, m](go) {
    m->step();
    self->send(caf::actor_cast<caf::actor>(self->current_sender()), go::value);
  }};
}

void run_pingpong_pairs(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  system.spawn(quiet_yields, &m);
  for (int i = 0; i < bench::pairs; ++i) {
    const caf::actor a = system.spawn(player, &m);
    const caf::actor b = system.spawn(player, &m);
    caf::send_as(a, b, go::value);
  }
  wait_for_ever();
}

void link_of_chain(caf::event_based_actor* self, meter* m) {
  m->step();
  self->spawn(link_of_chain, m);
}

void run_respawn_chain(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  system.spawn(quiet_yields, &m);
  system.spawn(link_of_chain, &m);
  wait_for_ever();
}

void run_timer_under_load(trial& t) {
  config cfg{t};
  caf::actor_system system{cfg};
  meter m{t};
  system.spawn([&m](caf::event_based_actor* self) -> caf::behavior {
    const auto arm = [self, &m] {
      m.arm(bench::wall_now() + 1'000'000);
      self->delayed_send(self, std::chrono::milliseconds{1}, go::value);
    };
    arm();
    return {[arm, &m](go) {
      if (!m.fired()) m.finish();
      arm();
    }};
  });
  const auto step = [&m] { m.step_after_deadline(); };
  spawn_hogs(system, step);
  wait_for_ever();
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"caf", argc, argv};
  me.add("yield", run_yield);
  me.add("spawn_waves", run_spawn_waves);
  me.add("spawn_burst", run_spawn_burst);
  me.add("pingpong", run_pingpong);
  me.add("pingpong_across", run_pingpong_across);
  me.add("parked", run_parked);
  me.add("idle_long", run_idle_long);
  me.add("idle_pool", run_idle_pool);
  me.add("hogs_yield", run_hogs_yield);
  me.add("spawned_by_hog", run_spawned_by_hog);
  me.add("woken_by_hog", run_woken_by_hog);
  me.add("other_thread", run_other_thread);
  me.add("pingpong_pairs", run_pingpong_pairs);
  me.add("respawn_chain", run_respawn_chain);
  me.add("timer_under_load", run_timer_under_load);
  return me.run();
}
