// What do Rota's tasks, channels and timers cost? Written as a user would: tasks
// that spawn tasks, an event for "all are done", bounded channels between tasks.
#include "rota.h"

#include <rota/rota.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../work.h"

namespace {

using bench::trial;
using rota::task;

// Lets one task wait until `count` others have reported.
class latch {
 public:
  explicit latch(std::int64_t count) : left_(count) {}
  void count_down() {
    // acq_rel: whoever comes last passes on what the others did.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) all_.set();
  }
  auto wait() { return all_.wait(); }

 private:
  std::atomic<std::int64_t> left_;
  rota::async_event all_;
};

rota::options options_of(const trial& t) { return rota::options{}.with_workers(t.workers()); }

std::string trace_file(int process) {
  return std::filesystem::temp_directory_path() / ("rota_bench_" + std::to_string(process));
}

// Runs `pass(warm)`, then measures `pass(n)`, all in one main task.
template <class Pass>
task<> measured(trial& t, std::int64_t warm, Pass& pass) {
  co_await pass(warm);
  t.start();
  const std::int64_t answer = co_await pass(t.n());
  t.stop();
  t.answer(answer);
}

// What it costs to be looked at: with the flavor "trace" a file is written meanwhile, with "top"
// there is an observer.
template <class Pass>
void measure(trial& t, std::int64_t warm, Pass pass) {
  rota::runtime rt{options_of(t)};
  std::optional<rota::observer> eye;
  if (t.flavor() == "top") eye.emplace(rt);
  if (t.flavor() == "trace") rt.trace_to(trace_file(getpid()));
  rt.run(measured(t, warm, pass));
  if (t.flavor() != "trace") return;
  const rota::trace_summary s = rt.stop_trace();
  std::filesystem::remove(trace_file(getpid()));
  t.report("records", static_cast<double>(s.records));
  t.report("lost", static_cast<double>(s.lost));
}

// ---- yield, spawn, join, ping-pong

task<std::int64_t> yielder(std::int64_t times) {
  for (std::int64_t i = 0; i < times; ++i) co_await rota::suspend();
  co_return times;
}

task<std::int64_t> yield_pass(std::int64_t n) {
  std::vector<rota::join_handle<std::int64_t>> all;
  for (int i = 0; i < bench::yielders; ++i)
    all.push_back(rota::spawn(yielder(n / bench::yielders)));
  std::int64_t steps = 0;
  for (auto& handle : all) steps += co_await handle;
  co_return steps;
}

void run_yield(trial& t) { measure(t, t.n() / 10, yield_pass); }

task<> count_down(latch& all) {
  all.count_down();
  co_return;
}

task<std::int64_t> spawn_pass(std::int64_t n, std::int64_t size) {
  std::int64_t ran = 0;
  for (; ran < n; ran += size) {
    latch all{size};
    for (std::int64_t j = 0; j < size; ++j) rota::spawn(count_down(all));
    co_await all.wait();
  }
  co_return ran;
}

void run_spawn_waves(trial& t) {
  measure(t, t.n() / 10, [](std::int64_t n) { return spawn_pass(n, bench::wave); });
}
void run_spawn_burst(trial& t) {
  measure(t, t.n(), [](std::int64_t n) { return spawn_pass(n, n); });
}

task<std::int64_t> give_back(std::int64_t i) { co_return i; }

task<std::int64_t> join_pass(std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    auto handle = rota::spawn(give_back(i));
    sum += co_await handle;
  }
  co_return sum;
}

void run_spawn_join(trial& t) { measure(t, t.n() / 10, join_pass); }

using channel = rota::channel<std::int64_t>;

task<> pong(std::int64_t n, channel& there, channel& back) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = co_await there.receive();
    co_await back.send(*v + 1);
  }
}

task<std::int64_t> ping(std::int64_t n, channel& there, channel& back) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    co_await there.send(i);
    const auto v = co_await back.receive();
    sum += *v - i;
  }
  co_return sum;
}

task<std::int64_t> pingpong_pass(std::int64_t n) {
  channel there{1};
  channel back{1};
  auto other = rota::spawn(pong(n, there, back));
  const std::int64_t sum = co_await ping(n, there, back);
  co_await other;
  co_return sum;
}

void run_pingpong(trial& t) { measure(t, t.n() / 10, pingpong_pass); }

task<> ping_across(trial& t, channel& there, channel& back) {
  t.start();
  const std::int64_t sum = co_await ping(t.n(), there, back);
  t.stop();
  t.answer(sum);
}

