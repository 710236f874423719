// What do the cown workloads cost with Boost.Asio's strands? A cown is a strand and a value, a
// behaviour is a handler that is posted to the strand. A strand serialises one value and knows no
// two, so this peer takes part only where a behaviour needs one cown at most.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "../workload.h"

namespace {

using bench::keys;
using bench::repetition;
using bench::word;
namespace asio = boost::asio;

using context = asio::io_context;

struct cown {
  explicit cown(context& c) : strand(asio::make_strand(c)) {}
  asio::strand<context::executor_type> strand;
  word value = 0;
};

std::deque<cown> make_cowns(context& c, word count) {
  std::deque<cown> all;
  for (word i = 0; i < count; ++i) all.emplace_back(c);
  return all;
}

word sum_of(const std::deque<cown>& all) {
  word sum = 0;
  for (const cown& c : all) sum += c.value;
  return sum;
}

int hint(const keys& k) { return static_cast<int>(k("threads", 2)); }

// Runs until there is nothing left to do.
void run(const keys& k, context& c) {
  std::vector<std::thread> threads;
  for (word i = 0; i < k("threads", 2); ++i) threads.emplace_back([&] { c.run(); });
  for (std::thread& t : threads) t.join();
}

// --- self, ring ---------------------------------------------------------------------------------

struct self_step {
  cown* c;
  word rounds;
  void operator()() const {
    if (++c->value < rounds) asio::post(c->strand, *this);
  }
};

void self(const keys& k, repetition& r) {
  const word count = k("c", 64);
  const word rounds = k("r", 4'000'000 / count);
  context io{hint(k)};
  std::deque<cown> cowns = make_cowns(io, count);
  r.start();
  for (cown& c : cowns) asio::post(c.strand, self_step{&c, rounds});
  run(k, io);
  r.stop();
  r.ops = count * rounds;
  r.check(sum_of(cowns) == count * rounds);
}

struct token {
  std::deque<cown>* cowns;
  word at;
  word hops;
};

struct hop {
  token* t;
  void operator()() const {
    ++(*t->cowns)[t->at].value;
    if (--t->hops == 0) return;
    if (++t->at == t->cowns->size()) t->at = 0;
    asio::post((*t->cowns)[t->at].strand, *this);
  }
};

void ring(const keys& k, repetition& r) {
  const word n = k("n", 100);
  const word m = k("m", 1);
  const word h = k("h", 2'000'000 / m);
  context io{hint(k)};
  std::deque<cown> cowns = make_cowns(io, n);
  std::vector<token> tokens;
  for (word i = 0; i < m; ++i) tokens.push_back({&cowns, i * n / m, h});
  r.start();
  for (token& t : tokens) asio::post(cowns[t.at].strand, hop{&t});
  run(k, io);
  r.stop();
  r.ops = m * h;
  r.check(sum_of(cowns) == m * h);
}

// --- fanin, spawn -------------------------------------------------------------------------------

void fanin(const keys& k, repetition& r) {
  const word n = k("n", 1'000'000);
  context io{hint(k)};
  cown consumer{io};
  word seen = 0;
  r.start();
  asio::post(io, [&] {
    for (word i = 0; i < n; ++i) asio::post(consumer.strand, [c = &consumer] { ++c->value; });
    asio::post(consumer.strand, [&] { seen = consumer.value; });
  });
  run(k, io);
  r.stop();
  r.ops = n;
  r.check(seen == n);
}

// What each thread has run; added up as they end.
std::atomic<word> spawned_total{0};
struct spawned_here {
  word count = 0;
  ~spawned_here() { spawned_total += count; }
};
thread_local constinit spawned_here spawned;

void spawn(const keys& k, repetition& r) {
  const word n = k("n", 5'000'000);
  spawned_total = 0;
  context io{hint(k)};
  r.start();
  asio::post(io, [&] {
    for (word i = 0; i < n; ++i) asio::post(io, [] { ++spawned.count; });
  });
  run(k, io);
  r.stop();
  r.ops = n;
  r.check(spawned_total == n);
}

// --- flood --------------------------------------------------------------------------------------

struct flooded {
  std::deque<cown> senders;
  std::deque<cown> proxies;
  cown receiver;
  word work;
  word sender_work;
  bench::high_water pending;

  void pass(word stage) {
    if (stage < proxies.size())
      asio::post(proxies[stage].strand, [this, stage] { pass(stage + 1); });
    else
      asio::post(receiver.strand, [this] {
        bench::spin(work);
        ++receiver.value;
        pending.finished();
      });
  }
  void send(cown* sender) {
    bench::spin(sender_work);
    pending.sent();
    pass(0);
    if (--sender->value > 0) asio::post(sender->strand, [this, sender] { send(sender); });
  }
};

void flood(const keys& k, repetition& r) {
  const word s = k("s", 100);
  const word m = k("m", 10'000);
  context io{hint(k)};
  flooded world{make_cowns(io, s), make_cowns(io, k("proxies", 0)),
                cown{io},          k("work", 1000),
                k("swork", 0),     {}};
  for (cown& sender : world.senders) sender.value = m;
  r.start();
  for (cown& sender : world.senders) asio::post(sender.strand, [&] { world.send(&sender); });
  run(k, io);
  r.stop();
  r.ops = s * m;
  r.check(world.receiver.value == s * m);
  r.report("max_pending", static_cast<double>(world.pending.most()));
}

// --- wake ---------------------------------------------------------------------------------------

void wake(const keys& k, repetition& r) {
  const word n = k("n", 300);
  const std::chrono::microseconds gap{k("gap_us", 3000)};
  context io{hint(k)};
  cown sink{io};
  std::vector<std::int64_t> latencies;
  latencies.reserve(n);
  r.start();
  auto guard = asio::make_work_guard(io);
  std::thread workers{[&] { run(k, io); }};
  for (word i = 0; i < n; ++i) {
    std::this_thread::sleep_for(gap);
    asio::post(sink.strand, [&latencies, sent = bench::wall_now()] {
      latencies.push_back(bench::wall_now() - sent);
    });
  }
  guard.reset();
  workers.join();
  r.stop();
  r.ops = n;
  r.check(latencies.size() == n);
  report_latencies(r, latencies);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::drive("asio_strand", argc, argv,
                      {{"self", self},
                       {"fanin", fanin},
                       {"ring", ring},
                       {"flood", flood},
                       {"spawn", spawn},
                       {"wake", wake}});
}
