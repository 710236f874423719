// Backpressure: who is muted, who is freed, and priority that comes at any moment. A sender that is
// muted for ever shows as a behaviour that never runs.

#include <rota/cown/cown.h>
#include <rota/cown/pressure.h>
#include <rota/cown/when.h>
#include <rota/rota.h>

#include <array>
#include <cstdint>
#include <utility>

#include "cown/dispatch.h"
#include "cown/pressure_board.h"
#include "explored/cown_hand.h"
#include "explored/scenarios.h"
#include "pool/pool.h"

namespace {

using namespace rota::scenarios;
using rota::cown_ptr;
using rota::make_cown;
using rota::read;
using rota::when;

// --- backpressure --------------------------------------------------------------------------------

// A sender that is muted is free again when the receiver has caught up, whoever works on which.
template <bool Twice>
void muting() {
  const auto from = make_cown<number>(0);
  const auto to = make_cown<number>(0);
  to.set_threshold(Twice ? 1 : 0);
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(from) << carrying(bump);
        if (Twice) when(to) << carrying(bump);
      });
    });
    hands[0].act([&] {
      when(from) << [&](number& n) {
        bump(n);
        when(to) << carrying(bump);
        when(to) << carrying(bump);
      };
    });
  }
  explore::check(from.unguarded().get() == 2 && to.unguarded().get() == (Twice ? 3 : 2),
                 "every behaviour runs");
  explore::check(is_normal(from) && is_normal(to), "and nobody stays muted");
}

// Two senders are muted, or will be. The receiver frees one of them while it has work left, and the
// other one later, whatever the first sends then.
void freed_by_turns() {
  const std::array from{make_cown<number>(0), make_cown<number>(0)};
  const auto to = make_cown<number>(0);
  to.set_threshold(2);
  std::array<hand, 2> hands;
  const auto send = [&](const cown_ptr<number>& me) {
    when(me) << [&](number& n) {
      bump(n);
      for (int i = 0; i < 3; ++i) when(to) << carrying(bump);
      when(me) << [&](number& again) {
        bump(again);
        when(to) << carrying(bump);
      };
    };
  };
  {
    together others;
    others.run([&] { hands[1].act([&] { send(from[1]); }); });
    hands[0].act([&] { send(from[0]); });
  }
  explore::check(to.unguarded().get() == 8, "every message is received");
  for (const auto& c : from) {
    explore::check(c.unguarded().get() == 2, "every sender goes on");
    explore::check(is_normal(c), "and none stays muted");
  }
  explore::check(is_normal(to), "nor is the receiver overloaded");
}

// The receiver is read, and the reader that came last ends first: the other one frees the sender.
void readers_leave() {
  const auto from = make_cown<number>(0);
  const auto to = make_cown<number>(0);
  to.set_threshold(0);
  hand h;
  h.act([&] {
    when(from) << [&](number&) {
      when(read(to)) << [&](const number&) { h.run_all(); };
      when(read(to)) << look;
    };
    when(from) << bump;
  });
  explore::check(from.unguarded().get() == 1, "every behaviour runs");
  explore::check(is_normal(from) && is_normal(to), "and nobody stays muted");
}

// ... and ends while another one, which has seen nothing of this, ends too.
void two_readers_leave() {
  const auto from = make_cown<number>(0);
  const auto to = make_cown<number>(0);
  to.set_threshold(0);
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] { hands[1].act([&] { when(read(to)) << look; }); });
    hands[0].act([&] {
      when(from) << [&](number&) {
        when(read(to)) << look;
        when(read(to)) << look;
      };
      when(from) << bump;
    });
  }
  explore::check(from.unguarded().get() == 1, "every behaviour runs");
  explore::check(is_normal(from) && is_normal(to), "and nobody stays muted");
}

// Calls f while cown `c` is muted by `by`, which is overloaded and has work left.
template <class F>
void while_muted(hand& h, const cown_ptr<number>& by, const cown_ptr<number>& c, F f) {
  by.set_threshold(0);
  h.act([&] {
    when(by) << [&](number&) {
      when(c) << [&](number&) { when(by) << carrying(bump); };
      h.run_all();
      explore::check(c.counters().muted, "who sends to an overloaded cown is muted");
      f();
    };
  });
}

