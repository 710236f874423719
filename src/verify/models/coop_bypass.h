// How a worker of the pool chooses what to run: what our task layer does instead of the plain queue
// of seed 002 (src/pool/worker.cpp, one worker, without thieves, timers and forks).
//
// A job that was just made ready waits in the next slot and may run ahead of the ring, `Bypass`
// times between two renewals of that credit; the credit is renewed when the ring has moved past
// what was queued at the last renewal. What threads outside post is looked at every `LookEvery`
// points, and when there is nothing else. All else is first in, first out.
//
// The bound, in scheduling points from "ready" to "runs" with that of the run counted, for N tasks,
// B = Bypass > 0 and K = LookEvery, is N + K + 2B - 2:
//
//   K - 1   a posted job waits for the look;
//   N - 1   each other task is ahead of it in the ring, once;
//   2B - 1  run ahead of the ring: the credit is renewed at most once before the ring has moved
//   past
//           the job, and what is left of the older credit is less than B, since who renews it uses
//           it;
//   1       its own.
//
// From five tasks on it is reached. With B = 0, the paper's order, it is N + K - 1.
#ifndef ROTA_VERIFY_MODELS_COOP_BYPASS_H
#define ROTA_VERIFY_MODELS_COOP_BYPASS_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class coop_bypass {
 public:
  static constexpr unsigned most_tasks = 6;
  static constexpr std::uint8_t nobody = 255;

  using set = std::uint8_t;  // a bit a task

  struct fifo {
    std::uint8_t length = 0;
    std::array<std::uint8_t, most_tasks> jobs{};

    void push(unsigned f) { jobs[length++] = static_cast<std::uint8_t>(f); }
    void push_front(unsigned f) {
      std::copy_backward(jobs.begin(), jobs.begin() + length, jobs.begin() + length + 1);
      jobs[0] = static_cast<std::uint8_t>(f);
      ++length;
    }
    unsigned take(unsigned at) {
      const unsigned f = jobs[at];
      std::copy(jobs.begin() + at + 1, jobs.begin() + length, jobs.begin() + at);
      jobs[--length] = 0;
      return f;
    }
    bool holds(unsigned f) const { return std::count(jobs.begin(), jobs.begin() + length, f) > 0; }
  };

  struct state {
    set waiting = 0;                // tasks that wait for something, or do not exist
    std::uint8_t running = nobody;  // nobody: the worker chooses, or sleeps
    std::uint8_t next = nobody;
    fifo ring;
    fifo injector;
    std::uint8_t credit = 0;
    std::uint8_t to_mark = 0;     // pops until the credit may be renewed
    std::uint8_t since_look = 0;  // points
    std::uint8_t delay = 0;       // ghost: points since the watched task became ready

    bool ready(unsigned f) const { return next == f || ring.holds(f) || injector.holds(f); }
  };

  enum act { pick, ready, spawn, give_way, block, post };

  enum class mistake {
    none,
    bypass_without_limit,  // the credit is not spent
    renew_at_each_pop,     // the credit is renewed as soon as the ring has moved
    spent_in_front,        // without credit the job goes to the front of the ring
    never_look,            // the injector is looked at only when there is nothing else
    no_look_when_dry,      // it is not looked at when there is nothing else
    mail_in_front,         // what was posted goes to the front of the ring
    drop_mail,             // only the first that was posted is taken over
    lifo,                  // the youngest of the ring runs
    ready_in_front,        // a ready job that finds the slot taken goes to the front of the ring
    overwrite_next         // a ready job takes the slot although it is taken
  };

  int tasks = 4;
  int bypass = 2;
  int look_every = 2;
  int watched = 0;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Tasks", tasks, 1, int{most_tasks}, "the most live tasks");
    c("Bypass", bypass, 0, 12, "runs ahead of the ring per renewal");
    c("LookEvery", look_every, 1, 24, "points between two looks at the injector");
    c("Watched", watched, 0, int{most_tasks} - 1, "the task whose wait is measured");
    c("Mutant", mutant,
      {"none", "bypass_without_limit", "renew_at_each_pop", "spent_in_front", "never_look",
       "no_look_when_dry", "mail_in_front", "drop_mail", "lifo", "ready_in_front",
       "overwrite_next"},
      "a mistake to plant");
  }

  std::string complaint() const { return watched < tasks ? "" : "there is no task to be watched"; }

  // The most points from "ready" to "runs".
  unsigned bound() const {
    const unsigned ahead = bypass > 0 ? 2 * count(bypass) - 1 : 0;
    return look() - 1 + n() - 1 + ahead + 1;
  }

  std::vector<action> actions() const {
    return {{"pick", 1, "worker", fairness::weak},  {"ready", n(), "", fairness::none},
            {"spawn", n(), "", fairness::none},     {"give_way", 1, "worker", fairness::weak},
            {"block", 1, "worker", fairness::weak}, {"post", n(), "", fairness::none}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.waiting = static_cast<set>((1u << n()) - 1);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (s.running == nobody) {
      state t = s;
      if (chosen(t)) emit(pick, 0, t);
    } else {
      emit(give_way, 0, step_ended(s, true));
      emit(block, 0, step_ended(s, false));
    }
    for (unsigned f = 0; f < n(); ++f) {
      if (!(s.waiting & bit(f))) continue;
      state woken = s;
      woken.waiting &= static_cast<set>(~bit(f));
      if (s.running != nobody) {
        emit(ready, f, made_ready(woken, f));
        state t = woken;
        t.ring.push(f);
        emit(spawn, f, t);
      }
      woken.injector.push(f);
      emit(post, f, woken);
    }
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("EachOnce", [this](const state& s) { return each_once(s); });
    p.invariant("ReadyDelay", [this](const state& s) { return s.delay <= bound(); });
    p.invariant("MailSeen", [this](const state& s) {
      return !s.injector.holds(count(watched)) || s.delay < look();
    });
    p.leads_to(
        "quiescent_fair", n(), [](const state& s, unsigned f) { return s.ready(f); },
        [](const state& s, unsigned f) { return s.running == f; });
    // The bounds are tight: one less is too little.
    p.known_to_fail();
    p.invariant("ReadyDelayByFewer", [this](const state& s) { return s.delay + 1u <= bound(); });
    p.invariant("MailSeenSooner", [this](const state& s) {
      return !s.injector.holds(count(watched)) || s.delay + 1u < look();
    });
  }

  // Tasks are interchangeable, but for the watched one.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<std::uint8_t, most_tasks> to{};
    std::iota(to.begin(), to.end(), std::uint8_t{0});
    while (std::next_permutation(to.begin(), to.begin() + tasks))
      if (to[count(watched)] == watched) f(renamed(s, to));
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("running", name(s.running));
    f("next", name(s.next));
    f("ring", names(s.ring));
    f("injector", names(s.injector));
    std::string all = "{";
    for (unsigned i = 0; i < n(); ++i)
      if (s.waiting & bit(i)) all += (all.size() > 1 ? ", " : "") + std::to_string(i);
    f("waiting", all + "}");
    f("credit", s.credit);
    f("to_mark", s.to_mark);
    f("since_look", s.since_look);
    f("delay", s.delay);
  }

  std::string parameter(unsigned, unsigned f) const { return "task " + std::to_string(f); }

 private:
  static set bit(unsigned i) { return static_cast<set>(1u << i); }
  static unsigned count(int i) { return static_cast<unsigned>(i); }
  unsigned n() const { return count(tasks); }
  unsigned look() const { return count(look_every); }
  bool has(mistake m) const { return mutant == m; }

  // worker::pick(), and worker::scan() if there is nothing else. False: the worker sleeps.
  bool chosen(state& s) const {
    if (s.ready(count(watched)) && s.delay <= bound()) ++s.delay;
    if (s.since_look < look()) ++s.since_look;
    if (s.since_look >= look() && !has(mistake::never_look)) take_mail(s);
    if (bypassed(s)) return true;
    if (s.ring.length == 0 && !has(mistake::no_look_when_dry)) take_mail(s);
    if (s.ring.length == 0) return false;
    if (s.to_mark > 0) --s.to_mark;
    const unsigned at = has(mistake::lifo) ? s.ring.length - 1u : 0u;
    s.running = static_cast<std::uint8_t>(s.ring.take(at));
    return true;
  }

  // worker::bypass_queue(): whether the job of the next slot runs. Otherwise it has lined up.
  bool bypassed(state& s) const {
    if (s.next == nobody) return false;
    if (s.ring.length > 0) {
      if (s.to_mark == 0) {
        s.to_mark = has(mistake::renew_at_each_pop) ? std::uint8_t{1} : s.ring.length;
        s.credit = static_cast<std::uint8_t>(bypass);
      }
      if (s.credit == 0) {
        if (has(mistake::spent_in_front))
          s.ring.push_front(s.next);
        else
          s.ring.push(s.next);
        s.next = nobody;
        return false;
      }
      if (!has(mistake::bypass_without_limit)) --s.credit;
    }
    s.running = s.next;
    s.next = nobody;
    return true;
  }

  // worker::look()
  void take_mail(state& s) const {
    s.since_look = 0;
    if (has(mistake::drop_mail)) {
      if (s.injector.length > 0) s.ring.push(s.injector.jobs[0]);
      s.injector = {};
    }
    while (s.injector.length > 0) {
      if (has(mistake::mail_in_front))
        s.ring.push_front(s.injector.take(s.injector.length - 1u));
      else
        s.ring.push(s.injector.take(0));
    }
  }

  // worker::ready()
  state made_ready(state t, unsigned f) const {
    if (t.next == nobody || has(mistake::overwrite_next))
      t.next = static_cast<std::uint8_t>(f);
    else if (has(mistake::ready_in_front))
      t.ring.push_front(f);
    else
      t.ring.push(f);
    return t;
  }

  // The running job gives way, or waits for something (or ends).
  state step_ended(const state& s, bool gives_way) const {
    state t = s;
    t.running = nobody;
    if (s.running == watched) t.delay = 0;
    if (gives_way)
      t.ring.push(s.running);
    else
      t.waiting |= bit(s.running);
    return t;
  }

  bool each_once(const state& s) const {
    for (unsigned f = 0; f < n(); ++f) {
      const auto times = [f](const fifo& q) {
        return std::count(q.jobs.begin(), q.jobs.begin() + q.length, f);
      };
      const auto found = times(s.ring) + times(s.injector) + (s.running == f) + (s.next == f) +
                         ((s.waiting & bit(f)) != 0);
      if (found != 1) return false;
    }
    return true;
  }

  state renamed(const state& s, const std::array<std::uint8_t, most_tasks>& to) const {
    state t = s;
    if (s.running != nobody) t.running = to[s.running];
    if (s.next != nobody) t.next = to[s.next];
    for (unsigned i = 0; i < s.ring.length; ++i) t.ring.jobs[i] = to[s.ring.jobs[i]];
    for (unsigned i = 0; i < s.injector.length; ++i) t.injector.jobs[i] = to[s.injector.jobs[i]];
    t.waiting = 0;
    for (unsigned f = 0; f < n(); ++f)
      if (s.waiting & bit(f)) t.waiting |= bit(to[f]);
    return t;
  }

  static std::string name(unsigned f) { return f == nobody ? "none" : std::to_string(f); }
  static std::string names(const fifo& q) {
    std::string all = "<";
    for (unsigned i = 0; i < q.length; ++i) all += (i ? " " : "") + std::to_string(q.jobs[i]);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
