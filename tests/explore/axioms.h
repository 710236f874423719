// What C++ allows a small program to do, by trying every execution: every choice of who reads from
// whom (rf) and of the order of the stores of each location (mo), kept if it obeys the axioms.
//
// Common to both answers: a load reads what happened not later (sb and rf have no cycle), coherence
// (hb; eco? is irreflexive) and that nothing comes between the halves of a read-modify-write.
//
//   rc11      RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, 2017) with the release sequences of C++20:
//             psc_base and psc_F together have no cycle.
//   explored  What the explorer says that it does. There is one order of all sequentially
//             consistent operations that contains C++20's (an access that is coherence-ordered
//             before another one comes first; a fence stands for what happens after it, on the
//             left, and for what happens before it, on the right), and this order is part of one
//             schedule: together with sb and rf it has no cycle.
//
// The second is stronger than the first. It is also asked about light and heavy fences: a heavy
// one is a sequentially consistent one, and a light one takes part in the order but is compared
// only with heavy ones.
#ifndef ROTA_TESTS_EXPLORE_AXIOMS_H
#define ROTA_TESTS_EXPLORE_AXIOMS_H

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "explore/programs.h"

namespace rota::test {

struct allowed {
  outcome_set rc11;
  outcome_set explored;
  bool rc11_races = false;
  bool explored_races = false;
};

namespace detail {

// A set of pairs of events.
struct relation {
  static constexpr unsigned most = 20;
  std::array<std::uint32_t, most> row{};

  bool has(unsigned a, unsigned b) const noexcept { return (row[a] >> b & 1) != 0; }
  void add(unsigned a, unsigned b) noexcept { row[a] |= std::uint32_t{1} << b; }

  // This, then that.
  relation then(const relation& next) const noexcept {
    relation r;
    for (unsigned a = 0; a < most; ++a)
      for (std::uint32_t left = row[a]; left != 0; left &= left - 1)
        r.row[a] |= next.row[static_cast<unsigned>(std::countr_zero(left))];
    return r;
  }
  relation or_same() const noexcept {
    relation r = *this;
    for (unsigned a = 0; a < most; ++a) r.add(a, a);
    return r;
  }
  relation closed() const noexcept {
    relation r = *this;
    for (unsigned k = 0; k < most; ++k)
      for (unsigned a = 0; a < most; ++a)
        if (r.has(a, k)) r.row[a] |= r.row[k];
    return r;
  }
  bool is_irreflexive() const noexcept {
    for (unsigned a = 0; a < most; ++a)
      if (has(a, a)) return false;
    return true;
  }
  bool is_acyclic() const noexcept { return closed().is_irreflexive(); }

  // The pairs whose first, or whose second, is in the set.
  relation from(std::uint32_t set) const noexcept {
    relation r;
    for (unsigned a = 0; a < most; ++a)
      if (set >> a & 1) r.row[a] = row[a];
    return r;
  }
  relation to(std::uint32_t set) const noexcept {
    relation r;
    for (unsigned a = 0; a < most; ++a) r.row[a] = row[a] & set;
    return r;
  }
};

inline relation operator|(relation a, const relation& b) noexcept {
  for (unsigned i = 0; i < relation::most; ++i) a.row[i] |= b.row[i];
  return a;
}

inline relation identity(std::uint32_t set) noexcept { return relation{}.or_same().from(set); }

struct event {
  static constexpr unsigned nowhere = ~0u;

  const instruction* what = nullptr;  // null: the first value of a location
  unsigned location = nowhere;
  unsigned reads_from = 0;
  unsigned read = 0;
  unsigned written = 0;
  bool reads = false;
  bool writes = false;
  bool skipped = false;  // a plain access behind a 0
  std::memory_order order = std::memory_order_relaxed;