// A behaviour goes from one cown to the next, which is muted, while the first one gets priority:
// then the second one is freed, by whoever comes last.
void raised_on_the_way() {
  const auto c = ordered<2>();
  const auto by = make_cown<number>(0);
  std::array<hand, 2> hands;
  while_muted(hands[0], by, c[1], [&] {
    together others;
    others.run([&] {
      hands[1].act([&] { when(c[0], c[1]) << [](number& x, number& y) { bump(x), bump(y); }; });
    });
    hands[0].press(c[0]);
    others.join();
    explore::check(!c[1].counters().muted, "nobody of priority waits for somebody muted");
    hands[0].relieve();
  });
  explore::check(c[0].unguarded().get() == 1 && c[1].unguarded().get() == 1,
                 "every behaviour runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]) && is_normal(by), "and nobody stays muted");
}

// A behaviour ends, and with it the cown that it came to last, while the first one gets priority:
// the board must not follow it there.
void raised_too_late() {
  word ended{0};
  std::array<hand, 2> hands;
  auto first = make_cown<watched>(ended);
  auto second = make_cown<watched>(ended);
  if (second < first) std::swap(first, second);
  {
    together others;
    others.run([&, second = std::move(second)]() mutable {
      hands[1].act([&] {
        when(first, second) << [](watched& x, watched& y) { bump(x.value), bump(y.value); };
        second.reset();
      });
    });
    hands[0].press(first);
    hands[0].relieve();
  }
  explore::check(ended.peek() == 1, "every behaviour runs");
  explore::check(first.unguarded().value.get() == 1 && is_normal(first), "and all is normal");
}

// ... with one more on the way, so that the board may meet the behaviour between two hops.
void raised_between() {
  const auto c = ordered<3>();
  const auto by = make_cown<number>(0);
  std::array<hand, 2> hands;
  while_muted(hands[0], by, c[2], [&] {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(c[0], c[1], c[2]) <<
            [](number& x, number& y, number& z) { bump(x), bump(y), bump(z); };
      });
    });
    hands[0].press(c[0]);
    others.join();
    explore::check(!c[2].counters().muted, "nobody of priority waits for somebody muted");
    hands[0].relieve();
  });
  for (const auto& x : c) {
    explore::check(x.unguarded().get() == 1, "every behaviour runs");
    explore::check(is_normal(x), "and nobody stays muted");
  }
}

enum class ending { alone, with_another, reading };

// A sender that sees an old count finds a cown too long, and gives it priority, while the last
// message there ends: whoever comes last takes the priority away, since what the sender sends waits
// elsewhere.
template <ending How>
void raised_at_the_end() {
  const auto c = ordered<3>();
  const auto from = make_cown<number>(0);
  const auto other = make_cown<number>(0);
  c[2].set_threshold(1);
  std::array<hand, 3> hands;
  hands[2].press(other);  // so the board is on the alert, and senders look at all receivers
  hands[0].act([&] {
    when(c[0]) << [&](number&) {
      together others;
      others.run([&] {
        for (int i = 0; i < 2; ++i)
          hands[1].act([&] {
            if constexpr (How == ending::reading)
              when(read(c[2])) << look;
            else if constexpr (How == ending::with_another)
              when(c[1], c[2]) << [](number&, number& n) { bump(n); };
            else
              when(c[2]) << bump;
          });
      });
      when(from) <<
          [&](number&) { when(c[0], c[2]) << [](number& x, number& y) { bump(x), bump(y); }; };
      hands[0].run_all();
      others.join();
      explore::check(is_normal(c[2]), "nobody has priority for nothing");
    };
  });
  hands[2].relieve();
  explore::check(
      c[0].unguarded().get() == 1 && c[2].unguarded().get() == (How == ending::reading ? 1 : 3),
      "every behaviour runs");
  for (const auto& x : {c[0], c[1], c[2], from, other})
    explore::check(is_normal(x), "and all is normal");
}

// As raised_on_the_way(), for a behaviour that reads the cown which gets priority.
void reader_raised() {
  const auto c = ordered<2>();
  const auto by = make_cown<number>(0);
  std::array<hand, 2> hands;
  while_muted(hands[0], by, c[1], [&] {
    together others;
    others.run([&] {
      hands[1].act([&] { when(read(c[0]), c[1]) << [](const number&, number& y) { bump(y); }; });
    });
    hands[0].press(c[0]);
    others.join();
    explore::check(!c[1].counters().muted, "nobody of priority waits for somebody muted");
    hands[0].relieve();
  });
  explore::check(c[1].unguarded().get() == 1, "every behaviour runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]) && is_normal(by), "and nobody stays muted");
}

// A queue that is too long gives its priority to what its behaviours wait for. Its first behaviour
// needs `second`, which is muted by it: without priority both would wait for ever.
void overloaded_waits() {
  const auto c = ordered<2>();
  c[0].set_threshold(0);
  std::array<hand, 2> hands;
  word ran{0};
  const auto count = [&ran](number&) { ran.fetch_add(1, std::memory_order_relaxed); };
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(c[1]) << [&](number&) {
          when(c[0]) << carrying(count);
          when(c[0]) << carrying(count);
        };
      });
    });
    hands[0].act([&] { when(c[0], c[1]) << [&](number& x, number&) { count(x); }; });
  }
  explore::check(ran.peek() == 3, "every behaviour runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]), "and nobody stays muted");
}

