// Seed 000: a scheduler moves triggered tasks by class into one queue, and workers run them.
//
// As written, nothing ever leaves the wait set: an event is never used up. With `consume` the
// scheduler takes what it moves out of the wait set; an event that comes while its task is queued
// or runs stays, and makes the task run once more.
//
// Two ghosts watch the events, for the properties alone: `due` has the tasks whose trigger the
// scheduler has not answered, `groundless` those that it moved without one. Without a mistake the
// first equals the wait set and the second is empty, so they add no states.
//
// Workers are interchangeable. Tasks are not, not even within a class: a step appends them in a
// fixed order (the seed's SetToSeq).
#ifndef ROTA_VERIFY_MODELS_SCHEDULER_H
#define ROTA_VERIFY_MODELS_SCHEDULER_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
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
    set due = 0;
    set groundless = 0;
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

  // Mistakes that can be planted. The last three concern events that are used up: as written
  // nothing is, and a trigger of a task that is queued or runs changes nothing anyway.
  enum class mistake {
    none,
    drop_requeue,         // a task that has run does not wait again
    start_without_pop,    // the worker leaves the task in the queue
    lifo_queue,           // workers take the youngest
    class_order,          // classes are kept in order across batches
    one_a_step,           // a step moves only the first task
    drop_client,          // a step forgets the last task of a batch
    reenter,              // a step moves running tasks too
    keep_waiting,         // what is moved waits as well
    untriggered,          // a step moves whatever waits
    never_finish,         // workers keep their task
    forget_busy_trigger,  // a trigger of a task that is queued or runs does nothing
    clear_all,            // a step forgets the triggers of busy tasks
    keep_event            // a step leaves the events of what it moves
  };

  int subscribers = 1;
  int servers = 1;
  int clients = 1;
  int workers = 1;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Subscribers", subscribers, 0, 4, "tasks of the first class");
    c("Servers", servers, 0, 4, "tasks of the second class");
    c("Clients", clients, 0, 4, "tasks of the third class");
    c("Workers", workers, 1, int{most_workers}, "threads that run tasks");
    std::vector<std::string> mistakes{"none",        "drop_requeue", "start_without_pop",
                                      "lifo_queue",  "class_order",  "one_a_step",
                                      "drop_client", "reenter",      "keep_waiting",
                                      "untriggered", "never_finish"};
    if (Consume)
      for (const char* more : {"forget_busy_trigger", "clear_all", "keep_event"})
        mistakes.push_back(more);
    c("Mutant", mutant, std::move(mistakes), "a mistake to plant");
  }

  std::string complaint() const {
    if (tasks() == 0) return "there is no task";
    if (tasks() > most_tasks) return "more than " + std::to_string(most_tasks) + " tasks in all";
    return "";
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
    if (s.wait_set) emit(start_sched, 0, scheduled(s));
    for (unsigned i = 0; i < tasks(); ++i) {
      state t = s;
      t.due |= bit(i);
      if (!has(mistake::forget_busy_trigger) || (s.waiting & bit(i))) t.wait_set |= bit(i);
      emit(trigger, i, t);
    }
    for (unsigned w = 0; w < count(workers); ++w) {
      if (s.busy & bit(w)) {
        if (!has(mistake::never_finish)) emit(finish_task, w, finished(s, w));
      } else if (s.length) {
        emit(start_worker, w, started(s, w));
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
    // A trigger that comes while its task is queued or runs is not forgotten ...
    p.invariant("TriggerKept", [](const state& s) { return !(s.due & ~s.wait_set); });
    // ... and only a trigger makes a task run.
    p.invariant("NothingGroundless", [](const state& s) { return !s.groundless; });
    p.leads_to(
        "starvation_free", tasks(),
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) != 0; },
        [](const state& s, unsigned i) { return (s.running & bit(i)) != 0; });
    if (!Consume) p.known_to_fail();
    // Each trigger has an answer of its own: the task is moved once more.
    p.leads_to(
        "RunsOnceMore", tasks(), [](const state& s, unsigned i) { return (s.due & bit(i)) != 0; },
        [](const state& s, unsigned i) { return (s.due & bit(i)) == 0; });
    p.leads_to(
        "EventConsumed", tasks(),
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) != 0; },
        [](const state& s, unsigned i) { return (s.wait_set & bit(i)) == 0; });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_workers> from{};
    std::iota(from.begin(), from.end(), 0u);
    const auto end = from.begin() + workers;
    while (std::next_permutation(from.begin(), end)) {
      state t = s;
      t.busy = 0;
      for (unsigned w = 0; w < count(workers); ++w) {
        t.task[w] = s.task[from[w]];
        if (s.busy & bit(from[w])) t.busy |= bit(w);
      }
      f(t);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("wait_set", names(s.wait_set));
    std::string q = "<";
    for (unsigned i = 0; i < s.length; ++i) q += (i ? " " : "") + name(s.queue[i]);
    f("run_queue", q + ">");
    f("running", names(s.running));
    f("waiting", names(s.waiting));
    f("due", names(s.due));
    f("groundless", names(s.groundless));
    for (unsigned w = 0; w < count(workers); ++w)
      f("worker " + std::to_string(w), (s.busy & bit(w)) ? "runs " + name(s.task[w]) : "idle");
  }

  std::string parameter(unsigned kind, unsigned p) const {
    return kind == trigger ? name(p) : "worker " + std::to_string(p);
  }

 protected:
  static set bit(unsigned i) { return static_cast<set>(1u << i); }
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  unsigned tasks() const { return count(subscribers + servers + clients); }
  set all() const { return static_cast<set>((1u << tasks()) - 1); }
  bool has(mistake m) const { return mutant == m; }

  // What a step moves to the run queue.
  set to_move(const state& s) const {
    set moved = s.waiting & s.wait_set;
    if (has(mistake::untriggered)) moved = s.waiting;
    if (has(mistake::reenter)) moved |= static_cast<set>(s.running & s.wait_set & ~s.queued());
    if (has(mistake::one_a_step)) moved = static_cast<set>(moved & -moved);
    return moved;
  }

  state scheduled(const state& s) const {
    state t = s;
    const set moved = to_move(s);
    set appended = moved;
    if (has(mistake::drop_client) && std::popcount(moved) > 1)
      appended = static_cast<set>(moved ^ std::bit_floor(moved));
    for (unsigned i = 0; i < tasks(); ++i)
      if (appended & bit(i)) append(t, i);
    if (!has(mistake::keep_waiting)) t.waiting = static_cast<set>(s.waiting & ~moved);
    if (Consume && !has(mistake::keep_event)) t.wait_set = static_cast<set>(s.wait_set & ~moved);
    if (has(mistake::clear_all)) t.wait_set = 0;
    t.groundless |= static_cast<set>(moved & ~s.due);
    if (Consume) t.due = static_cast<set>(s.due & ~moved);
    return t;
  }

  void append(state& t, unsigned task) const {
    // Only a mistake makes the queue longer than this.
    if (t.length == std::min(tasks() + 1, most_tasks)) return;
    unsigned at = t.length++;
    if (has(mistake::class_order))
      for (; at > 0 && class_of(t.queue[at - 1]) > class_of(task); --at)
        t.queue[at] = t.queue[at - 1];
    t.queue[at] = static_cast<std::uint8_t>(task);
  }

  state started(const state& s, unsigned w) const {
    state t = s;
    const unsigned at = has(mistake::lifo_queue) ? s.length - 1u : 0u;
    t.task[w] = s.queue[at];
    t.running |= bit(t.task[w]);
    t.busy |= bit(w);
    if (has(mistake::start_without_pop)) return t;
    --t.length;
    for (unsigned i = at; i < t.length; ++i) t.queue[i] = s.queue[i + 1];
    t.queue[t.length] = 0;
    return t;
  }

  state finished(const state& s, unsigned w) const {
    state t = s;
    t.running &= static_cast<set>(~bit(s.task[w]));
    if (!has(mistake::drop_requeue)) t.waiting |= bit(s.task[w]);
    t.busy &= static_cast<std::uint8_t>(~bit(w));
    return t;
  }

  unsigned class_of(unsigned i) const {
    if (i < count(subscribers)) return 0;
    return i < count(subscribers + servers) ? 1 : 2;
  }

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
