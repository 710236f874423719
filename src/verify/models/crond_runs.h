// What our job daemon does, after seed 004: runs are counted, not programs; a job can be removed at
// any time; due firings wait in order; none is lost and none runs twice, also across a crash.
//
// The clock goes on whatever the daemon does, and makes instants pass. The daemon's timer wakes it,
// and one transaction writes a row for every instant that has passed: due, or skipped. Due rows
// wait in the ledger. To start one, the daemon first writes that it is launched, which takes a
// slot; then it spawns a runner. The runner creates the run's file, or finds it and leaves: that is
// what keeps a run from starting twice. A crash of the daemon forgets timers and runners, nothing
// else.
#ifndef ROTA_VERIFY_MODELS_CROND_RUNS_H
#define ROTA_VERIFY_MODELS_CROND_RUNS_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class crond_runs {
 public:
  static constexpr unsigned most_ids = 4;
  static constexpr unsigned most_slots = 4;
  static constexpr std::uint8_t nobody = 0;  // jobs and programs are 1, 2, ...
  static constexpr int lowest_open = -1;

  enum status : std::uint8_t { none, set, no, yes, run };
  enum file : std::uint8_t { absent, locked, ended };

  struct job {
    std::uint8_t time = 0;  // from one instant to the next
    std::uint8_t prog = nobody;
    status state = none;
    bool armed = false;        // its timer
    std::uint8_t t = 0;        // since its last instant
    std::uint8_t pending = 0;  // instants that have passed and have no row
    // Instants that have passed, less the runs that have started and the rows that say "skipped".
    std::int8_t open = 0;
  };

  // A due row of the ledger that waits for a slot.
  struct waiter {
    std::uint8_t job = nobody;
    std::uint8_t since = 0;   // how many other runs were launched since it came due
    std::uint8_t passed = 0;  // how many of them had stood behind it
  };

  // A row that is launched and not over.
  struct slot {
    std::uint8_t job = nobody;
    std::uint8_t prog = nobody;
    file f = absent;
    bool spawned = false;      // by the daemon that runs now
    std::uint8_t runners = 0;  // that have not yet tried to create the file
    std::uint8_t starts = 0;   // of the program
  };

  struct state {
    std::array<job, most_ids> jobs{};
    std::array<waiter, most_ids> waiting{};  // in order; the rest are nobody's
    std::array<slot, most_slots> slots{};
    bool up = true;
    std::uint8_t crashed = 0;
  };

  enum act {
    add_job,
    set_job,
    start,
    sched,
    record,
    skip,
    exec,
    spawn,
    claim,
    end,
    finish,
    remove_job,
    tick,
    crash,
    restart
  };

  enum class overlaps { skip, queue, allow };
  enum class mistake {
    none,
    cap_not_checked,
    cap_counts_programs,
    adopted_not_counted,
    any_order,
    pass_unbounded,
    overlap_ignored,
    lose_when_full,
    skip_unrecorded,
    queue_in_memory,
    start_before_record,
    no_excl,
    respawn_forgotten,
    catchup_twice,
    slot_leak,
    remove_leaves_timer,
    remove_leaves_due,
    timer_early,
    rearm_forgotten,
  };

  int max_aprogs = 1;
  int programs = 1;
  int ids = 2;
  int times = 2;
  overlaps overlap = overlaps::skip;
  int passes = 1;
  int missed = 2;
  int crashes = 1;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("MAXAPROGS", max_aprogs, 1, int{most_slots} - 1, "how many runs may be under way at once");
    c("PROGS", programs, 1, 3, "how many programs there are");
    c("Ids", ids, 1, int{most_ids}, "how many jobs there may be");
    c("Times", times, 1, 3, "a job's instants are 1 up to this apart");
    c("Overlap", overlap, {"skip", "queue", "allow"}, "when a job is due that still runs");
    c("Passes", passes, 0, 3, "with queue: how often a run that waits for its own job is passed");
    c("Missed", missed, 1, 3, "how many instants of a job may pass before the daemon sees them");
    c("Crashes", crashes, 0, 2, "how often the daemon may crash");
    c("Mutant", mutant,
      {"none", "cap_not_checked", "cap_counts_programs", "adopted_not_counted", "any_order",
       "pass_unbounded", "overlap_ignored", "lose_when_full", "skip_unrecorded", "queue_in_memory",
       "start_before_record", "no_excl", "respawn_forgotten", "catchup_twice", "slot_leak",
       "remove_leaves_timer", "remove_leaves_due", "timer_early", "rearm_forgotten"},
      "a mistake to plant");
  }

  // Some mistakes can show only at some settings.
  std::string complaint() const {
    const bool cap_matters = overlap == overlaps::allow || ids > max_aprogs;
    const bool can_pass = overlap == overlaps::queue && max_aprogs > 1 && ids > 1;
    const auto unless = [](bool fits, const char* needs) {
      return fits ? std::string() : std::string("this mutant needs ") + needs;
    };
    switch (mutant) {
      case mistake::cap_not_checked:
        return unless(cap_matters, "more Ids than MAXAPROGS, or Overlap=allow");
      case mistake::cap_counts_programs:
        return unless(cap_matters && max_aprogs > 1,
                      "MAXAPROGS=2 or more, and more Ids than that or Overlap=allow");
      case mistake::adopted_not_counted:
        return unless(cap_matters && crashes > 0,
                      "Crashes=1 or more, and more Ids than MAXAPROGS or Overlap=allow");
      case mistake::lose_when_full:
        return unless(cap_matters || (overlap == overlaps::queue && ids == max_aprogs),
                      "more Ids than MAXAPROGS, or Overlap=allow");
      case mistake::queue_in_memory:
      case mistake::no_excl:
      case mistake::respawn_forgotten:
        return unless(crashes > 0, "Crashes=1 or more");
      case mistake::pass_unbounded:
        return unless(can_pass, "Overlap=queue, and MAXAPROGS=2 and Ids=2 or more");
      case mistake::overlap_ignored:
        return unless(overlap != overlaps::allow && max_aprogs > 1,
                      "MAXAPROGS=2 or more, and not Overlap=allow");
      case mistake::any_order:
        return unless(ids > 1, "Ids=2 or more");
      case mistake::catchup_twice:
        return unless(missed > 1, "Missed=2 or more");
      default:
        return "";
    }
  }

  std::vector<action> actions() const {
    constexpr auto weak = fairness::weak;
    constexpr auto unfair = fairness::none;
    const unsigned n = count(ids);
    const unsigned k = slot_count();
    return {{"AddJob", n * count(times) * count(programs), "", unfair},
            {"SetJob", n, "", weak},
            {"Start", n, "", weak},
            {"Sched", n, "", weak},
            {"Record", n, "Record", weak},
            {"Skip", n, "Record", weak},
            {"Exec", n, "", weak},
            {"Spawn", k, "", weak},
            {"Claim", k, "", weak},
            {"End", k, "", weak},
            {"Finish", k, "", weak},
            {"RemoveJob", n, "", unfair},
            {"Tick", 1, "", weak},
            {"Crash", 1, "", unfair},
            {"Restart", 1, "", weak}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    if (s.up) {
      for (unsigned i = 0; i < count(ids); ++i) table(s, i, emit);
      execs(s, emit);
      if (s.crashed < count(crashes)) emit(crash, 0, after_crash(s));
    } else {
      state to = s;
      to.up = true;
      emit(restart, 0, to);
    }
    for (unsigned k = 0; k < slot_count(); ++k)
      if (s.slots[k].job) runs(s, k, emit);
    if (clock_runs(s)) emit(tick, 0, ticked(s));
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) { return typed(s); });
    p.invariant("BoundedPrograms",
                [this](const state& s) { return launched(s) <= count(max_aprogs); });
    p.invariant("NoRunLost", [this](const state& s) {
      return each([&](unsigned i) { return s.jobs[i].open <= owed(s, i); });
    });
    p.invariant("NoRunTwice", [this](const state& s) {
      return each([&](unsigned i) { return s.jobs[i].open >= owed(s, i); }) &&
             std::all_of(s.slots.begin(), s.slots.end(),
                         [](const slot& k) { return k.starts <= (k.f == absent ? 0 : 1); });
    });
    p.invariant("BoundedOvertaking", [this](const state& s) {
      return std::all_of(s.waiting.begin(), s.waiting.end(),
                         [this](const waiter& w) { return w.since <= bound(); });
    });
    p.invariant("NoOverlap", [this](const state& s) {
      return overlap == overlaps::allow || each([&](unsigned i) { return launched_of(s, i) <= 1; });
    });
    p.invariant("TimerRunsIffArmed", [this](const state& s) {
      return each([&](unsigned i) { return s.jobs[i].armed == (s.jobs[i].state == yes); });
    });
    p.invariant("NotEarly", [this](const state& s) {
      return each([&](unsigned i) { return s.jobs[i].state != run || s.jobs[i].pending > 0; });
    });
    p.invariant("RemovedIsGone", [this](const state& s) {
      return each([&](unsigned i) {
        return s.jobs[i].state != none || (s.jobs[i].pending == 0 && !waits(s, i));
      });
    });
    leads(p);
    // Shows that the bound is exact.
    if (ids == 1) return;
    p.known_to_fail();
    p.invariant("TighterOvertaking", [this](const state& s) {
      return std::all_of(s.waiting.begin(), s.waiting.end(),
                         [this](const waiter& w) { return w.since < bound(); });
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    constexpr std::array statuses = {"none", "set", "no", "yes", "run"};
    constexpr std::array files = {"no file", "runs", "ended"};
    f("daemon", s.up ? "up" : "down");
    if (crashes) f("crashed", s.crashed);
    for (unsigned i = 0; i < count(ids); ++i) {
      const job& j = s.jobs[i];
      const std::string n = "[" + text(i + 1u) + "]";
      f("crontab" + n, "time " + text(j.time) + ", " + program(j.prog) + ", " + statuses[j.state] +
                           (j.armed ? ", timer" : ""));
      f("clock" + n, text(j.t) + ", pending " + text(j.pending) + ", open " + text(j.open));
    }
    std::string queue;
    for (const waiter& w : s.waiting)
      if (w.job)
        queue += (queue.empty() ? "" : ", ") + text(w.job) + " (since " + text(w.since) +
                 ", passed " + text(w.passed) + ")";
    f("due", "<" + queue + ">");
    for (unsigned k = 0; k < slot_count(); ++k) {
      const slot& r = s.slots[k];
      f("slot[" + text(k + 1u) + "]", !r.job ? "free"
                                             : "job " + text(r.job) + ", " + program(r.prog) +
                                                   ", " + files[r.f] +
                                                   (r.spawned ? ", spawned" : "") + ", runners " +
                                                   text(r.runners) + ", starts " + text(r.starts));
    }
  }

  std::string parameter(unsigned which, unsigned p) const {
    if (which != add_job) return text(p + 1);
    const unsigned prog = p % count(programs);
    const unsigned time = p / count(programs) % count(times);
    return text(p / count(programs) / count(times) + 1) + ", " + text(time + 1) + ", " +
           program(prog + 1);
  }

  // Jobs are alike, and so are programs.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<std::uint8_t, most_ids + 1> who;
    std::iota(who.begin(), who.end(), std::uint8_t{0});
    do {
      std::array<std::uint8_t, 4> what = {0, 1, 2, 3};
      do f(renamed(s, who, what));
      while (std::next_permutation(what.begin() + 1, what.begin() + 1 + programs));
    } while (std::next_permutation(who.begin() + 1, who.begin() + 1 + ids));
  }

  using packed = std::array<word, 3>;
  static packed pack(const state& s);
  static state unpack(const packed& words);

 private:
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  static std::string text(int n) { return std::to_string(n); }
  static std::string text(unsigned n) { return std::to_string(n); }
  static std::string program(unsigned p) { return p ? "p" + text(p) : "nullp"; }
  bool is(mistake m) const { return mutant == m; }

  // One more than the cap, so that a mistake can show.
  unsigned slot_count() const { return count(max_aprogs) + 1; }

  // Those ahead of a firing when it comes due, at most one a job, and those that may pass it. With
  // one slot nobody passes: who waits for the own job waits for the only slot.
  unsigned bound() const {
    const bool can_pass = overlap == overlaps::queue && max_aprogs > 1 && ids > 1;
    return count(ids) - 1 + (can_pass ? count(passes) : 0);
  }

  static bool waits(const state& s, unsigned i) {
    return std::any_of(s.waiting.begin(), s.waiting.end(),
                       [i](const waiter& w) { return w.job == i + 1; });
  }
  static unsigned launched(const state& s) {
    return static_cast<unsigned>(std::count_if(s.slots.begin(), s.slots.end(),
                                               [](const slot& k) { return k.job != nobody; }));
  }
  static unsigned launched_of(const state& s, unsigned i) {
    return static_cast<unsigned>(std::count_if(s.slots.begin(), s.slots.end(),
                                               [i](const slot& k) { return k.job == i + 1; }));
  }
  // What is still to be run or to be skipped: where a firing may be before its program starts.
  static int owed(const state& s, unsigned i) {
    int n = s.jobs[i].pending;
    for (const waiter& w : s.waiting) n += w.job == i + 1;
    for (const slot& k : s.slots) n += k.job == i + 1 && k.f == absent;
    return n;
  }

  template <class Holds>
  bool each(Holds holds) const {
    for (unsigned i = 0; i < count(ids); ++i)
      if (!holds(i)) return false;
    return true;
  }

  bool typed(const state& s) const;
  bool full(const state& s) const;
  bool busy(const state& s, unsigned i) const;
  state recorded(const state& s, unsigned i) const;
  state skipped(const state& s, unsigned i) const;
  state removed(const state& s, unsigned i) const;
  state execed(const state& s, unsigned at) const;
  state claimed(const state& s, unsigned k) const;
  state after_crash(const state& s) const;
  bool clock_runs(const state& s) const;
  state ticked(const state& s) const;
  state renamed(const state& s, const std::array<std::uint8_t, most_ids + 1>& who,
                const std::array<std::uint8_t, 4>& what) const;
  static void take_slot(state& s, unsigned i);
  // In a mutant it may run away: it stops where there is always too much or too little of it.
  void change_open(job& j, int by) const {
    j.open =
        static_cast<std::int8_t>(std::clamp(j.open + by, lowest_open, missed + max_aprogs + 3));
  }

  // The daemon's steps for one job.
  template <class Emit>
  void table(const state& s, unsigned i, Emit& emit) const {
    const job& j = s.jobs[i];
    if (j.state == none) {
      for (unsigned t = 0; t < count(times); ++t)
        for (unsigned p = 0; p < count(programs); ++p) {
          state to = s;
          to.jobs[i].time = static_cast<std::uint8_t>(t + 1);
          to.jobs[i].prog = static_cast<std::uint8_t>(p + 1);
          to.jobs[i].state = set;
          emit(add_job, (i * count(times) + t) * count(programs) + p, to);
        }
      return;
    }
    const auto becomes = [&](status q, bool armed) {
      state to = s;
      to.jobs[i].state = q;
      to.jobs[i].armed = armed;
      return to;
    };
    if (j.state == set) emit(set_job, i, becomes(no, j.armed));
    if (j.state == no) emit(start, i, becomes(yes, true));
    if (j.state == yes && j.armed && (j.pending > 0 || is(mistake::timer_early)))
      emit(sched, i, becomes(run, false));
    if (j.state == run) {
      if (busy(s, i))
        emit(skip, i, skipped(s, i));
      else
        emit(record, i, recorded(s, i));
      if (is(mistake::start_before_record) && !full(s) && !launched_of(s, i)) {
        state to = s;
        take_slot(to, i);
        emit(exec, i, to);
      }
    }
    emit(remove_job, i, removed(s, i));
  }

  // Launches the first row that may start, unless one before it must not be passed any more.
  template <class Emit>
  void execs(const state& s, Emit& emit) const {
    if (full(s) && !is(mistake::cap_not_checked)) return;
    if (launched(s) == slot_count()) return;
    for (unsigned at = 0; at < most_ids && s.waiting[at].job; ++at) {
      const unsigned i = s.waiting[at].job - 1u;
      const bool held =
          overlap == overlaps::queue && launched_of(s, i) > 0 && !is(mistake::overlap_ignored);
      if (!held) {
        emit(exec, i, execed(s, at));
        if (!is(mistake::any_order)) return;
      } else if (s.waiting[at].passed >= count(passes) && !is(mistake::pass_unbounded) &&
                 !is(mistake::any_order)) {
        return;
      }
    }
  }

  // What becomes of a launched row.
  template <class Emit>
  void runs(const state& s, unsigned k, Emit& emit) const {
    const slot& r = s.slots[k];
    if (s.up && !r.spawned && r.f == absent) {
      state to = s;
      to.slots[k].spawned = true;
      ++to.slots[k].runners;
      emit(spawn, k, to);
    }
    if (r.runners > 0) emit(claim, k, claimed(s, k));
    if (r.f == locked) {
      state to = s;
      to.slots[k].f = ended;
      emit(end, k, to);
    }
    const bool found = !is(mistake::slot_leak) || s.jobs[r.job - 1u].state != none;
    if (s.up && r.f == ended && found) {
      state to = s;
      to.slots[k] = {};
      emit(finish, k, to);
    }
  }

  template <class P>
  void leads(P& p) const {
    const auto is_in = [](auto... q) {
      return [q...](const state& s, unsigned i) { return ((s.jobs[i].state == q) || ...); };
    };
    p.leads_to("AddedRuns", count(ids), is_in(set), is_in(run, none));
    p.leads_to("ArmedRuns", count(ids), is_in(yes), is_in(run, none));
    p.leads_to("Rearmed", count(ids), is_in(no), is_in(yes, none));
    p.leads_to(
        "InstantsRecorded", count(ids),
        [](const state& s, unsigned i) { return s.jobs[i].pending > 0; },
        [](const state& s, unsigned i) { return s.jobs[i].pending == 0; });
    p.leads_to(
        "DueRuns", count(ids), [](const state& s, unsigned i) { return waits(s, i); },
        [](const state& s, unsigned i) { return !waits(s, i); });
    p.leads_to(
        "LaunchedStarts", slot_count(),
        [](const state& s, unsigned k) { return s.slots[k].job && s.slots[k].f == absent; },
        [](const state& s, unsigned k) { return !s.slots[k].job || s.slots[k].f != absent; });
    p.leads_to(
        "RunsAreOver", slot_count(),
        [](const state& s, unsigned k) { return s.slots[k].job != nobody; },
        [](const state& s, unsigned k) { return s.slots[k].job == nobody; });
  }
};

}  // namespace rota::verify

#endif