  bool is(kind k) const noexcept { return what != nullptr && what->what == k; }
  bool is_full_fence() const noexcept {
    return is(kind::heavy) || (is(kind::fence) && order == std::memory_order_seq_cst);
  }
};

class executions {
 public:
  explicit executions(const program& p) : program_(p) {
    for (unsigned l = 0; l < locations; ++l) {
      event first;
      first.location = l;
      first.writes = true;
      events_.push_back(first);
    }
    for (const auto& thread : p.threads) {
      const auto begin = static_cast<unsigned>(events_.size());
      for (const instruction& i : thread) add(i, begin);
    }
    for (unsigned e = locations; e < events_.size(); ++e)
      for (unsigned l = 0; l < locations; ++l) sb_.add(l, e);
  }

  allowed all() {
    read_next(locations);
    return found_;
  }

 private:
  unsigned count() const noexcept { return static_cast<unsigned>(events_.size()); }

  void add(const instruction& i, unsigned begin) {
    event e;
    e.what = &i;
    e.order = i.what == kind::heavy ? std::memory_order_seq_cst : i.order;
    if (i.is_read() || i.always_writes()) e.location = i.location;
    e.reads = i.is_read();
    e.writes = i.always_writes();
    const unsigned self = count();
    for (unsigned before = begin; before < self; ++before) sb_.add(before, self);
    events_.push_back(e);
  }

  // --- who reads from whom ---

  void read_next(unsigned e) {
    while (e < count() && !events_[e].reads) ++e;
    if (e == count()) return with_reads();
    for (unsigned w = 0; w < count(); ++w) {
      if (w == e || sb_.has(e, w) || events_[w].location != events_[e].location) continue;
      if (!events_[w].writes && !events_[w].is(kind::compare)) continue;
      events_[e].reads_from = w;
      read_next(e + 1);
    }
  }

  void with_reads() {
    rf_ = {};
    for (unsigned e = locations; e < count(); ++e)
      if (events_[e].reads) rf_.add(events_[e].reads_from, e);
    order_ = (sb_ | rf_).closed();
    if (!order_.is_irreflexive() || !find_values()) return;
    find_happens_before();
    stores_next(0);
  }

  // False if something was read from a compare-exchange that failed, or twice by updates.
  bool find_values() {
    std::uint32_t done = 0;
    for (unsigned e = 0; e < locations; ++e) done |= std::uint32_t{1} << e;
    while (std::popcount(done) < static_cast<int>(count())) {
      for (unsigned e = locations; e < count(); ++e) {
        if (done >> e & 1) continue;
        if (events_[e].reads && !(done >> events_[e].reads_from & 1)) continue;
        find_value(events_[e]);
        done |= std::uint32_t{1} << e;
      }
    }
    std::uint32_t updated = 0;
    for (unsigned e = locations; e < count(); ++e) {
      if (!events_[e].reads) continue;
      const std::uint32_t source = std::uint32_t{1} << events_[e].reads_from;
      if (!events_[events_[e].reads_from].writes) return false;
      if (events_[e].writes && (updated & source)) return false;
      if (events_[e].writes) updated |= source;
    }
    find_skipped();
    return true;
  }

  void find_value(event& e) const {
    const instruction& i = *e.what;
    if (e.reads) e.read = events_[e.reads_from].written;
    if (i.what == kind::store || i.what == kind::exchange) e.written = i.value;
    if (i.what == kind::add) e.written = e.read + i.value;
    if (i.what == kind::compare) {
      e.writes = e.read == i.expected;
      e.written = i.value;
      e.order = e.writes ? i.order : i.failure;
    }
  }

  void find_skipped() {
    unsigned e = locations;
    for (const auto& thread : program_.threads) {
      bool last_read_0 = false;
      for (const instruction& i : thread) {
        if (i.is_plain()) events_[e].skipped = last_read_0;
        if (events_[e].reads) last_read_0 = events_[e].read == 0;
        ++e;
      }
    }
  }

  template <class Wanted>
  std::uint32_t those(Wanted wanted) const {
    std::uint32_t set = 0;
    for (unsigned e = 0; e < count(); ++e)
      if (wanted(events_[e])) set |= std::uint32_t{1} << e;
    return set;
  }

