// Whole runtimes of two workers: waits against wake-ups, stops and time. A task that is never made
// ready shows as rota::deadlock or as a lost wake-up; one that is made ready twice as a data race
// on what it owns, or as memory that is used after it was freed.

#include <rota/rota.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>

#include "explored/scenarios.h"

namespace {

using namespace std::chrono_literals;
using namespace rota::scenarios;
using rota::task;

void on_two(task<> program) { rota::run(std::move(program), rota::options{}.with_workers(2)); }

// --- each wait against the one who ends it ------------------------------------------------------

task<> set_event(rota::async_event& e, explore::cell<int>& data) {
  data.set(1);
  e.set();
  co_return;
}

task<> event_program() {
  rota::async_event e;
  explore::cell<int> data{0};
  auto h = rota::spawn(set_event(e, data));
  co_await e.wait();
  explore::check(data.get() == 1, "what was done before set() is seen");
  co_await h;
}

task<> add_under(rota::async_mutex& m, explore::cell<int>& count) {
  auto held = co_await m.lock();
  const int before = count.get();
  co_await rota::suspend();
  count.set(before + 1);
}

task<> mutex_program() {
  rota::async_mutex m;
  explore::cell<int> count{0};
  auto a = rota::spawn(add_under(m, count));
  auto b = rota::spawn(add_under(m, count));
  co_await a;
  co_await b;
  explore::check(count.get() == 2, "the mutex excludes");
}

task<> with_permit(rota::async_semaphore& permits, explore::cell<int>& used) {
  co_await permits.acquire();
  ++used.change();
  permits.release();
}

task<> semaphore_program() {
  rota::async_semaphore permits{1};
  explore::cell<int> used{0};
  auto a = rota::spawn(with_permit(permits, used));
  auto b = rota::spawn(with_permit(permits, used));
  co_await a;
  co_await b;
  explore::check(used.get() == 2, "both had the permit");
}

task<> send_two(rota::channel<int>& c) {
  co_await c.send(1);
  co_await c.send(2);
  c.close();
}

template <std::size_t Capacity>
task<> channel_program() {
  rota::channel<int> c{Capacity};
  auto h = rota::spawn(send_two(c));
  int expected = 1;
  while (auto m = co_await c.receive()) {
    const int got = *m;
    explore::check(got == expected++, "messages leave in the order in which they came");
  }
  explore::check(expected == 3, "no message is lost");
  co_await h;
}

task<int> answer(explore::cell<int>& data) {
  data.set(1);
  co_return 42;
}

task<> join_program() {
  explore::cell<int> data{0};
  auto h = rota::spawn(answer(data));
  const int got = co_await h;
  explore::check(got == 42 && data.get() == 1, "who joins sees what was done");
}

task<> raise(rota::cell<int>& c) {
  c.set(1);
  co_return;
}

task<> cell_program() {
  rota::cell<int> c{0};
  auto h = rota::spawn(raise(c));
  co_await c.until([](int v) { return v == 1; });
  co_await h;
}

task<> raise_plain(explore::atomic<int>& flag, explore::cell<int>& data) {
  data.set(1);
  flag.store(1, std::memory_order_release);
  co_return;
}

task<> guard_program() {
  explore::atomic<int> flag{0};
  explore::cell<int> data{0};
  auto h = rota::spawn(raise_plain(flag, data));
  co_await rota::guard([&flag] { return flag.load(std::memory_order_acquire) == 1; });
  explore::check(data.get() == 1, "what made the guard hold is seen");
  co_await h;
}

// What the guard reads need not publish anything: a step that ends shows what it did.
task<> raise_relaxed(explore::atomic<int>& flag) {
  flag.store(1, std::memory_order_relaxed);
  co_return;
}

task<> guard_relaxed_program() {
  explore::atomic<int> flag{0};
  auto h = rota::spawn(raise_relaxed(flag));
  co_await rota::guard([&flag] { return flag.load(std::memory_order_relaxed) == 1; });
  co_await h;
}

task<> two_guards_program() {
  explore::atomic<int> turn{0};
  auto ping = [](explore::atomic<int>& t) -> task<> {
    co_await rota::guard([&t] { return t.load(std::memory_order_acquire) == 1; });
    t.store(2, std::memory_order_release);
  };
  auto h = rota::spawn(ping(turn));
  turn.store(1, std::memory_order_release);
  co_await rota::guard([&turn] { return turn.load(std::memory_order_acquire) == 2; });
  co_await h;
}

int slow_square(int x) { return x * x; }

task<> blocking_program() {
  const int got = co_await rota::run_blocking([] { return slow_square(3); });
  explore::check(got == 9, "the call's result comes back");
}

task<> fork_leaf(explore::cell<int>& c) {
  ++c.change();
  co_return;
}

task<> fork_program() {
  explore::cell<int> left{0};
  explore::cell<int> right{0};
  rota::fork_scope forks;
  co_await forks.fork(fork_leaf(left));
  co_await forks.fork(fork_leaf(right));
  co_await forks.join();
  explore::check(left.get() == 1 && right.get() == 1, "each fork ran once");
}

// --- stops --------------------------------------------------------------------------------------

task<> wait_event(rota::async_event& e) { co_await e.wait(); }

// A stop and a wake-up race for the same task: it ends, one way or the other.
task<> stop_event_program() {
  rota::async_event e;
  auto waits = rota::spawn(wait_event(e));
  auto setter = [](rota::async_event& x) -> task<> {
    x.set();
    co_return;
  };
  auto sets = rota::spawn(setter(e));
  waits.request_stop();
  try {
    co_await waits;
  } catch (const rota::cancelled&) {
    explore::note("was stopped");
  }
  co_await sets;
}

task<> receive_one(rota::channel<int>& c, int& sum) {
  if (auto m = co_await c.receive()) sum += *m;
}

// A receive that was stopped has not taken the message.
task<> stop_receive_program() {
  rota::channel<int> c{1};
  int sum = 0;
  auto h = rota::spawn(receive_one(c, sum));
  auto sender = [](rota::channel<int>& x) -> task<> { co_await x.send(7); };
  auto s = rota::spawn(sender(c));
  h.request_stop();
  bool stopped = false;
  try {
    co_await h;
  } catch (const rota::cancelled&) {
    stopped = true;
  }
  co_await s;
  if (stopped) {
    const std::optional<int> left = c.try_receive();
    explore::check(left.has_value(), "a cancelled receive has not taken");
  } else {
    explore::check(sum == 7, "a receive that was not stopped has the message");
  }
}

task<> wait_guard(explore::atomic<int>& flag) {
  co_await rota::guard([&flag] { return flag.load(std::memory_order_acquire) == 1; });
}

// A task whose continuation was stolen, so that it waits in a strand of its own, is stopped;
// another task that waits is not.
task<> stop_fork_program() {
  struct parts {
    explore::atomic<std::uint32_t> stolen{0};
    rota::async_event began, first, second;
  } p;
  auto until_stolen = [](parts& x) -> task<> {
    while (x.stolen.load(std::memory_order_relaxed) == 0) explore::futex_wait(x.stolen, 0);
    co_return;
  };
  auto forks = [&until_stolen](parts& x) -> task<> {
    rota::fork_scope scope;
    co_await scope.fork(until_stolen(x));
    x.stolen.store(1, std::memory_order_relaxed);
    explore::futex_wake(x.stolen, 1);
    x.began.set();
    co_await x.first.wait();
    co_await scope.join();
  };
  auto goes_on = rota::spawn(wait_event(p.second));
  auto stopped = rota::spawn(forks(p));
  co_await p.began.wait();
  auto setter = [](parts& x) -> task<> {
    x.first.set();
    co_await rota::suspend();
    x.second.set();
  };
  auto s = rota::spawn(setter(p));
  stopped.request_stop();
  co_await s;
  co_await goes_on;
  try {
    co_await stopped;
  } catch (const rota::cancelled&) {
    explore::note("was stopped");
  }
}

// A guard is stopped while it is looked at, and waits elsewhere afterwards.
task<> stop_guard_program() {
  explore::atomic<int> flag{0};
  rota::async_event e;
  bool began = false;
  auto stubborn = [&began](explore::atomic<int>& f, rota::async_event& x) -> task<> {
    began = true;
    try {
      co_await wait_guard(f);
    } catch (const rota::cancelled&) {
      explore::note("was stopped");
    }
    rota::shield cleaning;
    co_await x.wait();
    explore::check(x.is_set(), "a wait ends when it is over");
  };
  auto h = rota::spawn(stubborn(flag, e));
  auto other = [](explore::atomic<int>& f) -> task<> {
    co_await rota::suspend();
    f.store(1, std::memory_order_release);
  };
  auto o = rota::spawn(other(flag));
  h.request_stop();
  co_await o;
  e.set();
  try {
    co_await h;
  } catch (const rota::cancelled&) {
    explore::check(!began, "who was stopped goes on, and the next wait ends when it is over");
  }
}

task<> fails() {
  throw 1;
  co_return;
}

// The first child that fails stops its sibling, and join() waits for both.
task<> group_program() {
  rota::async_event never;
  bool thrown = false;
  {
    rota::task_group g;
    g.spawn(wait_event(never));
    g.spawn(fails());
    try {
      co_await g.join();
    } catch (int) {
      thrown = true;
    }
  }
  explore::check(thrown, "join() throws what the child threw");
}

// --- time ---------------------------------------------------------------------------------------

task<> sleeps(std::chrono::milliseconds length) {
  const auto began = explore::now();
  co_await rota::sleep_for(length);
  explore::check(explore::now() - began >= length, "no sleep ends early");
}

task<> sleep_program() {
  auto longer = rota::spawn(sleeps(50ms));
  auto shorter = rota::spawn(sleeps(10ms));
  co_await shorter;
  co_await longer;
}

// A runtime in which nothing runs, but a timer is set, has no deadlock.
task<> nap_program() { co_await rota::sleep_for(1ms); }

task<> timeout_program() {
  rota::async_event e;
  auto setter = [](rota::async_event& x) -> task<> {
    co_await rota::sleep_for(1ms);
    x.set();
  };
  auto h = rota::spawn(setter(e));
  const auto began = explore::now();
  try {
    co_await rota::with_timeout(1ms, wait_event(e));
  } catch (const rota::timed_out&) {
    explore::check(explore::now() - began >= 1ms, "no timeout comes early");
  }
  co_await h;
}

task<> stop_sleep_program() {
  auto sleeper = []() -> task<> { co_await rota::sleep_for(1ms); };
  auto h = rota::spawn(sleeper());
  auto stopper = [](rota::join_handle<void>& x) -> task<> {
    co_await rota::sleep_for(1ms);
    x.request_stop();
  };
  auto s = rota::spawn(stopper(h));
  co_await s;
  try {
    co_await h;
  } catch (const rota::cancelled&) {
    explore::note("was stopped");
  }
}

// --- the end ------------------------------------------------------------------------------------

// A deadlock is reported, and nothing is left behind.
void deadlock() {
  auto program = []() -> task<> {
    rota::async_event never;
    co_await never.wait();
  };
  bool reported = false;
  try {
    on_two(program());
  } catch (const rota::deadlock&) {
    reported = true;
  }
  explore::check(reported, "a deadlock is reported");
}

// While somebody outside may still wake a task, a standstill is none; the last moment counts.
void outside() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::async_event e;
  explore::thread setter([&e, expected = std::make_optional<rota::outside>(rt)]() mutable {
    e.set();
    expected.reset();
  });
  try {
    rt.run(wait_event(e));
  } catch (const rota::deadlock&) {
    explore::check(false, "a task that will be woken from outside is not deadlocked");
  }
  setter.join();
}

