// Seed 004: a daemon that starts programs when their timers expire, at most MAXAPROGS at once.
//
// Timers count the time since their start and stop at their limit, so that there are finitely many
// states without a bound on the clock. The seed has no step that ends a program: Finish is ours,
// and can be switched off.
//
// `crond_processes` remembers what the seed forgets: how many processes of each program run, since
// aprocs is a set of programs, and how long a timer had run when it expired.
#ifndef ROTA_VERIFY_MODELS_CROND_H
#define ROTA_VERIFY_MODELS_CROND_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

template <bool Remembers>
class basic_crond {
 public:
  static constexpr unsigned most_ids = 6;
  static constexpr unsigned most_programs = 8;
  static constexpr unsigned most_time = 15;
  static constexpr std::uint8_t nullp = 0;  // programs are 1, 2, ...

  enum status : std::uint8_t { none, set, no, yes, run };

  struct job {
    std::uint8_t time = 0;
    std::uint8_t prog = nullp;
    status state = none;
    // Its timer: time since the start, limit, whether it runs.
    std::uint8_t t = 0;
    std::uint8_t l = 0;
    bool r = false;
    // Only with Remembers: how long the timer had run when the job came due.
    std::uint8_t waited = 0;
  };

  struct state {
    std::array<job, most_ids> crontab{};
    std::uint8_t aprocs = 0;                              // a bit a program
    std::array<std::uint8_t, most_programs> processes{};  // only with Remembers
  };

  enum act { add_job, set_job, start, sched, exec, remove_job, tick, finish };

  enum class cap { programs, processes };
  enum class mistake {
    none,
    cap_not_checked,
    remove_leaves_timer,
    wrong_limit,
    rearm_forgotten,
    lose_when_full,
    slot_leak,
    exec_keeps_due,
    add_overwrites,
    clock_stops,
  };
  // What only Remembers can see.
  enum class lapse { none, cap_not_checked, timer_early, finish_ends_all };

  int max_aprogs = Remembers ? 2 : 1;
  int programs = Remembers ? 3 : 2;
  int ids = Remembers ? 1 : 2;
  int times = 2;
  bool finishes = true;
  cap counts = cap::programs;
  mistake mutant = mistake::none;
  lapse forgets = lapse::none;

  template <class C>
  void constants(C& c) {
    c("MAXAPROGS", max_aprogs, 1, Remembers ? 8 : 99, "how many programs may run at once");
    c("PROGS", programs, 1, int{most_programs}, "how many programs there are");
    c("Ids", ids, 1, int{most_ids}, "how many jobs the table has room for");
    c("Times", times, 1, int{most_time}, "a job's timer is set to 1 up to this");
    c("Finish", finishes, "whether programs end; FALSE: the seed's own Next");
    if (Remembers) {
      c("Counts", counts, {"programs", "processes"}, "what the cap counts; programs: the seed");
      c("Mutant", forgets, {"none", "cap_not_checked", "timer_early", "finish_ends_all"},
        "a mistake to plant");
    } else {
      c("Mutant", mutant,
        {"none", "cap_not_checked", "remove_leaves_timer", "wrong_limit", "rearm_forgotten",
         "lose_when_full", "slot_leak", "exec_keeps_due", "add_overwrites", "clock_stops"},
        "a mistake to plant");
    }
  }

  std::vector<action> actions() const {
    const unsigned n = count(ids);
    std::vector<action> all = {
        {"AddJob", count(times) * count(programs), "", fairness::none},
        {"SetJob", n, "", fairness::weak},
        {"Start", n, "", fairness::weak},
        {"Sched", n, "", fairness::weak},
        {"Exec", n, "", fairness::strong},
        {"RemoveJob", n, "", fairness::none},
        {"Tick", 1, "", fairness::weak},
    };
    if (finishes) all.push_back({"Finish", count(programs), "", fairness::weak});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    emit(state{});
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    add(s, emit);
    for (unsigned i = 0; i < count(ids); ++i) {
      const job& j = s.crontab[i];
      state to = s;
      job& k = to.crontab[i];
      switch (j.state) {
        case none:
          break;
        case set:
          if (j.time == 0 || j.r) break;
          k.l = is(mistake::wrong_limit) ? std::uint8_t{1} : j.time;
          k.state = no;
          emit(set_job, i, to);
          break;
        case no:
          if (!j.r && j.l > 0) {
            k.t = 0;
            k.r = true;
            k.state = yes;
            emit(start, i, to);
          }
          emit(remove_job, i, removed(s, i));
          break;
        case yes:
          if (j.r && j.t + (is(lapse::timer_early) ? 1 : 0) >= j.l) {
            if (Remembers) k.waited = j.t;
            k.t = 0;
            k.r = false;
            k.state = is(mistake::lose_when_full) && full(s) ? no : run;
            emit(sched, i, to);
          }
          if (j.r) emit(remove_job, i, removed(s, i));
          break;
        case run:
          if (full(s) && !is(mistake::cap_not_checked) && !is(lapse::cap_not_checked)) break;
          k.state = is(mistake::exec_keeps_due) ? run : no;
          k.waited = 0;
          if (is(mistake::rearm_forgotten)) k.l = 0;
          to.aprocs |= bit(j.prog);
          if (Remembers) ++to.processes[j.prog - 1u];
          emit(exec, i, to);
          break;
      }
    }
    // The spec asks for some timer that counts: TLC finds the step once for each.
    for (const job& j : s.crontab)
      if (counting(j)) emit(tick, 0, ticked(s));
    if (finishes)
      for (unsigned p = 1; p <= count(programs); ++p)
        if (s.aprocs & bit(p)) emit(finish, p - 1, finished(s, p));
  }

