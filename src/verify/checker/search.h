// The breadth-first search: all states, level by level, and what is wrong with them.
//
// All workers expand one level together, in small portions. They meet at its end and whenever the
// table has to grow. So depths are exact, and the first violation of a property is a shortest one.
#ifndef ROTA_VERIFY_CHECKER_SEARCH_H
#define ROTA_VERIFY_CHECKER_SEARCH_H

#include <rota/verify/checker/check.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "verify/checker/meeting.h"
#include "verify/checker/state_table.h"

namespace rota::verify::detail {

inline constexpr auto tells_every = std::chrono::milliseconds(500);

class search {
 public:
  search(const system& s, const check_options& o, std::vector<std::size_t> properties);
  ~search();

  void run();

  // Adds what was found to the result.
  void report(check_result& r) const;

  outcome how() const noexcept { return how_; }
  const state_table& table() const noexcept { return table_; }

  // The way to a state that is in the table, from an initial one.
  trace trace_to(state_id id) const;
  void extend(trace& t, const word* to) const;

 private:
  struct source;
  struct worker;
  struct violation {
    state_id from = no_state;  // the state before, none if the state is an initial one
    std::vector<word> state;
  };

  void add_initial();
  void work(worker& w, bool reports);
  bool expand_some(worker& w);
  void expand(worker& w, state_id id);
  void finish_batch(worker& w);
  bool take(worker& w, const word* s, state_table::hash_value h, state_id from);
  void meet(bool level_is_done);
  void turn(unsigned done);
  void look_at(const word* s, state_id from);
  void violated(std::size_t property, const word* s, state_id from);
  void stop(outcome why) noexcept;
  void fail(std::exception_ptr e) noexcept;
  progress now() const;
  std::size_t bytes() const noexcept;
  void tell();

  const system& system_;
  const check_options& options_;
  const std::vector<std::size_t> properties_;
  std::vector<std::size_t> invariants_;
  std::optional<std::size_t> deadlock_free_;
  const real_sync::time_point began_ = real_sync::now();

  const std::uint64_t counts_every_;  // new states of a worker between two additions to the sum

  state_table table_;
  std::vector<std::unique_ptr<worker>> workers_;
  meeting meeting_;
  std::vector<state_id> level_;
  real_sync::atomic<std::size_t> taken_{0};     // of level_
  real_sync::atomic<std::uint64_t> states_{0};  // about: workers add in portions
  real_sync::atomic<bool> crowded_{false};
  real_sync::atomic<bool> stopping_{false};
  std::size_t initial_ = 0;
  bool finished_ = false;  // set in a turn
  std::uint32_t depth_ = 0;
  std::vector<std::size_t> widths_;
  real_sync::time_point told_ = began_;

  mutable real_sync::mutex lock_;
  outcome how_ = outcome::complete;                   // guarded by lock_
  std::exception_ptr failure_;                        // guarded by lock_
  std::vector<std::optional<violation>> violations_;  // by property; guarded by lock_
  std::vector<real_sync::atomic<bool>> is_violated_;
};

}  // namespace rota::verify::detail

#endif
