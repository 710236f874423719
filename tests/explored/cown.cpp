// Cowns and behaviours. Values are cells, so that two behaviours that have a cown at once show as a
// data race; a cown that is not handed on shows as a behaviour that never runs; one that is freed
// too early, or never, as use after free or as a leak.
//
// There are no workers: each thread has a pool of its own that is never started, and runs what it
// has made ready itself. So nothing is shared but the cowns, and schedules stay short.

#include <rota/cown/cown.h>

#include <rota/cown/pressure.h>
#include <rota/cown/when.h>
#include <rota/rota.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cown/dispatch.h"
#include "cown/pressure_board.h"
#include "explored/scenarios.h"
#include "pool/pool.h"

namespace {

using namespace rota::scenarios;
using rota::cown_ptr;
using rota::make_cown;
using rota::read;
using rota::when;
using rota::detail::dispatch;
using rota::detail::job;
using rota::detail::pool;
using rota::detail::pressure_board;
using rota::detail::pressure_source;
using rota::detail::stand_in;
using word = explore::atomic<std::uint32_t>;
using number = explore::cell<int>;

// A pool whose only worker is the thread that calls it.
class hand {
 public:
  hand() : pool_(rota::options{}.with_workers(1), rota::detail::pool_hooks{}) {}

  // Calls f as somebody who belongs here, and runs what became ready.
  template <class F>
  void act(F f) {
    {
      const stand_in here{pool_, nullptr};
      f();
    }
    run_all();
  }

  // Also inside of a behaviour: then what is ready runs before it ends.
  void run_all() {
    while (job* j = take()) run(j);
  }

  // The next that is ready, or null. Another thread may run it.
  job* take() { return pool_.take_left(); }
  void run(job* j) {
    const stand_in here{pool_, j};
    j->frame.resume();
  }

  template <class T>
  void press(const cown_ptr<T>& c) {
    dispatch d{pool_};
    pressure_board::get().press(d, *c.get(), source_);
    d.finish();
    run_all();
  }
  void relieve() {
    pressure_board::get().relieve(source_);
    run_all();
  }

 private:
  pool pool_;
  pressure_source source_;
};

void bump(number& n) { n.set(n.get() + 1); }

// Does f, and sees what its sender did before.
template <class F>
auto carrying(F f) {
  return [f, letter = std::make_unique<number>(1)](auto&... values) {
    explore::check(letter->get() == 1, "a behaviour sees what its sender did");
    f(values...);
  };
}

// N cowns, in the order in which behaviours take them.
template <std::size_t N>
std::array<cown_ptr<number>, N> ordered() {
  std::array<cown_ptr<number>, N> all;
  for (auto& c : all) c = make_cown<number>(0);
  std::sort(all.begin(), all.end());
  return all;
}

template <class T>
bool is_normal(const cown_ptr<T>& c) {
  const rota::cown_counters now = c.counters();
  return !now.muted && !now.overloaded && now.pending == 0;
}

// --- queues -------------------------------------------------------------------------------------

// As many threads as that, each with one behaviour on the same cown.
template <unsigned Threads>
void same_cown() {
  const auto a = make_cown<number>(0);
  std::array<hand, Threads> hands;
  {
    together others;
    for (unsigned t = 1; t < Threads; ++t)
      others.run([&, t] { hands[t].act([&] { when(a) << carrying(bump); }); });
    hands[0].act([&] { when(a) << carrying(bump); });
  }
  explore::check(a.unguarded().get() == static_cast<int>(Threads), "every behaviour runs");
  explore::check(is_normal(a), "and leaves nothing behind");
}

// A thread keeps the order of its own, whoever runs them.
void order_kept() {
  const auto a = make_cown<number>(0);
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] { hands[1].act([&] { when(a) << [](number&) {}; }); });
    hands[0].act([&] {
      when(a) << [](number& n) { n.set(1); };
      when(a) << [](number& n) {
        explore::check(n.get() == 1, "first come, first served");
        n.set(2);
      };
    });
  }
  explore::check(a.unguarded().get() == 2, "every behaviour runs");
}

// Two cowns, named in both orders.
void both_orders() {
  const auto a = make_cown<number>(0);
  const auto b = make_cown<number>(0);
  std::array<hand, 2> hands;
  const auto both = [](number& x, number& y) { bump(x), bump(y); };
  {
    together others;
    others.run([&] { hands[1].act([&] { when(b, a) << carrying(both); }); });
    hands[0].act([&] { when(a, b) << carrying(both); });
  }
  explore::check(a.unguarded().get() == 2 && b.unguarded().get() == 2, "every behaviour runs");
  explore::check(is_normal(a) && is_normal(b), "and leaves nothing behind");
}

