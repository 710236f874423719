// Who starves? Three situations in which executors let handlers wait for ever, with Rota's beside
// two that have no order to speak of (naive.h).
//
//   timers   two equal timers in one exclusive group, whose functions take their period / 1.5, so
//            that both together are more than there is time for; and their whole period
//   calls    calls of a service beside subscribers that always have a message
//   noisy    a topic that always has a message, beside quiet ones that have one now and then
//
// Each of Rota's rows checks itself: no handler was passed by more runs of others than
// the bound N - 1, both timers ran equally often, every call was answered, every
// quiet message arrived. It also checks that there was something to starve from: a flood that
// leaves workers idle shows nothing. Otherwise the program ends with status 1.
//
//   event_starvation [--tiny]
#include <rota/rota.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../duel.h"
#include "naive.h"

namespace {

using namespace std::chrono_literals;
using bench::naive_executor;
using bench::order;
using std::chrono::nanoseconds;

constexpr unsigned workers = 2;
constexpr int subscribers = 4;
constexpr int quiet = 8;

// How long things take, and how often.
struct sizes {
  nanoseconds period = 15ms;
  nanoseconds timers_for = 2s;
  int calls = 100;
  nanoseconds between = 5ms;    // from one call to the next
  nanoseconds busy = 50us;      // what a subscriber takes for a message
  nanoseconds call_limit = 1s;  // when a call counts as not answered
  nanoseconds all_calls = 4s;   // and when no more are made
  nanoseconds noisy_for = 1s;
  double least_load = 1.5;  // workers that a flood has to keep busy, of two
};

bool failed = false;

void row(const char* name, const char* executor, const std::string& text,
         std::optional<bool> ok = std::nullopt) {
  std::printf("| %s | %s | %s | %s |\n", name, executor, text.c_str(),
              ok ? (*ok ? "ok" : "FAIL") : "");
  std::fflush(stdout);
  if (ok && !*ok) failed = true;
}

template <class... Args>
std::string text(const char* format, Args... args) {
  char out[256];
  std::snprintf(out, sizeof out, format, args...);
  return out;
}

void work_for(nanoseconds d) { bench::spin_for(d.count()); }
nanoseconds now() { return nanoseconds{bench::wall_now()}; }
double ms(nanoseconds d) { return static_cast<double>(d.count()) / 1e6; }
unsigned long long number(std::uint64_t n) { return n; }

// `starvation_free`: each other handler once.
std::uint64_t bound_of(const rota::bus_statistics& all) { return all.bound; }

// --- timers -------------------------------------------------------------------------------------

void timers_rota(const sizes& s, const char* name, nanoseconds work) {
  rota::runtime rt{rota::options{}.with_workers(workers)};
  rota::bus bus{rt};
  rota::node node{bus, "timers"};
  const rota::group both;
  const auto o = rota::handler_options{}.with_group(both);
  auto a = node.every(s.period, o, [&] { work_for(work); });
  auto b = node.every(s.period, o, [&] { work_for(work); });
  std::this_thread::sleep_for(s.timers_for);
  const auto all = bus.statistics();
  node.stop();
  const auto ca = a.counters();
  const auto cb = b.counters();
  const std::uint64_t bound = bound_of(all);
  const std::uint64_t gap = ca.runs > cb.runs ? ca.runs - cb.runs : cb.runs - ca.runs;
  row(name, "rota",
      text("ran %llu : %llu, passed by %llu of %llu at most", number(ca.runs), number(cb.runs),
           number(all.max_passed), number(bound)),
      gap <= 2 + ca.runs / 20 && ca.runs > 0 && all.max_passed <= bound);
}

void timers_naive(const sizes& s, const char* name, nanoseconds work, order o, const char* label) {
  naive_executor e{o, workers};
  auto& a = e.add([&] { work_for(work); }, 0);
  auto& b = e.add([&] { work_for(work); }, 0);
  const nanoseconds end = now() + s.timers_for;
  for (nanoseconds next = now() + s.period; next < end; next += s.period) {
    if (next > now()) std::this_thread::sleep_for(next - now());
    e.trigger(a, 1);
    e.trigger(b, 1);
  }
  const auto ca = e.counters(a);
  const auto cb = e.counters(b);
  row(name, label,
      text("ran %llu : %llu, passed by %llu at most", number(ca.runs), number(cb.runs),
           number(std::max(ca.max_passed, cb.max_passed))));
}

void timers(const sizes& s) {
  for (const bool whole : {false, true}) {
    const char* const name = whole ? "timers, work = period" : "timers, work = period / 1.5";
    const nanoseconds work = whole ? s.period : s.period * 2 / 3;
    timers_rota(s, name, work);
    timers_naive(s, name, work, order::scan, "scan");
    timers_naive(s, name, work, order::lifo, "lifo");
  }
}

// --- calls --------------------------------------------------------------------------------------

rota::task<void> flood(rota::publisher<int> out, const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed)) co_await out.publish(1);
}

