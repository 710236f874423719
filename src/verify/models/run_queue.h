// specs/run_queue: the ring of rota::detail::run_queue, whose slots are used again while a thief
// may still be copying from them.
//
// Jobs are numbered as they come, so job n belongs into slot n modulo the ring's size, and what is
// overwritten too early or read too late shows as a wrong number.
#ifndef ROTA_VERIFY_MODELS_RUN_QUEUE_H
#define ROTA_VERIFY_MODELS_RUN_QUEUE_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class run_queue {
 public:
  static constexpr unsigned most_jobs = 8;
  static constexpr unsigned most_thieves = 3;
  static constexpr unsigned most_slots = 16;  // a ring that is doubled held fewer than Jobs

  using number = std::int8_t;  // of a job, or a count of them
  static constexpr number empty = -1;
  static constexpr number nobody = -1;
  static constexpr number owner_id = 0;  // among those who take; thieves are 1, 2 ...

  enum class owner_place : std::uint8_t { idle, head, reading, resize, slot, tail, pop };
  enum class thief_place : std::uint8_t {
    idle,
    head,
    tail,
    pin,
    claim,
    late_pin,
    copy,
    unpin,
    unlock,
  };

  struct owner_locals {
    number h = 0;             // head, as it read it
    number reading = nobody;  // reading_from, likewise
    number job = empty;       // what it is about to claim
  };
  struct thief_locals {
    number h = 0, n = 0;  // its claim: where and how many
    number copied = 0;
  };

  // What somebody took, in that order. One more than there are jobs is wrong already, whatever
  // comes after it.
  struct sequence {
    std::uint8_t length = 0;
    std::array<number, most_jobs + 1> jobs{};

    void append(number n) {
      if (length < jobs.size()) jobs[length++] = n;
    }
    const number* begin() const { return jobs.data(); }
    const number* end() const { return jobs.data() + length; }
  };

  struct state {
    std::array<number, most_slots> ring{};  // slots from `size` on are empty
    number size = 0;
    number head = 0, tail = 0;     // the oldest job, the next to come
    number reading_from = nobody;  // where the thief at work began to read
    number lock = nobody;          // which thief holds the lock
    number free_from = 0;          // the owner's view: slots below this may be written
    owner_place owner = owner_place::idle;
    owner_locals o{};
    std::array<thief_place, most_thieves> thief{};
    std::array<thief_locals, most_thieves> s{};
    std::array<sequence, 1 + most_thieves> got{};  // by who took it: owner_id, then the thieves
  };

  enum act {
    Push,
    LoadHead,
    LoadReading,
    EnoughRoom,
    Resize,
    StoreSlot,
    StoreTail,
    Pop,
    ClaimOne,
    TryLock,
    ReadHead,
    ReadTail,
    Pin,
    Claim,
    Copy,
    Unpin,
    Unlock,
    Finished,
  };

  enum class mistake {
    none,
    no_pin,
    pin_after_claim,
    reading_before_head,
    resize_without_lock,
    claim_by_store,
  };

  int jobs = 4;
  int thieves = 1;
  int capacity = 2;
  int loot = 2;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Jobs", jobs, 1, int{most_jobs}, "how many jobs the owner pushes");
    c("Thieves", thieves, 1, int{most_thieves}, "how many threads steal");
    c("Capacity", capacity, 1, int{most_slots} / 2, "slots of the first ring");
    c("Loot", loot, 1, int{most_jobs}, "the most that a thief takes at once");
    c("Mutant", mutant,
      {"none", "no_pin", "pin_after_claim", "reading_before_head", "resize_without_lock",
       "claim_by_store"},
      "a mistake to plant");
  }

  std::vector<action> actions() const {
    std::vector<action> all;
    for (const char* name : {"Push", "LoadHead", "LoadReading", "EnoughRoom", "Resize", "StoreSlot",
                             "StoreTail", "Pop", "ClaimOne"})
      all.push_back({name, 1, "OwnerStep", fairness::weak});
    for (const char* name :
         {"TryLock", "ReadHead", "ReadTail", "Pin", "Claim", "Copy", "Unpin", "Unlock"})
      all.push_back({name, count(), "ThiefStep", fairness::weak});
    all.push_back({"Finished", 1, "", fairness::none});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    s.ring.fill(empty);
    s.size = as_number(capacity);
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    step_of_owner(s, emit);
    for (unsigned t = 0; t < count(); ++t) step_of_thief(s, t, emit);
    if (finished(s)) emit(Finished, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) { return typed(s); });
    p.invariant("SlotIntact", [this](const state& s) { return slots_intact(s); });
    p.invariant("QueuedIntact", [](const state& s) {
      for (int n = s.head; n < s.tail; ++n)
        if (job_in(s, n) != n) return false;
      return true;
    });
    p.invariant("AtMostOnce", [](const state& s) { return at_most_once(s); });
    p.invariant("NoneLost", [this](const state& s) {
      job_set found = 0;
      for (const sequence& q : s.got) found |= set_of(q);
      for (unsigned t = 0; t < count(); ++t)
        if (has_claimed(s, t))
          for (int k = s.s[t].copied; k < s.s[t].n; ++k) found |= bit(s.s[t].h + k);
      return found == bit(s.head) - 1;
    });
    p.eventually("ComesToRest", [this](const state& s) { return finished(s); });
  }

  template <class F>
  void permuted(const state& s, F f) const {
    std::array<unsigned, most_thieves> from;
    std::iota(from.begin(), from.end(), 0u);
    while (std::next_permutation(from.begin(), from.begin() + thieves)) {
      state n = s;
      for (unsigned t = 0; t < count(); ++t) {
        n.thief[t] = s.thief[from[t]];
        n.s[t] = s.s[from[t]];
        n.got[1 + t] = s.got[1 + from[t]];
        if (s.lock == id(from[t])) n.lock = id(t);
      }
      f(n);
    }
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array places = {"idle", "head", "reading", "resize",
                                          "slot", "tail", "pop"};
    static constexpr std::array thief_places = {"idle",     "head", "tail",  "pin",   "claim",
                                                "late_pin", "copy", "unpin", "unlock"};
    f("ring", text(s.ring.data(), s.ring.data() + s.size));
    f("head", s.head);
    f("tail", s.tail);
    f("reading_from", text(s.reading_from));
    f("lock", text(s.lock));
    f("free_from", s.free_from);
    f("owner", places[static_cast<std::size_t>(s.owner)]);
    f("o.h", s.o.h);
    f("o.reading", text(s.o.reading));
    f("o.job", text(s.o.job));
    f("got[owner]", text(s.got[0].begin(), s.got[0].end()));
    for (unsigned t = 0; t < count(); ++t) {
      const std::string of = "[" + parameter(0, t) + "]";
      f("thief" + of, thief_places[static_cast<std::size_t>(s.thief[t])]);
      f("s" + of + ".h", s.s[t].h);
      f("s" + of + ".n", s.s[t].n);
      f("s" + of + ".copied", s.s[t].copied);
      f("got" + of, text(s.got[1 + t].begin(), s.got[1 + t].end()));
    }
  }

  std::string parameter(unsigned, unsigned t) const { return std::to_string(t + 1); }

 private:
  using job_set = std::uint32_t;

  unsigned count() const { return static_cast<unsigned>(thieves); }
  bool has(mistake m) const { return mutant == m; }
  static number as_number(int i) { return static_cast<number>(i); }
  static number id(unsigned t) { return static_cast<number>(t + 1); }

  static std::size_t place_of(const state& s, int n) {
    return static_cast<std::size_t>(n) % static_cast<std::size_t>(s.size);
  }
  static number job_in(const state& s, int n) { return s.ring[place_of(s, n)]; }
  static number min_pin(number h, number pin) { return pin == nobody ? h : std::min(h, pin); }
  static bool is_full(const state& s) { return s.tail - s.free_from >= s.size; }

  // What was never pushed has a bit of its own.
  static job_set bit(int n) { return n == empty ? job_set{1} << 31 : job_set{1} << n; }
  static job_set set_of(const sequence& q) {
    job_set all = 0;
    for (number n : q) all |= bit(n);
    return all;
  }

  static bool has_claimed(const state& s, unsigned t) {
    return s.thief[t] == thief_place::late_pin || s.thief[t] == thief_place::copy;
  }

  // All jobs were pushed and taken.
  bool finished(const state& s) const {
    return s.tail == jobs && s.head == jobs && s.owner == owner_place::idle &&
           std::all_of(s.thief.begin(), s.thief.begin() + thieves,
                       [](thief_place at) { return at == thief_place::idle; });
  }

  bool typed(const state& s) const {
    return std::all_of(s.ring.begin(), s.ring.end(),
                       [this](number n) { return n >= empty && n < jobs; }) &&
           0 <= s.head && s.head <= s.tail && s.tail <= jobs && s.reading_from >= nobody &&
           s.reading_from <= jobs && s.lock >= nobody && s.lock <= thieves && s.free_from >= 0 &&
           s.free_from <= jobs;
  }

  bool slots_intact(const state& s) const {
    for (unsigned t = 0; t < count(); ++t)
      if (has_claimed(s, t))
        for (int k = s.s[t].copied; k < s.s[t].n; ++k)
          if (job_in(s, s.s[t].h + k) != s.s[t].h + k) return false;
    return true;
  }

  static bool at_most_once(const state& s) {
    job_set seen = bit(empty);
    for (const sequence& q : s.got) {
      const auto falls = [](number a, number b) { return a >= b; };
      if (std::adjacent_find(q.begin(), q.end(), falls) != q.end()) return false;
      if (seen & set_of(q)) return false;
      seen |= set_of(q);
    }
    return true;
  }

  template <class Emit>
  void step_of_owner(const state& s, Emit& emit) const {
    using enum owner_place;
    const bool reading_first = has(mistake::reading_before_head);
    state n = s;
    const auto go = [&](act a, owner_place to) {
      n.owner = to;
      emit(a, 0, n);
    };
    switch (s.owner) {
      case idle:
        if (s.tail < jobs) go(Push, !is_full(s) ? slot : reading_first ? reading : head);
        if (s.head < s.tail) {
          n.o.h = s.head;
          n.o.job = job_in(s, s.head);
          go(Pop, pop);
        }
        break;
      case head:
        n.o.h = s.head;
        if (reading_first) n.free_from = min_pin(s.head, s.o.reading);
        go(LoadHead, reading_first ? resize : reading);
        break;
      case reading:
        n.o.reading = s.reading_from;
        if (!reading_first) n.free_from = min_pin(s.o.h, s.reading_from);
        go(LoadReading, reading_first ? head : resize);
        break;
      case resize:
        if (!is_full(s)) {
          go(EnoughRoom, slot);
        } else if (s.lock == nobody || has(mistake::resize_without_lock)) {
          enlarge(n);
          go(Resize, slot);
        }
        break;
      case slot:
        n.ring[place_of(s, s.tail)] = s.tail;
        go(StoreSlot, tail);
        break;
      case tail:
        ++n.tail;
        go(StoreTail, idle);
        break;
      case pop:
        if (s.head == s.o.h) {
          ++n.head;
          n.got[owner_id].append(s.o.job);
        }
        go(ClaimOne, idle);
        break;
    }
  }

  // A ring of twice the size, with what is queued. Of jobs that share a slot, which only a mutant
  // can have, the oldest stays.
  static void enlarge(state& s) {
    const state old = s;
    s.size = as_number(2 * old.size);
    s.free_from = old.head;
    s.ring.fill(empty);
    for (int n = old.tail - 1; n >= old.head; --n) s.ring[place_of(s, n)] = job_in(old, n);
  }

  template <class Emit>
  void step_of_thief(const state& s, unsigned t, Emit& emit) const {
    using enum thief_place;
    state n = s;
    thief_locals& mine = n.s[t];
    const auto go = [&](act a, thief_place to) {
      n.thief[t] = to;
      emit(a, t, n);
    };
    switch (s.thief[t]) {
      case idle:
        if (s.head >= s.tail || s.lock != nobody) break;
        n.lock = id(t);
        go(TryLock, head);
        break;
      case head:
        mine.h = s.head;
        go(ReadHead, tail);
        break;
      case tail:
        if (s.tail <= mine.h) {
          go(ReadTail, unpin);
        } else {
          mine.n = as_number(std::min((s.tail - mine.h + 1) / 2, loot));
          const bool late = has(mistake::no_pin) || has(mistake::pin_after_claim);
          go(ReadTail, late ? claim : pin);
        }
        break;
      case pin:
        n.reading_from = mine.h;
        go(Pin, claim);
        break;
      case late_pin:
        n.reading_from = mine.h;
        go(Pin, copy);
        break;
      case claim:
        if (s.head == mine.h || has(mistake::claim_by_store)) {
          n.head = as_number(mine.h + mine.n);
          mine.copied = 0;
          go(Claim, has(mistake::pin_after_claim) ? late_pin : copy);
        } else {
          mine.h = s.head;
          go(Claim, tail);
        }
        break;
      case copy:
        n.got[1 + t].append(job_in(s, mine.h + mine.copied));
        ++mine.copied;
        go(Copy, mine.copied == mine.n ? unpin : copy);
        break;
      case unpin:
        n.reading_from = nobody;
        go(Unpin, unlock);
        break;
      case unlock:
        n.lock = nobody;
        mine = {};
        go(Unlock, idle);
        break;
    }
  }

  static std::string text(number n) { return n < 0 ? "none" : std::to_string(n); }
  static std::string text(const number* from, const number* to) {
    std::string all = "<";
    for (const number* n = from; n != to; ++n) all += (n == from ? "" : " ") + text(*n);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
