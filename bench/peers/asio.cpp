// What do Boost.Asio's coroutines cost, and how fair is its io_context?
// `awaitable` over the io_context's own executor type, which spares the
// type-erased one; concurrency hint 1 with one worker, which spares most locks.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <memory>
#include <thread>

#include "../duel.h"
#include "../fairness.h"
#include "../work.h"

namespace {

using bench::meter;
using bench::trial;
namespace asio = boost::asio;

using executor = asio::io_context::executor_type;
template <class T = void>
using task = asio::awaitable<T, executor>;
constexpr asio::use_awaitable_t<executor> use_awaitable{};

using message = void(boost::system::error_code, std::int64_t);
using local_channel = asio::experimental::channel<executor, message>;
using shared_channel = asio::experimental::concurrent_channel<executor, message>;
using steady_timer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, executor>;

// An io_context run by as many threads as asked for.
class pool {
 public:
  explicit pool(unsigned workers) : context(static_cast<int>(workers)), workers_(workers) {}

  // Runs until there is nothing left to do.
  void run() {
    context.restart();
    std::vector<std::thread> others;
    for (unsigned i = 1; i < workers_; ++i) others.emplace_back([this] { context.run(); });
    context.run();
    for (auto& o : others) o.join();
  }

  template <class T>
  void spawn(task<T> t) {
    asio::co_spawn(context, std::move(t), asio::detached);
  }

  asio::io_context context;

 private:
  unsigned workers_;
};

// Runs `pass(warm)`, then measures `pass(n)`, all in one main task.
template <class Pass>
task<> measured(trial& t, std::int64_t warm, Pass pass, std::int64_t& result) {
  co_await pass(warm);
  result = 0;
  t.start();
  co_await pass(t.n());
  t.stop();
}

template <class Pass>
void measure(trial& t, pool& p, std::int64_t warm, Pass pass, std::int64_t& result) {
  p.spawn(measured(t, warm, pass, result));
  p.run();
  t.answer(result);
}

// Lets one task wait until `count` others have reported; count_down() is anyone's.
template <class Channel>
class latch {
 public:
  latch(executor ex, std::int64_t count) : channel_(ex, 1), left_(count) {}
  void count_down() {
    // acq_rel: whoever comes last passes on what the others did.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      channel_.try_send(boost::system::error_code{}, 0);
  }
  task<> wait() { co_await channel_.async_receive(use_awaitable); }

 private:
  Channel channel_;
  std::atomic<std::int64_t> left_;
};

// ---- yield, spawn, join, ping-pong

template <class Latch>
task<> yielder(std::int64_t times, std::atomic<std::int64_t>& steps, Latch& all) {
  for (std::int64_t i = 0; i < times; ++i) co_await asio::post(use_awaitable);
  steps.fetch_add(times, std::memory_order_relaxed);
  all.count_down();
}

void run_yield(trial& t) {
  pool p{t.workers()};
  std::int64_t result = 0;
  const auto pass = [&](std::int64_t n) -> task<> {
    latch<shared_channel> all{p.context.get_executor(), bench::yielders};
    std::atomic<std::int64_t> steps{0};
    for (int i = 0; i < bench::yielders; ++i) p.spawn(yielder(n / bench::yielders, steps, all));
    co_await all.wait();
    result = steps;
  };
  measure(t, p, t.n() / 10, pass, result);
}

template <class Latch>
task<> count_down(Latch& all) {
  all.count_down();
  co_return;
}

void spawn(trial& t, std::int64_t warm, std::int64_t size) {
  pool p{t.workers()};
  std::int64_t ran = 0;
  const auto pass = [&](std::int64_t n) -> task<> {
    for (std::int64_t i = 0; i < n; i += size) {
      latch<shared_channel> all{p.context.get_executor(), size};
      for (std::int64_t j = 0; j < size; ++j) p.spawn(count_down(all));
      co_await all.wait();
      ran += size;
    }
  };
  measure(t, p, warm, pass, ran);
}

void run_spawn_waves(trial& t) { spawn(t, t.n() / 10, bench::wave); }
void run_spawn_burst(trial& t) { spawn(t, t.n(), t.n()); }

task<std::int64_t> give_back(std::int64_t i) { co_return i; }

void run_spawn_join(trial& t) {
  pool p{t.workers()};
  std::int64_t sum = 0;
  const auto pass = [&](std::int64_t n) -> task<> {
    for (std::int64_t i = 0; i < n; ++i) {
      sum += co_await asio::co_spawn(p.context.get_executor(), give_back(i), use_awaitable);
    }
  };
  measure(t, p, t.n() / 10, pass, sum);
}

template <class Channel>
task<> pong(std::int64_t n, Channel& there, Channel& back) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t v = co_await there.async_receive(use_awaitable);
    co_await back.async_send({}, v + 1, use_awaitable);
  }
}

