// Cowns and behaviours. Values are cells, so that two behaviours that have a cown at once show as a
// data race; a cown that is not handed on shows as a behaviour that never runs; one that is freed
// too early, or never, as use after free or as a leak.

#include <rota/cown/cown.h>

#include <rota/cown/pressure.h>
#include <rota/cown/when.h>
#include <rota/rota.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cown/dispatch.h"
#include "explored/cown_hand.h"
#include "explored/scenarios.h"
#include "pool/pool.h"

namespace {

using namespace rota::scenarios;
using rota::cown_ptr;
using rota::make_cown;
using rota::read;
using rota::when;
using rota::detail::job;

// --- queues --------------------------------------------------------------------------------------

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

// --- pointers ------------------------------------------------------------------------------------

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

// --- readers -------------------------------------------------------------------------------------

// A reader that sends another one sees it run, unless a writer has come in between, who may need
// another cown too.
template <bool Pair>
void readers_share() {
  const auto both = ordered<2>();
  const cown_ptr<number>& a = both[1];
  std::array<hand, 2> hands;
  word writers{0};
  {
    together others;
    others.run([&] {
      const auto write = [&](number& n) {
        bump(n);
        writers.store(1, std::memory_order_release);
      };
      hands[1].act([&] {
        if constexpr (Pair)
          when(both[0], a) << [&](number&, number& n) { write(n); };
        else
          when(a) << write;
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

// --- batches -------------------------------------------------------------------------------------

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

// --- early release -------------------------------------------------------------------------------

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

// Who holds a cown counts what it sends there in a word of the holder's: no more after it has given
// the cown back, since then that is another's.
void sends_to_its_own() {
  const auto c = make_cown<number>(0);
  std::array<hand, 2> hands;
  {
    together others;
    others.run([&] { hands[1].act([&] { when(c) << [&](number&) { when(c) << bump; }; }); });
    hands[0].act([&] {
      when(c) << [&](number&) {
        rota::release(c);
        when(c) << bump;
      };
    });
  }
  explore::check(c.unguarded().get() == 2, "every behaviour runs");
  explore::check(is_normal(c), "and is counted");
}

// Readers hold a cown together, so neither may count as if it were alone.
void readers_send() {
  const auto c = make_cown<number>(0);
  std::array<hand, 2> hands;
  const auto ask = [&](hand& h) {
    h.act([&] { when(rota::read(c)) << [&](const number&) { when(c) << bump; }; });
  };
  {
    together others;
    others.run([&] { ask(hands[1]); });
    ask(hands[0]);
  }
  explore::check(c.unguarded().get() == 2, "every behaviour runs");
  explore::check(is_normal(c), "and is counted");
}

// --- results -------------------------------------------------------------------------------------

// The handle of a result goes while the behaviour ends: whoever is last takes the value along.
void result_dropped() {
  const auto c = make_cown<number>(0);
  std::array<hand, 2> hands;
  word gate{0};
  job* taken = nullptr;
  {
    rota::when_result<std::unique_ptr<number>> result;
    together others;
    others.run([&] {
      while (gate.load(std::memory_order_acquire) == 0) explore::pause();
      hands[1].run(taken);
      hands[1].run_all();
    });
    hands[0].act([&] {
      result = when(c) << [](number& n) {
        bump(n);
        return std::make_unique<number>(n.get());
      };
      taken = hands[0].take();
      gate.store(1, std::memory_order_release);
    });
    result = {};
  }
  explore::check(c.unguarded().get() == 1, "the behaviour runs");
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

    {"cown.readers", "readers share", readers_share<false>, all()},
    {"cown.readers_pair", "... and a writer needs another cown", readers_share<true>, all()},
    {"cown.read_write", "a reader and a writer", mix<r, w>, all()},
    {"cown.read_read_write", "two readers and a writer", mix<r, r, w>, pct(3, 1)},
    {"cown.read_after_write", "a writer between readers", mix<does<'r', 'w', 'r'>, r>, pct(3, 1)},
    {"cown.mixed", "reads one, writes the other", read_and_write, all()},

    {"cown.batch", "a batch is atomic", batches, all()},
    {"cown.inherited", "a member gets its cowns on two threads", inherited<false>, all()},
    {"cown.inherited_reads", "... for reading", inherited<true>, all()},
    {"cown.early_release", "a cown is given back early", early_release, all()},
    {"cown.sends_to_its_own", "a holder sends to its own cown", sends_to_its_own, pct(3, 1)},
    {"cown.readers_send", "readers send to what they read", readers_send, pct(3, 1)},
    {"cown.result_dropped", "a result that nobody waits for", result_dropped, all()},
}};

}  // namespace
