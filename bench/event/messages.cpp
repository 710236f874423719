// What do a topic and a service cost within a process, with all that the executor promises: turns,
// groups, counters, bounded queues?
//
// The scenarios are those of workload.h. Publishers are tasks that await each publication, and
// subscribers are functions; stages of the pipeline have to wait for the next one, so they are
// coroutines, or behaviours with the word "cown".
#include <rota/rota.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

using bench::trial;
using namespace std::chrono_literals;

rota::qos bounded() {
  return rota::qos{}.with_depth(bench::depth).with_overflow(rota::overflow::block);
}

// A runtime, a bus and a place to wait for the last message.
struct setting {
  explicit setting(const trial& t)
      : rt{rota::options{}.with_workers(t.workers())}, bus{rt}, main{bus, "main"} {}

  rota::runtime rt;
  rota::bus bus;
  rota::node main;
  rota::async_event done;

  // Runs the publishers, and waits until the last message has arrived.
  void run(trial& t, std::vector<rota::task<void>> publishers) {
    t.start();
    rt.run(all(std::move(publishers)));
    bench::stop_and_rest(t);
  }

  rota::task<void> all(std::vector<rota::task<void>> publishers) {
    for (auto& p : publishers) rota::spawn(std::move(p)).detach();
    co_await done.wait();
  }
};

// Adds up what a subscriber gets, and says when it has all.
struct adder {
  std::int64_t left;
  rota::async_event* done;  // or null: the handler says it
  std::uint64_t sum = 0;

  void add(std::uint64_t number) {
    sum += number;
    if (--left == 0 && done) done->set();
  }
};

template <class M>
rota::task<void> publish_all(rota::publisher<M> out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    co_await out.publish(out.loan(static_cast<std::uint64_t>(i)));
}

template <class... Tasks>
std::vector<rota::task<void>> tasks_of(Tasks... tasks) {
  std::vector<rota::task<void>> all;
  (all.push_back(std::move(tasks)), ...);
  return all;
}

template <class M>
void one(trial& t) {
  setting s{t};
  adder a{t.n(), &s.done};
  s.main.subscribe<M>("/a", bounded(), [&](const M& m) { a.add(m.number); });
  s.run(t, tasks_of(publish_all(s.main.advertise<M>("/a"), 0, t.n())));
  s.main.stop();
  t.answer(static_cast<std::int64_t>(a.sum));
}

// A node for each subscriber, so that they can run at the same time.
template <class M>
void fan_out(trial& t) {
  setting s{t};
  std::atomic<unsigned> left{bench::fan};
  std::deque<adder> adders;
  std::deque<rota::node> nodes;
  for (unsigned i = 0; i < bench::fan; ++i) {
    adder& a = adders.emplace_back(t.n(), nullptr);
    rota::node& n = nodes.emplace_back(s.bus, "subscriber" + std::to_string(i));
    n.subscribe<M>("/a", bounded(), [&](const M& m) {
      a.add(m.number);
      if (a.left == 0 && left.fetch_sub(1) == 1) s.done.set();
    });
  }
  s.run(t, tasks_of(publish_all(s.main.advertise<M>("/a"), 0, t.n())));
  nodes.clear();
  std::uint64_t sum = 0;
  for (const adder& a : adders) sum += a.sum;
  t.answer(static_cast<std::int64_t>(sum));
}

template <class M>
void fan_in(trial& t) {
  setting s{t};
  const std::int64_t each = t.n() / bench::fan;
  adder a{each * bench::fan, &s.done};
  s.main.subscribe<M>("/a", bounded(), [&](const M& m) { a.add(m.number); });
  std::vector<rota::task<void>> publishers;
  for (unsigned i = 0; i < bench::fan; ++i)
    publishers.push_back(publish_all(s.main.advertise<M>("/a"), i * each, (i + 1) * each));
  s.run(t, std::move(publishers));
  s.main.stop();
  t.answer(static_cast<std::int64_t>(a.sum));
}

template <class M>
void add_stage(trial& t, rota::node& n, const char* from, const char* to) {
  auto out = n.advertise<M>(to);
  if (has_word(t, "cown")) {
    n.subscribe<M>(from, bounded(),
                   rota::on(rota::make_cown<int>(0),
                            [out](int&, rota::message<M> m) { out.publish(std::move(m)); }));
  } else {
    n.subscribe<M>(from, bounded(),
                   [out](rota::message<M> m) -> rota::task<void> { co_await out.publish(m); });
  }
}