// Three that wait for each other in a circle, if cowns were taken in any order.
void circle() {
  const auto c = ordered<3>();
  std::array<hand, 3> hands;
  const auto both = [](number& x, number& y) { bump(x), bump(y); };
  {
    together others;
    for (std::size_t t = 1; t < 3; ++t)
      others.run([&, t] { hands[t].act([&] { when(c[t], c[(t + 1) % 3]) << carrying(both); }); });
    hands[0].act([&] { when(c[0], c[1]) << carrying(both); });
  }
  for (const auto& x : c) explore::check(x.unguarded().get() == 2, "every behaviour runs");
}

// All three at once, against one that has the middle one.
void three_cowns() {
  const auto c = ordered<3>();
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] { hands[1].act([&] { when(c[1]) << carrying(bump); }); });
    hands[0].act([&] {
      when(c[0], c[1], c[2]) << [](number& x, number& y, number& z) { bump(x), bump(y), bump(z); };
    });
  }
  explore::check(
      c[0].unguarded().get() == 1 && c[1].unguarded().get() == 2 && c[2].unguarded().get() == 1,
      "every behaviour runs");
}

// --- pointers -----------------------------------------------------------------------------------

struct watched {
  number value{0};
  word* ended;
  explicit watched(word& count) : ended(&count) {}
  ~watched() {
    value.set(-1);
    ended->fetch_add(1, std::memory_order_relaxed);
  }
};

// The senders let go of the cowns at once: those that wait keep them.
void let_go() {
  word ended{0};
  auto a = make_cown<watched>(ended);
  auto b = make_cown<watched>(ended);
  std::array<hand, 2> hands;
  word ran{0};
  const auto use = [&ran](watched& x, watched& y) {
    bump(x.value), bump(y.value);
    ran.fetch_add(1, std::memory_order_relaxed);
  };
  together others;
  others.run([&, x = a, y = b]() mutable {
    hands[1].act([&] {
      when(x, y) << carrying(use);
      x.reset();
      y.reset();
    });
  });
  hands[0].act([&] {
    when(a, b) << carrying(use);
    a.reset();
    b.reset();
  });
  others.join();
  explore::check(ran.peek() == 2, "every behaviour runs");
}

// Nothing but pointers.
void last_pointer() {
  word ended{0};
  auto a = make_cown<watched>(ended);
  together others;
  others.run([x = std::as_const(a)]() mutable {
    explore::check(x.unguarded().value.get() == 0, "the value is there");
    x.reset();
  });
  explore::check(a.unguarded().value.get() == 0, "the value is there");
  a.reset();
  others.join();
}

// The last pointer goes while somebody asks the weak one.
void weak_pointer() {
  word ended{0};
  auto a = make_cown<watched>(ended);
  std::array<hand, 2> hands;
  word locked{0};
  together others;
  others.run([&, w = rota::weak_cown_ptr<watched>{a}] {
    hands[1].act([&] {
      if (auto x = w.lock()) {
        when(x) << [](watched& v) { bump(v.value); };
        locked.store(1, std::memory_order_relaxed);
      }
    });
    explore::check(!w.lock() || ended.peek() == 0, "a cown that is gone stays gone");
  });
  a.reset();
  others.join();
  explore::check(ended.peek() == 1, "the value ends once");
}

// ... and two make the first weak pointer.
void first_weak_pointer() {
  word ended{0};
  auto a = make_cown<watched>(ended);
  together others;
  others.run([x = a] { explore::check(!!rota::weak_cown_ptr<watched>{x}.lock(), "it lives"); });
  explore::check(!!rota::weak_cown_ptr<watched>{a}.lock(), "it lives");
}

// --- readers ------------------------------------------------------------------------------------

int look(const number& n) { return n.get(); }

// A reader that sends another one sees it run, unless a writer has come in between.
void readers_share() {
  const auto a = make_cown<number>(0);
  std::array<hand, 2> hands;
  word writers{0};
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(a) << [&](number& n) {
          bump(n);
          writers.store(1, std::memory_order_release);
        };
      });
    });
    hands[0].act([&] {
      when(read(a)) << [&](const number& n) {
        const int before = n.get();
        bool ran = false;
        when(read(a)) << [&ran](const number& m) { m.get(), ran = true; };
        hands[0].run_all();
        explore::check(n.get() == before, "no writer comes to a reader");
        if (a.counters().pending == 1) explore::check(ran, "readers share");
      };
    });
  }
  explore::check(a.unguarded().get() == 1, "every behaviour runs");
  explore::check(is_normal(a), "and leaves nothing behind");
}