// Two runtimes with one worker each, so that both sides cannot share a worker.
void run_pingpong_across(trial& t) {
  channel there{1};
  channel back{1};
  rota::runtime here{rota::options{}.with_workers(1)};
  rota::runtime other{rota::options{}.with_workers(1)};
  // Each is woken by the other, so neither is deadlocked while it waits.
  const rota::outside wakes_here{here};
  const rota::outside wakes_other{other};
  auto handle = other.spawn(pong(t.n(), there, back));
  here.run(ping_across(t, there, back));
}

// ---- timers, sleep, memory, idle

task<> nap(rota::async_alarm& alarm, std::chrono::steady_clock::time_point due, latch& armed,
           std::atomic<std::int64_t>& fired, latch& ended) {
  armed.count_down();
  if (co_await alarm.sleep_until(due)) fired.fetch_add(1, std::memory_order_relaxed);
  ended.count_down();
}

task<> timers(trial& t) {
  const std::int64_t n = t.n();
  latch armed{n};
  std::atomic<std::int64_t> fired{0};
  latch ended{n};
  t.start();
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t cpu0 = bench::cpu_now();
  std::vector<rota::async_alarm> alarms(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto due = begin + std::chrono::milliseconds{bench::timer_delay_ms(i)};
    rota::spawn(nap(alarms[static_cast<std::size_t>(i)], due, armed, fired, ended));
    // Lets the new tasks fall asleep: the timers are the question, not a burst of tasks.
    if (i % 128 == 127) co_await rota::suspend();
  }
  co_await armed.wait();
  const std::int64_t cpu1 = bench::cpu_now();
  for (std::size_t i = 0; i < alarms.size(); i += 2) alarms[i].cancel();
  const std::int64_t cpu2 = bench::cpu_now();
  co_await ended.wait();
  t.stop();
  t.report("set_ns", static_cast<double>(cpu1 - cpu0) / static_cast<double>(n));
  t.report("cancel_ns", static_cast<double>(cpu2 - cpu1) / static_cast<double>(n) * 2);
  t.answer(fired);
}

void run_timers(trial& t) { rota::run(timers(t), options_of(t)); }

task<> sleeps(trial& t) {
  std::vector<std::int64_t> beyond;
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    const std::int64_t due = bench::wall_now() + bench::sleep_request;
    co_await rota::sleep_for(std::chrono::nanoseconds{bench::sleep_request});
    beyond.push_back(bench::wall_now() - due);
  }
  t.stop();
  bench::report_beyond(t, beyond);
}

void run_sleep(trial& t) { rota::run(sleeps(t), options_of(t)); }

task<> park(rota::async_event& event, std::atomic<std::int64_t>& parked, latch& woken) {
  parked.fetch_add(1, std::memory_order_relaxed);
  co_await event.wait();
  parked.fetch_sub(1, std::memory_order_relaxed);
  woken.count_down();
}

task<> parked_tasks(trial& t) {
  rota::async_event event;
  std::atomic<std::int64_t> parked{0};
  latch woken{t.n()};
  const std::int64_t before = bench::resident_bytes();
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) rota::spawn(park(event, parked, woken));
  while (parked.load(std::memory_order_relaxed) < t.n()) co_await rota::suspend();
  t.stop();
  t.report("bytes",
           static_cast<double>(bench::resident_bytes() - before) / static_cast<double>(t.n()));
  event.set();
  co_await woken.wait();
  t.answer(t.n() - parked);
}

void run_parked(trial& t) { rota::run(parked_tasks(t), options_of(t)); }

task<> idle_long(trial& t) {
  co_await yield_pass(1000);
  t.start();
  const std::int64_t own = bench::spin_for(bench::long_task);
  t.stop();
  t.report_own(own);
}

void run_idle_long(trial& t) { rota::run(idle_long(t), options_of(t)); }

task<> idle_pool(trial& t) {
  co_await yield_pass(1000);
  t.start();
  co_await rota::sleep_for(std::chrono::nanoseconds{bench::long_task});
  t.stop();
}

void run_idle_pool(trial& t) { rota::run(idle_pool(t), options_of(t)); }

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"rota", argc, argv};
  me.add("yield", run_yield);
  me.add("spawn_waves", run_spawn_waves);
  me.add("spawn_burst", run_spawn_burst);
  me.add("spawn_join", run_spawn_join);
  me.add("pingpong", run_pingpong);
  me.add("pingpong_across", run_pingpong_across);
  me.add("timers", run_timers);
  me.add("sleep", run_sleep);
  me.add("parked", run_parked);
  me.add("idle_long", run_idle_long);
  me.add("idle_pool", run_idle_pool);
  bench::add_forks(me);
  bench::add_fairness(me);
  return me.run();
}
