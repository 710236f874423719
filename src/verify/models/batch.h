// specs/batch: behaviours over several cowns, alone or in batches of two. How a single cown goes
// from one to the next is the model `access`.
//
// Every initial state is another program: what each behaviour needs of each cown. Behaviours,
// batches and cowns are numbered from 1 on, the members of batches first; a behaviour on its own
// is a batch of one.
#ifndef ROTA_VERIFY_MODELS_BATCH_H
#define ROTA_VERIFY_MODELS_BATCH_H

#include <rota/verify/checker/model.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::verify {

class batch {
 public:
  static constexpr int most_cowns = 3;
  static constexpr int most = 4;  // behaviours

  using number = std::int8_t;
  static constexpr number none = 0, read = 1, write = 2;  // needs

  // At most as many as there are behaviours, each once.
  struct sequence {
    std::uint8_t length = 0;
    std::array<number, most> all{};

    void append(int n) { all[length++] = static_cast<number>(n); }
    int find(int n) const { return static_cast<int>(std::find(begin(), end(), n) - begin()); }
    bool has(int n) const { return find(n) < length; }
    const number* begin() const { return all.data(); }
    const number* end() const { return all.data() + length; }
  };

  enum class place : std::uint8_t { waits, runs, done };

  struct state {
    std::array<std::array<number, most_cowns>, most> needs{};
    std::array<number, most> entered{};  // by batch: the last cown whose queue it entered
    std::array<number, most> handed{};   // by batch of two: the last cown that its members got
    std::array<place, most> at{};
    std::array<sequence, most_cowns> queue{};  // behaviours, and -b for batch b
    std::array<sequence, most_cowns> came{};   // batches that entered the queue, in that order
    sequence ran{};                            // behaviours that began to run, in that order
  };

  enum act { Enter, Hand, Start, End, Finished };

  enum class opening { at_once, after_next };
  enum class mistake {
    none,
    descending,
    one_at_a_time,
    members_at_tail,
    members_apart,
    read_if_any_reads,
  };

  int cowns = 2;
  int pairs = 1;
  int singles = 1;
  opening open = opening::at_once;
  mistake mutant = mistake::none;

  template <class C>
  void constants(C& c) {
    c("Cowns", cowns, 1, most_cowns, "how many cowns there are");
    c("Pairs", pairs, 0, most / 2, "how many batches of two");
    c("Singles", singles, 0, most, "how many behaviours on their own");
    c("Open", open, {"at_once", "after_next"}, "when a reader lets in the readers behind it");
    c("Mutant", mutant,
      {"none", "descending", "one_at_a_time", "members_at_tail", "members_apart",
       "read_if_any_reads"},
      "a mistake to plant");
  }

  std::string complaint() const {
    if (members() < 1 || members() > most)
      return "2 * Pairs + Singles: expected a number from 1 to " + std::to_string(most);
    if (pairs == 0 && mutant > mistake::descending) return "Pairs=0 and Mutant do not go together";
    return "";
  }

  std::vector<action> actions() const {
    return {{"Enter", count(batches()), "Acquire", fairness::weak},
            {"Hand", count(batches()), "Acquire", fairness::weak},
            {"Start", count(members()), "Run", fairness::weak},
            {"End", count(members()), "Run", fairness::weak},
            {"Finished", 1, "", fairness::none}};
  }

  template <class Emit>
  void initial(Emit emit) const {
    state s;
    each_program(s, 1, emit);
  }

  template <class Emit>
  void next(const state& s, Emit emit) const {
    for (int b = 1; b <= batches(); ++b) {
      if (state n = s; enter(n, b)) emit(Enter, b - 1, n);
      if (state n = s; hand(n, b)) emit(Hand, b - 1, n);
    }
    for (int m = 1; m <= members(); ++m) {
      if (state n = s; start(n, m)) emit(Start, m - 1, n);
      if (state n = s; finish(n, m)) emit(End, m - 1, n);
    }
    if (finished(s)) emit(Finished, 0, s);
  }

