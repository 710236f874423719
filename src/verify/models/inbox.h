// specs/inbox: rota::detail::inbox, a stack that many put jobs into and anyone empties at once.
//
// Jobs are numbered: the n-th that putter p (from 0 on) puts is p * Jobs + n.
#ifndef ROTA_VERIFY_MODELS_INBOX_H
#define ROTA_VERIFY_MODELS_INBOX_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::verify {

class inbox {
 public:
  static constexpr unsigned most_putters = 3;
  static constexpr unsigned most_takers = 2;
  static constexpr unsigned most_jobs = 9;  // of all putters

  using number = std::int8_t;  // of a job, from 1 on
  static constexpr number none = 0;

  enum class putter_place : std::uint8_t { idle, swap };
  enum class taker_place : std::uint8_t { idle, take, clear };

  struct putter {
    number left = 0;      // jobs yet to put
    number first = none;  // the newest job, as it saw it
    number below = none;  // what its job is linked to
    putter_place at = putter_place::idle;
  };
  struct taker {
    number held = none;  // the newest job, as a mutant loaded it
    taker_place at = taker_place::idle;
  };

  // Some jobs, in order. One more than there are is wrong already, whatever comes after it.
  struct sequence {
    std::uint8_t length = 0;
    std::array<number, most_jobs + 1> jobs{};

    void append(number n) {
      if (length < jobs.size()) jobs[length++] = n;
    }
    const number* begin() const { return jobs.data(); }
    const number* end() const { return jobs.data() + length; }
    friend bool operator==(const sequence&, const sequence&) = default;
  };

  struct state {
    number newest = none;
    std::array<number, most_jobs + 1> link{};  // from a job in the box to the one put before it
    std::array<putter, most_putters> putters{};
    std::array<taker, most_takers> takers{};
    sequence order{};  // what was put
    sequence got{};    // what was taken
  };

  enum act { Load, Swap, Look, TakeAll, Clear, Finished };

  enum class mistake { none, swap_by_store, stale_link, take_by_load, newest_first };