template <class Channel>
void pingpong(trial& t, pool& here, pool& there_pool) {
  Channel there{there_pool.context.get_executor(), 1};
  Channel back{here.context.get_executor(), 1};
  std::int64_t sum = 0;
  const auto pass = [&](std::int64_t n) -> task<> {
    there_pool.spawn(pong(n, there, back));
    for (std::int64_t i = 0; i < n; ++i) {
      co_await there.async_send({}, i, use_awaitable);
      sum += co_await back.async_receive(use_awaitable) - i;
    }
  };
  measure(t, here, t.n() / 10, pass, sum);
}

void run_pingpong(trial& t) {
  pool p{t.workers()};
  if (t.workers() == 1) {
    pingpong<local_channel>(t, p, p);
  } else {
    pingpong<shared_channel>(t, p, p);
  }
}

void run_pingpong_across(trial& t) {
  pool here{1};
  pool other{1};
  const auto guard = asio::make_work_guard(other.context);
  std::thread thread{[&] { other.run(); }};
  pingpong<shared_channel>(t, here, other);
  other.context.stop();
  thread.join();
}

// ---- timers, sleep, memory, idle

// A task that sleeps; its timer is known to whoever may cancel it.
task<> nap(steady_timer& timer, std::atomic<std::int64_t>& fired) {
  boost::system::error_code e;
  co_await timer.async_wait(asio::redirect_error(use_awaitable, e));
  if (!e) fired.fetch_add(1, std::memory_order_relaxed);
}

// A function for each timer or, with the flavor "tasks", a task.
void run_timers(trial& t) {
  const auto n = static_cast<std::size_t>(t.n());
  pool p{t.workers()};
  std::deque<steady_timer> timers;
  std::atomic<std::int64_t> fired{0};
  t.start();
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t cpu0 = bench::cpu_now();
  for (std::size_t i = 0; i < n; ++i) {
    const auto delay =
        std::chrono::milliseconds{bench::timer_delay_ms(static_cast<std::int64_t>(i))};
    steady_timer& timer = timers.emplace_back(p.context.get_executor(), start + delay);
    if (t.flavor() == "tasks") {
      p.spawn(nap(timer, fired));
      // Lets the new tasks fall asleep: the timers are the question, not a burst of tasks.
      if (i % 128 == 127) p.context.poll();
    } else {
      timer.async_wait([&fired](boost::system::error_code e) {
        if (!e) fired.fetch_add(1, std::memory_order_relaxed);
      });
    }
  }
  if (t.flavor() == "tasks") p.context.poll();
  const std::int64_t cpu1 = bench::cpu_now();
  for (std::size_t i = 0; i < n; i += 2) timers[i].cancel();
  const std::int64_t cpu2 = bench::cpu_now();
  p.run();
  t.stop();
  t.report("set_ns", static_cast<double>(cpu1 - cpu0) / static_cast<double>(n));
  t.report("cancel_ns", static_cast<double>(cpu2 - cpu1) / static_cast<double>(n) * 2);
  t.answer(fired);
}

void run_sleep(trial& t) {
  pool p{t.workers()};
  std::vector<std::int64_t> beyond;
  const auto sleeper = [&]() -> task<> {
    steady_timer timer{p.context.get_executor()};
    t.start();
    for (std::int64_t i = 0; i < t.n(); ++i) {
      const std::int64_t due = bench::wall_now() + bench::sleep_request;
      timer.expires_after(std::chrono::nanoseconds{bench::sleep_request});
      co_await timer.async_wait(use_awaitable);
      beyond.push_back(bench::wall_now() - due);
    }
    t.stop();
  };
  p.spawn(sleeper());
  p.run();
  bench::report_beyond(t, beyond);
}

// A timer that is never due serves as the event, which is the usual idiom.
task<> park(steady_timer& event, std::int64_t& woken) {
  boost::system::error_code ignored;  // always "cancelled": that is the event
  co_await event.async_wait(asio::redirect_error(use_awaitable, ignored));
  ++woken;
}

void run_parked(trial& t) {
  pool p{1};
  steady_timer event{p.context.get_executor(), steady_timer::time_point::max()};
  std::int64_t woken = 0;
  const std::int64_t before = bench::resident_bytes();
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) p.spawn(park(event, woken));
  p.context.poll();
  t.stop();
  t.report("bytes",
           static_cast<double>(bench::resident_bytes() - before) / static_cast<double>(t.n()));
  event.cancel();
  p.run();
  t.answer(woken);
}

void run_idle_long(trial& t) {
  pool p{t.workers()};
  asio::post(p.context, [&] {
    t.start();
    const std::int64_t own = bench::spin_for(bench::long_task);
    t.stop();
    t.report_own(own);
  });
  p.run();
}
void run_idle_pool(trial& t) {
  pool p{t.workers()};
  const auto guard = asio::make_work_guard(p.context);
  std::thread runner{[&] { p.run(); }};
  asio::post(p.context, [] {});
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  t.start();
  std::this_thread::sleep_for(std::chrono::nanoseconds{bench::long_task});
  t.stop();
  p.context.stop();
  runner.join();
}

// ---- fairness

task<> hog(meter& m) {
  for (;;) {
    m.step();
    co_await asio::post(use_awaitable);
  }
}

// Asks for a turn like everybody else, and counts what passes meanwhile.
task<> quiet_yields(meter& m) {
  do {
    m.ready();
    co_await asio::post(use_awaitable);
  } while (m.ran());
  m.finish();
}

