// Executors as they are often written: a list of handlers behind a mutex, and threads that take the
// first ready one they find. They show what happens without a promise; nobody should use them.
//
//   scan   looks from the first handler on: who is early in the list is served first, always
//   lifo   takes who was triggered last
//
// A handler that is ready again goes back at once, before whoever waits. Handlers of one group
// exclude each other, and one handler is run by one thread at a time.
#ifndef ROTA_BENCH_EVENT_NAIVE_H
#define ROTA_BENCH_EVENT_NAIVE_H

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bench {

enum class order { scan, lifo };

class naive_executor {
 public:
  struct handler {
    std::function<void()> f;
    int group = -1;               // none
    std::uint64_t pending = 0;    // events that wait
    std::uint64_t triggered = 0;  // when it got the first of them: its place in the order
    std::uint64_t since = 0;      // runs of all handlers until then
    std::uint64_t runs = 0;
    std::uint64_t max_passed = 0;
    bool running = false;
  };

  naive_executor(order o, unsigned workers) : order_(o) {
    for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~naive_executor() {
    {
      const std::lock_guard guard{mutex_};
      stop_ = true;
    }
    ready_.notify_all();
  }

  handler& add(std::function<void()> f, int group = -1) {
    const std::lock_guard guard{mutex_};
    handler& h = handlers_.emplace_back();
    h.f = std::move(f);
    h.group = group;
    return h;
  }

  // False if `limit` events wait already.
  bool trigger(handler& h, std::uint64_t limit) {
    {
      const std::lock_guard guard{mutex_};
      if (h.pending == limit) return false;
      if (h.pending++ == 0) enqueue(h);
    }
    ready_.notify_one();
    return true;
  }

  handler counters(const handler& h) {
    const std::lock_guard guard{mutex_};
    handler now;
    now.runs = h.runs;
    now.pending = h.pending;
    // Who still waits has been passed so far by all that began meanwhile.
    now.max_passed = h.pending > 0 ? std::max(h.max_passed, starts_ - h.since) : h.max_passed;
    return now;
  }

 private:
  void enqueue(handler& h) {
    h.triggered = ++clock_;
    h.since = starts_;
  }

  bool may_run(const handler& h) const {
    if (h.pending == 0 || h.running) return false;
    return h.group < 0 || std::none_of(
                              handlers_.begin(), handlers_.end(),
                              [&](const handler& o) { return o.running && o.group == h.group; });
  }

  handler* pick() {
    handler* best = nullptr;
    for (handler& h : handlers_) {
      if (!may_run(h)) continue;
      if (order_ == order::scan) return &h;
      if (!best || h.triggered > best->triggered) best = &h;
    }
    return best;
  }

  void work() {
    std::unique_lock lock{mutex_};
    for (;;) {
      handler* h = nullptr;
      ready_.wait(lock, [&] { return stop_ || (h = pick()); });
      if (stop_) return;
      h->max_passed = std::max(h->max_passed, starts_ - h->since);
      ++starts_;
      ++h->runs;
      h->running = true;
      if (--h->pending > 0) enqueue(*h);
      lock.unlock();
      h->f();
      lock.lock();
      h->running = false;
      ready_.notify_one();
    }
  }

  const order order_;
  std::mutex mutex_;
  std::condition_variable ready_;
  // All below: guarded by mutex_.
  std::deque<handler> handlers_;
  std::uint64_t clock_ = 0;
  std::uint64_t starts_ = 0;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace bench

#endif
