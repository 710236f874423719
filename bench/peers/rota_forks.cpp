// How fast does Rota fork and join? `fork_scope` with one fork per call.
#include <rota/rota.h>

#include "../work.h"
#include "rota.h"

namespace {

using bench::trial;
using rota::task;

task<std::int64_t> fib(std::int64_t n) {
  if (n < 2) co_return n;
  rota::fork_scope forks;
  std::int64_t a = 0;
  co_await forks.fork(a, fib(n - 1));
  const std::int64_t b = co_await fib(n - 2);
  co_await forks.join();
  co_return a + b;
}

task<std::int64_t> nqueens(bench::board b, int row, int n) {
  if (row == n) co_return 1;
  std::array<std::int64_t, 16> counts{};
  rota::fork_scope forks;
  for (int col = 0; col < n; ++col) {
    if (b.safe(row, col)) {
      co_await forks.fork(counts[static_cast<std::size_t>(col)],
                          nqueens(b.with(row, col), row + 1, n));
    }
  }
  co_await forks.join();
  std::int64_t sum = 0;
  for (std::int64_t c : counts) sum += c;
  co_return sum;
}

task<std::int64_t> skynet(std::int64_t first, std::int64_t size) {
  if (size == 1) co_return first;
  std::array<std::int64_t, 10> sums{};
  rota::fork_scope forks;
  for (int i = 0; i < 10; ++i) {
    co_await forks.fork(sums[static_cast<std::size_t>(i)],
                        skynet(first + i * (size / 10), size / 10));
  }
  co_await forks.join();
  std::int64_t sum = 0;
  for (std::int64_t s : sums) sum += s;
  co_return sum;
}

task<std::int64_t> uts(bench::uts_node node, int limit) {
  const int children = bench::uts_children(node, limit);
  if (children == 0) co_return 1;
  std::array<std::int64_t, bench::uts_max_children> counts;
  rota::fork_scope forks;
  for (int i = 0; i < children; ++i) {
    co_await forks.fork(counts[static_cast<std::size_t>(i)], uts(bench::uts_child(node, i), limit));
  }
  co_await forks.join();
  std::int64_t sum = 1;
  for (int i = 0; i < children; ++i) sum += counts[static_cast<std::size_t>(i)];
  co_return sum;
}

task<> store(std::uint32_t& slot, std::int64_t i) {
  slot = bench::producer_value(i);
  co_return;
}

task<std::int64_t> produce(std::vector<std::uint32_t>& slots) {
  rota::fork_scope forks;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    co_await forks.fork(store(slots[i], static_cast<std::int64_t>(i)));
  }
  co_await forks.join();
  co_return 0;
}

// Warms the workers up, then measures the root task.
task<> measured(trial& t, task<std::int64_t> warm, task<std::int64_t> root) {
  bench::keep(co_await std::move(warm));
  t.start();
  const std::int64_t result = co_await std::move(root);
  t.stop();
  t.answer(result);
}

void measure(trial& t, task<std::int64_t> warm, task<std::int64_t> root) {
  rota::run(measured(t, std::move(warm), std::move(root)),
            rota::options{}.with_workers(t.workers()));
}

void run_fib(trial& t) { measure(t, fib(20), fib(t.n())); }
void run_nqueens(trial& t) { measure(t, fib(20), nqueens({}, 0, static_cast<int>(t.n()))); }
void run_skynet(trial& t) { measure(t, fib(20), skynet(0, t.n())); }
void run_uts(trial& t) { measure(t, fib(20), uts({}, static_cast<int>(t.n()))); }
void run_producer(trial& t) {
  auto slots = bench::producer_slots(t.n());
  measure(t, produce(slots), produce(slots));
  t.answer(bench::producer_sum(slots));
}

}  // namespace

void bench::add_forks(contestant& me) {
  me.add("fib", run_fib);
  me.add("nqueens", run_nqueens);
  me.add("skynet", run_skynet);
  me.add("uts", run_uts);
  me.add("producer", run_producer);
}