// A step that runs long is reported, with the task that takes it.
void watchdog() {
  explore::atomic<std::uint32_t> reported{0};
  auto o = rota::options{}.with_workers(2).with_watchdog(4ms);
  o.on_long_step = [&](const std::string& text) {
    explore::check(text.find("task 2") != std::string::npos, "the report names the task");
    reported.store(1, std::memory_order_relaxed);
    explore::futex_wake(reported, 1);
  };
  auto long_step = [](explore::atomic<std::uint32_t>& r) -> task<> {
    while (r.load(std::memory_order_relaxed) == 0) explore::futex_wait(r, 0);
    co_return;
  };
  auto program = [&]() -> task<> { co_await rota::spawn(long_step(reported)); };
  rota::run(program(), o);
}

// A runtime ends while a task that nobody waits for still runs.
void left_running() {
  rota::runtime rt{rota::options{}.with_workers(2)};
  auto wanderer = []() -> task<> {
    for (;;) co_await rota::suspend();
  };
  rt.spawn(wanderer()).detach();
}

template <task<> (*Program)()>
void on_two_workers() {
  on_two(Program());
}

const add tasks{{
    {"task.event", "wait against set", on_two_workers<event_program>, pct(3, 1)},
    {"task.mutex", "two tasks and a mutex", on_two_workers<mutex_program>, pct(3, 1)},
    {"task.semaphore", "two tasks and one permit", on_two_workers<semaphore_program>, pct(3, 1)},
    {"task.channel_0", "send against receive, no room", on_two_workers<channel_program<0>>,
     pct(3, 1)},
    {"task.channel_1", "send against receive, room for one", on_two_workers<channel_program<1>>,
     pct(3, 1)},
    {"task.join", "a join against the end", on_two_workers<join_program>, pct(3, 1)},
    {"task.cell", "until() against set()", on_two_workers<cell_program>, pct(3, 1)},
    {"task.guard", "a guard against what makes it hold", on_two_workers<guard_program>, pct(3, 1)},
    {"task.guard_relaxed", "... that publishes nothing", on_two_workers<guard_relaxed_program>,
     pct(3, 1)},
    {"task.guards", "two guards, each waits for the other", on_two_workers<two_guards_program>,
     pct(3, 1)},
    {"task.blocking", "a call that may block", on_two_workers<blocking_program>, pct(3, 1)},
    {"task.fork", "two forks and a thief", on_two_workers<fork_program>, pct(3, 1)},

    {"task.stop_event", "a stop against set", on_two_workers<stop_event_program>, pct(3, 1)},
    {"task.stop_receive", "a stop against send", on_two_workers<stop_receive_program>, pct(3, 1)},
    {"task.stop_fork", "a stop against the end of a strand", on_two_workers<stop_fork_program>,
     pct(3, 1)},
    {"task.stop_guard", "a stop against a look", on_two_workers<stop_guard_program>, pct(3, 1)},
    {"task.group", "a child fails", on_two_workers<group_program>, pct(3, 1)},

    {"task.sleep", "two sleeps", on_two_workers<sleep_program>, pct(3, 1)},
    {"task.nap", "a sleep is no deadlock", on_two_workers<nap_program>, pct(3, 1)},
    {"task.timeout", "a timeout against set", on_two_workers<timeout_program>, pct(3, 1)},
    {"task.stop_sleep", "a stop against a timer", on_two_workers<stop_sleep_program>, pct(3, 1)},

    {"task.deadlock", "a deadlock is reported", deadlock, pct(3, 1)},
    {"task.outside", "the last wake-up comes from outside", outside, pct(3, 1)},
    {"task.watchdog", "a step runs long", watchdog, pct(3, 1)},
    {"task.left_running", "a runtime ends with a task that goes on", left_running, pct(3, 1)},
}};

}  // namespace
