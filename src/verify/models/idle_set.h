// specs/idle_set: who sleeps, who searches and whom to wake, as rota::detail::idle_set and the
// workers of the pool do it, so that nobody sleeps while work waits.
//
// A step may take for ever: nothing relies on a running job to end, nor on a sleeper's nap. What a
// thread stores into a queue first enters its store buffer, which drains at any time, at the
// thread's next read-modify-write, or at a heavy fence.
#ifndef ROTA_VERIFY_MODELS_IDLE_SET_H
#define ROTA_VERIFY_MODELS_IDLE_SET_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "verify/models/idle_set_state.h"

namespace rota::verify {

class idle_set {
 public:
  using state = idle_set_state;
  using number = state::number;
  using worker_set = state::worker_set;
  using ticket = state::ticket;
  using place = state::place;
  using poster_place = state::poster_place;
  static constexpr unsigned most_workers = state::most_workers;
  static constexpr unsigned most_posters = state::most_posters;
  static constexpr number nobody = state::nobody;

  enum act {
    Spawn,
    LatePush,
    Offer,
    Choose,
    ChooseNobody,
    Notify,
    EndStep,
    Pick,
    RunDry,
    BeginSearch,
    TakeInjector,
    TakeMail,
    Steal,
    Keep,
    PopLoot,
    LostLoot,
    Miss,
    FoundWork,
    FenceSurplus,
    Surplus,
    Enter,
    Fence,
    Look,
    Leave,
    Drain,
    Put,
    PosterOffers,
    PosterChooses,
    PosterChoosesNobody,
    PutIntoMail,
    PosterNotifies,
    DrainPoster,
    Standstill,
  };

  enum class posts { injector, mail, mail_then_offer };

  enum class mistake {
    none,
    no_second_look,
    no_heavy_fence,
    wake_before_push,
    no_surplus_look,
    steal_without_offer,
    leave_uncounted,
  };

  int workers = 2;
  int posters = 1;
  int spawns = 1;
  int ends = 2;
  bool naps = true;
  int start = 0;
  posts post = posts::injector;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Workers", workers, 1, int{most_workers}, "how many workers there are");
    c("Posters", posters, 0, int{most_posters}, "threads that post one job each");
    c("Spawns", spawns, 0, 8, "jobs that the running jobs make together");
    c("Ends", ends, 0, 8, "how many steps end; the others run for ever");
    c("Naps", naps, "whether a sleeper may wake by itself");
    c("Start", start, 0, 8, "0: all begin dry; else worker 1 runs with so many jobs queued");
    c("Post", post, {"injector", "mail", "mail_then_offer"}, "how a job is posted");
    c("Mutant", mutant,
      {"none", "no_second_look", "no_heavy_fence", "wake_before_push", "no_surplus_look",
       "steal_without_offer", "leave_uncounted"},
      "a mistake to plant");
  }

  std::string complaint() const {
    const auto unless = [](bool fits, const char* needs) {
      return fits ? std::string() : std::string("this mutant needs ") + needs;
    };
    switch (mutant) {
      case mistake::wake_before_push:
        return unless(spawns > 0, "Spawns");
      case mistake::no_surplus_look:
        return unless(posters > 1 || start > 2, "two Posters, or Start=3");
      case mistake::steal_without_offer:
        return unless(workers > 3 && start > 2, "four Workers and Start=3");
      case mistake::leave_uncounted:
        return unless(workers > 2 && spawns > 1 && start > 0 && ends > 0,
                      "three Workers, two Spawns, Start and Ends");
      default:
        return "";
    }
  }

