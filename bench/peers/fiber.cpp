// What do Boost.Fiber's fibers cost, and how fair are its schedulers?
// One worker: round robin, pooled stacks. Two workers: work stealing as it comes,
// which spins when idle; told to suspend instead, the second worker never helps.
#include <atomic>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>
#include <deque>
#include <mutex>
#include <thread>

#include "../duel.h"
#include "../fairness.h"
#include "../work.h"

namespace {

using bench::meter;
using bench::trial;
namespace fibers = boost::fibers;
using fibers::fiber;
using channel = fibers::buffered_channel<std::int64_t>;

// With two workers: another thread that runs fibers of the same scheduler.
class pool {
 public:
  explicit pool(const trial& t) {
    if (t.workers() < 2) return;
    for (unsigned i = 1; i < t.workers(); ++i) {
      others_.emplace_back([this, n = t.workers()] {
        join_scheduler(n);
        std::unique_lock lock{mutex_};
        done_.wait(lock, [this] { return is_done_; });
      });
    }
    join_scheduler(t.workers());
  }
  ~pool() {
    {
      std::unique_lock lock{mutex_};
      is_done_ = true;
    }
    done_.notify_all();
    for (auto& o : others_) o.join();
  }

 private:
  static void join_scheduler(unsigned workers) {
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers);
  }

  std::vector<std::thread> others_;
  fibers::mutex mutex_;
  fibers::condition_variable_any done_;
  bool is_done_ = false;  // guarded by mutex_
};

// Stacks are pooled where one thread makes and ends all fibers; the pool may not
// be shared between threads.
template <class F>
fiber make(const trial& t, F f) {
  static fibers::pooled_fixedsize_stack stacks;
  if (t.workers() == 1)
    return fiber{fibers::launch::post, std::allocator_arg, stacks, std::move(f)};
  return fiber{fibers::launch::post, std::move(f)};
}

template <class Pass>
void measure(trial& t, std::int64_t warm, Pass pass, std::int64_t& result) {
  const pool workers{t};
  pass(warm);
  result = 0;
  t.start();
  pass(t.n());
  t.stop();
  t.answer(result);
}

// ---- yield, spawn, join, ping-pong

void run_yield(trial& t) {
  std::int64_t result = 0;
  const auto pass = [&](std::int64_t n) {
    std::atomic<std::int64_t> steps{0};
    std::vector<fiber> all;
    for (int i = 0; i < bench::yielders; ++i) {
      all.push_back(make(t, [&steps, times = n / bench::yielders] {
        for (std::int64_t k = 0; k < times; ++k) boost::this_fiber::yield();
        steps.fetch_add(times, std::memory_order_relaxed);
      }));
    }
    for (fiber& f : all) f.join();
    result = steps;
  };
  measure(t, t.n() / 10, pass, result);
}

void run_spawn_waves(trial& t) {
  std::int64_t result = 0;
  const auto pass = [&](std::int64_t n) {
    std::atomic<std::int64_t> ran{0};
    std::vector<fiber> all;
    for (std::int64_t i = 0; i < n; i += bench::wave) {
      for (std::int64_t j = 0; j < bench::wave; ++j) {
        all.push_back(make(t, [&ran] { ran.fetch_add(1, std::memory_order_relaxed); }));
      }
      for (fiber& f : all) f.join();
      all.clear();
    }
    result = ran;
  };
  measure(t, t.n() / 10, pass, result);
}

void run_spawn_join(trial& t) {
  std::int64_t sum = 0;
  const auto pass = [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t value = 0;
      make(t, [&value, i] { value = i; }).join();
      sum += value;
    }
  };
  measure(t, t.n() / 10, pass, sum);
}

void pong(std::int64_t n, channel& there, channel& back) {
  for (std::int64_t i = 0; i < n; ++i) back.push(there.value_pop() + 1);
}

void ping(std::int64_t n, channel& there, channel& back, std::int64_t& sum) {
  for (std::int64_t i = 0; i < n; ++i) {
    there.push(i);
    sum += back.value_pop() - i;
  }
}

void run_pingpong(trial& t) {
  std::int64_t sum = 0;
  channel there{2};
  channel back{2};
  const auto pass = [&](std::int64_t n) {
    fiber other = make(t, [&, n] { pong(n, there, back); });
    fiber self = make(t, [&, n] { ping(n, there, back, sum); });
    self.join();
    other.join();
  };
  measure(t, t.n() / 10, pass, sum);
}

void run_pingpong_across(trial& t) {
  std::int64_t sum = 0;
  channel there{2};
  channel back{2};
  std::thread other{[&] { pong(t.n(), there, back); }};
  t.start();
  ping(t.n(), there, back, sum);
  t.stop();
  other.join();
  t.answer(sum);
}

// ---- sleep, memory, idle

void run_sleep(trial& t) {
  const pool workers{t};
  std::vector<std::int64_t> beyond;
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    const std::int64_t due = bench::wall_now() + bench::sleep_request;
    boost::this_fiber::sleep_for(std::chrono::nanoseconds{bench::sleep_request});
    beyond.push_back(bench::wall_now() - due);
  }
  t.stop();
  bench::report_beyond(t, beyond);
}