  template <class P>
  void properties(P& p) const {
    p.deadlock_free();
    p.invariant("Alone", [this](const state& s) {
      return each_clash(s, [&](int m, int n) {
        return s.at[index(m)] != place::runs || s.at[index(n)] != place::runs;
      });
    });
    p.invariant("FirstCome", [this](const state& s) { return first_come(s); });
    p.invariant("NothingBetween", [this](const state& s) { return nothing_between(s); });
    p.invariant("OneOrder", [this](const state& s) { return one_order(s); });
    p.invariant("OwnBatchOnly", [this](const state& s) { return own_batch_only(s); });
    p.invariant("LeastOrders", [this](const state& s) {
      return keep_order(s, [&](int a, int b) {
        const int c = least(s, a);
        return c == least(s, b) && clash(need(s, a, c), need(s, b, c));
      });
    });
    p.eventually("AllRun", [this](const state& s) { return finished(s); });
    if (open == opening::at_once) p.known_to_fail();
    p.invariant("SameCownsOrder", [this](const state& s) {
      return keep_order(s, [&](int a, int b) {
        for (int c = 1; c <= cowns; ++c)
          if ((need(s, a, c) == none) != (need(s, b, c) == none)) return false;
        return true;
      });
    });
    p.known_to_fail();
    p.invariant("SameLeastOrder", [this](const state& s) {
      return keep_order(s, [&](int a, int b) { return least(s, a) == least(s, b); });
    });
  }

  template <class F>
  void fields(const state& s, F f) const {
    static constexpr std::array places = {"waits", "runs", "done"};
    for (int m = 1; m <= members(); ++m) {
      const std::string of = "[" + std::to_string(m) + "]";
      std::string needed;
      for (int c = 1; c <= cowns; ++c)
        if (const number n = need_of(s, m, c); n != none)
          needed += (needed.empty() ? "" : " ") + std::string(n == read ? "reads " : "writes ") +
                    std::to_string(c);
      f("needs" + of, needed);
      f("at" + of, places[static_cast<std::size_t>(s.at[index(m)])]);
    }
    for (int b = 1; b <= batches(); ++b) {
      f("entered[" + std::to_string(b) + "]", s.entered[index(b)]);
      f("handed[" + std::to_string(b) + "]", s.handed[index(b)]);
    }
    for (int c = 1; c <= cowns; ++c) {
      f("queue[" + std::to_string(c) + "]", text(s.queue[index(c)]));
      f("came[" + std::to_string(c) + "]", text(s.came[index(c)]));
    }
    f("ran", text(s.ran));
  }

  std::string parameter(unsigned, unsigned i) const { return std::to_string(i + 1); }

 private:
  static unsigned count(int n) { return static_cast<unsigned>(n); }
  static std::size_t index(int n) { return static_cast<std::size_t>(n - 1); }
  bool has(mistake m) const { return mutant == m; }

  int batches() const { return pairs + singles; }
  int members() const { return 2 * pairs + singles; }
  int batch_of(int m) const { return m <= 2 * pairs ? (m + 1) / 2 : m - pairs; }
  int first_of(int b) const { return b <= pairs ? 2 * b - 1 : pairs + b; }
  int last_of(int b) const { return b <= pairs ? 2 * b : pairs + b; }
  int slot_of(int b) const { return b <= pairs ? -b : pairs + b; }
  int owner_of(int slot) const { return slot < 0 ? -slot : batch_of(slot); }

  // What a batch needs of a cown: to read it only if no member writes it.
  number need(const state& s, int b, int c) const {
    const number x = s.needs[index(first_of(b))][index(c)];
    const number y = s.needs[index(last_of(b))][index(c)];
    return has(mistake::read_if_any_reads) && (x == read || y == read) ? read : std::max(x, y);
  }
  number need_of(const state& s, int slot, int c) const {
    return slot < 0 ? need(s, -slot, c) : s.needs[index(slot)][index(c)];
  }
  static bool clash(number one, number other) {
    return one != none && other != none && (one == write || other == write);
  }