void run_hogs_yield(trial& t) {
  pool p{1};
  meter m{t};
  for (int i = 0; i < bench::hogs; ++i) p.spawn(hog(m));
  p.spawn(quiet_yields(m));
  p.run();
}

task<> quiet_once(meter& m) {
  if (!m.ran()) m.finish();
  co_return;
}

void run_spawned_by_hog(trial& t) {
  pool p{1};
  meter m{t};
  const auto spawner = [&]() -> task<> {
    for (;;) {
      m.step();
      if (m.act()) p.spawn(quiet_once(m));
      co_await asio::post(use_awaitable);
    }
  };
  for (int i = 0; i < bench::hogs; ++i) p.spawn(spawner());
  p.run();
}

task<> quiet_woken(meter& m, local_channel& wake) {
  for (;;) {
    co_await wake.async_receive(use_awaitable);
    if (!m.ran()) m.finish();
  }
}

void run_woken_by_hog(trial& t) {
  pool p{1};
  meter m{t};
  local_channel wake{p.context.get_executor(), 1};
  const auto waker = [&]() -> task<> {
    for (;;) {
      m.step();
      if (m.act()) wake.try_send(boost::system::error_code{}, 0);
      co_await asio::post(use_awaitable);
    }
  };
  p.spawn(quiet_woken(m, wake));
  for (int i = 0; i < bench::hogs; ++i) p.spawn(waker());
  p.run();
}

void run_other_thread(trial& t) {
  pool p{1};
  meter m{t};
  shared_channel wake{p.context.get_executor(), 1};
  std::thread{[&] {
    for (;;) m.wake_from_outside([&] { wake.try_send(boost::system::error_code{}, 0); });
  }}.detach();
  const auto quiet = [&]() -> task<> {
    for (;;) {
      co_await wake.async_receive(use_awaitable);
      m.ran_outside();
    }
  };
  p.spawn(quiet());
  for (int i = 0; i < bench::hogs; ++i) p.spawn(hog(m));
  p.run();
}

void run_pingpong_pairs(trial& t) {
  pool p{1};
  meter m{t};
  std::deque<local_channel> channels;
  const auto player = [&m](local_channel& out, local_channel& in, bool serves) -> task<> {
    if (serves) co_await out.async_send({}, 0, use_awaitable);
    for (;;) {
      co_await in.async_receive(use_awaitable);
      m.step();
      co_await out.async_send({}, 0, use_awaitable);
    }
  };
  for (int i = 0; i < bench::pairs; ++i) {
    local_channel& there = channels.emplace_back(p.context.get_executor(), 1);
    local_channel& back = channels.emplace_back(p.context.get_executor(), 1);
    p.spawn(player(there, back, true));
    p.spawn(player(back, there, false));
  }
  p.spawn(quiet_yields(m));
  p.run();
}

// co_spawn runs the new task at once on the spawner's stack. With the flavor
// "post" the successor is posted first, which is how one avoids that.
task<> link_of_chain(pool& p, meter& m, bool post) {
  m.step();
  if (post) {
    asio::post(p.context, [&p, &m] { p.spawn(link_of_chain(p, m, true)); });
  } else {
    p.spawn(link_of_chain(p, m, false));
  }
  co_return;
}

void run_respawn_chain(trial& t) {
  pool p{1};
  meter m{t};
  p.spawn(quiet_yields(m));
  p.spawn(link_of_chain(p, m, t.flavor() == "post"));
  p.run();
}

void run_timer_under_load(trial& t) {
  pool p{1};
  meter m{t};
  const auto timed_hog = [&]() -> task<> {
    for (;;) {
      m.step_after_deadline();
      co_await asio::post(use_awaitable);
    }
  };
  const auto sleeper = [&]() -> task<> {
    steady_timer timer{p.context.get_executor()};
    do {
      m.arm(bench::wall_now() + 1'000'000);
      timer.expires_after(std::chrono::milliseconds{1});
      co_await timer.async_wait(use_awaitable);
    } while (m.fired());
    m.finish();
  };
  p.spawn(sleeper());
  for (int i = 0; i < bench::hogs; ++i) p.spawn(timed_hog());
  p.run();
}

void run_dispatch_loop(trial& t) {
  pool p{1};
  meter m{t};
  const auto dispatcher = [&]() -> task<> {
    for (;;) {
      m.step();
      co_await asio::dispatch(use_awaitable);
    }
  };
  p.spawn(quiet_yields(m));
  p.spawn(dispatcher());
  p.run();
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"asio", argc, argv};
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
  me.add("hogs_yield", run_hogs_yield);
  me.add("spawned_by_hog", run_spawned_by_hog);
  me.add("woken_by_hog", run_woken_by_hog);
  me.add("other_thread", run_other_thread);
  me.add("pingpong_pairs", run_pingpong_pairs);
  me.add("respawn_chain", run_respawn_chain);
  me.add("timer_under_load", run_timer_under_load);
  me.add("dispatch_loop", run_dispatch_loop);
  return me.run();
}
