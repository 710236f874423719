// The work that fork-join contestants share, so that only the forking differs.
//
// | scenario  | --n | a task is                                | tasks            |
// | fib       | 32  | one call, no cut-off                     | 2 fib(n + 1) - 1 |
// | nqueens   | 11  | one queen placed safely                  | 166,925          |
// | skynet    | 1e6 | a node with ten children, or a leaf      | 1.11 n           |
// | uts       | 10  | a node of an unbalanced, hashed tree     | see uts_children |
// | producer  | 1e6 | one store; a single task forks all of it | n                |
#ifndef ROTA_BENCH_WORK_H
#define ROTA_BENCH_WORK_H

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bench {

// Sizes that are the same for every contestant.
inline constexpr std::int64_t wave = 1000;              // tasks in flight in spawn_waves
inline constexpr std::int64_t yielders = 10;            // tasks that take turns in yield
inline constexpr std::int64_t long_task = 300'000'000;  // ns of the long task in idle_*
inline constexpr std::int64_t sleep_request = 100'000;  // ns asked for in sleep

// Timers are due between 4 and 5 s after the start, in scrambled order: late
// enough for every contestant to have set and cancelled before the first is due.
inline std::int64_t timer_delay_ms(std::int64_t i) { return 4000 + (i * 7919) % 1000; }

// The n queens problem, row by row.
struct board {
  std::array<signed char, 16> column{};

  // Whether a queen in `row` at `col` attacks none of the rows before.
  bool safe(int row, int col) const {
    for (int r = 0; r < row; ++r) {
      const int d = column[static_cast<std::size_t>(r)] - col;
      if (d == 0 || d == row - r || d == r - row) return false;
    }
    return true;
  }

  board with(int row, int col) const {
    board b = *this;
    b.column[static_cast<std::size_t>(row)] = static_cast<signed char>(col);
    return b;
  }
};

// A tree whose shape follows from hashing, in the manner of the Unbalanced Tree
// Search benchmark: geometric with four children on average, cut at a depth.
struct uts_node {
  std::uint64_t state = 42;
  int depth = 0;
};

inline constexpr int uts_max_children = 24;

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

inline int uts_children(const uts_node& node, int depth_limit) {
  if (node.depth >= depth_limit) return 0;
  if (node.depth == 0) return 4;
  const double u = static_cast<double>(mix(node.state) >> 11) * 0x1p-53;
  const int m = static_cast<int>(std::log1p(-u) / std::log(0.8));
  return m < uts_max_children ? m : uts_max_children;
}

inline uts_node uts_child(const uts_node& node, int i) {
  return {mix(node.state ^ mix(static_cast<std::uint64_t>(i) + 1)), node.depth + 1};
}

// Where the tasks of a single producer leave their results.
inline std::vector<std::uint32_t> producer_slots(std::int64_t n) {
  return std::vector<std::uint32_t>(static_cast<std::size_t>(n), 1);
}

inline std::int64_t producer_sum(const std::vector<std::uint32_t>& slots) {
  std::int64_t sum = 0;
  for (std::uint32_t s : slots) sum += s;
  return sum;
}

// Value that the i-th task of a single producer stores.
inline std::uint32_t producer_value(std::int64_t i) { return static_cast<std::uint32_t>(i & 7); }

}  // namespace bench

#endif
