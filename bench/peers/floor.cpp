// What is the least that a C++20 coroutine runtime can cost? A bare loop over an
// intrusive FIFO, frames from a free list, one thread, no cancellation, no
// exceptions, no joining by others: a bound to measure against, not a library.
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <thread>

#include "../duel.h"
#include "../work.h"

namespace {

using bench::trial;

// Frames of up to 128 bytes from a free list; longer ones from the heap.
class frame_pool {
 public:
  static void* take(std::size_t size) {
    if (size > slot_size) return ::operator new(size);
    if (free_ == nullptr) refill();
    node* const n = free_;
    free_ = n->next;
    return n;
  }
  static void give(void* p, std::size_t size) {
    if (size > slot_size) return ::operator delete(p);
    auto* const n = static_cast<node*>(p);
    n->next = free_;
    free_ = n;
  }

 private:
  struct node {
    node* next;
  };
  static constexpr std::size_t slot_size = 128;
  static constexpr std::size_t slots_at_once = 1024;

  static void refill() {
    auto* const block = static_cast<std::byte*>(::operator new(slot_size * slots_at_once));
    for (std::size_t i = 0; i < slots_at_once; ++i) {
      auto* const n = reinterpret_cast<node*>(block + i * slot_size);
      n->next = free_;
      free_ = n;
    }
  }

  static inline thread_local constinit node* free_ = nullptr;
};

struct link {
  link* next = nullptr;
  std::coroutine_handle<> resume;
};

// The run queue: first in, first out.
class loop {
 public:
  void push(link& l) {
    l.next = nullptr;
    *tail_ = &l;
    tail_ = &l.next;
  }
  void run() {
    while (head_ != nullptr) {
      link* const l = head_;
      head_ = l->next;
      if (head_ == nullptr) tail_ = &head_;
      l->resume.resume();
    }
  }

 private:
  link* head_ = nullptr;
  link** tail_ = &head_;
};

loop main_loop;

// A task starts when pushed, and tells one waiter when it is done.
class task {
 public:
  struct promise_type : link {
    link* waiter = nullptr;
    bool detached = false;
    bool done = false;
    std::int64_t value = 0;

    static void* operator new(std::size_t size) { return frame_pool::take(size); }
    static void operator delete(void* p, std::size_t size) { frame_pool::give(p, size); }

    task get_return_object() {
      resume = std::coroutine_handle<promise_type>::from_promise(*this);
      return task{this};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct finish {
        bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          promise_type& p = h.promise();
          p.done = true;
          if (p.waiter != nullptr) main_loop.push(*p.waiter);
          if (p.detached) h.destroy();
        }
        void await_resume() noexcept {}
      };
      return finish{};
    }
    void return_value(std::int64_t v) { value = v; }
    void unhandled_exception() { std::terminate(); }
  };

  explicit task(promise_type* p) : promise_(p) {}

  void detach() {
    promise_->detached = true;
    main_loop.push(*promise_);
  }
  task& start() {
    main_loop.push(*promise_);
    return *this;
  }

  // Joining: the value, once the started task is done.
  auto operator co_await() {
    struct join {
      promise_type* p;
      bool await_ready() { return p->done; }
      void await_suspend(std::coroutine_handle<promise_type> h) { p->waiter = &h.promise(); }
      std::int64_t await_resume() {
        const std::int64_t v = p->value;
        p->resume.destroy();
        return v;
      }
    };
    return join{promise_};
  }

 private:
  promise_type* promise_;
};

struct yield_now {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<task::promise_type> h) { main_loop.push(h.promise()); }
  void await_resume() {}
};

// Any number of tasks wait until set() releases all.
class event {
 public:
  auto operator co_await() {
    struct wait {
      event& e;
      bool await_ready() { return e.set_; }
      void await_suspend(std::coroutine_handle<task::promise_type> h) {
        h.promise().next = e.waiters_;
        e.waiters_ = &h.promise();
      }
      void await_resume() {}
    };
    return wait{*this};
  }
  void set() {
    set_ = true;
    while (waiters_ != nullptr) {
      link* const l = waiters_;
      waiters_ = l->next;
      main_loop.push(*l);
    }
  }
  void reset() { set_ = false; }

 private:
  bool set_ = false;
  link* waiters_ = nullptr;
};

// Room for one value; one sender, one receiver.
class slot {
 public:
  void put(std::int64_t v) {
    value_ = v;
    full_ = true;
    if (waiter_ != nullptr) main_loop.push(*std::exchange(waiter_, nullptr));
  }
  auto take() {
    struct wait {
      slot& s;
      bool await_ready() { return s.full_; }
      void await_suspend(std::coroutine_handle<task::promise_type> h) { s.waiter_ = &h.promise(); }
      std::int64_t await_resume() {
        s.full_ = false;
        return s.value_;
      }
    };
    return wait{*this};
  }