  void find_happens_before() {
    const auto acquires = [](const event& e) {
      return e.order == std::memory_order_acquire || e.order == std::memory_order_acq_rel ||
             e.order == std::memory_order_seq_cst;
    };
    const auto releases = [](const event& e) {
      return e.order == std::memory_order_release || e.order == std::memory_order_acq_rel ||
             e.order == std::memory_order_seq_cst;
    };
    const auto is_fence = [](const event& e) { return e.is(kind::fence) || e.is(kind::heavy); };
    const std::uint32_t writes = those([](const event& e) { return e.writes; });
    const std::uint32_t updates = those([](const event& e) { return e.reads && e.writes; });
    const relation begin =
        identity(those([&](const event& e) { return e.writes && releases(e); })) |
        sb_.from(those([&](const event& e) { return is_fence(e) && releases(e); })).to(writes);
    const relation end =
        identity(those([&](const event& e) { return e.reads && acquires(e); })) |
        sb_.from(those([](const event& e) { return e.reads; })).to(those([&](const event& e) {
          return is_fence(e) && acquires(e);
        }));
    const relation sequence = rf_.to(updates).closed().or_same();
    hb_ = (sb_ | begin.then(sequence).then(rf_).then(end)).closed();
  }

  // --- the order of the stores ---

  void stores_next(unsigned location) {
    if (location == locations) return with_stores();
    std::vector<unsigned> order{location};
    std::vector<unsigned> left;
    for (unsigned e = locations; e < count(); ++e)
      if (events_[e].writes && events_[e].location == location) left.push_back(e);
    place_next(location, order, left);
  }

  void place_next(unsigned location, std::vector<unsigned>& order, std::vector<unsigned>& left) {
    if (left.empty()) {
      add_coherent(location, order);
      return;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      const unsigned e = left[i];
      // Whoever read and wrote stands directly behind what it read.
      if (events_[e].reads && events_[e].reads_from != order.back()) continue;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      order.push_back(e);
      place_next(location, order, left);
      order.pop_back();
      left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), e);
    }
  }

