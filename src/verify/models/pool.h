// specs/pool: what the pool promises of its jobs and its sleepers, whatever way it keeps it.
//
// A job is away, queued, in a worker's hands, running or done. A worker is awake, about to sleep,
// asleep, being woken or gone. Where the code looks, fences and counts, a step here is allowed only
// if the promise holds after it: nobody stops attending to the jobs as long as one is queued and
// somebody sleeps.
//
// A step of a job may take for ever: nothing relies on a running job to end.
#ifndef ROTA_VERIFY_MODELS_POOL_H
#define ROTA_VERIFY_MODELS_POOL_H

#include <rota/verify/checker/model.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::verify {

class pool {
 public:
  static constexpr unsigned most_workers = 4;
  static constexpr unsigned most_jobs = 6;

  using number = std::uint8_t;      // of a worker: 1, 2 ...
  using worker_set = std::uint8_t;  // a bit a worker
  static constexpr number nobody = 0;

  // Where a job is queued. From `ring` on a worker's index is added, and from `slot` on.
  enum place : std::uint8_t { away, injector, out, ring, slot = ring + most_workers };

  enum class mode : std::uint8_t { awake, drowsy, asleep, called, gone };
  enum class stopping : std::uint8_t { not_yet, waking, done };

  struct state {
    std::array<std::uint8_t, most_jobs> where{};  // a place
    std::array<worker_set, most_jobs> hands{};    // who has taken it and not put it anywhere yet
    std::array<worker_set, most_jobs> runs{};     // on whom it runs
    std::array<bool, most_jobs> done{};
    std::array<bool, most_jobs> offered{};  // who queued it still sees to it that somebody looks
    std::array<mode, most_workers> workers{};
    number lookout = nobody;
    stopping stop = stopping::not_yet;
  };

  enum act {
    Post,
    Spawn,
    EndOffer,
    Take,
    Steal,
    Keep,
    Begin,
    Finish,
    Doze,
    Stay,
    Sleep,
    Wake,
    Rouse,
    Stir,
    Watch,
    Resign,
    Stop,
    StopEnds,
    Exit,
    Standstill,
  };

  enum class mistake {
    none,
    wake_dropped,
    no_surplus_look,
    no_second_look,
    thief_drops,
    taken_twice,
    stop_forgets,
  };