  // The order in which a batch acquires: its r-th cown, and the other way round.
  int ranked(int b, int r) const {
    return has(mistake::descending) && b == batches() ? cowns + 1 - r : r;
  }
  // The next that a batch needs after this rank, or 0.
  int ahead(const state& s, int b, int from) const {
    for (int r = from + 1; r <= cowns; ++r)
      if (need(s, b, ranked(b, r)) != none) return r;
    return 0;
  }

  // Does this one, which reads c, let in the readers behind it?
  bool lets_in(const state& s, int slot, int c) const {
    const int b = owner_of(slot), r = ranked(b, c);
    return open == opening::at_once || ahead(s, b, r) == 0 || s.entered[index(b)] > r;
  }
  bool has_cown(const state& s, int slot, int c) const {
    const sequence& q = s.queue[index(c)];
    if (!q.has(slot)) return false;
    const number* at = q.begin() + q.find(slot);
    return at == q.begin() ||
           (need_of(s, slot, c) == read && std::all_of(q.begin(), at, [&](number x) {
              return need_of(s, x, c) == read && lets_in(s, x, c);
            }));
  }
  // It keeps the earlier ones, so the last one tells.
  bool has_entered(const state& s, int b) const {
    const int r = s.entered[index(b)];
    return r == 0 || has_cown(s, slot_of(b), ranked(b, r));
  }

  void append_members(const state& s, sequence& to, int b, int c) const {
    for (int m = first_of(b); m <= last_of(b); ++m)
      if (need_of(s, m, c) != none) to.append(m);
  }

  bool enter(state& s, int b) const {
    const bool alone = has(mistake::one_at_a_time) && b <= pairs;
    const int r = ahead(s, b, s.entered[index(b)]);
    if (r == 0 || !(alone || has_entered(s, b))) return false;
    const int c = ranked(b, r);
    if (alone)
      append_members(s, s.queue[index(c)], b, c);
    else
      s.queue[index(c)].append(slot_of(b));
    s.came[index(c)].append(b);
    s.entered[index(b)] = static_cast<number>(r);
    return true;
  }

  // A batch that has all its cowns hands over the next one.
  bool hand(state& s, int b) const {
    if (b > pairs || has(mistake::one_at_a_time)) return false;
    const int r = ahead(s, b, s.handed[index(b)]);
    if (r == 0 || ahead(s, b, s.entered[index(b)]) != 0 || !has_entered(s, b)) return false;
    const int c = ranked(b, r);
    const sequence old = s.queue[index(c)];
    sequence ms, &q = s.queue[index(c)] = {};
    append_members(s, ms, b, c);
    // How many of them take the batch's place; mistakes append the others.
    const int in_place = has(mistake::members_at_tail) ? 0 : has(mistake::members_apart) ? 1 : 2;
    const number* rest = std::min(ms.begin() + in_place, ms.end());
    for (const number x : old)
      if (x != -b)
        q.append(x);
      else
        for (const number* m = ms.begin(); m != rest; ++m) q.append(*m);
    for (; rest != ms.end(); ++rest) q.append(*rest);
    s.handed[index(b)] = static_cast<number>(r);
    return true;
  }

  bool start(state& s, int m) const {
    if (s.at[index(m)] != place::waits) return false;
    for (int c = 1; c <= cowns; ++c)
      if (need_of(s, m, c) != none && !has_cown(s, m, c)) return false;
    s.at[index(m)] = place::runs;
    s.ran.append(m);
    return true;
  }

  bool finish(state& s, int m) const {
    if (s.at[index(m)] != place::runs) return false;
    s.at[index(m)] = place::done;
    for (sequence& q : s.queue) {
      const sequence old = q;
      q = {};
      for (const number x : old)
        if (x != m) q.append(x);
    }
    return true;
  }

  bool finished(const state& s) const {
    return std::all_of(s.at.begin(), s.at.begin() + members(),
                       [](place p) { return p == place::done; });
  }