void run_parked(trial& t) {
  fibers::mutex mutex;
  fibers::condition_variable event;
  bool set = false;
  std::int64_t woken = 0;
  const std::int64_t before = bench::resident_bytes();
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    fiber{fibers::launch::post,
          [&] {
            std::unique_lock lock{mutex};
            event.wait(lock, [&] { return set; });
            ++woken;
          }}
        .detach();
  }
  boost::this_fiber::yield();
  t.stop();
  t.report("bytes",
           static_cast<double>(bench::resident_bytes() - before) / static_cast<double>(t.n()));
  {
    std::unique_lock lock{mutex};
    set = true;
  }
  event.notify_all();
  while (woken < t.n()) boost::this_fiber::yield();
  t.answer(woken);
}

void run_idle_long(trial& t) {
  const pool workers{t};
  fiber{[] {}}.join();
  t.start();
  const std::int64_t own = bench::spin_for(bench::long_task);
  t.stop();
  t.report_own(own);
}
void run_idle_pool(trial& t) {
  const pool workers{t};
  fiber{[] {}}.join();
  t.start();
  boost::this_fiber::sleep_for(std::chrono::nanoseconds{bench::long_task});
  t.stop();
}

// ---- fairness: the main fiber is the quiet task, or waits for ever

void start_hogs(meter& m) {
  for (int i = 0; i < bench::hogs; ++i) {
    fiber{fibers::launch::post,
          [&m] {
            for (;;) {
              m.step();
              boost::this_fiber::yield();
            }
          }}
        .detach();
  }
}

[[noreturn]] void quiet_yields(meter& m) {
  do {
    m.ready();
    boost::this_fiber::yield();
  } while (m.ran());
  m.finish();
}

void run_hogs_yield(trial& t) {
  meter m{t};
  start_hogs(m);
  quiet_yields(m);
}

// Ten hogs; each act_every-th step, whoever makes it also calls `act`.
template <class Act>
void start_acting_hogs(meter& m, Act& act) {
  for (int i = 0; i < bench::hogs; ++i) {
    fiber{fibers::launch::post,
          [&m, &act] {
            for (;;) {
              m.step();
              if (m.act()) act();
              boost::this_fiber::yield();
            }
          }}
        .detach();
  }
}

[[noreturn]] void wait_for_ever() {
  for (;;) boost::this_fiber::sleep_for(std::chrono::hours{1});
}

void run_spawned_by_hog(trial& t) {
  meter m{t};
  auto spawn_quiet = [&] {
    fiber{fibers::launch::post,
          [&m] {
            if (!m.ran()) m.finish();
          }}
        .detach();
  };
  start_acting_hogs(m, spawn_quiet);
  wait_for_ever();
}

void run_woken_by_hog(trial& t) {
  meter m{t};
  channel wake{2};
  auto wake_quiet = [&] { wake.try_push(0); };
  start_acting_hogs(m, wake_quiet);
  for (;;) {
    wake.value_pop();
    if (!m.ran()) m.finish();
  }
}

void run_other_thread(trial& t) {
  meter m{t};
  channel wake{2};
  std::thread{[&] {
    for (;;) m.wake_from_outside([&] { wake.push(0); });
  }}.detach();
  start_hogs(m);
  for (;;) {
    wake.value_pop();
    m.ran_outside();
  }
}

void run_pingpong_pairs(trial& t) {
  meter m{t};
  std::deque<channel> channels;
  const auto player = [&m](channel& out, channel& in, bool serves) {
    if (serves) out.push(0);
    for (;;) {
      in.value_pop();
      m.step();
      out.push(0);
    }
  };
  for (int i = 0; i < bench::pairs; ++i) {
    channel& there = channels.emplace_back(2U);
    channel& back = channels.emplace_back(2U);
    fiber{fibers::launch::post, [&] { player(there, back, true); }}.detach();
    fiber{fibers::launch::post, [&] { player(back, there, false); }}.detach();
  }
  quiet_yields(m);
}

void link_of_chain(meter& m) {
  m.step();
  fiber{fibers::launch::post, [&m] { link_of_chain(m); }}.detach();
}

void run_respawn_chain(trial& t) {
  meter m{t};
  link_of_chain(m);
  quiet_yields(m);
}

void run_timer_under_load(trial& t) {
  meter m{t};
  for (int i = 0; i < bench::hogs; ++i) {
    fiber{fibers::launch::post,
          [&m] {
            for (;;) {
              m.step_after_deadline();
              boost::this_fiber::yield();
            }
          }}
        .detach();
  }
  do {
    m.arm(bench::wall_now() + 1'000'000);
    boost::this_fiber::sleep_for(std::chrono::milliseconds{1});
  } while (m.fired());
  m.finish();
}

void run_dispatch_loop(trial& t) {
  meter m{t};
  channel own{2};
  fiber{fibers::launch::post,
        [&] {
          for (;;) {
            m.step();
            own.push(0);
            own.value_pop();
          }
        }}
      .detach();
  quiet_yields(m);
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"fiber", argc, argv};
  me.add("yield", run_yield);
  me.add("spawn_waves", run_spawn_waves);
  me.add("spawn_join", run_spawn_join);
  me.add("pingpong", run_pingpong);
  me.add("pingpong_across", run_pingpong_across);
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
