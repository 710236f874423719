// Whether a worker is of use: measured, not guessed.
//
// Short steps that touch the same memory can take longer on two cores together than on one alone,
// and being woken for a job that its owner was about to run costs both more than it brings. So a
// worker tries now and then how the pool does without it: it works for a while, keeps away for a
// while, and compares what all workers got done. If it makes too little difference it rests, longer
// each time, and tries again.
//
//   works   --trial--> rests a little: all others were about as fast? --yes--> rests longer
//     ^                                 |no                                      |
//     +---------------------------------+      works a little, and again  <------+
//
// What is done is counted in steps. Steps that take long cannot be slow for such reasons, so there
// is no trial, and a rest ends when short steps become long ones. But a long step that sends
// messages one after the other suffers from company just so, when the worker takes them from under
// its hands: so messages are counted too, and who makes such a sender take a third longer is of no
// use either.
//
// Nobody rests while jobs wait long or come from outside; that is the worker's to see to.
//
// Threads: one worker's.
#ifndef ROTA_POOL_REST_POLICY_H
#define ROTA_POOL_REST_POLICY_H

#include <rota/base/inspect.h>
#include <rota/base/sync.h>

#include <chrono>
#include <cstdint>

namespace rota::detail {

// What all workers have done so far.
struct work_done {
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
};

class rest_policy {
 public:
  // Made at `now`; no worker is tried at once, since those who begin find little to do.
  rest_policy(std::chrono::nanoseconds longest, sync::time_point now) noexcept;

  // Whether it is time for wants_rest(). Cheap.
  bool is_due(sync::time_point now) const noexcept { return now >= due_; }

  // Whether a trial is under way: it works, and counts.
  bool counts() const noexcept { return counts_; }

  // The worker works, or looks for work; the pool has done so much by now. True: it should rest for
  // rest_length(), and then call rested().
  bool wants_rest(sync::time_point now, work_done work) noexcept;
  std::chrono::nanoseconds rest_length() const noexcept { return rest_; }

  // Who rests asks so often, in time: whether the others still take short steps. If they do not,
  // jobs may wait behind a long one, and the rest is over; as if it were whole if that step sends.
  static constexpr std::chrono::milliseconds glance{2};
  enum class view : std::uint8_t { short_steps, a_sender, long_steps };
  view look(sync::time_point now, work_done work) noexcept;

  // It has rested, while `others` did not. True: it was of use, or there is nothing to say, since
  // the rest was not whole, and the trial is over.
  bool rested(sync::time_point now, work_done work, unsigned others, bool whole) noexcept;

  // The trial cannot be now.
  void postpone(sync::time_point now) noexcept;

 private:
  std::chrono::nanoseconds first_rest() const noexcept;

  // A nanosecond.
  struct rates {
    double steps = 0;
    double messages = 0;
  };

  // What was done, and when.
  struct count {
    sync::time_point at{};
    work_done work;
    rates until(sync::time_point now, work_done work_now) const noexcept;
  };

  friend struct inspect;

  const std::chrono::nanoseconds longest_rest_;
  sync::time_point due_;
  std::chrono::nanoseconds between_;  // two trials
  std::chrono::nanoseconds rest_;

  bool counts_ = false;
  count began_;   // the trial, or the rest
  count glance_;  // the last one
  rates with_;    // before the rest
};

}  // namespace rota::detail

#endif