  // All that the behaviours from m on may need; each needs something.
  template <class Emit>
  void each_program(state& s, int m, Emit& emit) const {
    if (m > members()) {
      emit(s);
      return;
    }
    int all = 1;
    for (int c = 0; c < cowns; ++c) all *= 3;
    for (int k = 1; k < all; ++k) {
      for (int c = 1, rest = k; c <= cowns; ++c, rest /= 3)
        s.needs[index(m)][index(c)] = static_cast<number>(rest % 3);
      each_program(s, m + 1, emit);
    }
  }

  // x is in q, and y is behind it or not in q yet.
  static bool before(const sequence& q, int x, int y) { return q.find(x) < q.find(y); }

  bool clash_anywhere(const state& s, int m, int n) const {
    for (int c = 1; c <= cowns; ++c)
      if (clash(need_of(s, m, c), need_of(s, n, c))) return true;
    return false;
  }
  // Whether f(m, n) is true for all m and n that clash, in either order.
  template <class F>
  bool each_clash(const state& s, F f) const {
    for (int m = 1; m <= members(); ++m)
      for (int n = 1; n <= members(); ++n)
        if (m != n && clash_anywhere(s, m, n) && !f(m, n)) return false;
    return true;
  }

  bool first_come(const state& s) const {
    return each_clash(s, [&](int m, int n) {
      if (!before(s.ran, n, m)) return true;
      if (batch_of(m) == batch_of(n)) return m > n;
      for (int c = 1; c <= cowns; ++c)
        if (clash(need_of(s, m, c), need_of(s, n, c)) &&
            before(s.came[index(c)], batch_of(m), batch_of(n)))
          return false;
      return true;
    });
  }

  bool nothing_between(const state& s) const {
    for (int b = 1; b <= pairs; ++b)
      for (int o = 1; o <= members(); ++o)
        for (int c = 1; c <= cowns; ++c) {
          const int m = first_of(b), n = last_of(b);
          const auto clashes = [&](int x) { return clash(need_of(s, x, c), need_of(s, o, c)); };
          if (batch_of(o) != b && s.ran.has(o) && clashes(m) && clashes(n) &&
              before(s.ran, m, o) != before(s.ran, n, o))
            return false;
        }
    return true;
  }

  bool one_order(const state& s) const {
    return each_clash(s, [&](int m, int n) {
      if (batch_of(m) == batch_of(n) || !before(s.ran, m, n)) return true;
      return each_clash(s, [&](int o, int p) {
        return batch_of(o) != batch_of(m) || batch_of(p) != batch_of(n) || !before(s.ran, p, o);
      });
    });
  }

  bool own_batch_only(const state& s) const {
    for (int c = 1; c <= cowns; ++c) {
      const sequence& q = s.queue[index(c)];
      for (const number* m = q.begin(); m != q.end(); ++m)
        if (*m > 0 && *m <= 2 * pairs && !std::all_of(q.begin(), m, [&](number x) {
              return !clash(need_of(s, x, c), need_of(s, *m, c)) ||
                     (x > 0 && batch_of(x) == batch_of(*m));
            }))
          return false;
    }
    return true;
  }

  int least(const state& s, int b) const {
    int c = 1;
    while (need(s, b, c) == none) ++c;
    return c;
  }

  // Where they clash, the members of any two such batches run in the order in which the batches
  // came to the least cown of the first.
  template <class F>
  bool keep_order(const state& s, F such) const {
    return each_clash(s, [&](int m, int n) {
      const int a = batch_of(m), b = batch_of(n);
      return a == b || !before(s.ran, n, m) || !such(a, b) ||
             !before(s.came[index(least(s, a))], a, b);
    });
  }

  static std::string text(const sequence& q) {
    std::string all = "<";
    for (const number n : q) all += (all.size() == 1 ? "" : " ") + std::to_string(n);
    return all + ">";
  }
};

}  // namespace rota::verify

#endif