  void add_coherent(unsigned location, const std::vector<unsigned>& order) {
    relation mo;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i + 1; j < order.size(); ++j) mo.add(order[i], order[j]);
    relation rb;
    relation rf;
    for (unsigned e = locations; e < count(); ++e) {
      if (!events_[e].reads || events_[e].location != location) continue;
      rf.add(events_[e].reads_from, e);
      for (const unsigned w : order)
        if (w != e && mo.has(events_[e].reads_from, w)) rb.add(e, w);
    }
    const relation eco = (rf | mo | rb).closed();
    if (!hb_.then(eco.or_same()).is_irreflexive()) return;
    mo_[location] = mo | rb;
    eco_[location] = eco;
    last_[location] = events_[order.back()].written;
    stores_next(location + 1);
  }

  // --- sequential consistency ---

  void with_stores() {
    relation mo_rb;
    relation eco;
    for (unsigned l = 0; l < locations; ++l) {
      mo_rb = mo_rb | mo_[l];
      eco = eco | eco_[l];
    }
    const bool races = has_race();
    if (is_rc11(mo_rb, eco)) {
      found_.rc11.insert(outcome());
      found_.rc11_races |= races;
    }
    if (has_order(eco)) {
      found_.explored.insert(outcome());
      found_.explored_races |= races;
    }
  }

  bool is_rc11(const relation& mo_rb, const relation& eco) const {
    const std::uint32_t fences = those([](const event& e) { return e.is_full_fence(); });
    const std::uint32_t accesses = those([](const event& e) {
      return e.order == std::memory_order_seq_cst && e.location != event::nowhere;
    });
    relation elsewhere;
    relation here;
    for (unsigned a = 0; a < count(); ++a) {
      for (unsigned b = 0; b < count(); ++b) {
        const bool same =
            events_[a].location == events_[b].location && events_[a].location != event::nowhere;
        if (sb_.has(a, b) && !same) elsewhere.add(a, b);
        if (hb_.has(a, b) && same) here.add(a, b);
      }
    }
    const relation scb = sb_ | elsewhere.then(hb_).then(elsewhere) | here | mo_rb;
    const relation left = identity(accesses) | hb_.or_same().from(fences);
    const relation right = identity(accesses) | hb_.or_same().to(fences);
    const relation base = left.then(scb).then(right);
    const relation between = (hb_ | hb_.then(eco).then(hb_)).from(fences).to(fences);
    return (base | between).is_acyclic();
  }

  bool has_order(const relation& eco) {
    ordered_.clear();
    for (unsigned e = locations; e < count(); ++e)
      if (events_[e].is(kind::light) || events_[e].is_full_fence() ||
          (events_[e].location != event::nowhere && events_[e].order == std::memory_order_seq_cst))
        ordered_.push_back(e);
    if (ordered_.size() < 2) return true;
    // a has to come before b: something that a stands for is coherence-ordered before something
    // that b stands for.
    must_ = {};
    for (const unsigned a : ordered_) {
      for (const unsigned b : ordered_) {
        const std::uint32_t ours =
            events_[a].location == event::nowhere ? hb_.row[a] : std::uint32_t{1} << a;
        for (unsigned x = 0; x < count(); ++x) {
          if (!(ours >> x & 1)) continue;
          for (unsigned y = 0; y < count(); ++y)
            if (eco.has(x, y) && (events_[b].location == event::nowhere ? hb_.has(y, b) : y == b))
              must_.add(a, b);
        }
      }
    }
    for (const unsigned a : ordered_)
      if (must_.has(a, a)) return false;
    if (those([](const event& e) { return e.is(kind::light); }) == 0)
      return (order_ | must_).is_acyclic();
    return order_next({}, 0);
  }

  bool are_compared(unsigned a, unsigned b) const {
    const bool light_a = events_[a].is(kind::light);
    const bool light_b = events_[b].is(kind::light);
    if (light_a || light_b) return events_[a].is(kind::heavy) || events_[b].is(kind::heavy);
    return true;
  }

  // Whether what is left can be put behind what is there. `known` has (a, b) if b, a fence or the
  // access itself, cannot unsee what a stands for, directly or through fences between them.
  bool order_next(const relation& known, std::uint32_t placed) const {
    bool any = false;
    for (const unsigned e : ordered_) {
      if (placed >> e & 1) continue;
      any = true;
      bool possible = true;
      relation next = known;
      for (const unsigned other : ordered_) {
        if (!(placed >> other & 1)) {
          possible &= other == e || !order_.has(other, e);
          continue;
        }
        if (!are_compared(other, e) && !hb_.has(other, e)) continue;
        next.add(other, e);
        if (events_[other].location != event::nowhere) continue;
        for (const unsigned earlier : ordered_)
          if (known.has(earlier, other)) next.add(earlier, e);
      }
      for (const unsigned other : ordered_)
        possible &= !(next.has(other, e) && must_.has(e, other));
      if (possible && order_next(next, placed | std::uint32_t{1} << e)) return true;
    }
    return !any;
  }

  // --- the rest ---

  bool has_race() const {
    for (unsigned a = locations; a < count(); ++a)
      for (unsigned b = a + 1; b < count(); ++b)
        if (events_[a].what->is_plain() && events_[b].what->is_plain() &&
            (events_[a].is(kind::plain_write) || events_[b].is(kind::plain_write)) &&
            !events_[a].skipped && !events_[b].skipped && !hb_.has(a, b) && !hb_.has(b, a))
          return true;
    return false;
  }

  std::string outcome() const {
    std::string o;
    for (unsigned e = locations; e < count(); ++e)
      if (events_[e].reads) o += digit(events_[e].read);
    for (const unsigned l : program_.finals) o += digit(last_[l]);
    return o;
  }

  const program& program_;
  std::vector<event> events_;
  relation sb_;
  relation rf_;
  relation order_;  // sb and rf, closed
  relation hb_;
  std::array<relation, locations> mo_;  // with rb
  std::array<relation, locations> eco_;
  std::array<unsigned, locations> last_{};
  std::vector<unsigned> ordered_;
  relation must_;
  allowed found_;
};

}  // namespace detail

// For programs of accesses, fences and plain memory.
inline allowed allowed_by_axioms(const program& p) { return detail::executions(p).all(); }

}  // namespace rota::test

#endif
