// specs/access: a cown that behaviours read or write, one access to shared memory a step.
//
// Behaviours are numbered from 1 on: readers, writers, a batch of two if there is one, and its two
// members. Each has a slot of its number.
#ifndef ROTA_VERIFY_MODELS_ACCESS_H
#define ROTA_VERIFY_MODELS_ACCESS_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace rota::verify {

class access {
 public:
  static constexpr unsigned most = 7;  // slots

  using number = std::int8_t;
  static constexpr number none = 0;
  static constexpr number closed = -1;  // a reader that has yet to be let in

  enum class place : std::uint8_t {
    fresh,  // "new" in the spec
    apart,
    link,
    look,
    announce,
    claim,
    unclaim,
    wait,
    count,
    open,
    late,
    run,
    untail,
    await,
    pass,
    late_pass,
    last_pass,
    mark,
    drop,
    clear,
    give,
    splice,
    append,
    spread,
    done,
  };

  struct behaviour {
    place at = place::fresh;
    number next = none;  // its slot's successor, or closed
    number slot = none;  // the slot that it is about to touch
  };

  struct state {
    number tail = none;
    number word = 0;  // twice the number of readers, plus 1 if a writer waits for them
    number next_writer = none;
    number came = 0;
    std::array<number, most> order{};  // those who came, in that order
    std::array<behaviour, most> all{};
  };

  enum act {
    Enter,
    Link,
    Look,
    Announce,
    Claim,
    Unclaim,
    Count,
    Open,
    CountLate,
    Finish,
    Untail,
    Await,
    Pass,
    Mark,
    Drop,
    Clear,
    Give,
    Spread,
    Splice,
    TakeOver,
    GiveMembers,
    Finished,
  };

  enum class mistake {
    none,
    ignore_closed,
    two_words,
    forget_chain,
    no_look,
    count_late,
    open_by_store,
    bit_first,
    members_uncounted,
    forget_successor,
  };
  enum class batch_of { none, rr, rw, wr, ww };

