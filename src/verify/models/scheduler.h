// Seed 000: a scheduler moves triggered tasks by class into one queue, and workers run them.
//
// As written, nothing ever leaves the wait set: an event is never used up. With `consume` the
// scheduler takes what it moves out of the wait set; an event that comes while its task is queued
// or runs stays, and makes the task run once more.
#ifndef ROTA_VERIFY_MODELS_SCHEDULER_H
#define ROTA_VERIFY_MODELS_SCHEDULER_H

#include <rota/verify/checker/model.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::verify {

template <bool Consume>
class basic_scheduler {
 public:
  static constexpr unsigned most_tasks = 8;
  static constexpr unsigned most_workers = 4;
  static constexpr std::uint8_t no_task = 255;

  using set = std::uint8_t;  // a bit a task: subscribers, then servers, then clients

  struct state {
    set wait_set = 0;
    set running = 0;
    set waiting = 0;
    std::uint8_t busy = 0;    // a bit a worker that is at finish_task
    std::uint8_t length = 0;  // of the queue
    std::array<std::uint8_t, most_tasks> queue{};
    std::array<std::uint8_t, most_workers> task{};  // what a worker ran last, or runs

    set queued() const {
      set q = 0;
      for (unsigned i = 0; i < length; ++i) q |= bit(queue[i]);
      return q;
    }
  };

  enum act { start_sched, trigger, start_worker, finish_task };

  int subscribers = 1;
  int servers = 1;
  int clients = 1;
  int workers = 1;

  template <class C>
  void constants(C& c) {
    c("Subscribers", subscribers, 0, 4, "tasks of the first class");
    c("Servers", servers, 0, 4, "tasks of the second class");
    c("Clients", clients, 0, 4, "tasks of the third class");
    c("Workers", workers, 1, int{most_workers}, "threads that run tasks");
  }

  std::vector<action> actions() const {
    const auto strength = Consume ? fairness::weak : fairness::strong;
    return {{"start_sched", 1, "scheduler", strength},
            {"trigger", tasks(), "", Consume ? fairness::none : fairness::weak},
            {"start_worker", count(workers), "worker", strength},
            {"finish_task", count(workers), "worker", strength}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.waiting = all();
    s.task.fill(0);
    for (unsigned w = 0; w < count(workers); ++w) s.task[w] = no_task;
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (s.wait_set) {
      state t = s;
      const set moved = s.waiting & s.wait_set;
      for (unsigned i = 0; i < tasks(); ++i)
        if (moved & bit(i)) t.queue[t.length++] = static_cast<std::uint8_t>(i);
      t.waiting = static_cast<set>(s.waiting & ~moved);
      if (Consume) t.wait_set = static_cast<set>(s.wait_set & ~moved);
      emit(start_sched, 0, t);
    }
    for (unsigned i = 0; i < tasks(); ++i) {
      state t = s;
      t.wait_set |= bit(i);
      emit(trigger, i, t);
    }
    for (unsigned w = 0; w < count(workers); ++w) {
      state t = s;
      if (s.busy & bit(w)) {
        t.running &= static_cast<set>(~bit(s.task[w]));
        t.waiting |= bit(s.task[w]);
        t.busy &= static_cast<std::uint8_t>(~bit(w));
        emit(finish_task, w, t);
      } else if (s.length) {
        t.task[w] = s.queue[0];
        --t.length;
        for (unsigned i = 0; i < t.length; ++i) t.queue[i] = s.queue[i + 1];
        t.queue[t.length] = 0;
        t.running |= bit(t.task[w]);
        t.busy |= bit(w);
        emit(start_worker, w, t);
      }
    }
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("OneState", [this](const state& s) {
      const set q = s.queued();
      return (s.waiting | q | s.running) == all() && !(s.waiting & q) && !(s.waiting & s.running) &&
             !(q & s.running) && std::popcount(q) == s.length;
    });
    p.invariant("RunningIsHeld", [this](const state& s) {
      set held = 0;
      for (unsigned w = 0; w < count(workers); ++w)
        if (s.busy & bit(w)) held |= bit(s.task[w]);
      return held == s.running;
    });
    if (!Consume)
      p.invariant("RunningWasTriggered",
                  [](const state& s) { return !((s.running | s.queued()) & ~s.wait_set); });
    p.leads_to(
        "starvation_free", tasks(),
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) != 0; },
        [](const state& s, unsigned i) { return (s.running & bit(i)) != 0; });
    if (!Consume) p.known_to_fail();
    p.leads_to(
        "EventConsumed", tasks(),
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) != 0; },
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) == 0; });
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("wait_set", names(s.wait_set));
    std::string q = "<";
    for (unsigned i = 0; i < s.length; ++i) q += (i ? " " : "") + name(s.queue[i]);
    f("run_queue", q + ">");
    f("running", names(s.running));
    f("waiting", names(s.waiting));
    for (unsigned w = 0; w < count(workers); ++w)
      f("worker " + std::to_string(w), (s.busy & bit(w)) ? "runs " + name(s.task[w]) : "idle");
  }

  std::string parameter(unsigned act, unsigned p) const {
    return act == trigger ? name(p) : "worker " + std::to_string(p);
  }

 private:
  static set bit(unsigned i) { return static_cast<set>(1u << i); }
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  unsigned tasks() const { return count(subscribers + servers + clients); }
  set all() const { return static_cast<set>((1u << tasks()) - 1); }

  std::string name(unsigned i) const {
    if (i < count(subscribers)) return "subscriber " + std::to_string(i);
    i -= count(subscribers);
    if (i < count(servers)) return "server " + std::to_string(i);
    return "client " + std::to_string(i - count(servers));
  }
  std::string names(set s) const {
    std::string all = "{";
    for (unsigned i = 0; i < tasks(); ++i)
      if (s & bit(i)) all += (all.size() > 1 ? ", " : "") + name(i);
    return all + "}";
  }
};

using scheduler = basic_scheduler<false>;
using scheduler_consume = basic_scheduler<true>;

}  // namespace rota::verify

#endif