 private:
  std::int64_t value_ = 0;
  bool full_ = false;
  link* waiter_ = nullptr;
};

// ---- yield, spawn, join, ping-pong

task yielder(std::int64_t times, std::int64_t& steps) {
  for (std::int64_t i = 0; i < times; ++i) {
    ++steps;
    co_await yield_now{};
  }
  co_return 0;
}

void run_yield(trial& t) {
  std::int64_t steps = 0;
  const auto pass = [&](std::int64_t n) {
    for (int i = 0; i < bench::yielders; ++i) yielder(n / bench::yielders, steps).detach();
    main_loop.run();
  };
  pass(t.n() / 10);
  steps = 0;
  t.start();
  pass(t.n());
  t.stop();
  t.answer(steps);
}

task count_down(std::int64_t& left, std::int64_t& ran, event& all) {
  ++ran;
  if (--left == 0) all.set();
  co_return 0;
}

task spawn_waves(std::int64_t n, std::int64_t size, std::int64_t& ran) {
  for (std::int64_t i = 0; i < n; i += size) {
    std::int64_t left = size;
    event all;
    for (std::int64_t j = 0; j < size; ++j) count_down(left, ran, all).detach();
    co_await all;
  }
  co_return 0;
}

void spawn(trial& t, std::int64_t warm, std::int64_t size) {
  std::int64_t ran = 0;
  spawn_waves(warm, size, ran).detach();
  main_loop.run();
  ran = 0;
  t.start();
  spawn_waves(t.n(), size, ran).detach();
  main_loop.run();
  t.stop();
  t.answer(ran);
}

void run_spawn_waves(trial& t) { spawn(t, t.n() / 10, bench::wave); }
void run_spawn_burst(trial& t) { spawn(t, t.n(), t.n()); }

task give_back(std::int64_t i) { co_return i; }

task join_each(std::int64_t n, std::int64_t& sum) {
  for (std::int64_t i = 0; i < n; ++i) sum += co_await give_back(i).start();
  co_return 0;
}

void run_spawn_join(trial& t) {
  std::int64_t sum = 0;
  join_each(t.n() / 10, sum).detach();
  main_loop.run();
  sum = 0;
  t.start();
  join_each(t.n(), sum).detach();
  main_loop.run();
  t.stop();
  t.answer(sum);
}

task ping(std::int64_t n, slot& there, slot& back, std::int64_t& sum) {
  for (std::int64_t i = 0; i < n; ++i) {
    there.put(i);
    sum += co_await back.take() - i;
  }
  co_return 0;
}

task pong(std::int64_t n, slot& there, slot& back) {
  for (std::int64_t i = 0; i < n; ++i) back.put(co_await there.take() + 1);
  co_return 0;
}

void run_pingpong(trial& t) {
  slot there;
  slot back;
  std::int64_t sum = 0;
  const auto pass = [&](std::int64_t n) {
    ping(n, there, back, sum).detach();
    pong(n, there, back).detach();
    main_loop.run();
  };
  pass(t.n() / 10);
  sum = 0;
  t.start();
  pass(t.n());
  t.stop();
  t.answer(sum);
}

// Two threads hand a number to and fro: by futex, or spinning on the word.
class mailbox {
 public:
  explicit mailbox(bool spin) : spin_(spin) {}

  void put(std::uint32_t v) {
    // seq_cst: either we see the sleeper or it sees our value before it sleeps.
    word_.store(v, std::memory_order_seq_cst);
    if (!spin_ && asleep_.load(std::memory_order_seq_cst))
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
  }
  // Returns once the value is no longer `old`.
  std::uint32_t await(std::uint32_t old) {
    for (;;) {
      const std::uint32_t v = word_.load(std::memory_order_acquire);
      if (v != old) return v;
      if (spin_) continue;
      asleep_.store(true, std::memory_order_seq_cst);
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, old, 0, 0, 0);
      asleep_.store(false, std::memory_order_relaxed);
    }
  }

 private:
  alignas(64) std::atomic<std::uint32_t> word_{0};
  alignas(64) std::atomic<bool> asleep_{false};
  bool spin_;
};

