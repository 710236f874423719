// What does the work itself cost, without any library? One thread, plain calls.
#include "../duel.h"
#include "../work.h"

namespace {

using bench::trial;

[[gnu::noinline]] std::int64_t fib(std::int64_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

[[gnu::noinline]] std::int64_t nqueens(bench::board b, int row, int n) {
  if (row == n) return 1;
  std::int64_t count = 0;
  for (int col = 0; col < n; ++col) {
    if (b.safe(row, col)) count += nqueens(b.with(row, col), row + 1, n);
  }
  return count;
}

[[gnu::noinline]] std::int64_t skynet(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += skynet(first + i * (size / 10), size / 10);
  return sum;
}

[[gnu::noinline]] std::int64_t uts(bench::uts_node node, int limit) {
  std::int64_t count = 1;
  const int children = bench::uts_children(node, limit);
  for (int i = 0; i < children; ++i) count += uts(bench::uts_child(node, i), limit);
  return count;
}

[[gnu::noinline]] void store(std::uint32_t& slot, std::int64_t i) {
  slot = bench::producer_value(i);
}

template <class F>
void measure(trial& t, F f) {
  t.start();
  const std::int64_t result = f();
  t.stop();
  t.answer(result);
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
    for (std::int64_t i = 0; i < t.n(); ++i) store(slots[static_cast<std::size_t>(i)], i);
  };
  produce();
  t.start();
  produce();
  t.stop();
  t.answer(bench::producer_sum(slots));
}

}  // namespace

int main(int argc, char** argv) {
  bench::contestant me{"serial", argc, argv};
  me.add("fib", run_fib);
  me.add("nqueens", run_nqueens);
  me.add("skynet", run_skynet);
  me.add("uts", run_uts);
  me.add("producer", run_producer);
  return me.run();
}
