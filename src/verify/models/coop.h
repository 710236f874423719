// Seed 002: the scheduler of CoopWhile, rules (18) to (24) of Haehnle and Henrio, "Provably Fair
// Cooperative Scheduling", for all programs of a certain size at once.
//
// One task is active or none; the others stand in one queue, as markers (called, not started) or
// suspended at a `suspend`, an `await` of a task or a guard on the one shared variable. What a task
// does next is chosen freely: assign, spawn, return, and where it stands after that. Only `Steps`
// bounds how long it may go on before it gives way, since the theorem is about such programs. Tasks
// give way again and again, end and are spawned anew, so behaviours are infinite.
//
// A task is a slot. A slot is used again once its task has ended and nobody awaits it.
//
// Ghosts, for the properties alone: `wrong` has the mistakes that the last steps made, `ahead` the
// tasks that may run before the watched one, `passed` how many have.
#ifndef ROTA_VERIFY_MODELS_COOP_H
#define ROTA_VERIFY_MODELS_COOP_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace rota::verify {

class coop {
 public:
  static constexpr unsigned most_tasks = 5;
  static constexpr unsigned most_values = 3;
  static constexpr std::uint8_t nobody = 255;

  using set = std::uint8_t;  // a bit a task

  // What a task's continuation begins with. An await names its task, a guard its value.
  enum head : std::uint8_t {
    absent,  // no such task
    marker,  // called, not started
    going,   // a statement that does not give way
    ended,   // nothing is left
    suspend,
    await,  // + the awaited task
    guard = await + most_tasks
  };

  enum error : std::uint8_t { distance_rose = 1, overtaken = 2, ran_blocked = 4 };

  struct state {
    std::uint8_t active = nobody;
    std::uint8_t pending = nobody;  // was called, and has no marker yet
    std::uint8_t x = 0;             // the shared variable
    std::uint8_t steps = 0;         // local steps in a row: -c of the paper
    std::uint8_t turned = 0;        // rotations in a row
    std::uint8_t reported = 0;      // the deadlock
    std::uint8_t wrong = 0;         // ghost, of error
    std::uint8_t watching = 0;      // ghost: the watched task was enabled whenever it could be seen
    set ahead = 0;                  // ghost
    std::uint8_t passed = 0;        // ghost
    std::uint8_t length = 0;
    std::array<std::uint8_t, most_tasks> queue{};
    std::array<std::uint8_t, most_tasks> heads{};

    bool idle() const { return active == nobody && pending == nobody; }
    bool live(unsigned f) const { return heads[f] != absent && heads[f] != ended; }
    // Its place in the queue from 1, or 0.
    unsigned place(unsigned f) const {
      for (unsigned i = 0; i < length; ++i)
        if (queue[i] == f) return i + 1;
      return 0;
    }
    bool blocked(unsigned f) const {
      const unsigned h = heads[f];
      if (h >= guard) return x != h - guard;
      return h >= await && live(h - await);
    }
    bool all_blocked() const {
      for (unsigned i = 0; i < length; ++i)
        if (!blocked(queue[i])) return false;
      return length > 0;
    }

    void push(unsigned f) { queue[length++] = static_cast<std::uint8_t>(f); }
    void push_front(unsigned f) {
      std::copy_backward(queue.begin(), queue.begin() + length, queue.begin() + length + 1);
      queue[0] = static_cast<std::uint8_t>(f);
      ++length;
    }
    void take(unsigned at) {
      std::copy(queue.begin() + at + 1, queue.begin() + length, queue.begin() + at);
      queue[--length] = 0;
    }
  };

  enum act {
    call_marker,  // (18)
    start,        // (19)
    resume,       // (20)
    rotate,       // (21)
    local_step,   // (22)
    end_of_task,  // (23)
    give_way,     // (24)
    report,
    terminating
  };

  enum class mistake {
    none,
    lifo,              // the youngest runs
    blocked_in_front,  // a blocked task goes back to the front
    spawn_in_front,    // a new task goes to the front
    drop_blocked,      // a blocked task is not queued again
    run_blocked,       // a task runs although it is blocked
    child_first,       // a new task runs at once, its spawner lines up
    ready_goes_on,     // an await of an ended task, or a true guard, does not give way
    waiter_in_front,   // the end of a task moves who awaits it to the front
    endless,           // a task need not give way
    forget_call,       // a new task is not queued
    early_report,      // a deadlock is reported two looks too early (one is enough)
    turns_not_reset,   // rotations are counted on although a task ran in between
    no_report
  };
  enum class measure { repaired, paper };