  int putters = 2;
  int jobs = 2;
  int takers = 2;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Putters", putters, 1, int{most_putters}, "how many threads put jobs");
    c("Jobs", jobs, 1, int{most_jobs / most_putters}, "jobs of each of them");
    c("Takers", takers, 1, int{most_takers}, "how many threads take");
    c("Mutant", mutant, {"none", "swap_by_store", "stale_link", "take_by_load", "newest_first"},
      "a mistake to plant");
  }

  std::vector<action> actions() const {
    return {{"Load", count(putters), "Putter", fairness::weak},
            {"Swap", count(putters), "Putter", fairness::weak},
            {"Look", count(takers), "Taker", fairness::weak},
            {"TakeAll", count(takers), "Taker", fairness::weak},
            {"Clear", count(takers), "Taker", fairness::weak},
            {"Finished", 1}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    for (unsigned p = 0; p < count(putters); ++p) s.putters[p].left = static_cast<number>(jobs);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned p = 0; p < count(putters); ++p) step_of_putter(s, p, emit);
    for (unsigned t = 0; t < count(takers); ++t) step_of_taker(s, t, emit);
    if (finished(s)) emit(Finished, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) {
      return s.newest >= none && s.newest <= putters * jobs &&
             std::all_of(s.putters.begin(), s.putters.end(),
                         [this](const putter& r) { return r.left >= 0 && r.left <= jobs; });
    });
    p.invariant("EachOnce", [](const state& s) {
      const sequence found = taken_and_held(s);
      return found.length == s.order.length &&
             std::all_of(s.order.begin(), s.order.end(),
                         [&](number n) { return std::count(found.begin(), found.end(), n) == 1; });
    });
    p.invariant("InOrder", [](const state& s) { return taken_and_held(s) == s.order; });
    p.eventually("AllTaken", [this](const state& s) { return finished(s); });
  }

  template <class F>
  void fields(const state& s, F f) const {
    f("newest", text(s.newest));
    for (number j = 1; j <= putters * jobs; ++j)
      f("link[" + std::to_string(j) + "]", text(s.link[static_cast<std::size_t>(j)]));
    for (unsigned p = 0; p < count(putters); ++p) {
      const putter& r = s.putters[p];
      const std::string of = "[" + std::to_string(p + 1) + "]";
      f("putter" + of, r.at == putter_place::idle ? "idle" : "swap");
      f("left" + of, r.left);
      f("first" + of, text(r.first));
      f("below" + of, text(r.below));
    }
    static constexpr std::array places = {"idle", "take", "clear"};
    for (unsigned t = 0; t < count(takers); ++t)
      f("taker[" + std::to_string(t + 1) + "]", places[static_cast<std::size_t>(s.takers[t].at)]);
    f("order", text(s.order));
    f("got", text(s.got));
  }

  std::string parameter(unsigned, unsigned i) const { return std::to_string(i + 1); }

 private:
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  bool has(mistake m) const { return mutant == m; }
  // The next job of a putter.
  number job_of(const state& s, unsigned p) const {
    return static_cast<number>(static_cast<int>(p) * jobs + jobs - s.putters[p].left + 1);
  }

  bool finished(const state& s) const {
    return s.newest == none &&
           std::all_of(s.putters.begin(), s.putters.end(),
                       [](const putter& r) { return r.left == 0; }) &&
           std::all_of(s.takers.begin(), s.takers.end(),
                       [](const taker& t) { return t.at == taker_place::idle; });
  }

  // The jobs from this one down, newest first.
  static sequence chain(const state& s, number from) {
    sequence all;
    for (; from != none && all.length < most_jobs; from = s.link[static_cast<std::size_t>(from)])
      all.append(from);
    return all;
  }
  static void append_reversed(sequence& to, sequence jobs) {
    for (; jobs.length > 0; --jobs.length) to.append(jobs.jobs[jobs.length - 1u]);
  }
  static sequence taken_and_held(const state& s) {
    sequence all = s.got;
    append_reversed(all, chain(s, s.newest));
    return all;
  }

  template <class Emit>
  void step_of_putter(const state& s, unsigned p, Emit& emit) const {
    state n = s;
    putter& r = n.putters[p];
    if (r.at == putter_place::idle) {
      if (r.left == 0) return;
      r.first = r.below = s.newest;
      r.at = putter_place::swap;
      emit(Load, p, n);
      return;
    }
    if (s.newest == r.first || has(mistake::swap_by_store)) {
      const number j = job_of(s, p);
      n.link[static_cast<std::size_t>(j)] = r.below;
      n.newest = j;
      n.order.append(j);
      r = {static_cast<number>(r.left - 1)};
    } else {
      r.first = s.newest;
      if (!has(mistake::stale_link)) r.below = s.newest;
    }
    emit(Swap, p, n);
  }

  template <class Emit>
  void step_of_taker(const state& s, unsigned t, Emit& emit) const {
    state n = s;
    taker& me = n.takers[t];
    switch (me.at) {
      case taker_place::idle:
        if (s.newest == none) break;
        me.at = taker_place::take;
        emit(Look, t, n);
        break;
      case taker_place::take:
        if (has(mistake::take_by_load)) {
          me = {s.newest, taker_place::clear};
        } else {
          take(n, s.newest);
          me = {};
        }
        emit(TakeAll, t, n);
        break;
      case taker_place::clear:
        take(n, me.held);
        me = {};
        emit(Clear, t, n);
        break;
    }
  }

  // Empties the box; what hangs from this job goes to the taker.
  void take(state& s, number from) const {
    const sequence jobs_taken = chain(s, from);
    if (has(mistake::newest_first))
      for (const number j : jobs_taken) s.got.append(j);
    else
      append_reversed(s.got, jobs_taken);
    for (const number j : jobs_taken) s.link[static_cast<std::size_t>(j)] = none;
    s.newest = none;
  }

  static std::string text(number n) { return n == none ? "none" : std::to_string(n); }
  static std::string text(const sequence& q) {
    std::string all = "<";
    for (const number n : q) all += (all.size() == 1 ? "" : " ") + std::to_string(n);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
