// Litmus tests: what little programs may do on the explorer's memory, and what not.
//
// Each row is a program (programs.h) and exactly its outcomes, so that a model that became too weak
// and one that became too strong both show. The axioms (axioms.h) have to agree with every row.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "explore/axioms.h"
#include "explore/programs.h"

namespace {

using rota::test::allowed;
using rota::test::allowed_by_axioms;
using rota::test::explore_all;
using rota::test::explored;
using rota::test::outcome_set;
using rota::test::outcomes_of;
using rota::test::parse;
using rota::test::program;
using rota::test::text_of;

// Every sequence of zeros and ones but those of the text.
outcome_set all_but(const std::string& text, std::size_t values) {
  outcome_set all;
  for (unsigned n = 0; n < 1u << values; ++n) {
    std::string o;
    for (std::size_t i = values; i-- > 0;) o += n >> i & 1 ? '1' : '0';
    all.insert(o);
  }
  for (const std::string& o : outcomes_of(text)) EXPECT_EQ(all.erase(o), 1u) << o;
  return all;
}

struct row {
  const char* name;
  const char* program;
  // The outcomes; or "race"; or "-" and those that are missing from all sequences of 0 and 1.
  const char* outcomes;
};

void check(const row& r) {
  SCOPED_TRACE(std::string(r.name) + ": " + r.program);
  const program p = parse(r.program);
  const explored e = explore_all(p);
  const std::string wanted = r.outcomes;
  bool blocks = false;
  for (const auto& t : p.threads)
    for (const auto& i : t) blocks |= i.may_block();
  const allowed a = blocks ? allowed{} : allowed_by_axioms(p);
  if (wanted == "race") {
    ASSERT_TRUE(e.result.failed);
    EXPECT_EQ(e.result.failure->kind, rota::explore::failure_kind::data_race) << e.result.text();
    EXPECT_TRUE(blocks || a.explored_races);
    return;
  }
  const outcome_set exact = wanted[0] == '-'
                                ? all_but(wanted.substr(1), p.reads() + p.finals.size())
                                : outcomes_of(wanted);
  EXPECT_TRUE(e.result.exhaustive) << e.result.text();
  EXPECT_EQ(text_of(e.outcomes), text_of(exact));
  if (blocks) return;
  EXPECT_FALSE(a.explored_races);
  EXPECT_EQ(text_of(a.explored), text_of(exact)) << "by the axioms";
}

void check(std::initializer_list<row> rows) {
  for (const row& r : rows) check(r);
}

bool is_explored(const char* text, const char* outcome) {
  return explore_all(parse(text)).outcomes.count(outcome) == 1;
}

bool is_rc11(const char* text, const char* outcome) {
  return allowed_by_axioms(parse(text)).rc11.count(outcome) == 1;
}

TEST(litmus, store_buffering_needs_sequential_consistency_on_both_sides) {
  check({
      {"relaxed", "x=1.rlx; y.rlx | y=1.rlx; x.rlx", "-"},
      {"release and acquire", "x=1.rel; y.acq | y=1.rel; x.acq", "-"},
      {"sc", "x=1.sc; y.sc | y=1.sc; x.sc", "-00"},
      {"sc, but one load", "x=1.sc; y.acq | y=1.sc; x.sc", "-"},
      {"sc, but one store", "x=1.rel; y.sc | y=1.sc; x.sc", "-"},
      {"sc fences", "x=1.rlx; F.sc; y.rlx | y=1.rlx; F.sc; x.rlx", "-00"},
      {"one sc fence", "x=1.rlx; F.sc; y.rlx | y=1.rlx; x.rlx", "-"},
      {"weaker fences", "x=1.rlx; F.ar; y.rlx | y=1.rlx; F.ar; x.rlx", "-"},
      {"an sc fence and sc accesses", "x=1.rlx; F.sc; y.rlx | y=1.sc; x.sc", "-00"},
      {"an sc fence and an sc store", "x=1.rlx; F.sc; y.rlx | y=1.sc; x.rlx", "-"},
      {"an sc fence and an sc load", "x=1.rlx; F.sc; y.rlx | y=1.rlx; x.sc", "-"},
  });
}

TEST(litmus, store_buffering_with_updates) {
  check({
      // On x86 an exchange is a fence. In C++ it is none for the relaxed load behind it.
      {"sc exchange, relaxed loads", "x<1.sc; y.rlx | y<1.sc; x.rlx", "0000 0001 0100 0101"},
      {"sc exchange, sc loads", "x<1.sc; y.sc | y<1.sc; x.sc", "0001 0100 0101"},
      {"relaxed exchange", "x<1.rlx; y.rlx | y<1.rlx; x.rlx", "0000 0001 0100 0101"},
      {"updates instead of loads", "x=1.rlx; y+0.ar | y=1.rlx; x+0.ar", "-"},
      // The updates of y are in one order, and the later one acquires.
      {"updates only", "x<1.ar; y+0.ar | y<1.ar; x+0.ar", "0001 0100 0101"},
  });
}

TEST(litmus, light_and_heavy_fences_work_in_pairs) {
  check({
      {"light and heavy", "x=1.rlx; light; y.rlx | y=1.rlx; heavy; x.rlx", "-00"},
      {"heavy and heavy", "x=1.rlx; heavy; y.rlx | y=1.rlx; heavy; x.rlx", "-00"},
      {"light and light", "x=1.rlx; light; y.rlx | y=1.rlx; light; x.rlx", "-"},
      {"light and sc", "x=1.rlx; light; y.rlx | y=1.rlx; F.sc; x.rlx", "-"},
      {"heavy and sc", "x=1.rlx; heavy; y.rlx | y=1.rlx; F.sc; x.rlx", "-00"},
      {"light and nothing", "x=1.rlx; light; y.rlx | y=1.rlx; x.rlx", "-"},
      {"heavy and nothing", "x=1.rlx; heavy; y.rlx | y=1.rlx; x.rlx", "-"},
      {"light does not publish", "x=1.rlx; light; y=1.rlx | y.rlx; light; x.rlx", "-"},
  });
}

TEST(litmus, message_passing_needs_release_and_acquire) {
  check({
      {"relaxed", "x=1.rlx; y=1.rlx | y.rlx; x.rlx", "-"},
      {"release and acquire", "x=1.rlx; y=1.rel | y.acq; x.rlx", "-10"},
      {"no acquire", "x=1.rlx; y=1.rel | y.rlx; x.rlx", "-"},
      {"no release", "x=1.rlx; y=1.rlx | y.acq; x.rlx", "-"},
      {"sc", "x=1.rlx; y=1.sc | y.sc; x.rlx", "-10"},
      {"fences", "x=1.rlx; F.rel; y=1.rlx | y.rlx; F.acq; x.rlx", "-10"},
      {"fence and acquire", "x=1.rlx; F.rel; y=1.rlx | y.acq; x.rlx", "-10"},
      {"release and fence", "x=1.rlx; y=1.rel | y.rlx; F.acq; x.rlx", "-10"},
      {"acq_rel fences", "x=1.rlx; F.ar; y=1.rlx | y.rlx; F.ar; x.rlx", "-10"},
      {"sc fences", "x=1.rlx; F.sc; y=1.rlx | y.rlx; F.sc; x.rlx", "-10"},
      {"only a release fence", "x=1.rlx; F.rel; y=1.rlx | y.rlx; x.rlx", "-"},
      {"only an acquire fence", "x=1.rlx; y=1.rlx | y.rlx; F.acq; x.rlx", "-"},
      {"the wrong fences", "x=1.rlx; F.acq; y=1.rlx | y.rlx; F.rel; x.rlx", "-"},
      {"fences too late", "x=1.rlx; y=1.rlx; F.rel | y.rlx; x.rlx; F.acq", "-"},
      {"a release too early", "y=1.rel; x=1.rlx | y.acq; x.rlx", "-"},
  });
}

TEST(litmus, plain_memory_is_published_by_release_and_acquire_only) {
  check({
      {"release and acquire", "d!; y=1.rel | y.acq; d?", "0 1"},
      {"no acquire", "d!; y=1.rel | y.rlx; d?", "race"},
      {"no release", "d!; y=1.rlx | y.acq; d?", "race"},
      {"fences", "d!; F.rel; y=1.rlx | y.rlx; F.acq; d?", "0 1"},
      {"only a release fence", "d!; F.rel; y=1.rlx | y.rlx; d?", "race"},
      {"only an acquire fence", "d!; y=1.rlx | y.rlx; F.acq; d?", "race"},
      {"sc fences", "d!; F.sc; y=1.rlx | y.rlx; F.sc; d?", "0 1"},
      {"light and heavy fences", "d!; light; y=1.rlx | y.rlx; heavy; d?", "race"},
      {"heavy fences", "d!; heavy; y=1.rlx | y.rlx; heavy; d?", "0 1"},
      {"two readers", "d?; x.rlx | d?", "0"},
      {"write after read", "d?; y=1.rel | y.acq; d!", "0 1"},
      {"write after read, relaxed", "d?; y=1.rlx | y.acq; d!", "race"},
      {"a mutex", "lock; d!; unlock; x.rlx | lock; d!; unlock", "0"},
      {"one side without the mutex", "lock; d!; unlock; x.rlx | d!", "race"},
      {"an update goes on with the release", "d!; y=1.rel | y?1:2.rlx,rlx | y.acq; d?",
       "00 01 10 11 12"},
      {"a store does not", "d!; y=1.rel | y=2.rlx | y.acq; d?", "race"},
      {"a compare-exchange that takes over", "d!; y=1.rel | y?1:2.acq,rlx; d?", "0 1"},
      {"... without acquire", "d!; y=1.rel | y?1:2.rlx,rlx; d?", "race"},
      // Sequentially consistent fences order what is seen, not what happens.
      {"fences are no publication", "d!; F.sc; x=1.rlx | F.sc; x.rlx; d?", "race"},
  });
}

TEST(litmus, load_buffering_is_not_supported) {
  const char* const text = "y.rlx; x=1.rlx | x.rlx; y=1.rlx";
  check({"relaxed", text, "-11"});
  // RC11 forbids it too. C++ does not, though nobody has seen it from a compiler and a processor
  // that keep dependencies.
  EXPECT_FALSE(is_rc11(text, "11"));
}

TEST(litmus, every_location_is_coherent) {
  check({
      {"read read", "x=1.rlx; x=2.rlx | x.rlx; x.rlx", "00 01 02 11 12 22"},
      {"write write", "x=1.rlx; x=2.rlx || x", "2"},
      {"read write", "x.rlx; x=1.rlx | x=2.rlx || x", "01 02 21"},
      {"write read", "x=1.rlx; x.rlx | x=2.rlx || x", "11 12 22"},
      {"through another location", "x=1.rlx; y=1.rel | y.acq; x=2.rlx || x", "01 02 12"},
  });
  const char* const two_readers = "x=1.rlx | x=2.rlx | x.rlx; x.rlx | x.rlx; x.rlx";
  const outcome_set seen = explore_all(parse(two_readers)).outcomes;
  EXPECT_EQ(seen.count("1221") + seen.count("2112"), 0u) << "two readers disagree";
  EXPECT_EQ(seen.count("1212") + seen.count("2121"), 2u);
  EXPECT_EQ(seen, allowed_by_axioms(parse(two_readers)).explored);
}

TEST(litmus, two_writers_of_two_locations) {
  check({
      {"relaxed", "x=1.rlx; y=2.rlx | y=1.rlx; x=2.rlx || x y", "11 12 21 22"},
      {"release", "x=1.rel; y=2.rel | y=1.rel; x=2.rel || x y", "11 12 21 22"},
      {"sc", "x=1.sc; y=2.sc | y=1.sc; x=2.sc || x y", "12 21 22"},
      {"sc, but one", "x=1.sc; y=2.sc | y=1.sc; x=2.rel || x y", "11 12 21 22"},
      {"sc fences", "x=1.rlx; F.sc; y=2.rlx | y=1.rlx; F.sc; x=2.rlx || x y", "12 21 22"},
      {"one sc fence", "x=1.rlx; F.sc; y=2.rlx | y=1.rlx; x=2.rlx || x y", "11 12 21 22"},
      {"light and heavy", "x=1.rlx; light; y=2.rlx | y=1.rlx; heavy; x=2.rlx || x y", "12 21 22"},
  });
}

TEST(litmus, what_was_read_is_passed_on) {
  check({
      {"WRC, relaxed", "x=1.rlx | x.rlx; y=1.rlx | y.rlx; x.rlx", "-"},
      {"WRC", "x=1.rlx | x.rlx; y=1.rel | y.acq; x.rlx", "-110"},
      {"WRC, no acquire", "x=1.rel | x.acq; y=1.rel | y.rlx; x.rlx", "-"},
      {"WRC, plain", "d!; x=1.rel | x@0.acq; y=1.rel | y@0.acq; d?; z.rlx", "0"},
      {"WRC, plain, no acquire", "d!; x=1.rel | x@0.rlx; y=1.rel | y@0.acq; d?; z.rlx", "race"},
      {"ISA2", "x=1.rlx; y=1.rel | y.acq; z=1.rel | z.acq; x.rlx", "-110"},
      {"ISA2, no release", "x=1.rlx; y=1.rel | y.acq; z=1.rlx | z.acq; x.rlx", "-"},
  });
}

TEST(litmus, reads_that_follow_a_write_elsewhere) {
  check({
      {"RWC, relaxed", "x=1.rlx | x.rlx; y.rlx | y=1.rlx; x.rlx", "-"},
      {"RWC, acquire", "x=1.rel | x.acq; y.acq | y=1.rel; x.acq", "-"},
      {"RWC, sc", "x=1.sc | x.sc; y.sc | y=1.sc; x.sc", "-100"},
      {"RWC, sc fences", "x=1.rlx | x.rlx; F.sc; y.rlx | y=1.rlx; F.sc; x.rlx", "-100"},
      {"RWC, one fence", "x=1.rlx | x.rlx; F.sc; y.rlx | y=1.rlx; x.rlx", "-"},
      // What an sc load has read is shown to later fences. RC11 does not ask for that, C++20 does.
      {"RWC, sc loads and a fence", "x=1.rlx | x.sc; y.sc | y=1.rlx; F.sc; x.rlx", "-100"},
      {"R, relaxed", "x=1.rlx; y=1.rlx | y=2.rlx; x.rlx || y", "01 02 11 12"},
      {"R, release and acquire", "x=1.rel; y=1.rel | y=2.rel; x.acq || y", "01 02 11 12"},
      {"R, sc", "x=1.sc; y=1.sc | y=2.sc; x.sc || y", "01 11 12"},
      {"R, sc fences", "x=1.rlx; F.sc; y=1.rlx | y=2.rlx; F.sc; x.rlx || y", "01 11 12"},
      // Here a store has to go behind one that is newer in the schedule.
      {"S, relaxed", "x=2.rlx; y=1.rlx | y.rlx; x=1.rlx || x", "01 02 11 12"},
      {"S, release and acquire", "x=2.rlx; y=1.rel | y.acq; x=1.rlx || x", "01 02 11"},
  });
}

TEST(litmus, readers_of_independent_writes) {
  check({
      {"relaxed", "x=1.rlx | y=1.rlx | x.rlx; y.rlx | y.rlx; x.rlx", "-"},
      {"acquire", "x=1.rel | y=1.rel | x.acq; y.acq | y.acq; x.acq", "-"},
      {"sc", "x=1.sc | y=1.sc | x.sc; y.sc | y.sc; x.sc", "-1010"},
      {"sc stores only", "x=1.sc | y=1.sc | x.acq; y.acq | y.acq; x.acq", "-"},
      // Forbidden in C++20 by the coherence order of the loads themselves, allowed in RC11.
      {"sc loads only", "x=1.rlx | y=1.rlx | x.sc; y.sc | y.sc; x.sc", "-1010"},
      {"sc fences", "x=1.rlx | y=1.rlx | x.rlx; F.sc; y.rlx | y.rlx; F.sc; x.rlx", "-1010"},
      {"one sc fence", "x=1.rlx | y=1.rlx | x.rlx; F.sc; y.rlx | y.rlx; F.ar; x.rlx", "-"},
  });
}

TEST(litmus, release_sequences_are_those_of_cpp20) {
  check({
      {"an update goes on with it", "x=1.rlx; y=4.rel | y+1.rlx | y.acq; x.rlx",
       "000 001 010 011 041 400 401 441 451"},
      {"a store of the same thread does not", "x=1.rlx; y=1.rel; y=2.rlx | y.acq; x.rlx",
       "00 01 11 20 21"},
      {"a store of another thread does not", "x=1.rlx; y=1.rel | y=2.rlx | y.acq; x.rlx",
       "00 01 11 20 21"},
      {"a fence is for all later stores", "x=1.rlx; F.rel; y=1.rlx; y=2.rlx | y.acq; x.rlx",
       "00 01 11 21"},
  });
  const char* const chain = "x=1.rlx; y=1.rel | y?1:2.rlx,rlx | y?2:3.rlx,rlx | y.acq; x.rlx";
  EXPECT_FALSE(is_explored(chain, "1230"));
  EXPECT_TRUE(is_explored(chain, "1231"));
  EXPECT_TRUE(
      is_explored("x=1.rlx; y=1.rlx | y?1:2.rlx,rlx | y?2:3.rlx,rlx | y.acq; x.rlx", "1230"))
      << "without the release at its head the chain publishes nothing";
}

TEST(litmus, nothing_comes_between_the_halves_of_an_update) {
  check({
      {"two", "x+1.rlx | x+1.rlx || x", "012 102"},
      {"three", "x+1.rlx | x+1.rlx | x+1.rlx || x", "0123 0213 1023 1203 2013 2103"},
      {"exchange", "x<1.rlx | x<2.rlx || x", "012 201"},
      {"a store", "x+1.rlx | x=5.rlx || x", "05 56"},
      {"compare-exchange", "x?0:1.rlx,rlx | x?0:2.rlx,rlx || x", "011 202"},
      {"three of them", "x?0:1.rlx,rlx | x?0:2.rlx,rlx | x?0:3.rlx,rlx || x", "0111 2022 3303"},
  });
}

TEST(litmus, a_compare_exchange_has_two_orders) {
  check({
      {"failure acquires", "x=1.rlx; y=1.rel | y?0:2.rlx,acq; x.rlx", "00 01 11"},
      {"failure is relaxed", "x=1.rlx; y=1.rel | y?0:2.acq,rlx; x.rlx", "00 01 10 11"},
      {"success acquires", "x=1.rlx; y=1.rel | y?1:2.acq,rlx; x.rlx", "00 01 11"},
      {"success is relaxed", "x=1.rlx; y=1.rel | y?1:2.rlx,acq; x.rlx", "00 01 10 11"},
      {"failure is sc", "x=1.sc; y?5:6.rlx,sc | y=1.sc; x.sc", "-00"},
      {"failure is not sc", "x=1.sc; y?5:6.sc,acq | y=1.sc; x.sc", "-"},
  });
}

// Old values are to be had only if the second thread's fence comes first, which nothing but the
// dependence of the fences makes the search try.
TEST(litmus, fences_are_tried_in_both_orders) {
  check({
      {"sc and sc", "x=1.rlx; y=1.rlx; F.sc | y.rlx; F.sc; x.rlx", "-"},
      {"sc and an sc load", "x=1.rlx; y=1.rlx; F.sc | y.rlx; x.sc", "-"},
      {"heavy and light", "x=1.rlx; y=1.rlx; heavy | y.rlx; light; x.rlx", "-"},
      {"light and heavy", "x=1.rlx; y=1.rlx; light | y.rlx; heavy; x.rlx", "-"},
      {"heavy and heavy", "x=1.rlx; y=1.rlx; heavy | y.rlx; heavy; x.rlx", "-"},
  });
}

// Whichever of the two the search tries first.
TEST(litmus, a_wake_up_that_comes_too_early_is_lost) {
  for (const char* const text : {"x~0 | x^", "x^ | x~0"}) {
    const explored e = explore_all(parse(text));
    ASSERT_TRUE(e.result.failed) << text;
    EXPECT_EQ(e.result.failure->kind, rota::explore::failure_kind::lost_wakeup) << text;
  }
}

// Lahav et al. found that compilers for POWER allow this, and weakened the standard: the order of
// sequentially consistent operations need not follow happens-before. Ours does, as in C++11.
TEST(litmus, the_order_of_sc_operations_follows_happens_before) {
  const char* const text = "x=1.sc; y=1.rel | y+1.sc; y.rlx | y=3.sc; x.sc";
  EXPECT_TRUE(is_rc11(text, "130"));
  EXPECT_FALSE(is_explored(text, "130"));
}

// ... and the schedule, hence also what was read without any synchronisation. The one case that
// RC11 allows with fences alone: one fence comes before another in the order of fences, but is
// reached from it through a thread that passes on relaxed what it read relaxed.
TEST(litmus, the_order_of_sc_fences_follows_what_was_read) {
  const char* const text = "y.rlx; F.sc; x.rlx | x=1.rlx; F.sc; z=1.rlx | z.rlx; y=1.rlx";
  EXPECT_TRUE(is_rc11(text, "101"));
  EXPECT_FALSE(is_explored(text, "101"));
}

// An sc store that goes behind a newer one comes after the sc load that did not see it: it could
// not have been earlier, although its thread did nothing since.
TEST(litmus, an_sc_store_keeps_its_place_among_sc_loads_and_fences) {
  for (const char* const text : {"x=1.sc | x=2.rlx; y=1.rlx | y.rlx; x.sc || x",
                                 "x=1.sc | x=2.rlx; y=1.rlx | y.rlx; F.sc; x.rlx || x"}) {
    EXPECT_TRUE(is_explored(text, "102")) << text;
    EXPECT_EQ(explore_all(parse(text)).outcomes, allowed_by_axioms(parse(text)).explored) << text;
  }
}

// Who pauses waits for others, and is not shown an old value again that it has seen. Without the
// pause it may be; a program that counts on neither loses nothing.
TEST(litmus, after_a_pause_an_old_value_is_not_read_again) {
  EXPECT_TRUE(is_explored("x=1.rlx; y=1.rlx | x.rlx; y.rlx; x.rlx", "010"));
  EXPECT_FALSE(is_explored("x=1.rlx; y=1.rlx | x.rlx; pause; y.rlx; x.rlx", "010"));
}

TEST(litmus, after_a_pause_a_store_may_go_behind_newer_ones) {
  const char* const text = "x.rlx; pause; y.rlx; x=1.rlx | x=2.rlx; y=1.rlx || x";
  EXPECT_TRUE(is_explored(text, "012"));
}

// A spinner that was shown an old value looks again, even if another one spins for it.
TEST(litmus, spinners_take_turns) {
  for (const char* const text : {"z.rlx; y@0.rlx; x=1.rlx | y=1.rlx; z=1.rlx; x@0.rlx",
                                 "y=1.rlx; z=1.rlx; x@0.rlx | z.rlx; y@0.rlx; x=1.rlx"}) {
    for (const bool reduce : {true, false}) {
      rota::explore::options o;
      o.reduce = reduce;
      o.max_schedules = 1'000;
      const explored e = explore_all(parse(text), o);
      EXPECT_TRUE(e.result.exhaustive) << e.result.text();
      EXPECT_LT(e.result.longest, 100u) << text << (reduce ? "" : ", not reduced");
      EXPECT_EQ(text_of(e.outcomes), "0 1");
    }
  }
}

}  // namespace