template <class M>
void pipeline(trial& t) {
  setting s{t};
  adder a{t.n(), &s.done};
  rota::node last{s.bus, "last"};
  rota::node second{s.bus, "second"};
  rota::node first{s.bus, "first"};
  last.subscribe<M>("/c", bounded(), [&](const M& m) { a.add(m.number); });
  add_stage<M>(t, second, "/b", "/c");
  add_stage<M>(t, first, "/a", "/b");
  s.run(t, tasks_of(publish_all(s.main.advertise<M>("/a"), 0, t.n())));
  first.stop();
  second.stop();
  last.stop();
  t.answer(static_cast<std::int64_t>(a.sum));
}

// A round trip between a plain thread and a handler (the word "crossing"), so that each trip
// crosses threads twice, as it does between two threads.
template <class M>
void crossing(trial& t) {
  setting s{t};
  // The way back is that of peers/mutex.cpp. std::atomic::wait takes three times as long here.
  std::mutex mutex;
  std::condition_variable arrived;
  std::int64_t back = 0;  // guarded by mutex
  auto ping = s.main.advertise<M>("/ping");
  s.main.subscribe<M>("/ping", bounded(), [&](const M&) {
    {
      const std::lock_guard guard{mutex};
      ++back;
    }
    arrived.notify_one();
  });
  std::uint64_t sum = 0;
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    ping.publish(ping.loan(static_cast<std::uint64_t>(i)));
    std::unique_lock lock{mutex};
    arrived.wait(lock, [&] { return back > i; });
    sum += static_cast<std::uint64_t>(i);
  }
  bench::stop_and_rest(t);
  s.main.stop();
  t.answer(back == t.n() ? static_cast<std::int64_t>(sum) : -1);
}

// Two nodes. With the word "node" one, so that both handlers are of one group.
template <class M>
void pingpong(trial& t) {
  if (has_word(t, "crossing")) return crossing<M>(t);
  setting s{t};
  rota::node other{s.bus, "other"};
  rota::node& echo = has_word(t, "node") ? s.main : other;
  std::int64_t trips = 0;
  std::uint64_t sum = 0;
  auto ping = s.main.advertise<M>("/ping");
  auto pong = echo.advertise<M>("/pong");
  echo.subscribe<M>("/ping", bounded(), [pong](rota::message<M> m) { pong.publish(std::move(m)); });
  s.main.subscribe<M>("/pong", bounded(), [&, ping](rota::message<M> m) {
    sum += static_cast<std::uint64_t>(trips);
    if (++trips == t.n())
      s.done.set();
    else
      ping.publish(std::move(m));
  });
  s.run(t, tasks_of(publish_all(ping, 0, 1)));
  other.stop();
  s.main.stop();
  t.answer(static_cast<std::int64_t>(sum));
}

template <class M>
rota::task<void> call_all(rota::client<M, M> to, std::int64_t n, std::uint64_t& sum,
                          rota::async_event& done) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto r = co_await to.call(M{static_cast<std::uint64_t>(i)}, 10s);
    if (r) sum += r->number;
  }
  done.set();
}

void call(trial& t) {
  using M = bench::small;
  setting s{t};
  rota::node other{s.bus, "other"};
  std::uint64_t sum = 0;
  other.serve<M, M>("/echo", [](const M& m) { return m; });
  s.run(t, tasks_of(call_all(s.main.client<M, M>("/echo"), t.n(), sum, s.done)));
  other.stop();
  t.answer(static_cast<std::int64_t>(sum));
}

using S = bench::small;
using L = bench::large;

}  // namespace

int main(int argc, char** argv) {
  bench::keep_memory();
  bench::contestant me{"rota", argc, argv};
  me.add("one", [](trial& t) { is_large(t) ? one<L>(t) : one<S>(t); });
  me.add("fan_out", [](trial& t) { is_large(t) ? fan_out<L>(t) : fan_out<S>(t); });
  me.add("fan_in", [](trial& t) { is_large(t) ? fan_in<L>(t) : fan_in<S>(t); });
  me.add("pipeline", [](trial& t) { is_large(t) ? pipeline<L>(t) : pipeline<S>(t); });
  me.add("pingpong", [](trial& t) { is_large(t) ? pingpong<L>(t) : pingpong<S>(t); });
  me.add("call", [](trial& t) { call(t); });
  return me.run();
}