  int readers = 2;
  int writers = 2;
  batch_of batch = batch_of::none;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Readers", readers, 0, 3, "how many behaviours read the cown");
    c("Writers", writers, 0, 3, "how many write it");
    c("Batch", batch, {"none", "rr", "rw", "wr", "ww"}, "what the members of a batch of two do");
    c("Mutant", mutant,
      {"none", "ignore_closed", "two_words", "forget_chain", "no_look", "count_late",
       "open_by_store", "bit_first", "members_uncounted", "forget_successor"},
      "a mistake to plant");
  }

  std::string complaint() const {
    if (last() == 0) return "there is no behaviour";
    if (last() > int{most}) return "with a batch, Readers + Writers: expected at most 4";
    if (has(mistake::members_uncounted) && batch != batch_of::rr)
      return "members_uncounted needs Batch=rr";
    if (has(mistake::forget_successor) && batch == batch_of::none)
      return "forget_successor needs a Batch";
    return "";
  }

  std::vector<action> actions() const {
    std::vector<action> all;
    for (const char* name :
         {"Enter", "Link",      "Look",   "Announce", "Claim",  "Unclaim",  "Count",
          "Open",  "CountLate", "Finish", "Untail",   "Await",  "Pass",     "Mark",
          "Drop",  "Clear",     "Give",   "Spread",   "Splice", "TakeOver", "GiveMembers"})
      all.push_back({name, count(), "Step", fairness::weak});
    all.push_back({"Finished", 1, "", fairness::none});
    return all;
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    for (number b = 1; b <= last(); ++b) {
      if (reads(b)) of(s, b).next = closed;
      if (is_member(b)) of(s, b).at = place::apart;
    }
    emit(s);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (number b = 1; b <= last(); ++b) step(s, b, emit);
    if (finished(s)) emit(Finished, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("TypeOK", [this](const state& s) {
      return s.tail >= none && s.tail <= last() && s.word >= 0 && s.word <= 2 * (readers + 2) + 1 &&
             s.next_writer >= none && s.next_writer <= last();
    });
    p.invariant("Alone", [this](const state& s) { return alone(s); });
    p.invariant("InOrder", [this](const state& s) { return in_order(s); });
    p.invariant("ReadersShare", [this](const state& s) { return readers_share(s); });
    p.invariant("SlotsAlive", [this](const state& s) { return slots_alive(s); });
    p.eventually("AllRun", [this](const state& s) { return finished(s); });
  }

  // Readers are interchangeable, and so are writers.
  template <class F>
  void permuted(const state& s, F f) const {
    std::array<number, most + 1> to;
    std::iota(to.begin(), to.end(), number{0});
    const auto begin = to.begin() + 1, middle = begin + readers, end = middle + writers;
    while (std::next_permutation(begin, middle) || std::next_permutation(middle, end))
      f(renamed(s, to));
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array places = {
        "new",  "apart", "link", "look",   "announce", "claim",  "unclaim",   "wait",      "count",
        "open", "late",  "run",  "untail", "await",    "pass",   "late_pass", "last_pass", "mark",
        "drop", "clear", "give", "splice", "append",   "spread", "done"};
    f("tail", text(s.tail));
    f("word", std::to_string(s.word / 2) + (s.word % 2 != 0 ? " readers, a writer waits" : ""));
    f("next_writer", text(s.next_writer));
    for (number b = 1; b <= last(); ++b) {
      const std::string name = "[" + parameter(0, static_cast<unsigned>(b - 1)) + "]";
      f("at" + name, places[static_cast<std::size_t>(of(s, b).at)]);
      f("next" + name, text(of(s, b).next));
      f("slot" + name, text(of(s, b).slot));
    }
    std::string came = "<";
    for (int i = 0; i < s.came; ++i) came += (i == 0 ? "" : " ") + text(nth(s, i));
    f("order", came + ">");
  }

  // r1, r2 ... w3, w4 ... b5
  std::string parameter(unsigned, unsigned i) const { return text(static_cast<number>(i + 1)); }

 private:
  unsigned count() const { return static_cast<unsigned>(last()); }
  // The batch; the numbers after it are its members.
  number group() const { return static_cast<number>(readers + writers + 1); }
  number first() const { return static_cast<number>(group() + 1); }
  number second() const { return static_cast<number>(group() + 2); }
  bool is_member(number b) const { return b > group(); }
  number last() const {
    return batch == batch_of::none ? static_cast<number>(group() - 1) : second();
  }
  bool has(mistake m) const { return mutant == m; }
  bool reads(number b) const {
    using enum batch_of;
    if (b < group()) return b <= readers;
    return batch == rr || (b == first() && batch == rw) || (b == second() && batch == wr);
  }

  template <class State>
  static auto& of(State& s, number b) {
    return s.all[static_cast<std::size_t>(b - 1)];
  }
  static number nth(const state& s, int i) { return s.order[static_cast<std::size_t>(i)]; }

  // Where letting in a reader begins.
  place let_in() const { return has(mistake::count_late) ? place::open : place::count; }

  bool finished(const state& s) const {
    return s.tail == none && s.word == 0 &&
           std::all_of(s.all.begin(), s.all.begin() + last(),
                       [](const behaviour& b) { return b.at == place::done; });
  }

  bool ended(const state& s, number b) const {
    const place at = of(s, b).at;
    return at >= place::untail || (!reads(b) && (at == place::count || at == place::open));
  }

  bool alone(const state& s) const {
    int runs = 0, writes = 0;
    for (number b = 1; b <= last(); ++b) {
      if (of(s, b).at != place::run) continue;
      ++runs;
      if (!reads(b)) ++writes;
    }
    return writes == 0 || runs == 1;
  }

  bool in_order(const state& s) const {
    for (int j = 0; j < s.came; ++j) {
      const number b = nth(s, j);
      if (of(s, b).at != place::run && !ended(s, b)) continue;
      for (int i = 0; i < j; ++i)
        if (!(reads(nth(s, i)) && reads(b)) && !ended(s, nth(s, i))) return false;
    }
    return true;
  }

  bool readers_share(const state& s) const {
    bool reason = false;  // for a reader further behind to wait
    for (int i = 0; i < s.came; ++i) {
      const number b = nth(s, i);
      const place at = of(s, b).at;
      if (!reads(b))
        reason |= at != place::done;
      else if (at == place::wait && !reason && !(is_member(b) && of(s, group()).at != place::done))
        return false;
      else
        reason |= at == place::link || at == place::count || at == place::open;
    }
    return true;
  }

  bool slots_alive(const state& s) const {
    const auto waits = [&](number b) { return of(s, b).at == place::wait; };
    for (number b = 1; b <= last(); ++b) {
      const behaviour& me = of(s, b);
      switch (me.at) {
        case place::link:
          if (of(s, me.slot).at == place::done) return false;
          break;
        case place::count:
        case place::open:
          if (me.slot != b && !waits(me.slot)) return false;
          break;
        case place::pass:
          if (!waits(me.slot)) return false;
          break;
        case place::give:
          if (s.next_writer != none && !waits(s.next_writer)) return false;
          break;
        default:
          break;
      }
    }
    return true;
  }

  template <class Emit>
  void step(const state& s, number b, Emit& emit) const {
    using enum place;
    const bool two_words = has(mistake::two_words);
    const bool bit_first = has(mistake::bit_first);
    state n = s;
    behaviour& me = of(n, b);
    const auto go = [&](act a, place to) {
      of(n, b).at = to;
      emit(a, static_cast<unsigned>(b - 1), n);
    };
    switch (me.at) {
      case apart:
      case wait:
      case done:
        break;
      case fresh:
        n.tail = b;
        n.order[static_cast<std::size_t>(n.came++)] = b;
        if (s.tail != none || reads(b)) me.slot = s.tail != none ? s.tail : b;
        go(Enter, s.tail != none ? link : reads(b) ? let_in() : has(mistake::no_look) ? run : look);
        break;
      case link:
        go(Link, link_behind(n, b));
        break;
      case look:
        go(Look, s.word == 0 ? run : announce);
        break;
      case announce:
        n.next_writer = b;
        go(Announce, claim);
        break;
      case claim:
        if (!two_words)
          ++n.word;
        else if (s.word == 0)
          n.next_writer = none;
        go(Claim, s.word != 0 ? wait : two_words ? run : unclaim);
        break;
      case unclaim:
        n.word = 0;
        go(Unclaim, run);
        break;
      case count:
        n.word = plus(s.word, 2);
        go(Count, open);
        break;
      case open:
        go(Open, open_slot(n, b));
        break;
      case late:
        n.word = plus(s.word, 2);
        go(CountLate, run);
        break;
      case run:
        if (b != group())
          go(Finish, me.next == none ? untail : leave(n, b));
        else if (link_members(n))
          go(Spread, me.next == none ? splice : append);
        break;
      case untail:
        if (s.tail == b) n.tail = none;
        go(Untail, s.tail != b ? await : reads(b) ? drop : done);
        break;
      case await:
        if (me.next != none) go(Await, leave(n, b));
        break;
      case pass:
      case late_pass:
      case last_pass:
        n.next_writer = me.slot;
        me.slot = none;
        go(Pass, me.at == late_pass ? done : me.at == last_pass ? clear : two_words ? drop : mark);
        break;
      case mark:
        n.word = plus(s.word, -1);
        if (bit_first)
          go(Mark, s.word == 2 ? last_pass : late_pass);
        else
          go(Mark, s.word == 2 ? clear : done);
        break;
      case drop:
        n.word = plus(s.word, -2);
        if (two_words)
          go(Drop, s.word == 2 ? give : done);
        else
          go(Drop, s.word == 3 ? clear : done);
        break;
      case clear:
        n.word = 0;
        go(Clear, give);
        break;
      case give:
        if (s.next_writer != none) of(n, s.next_writer).at = run;
        if (two_words) n.next_writer = none;
        go(Give, done);
        break;
      case splice:
        if (s.tail == b) n.tail = second();
        go(Splice, s.tail == b || has(mistake::forget_successor) ? spread : append);
        break;
      case append:
        if (me.next == none) break;
        of(n, second()).next = me.next;
        go(TakeOver, spread);
        break;
      case spread:
        go(GiveMembers, give_members(n, b));
        break;
    }
  }

  // Each of these takes a step in `s` and says where it leads b.
  place link_behind(state& s, number b) const {
    behaviour& me = of(s, b);
    behaviour& before = of(s, me.slot);
    const bool is_open = before.next == none || has(mistake::ignore_closed);
    const bool enters = reads(b) && reads(me.slot) && is_open;
    before.next = b;
    me.slot = enters ? b : none;
    return enters ? let_in() : place::wait;
  }

  place open_slot(state& s, number b) const {
    const number x = of(s, b).slot;
    const number successor = of(s, x).next;
    const bool by_store = has(mistake::open_by_store);
    const bool later = has(mistake::count_late) && x == b && successor == closed;
    if (successor == closed || by_store) of(s, x).next = none;
    if (has(mistake::count_late) && !later) s.word = plus(s.word, 2);
    of(s, x).at = place::run;
    if (successor > none && reads(successor) && !has(mistake::forget_chain) && !by_store) {
      of(s, b).slot = successor;
      return let_in();
    }
    of(s, b).slot = none;
    return later ? place::late : reads(b) ? place::run : place::done;
  }

  place leave(state& s, number b) const {
    behaviour& me = of(s, b);
    const number successor = me.next;
    if (reads(b)) {
      if (reads(successor)) return place::drop;
      me.slot = successor;
      return has(mistake::bit_first) ? place::mark : place::pass;
    }
    if (reads(successor)) {
      me.slot = successor;
      return let_in();
    }
    of(s, successor).at = place::run;
    return place::done;
  }

  // The members take the place of their batch, once: only a mistake gives it the cown again.
  bool link_members(state& s) const {
    const auto at = std::find(s.order.begin(), s.order.end(), group());
    if (at == s.order.end()) return false;
    of(s, first()).next = second();
    of(s, second()).next = reads(second()) && !reads(group()) ? closed : none;
    of(s, first()).at = of(s, second()).at = place::wait;
    std::move_backward(at + 1, s.order.end() - 1, s.order.end());
    at[0] = first();
    at[1] = second();
    ++s.came;
    return true;
  }

  place give_members(state& s, number b) const {
    if (!reads(b) && reads(first())) {
      of(s, b).slot = first();
      return let_in();
    }
    of(s, first()).at = place::run;
    if (reads(b)) {
      of(s, second()).at = place::run;
      if (!has(mistake::members_uncounted)) s.word = plus(s.word, 2);
    }
    return place::done;
  }

  static number plus(number n, int by) { return static_cast<number>(n + by); }

  state renamed(const state& s, const std::array<number, most + 1>& to) const {
    const auto name = [&](number b) { return b > none ? to[static_cast<std::size_t>(b)] : b; };
    state n = s;
    n.tail = name(s.tail);
    n.next_writer = name(s.next_writer);
    std::transform(s.order.begin(), s.order.end(), n.order.begin(), name);
    for (number b = 1; b <= last(); ++b) {
      const behaviour& from = of(s, b);
      of(n, name(b)) = {from.at, name(from.next), name(from.slot)};
    }
    return n;
  }

  std::string text(number b) const {
    if (b == none) return "none";
    if (b == closed) return "closed";
    return (b == group() ? "b" : reads(b) ? "r" : "w") + std::to_string(b);
  }
};

}  // namespace rota::verify

#endif
