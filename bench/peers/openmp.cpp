// How fast do OpenMP tasks fork and join? One task per call, `taskwait` to join.
// Built twice: by g++ for libgomp, by clang++ for libomp.
#include <omp.h>

#include <thread>

#include "../duel.h"
#include "../work.h"

namespace {

using bench::trial;

std::int64_t fib(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t a = 0;
#pragma omp task shared(a) firstprivate(n)
  a = fib(n - 1);
  const std::int64_t b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

std::int64_t nqueens(const bench::board& b, int row, int n) {
  if (row == n) return 1;
  std::array<std::int64_t, 16> counts{};
  for (int col = 0; col < n; ++col) {
    if (!b.safe(row, col)) continue;
    const bench::board next = b.with(row, col);
#pragma omp task shared(counts) firstprivate(next, row, col, n)
    counts[static_cast<std::size_t>(col)] = nqueens(next, row + 1, n);
  }
#pragma omp taskwait
  std::int64_t sum = 0;
  for (std::int64_t c : counts) sum += c;
  return sum;
}

std::int64_t skynet(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::array<std::int64_t, 10> sums{};
  for (int i = 0; i < 10; ++i) {
#pragma omp task shared(sums) firstprivate(first, size, i)
    sums[static_cast<std::size_t>(i)] = skynet(first + i * (size / 10), size / 10);
  }
#pragma omp taskwait
  std::int64_t sum = 0;
  for (std::int64_t s : sums) sum += s;
  return sum;
}

std::int64_t uts(bench::uts_node node, int limit) {
  const int children = bench::uts_children(node, limit);
  if (children == 0) return 1;
  std::array<std::int64_t, bench::uts_max_children> counts;
  for (int i = 0; i < children; ++i) {
    const bench::uts_node child = bench::uts_child(node, i);
#pragma omp task shared(counts) firstprivate(child, limit, i)
    counts[static_cast<std::size_t>(i)] = uts(child, limit);
  }
#pragma omp taskwait
  std::int64_t sum = 1;
  for (int i = 0; i < children; ++i) sum += counts[static_cast<std::size_t>(i)];
  return sum;
}

void produce(std::uint32_t* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
#pragma omp task firstprivate(out, i)
    out[i] = bench::producer_value(i);
  }
#pragma omp taskwait
}

// Runs `f` once, with a warm team around it that takes part in its tasks.
template <class F>
void in_team(trial& t, F f) {
  const int workers = static_cast<int>(t.workers());
#pragma omp parallel num_threads(workers)
#pragma omp single
  {
    bench::keep(fib(20));
    f();
  }
}

template <class F>
void measure(trial& t, F f) {
  in_team(t, [&] {
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
  in_team(t, [&] {
    produce(slots.data(), t.n());
    t.start();
    produce(slots.data(), t.n());
    t.stop();
  });
  t.answer(bench::producer_sum(slots));
}

void run_idle_long(trial& t) {
  in_team(t, [&] {
    std::int64_t own = 0;
    t.start();
#pragma omp task shared(own)
    own = bench::spin_for(bench::long_task);
#pragma omp taskwait
    t.stop();
    t.report_own(own);
  });
}
void run_idle_pool(trial& t) {
  in_team(t, [] {});
  t.start();
  std::this_thread::sleep_for(std::chrono::nanoseconds{bench::long_task});
  t.stop();
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"openmp", argc, argv};
  me.add("fib", run_fib);
  me.add("nqueens", run_nqueens);
  me.add("skynet", run_skynet);
  me.add("uts", run_uts);
  me.add("producer", run_producer);
  me.add("idle_long", run_idle_long);
  me.add("idle_pool", run_idle_pool);
  return me.run();
}
