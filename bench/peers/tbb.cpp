// How fast does oneTBB fork and join? `task_group` with one task per call.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <thread>

#include "../duel.h"
#include "../work.h"

namespace {

using bench::trial;
namespace tbb = oneapi::tbb;

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t a = 0;
  tbb::task_group forks;
  forks.run([&a, n] { a = fib(n - 1); });
  const std::int64_t b = fib(n - 2);
  forks.wait();
  return a + b;
}

std::int64_t nqueens(const bench::board& b, int row, int n) {
  if (row == n) return 1;
  std::array<std::int64_t, 16> counts{};
  tbb::task_group forks;
  for (int col = 0; col < n; ++col) {
    if (!b.safe(row, col)) continue;
    std::int64_t& count = counts[static_cast<std::size_t>(col)];
    forks.run([&count, next = b.with(row, col), row, n] { count = nqueens(next, row + 1, n); });
  }
  forks.wait();
  std::int64_t sum = 0;
  for (std::int64_t c : counts) sum += c;
  return sum;
}

std::int64_t skynet(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::array<std::int64_t, 10> sums{};
  tbb::task_group forks;
  for (int i = 0; i < 10; ++i) {
    std::int64_t& sum = sums[static_cast<std::size_t>(i)];
    forks.run([&sum, first, size, i] { sum = skynet(first + i * (size / 10), size / 10); });
  }
  forks.wait();
  std::int64_t sum = 0;
  for (std::int64_t s : sums) sum += s;
  return sum;
}

std::int64_t uts(bench::uts_node node, int limit) {
  const int children = bench::uts_children(node, limit);
  if (children == 0) return 1;
  std::array<std::int64_t, bench::uts_max_children> counts;
  tbb::task_group forks;
  for (int i = 0; i < children; ++i) {
    std::int64_t& count = counts[static_cast<std::size_t>(i)];
    forks.run([&count, child = bench::uts_child(node, i), limit] { count = uts(child, limit); });
  }
  forks.wait();
  std::int64_t sum = 1;
  for (int i = 0; i < children; ++i) sum += counts[static_cast<std::size_t>(i)];
  return sum;
}

// A pool of as many threads as asked for, warm: its threads are up and looked for work once.
template <class F>
void in_pool(trial& t, F f) {
  const tbb::global_control limit{tbb::global_control::max_allowed_parallelism, t.workers()};
  tbb::task_arena arena{static_cast<int>(t.workers())};
  arena.execute([&] {
    bench::keep(fib(20));
    f();
  });
}

template <class F>
void measure(trial& t, F f) {
  in_pool(t, [&] {
    t.start();
    const std::int64_t result = f();
    t.stop();
    t.answer(result);
  });
}

void run_fib(trial& t) {
  measure(t, [&] { return fib(t.n()); });
}
void run_nqueens(trial& t) {
  measure(t, [&] { return nqueens({}, 0, static_cast<int>(t.n())); });
}
void run_skynet(trial& t) {
  measure(t, [&] { return skynet(0, t.n()); });
}
void run_uts(trial& t) {
  measure(t, [&] { return uts({}, static_cast<int>(t.n())); });
}
void run_producer(trial& t) {
  auto slots = bench::producer_slots(t.n());
  const auto produce = [&] {
    tbb::task_group forks;
    for (std::int64_t i = 0; i < t.n(); ++i) {
      forks.run(
          [&slot = slots[static_cast<std::size_t>(i)], i] { slot = bench::producer_value(i); });
    }
    forks.wait();
  };
  in_pool(t, [&] {
    produce();
    t.start();
    produce();
    t.stop();
  });
  t.answer(bench::producer_sum(slots));
}

void run_idle_long(trial& t) {
  in_pool(t, [&] {
    std::int64_t own = 0;
    t.start();
    tbb::task_group forks;
    forks.run([&own] { own = bench::spin_for(bench::long_task); });
    forks.wait();
    t.stop();
    t.report_own(own);
  });
}
void run_idle_pool(trial& t) {
  in_pool(t, [&] {
    t.start();
    std::this_thread::sleep_for(std::chrono::nanoseconds{bench::long_task});
    t.stop();
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"tbb", argc, argv};
  me.add("fib", run_fib);
  me.add("nqueens", run_nqueens);
  me.add("skynet", run_skynet);
  me.add("uts", run_uts);
  me.add("producer", run_producer);
  me.add("idle_long", run_idle_long);
  me.add("idle_pool", run_idle_pool);
  return me.run();
}
