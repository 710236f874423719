// specs/fork_deque: the THE protocol of rota::detail::fork_deque, where owner and thief each move
// their own end and then look at the other's.
//
// Elements are numbered in the order of their pushes; the slots of the ring are used again.
#ifndef ROTA_VERIFY_MODELS_FORK_DEQUE_H
#define ROTA_VERIFY_MODELS_FORK_DEQUE_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class fork_deque {
 public:
  static constexpr unsigned most_elements = 8;
  static constexpr unsigned most_thieves = 3;
  static constexpr unsigned most_slots = 16;  // a ring that is doubled held at most Elements

  using number = std::int8_t;  // of an element, from 1 on, or of a place in the deque, from 0 on
  static constexpr number none = 0;
  static constexpr number owner_id = 100;  // as holder of the lock; thieves are 1, 2 ...

  enum class owner_place : std::uint8_t {
    idle,
    room,
    slot,
    publish,
    retreat,
    compare,
    settle,
    judge,
  };
  enum class thief_place : std::uint8_t { idle, look, lock, claim, compare, back, unlock };

  struct state {
    std::array<number, most_slots> ring{};  // slots from `size` on are empty
    number size = 0;
    number top = 0, bottom = 0;  // the oldest element, one beyond the youngest
    number old_top = 0;          // the owner's view of top
    number lock = none;          // who holds the thieves' lock
    number pushed = 0;           // how many elements were pushed
    owner_place owner = owner_place::idle;
    number b = 0, x = none;  // the place and the element that the owner wants
    number saw = 0;          // top, as the owner saw it
    std::array<thief_place, most_thieves> thief{};
    std::array<number, most_thieves> t{};      // the place that each thief wants
    std::array<number, most_thieves> limit{};  // bottom, as it saw it
    // How often each element was taken; twice stands for more, since that is wrong already.
    std::array<number, most_elements + 1> takes{};
  };

  enum act {
    Push,
    FindRoom,
    Grow,
    StoreSlot,
    StoreBottom,
    Pop,
    Retreat,
    OwnerTakes,
    Conflict,
    LockToSettle,
    SettledOurs,
    SettledTheirs,
    LookBottom,
    LookTop,
    TryLock,
    GiveUp,
    Advance,
    ThiefMayTake,
    ThiefTooLate,
    ThiefTakes,
    StepBack,
    Finished,
  };

  enum class mistake {
    none,
    ignore_conflict,
    settle_without_lock,
    bottom_not_restored,
    no_step_back,
    owner_reads_first,
    thief_reads_first,
    room_without_lock,
  };

  int elements = 3;
  int thieves = 2;
  int capacity = 1;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Elements", elements, 1, int{most_elements}, "how many elements the owner pushes");
    c("Thieves", thieves, 1, int{most_thieves}, "how many threads steal");
    c("Capacity", capacity, 1, int{most_slots} / 2, "slots of the first ring");
    c("Mutant", mutant,
      {"none", "ignore_conflict", "settle_without_lock", "bottom_not_restored", "no_step_back",
       "owner_reads_first", "thief_reads_first", "room_without_lock"},
      "a mistake to plant");
  }

  std::vector<action> actions() const {
    std::vector<action> all;
    for (const char* name :
         {"Push", "FindRoom", "Grow", "StoreSlot", "StoreBottom", "Pop", "Retreat", "OwnerTakes",
          "Conflict", "LockToSettle", "SettledOurs", "SettledTheirs"})
      all.push_back({name, 1, "OwnerStep", fairness::weak});
    for (const char* name : {"LookBottom", "LookTop", "TryLock", "GiveUp", "Advance",
                             "ThiefMayTake", "ThiefTooLate", "ThiefTakes", "StepBack"})
      all.push_back({name, count(), "ThiefStep", fairness::weak});
    all.push_back({"Finished", 1, "", fairness::none});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.size = as_number(capacity);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    step_of_owner(s, emit);
    for (unsigned h = 0; h < count(); ++h) step_of_thief(s, h, emit);
    if (resting(s) && s.pushed == elements && s.top == s.bottom) emit(Finished, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) { return typed(s); });
    p.invariant("AtMostOnce", [](const state& s) {
      return std::all_of(s.takes.begin(), s.takes.end(), [](number n) { return n <= 1; });
    });
    p.invariant("ExactlyOnce", [this](const state& s) {
      if (!resting(s)) return true;
      for (number e = 1; e <= s.pushed; ++e)
        if (s.takes[index(e)] + is_queued(s, e) != 1) return false;
      return true;
    });
    p.invariant("RefusedMeansTaken", [this](const state& s) {
      if (s.owner != owner_place::judge || s.top <= s.b || s.x == none) return true;
      return s.takes[index(s.x)] == 1 || any_committed(s, [&](number e) { return e == s.x; });
    });
    p.invariant("SlotIntact", [this](const state& s) {
      return !any_committed(s, [&](number e) { return e == none || s.takes[index(e)] != 0; });
    });
    p.invariant("EndsMeet", [this](const state& s) { return !resting(s) || s.top <= s.bottom; });
    p.leads_to(
        "Settles", [](const state& s) { return s.owner == owner_place::settle; },
        [](const state& s) { return s.owner == owner_place::idle; });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_thieves> from;
    std::iota(from.begin(), from.end(), 0u);
    while (std::next_permutation(from.begin(), from.begin() + thieves)) {
      state n = s;
      for (unsigned h = 0; h < count(); ++h) {
        n.thief[h] = s.thief[from[h]];
        n.t[h] = s.t[from[h]];
        n.limit[h] = s.limit[from[h]];
        if (s.lock == id(from[h])) n.lock = id(h);
      }
      f(n);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array places = {"idle",    "room",    "slot",   "publish",
                                          "retreat", "compare", "settle", "judge"};
    static constexpr std::array thief_places = {"idle",    "look", "lock",  "claim",
                                                "compare", "back", "unlock"};
    f("ring", text(s.ring.data(), s.ring.data() + s.size));
    f("size", s.size);
    f("top", s.top);
    f("bottom", s.bottom);
    f("old_top", s.old_top);
    f("lock", s.lock == owner_id ? "owner" : text(s.lock));
    f("pushed", s.pushed);
    f("owner", places[index(s.owner)]);
    f("b", s.b);
    f("x", text(s.x));
    f("saw", s.saw);
    for (unsigned h = 0; h < count(); ++h) {
      const std::string of = "[" + parameter(0, h) + "]";
      f("thief" + of, thief_places[index(s.thief[h])]);
      f("t" + of, s.t[h]);
      f("limit" + of, s.limit[h]);
    }
    for (number e = 1; e <= elements; ++e) f("takes[" + std::to_string(e) + "]", s.takes[index(e)]);
  }

  std::string parameter(unsigned, unsigned h) const { return std::to_string(h + 1); }

 private:
  unsigned count() const { return static_cast<unsigned>(thieves); }
  bool has(mistake m) const { return mutant == m; }
  static number as_number(int i) { return static_cast<number>(i); }
  static number id(unsigned h) { return static_cast<number>(h + 1); }
  template <class T>
  static std::size_t index(T i) {
    return static_cast<std::size_t>(i);
  }

  static number& slot_of(state& s, int i) { return s.ring[index(i) % index(s.size)]; }
  static number slot_of(const state& s, int i) { return s.ring[index(i) % index(s.size)]; }

  static void take(state& s, number e) {
    number& times = s.takes[index(e)];
    if (e != none && times < 2) ++times;
  }

  bool resting(const state& s) const {
    return s.owner == owner_place::idle &&
           std::all_of(s.thief.begin(), s.thief.begin() + thieves,
                       [](thief_place at) { return at == thief_place::idle; });
  }

  static bool is_queued(const state& s, number e) {
    for (int i = s.top; i < s.bottom; ++i)
      if (slot_of(s, i) == e) return true;
    return false;
  }

  // Whether some thief is about to read an element that is such.
  template <class Is>
  bool any_committed(const state& s, Is is) const {
    for (unsigned h = 0; h < count(); ++h)
      if (s.thief[h] == thief_place::unlock && is(slot_of(s, s.t[h]))) return true;
    return false;
  }

  bool typed(const state& s) const {
    const auto is_place = [this](number n) { return n >= 0 && n <= elements; };
    return std::all_of(s.ring.begin(), s.ring.end(), is_place) && s.top >= 0 &&
           s.top <= elements + 1 && (s.bottom == -1 || is_place(s.bottom)) && is_place(s.old_top) &&
           (s.lock == owner_id || (s.lock >= none && s.lock <= thieves));
  }

  template <class Emit>
  void step_of_owner(const state& s, Emit& emit) const {
    using enum owner_place;
    state n = s;
    const auto go = [&](act a, owner_place to) {
      n.owner = to;
      emit(a, 0, n);
    };
    // The pop is over: the owner wants nothing more.
    const auto end = [&](act a) {
      n.b = n.saw = 0;
      n.x = none;
      go(a, idle);
    };
    switch (s.owner) {
      case idle:
        if (s.pushed < elements) go(Push, s.bottom - s.old_top >= s.size ? room : slot);
        if (s.bottom > 0) {
          n.b = as_number(s.bottom - 1);
          n.x = slot_of(s, n.b);
          n.saw = s.top;
          go(Pop, retreat);
        }
        break;
      case room:
        if (s.lock != none && !has(mistake::room_without_lock)) break;
        n.old_top = s.top;
        if (s.bottom - s.top >= s.size) {
          enlarge(n);
          go(Grow, slot);
        } else {
          go(FindRoom, slot);
        }
        break;
      case slot:
        ++n.pushed;
        slot_of(n, s.bottom) = n.pushed;
        go(StoreSlot, publish);
        break;
      case publish:
        ++n.bottom;
        go(StoreBottom, idle);
        break;
      case retreat:
        n.bottom = s.b;
        go(Retreat, compare);
        break;
      case compare: {
        const number top_seen = has(mistake::owner_reads_first) ? s.saw : s.top;
        if (top_seen <= s.b || has(mistake::ignore_conflict)) {
          take(n, s.x);
          end(OwnerTakes);
        } else {
          go(Conflict, settle);
        }
        break;
      }
      case settle:
        if (!has(mistake::settle_without_lock)) {
          if (s.lock != none) break;
          n.lock = owner_id;
        }
        go(LockToSettle, judge);
        break;
      case judge:
        if (s.lock == owner_id) n.lock = none;
        if (s.top <= s.b) {
          take(n, s.x);
          end(SettledOurs);
        } else {
          if (!has(mistake::bottom_not_restored)) n.bottom = s.top;
          end(SettledTheirs);
        }
        break;
    }
  }

  // A ring of twice the size, with what is queued. Of elements that share a slot, which only a
  // mutant can have, the oldest stays.
  static void enlarge(state& s) {
    const state old = s;
    s.size = as_number(2 * old.size);
    s.ring.fill(none);
    for (int i = old.bottom - 1; i >= old.top; --i) slot_of(s, i) = slot_of(old, i);
  }

  template <class Emit>
  void step_of_thief(const state& s, unsigned h, Emit& emit) const {
    using enum thief_place;
    state n = s;
    const auto go = [&](act a, thief_place to) {
      n.thief[h] = to;
      emit(a, h, n);
    };
    const auto end = [&](act a) {
      n.lock = none;
      n.t[h] = n.limit[h] = 0;
      go(a, idle);
    };
    switch (s.thief[h]) {
      case idle:
        n.limit[h] = s.bottom;
        go(LookBottom, look);
        break;
      case look:
        n.limit[h] = 0;
        go(LookTop, s.limit[h] <= s.top ? idle : thief_place::lock);
        break;
      case thief_place::lock:
        // Whoever has the lock may be somebody for whom that is part of a step.
        go(GiveUp, idle);
        if (s.lock != none) break;
        n.lock = id(h);
        n.t[h] = s.top;
        n.limit[h] = s.bottom;
        go(TryLock, claim);
        break;
      case claim:
        n.top = as_number(s.t[h] + 1);
        go(Advance, compare);
        break;
      case compare:
        if (s.t[h] < (has(mistake::thief_reads_first) ? s.limit[h] : s.bottom)) {
          go(ThiefMayTake, unlock);
        } else {
          go(ThiefTooLate, back);
        }
        break;
      case back:
        if (!has(mistake::no_step_back)) n.top = s.t[h];
        end(StepBack);
        break;
      case unlock:
        take(n, slot_of(s, s.t[h]));
        end(ThiefTakes);
        break;
    }
  }

  static std::string text(number n) { return n == none ? "none" : std::to_string(n); }
  static std::string text(const number* from, const number* to) {
    std::string all = "<";
    for (const number* n = from; n != to; ++n) all += (n == from ? "" : " ") + text(*n);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