// Subscribers that always have a message: each has a topic and a publisher of its own, since one
// publisher of all would wait for the slowest, and the others would be idle meanwhile.
class rota_flood {
 public:
  rota_flood(rota::runtime& rt, rota::bus& bus, nanoseconds each) : rt_(rt), each_(each) {
    const auto blocks = rota::qos{}.with_depth(16).with_overflow(rota::overflow::block);
    for (int i = 0; i < subscribers; ++i) {
      const std::string topic = "/flood" + std::to_string(i);
      rota::node& n = nodes_.emplace_back(bus, "busy" + std::to_string(i));
      all_.push_back(n.subscribe<int>(topic, blocks, [this](int) { work(); }));
      tasks_.push_back(rt.spawn(flood(n.advertise<int>(topic), stop_)));
    }
    std::this_thread::sleep_for(5ms);
    inside_ = 0;
    began_ = now();
  }

  // Workers that were inside of a subscriber, on average. By the time that has really passed there:
  // on a machine with other work that is more than was asked for, and the worker is taken all the
  // same.
  double load() const { return ms(nanoseconds{inside_.load()}) / ms(now() - began_); }

  // Subscribers that have messages waiting now.
  int loaded() const {
    int count = 0;
    for (const auto& one : all_) count += one.counters().pending > 0;
    return count;
  }
  std::uint64_t max_passed() const {
    std::uint64_t worst = 0;
    for (const auto& one : all_) worst = std::max(worst, one.counters().max_passed);
    return worst;
  }

  void end() {
    stop_ = true;
    for (auto& t : tasks_)
      rt_.run([](auto h) -> rota::task<void> { co_await std::move(h); }(std::move(t)));
    nodes_.clear();
  }

 private:
  void work() {
    const nanoseconds began = now();
    work_for(each_);
    inside_ += (now() - began).count();
  }

  rota::runtime& rt_;
  const nanoseconds each_;
  std::atomic<std::int64_t> inside_{0};
  std::atomic<bool> stop_{false};
  std::deque<rota::node> nodes_;
  std::vector<rota::subscription> all_;
  std::vector<rota::join_handle<void>> tasks_;
  nanoseconds began_{0};
};

struct calls_made {
  int made = 0;
  int answered = 0;
  int loaded = 0;  // subscribers with messages, summed over the calls
  nanoseconds worst{0};

  void add(bool ok, nanoseconds took) {
    ++made;
    if (ok) ++answered;
    worst = std::max(worst, took);
  }
  std::string said() const {
    return text("answered %d of %d, worst %.1f ms", answered, made, ms(worst));
  }
};

rota::task<calls_made> call_all(const sizes& s, rota::client<int, int> to, const rota_flood& busy) {
  calls_made c;
  while (c.made < s.calls) {
    c.loaded += busy.loaded();
    const nanoseconds began = now();
    const auto r = co_await to.call(c.made, s.call_limit);
    c.add(r && *r == c.made + 1, now() - began);
    co_await rota::sleep_for(s.between);
  }
  co_return c;
}

void calls_rota(const sizes& s) {
  rota::runtime rt{rota::options{}.with_workers(workers)};
  rota::bus bus{rt};
  rota::node server{bus, "server"};
  auto served = server.serve<int, int>("/next", [](int i) { return i + 1; });
  rota_flood busy{rt, bus, s.busy};
  const calls_made c = rt.run(call_all(s, server.client<int, int>("/next"), busy));
  const double load = busy.load();
  const auto stats = bus.statistics();
  const auto passed = served.counters().max_passed;
  busy.end();
  row("calls", "rota",
      c.said() + text(", passed by %llu of %llu at most; flood on %.2f workers, %.1f of %d loaded",
                      number(passed), number(bound_of(stats)), load,
                      static_cast<double>(c.loaded) / c.made, subscribers),
      c.answered == s.calls && stats.max_passed <= bound_of(stats) && load >= s.least_load);
}

void calls_naive(const sizes& s, order o, const char* label) {
  naive_executor e{o, workers};
  std::vector<naive_executor::handler*> busy;
  for (int i = 0; i < subscribers; ++i) busy.push_back(&e.add([&] { work_for(s.busy); }));
  std::atomic<int> answers{0};
  auto& server = e.add([&] {
    answers.fetch_add(1);
    answers.notify_one();
  });
  std::atomic<bool> stop{false};
  std::jthread flooding{[&] {
    // Queues are filled again well before they are empty.
    while (!stop) {
      for (auto* h : busy)
        while (e.trigger(*h, 16)) {
        }
      std::this_thread::sleep_for(s.busy);
    }
  }};
  std::this_thread::sleep_for(5ms);
  calls_made c;
  const nanoseconds end = now() + s.all_calls;
  while (c.made < s.calls && now() < end) {
    const nanoseconds began = now();
    const int before = answers.load();
    // One that was not answered in time still waits there: the next call has to wait behind it.
    e.trigger(server, 1);
    while (answers.load() == before && now() - began < s.call_limit) std::this_thread::yield();
    c.add(answers.load() != before, now() - began);
    std::this_thread::sleep_for(s.between);
  }
  stop = true;
  flooding.join();
  row("calls", label,
      c.said() + text(", passed by %llu at most", number(e.counters(server).max_passed)));
}

