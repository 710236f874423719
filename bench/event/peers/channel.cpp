// rota::channel: a queue between tasks, with no handlers, topics or schedule. What those cost is
// the difference to messages.cpp.
#include <rota/rota.h>

#include <deque>
#include <utility>
#include <vector>

#include "../workload.h"

namespace {

using bench::trial;

template <class C>
using link = rota::channel<typename C::handle>;

template <class C>
rota::task<void> add_up(link<C>& from, std::int64_t count, std::int64_t& sum) {
  std::uint64_t total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += C::number(*co_await from.receive());
  sum = static_cast<std::int64_t>(total);
}

template <class C>
rota::task<void> pass_on(link<C>& from, link<C>& to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    auto m = co_await from.receive();
    co_await to.send(std::move(*m));
  }
}

template <class C>
rota::task<void> send_all(std::vector<link<C>*> to, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const typename C::handle m = C::make(static_cast<std::uint64_t>(i));
    for (link<C>* l : to) co_await l->send(m);
  }
}

// Runs all tasks to their ends.
void run_all(trial& t, std::vector<rota::task<void>> all) {
  rota::runtime rt{rota::options{}.with_workers(t.workers())};
  t.start();
  rt.run([](std::vector<rota::task<void>> tasks) -> rota::task<void> {
    std::vector<rota::join_handle<void>> handles;
    for (auto& one : tasks) handles.push_back(rota::spawn(std::move(one)));
    for (auto& h : handles) co_await std::move(h);
  }(std::move(all)));
  bench::stop_and_rest(t);
}

template <class... Tasks>
std::vector<rota::task<void>> tasks_of(Tasks... tasks) {
  std::vector<rota::task<void>> all;
  (all.push_back(std::move(tasks)), ...);
  return all;
}

template <class C>
void one(trial& t) {
  link<C> l{bench::depth};
  std::int64_t sum = 0;
  run_all(t, tasks_of(add_up<C>(l, t.n(), sum), send_all<C>({&l}, 0, t.n())));
  t.answer(sum);
}

template <class C>
void fan_out(trial& t) {
  std::deque<link<C>> links;
  std::int64_t sums[bench::fan] = {};
  std::vector<rota::task<void>> all;
  std::vector<link<C>*> to;
  for (std::int64_t& sum : sums) {
    to.push_back(&links.emplace_back(bench::depth));
    all.push_back(add_up<C>(*to.back(), t.n(), sum));
  }
  all.push_back(send_all<C>(to, 0, t.n()));
  run_all(t, std::move(all));
  std::int64_t sum = 0;
  for (const std::int64_t s : sums) sum += s;
  t.answer(sum);
}

template <class C>
void fan_in(trial& t) {
  link<C> l{bench::depth};
  std::int64_t sum = 0;
  const std::int64_t each = t.n() / bench::fan;
  auto all = tasks_of(add_up<C>(l, each * bench::fan, sum));
  for (unsigned i = 0; i < bench::fan; ++i)
    all.push_back(send_all<C>({&l}, i * each, (i + 1) * each));
  run_all(t, std::move(all));
  t.answer(sum);
}

template <class C>
void pipeline(trial& t) {
  link<C> a{bench::depth}, b{bench::depth}, c{bench::depth};
  std::int64_t sum = 0;
  run_all(t, tasks_of(add_up<C>(c, t.n(), sum), pass_on<C>(b, c, t.n()), pass_on<C>(a, b, t.n()),
                      send_all<C>({&a}, 0, t.n())));
  t.answer(sum);
}

template <class C, bool Fresh>
rota::task<void> echo(link<C>& there, link<C>& back, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    auto m = *co_await there.receive();
    if (Fresh) m = C::make(C::number(m));
    co_await back.send(std::move(m));
  }
}

template <class C, bool Fresh>
rota::task<void> ask(link<C>& there, link<C>& back, std::int64_t n, std::int64_t& sum) {
  std::uint64_t total = 0;
  auto m = C::make(0);
  for (std::int64_t i = 0; i < n; ++i) {
    if (Fresh) m = C::make(static_cast<std::uint64_t>(i));
    co_await there.send(std::move(m));
    m = *co_await back.receive();
    total += Fresh ? C::number(m) : static_cast<std::uint64_t>(i);
  }
  sum = static_cast<std::int64_t>(total);
}

template <class C, bool Fresh>
void round_trips(trial& t) {
  link<C> there{bench::depth}, back{bench::depth};
  std::int64_t sum = 0;
  run_all(t, tasks_of(echo<C, Fresh>(there, back, t.n()), ask<C, Fresh>(there, back, t.n(), sum)));
  t.answer(sum);
}

using S = bench::small_carrier;
using L = bench::large_carrier;

}  // namespace

int main(int argc, char** argv) {
  bench::keep_memory();
  bench::contestant me{"channel", argc, argv};
  me.add("one", [](trial& t) { is_large(t) ? one<L>(t) : one<S>(t); });
  me.add("fan_out", [](trial& t) { is_large(t) ? fan_out<L>(t) : fan_out<S>(t); });
  me.add("fan_in", [](trial& t) { is_large(t) ? fan_in<L>(t) : fan_in<S>(t); });
  me.add("pipeline", [](trial& t) { is_large(t) ? pipeline<L>(t) : pipeline<S>(t); });
  me.add("pingpong",
         [](trial& t) { is_large(t) ? round_trips<L, false>(t) : round_trips<S, false>(t); });
  me.add("call", [](trial& t) { is_large(t) ? round_trips<L, true>(t) : round_trips<S, true>(t); });
  return me.run();
}