// What the threads do one after the other: r reads, w writes.
template <char... First>
struct does {
  static void on(const cown_ptr<number>& a, word& ran) { (one(First, a, ran), ...); }
  static void one(char what, const cown_ptr<number>& a, word& ran) {
    const auto mark = [&ran] { ran.fetch_add(1, std::memory_order_relaxed); };
    if (what == 'r')
      when(read(a)) << carrying([mark](const number& n) { look(n), mark(); });
    else
      when(a) << carrying([mark](number& n) { bump(n), mark(); });
  }
  static constexpr std::uint32_t count = sizeof...(First);
};

template <class... Threads>
void mix() {
  auto a = make_cown<number>(0);
  std::array<hand, sizeof...(Threads)> hands;
  word ran{0};
  {
    together others;
    std::size_t t = 0;
    (others.run([&, t = t++] { hands[t].act([&] { Threads::on(a, ran); }); }), ...);
  }
  explore::check(ran.peek() == (Threads::count + ...), "every behaviour runs");
  explore::check(is_normal(a), "and leaves nothing behind");
}

// A behaviour that reads one and writes the other, against writers of both.
void read_and_write() {
  const auto c = ordered<2>();
  std::array<hand, 2> hands;
  word ran{0};
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(c[0], c[1]) << [&](number& x, number& y) {
          bump(x), bump(y);
          ran.fetch_add(1, std::memory_order_relaxed);
        };
      });
    });
    hands[0].act([&] {
      when(read(c[0]), c[1]) << [&](const number& x, number& y) {
        look(x), bump(y);
        ran.fetch_add(1, std::memory_order_relaxed);
      };
    });
  }
  explore::check(ran.peek() == 2, "every behaviour runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]), "and leaves nothing behind");
}

// --- batches ------------------------------------------------------------------------------------

// A batch against a behaviour that needs both cowns: nobody comes in between.
void batches() {
  const auto c = ordered<2>();
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(c[0], c[1]) <<
            [](number& x, number& y) { explore::check(x.get() == y.get(), "both or none"); };
      });
    });
    hands[0].act([&] { (when(c[0]) << carrying(bump)) + (when(c[1]) << carrying(bump)); });
  }
  explore::check(c[0].unguarded().get() == 1 && c[1].unguarded().get() == 1, "every member runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]), "and leaves nothing behind");
}

// A member gets its cowns from two others, which end at the same time on two threads. What these
// hold up is taken over by the second thread: `gate` makes it wait for the batch to be handed down.
template <bool Reads>
void inherited() {
  const auto c = ordered<2>();
  std::array<hand, 2> hands;
  word ran{0};
  word gate{0};
  job* taken = nullptr;
  {
    together others;
    others.run([&] {
      while (gate.load(std::memory_order_acquire) == 0) explore::pause();
      hands[1].run(taken);
      hands[1].run_all();
    });
    const auto last = [&ran](const number& x, const number& y) {
      explore::check(x.get() == 1 && y.get() == 1, "members are in order");
      ran.fetch_add(1, std::memory_order_relaxed);
    };
    hands[0].act([&] {
      rota::batch all;
      all += when(c[0]) << carrying(bump);
      all += when(c[1]) << carrying(bump);
      if constexpr (Reads)
        all += when(read(c[0]), read(c[1])) << carrying(last);
      else
        all += when(c[0], c[1]) << carrying(last);
      all.send();
      hands[0].run(hands[0].take());  // hands down
      taken = hands[0].take();
      gate.store(1, std::memory_order_release);
    });
  }
  explore::check(ran.peek() == 1, "every member runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]), "and leaves nothing behind");
}

// --- early release ------------------------------------------------------------------------------

// A cown that is given back early is the next one's at once; the other is kept.
void early_release() {
  const auto c = ordered<2>();
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] {
      hands[1].act([&] {
        when(c[0]) << carrying(bump);
        when(c[1]) << carrying(bump);
      });
    });
    hands[0].act([&] {
      when(c[0], c[1]) << [&](number& x, number& y) {
        bump(x);
        rota::release(c[0]);
        hands[0].run_all();
        bump(y);
      };
    });
  }
  explore::check(c[0].unguarded().get() == 2 && c[1].unguarded().get() == 2,
                 "every behaviour runs");
  explore::check(is_normal(c[0]) && is_normal(c[1]), "and leaves nothing behind");
}

// --- backpressure -------------------------------------------------------------------------------

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

