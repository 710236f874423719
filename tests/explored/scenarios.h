// The shipped code as programs to explore: one file for each layer, all in rota_explored_scenarios.
//
//   const add mine{{
//       {"park.flag_1", "one producer raises a flag", flags<1>, all()},
//   }};
//
// A budget is what a scenario gets in the tests, on a machine that does other things as well. Where
// an exhaustive search does not end within it, the scenario names another strategy.
//
// CMake finds the scenarios by lines that begin with  {"LAYER.WHAT",  and makes each a test.
#ifndef ROTA_TESTS_EXPLORED_SCENARIOS_H
#define ROTA_TESTS_EXPLORED_SCENARIOS_H

#include <rota/verify/explore/driver.h>

#include <cstdint>
#include <vector>

namespace rota::scenarios {

namespace explore = rota::explore;
using word = explore::atomic<std::uint32_t>;
using number = explore::cell<int>;

inline std::vector<explore::scenario>& known() {
  static std::vector<explore::scenario> all;
  return all;
}

struct add {
  explicit add(const std::vector<explore::scenario>& some) {
    known().insert(known().end(), some.begin(), some.end());
  }
};

// Every schedule. A limit is there only so that a mistake does not run for hours.
inline explore::options all(double seconds = 60) {
  explore::options o;
  o.max_seconds = seconds;
  o.max_steps = 2'000;
  return o;
}

// Schedules that meet in a state go on once: for programs that keep what they know inside of
// themselves.
inline explore::options merged(explore::options o) {
  o.merge_states = true;
  return o;
}

// All schedules with few preemptions, or as many of them as the time allows.
inline explore::options bounded(unsigned preemptions, double seconds) {
  explore::options o = all(seconds);
  o.how = explore::strategy::bounded;
  o.preemptions = preemptions;
  return o;
}

inline explore::options pct(unsigned changes, double seconds) {
  explore::options o = all(seconds);
  o.how = explore::strategy::pct;
  o.changes = changes;
  o.max_schedules = ~std::uint64_t{0};
  o.max_steps = 20'000;
  return o;
}

inline explore::options random(double seconds) {
  explore::options o = pct(0, seconds);
  o.how = explore::strategy::random;
  return o;
}

// Joins at the end of its scope.
class together {
 public:
  together() = default;
  together(const together&) = delete;
  together& operator=(const together&) = delete;
  ~together() { join(); }

  template <class F>
  void run(F&& f) {
    threads_.emplace_back(std::forward<F>(f));
  }
  void join() {
    for (explore::thread& t : threads_) t.join();
    threads_.clear();
  }

 private:
  std::vector<explore::thread> threads_;
};

}  // namespace rota::scenarios

#endif