  // Nothing here has to happen, so no action is fair.
  std::vector<action> actions() const {
    std::vector<action> all;
    for (const char* name :
         {"Spawn",        "LatePush", "Offer",     "Choose",       "ChooseNobody",
          "Notify",       "EndStep",  "Pick",      "RunDry",       "BeginSearch",
          "TakeInjector", "TakeMail", "Steal",     "Keep",         "PopLoot",
          "LostLoot",     "Miss",     "FoundWork", "FenceSurplus", "Surplus",
          "Enter",        "Fence",    "Look",      "Leave",        "Drain"})
      all.push_back({name, n_workers()});
    for (const char* name : {"Put", "PosterOffers", "PosterChooses", "PosterChoosesNobody",
                             "PutIntoMail", "PosterNotifies", "DrainPoster"})
      all.push_back({name, n_posters()});
    all.push_back({"Standstill"});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.at.fill(place::run);
    for (unsigned w = 0; w < n_workers(); ++w) {
      s.at[w] = start == 0 ? place::pick : w == 0 ? place::run : place::scan;
      s.searching[w] = counted_at_start(w);
      if (s.searching[w]) ++s.searchers;
    }
    s.ring[0] = as_number(start);
    s.spawns = as_number(spawns);
    s.ends = as_number(ends);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (unsigned w = 0; w < n_workers(); ++w) {
      if (s.at[w] <= place::pick)
        step_of_runner(s, w, emit);
      else if (s.at[w] <= place::surplus)
        step_of_searcher(s, w, emit);
      else
        step_of_idler(s, w, emit);
      if (s.buffer[w] > 0) {
        state n = s;
        drain(n, w);
        emit(Drain, w, n);
      }
    }
    for (unsigned p = 0; p < n_posters(); ++p) {
      step_of_poster(s, p, emit);
      if (s.posting[p] > 0) {
        state n = s;
        drain_poster(n, p);
        emit(DrainPoster, p, n);
      }
    }
    if (stands_still(s)) emit(Standstill, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) { return typed(s); });
    p.invariant("WorkConserving", [this](const state& s) {
      return !(job_queued(s) && nobody_will_look(s) &&
               any_worker([&](unsigned w) { return sleeps(s, w); }));
    });
    p.invariant("SearchersCounted", [this](const state& s) {
      unsigned counted = 0;
      for (unsigned w = 0; w < n_workers(); ++w) counted += s.searching[w] || was_chosen(s, w);
      return s.searchers == counted;
    });
    p.invariant("ChosenAreNotified", [this](const state& s) {
      return !any_worker([&](unsigned w) {
        return was_chosen(s, w) && sleeps(s, w) && !is_notifier_under_way(s, id(w));
      });
    });
  }

  // Workers are interchangeable as far as they begin alike.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_workers> w;
    std::iota(w.begin(), w.end(), 0u);
    bool same_workers = true;
    do {
      std::array<unsigned, most_posters> p;
      std::iota(p.begin(), p.end(), 0u);
      bool same_posters = true;
      do {
        if (!(same_workers && same_posters) && begin_alike(w))
          f(s.renamed(n_workers(), n_posters(), w, p));
        same_posters = false;
      } while (std::next_permutation(p.begin(), p.begin() + posters));
      same_workers = false;
    } while (std::next_permutation(w.begin(), w.begin() + workers));
  }

  template <class F>
  void fields(const state& s, F f) const {
    s.fields(n_workers(), n_posters(), f);
  }

  std::string parameter(unsigned a, unsigned i) const {
    return (a >= Put ? "p" : "") + std::to_string(i + 1);
  }

 private:
  unsigned n_workers() const { return static_cast<unsigned>(workers); }
  unsigned n_posters() const { return static_cast<unsigned>(posters); }
  bool has(mistake m) const { return mutant == m; }
  static number as_number(int i) { return static_cast<number>(i); }
  static number id(unsigned w) { return state::id(w); }
  static worker_set bit(unsigned w) { return state::bit(w); }
  static number half(number jobs) { return static_cast<number>((jobs + 1) / 2); }
  static void add(number& to, number more) { to = static_cast<number>(to + more); }

  template <class Is>
  bool any_worker(Is is) const {
    for (unsigned w = 0; w < n_workers(); ++w)
      if (is(w)) return true;
    return false;
  }
  template <class Is>
  bool any_poster(Is is) const {
    for (unsigned p = 0; p < n_posters(); ++p)
      if (is(p)) return true;
    return false;
  }

  // Whom begin_search() has counted when worker 1 runs and all others search.
  bool counted_at_start(unsigned w) const {
    return start != 0 && w >= 1 && w <= (n_workers() + 1) / 2;
  }

  // Is there anybody whom choose() might return?
  static bool worth_waking(const state& s) { return s.bits != 0 && s.searchers == 0; }

  // What a worker sees that looks everywhere; of its own ring it sees its buffer too.
  bool sees_work(const state& s, unsigned w) const {
    return s.injector > 0 || s.buffer[w] > 0 ||
           any_worker([&](unsigned v) { return s.ring[v] > 0 || s.mail[v] > 0; });
  }

  bool job_queued(const state& s) const {
    return s.injector > 0 || any_poster([&](unsigned p) { return s.posting[p] > 0; }) ||
           any_worker(
               [&](unsigned w) { return s.ring[w] > 0 || s.buffer[w] > 0 || s.mail[w] > 0; });
  }
  static bool sleeps(const state& s, unsigned w) {
    return s.at[w] == place::asleep && s.notifier[w] == ticket::prepared;
  }
  // Everybody is in the middle of a step, for all we know for ever, or sleeps with nobody about to
  // wake it; and no poster is at work.
  bool nobody_will_look(const state& s) const {
    return !any_worker([&](unsigned w) { return s.at[w] != place::run && !sleeps(s, w); }) &&
           !any_poster([&](unsigned p) {
             return s.poster[p] != poster_place::ready && s.poster[p] != poster_place::done;
           });
  }
  // It was chosen and does not know it yet.
  static bool was_chosen(const state& s, unsigned w) {
    return s.at[w] >= place::fence && !(s.bits & bit(w));
  }
  bool is_notifier_under_way(const state& s, number to) const {
    return any_worker([&](unsigned v) { return s.chosen[v] == to; }) ||
           any_poster([&](unsigned p) { return s.picked[p] == to; });
  }

  // Nothing is left to happen: all sleep or run for ever, everything was posted.
  bool stands_still(const state& s) const {
    return !any_worker([&](unsigned w) {
      return !sleeps(s, w) && !(s.at[w] == place::run && s.ends == 0 && s.spawns == 0);
    }) && !any_poster([&](unsigned p) { return s.poster[p] != poster_place::done; });
  }

  bool typed(const state& s) const {
    return s.bits < (1u << n_workers()) && s.searchers <= workers && !any_worker([&](unsigned w) {
             const bool back_ok =
                 s.back[w] == place::run || s.back[w] == place::push || s.back[w] == place::pop;
             return !back_ok || s.chosen[w] > workers;
           }) &&
           !any_poster([&](unsigned p) { return s.posting[p] > 1; });
  }

  static void drain(state& s, unsigned w) {
    add(s.ring[w], s.buffer[w]);
    s.buffer[w] = 0;
  }
  static void drain_poster(state& s, unsigned p) {
    add(s.injector, s.posting[p]);
    s.posting[p] = 0;
  }
  // In one step; specs/event_notifier has it thread by thread.
  void heavy_fence(state& s) const {
    if (has(mistake::no_heavy_fence)) return;
    for (unsigned w = 0; w < n_workers(); ++w) drain(s, w);
    for (unsigned p = 0; p < n_posters(); ++p) drain_poster(s, p);
  }

  // notify() changes nothing unless the worker has a ticket.
  static void notify(state& s, number& whom) {
    ticket& t = s.notifier[whom - 1u];
    if (t == ticket::prepared) t = ticket::notified;
    whom = nobody;
  }

  // Each worker that choose() might return, with the state in which it is chosen.
  template <class Chosen>
  void choose(const state& s, Chosen chosen) const {
    for (unsigned c = 0; c < n_workers(); ++c) {
      if (!(s.bits & bit(c))) continue;
      state n = s;
      n.bits = static_cast<worker_set>(s.bits & ~bit(c));
      ++n.searchers;
      chosen(n, id(c));
    }
  }

  static void uncount(state& s, unsigned w) {
    if (s.searching[w]) --s.searchers;
    s.searching[w] = false;
  }

  // Running, making, offering.
  template <class Emit>
  void step_of_runner(const state& s, unsigned w, Emit& emit) const {
    state n = s;
    const auto go = [&](act a, place to) {
      n.at[w] = to;
      emit(a, w, n);
    };
    switch (s.at[w]) {
      case place::run:
        if (s.ends > 0) {
          --n.ends;
          go(EndStep, place::pick);
          n = s;
        }
        if (s.spawns > 0) {
          --n.spawns;
          const bool late = has(mistake::wake_before_push);
          n.back[w] = late ? place::push : place::run;
          if (!late) ++n.buffer[w];
          go(Spawn, place::offer);
        }
        break;
      case place::push:  // only in the mutant that offers first
        ++n.buffer[w];
        n.back[w] = place::run;
        go(LatePush, place::run);
        break;
      case place::offer:
        // A light fence, which drains nothing, and one load.
        go(Offer, worth_waking(s) ? place::choose : s.back[w]);
        break;
      case place::choose:
        if (!worth_waking(s)) {
          go(ChooseNobody, s.back[w]);
        } else if (s.buffer[w] == 0) {
          choose(s, [&](const state& with, number c) {
            n = with;
            n.chosen[w] = c;
            go(Choose, place::notify);
          });
        }
        break;
      case place::notify:
        notify(n, n.chosen[w]);
        go(Notify, s.back[w]);
        break;
      case place::pick:
        // The pop is a read-modify-write.
        if (s.buffer[w] > 0) break;
        if (s.ring[w] > 0) {
          --n.ring[w];
          go(Pick, place::run);
        } else {
          go(RunDry, place::search);
        }
        break;
      default:
        break;
    }
  }

  // Searching, and leaving the search with a job in hand.
  template <class Emit>
  void step_of_searcher(const state& s, unsigned w, Emit& emit) const {
    state n = s;
    const auto go = [&](act a, place to) {
      n.at[w] = to;
      emit(a, w, n);
    };
    switch (s.at[w]) {
      case place::search:
        if (2 * s.searchers < workers) {
          ++n.searchers;
          n.searching[w] = true;
        }
        go(BeginSearch, place::scan);
        break;
      case place::scan:
        scan(s, w, emit);
        break;
      case place::keep:
        // The loot enters the own ring.
        add(n.buffer[w], s.hand[w]);
        n.hand[w] = 0;
        go(Keep, s.back[w] == place::pop ? place::offer : place::pop);
        break;
      case place::pop:
        if (s.buffer[w] > 0) break;
        n.back[w] = place::run;
        if (s.ring[w] > 0) {
          --n.ring[w];
          go(PopLoot, place::found);
        } else {
          go(LostLoot, place::enter);  // others were faster
        }
        break;
      case place::found: {
        const bool last = s.searching[w] && s.searchers == 1;
        uncount(n, w);
        const bool looks = last && s.bits != 0 && !has(mistake::no_surplus_look);
        go(FoundWork, looks ? place::fence_surplus : place::run);
        break;
      }
      case place::fence_surplus:
        heavy_fence(n);
        go(FenceSurplus, place::surplus);
        break;
      case place::surplus:
        go(Surplus, s.bits != 0 && sees_work(s, w) ? place::choose : place::run);
        break;
      default:
        break;
    }
  }

  // What a scan may find. It may also miss what came behind it, or what another thief was at.
  template <class Emit>
  void scan(const state& s, unsigned w, Emit& emit) const {
    // After taking mail the worker offers what it put into its ring; after a theft too, if it
    // brought more than it will run itself.
    const auto take = [&](act a, state n, number jobs, bool offers) {
      n.hand[w] = jobs;
      n.back[w] = offers ? place::pop : place::run;
      n.at[w] = place::keep;
      emit(a, w, n);
    };
    if (s.injector > 0) {
      state n = s;
      n.injector = 0;
      take(TakeInjector, n, s.injector, true);
    }
    for (unsigned v = 0; v < n_workers(); ++v) {
      if (s.mail[v] > 0) {
        state n = s;
        n.mail[v] = 0;
        take(TakeMail, n, s.mail[v], true);
      }
      if (v != w && s.ring[v] > 0) {
        const number jobs = half(s.ring[v]);
        state n = s;
        n.ring[v] = static_cast<number>(s.ring[v] - jobs);
        take(Steal, n, jobs, jobs > 1 && !has(mistake::steal_without_offer));
      }
    }
    state n = s;
    n.at[w] = place::enter;
    emit(Miss, w, n);
  }

  // Giving up, sleeping.
  template <class Emit>
  void step_of_idler(const state& s, unsigned w, Emit& emit) const {
    state n = s;
    const auto go = [&](act a, place to) {
      n.at[w] = to;
      emit(a, w, n);
    };
    switch (s.at[w]) {
      case place::enter:
        // The ticket, then the bit, in one step: nobody chooses us before the bit is set.
        if (s.buffer[w] > 0) break;
        n.notifier[w] = ticket::prepared;
        n.bits = static_cast<worker_set>(s.bits | bit(w));
        uncount(n, w);
        go(Enter, place::fence);
        break;
      case place::fence:
        heavy_fence(n);
        go(Fence, has(mistake::no_second_look) ? place::asleep : place::look);
        break;
      case place::look:
        go(Look, sees_work(s, w) ? place::leave : place::asleep);
        break;
      case place::asleep:
        if (s.notifier[w] != ticket::notified && !naps) break;
        [[fallthrough]];
      case place::leave:
        // Whoever was chosen meanwhile is counted as a searcher.
        n.notifier[w] = ticket::running;
        n.searching[w] = !(s.bits & bit(w));
        n.bits = static_cast<worker_set>(s.bits & ~bit(w));
        // Producers that saw it searching before it entered rely on it to look for more.
        if (s.at[w] == place::leave && !n.searching[w] && !has(mistake::leave_uncounted))
          go(Leave, place::search);
        else
          go(Leave, place::scan);
        break;
      default:
        break;
    }
  }

  // With "injector" the job goes where all see it, then somebody is woken if that is worth it. With
  // "mail" a sleeper is chosen first, and the job goes into its inbox; "mail_then_offer" is the
  // same with another look at the set afterwards.
  template <class Emit>
  void step_of_poster(const state& s, unsigned p, Emit& emit) const {
    using enum poster_place;
    state n = s;
    const auto go = [&](act a, poster_place to) {
      n.poster[p] = to;
      emit(a, p, n);
    };
    const auto chooses = [&](poster_place then) {
      if (s.posting[p] > 0) return;
      this->choose(s, [&](const state& with, number c) {
        n = with;
        n.picked[p] = c;
        go(PosterChooses, then);
      });
    };
    switch (s.poster[p]) {
      case ready:
        if (post != posts::injector && worth_waking(s)) {
          chooses(put);
        } else {
          n.posting[p] = 1;
          go(Put, offer);
        }
        break;
      case offer:
        go(PosterOffers, worth_waking(s) ? poster_place::choose : done);
        break;
      case poster_place::choose:
        if (worth_waking(s))
          chooses(poster_place::notify);
        else
          go(PosterChoosesNobody, done);
        break;
      case put:
        ++n.mail[s.picked[p] - 1u];
        go(PutIntoMail, deliver);
        break;
      case deliver:
      case poster_place::notify: {
        idle_set::notify(n, n.picked[p]);
        const bool again = s.poster[p] == deliver && post == posts::mail_then_offer;
        go(PosterNotifies, again ? offer : done);
        break;
      }
      case done:
        break;
    }
  }

  bool begin_alike(const std::array<unsigned, most_workers>& from) const {
    if (start == 0) return true;
    for (unsigned w = 0; w < n_workers(); ++w)
      if ((w == 0) != (from[w] == 0) || counted_at_start(w) != counted_at_start(from[w]))
        return false;
    return true;
  }
};

}  // namespace rota::verify

#endif
