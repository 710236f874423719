// What does a behaviour of Rota cost? The workloads of bench/cown/README.md.
//
// Besides theirs there are the keys backpressure (1: senders to overloaded cowns are muted; 0:
// not), rest_us (options::longest_rest), stats (1: prints the runtime's own counts), in flood and
// entangle threshold (from which length a queue is overloaded), and in kset range (1: the cowns are
// named by a range and not one by one).
#include <rota/cown/cown.h>
#include <rota/cown/when.h>
#include <rota/task/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

using bench::keys;
using bench::repetition;
using bench::rng;
using bench::word;
using rota::cown_ptr;
using rota::make_cown;
using rota::when;

using counter = cown_ptr<word>;

std::vector<counter> make_counters(word count) {
  std::vector<counter> all(count);
  for (counter& c : all) c = make_cown<word>(0u);
  return all;
}

word sum_of(const std::vector<counter>& all) {
  word sum = 0;
  for (const counter& c : all) sum += c.unguarded();
  return sum;
}

// The measured part: from before there is a runtime until its workers have ended.
template <class Submit>
void measure(const keys& k, repetition& r, Submit submit) {
  auto options = rota::options{}
                     .with_workers(static_cast<unsigned>(k("threads", 2)))
                     .with_backpressure(k("backpressure", 1) != 0)
                     .with_longest_rest(std::chrono::microseconds{k("rest_us", 32'000)});
  const bool show = k("stats", 0) != 0;
  r.start();
  {
    rota::runtime rt{std::move(options)};
    submit(rt);
    rt.quiesce();
    if (show) std::fputs(rt.statistics().text().c_str(), stderr);
  }
  r.stop();
}

// The same, submitted by a first behaviour that needs no cown.
template <class Submit>
void measure_inside(const keys& k, repetition& r, Submit submit) {
  measure(k, r, [&](rota::runtime& rt) { when(rt) << [&submit] { submit(); }; });
}

// --- self ---------------------------------------------------------------------------------------

struct self_chain {
  counter cown;
  word rounds;

  struct step {
    const self_chain* chain;
    void operator()(word& count) const {
      if (++count < chain->rounds) when(chain->cown) << *this;
    }
  };
};

void self(const keys& k, repetition& r) {
  const word c = k("c", 64);
  const word rounds = k("r", 4'000'000 / c);
  const std::vector<counter> cowns = make_counters(c);
  std::vector<self_chain> chains;
  for (const counter& cown : cowns) chains.push_back({cown, rounds});
  measure(k, r, [&](rota::runtime& rt) {
    for (const self_chain& chain : chains) when(rt, chain.cown) << self_chain::step{&chain};
  });
  r.ops = c * rounds;
  r.check(sum_of(cowns) == c * rounds);
}

// --- fanin --------------------------------------------------------------------------------------

void fanin(const keys& k, repetition& r) {
  const word n = k("n", 1'000'000);
  const counter consumer = make_cown<word>(0u);
  word seen = 0;
  measure_inside(k, r, [&] {
    for (word i = 0; i < n; ++i) when(consumer) << [](word& count) { ++count; };
    when(consumer) << [&seen](word& count) { seen = count; };
  });
  r.ops = n;
  r.check(seen == n);
}

// --- phil ---------------------------------------------------------------------------------------

struct philosopher {
  const counter* left;
  const counter* right;
  word hunger;
  word work;

  struct meal {
    philosopher* who;
    void operator()(word& one, word& other) const {
      ++one;
      ++other;
      bench::spin(who->work);
      if (--who->hunger > 0) who->eat();
    }
  };
  void eat() { when(*left, *right) << meal{this}; }
};

void phil(const keys& k, repetition& r) {
  const word p = k("p", 50);
  const word h = k("h", 20'000);
  const word work = k("work", 0);
  const std::vector<counter> forks = make_counters(p);
  std::vector<philosopher> all;
  for (word i = 0; i < p; ++i) all.push_back({&forks[i], &forks[(i + 1) % p], h, work});
  measure_inside(k, r, [&] {
    for (philosopher& who : all) who.eat();
  });
  r.ops = p * h;
  r.check(sum_of(forks) == 2 * p * h);
}

// --- bank ---------------------------------------------------------------------------------------

struct teller {
  rng chance;
  word left;
};

struct bank_office {
  std::vector<cown_ptr<std::int64_t>> accounts;
  std::vector<cown_ptr<teller>> tellers;
  counter log;
};

struct transfer {
  const bank_office* office;
  std::int64_t amount;
  void operator()(std::int64_t& from, std::int64_t& to) const {
    from -= amount;
    to += amount;
    when(office->log) << [](word& count) { ++count; };
  }
};

struct teller_step {
  const bank_office* office;
  const cown_ptr<teller>* self;
  void operator()(teller& me) const {
    const word accounts = office->accounts.size();
    const word from = me.chance.below(accounts);
    word to = me.chance.below(accounts - 1);
    to += to >= from ? 1 : 0;
    const auto amount = static_cast<std::int64_t>(me.chance.below(100) + 1);
    when(office->accounts[from], office->accounts[to]) << transfer{office, amount};
    if (--me.left > 0) when(*self) << *this;
  }
};

void bank(const keys& k, repetition& r) {
  const word a = k("a", 1000);
  const word s = k("s", 2);
  const word t = k("t", 250'000);
  constexpr std::int64_t opening = 1'000'000;
  bank_office office;
  for (word i = 0; i < a; ++i) office.accounts.push_back(make_cown<std::int64_t>(opening));
  for (word i = 0; i < s; ++i) office.tellers.push_back(make_cown<teller>(rng{i + 1}, t));
  office.log = make_cown<word>(0u);
  measure(k, r, [&](rota::runtime& rt) {
    for (const auto& who : office.tellers) when(rt, who) << teller_step{&office, &who};
  });
  std::int64_t sum = 0;
  for (const auto& account : office.accounts) sum += account.unguarded();
  r.ops = 3 * s * t;
  r.check(sum == static_cast<std::int64_t>(a) * opening);
  r.check(office.log.unguarded() == s * t);
}

// --- kset ---------------------------------------------------------------------------------------

constexpr std::size_t most_of_set = 64;

struct set_chain {
  const std::vector<counter>* cowns;
  rng chance;
  word left;
  word k;

  // Draws k different numbers below the number of cowns.
  void draw(word* numbers) {
    for (word have = 0; have < k;) {
      const word n = chance.below(cowns->size());
      if (std::find(numbers, numbers + have, n) == numbers + have) numbers[have++] = n;
    }
  }
};

// With as many arguments as there are cowns.
template <std::size_t... I>
void named_step(set_chain* chain, std::index_sequence<I...> which) {
  if (chain->left-- == 0) return;
  word numbers[sizeof...(I)];
  chain->draw(numbers);
  const std::vector<counter>& all = *chain->cowns;
  when(all[numbers[I]]...) << [chain](std::conditional_t<true, word, decltype(I)>&... counts) {
    (++counts, ...);
    named_step(chain, std::index_sequence<I...>{});
  };
  static_cast<void>(which);
}

void range_step(set_chain* chain) {
  if (chain->left-- == 0) return;
  word numbers[most_of_set];
  chain->draw(numbers);
  std::vector<counter> some;
  some.reserve(chain->k);
  for (word i = 0; i < chain->k; ++i) some.push_back((*chain->cowns)[numbers[i]]);
  when(some) << [chain](rota::each<word> counts) {
    for (word& count : counts) ++count;
    range_step(chain);
  };
}

void (*named_step_for(word k))(set_chain*) {
  switch (k) {
    case 1:
      return [](set_chain* c) { named_step(c, std::make_index_sequence<1>{}); };
    case 2:
      return [](set_chain* c) { named_step(c, std::make_index_sequence<2>{}); };
    case 4:
      return [](set_chain* c) { named_step(c, std::make_index_sequence<4>{}); };
    case 8:
      return [](set_chain* c) { named_step(c, std::make_index_sequence<8>{}); };
    case 16:
      return [](set_chain* c) { named_step(c, std::make_index_sequence<16>{}); };
    default:
      return range_step;
  }
}

void kset(const keys& k, repetition& r) {
  const word c = k("c", 64);
  const word l = k("l", 32);
  const word size = std::min({k("k", 2), c, word{most_of_set}});
  const word rounds = k("r", 500'000 / l);
  const std::vector<counter> cowns = make_counters(c);
  std::vector<set_chain> chains;
  for (word i = 0; i < l; ++i) chains.push_back({&cowns, rng{i + 1}, rounds, size});
  void (*const step)(set_chain*) = k("range", 0) != 0 ? range_step : named_step_for(size);
  measure_inside(k, r, [&] {
    for (set_chain& chain : chains) step(&chain);
  });
  r.ops = l * rounds;
  r.check(sum_of(cowns) == l * rounds * size);
}

// --- ring ---------------------------------------------------------------------------------------

struct ring_token {
  const std::vector<counter>* cowns;
  word at;
  word hops;

  struct hop {
    ring_token* token;
    void operator()(word& count) const {
      ++count;
      if (--token->hops == 0) return;
      if (++token->at == token->cowns->size()) token->at = 0;
      when((*token->cowns)[token->at]) << *this;
    }
  };
};

void ring(const keys& k, repetition& r) {
  const word n = k("n", 100);
  const word m = k("m", 1);
  const word h = k("h", 2'000'000 / m);
  const std::vector<counter> cowns = make_counters(n);
  std::vector<ring_token> tokens;
  for (word i = 0; i < m; ++i) tokens.push_back({&cowns, i * n / m, h});
  measure(k, r, [&](rota::runtime& rt) {
    for (ring_token& t : tokens) when(rt, cowns[t.at]) << ring_token::hop{&t};
  });
  r.ops = m * h;
  r.check(sum_of(cowns) == m * h);
}

// --- fib ----------------------------------------------------------------------------------------

// The sum goes to the lesser cown: the behaviour is in the queue of that one as soon as it is
// requested, so that whoever is requested later finds the sum. The other may not know of it yet,
// and literal=1, which always takes the first, comes out wrong now and then.
counter fib_node(word n, bool literal) {
  if (n <= 2) return make_cown<word>(1u);
  counter first = fib_node(n - 1, literal);
  counter second = fib_node(n - 2, literal);
  if (!literal && second < first) first.swap(second);
  when(first, second) << [](word& f1, word& f2) { f1 += f2; };
  return first;
}

void fib(const keys& k, repetition& r) {
  const word n = k("n", 28);
  const bool literal = k("literal", 0) != 0;
  counter root;
  measure_inside(k, r, [&] { root = fib_node(n, literal); });
  r.ops = bench::fib_number(n) - 1;
  r.check(root.unguarded() == bench::fib_number(n));
}

// --- flood, entangle ----------------------------------------------------------------------------

struct receiver_state {
  word count = 0;
  rng chance{7};
};

struct flooded {
  std::vector<counter> senders;  // each counts what it has yet to send
  std::vector<counter> proxies;
  cown_ptr<receiver_state> receiver;
  word work;
  word sender_work;
  bool entangled;
  bench::high_water pending;

  void receive(receiver_state& state) {
    bench::spin(work);
    ++state.count;
    pending.finished();
  }
};

struct message {
  flooded* world;

  // The last step, or in entangle the one before it.
  void operator()(receiver_state& state) const {
    if (!world->entangled) return world->receive(state);
    const word sender = state.chance.below(world->senders.size());
    when(world->receiver, world->senders[sender])
        << [w = world](receiver_state& s, word&) { w->receive(s); };
  }
};

struct forward {
  flooded* world;
  word stage;
  void operator()(word&) const { pass(world, stage + 1); }

  // Sends the message to the proxy of this number, or past the last one to the receiver.
  static void pass(flooded* world, word stage) {
    if (stage < world->proxies.size())
      when(world->proxies[stage]) << forward{world, stage};
    else
      when(world->receiver) << message{world};
  }
};

struct sender_step {
  flooded* world;
  const counter* self;
  void operator()(word& left) const {
    bench::spin(world->sender_work);
    world->pending.sent();
    forward::pass(world, 0);
    if (--left > 0) when(*self) << *this;
  }
};

template <class T>
void set_threshold(const keys& k, const cown_ptr<T>& c) {
  // Zero: the cown's own.
  if (const word threshold = k("threshold", 0))
    c.set_threshold(static_cast<std::uint32_t>(threshold));
}

void overload(const keys& k, repetition& r, bool entangled, word m, word work) {
  const word s = k("s", 100);
  auto world = std::make_unique<flooded>();
  world->senders = make_counters(s);
  for (const counter& sender : world->senders) sender.unguarded() = m;
  world->proxies = make_counters(k("proxies", 0));
  world->receiver = make_cown<receiver_state>();
  world->work = work;
  world->sender_work = k("swork", 0);
  world->entangled = entangled;
  for (const counter& c : world->senders) set_threshold(k, c);
  for (const counter& c : world->proxies) set_threshold(k, c);
  set_threshold(k, world->receiver);
  measure(k, r, [&](rota::runtime& rt) {
    for (const counter& sender : world->senders)
      when(rt, sender) << sender_step{world.get(), &sender};
  });
  r.ops = s * m;
  r.check(world->receiver.unguarded().count == s * m);
  r.report("max_pending", static_cast<double>(world->pending.most()));
}

void flood(const keys& k, repetition& r) { overload(k, r, false, k("m", 10'000), k("work", 1000)); }

void entangle(const keys& k, repetition& r) { overload(k, r, true, k("m", 2000), k("work", 300)); }

// --- chameneos ----------------------------------------------------------------------------------

struct creature {
  unsigned colour;  // 0, 1 or 2
  word meetings = 0;
};

struct mall_state {
  word left;
  const cown_ptr<creature>* waiting = nullptr;
};

struct chameneos_world {
  std::vector<cown_ptr<creature>> creatures;
  cown_ptr<mall_state> mall;
};

struct arrival {
  const chameneos_world* world;
  const cown_ptr<creature>* who;

  void operator()(mall_state& mall) const;
};

struct meeting {
  const chameneos_world* world;
  const cown_ptr<creature>* first;
  const cown_ptr<creature>* second;

  void operator()(creature& a, creature& b) const {
    // Of two colours the third, of one the same.
    const unsigned both = a.colour == b.colour ? a.colour : 3 - a.colour - b.colour;
    a.colour = b.colour = both;
    ++a.meetings;
    ++b.meetings;
    when(world->mall) << arrival{world, first};
    when(world->mall) << arrival{world, second};
  }
};

void arrival::operator()(mall_state& mall) const {
  if (mall.left == 0) return;
  if (!mall.waiting) {
    mall.waiting = who;
    return;
  }
  --mall.left;
  const cown_ptr<creature>* const other = std::exchange(mall.waiting, nullptr);
  when(*other, *who) << meeting{world, other, who};
}

void chameneos(const keys& k, repetition& r) {
  const word c = k("c", 100);
  const word m = k("m", 200'000);
  chameneos_world world;
  for (word i = 0; i < c; ++i)
    world.creatures.push_back(make_cown<creature>(static_cast<unsigned>(i % 3)));
  world.mall = make_cown<mall_state>(m);
  measure(k, r, [&](rota::runtime& rt) {
    for (const auto& who : world.creatures) when(rt, world.mall) << arrival{&world, &who};
  });
  word meetings = 0;
  for (const auto& who : world.creatures) meetings += who.unguarded().meetings;
  r.ops = 3 * m;
  r.check(meetings == 2 * m);
}

// --- rw -----------------------------------------------------------------------------------------

struct rw_chain {
  const std::vector<counter>* cowns;
  rng chance;
  word left;
  word percent;
  word work;
  word reads = 0;

  void step() {
    if (left-- == 0) return;
    const counter& c = (*cowns)[chance.below(cowns->size())];
    if (chance.below(100) < percent)
      when(rota::read(c)) << [this](const word&) {
        bench::spin(work);
        ++reads;
        step();
      };
    else
      when(c) << [this](word& count) {
        ++count;
        bench::spin(work);
        step();
      };
  }
};

void rw(const keys& k, repetition& r) {
  const word b = k("b", 16);
  const word l = k("l", 32);
  const word rounds = k("r", 500'000 / l);
  const std::vector<counter> cowns = make_counters(b);
  std::vector<rw_chain> chains;
  for (word i = 0; i < l; ++i)
    chains.push_back({&cowns, rng{i + 1}, rounds, k("read", 90), k("work", 200)});
  measure_inside(k, r, [&] {
    for (rw_chain& chain : chains) chain.step();
  });
  word reads = 0;
  for (const rw_chain& chain : chains) reads += chain.reads;
  r.ops = l * rounds;
  r.check(reads + sum_of(cowns) == l * rounds);
  r.report("reads", static_cast<double>(reads));
}

// --- spawn --------------------------------------------------------------------------------------

// What each worker has run; added up as they end, which is before the count is read.
std::atomic<word> spawned_total{0};
struct spawned_here {
  word count = 0;
  ~spawned_here() { spawned_total += count; }
};
thread_local constinit spawned_here spawned;

void spawn(const keys& k, repetition& r) {
  const word n = k("n", 5'000'000);
  spawned_total = 0;
  measure_inside(k, r, [&] {
    for (word i = 0; i < n; ++i) when() << [] { ++spawned.count; };
  });
  r.ops = n;
  r.check(spawned_total == n);
}

// --- mem ----------------------------------------------------------------------------------------

// Bytes of memory that `make` takes, and all of it is touched.
template <class Make>
double growth(Make make) {
  const std::int64_t before = bench::resident_bytes();
  make();
  return static_cast<double>(bench::resident_bytes() - before);
}

void mem(const keys& k, repetition& r) {
  const word n = k("n", 1'000'000);
  const word part = k("part", 0);
  const counter a = make_cown<word>(0u);
  const counter b = make_cown<word>(0u);
  std::vector<counter> idle(part == 0 ? n : 0);
  double grown = 0;
  const auto hold_one = [&](word&) {
    grown = growth([&] {
      for (word i = 0; i < n; ++i) when(a) << [one = &n](word& x) { x += *one > 0 ? 1 : 0; };
    });
  };
  const auto hold_two = [&](word&, word&) {
    grown = growth([&] {
      for (word i = 0; i < n; ++i)
        when(a, b) << [one = &n](word& x, word& y) {
          x += *one > 0 ? 1 : 0;
          ++y;
        };
    });
  };
  measure_inside(k, r, [&] {
    if (part == 0)
      grown = growth([&] {
        for (counter& c : idle) c = make_cown<word>(1u);
      });
    else if (part == 1)
      when(a) << hold_one;
    else
      when(a, b) << hold_two;
  });
  r.ops = n;
  r.check(part == 0 ? sum_of(idle) == n : a.unguarded() == n);
  if (part == 2) r.check(b.unguarded() == n);
  r.report("part", static_cast<double>(part));
  r.report("bytes_per_item", grown / static_cast<double>(n));
}

// --- wake ---------------------------------------------------------------------------------------

void wake(const keys& k, repetition& r) {
  const word n = k("n", 300);
  const std::chrono::microseconds gap{k("gap_us", 3000)};
  const auto latencies = make_cown<std::vector<std::int64_t>>();
  latencies.unguarded().reserve(n);
  measure(k, r, [&](rota::runtime& rt) {
    for (word i = 0; i < n; ++i) {
      std::this_thread::sleep_for(gap);
      when(rt, latencies) << [sent = bench::wall_now()](std::vector<std::int64_t>& all) {
        all.push_back(bench::wall_now() - sent);
      };
    }
  });
  r.ops = n;
  r.check(latencies.unguarded().size() == n);
  report_latencies(r, latencies.unguarded());
}

}  // namespace

int main(int argc, char** argv) {
  return bench::drive("rota", argc, argv,
                      {{"self", self},
                       {"fanin", fanin},
                       {"phil", phil},
                       {"bank", bank},
                       {"kset", kset},
                       {"ring", ring},
                       {"fib", fib},
                       {"flood", flood},
                       {"entangle", entangle},
                       {"chameneos", chameneos},
                       {"rw", rw},
                       {"spawn", spawn},
                       {"mem", mem},
                       {"wake", wake}});
}