void calls(const sizes& s) {
  calls_rota(s);
  calls_naive(s, order::scan, "scan");
  calls_naive(s, order::lifo, "lifo");
}

// --- a noisy topic ------------------------------------------------------------------------------

void noisy_rota(const sizes& s) {
  rota::runtime rt{rota::options{}.with_workers(workers)};
  rota::bus bus{rt};
  std::deque<rota::node> nodes;
  std::vector<rota::subscription> silent;
  std::vector<rota::publisher<int>> to;
  for (int i = 0; i < quiet; ++i) {
    const std::string topic = "/quiet" + std::to_string(i);
    rota::node& n = nodes.emplace_back(bus, "quiet" + std::to_string(i));
    silent.push_back(n.subscribe<int>(topic, rota::qos{}, [](int) {}));
    to.push_back(n.advertise<int>(topic));
  }
  rota_flood loud{rt, bus, s.busy / 10};
  std::uint64_t sent = 0;
  const nanoseconds end = now() + s.noisy_for;
  while (now() < end) {
    for (const auto& p : to) p.publish(1);
    ++sent;
    std::this_thread::sleep_for(2ms);
  }
  const double load = loud.load();
  const auto stats = bus.statistics();
  const std::uint64_t worst_loud = loud.max_passed();
  loud.end();
  for (rota::node& n : nodes) rt.run(n.drain());
  std::uint64_t worst_quiet = 0;
  std::uint64_t received = 0;
  for (const auto& q : silent) {
    worst_quiet = std::max(worst_quiet, q.counters().max_passed);
    received += q.counters().events;
  }
  row("noisy", "rota",
      text(
          "quiet passed by %llu, loud by %llu, of %llu at most; %llu of %llu quiet messages; flood "
          "on %.2f workers",
          number(worst_quiet), number(worst_loud), number(bound_of(stats)), number(received),
          number(sent * quiet), load),
      std::max(worst_loud, worst_quiet) <= bound_of(stats) && received == sent * quiet &&
          load >= s.least_load / 2);
}

void noisy_naive(const sizes& s, order o, const char* label) {
  naive_executor e{o, workers};
  std::vector<naive_executor::handler*> loud;
  std::vector<naive_executor::handler*> silent;
  for (int i = 0; i < subscribers; ++i) loud.push_back(&e.add([&] { work_for(s.busy / 10); }));
  for (int i = 0; i < quiet; ++i) silent.push_back(&e.add([] {}));
  std::atomic<bool> stop{false};
  std::jthread flooding{[&] {
    while (!stop) {
      for (auto* h : loud)
        while (e.trigger(*h, 16)) {
        }
      std::this_thread::sleep_for(s.busy / 10);
    }
  }};
  std::uint64_t sent = 0;
  const nanoseconds end = now() + s.noisy_for;
  while (now() < end) {
    for (auto* h : silent) e.trigger(*h, 16);
    ++sent;
    std::this_thread::sleep_for(2ms);
  }
  std::uint64_t worst_loud = 0;
  std::uint64_t worst_quiet = 0;
  std::uint64_t received = 0;
  for (auto* h : loud) worst_loud = std::max(worst_loud, e.counters(*h).max_passed);
  for (auto* h : silent) {
    worst_quiet = std::max(worst_quiet, e.counters(*h).max_passed);
    received += e.counters(*h).runs;
  }
  stop = true;
  flooding.join();
  row("noisy", label,
      text("quiet passed by %llu, loud by %llu; %llu of %llu quiet messages", number(worst_quiet),
           number(worst_loud), number(received), number(sent * quiet)));
}

}  // namespace

int main(int argc, char** argv) {
  const bool tiny = argc > 1 && std::strcmp(argv[1], "--tiny") == 0;
  sizes s;
  if (tiny) s = {2ms, 60ms, 10, 1ms, 20us, 5s, 10s, 30ms, 0.1};
  std::printf("| situation | executor | what happened | check |\n| --- | --- | --- | --- |\n");
  if (tiny) {
    timers_rota(s, "timers", s.period);
    calls_rota(s);
    noisy_rota(s);
  } else {
    timers(s);
    calls(s);
    noisy_rota(s);
    noisy_naive(s, order::scan, "scan");
    noisy_naive(s, order::lifo, "lifo");
  }
  return failed ? 1 : 0;
}