// A sender that sees an old count finds a cown too long, and gives it priority, while the last
// message there ends: whoever comes last takes the priority away, since what the sender sends waits
// elsewhere.
template <bool Reads>
void raised_at_the_end() {
  const auto c = ordered<2>();
  const auto from = make_cown<number>(0);
  const auto other = make_cown<number>(0);
  c[1].set_threshold(1);
  std::array<hand, 3> hands;
  hands[2].press(other);  // so the board is on the alert, and senders look at all receivers
  hands[0].act([&] {
    when(c[0]) << [&](number&) {
      together others;
      others.run([&] {
        for (int i = 0; i < 2; ++i)
          hands[1].act([&] {
            if (Reads)
              when(read(c[1])) << look;
            else
              when(c[1]) << bump;
          });
      });
      when(from) <<
          [&](number&) { when(c[0], c[1]) << [](number& x, number& y) { bump(x), bump(y); }; };
      hands[0].run_all();
      others.join();
      explore::check(is_normal(c[1]), "nobody has priority for nothing");
    };
  });
  hands[2].relieve();
  explore::check(c[0].unguarded().get() == 1 && c[1].unguarded().get() == (Reads ? 1 : 3),
                 "every behaviour runs");
  for (const auto& x : {c[0], c[1], from, other}) explore::check(is_normal(x), "and all is normal");
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

// --- whole runtimes -----------------------------------------------------------------------------

// Gives the cown back before it ends, or with its end.
template <bool Early>
rota::task<> admitted(cown_ptr<number> c) {
  c.set_threshold(1);
  when(c) << [c](number& n) {
    bump(n);
    if (Early) rota::release(c);
  };
  co_await rota::admit(c);
  when(c) << bump;
}

// A task that waits for room is let in when the behaviour before it has left: a wake-up that is
// lost shows as rota::deadlock.
template <bool Early>
void admission() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  const auto c = make_cown<number>(0);
  rt.run(admitted<Early>(c));
  rt.quiesce();
  explore::check(c.unguarded().get() == 2, "every behaviour runs");
  explore::check(is_normal(c), "and leaves nothing behind");
}

using r = does<'r'>;
using w = does<'w'>;

const add cowns{{
    {"cown.same_2", "two behaviours on one cown", same_cown<2>, all()},
    {"cown.same_3", "three behaviours on one cown", same_cown<3>, pct(3, 1)},
    {"cown.order", "a thread's own keep their order", order_kept, all()},
    {"cown.both_orders", "two cowns in both orders", both_orders, all()},
    {"cown.circle", "three behaviours in a circle", circle, pct(3, 1)},
    {"cown.three", "three cowns against the middle one", three_cowns, all()},

    {"cown.let_go", "those that wait keep their cowns", let_go, bounded(3, 3)},
    {"cown.last_pointer", "the last pointer ends the value", last_pointer, all()},
    {"cown.weak_pointer", "the last pointer goes, a weak one is asked", weak_pointer, all()},
    {"cown.weak_first", "two make the first weak pointer", first_weak_pointer, all()},

    {"cown.readers", "readers share", readers_share, all()},
    {"cown.read_write", "a reader and a writer", mix<r, w>, all()},
    {"cown.read_read_write", "two readers and a writer", mix<r, r, w>, pct(3, 1)},
    {"cown.read_after_write", "a writer between readers", mix<does<'r', 'w', 'r'>, r>, pct(3, 1)},
    {"cown.mixed", "reads one, writes the other", read_and_write, all()},

    {"cown.batch", "a batch is atomic", batches, bounded(4, 4)},
    {"cown.inherited", "a member gets its cowns on two threads", inherited<false>, all()},
    {"cown.inherited_reads", "... for reading", inherited<true>, all()},
    {"cown.early_release", "a cown is given back early", early_release, all()},

    {"cown.muting", "a muted sender is free again", muting<false>, all()},
    {"cown.muting_twice", "... and others send, too", muting<true>, pct(3, 1)},
    {"cown.readers_leave", "readers of the mutor leave in any order", readers_leave, all()},
    {"cown.readers_leave_2", "... at the same time", two_readers_leave, pct(3, 2)},
    {"cown.raised_on_the_way", "priority against a hop", raised_on_the_way, all()},
    {"cown.raised_too_late", "priority against the end", raised_too_late, bounded(3, 3)},
    {"cown.raised_between", "priority against two hops", raised_between, all()},
    {"cown.raised_at_the_end", "priority against the last message", raised_at_the_end<false>,
     pct(3, 2)},
    {"cown.raised_at_the_end_read", "... which reads", raised_at_the_end<true>, pct(3, 2)},
    {"cown.reader_raised", "priority against a reader's hop", reader_raised, all()},
    {"cown.overloaded_waits", "an overloaded cown waits for a muted one", overloaded_waits,
     pct(3, 1)},
    {"cown.pressed", "pressure ends", pressed, all()},
    {"cown.admission", "a task waits for room", admission<false>, pct(3, 1)},
    {"cown.admission_early", "... that is given back early", admission<true>, pct(3, 1)},
}};

}  // namespace