  int workers = 2;
  int jobs = 2;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Workers", workers, 1, int{most_workers}, "how many workers there are");
    c("Jobs", jobs, 1, int{most_jobs}, "how many jobs are posted or spawned");
    c("Mutant", mutant,
      {"none", "wake_dropped", "no_surplus_look", "no_second_look", "thief_drops", "taken_twice",
       "stop_forgets"},
      "a mistake to plant");
  }

  std::string complaint() const {
    const bool needs_two = mutant == mistake::no_surplus_look;
    if (needs_two && (workers < 2 || jobs < 2)) return "this mutant needs two Workers and two Jobs";
    return "";
  }

  // Nothing here has to happen, so no action is fair.
  std::vector<action> actions() const {
    std::vector<action> all;
    const auto add = [&](unsigned instances, std::initializer_list<const char*> names) {
      for (const char* name : names) all.push_back({name, instances});
    };
    add(n_jobs(), {"Post"});
    add(n_workers(), {"Spawn"});
    add(n_jobs(), {"EndOffer"});
    add(n_workers(), {"Take", "Steal", "Keep", "Begin", "Finish", "Doze", "Stay", "Sleep", "Wake",
                      "Rouse", "Stir", "Watch", "Resign"});
    add(1, {"Stop", "StopEnds"});
    add(n_workers(), {"Exit"});
    add(1, {"Standstill"});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned j = 0; j < n_jobs(); ++j) step_of_offer(s, j, emit);
    for (unsigned w = 0; w < n_workers(); ++w) {
      switch (s.workers[w]) {
        case mode::awake:
          if (is_running(s, w))
            step_of_runner(s, w, emit);
          else
            step_of_searcher(s, w, emit);
          break;
        case mode::drowsy:
        case mode::asleep:
        case mode::called:
          step_of_idler(s, w, emit);
          break;
        case mode::gone:
          break;
      }
    }
    step_of_stop(s, emit);
    if (stands_still(s)) emit(Standstill, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) { return typed(s); });
    p.invariant("NoJobLost", [this](const state& s) {
      return !any_job([&](unsigned j) { return places(s, j) == 0; });
    });
    p.invariant("OnceOnly", [this](const state& s) {
      return !any_job([&](unsigned j) { return places(s, j) > 1; });
    });
    p.invariant("HandsEmptied", [this](const state& s) {
      return !any_worker([&](unsigned w) { return holds(s, w) && !searches(s, w); });
    });
    p.invariant("WorkConserving", [this](const state& s) {
      return promise(s, sleepers(s), attended(s, every_worker(), every_job()), naps(s));
    });
    p.invariant("StopWakesAll",
                [this](const state& s) { return s.stop != stopping::done || sleepers(s) == 0; });
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array modes = {"awake", "drowsy", "asleep", "called", "gone"};
    static constexpr std::array stops = {"not_yet", "waking", "done"};
    for (unsigned j = 0; j < n_jobs(); ++j) {
      const std::string of = "[j" + std::to_string(j + 1) + "]";
      f("where" + of, name_of(s.where[j]));
      f("hands" + of, members(s.hands[j]));
      f("runs" + of, members(s.runs[j]));
      f("done" + of, s.done[j]);
      f("offered" + of, s.offered[j]);
    }
    for (unsigned w = 0; w < n_workers(); ++w)
      f("mode[" + std::to_string(w + 1) + "]", modes[static_cast<std::size_t>(s.workers[w])]);
    f("lookout", s.lookout == nobody ? std::string("nobody") : std::to_string(s.lookout));
    f("stop", stops[static_cast<std::size_t>(s.stop)]);
  }

  std::string parameter(unsigned a, unsigned i) const {
    return (a == Post || a == EndOffer ? "j" : "") + std::to_string(i + 1);
  }

  static worker_set bit(unsigned w) { return static_cast<worker_set>(1u << w); }
  static std::uint8_t ring_of(unsigned w) { return static_cast<std::uint8_t>(ring + w); }
  static std::uint8_t slot_of(unsigned w) { return static_cast<std::uint8_t>(slot + w); }

 private:
  using job_set = std::uint8_t;

  unsigned n_workers() const { return static_cast<unsigned>(workers); }
  unsigned n_jobs() const { return static_cast<unsigned>(jobs); }
  bool has(mistake m) const { return mutant == m; }
  static number id(unsigned w) { return static_cast<number>(w + 1); }
  worker_set every_worker() const { return static_cast<worker_set>((1u << n_workers()) - 1); }
  job_set every_job() const { return static_cast<job_set>((1u << n_jobs()) - 1); }
  worker_set all_but_worker(unsigned w) const {
    return static_cast<worker_set>(every_worker() & ~bit(w));
  }

  template <class Is>
  bool any_worker(Is is) const {
    for (unsigned w = 0; w < n_workers(); ++w)
      if (is(w)) return true;
    return false;
  }
  template <class Is>
  bool any_job(Is is) const {
    for (unsigned j = 0; j < n_jobs(); ++j)
      if (is(j)) return true;
    return false;
  }

  static bool is_queued(std::uint8_t where) { return where == injector || where >= ring; }
  // A job in sight may be taken by anybody; one in a next slot only by its worker and the lookout.
  static bool in_sight(std::uint8_t where) { return where == injector || is_in_ring(where); }
  static bool is_in_ring(std::uint8_t where) { return where >= ring && where < slot; }

  bool is_running(const state& s, unsigned w) const {
    return any_job([&](unsigned j) { return s.runs[j] & bit(w); });
  }
  bool holds(const state& s, unsigned w) const {
    return any_job([&](unsigned j) { return s.hands[j] & bit(w); });
  }
  bool searches(const state& s, unsigned w) const {
    return s.workers[w] == mode::awake && !is_running(s, w);
  }
  worker_set sleepers(const state& s) const {
    worker_set all = 0;
    for (unsigned w = 0; w < n_workers(); ++w)
      if (s.workers[w] == mode::asleep) all = static_cast<worker_set>(all | bit(w));
    return all;
  }
  static bool naps(const state& s) {
    return s.lookout != nobody && s.workers[s.lookout - 1u] == mode::asleep;
  }

  // In how many places the job is.
  static int places(const state& s, unsigned j) {
    return (s.where[j] != out) + std::popcount(s.hands[j]) + std::popcount(s.runs[j]) + s.done[j];
  }

  // Whether one of these workers looks for jobs, is about to or is being woken, or who queued one
  // of these jobs has not gone yet.
  bool attended(const state& s, worker_set by, job_set offers) const {
    return any_worker([&](unsigned w) {
             return (by & bit(w)) && (searches(s, w) || s.workers[w] == mode::drowsy ||
                                      s.workers[w] == mode::called);
           }) ||
           any_job([&](unsigned j) { return (offers >> j & 1) && s.offered[j]; });
  }

  // The promise, if these sleep. After a stop nothing is promised.
  bool promise(const state& s, worker_set asleep, bool is_attended, bool has_lookout) const {
    if (asleep == 0 || is_attended || s.stop != stopping::not_yet) return true;
    return !any_job([&](unsigned j) {
      return in_sight(s.where[j]) || (is_queued(s.where[j]) && !has_lookout);
    });
  }

  bool typed(const state& s) const {
    return s.lookout <= workers && !any_job([&](unsigned j) {
             return s.hands[j] > every_worker() || s.runs[j] > every_worker();
           });
  }

  bool stands_still(const state& s) const {
    return s.stop == stopping::done &&
           !any_worker([&](unsigned w) { return s.workers[w] != mode::gone; }) &&
           !any_job([&](unsigned j) { return s.where[j] == away || s.offered[j]; });
  }

  // Whoever queues a job sees to it that somebody looks; only then its offer ends.
  template <class Emit>
  void step_of_offer(const state& s, unsigned j, Emit& emit) const {
    if (s.where[j] == away) {
      state n = s;
      n.where[j] = injector;
      n.offered[j] = true;
      emit(Post, j, n);
    }
    const auto others = static_cast<job_set>(every_job() & ~(1u << j));
    if (s.offered[j] && (has(mistake::wake_dropped) ||
                         promise(s, sleepers(s), attended(s, every_worker(), others), naps(s)))) {
      state n = s;
      n.offered[j] = false;
      emit(EndOffer, j, n);
    }
  }

  template <class Emit>
  void step_of_runner(const state& s, unsigned w, Emit& emit) const {
    const bool slot_is_free = !any_job([&](unsigned j) { return s.where[j] == slot_of(w); });
    for (unsigned j = 0; j < n_jobs(); ++j) {
      if (s.where[j] == away) {
        state n = s;
        n.offered[j] = true;
        n.where[j] = ring_of(w);
        emit(Spawn, w, n);
        n.where[j] = slot_of(w);
        if (slot_is_free) emit(Spawn, w, n);
      }
      if (s.runs[j] & bit(w)) {
        state n = s;
        n.runs[j] = static_cast<worker_set>(s.runs[j] & ~bit(w));
        n.done[j] = true;
        emit(Finish, w, n);
      }
    }
  }

  // Takes some of the jobs that are queued at `from`.
  template <class Emit>
  void take(const state& s, unsigned w, std::uint8_t from, act a, Emit& emit) const {
    for (unsigned some = 1; some <= every_job(); ++some) {
      state n = s;
      bool are_there = true;
      for (unsigned j = 0; j < n_jobs(); ++j) {
        if (!(some >> j & 1)) continue;
        are_there = are_there && s.where[j] == from;
        if (!has(mistake::taken_twice)) n.where[j] = out;
        n.hands[j] = static_cast<worker_set>(s.hands[j] | bit(w));
      }
      if (are_there) emit(a, w, n);
    }
  }

  template <class Emit>
  void step_of_searcher(const state& s, unsigned w, Emit& emit) const {
    take(s, w, injector, Take, emit);
    for (unsigned v = 0; v < n_workers(); ++v) {
      take(s, w, ring_of(v), v == w ? Take : Steal, emit);
      // Only a lookout takes what is in another's next slot.
      if (v == w || s.lookout == id(w)) take(s, w, slot_of(v), v == w ? Take : Steal, emit);
    }
    step_with_hands(s, w, emit);
    resign(s, w, emit);
    if (holds(s, w)) return;
    state n = s;
    n.workers[w] = mode::drowsy;
    emit(Doze, w, n);
    if (s.stop != stopping::not_yet) {
      n.workers[w] = mode::gone;
      emit(Exit, w, n);
    }
  }

  template <class Emit>
  void step_with_hands(const state& s, unsigned w, Emit& emit) const {
    for (unsigned j = 0; j < n_jobs(); ++j) {
      if (!(s.hands[j] & bit(w))) continue;
      state n = s;
      n.hands[j] = static_cast<worker_set>(s.hands[j] & ~bit(w));
      if (!has(mistake::thief_drops)) n.where[j] = ring_of(w);
      emit(Keep, w, n);
      // It turns to the one job that it has, and no longer looks.
      n.where[j] = s.where[j];
      const bool is_kept =
          promise(s, sleepers(s), attended(s, all_but_worker(w), every_job()), naps(s));
      if (holds(n, w) || !(is_kept || has(mistake::no_surplus_look))) continue;
      n.runs[j] = static_cast<worker_set>(s.runs[j] | bit(w));
      emit(Begin, w, n);
    }
  }

  template <class Emit>
  static void resign(const state& s, unsigned w, Emit& emit) {
    if (s.lookout != id(w)) return;
    state n = s;
    n.lookout = nobody;
    emit(Resign, w, n);
  }

  template <class Emit>
  void step_of_idler(const state& s, unsigned w, Emit& emit) const {
    const mode was = s.workers[w];
    const auto go = [&](act a, mode to) {
      state n = s;
      n.workers[w] = to;
      emit(a, w, n);
    };
    if (was == mode::asleep) {
      // The lookout's nap is over.
      if (s.lookout == id(w)) go(Stir, mode::awake);
    } else {
      state n = s;
      n.lookout = id(w);
      if (s.lookout == nobody) emit(Watch, w, n);
      resign(s, w, emit);
    }
    if (was == mode::called) return go(Rouse, mode::awake);
    if (was == mode::drowsy) {
      go(Stay, mode::awake);
      if (may_sleep(s, w)) go(Sleep, mode::asleep);
    }
    if (may_wake(s)) go(Wake, mode::called);
  }

  bool may_sleep(const state& s, unsigned w) const {
    const auto asleep = static_cast<worker_set>(sleepers(s) | bit(w));
    const bool is_attended = attended(s, all_but_worker(w), every_job());
    const bool stop_holds = s.stop != stopping::done;
    return stop_holds && (has(mistake::no_second_look) ||
                          promise(s, asleep, is_attended, naps(s) || s.lookout == id(w)));
  }

  // Somebody is there to do it: who queues a job, who searches, who stops the pool.
  bool may_wake(const state& s) const {
    return s.stop == stopping::waking || any_job([&](unsigned j) { return s.offered[j]; }) ||
           any_worker([&](unsigned w) { return searches(s, w); });
  }

  template <class Emit>
  void step_of_stop(const state& s, Emit& emit) const {
    state n = s;
    if (s.stop == stopping::not_yet) {
      n.stop = stopping::waking;
      emit(Stop, 0, n);
    } else if (s.stop == stopping::waking && (sleepers(s) == 0 || has(mistake::stop_forgets))) {
      n.stop = stopping::done;
      emit(StopEnds, 0, n);
    }
  }

  std::string members(worker_set set) const {
    std::string all;
    for (unsigned w = 0; w < n_workers(); ++w)
      if (set & bit(w)) all += (all.empty() ? "" : ", ") + std::to_string(w + 1);
    return "{" + all + "}";
  }
  static std::string name_of(std::uint8_t where) {
    if (where >= slot) return "slot " + std::to_string(where - slot + 1);
    if (where >= ring) return "ring " + std::to_string(where - ring + 1);
    return where == away ? "away" : where == injector ? "injector" : "out";
  }
};

}  // namespace rota::verify

#endif