void run_pingpong_across(trial& t) {
  mailbox there{t.flavor() == "spin"};
  mailbox back{t.flavor() == "spin"};
  const auto n = static_cast<std::uint32_t>(t.n());
  std::thread other{[&] {
    for (std::uint32_t i = 0; i < n; ++i) back.put(there.await(i));
  }};
  std::int64_t sum = 0;
  t.start();
  for (std::uint32_t i = 0; i < n; ++i) {
    there.put(i + 1);
    sum += back.await(i) - i;
  }
  t.stop();
  other.join();
  t.answer(sum);
}

// ---- timers: a wheel with a slot per millisecond

struct timer : link {
  timer** prev = nullptr;
  timer* after = nullptr;
};

class wheel {
 public:
  void set(timer& t, std::int64_t delay_ms) {
    timer*& head = slots_[static_cast<std::size_t>(delay_ms)];
    t.after = head;
    t.prev = &head;
    if (head != nullptr) head->prev = &t.after;
    head = &t;
    ++armed_;
  }
  void cancel(timer& t) {
    *t.prev = t.after;
    if (t.after != nullptr) t.after->prev = t.prev;
    --armed_;
  }
  // Sleeps from due slot to due slot until none is armed; returns how many fired.
  std::int64_t run(std::int64_t start) {
    std::int64_t fired = 0;
    for (std::size_t ms = 0; armed_ > 0; ++ms) {
      if (slots_[ms] == nullptr) continue;
      const std::int64_t due = start + static_cast<std::int64_t>(ms) * 1'000'000;
      const timespec at{due / 1'000'000'000, due % 1'000'000'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
      for (timer* t = slots_[ms]; t != nullptr; t = t->after, --armed_, ++fired) main_loop.push(*t);
      main_loop.run();
    }
    return fired;
  }

 private:
  std::vector<timer*> slots_ = std::vector<timer*>(8192);
  std::int64_t armed_ = 0;
};

task nap(wheel& w, timer& own, std::int64_t delay_ms, std::int64_t& fired) {
  struct wait {
    wheel& w;
    timer& own;
    std::int64_t delay_ms;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      own.resume = h;
      w.set(own, delay_ms);
    }
    void await_resume() {}
  };
  co_await wait{w, own, delay_ms};
  ++fired;
  co_return 0;
}

void run_timers(trial& t) {
  const auto n = static_cast<std::size_t>(t.n());
  wheel w;
  std::vector<timer> timers(n);
  std::int64_t fired = 0;
  t.start();
  const std::int64_t start = bench::wall_now();
  const std::int64_t cpu0 = bench::cpu_now();
  for (std::size_t i = 0; i < n; ++i) {
    nap(w, timers[i], bench::timer_delay_ms(static_cast<std::int64_t>(i)), fired).detach();
  }
  main_loop.run();
  const std::int64_t cpu1 = bench::cpu_now();
  for (std::size_t i = 0; i < n; i += 2) {
    w.cancel(timers[i]);
    timers[i].resume.destroy();
  }
  const std::int64_t cpu2 = bench::cpu_now();
  w.run(start);
  t.stop();
  t.report("set_ns", static_cast<double>(cpu1 - cpu0) / static_cast<double>(n));
  t.report("cancel_ns", static_cast<double>(cpu2 - cpu1) / static_cast<double>(n) * 2);
  t.answer(fired);
}

void run_sleep(trial& t) {
  // The timer slack that the kernel may add to a sleep, from 50 us to 1 ns.
  prctl(PR_SET_TIMERSLACK, 1UL);
  std::vector<std::int64_t> beyond;
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) {
    const std::int64_t due = bench::wall_now() + bench::sleep_request;
    const timespec at{due / 1'000'000'000, due % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    beyond.push_back(bench::wall_now() - due);
  }
  t.stop();
  bench::report_beyond(t, beyond);
}

// ---- memory

task park(event& e, std::int64_t& woken) {
  co_await e;
  ++woken;
  co_return 0;
}

void run_parked(trial& t) {
  event e;
  std::int64_t woken = 0;
  const std::int64_t before = bench::resident_bytes();
  t.start();
  for (std::int64_t i = 0; i < t.n(); ++i) park(e, woken).detach();
  main_loop.run();
  t.stop();
  t.report("bytes",
           static_cast<double>(bench::resident_bytes() - before) / static_cast<double>(t.n()));
  e.set();
  main_loop.run();
  t.answer(woken);
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"floor", argc, argv};
  me.add("yield", run_yield);
  me.add("spawn_waves", run_spawn_waves);
  me.add("spawn_burst", run_spawn_burst);
  me.add("spawn_join", run_spawn_join);
  me.add("pingpong", run_pingpong);
  me.add("pingpong_across", run_pingpong_across);
  me.add("timers", run_timers);
  me.add("sleep", run_sleep);
  me.add("parked", run_parked);
  return me.run();
}