// Pressure ends while the muted one is sent to.
void pressed() {
  const auto from = make_cown<number>(0);
  const auto to = make_cown<number>(0);
  std::array<hand, 2> hands;
  hands[0].press(to);
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(from) << [&](number& n) {
          bump(n);
          when(to) << carrying(bump);
        };
        when(from) << carrying(bump);
      });
    });
    hands[0].relieve();
  }
  explore::check(from.unguarded().get() == 2 && to.unguarded().get() == 1, "every behaviour runs");
  explore::check(is_normal(from) && is_normal(to), "and nobody stays muted");
}

// Somebody makes the first weak pointers to two cowns, without the lock, while f, which a hand
// does, makes the board look at them. Both need the side of a cown, which either may make.
template <class F>
void weak_pointers_against(const std::array<cown_ptr<number>, 2>& c, F f) {
  hand h;
  together others;
  others.run([&] {
    for (const auto& each : c)
      explore::check(!!rota::weak_cown_ptr<number>{each}.lock(), "it lives");
  });
  h.act(f);
  others.join();
  explore::check(is_normal(c[0]) && is_normal(c[1]), "nobody stays muted or overloaded");
}

// The second is overloaded when the behaviour comes there, and normal when it has ended.
void weak_and_pressed() {
  const auto c = ordered<2>();
  c[1].set_threshold(0);
  weak_pointers_against(
      c, [&] { when(c[0], c[1]) << [](number& x, number& y) { bump(x), bump(y); }; });
  explore::check(c[0].unguarded().get() == 1 && c[1].unguarded().get() == 1, "it runs");
}

// An overloaded cown is muted by another.
void weak_and_muted() {
  const auto c = ordered<2>();
  for (const auto& each : c) each.set_threshold(0);
  weak_pointers_against(c, [&] {
    when(c[0]) << [&](number& n) {
      bump(n);
      when(c[1]) << bump;
      when(c[1]) << bump;
    };
  });
  explore::check(c[0].unguarded().get() == 1 && c[1].unguarded().get() == 2, "all run");
}

// --- whole runtimes ------------------------------------------------------------------------------

rota::task<> admitted(cown_ptr<number> c) {
  co_await rota::admit(c);
  when(c) << bump;
}

enum class leaving { alone, with_another, early };

// A task that waits for room is let in when the behaviour before it has left: a wake-up that is
// lost shows as rota::deadlock. Both come from outside, so that two workers have them.
template <leaving How>
void admission() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  const auto both = ordered<2>();
  const cown_ptr<number>& c = both[1];
  c.set_threshold(1);
  if constexpr (How == leaving::with_another)
    when(rt, both[0], c) << [](number&, number& n) { bump(n); };
  else
    when(rt, c) << [c](number& n) {
      bump(n);
      if (How == leaving::early) rota::release(c);
    };
  rt.run(admitted(c));
  rt.quiesce();
  explore::check(c.unguarded().get() == 2, "every behaviour runs");
  explore::check(is_normal(c), "and leaves nothing behind");
}

const add pressed_cowns{{
    {"cown.muting", "a muted sender is free again", muting<false>, all()},
    {"cown.muting_twice", "... and others send, too", muting<true>, pct(3, 1)},
    {"cown.freed_by_turns", "... and are freed one after the other", freed_by_turns, pct(3, 2)},
    {"cown.readers_leave", "readers of the mutor leave in any order", readers_leave, all()},
    {"cown.readers_leave_2", "... at the same time", two_readers_leave, pct(3, 2)},
    {"cown.raised_on_the_way", "priority against a hop", raised_on_the_way, all()},
    {"cown.raised_too_late", "priority against the end", raised_too_late, bounded(3, 3)},
    {"cown.raised_between", "priority against two hops", raised_between, all()},
    {"cown.raised_at_the_end", "priority against the last message",
     raised_at_the_end<ending::alone>, pct(3, 2)},
    {"cown.raised_at_the_end_pair", "... which needs another cown",
     raised_at_the_end<ending::with_another>, pct(3, 2)},
    {"cown.raised_at_the_end_read", "... which reads", raised_at_the_end<ending::reading>,
     pct(3, 2)},
    {"cown.reader_raised", "priority against a reader's hop", reader_raised, all()},
    {"cown.overloaded_waits", "an overloaded cown waits for a muted one", overloaded_waits,
     pct(3, 1)},
    {"cown.pressed", "pressure ends", pressed, all()},
    {"cown.weak_and_pressed", "weak pointers against overload", weak_and_pressed, pct(3, 1)},
    {"cown.weak_and_muted", "... and muting", weak_and_muted, pct(3, 1)},
    {"cown.admission", "a task waits for room", admission<leaving::alone>, pct(3, 1)},
    {"cown.admission_pair", "... that comes with another's", admission<leaving::with_another>,
     pct(3, 1)},
    {"cown.admission_early", "... that is given back early", admission<leaving::early>, pct(3, 1)},
}};

}  // namespace