  // With a cap on programs there is no bound on processes: the search goes as far as one too many.
  bool within(const state& s) const { return processes(s) <= count(max_aprogs) + 1; }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeInv", [this](const state& s) {
      return each(s, [this](const job& j) { return typed(j) && in_times(j.t) && in_times(j.l); }) &&
             !(s.aprocs >> count(programs));
    });
    p.invariant("Limit", [this](const state& s) {
      return static_cast<unsigned>(std::popcount(s.aprocs)) <= count(max_aprogs);
    });
    p.invariant("TimerRunsIffArmed", [this](const state& s) {
      return each(s, [](const job& j) { return j.r == (j.state == yes); });
    });
    p.invariant("NotEarly", [this](const state& s) {
      return each(s, [](const job& j) { return j.state != run || j.l == j.time; });
    });
    if (Remembers)
      remembered(p);
    else
      leads(p);
    p.known_to_fail();
    // The seed's TypeInv as it stands: the timers keep their first value for ever.
    p.invariant("TypeInvSeed", [this](const state& s) {
      return each(s, [this](const job& j) { return typed(j) && !j.t && !j.l && !j.r; });
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    for (unsigned i = 0; i < count(ids); ++i) {
      const job& j = s.crontab[i];
      const std::string n = "[" + std::to_string(i + 1) + "]";
      f("crontab" + n,
        "time " + std::to_string(j.time) + ", " + program(j.prog) + ", " + name_of_status(j.state));
      f("timers" + n,
        "t " + std::to_string(j.t) + ", l " + std::to_string(j.l) + ", " + (j.r ? "yes" : "no"));
      if (Remembers) f("waited" + n, j.waited);
    }
    std::string running;
    std::string counted;
    for (unsigned p = 1; p <= count(programs); ++p) {
      if (s.aprocs & bit(p)) running += (running.empty() ? "" : ", ") + program(p);
      counted += (p > 1 ? " " : "") + std::to_string(s.processes[p - 1]);
    }
    f("aprocs", "{" + running + "}");
    if (Remembers) f("processes", "<" + counted + ">");
  }

  std::string parameter(unsigned which, unsigned p) const {
    if (which == add_job)
      return std::to_string(p / count(programs) + 1) + ", " + program(p % count(programs) + 1);
    return which == finish ? program(p + 1) : std::to_string(p + 1);
  }

  // Programs are alike. Jobs are not: AddJob takes the free one that comes first.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<std::uint8_t, most_programs + 1> to;
    std::iota(to.begin(), to.end(), std::uint8_t{0});
    const auto first = to.begin() + 1;
    const auto last = first + programs;
    while (std::next_permutation(first, last)) {
      state t = s;
      t.aprocs = 0;
      for (unsigned p = 1; p <= count(programs); ++p) {
        if (s.aprocs & bit(p)) t.aprocs |= bit(to[p]);
        t.processes[to[p] - 1u] = s.processes[p - 1];
      }
      for (job& j : t.crontab) j.prog = to[j.prog];
      f(t);
    }
  }

  using packed = std::array<word, Remembers ? 3 : 2>;

  // A job takes 20 bits, three of them a word; aprocs takes the four that are left in each.
  static packed pack(const state& s) {
    packed words{};
    for (unsigned i = 0; i < most_ids; ++i) {
      const job& j = s.crontab[i];
      const word bits = word{j.time} | word{j.prog} << 4 | word{j.t} << 8 | word{j.l} << 12 |
                        word{j.state} << 16 | word{j.r} << 19;
      words[i / 3] |= bits << (20 * (i % 3));
      if constexpr (Remembers) words[2] |= word{j.waited} << (32 + 4 * i);
    }
    words[0] |= word{s.aprocs & 15u} << 60;
    words[1] |= word{s.aprocs} >> 4 << 60;
    if constexpr (Remembers)
      for (unsigned p = 0; p < most_programs; ++p) words[2] |= word{s.processes[p]} << (4 * p);
    return words;
  }
  static state unpack(const packed& words) {
    state s;
    const auto nibble = [](word w, unsigned at) { return static_cast<std::uint8_t>(w >> at & 15); };
    for (unsigned i = 0; i < most_ids; ++i) {
      const word bits = words[i / 3] >> (20 * (i % 3));
      job& j = s.crontab[i];
      j.time = nibble(bits, 0);
      j.prog = nibble(bits, 4);
      j.t = nibble(bits, 8);
      j.l = nibble(bits, 12);
      j.state = static_cast<status>(bits >> 16 & 7);
      j.r = bits >> 19 & 1;
      if constexpr (Remembers) j.waited = nibble(words[2], 32 + 4 * i);
    }
    s.aprocs = static_cast<std::uint8_t>(nibble(words[0], 60) | nibble(words[1], 60) << 4);
    if constexpr (Remembers)
      for (unsigned p = 0; p < most_programs; ++p) s.processes[p] = nibble(words[2], 4 * p);
    return s;
  }

 private:
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  static std::uint8_t bit(unsigned program) {
    return static_cast<std::uint8_t>(1u << program >> 1);
  }
  bool is(mistake m) const { return mutant == m; }
  bool is(lapse l) const { return forgets == l; }

  static unsigned processes(const state& s) {
    return std::accumulate(s.processes.begin(), s.processes.end(), 0u);
  }
  bool full(const state& s) const {
    const auto running =
        counts == cap::processes ? processes(s) : static_cast<unsigned>(std::popcount(s.aprocs));
    return running >= count(max_aprogs);
  }

  // The first free place in the table takes any program at any time. The spec asks for some free
  // place before it chooses one: TLC finds each step once for each.
  template <class Emit>
  void add(const state& s, Emit& emit) const {
    const auto is_free = [this](const job& j) {
      return j.state == none || (is(mistake::add_overwrites) && j.state == yes);
    };
    const auto end = s.crontab.begin() + ids;
    const auto at = std::find_if(s.crontab.begin(), end, is_free);
    const auto found = std::count_if(s.crontab.begin(), end, is_free);
    for (unsigned t = 1; t <= count(times); ++t)
      for (unsigned p = 1; p <= count(programs); ++p)
        for (auto times_found = found; times_found > 0; --times_found) {
          state to = s;
          job& j = to.crontab[static_cast<std::size_t>(at - s.crontab.begin())];
          j.time = static_cast<std::uint8_t>(t);
          j.prog = static_cast<std::uint8_t>(p);
          j.state = set;
          emit(add_job, (t - 1) * count(programs) + p - 1, to);
        }
  }

  // The timer keeps its limit.
  state removed(const state& s, unsigned i) const {
    state to = s;
    job& j = to.crontab[i];
    if (j.state == yes && !is(mistake::remove_leaves_timer)) {
      j.t = 0;
      j.r = false;
    }
    j.time = 0;
    j.prog = nullp;
    j.state = none;
    return to;
  }

  bool counting(const job& j) const {
    return j.r && j.t < j.l && !(is(mistake::clock_stops) && j.t > 0);
  }
  state ticked(const state& s) const {
    state to = s;
    for (job& j : to.crontab)
      if (counting(j)) ++j.t;
    return to;
  }

  // In the mutant the program ends and nobody gives its slot back.
  state finished(const state& s, unsigned p) const {
    state to = s;
    if (is(mistake::slot_leak)) return to;
    if (Remembers) --to.processes[p - 1];
    if (!to.processes[p - 1] || is(lapse::finish_ends_all))
      to.aprocs &= static_cast<std::uint8_t>(~bit(p));
    return to;
  }

  template <class Holds>
  bool each(const state& s, Holds holds) const {
    return std::all_of(s.crontab.begin(), s.crontab.begin() + ids, holds);
  }
  bool in_times(unsigned t) const { return t <= count(times); }
  bool typed(const job& j) const {
    return in_times(j.time) && j.prog <= count(programs) && j.state <= run;
  }

  template <class P>
  void leads(P& p) const {
    const auto from = [](status q) {
      return [q](const state& s, unsigned i) { return s.crontab[i].state == q; };
    };
    const auto to = [](status q) {
      return [q](const state& s, unsigned i) {
        return s.crontab[i].state == q || s.crontab[i].state == none;
      };
    };
    p.leads_to("DueRuns", count(ids), from(run),
               [](const state& s, unsigned i) { return s.crontab[i].state != run; });
    p.leads_to("ArmedRuns", count(ids), from(yes), to(run));
    p.leads_to("AddedRuns", count(ids), from(set), to(run));
    p.leads_to("Rearmed", count(ids), from(no), to(yes));
  }

  template <class P>
  void remembered(P& p) const {
    p.invariant("ExpiredInTime", [this](const state& s) {
      return each(s, [](const job& j) { return j.state != run || j.waited >= j.time; });
    });
    p.invariant("AprocsAreRunning", [](const state& s) {
      for (unsigned q = 1; q <= most_programs; ++q)
        if ((s.processes[q - 1] > 0) != ((s.aprocs & bit(q)) != 0)) return false;
      return true;
    });
    // A set that has room for two programs has room for any number of processes of one.
    if (counts == cap::programs && max_aprogs > 1) p.known_to_fail();
    p.invariant("ProcessCap", [this](const state& s) { return processes(s) <= count(max_aprogs); });
  }

  static std::string program(unsigned p) { return p ? "p" + std::to_string(p) : "nullp"; }
  static const char* name_of_status(status q) {
    constexpr std::array names = {"none", "set", "no", "yes", "run"};
    return names[q];
  }
};

using crond = basic_crond<false>;
using crond_processes = basic_crond<true>;

}  // namespace rota::verify

#endif