  int tasks = 3;
  int steps = 1;
  int values = 2;
  int watched = -1;
  measure distance = measure::repaired;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Tasks", tasks, 1, int{most_tasks}, "the most live tasks");
    c("Steps", steps, 1, 4, "the most local steps before a task gives way");
    c("Values", values, 1, int{most_values}, "of the shared variable");
    c("Watched", watched, -1, int{most_tasks} - 1, "the task whose overtaking is counted, or -1");
    c("Distance", distance, {"repaired", "paper"}, "which scheduling distance has to fall");
    c("Mutant", mutant,
      {"none", "lifo", "blocked_in_front", "spawn_in_front", "drop_blocked", "run_blocked",
       "child_first", "ready_goes_on", "waiter_in_front", "endless", "forget_call", "early_report",
       "turns_not_reset", "no_report"},
      "a mistake to plant");
  }

  std::string complaint() const { return watched < tasks ? "" : "there is no task to be watched"; }

  std::vector<action> actions() const {
    const auto run = [this](const char* name) { return action{name, n(), "run", fairness::weak}; };
    return {run("call_marker"),
            run("start"),
            run("resume"),
            run("rotate"),
            run("local_step"),
            run("end_of_task"),
            run("give_way"),
            {"report", 1, "", fairness::weak},
            {"Terminating", 1, "", fairness::none}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.active = 0;
    s.heads[0] = going;
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (s.reported || (s.idle() && s.length == 0)) return emit(terminating, 0, s);
    const auto step = [&](act a, unsigned f, const state& t) { emit(a, f, judged(s, a, f, t)); };
    if (s.pending != nobody)
      mark(s, step);
    else if (s.active == nobody)
      schedule(s, step);
    else if (s.heads[s.active] == going)
      run(s, step);
    else if (s.heads[s.active] == ended)
      step(end_of_task, s.active, finished(s));
    else
      step(give_way, s.active, gave_way(s));
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("EachOnce", [this](const state& s) { return each_once(s); });
    p.invariant("RunsOnlyEnabled", [](const state& s) { return !(s.wrong & ran_blocked); });
    p.invariant("DistanceFalls", [](const state& s) { return !(s.wrong & distance_rose); });
    p.invariant("BoundedOvertaking", [](const state& s) { return !(s.wrong & overtaken); });
    p.invariant("OvertakingBound", [this](const state& s) { return s.passed < n(); });
    p.invariant("NoFalseDeadlock",
                [](const state& s) { return !s.reported || (s.idle() && s.all_blocked()); });
    p.leads_to(
        "DeadlockReported", [](const state& s) { return s.idle() && s.all_blocked(); },
        [](const state& s) { return s.reported != 0; });
    p.always_eventually("GivesWay", [](const state& s) { return s.active == nobody; });
    p.leads_to(
        "quiescent_fair", n(),
        [](const state& s, unsigned f) { return s.live(f) && s.active != f; },
        [](const state& s, unsigned f) { return s.active == f || (s.idle() && s.blocked(f)); });
    p.known_to_fail();
    // The bound of overtaking is reached.
    p.invariant("OvertakenByFewer", [this](const state& s) { return s.passed + 1u < n(); });
    // A guard that holds now and then may be false whenever its task is looked at: the scheduler is
    // not strongly fair.
    p.leads_to(
        "RunsOnceEnabled", n(),
        [](const state& s, unsigned f) { return s.idle() && s.live(f) && !s.blocked(f); },
        [](const state& s, unsigned f) { return s.active == f; });
  }

  // Tasks are interchangeable, but for the watched one.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<std::uint8_t, most_tasks> to{};
    std::iota(to.begin(), to.end(), std::uint8_t{0});
    while (std::next_permutation(to.begin(), to.begin() + tasks))
      if (watched < 0 || to[static_cast<unsigned>(watched)] == watched) f(renamed(s, to));
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("active", s.active == nobody ? "Idle" : text(s, s.active));
    f("pending", s.pending == nobody ? "none" : std::to_string(s.pending));
    std::string q = "<";
    for (unsigned i = 0; i < s.length; ++i) q += (i ? ", " : "") + text(s, s.queue[i]);
    f("queue", q + ">");
    f("x", s.x);
    f("steps", s.steps);
    f("turned", s.turned);
    f("reported", s.reported != 0);
    f("wrong", errors(s.wrong));
    if (watched >= 0) {
      f("watching", s.watching != 0);
      f("ahead", names(s.ahead));
      f("passed", s.passed);
    }
  }

  std::string parameter(unsigned, unsigned f) const { return "task " + std::to_string(f); }

 private:
  static set bit(unsigned i) { return static_cast<set>(1u << i); }
  unsigned n() const { return static_cast<unsigned>(tasks); }
  bool has(mistake m) const { return mutant == m; }

  // (18): the new task gets its place.
  template <class Step>
  void mark(const state& s, Step step) const {
    state t = s;
    t.pending = nobody;
    if (has(mistake::spawn_in_front)) {
      t.push_front(s.pending);
    } else if (has(mistake::child_first)) {
      t.active = s.pending;
      t.heads[s.pending] = going;
      t.steps = 0;
      if (t.heads[s.active] == going) t.heads[s.active] = suspend;
      t.push(s.active);
    } else if (!has(mistake::forget_call)) {
      t.push(s.pending);
    }
    step(call_marker, s.pending, t);
  }

  // (19), (20), (21): no task is active, and the first of the queue is looked at.
  template <class Step>
  void schedule(const state& s, Step step) const {
    const unsigned at = has(mistake::lifo) ? s.length - 1u : 0u;
    const unsigned f = s.queue[at];
    state t = s;
    if (s.blocked(f) && !has(mistake::run_blocked)) {
      const unsigned early = has(mistake::early_report) ? 2u : 0u;
      const unsigned enough = std::max<unsigned>(s.length, early) - early;
      if (s.turned >= enough && !has(mistake::no_report)) {
        t.reported = 1;
        return step(report, 0, t);
      }
      if (s.turned < s.length) ++t.turned;
      t.take(at);
      if (has(mistake::blocked_in_front))
        t.push_front(f);
      else if (!has(mistake::drop_blocked))
        t.push(f);
      return step(rotate, f, t);
    }
    t.take(at);
    t.active = static_cast<std::uint8_t>(f);
    t.steps = 0;
    if (!has(mistake::turns_not_reset)) t.turned = 0;
    stand(t, f, [&](const state& u) { step(s.heads[f] == marker ? start : resume, f, u); });
  }

  // (22): one statement that does not give way.
  template <class Step>
  void run(const state& s, Step step) const {
    const unsigned f = s.active;
    state t = s;
    if (t.steps < steps) ++t.steps;
    const auto then = [&](const state& u) {
      stand(u, f, [&](const state& v) { step(local_step, f, v); });
    };
    for (unsigned v = 0; v < static_cast<unsigned>(values); ++v) {
      t.x = static_cast<std::uint8_t>(v);
      then(t);
    }
    t.x = s.x;
    for (unsigned child = 0; child < n(); ++child) {
      if (!is_free(s, child)) continue;
      state u = t;
      u.pending = static_cast<std::uint8_t>(child);
      u.heads[child] = marker;
      then(u);
    }
    t.heads[f] = ended;  // return
    step(local_step, f, t);
  }

  // Wherever the active task may stand next.
  template <class Then>
  void stand(state t, unsigned f, Then then) const {
    const auto at = [&](unsigned h) {
      t.heads[f] = static_cast<std::uint8_t>(h);
      then(t);
    };
    if (t.steps < steps || has(mistake::endless)) at(going);
    at(suspend);
    for (unsigned g = 0; g < n(); ++g) at(await + g);
    for (unsigned v = 0; v < static_cast<unsigned>(values); ++v) at(guard + v);
  }

  bool is_free(const state& s, unsigned f) const {
    if (s.heads[f] != absent) return false;
    for (unsigned g = 0; g < n(); ++g)
      if (s.heads[g] == await + f) return false;
    return true;
  }

  // (23)
  state finished(const state& s) const {
    state t = s;
    t.active = nobody;
    t.heads[s.active] = absent;
    if (has(mistake::waiter_in_front))
      for (unsigned i = 0; i < t.length; ++i)
        if (const unsigned f = t.queue[i]; t.heads[f] == await + s.active) {
          t.take(i);
          t.push_front(f);
          break;
        }
    return t;
  }

  // (24)
  state gave_way(const state& s) const {
    state t = s;
    if (has(mistake::ready_goes_on) && s.heads[s.active] != suspend && !s.blocked(s.active)) {
      t.heads[s.active] = going;
      t.steps = 0;
      return t;
    }
    t.active = nobody;
    t.push(s.active);
    return t;
  }

  // --- what the ghosts see ---

  state judged(const state& s, act a, unsigned f, state t) const {
    if (a == report) return t;
    if (rises(s, a, f, t)) t.wrong |= distance_rose;
    if ((a == start || a == resume) && s.blocked(f)) t.wrong |= ran_blocked;
    if (watched >= 0) watch(a, f, t);
    return t;
  }

  // The places of the paper's definition 16, or 0 if the task has none.
  unsigned position(const state& s, unsigned f) const {
    if (s.active != f) {
      const unsigned place = s.place(f);
      return place ? place + (s.active != nobody) : 0;
    }
    if (s.heads[f] == going) return 1;
    if (s.heads[f] == ended) return 0;
    // The paper forgets that the marker of a pending call comes in between.
    const bool marker_comes = s.pending != nobody && distance == measure::repaired;
    return s.length + 2u + marker_comes;
  }

  unsigned distance_of(const state& s, unsigned f) const {
    const unsigned pos = position(s, f);
    if (pos == 0) return 0;
    const unsigned idle = s.active == nobody;
    const unsigned unmatched = s.pending != nobody;
    const unsigned c = 7u - s.steps;
    return distance == measure::repaired ? ((pos * 2 + idle) * 8 + c) * 2 + unmatched
                                         : ((pos * 2 + idle) * 2 + unmatched) * 8 + c;
  }

  // Whether some task is further from its turn than before, or one had a turn that was not the
  // next.
  bool rises(const state& s, act a, unsigned f, const state& t) const {
    const bool has_turn = a == start || a == resume || a == rotate || a == local_step;
    if (has_turn && position(s, f) != 1) return true;
    for (unsigned g = 0; g < n(); ++g) {
      if (has_turn && g == f) continue;
      const unsigned before = distance_of(s, g);
      const unsigned after = distance_of(t, g);
      if (before && after && after >= before) return true;
    }
    return false;
  }

  void watch(act a, unsigned f, state& t) const {
    const auto w = static_cast<unsigned>(watched);
    if (t.watching && f != w && (a == start || a == resume)) {
      if (!(t.ahead & bit(f))) t.wrong |= overtaken;
      if (t.passed < n()) ++t.passed;
    }
    if (t.watching && f != w && (a == start || a == resume || a == rotate))
      t.ahead &= static_cast<set>(~bit(f));
    const unsigned place = t.place(w);
    if (place == 0 || (t.idle() && t.blocked(w))) {
      t.watching = t.ahead = t.passed = 0;
    } else if (t.idle() && !t.watching) {
      t.watching = 1;
      for (unsigned i = 0; i + 1 < place; ++i) t.ahead |= bit(t.queue[i]);
    }
  }

  bool each_once(const state& s) const {
    std::array<unsigned, most_tasks> found{};
    for (unsigned i = 0; i < s.length; ++i) {
      const unsigned h = s.heads[s.queue[i]];
      if (h == absent || h == going || h == ended) return false;
      ++found[s.queue[i]];
    }
    if (s.active != nobody) {
      if (s.heads[s.active] == absent || s.heads[s.active] == marker) return false;
      if (s.heads[s.active] != ended) ++found[s.active];
    }
    if (s.pending != nobody) ++found[s.pending];
    for (unsigned f = 0; f < n(); ++f)
      if (found[f] != (s.live(f) ? 1u : 0u)) return false;
    return true;
  }

  state renamed(const state& s, const std::array<std::uint8_t, most_tasks>& to) const {
    state t = s;
    if (s.active != nobody) t.active = to[s.active];
    if (s.pending != nobody) t.pending = to[s.pending];
    for (unsigned i = 0; i < s.length; ++i) t.queue[i] = to[s.queue[i]];
    t.ahead = 0;
    for (unsigned f = 0; f < n(); ++f) {
      const std::uint8_t h = s.heads[f];
      t.heads[to[f]] =
          h >= await && h < guard ? static_cast<std::uint8_t>(await + to[h - await]) : h;
      if (s.ahead & bit(f)) t.ahead |= bit(to[f]);
    }
    return t;
  }

  static std::string text(const state& s, unsigned f) {
    static constexpr const char* names[] = {"absent", "marker", "going", "ended", "suspend"};
    const unsigned h = s.heads[f];
    return std::to_string(f) + " " +
           (h < await   ? names[h]
            : h < guard ? "await " + std::to_string(h - await)
                        : "guard x = " + std::to_string(h - guard));
  }
  static std::string errors(unsigned wrong) {
    std::string all = "{";
    for (const auto& [e, what] :
         {std::pair{distance_rose, "distance rose"}, std::pair{overtaken, "overtaken"},
          std::pair{ran_blocked, "ran blocked"}})
      if (wrong & e) all += (all.size() > 1 ? ", " : "") + std::string(what);
    return all + "}";
  }
  std::string names(set s) const {
    std::string all = "{";
    for (unsigned i = 0; i < n(); ++i)
      if (s & bit(i)) all += (all.size() > 1 ? ", " : "") + std::to_string(i);
    return all + "}";
  }
};

}  // namespace rota::verify

#endif
