// A bus that fails as networks do, by plan: for testing nodes.
//
//   rota::faults rough{rota::fault_plan{}.with_seed(7).with_drop(0.1).with_delay(0.5, 1ms, 5ms)};
//   rota::bus bus{rt, rota::faulty("inproc:", rough)};
//   ...
//   rough.counters().dropped;
//
//   rota::faults link{rota::fault_plan{}.with_cuts()};
//   rota::bus bus{rt, rota::faulty("loop:", link)};
//   link.cut();  ...  link.mend();
//
// Faults happen to each message on its way to each subscriber, to requests and to replies. What a
// program sees of them:
//
//                a message                    a request                    a reply
//   dropped      does not come                the call ends by timeout     the call ends by timeout
//   duplicated   is handled twice             may be handled twice; the    nobody notices
//                                             first answer counts
//   delayed      comes later, in order        the same                     the same
//   reordered    others may overtake it       the same                     the same
//   cut          does not come                the call is lost at once; if the cut is silent, it
//                                             ends by timeout
//
// Promised: what happens is decided by the seed alone, for each link by itself: the third message
// from a topic to a node is dropped in every run or in none. A link is a topic and a subscriber
// (those of one node are numbered as they come), or a service and a node that calls it or serves
// it. What is not dropped arrives in order, unless it is reordered. A bus whose plan is empty is
// as good as the one underneath; otherwise its capabilities say what it cannot keep:
//
//   reliable     nothing is dropped, duplicated, reordered or cut
//   blocks       it is reliable, and nothing is delayed
//
// Not promised: that a publisher is told. What is dropped or delayed counts as taken (topic.h), as
// it would on a network.
//
// Threads: everything is anyone's. Lifetime: the handle and its buses share what they need; what is
// on its way to a node that ends is forgotten.
#ifndef ROTA_EVENT_FAULT_H
#define ROTA_EVENT_FAULT_H

#include <rota/event/bus.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace rota {

// What goes wrong, how often. With setters rather than as an aggregate: see options.h of the pool.
class fault_plan {
 public:
  std::uint64_t seed = 1;

  // Probabilities, from 0 to 1.
  double drop = 0;
  double duplicate = 0;

  // Some take a time between these two, each equally likely.
  double delay = 0;
  std::chrono::nanoseconds delay_from{0};
  std::chrono::nanoseconds delay_until{0};

  // Some are held back for up to this time, and what is sent meanwhile overtakes them.
  double reorder = 0;
  std::chrono::nanoseconds reorder_within{0};

  // Nothing gets through between these two, counted from when the bus was made.
  std::chrono::nanoseconds cut_from{0};
  std::chrono::nanoseconds cut_until{0};

  // faults::cut() may be called.
  bool cuts = false;

  // Calls are not told that the way is cut.
  bool silent = false;

  fault_plan& with_seed(std::uint64_t s) & { return seed = s, *this; }
  fault_plan&& with_seed(std::uint64_t s) && { return std::move(with_seed(s)); }
  fault_plan& with_drop(double p) & { return drop = p, *this; }
  fault_plan&& with_drop(double p) && { return std::move(with_drop(p)); }
  fault_plan& with_duplicate(double p) & { return duplicate = p, *this; }
  fault_plan&& with_duplicate(double p) && { return std::move(with_duplicate(p)); }
  fault_plan& with_delay(double p, std::chrono::nanoseconds from,
                         std::chrono::nanoseconds until) & {
    return delay = p, delay_from = from, delay_until = until, *this;
  }
  fault_plan&& with_delay(double p, std::chrono::nanoseconds from,
                          std::chrono::nanoseconds until) && {
    return std::move(with_delay(p, from, until));
  }
  fault_plan& with_reorder(double p, std::chrono::nanoseconds within) & {
    return reorder = p, reorder_within = within, *this;
  }
  fault_plan&& with_reorder(double p, std::chrono::nanoseconds within) && {
    return std::move(with_reorder(p, within));
  }
  fault_plan& with_cut(std::chrono::nanoseconds from, std::chrono::nanoseconds until) & {
    return cut_from = from, cut_until = until, *this;
  }
  fault_plan&& with_cut(std::chrono::nanoseconds from, std::chrono::nanoseconds until) && {
    return std::move(with_cut(from, until));
  }
  fault_plan& with_cuts(bool on = true) & { return cuts = on, *this; }
  fault_plan&& with_cuts(bool on = true) && { return std::move(with_cuts(on)); }
  fault_plan& with_silence(bool on = true) & { return silent = on, *this; }
  fault_plan&& with_silence(bool on = true) && { return std::move(with_silence(on)); }

  // Whether something that is sent may not come, or not as it was sent.
  bool loses() const noexcept {
    return drop > 0 || duplicate > 0 || reorder > 0 || cuts || cut_from < cut_until;
  }
};

// What was sent over a bus, and what was done to it.
struct fault_counters {
  std::uint64_t messages = 0;  // sent, once for each subscriber
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
  std::uint64_t cut = 0;
};

namespace detail {
class fault_state;
}

// The faults of a bus, or of several. Copies are the same faults.
class faults {
 public:
  // Throws std::invalid_argument if the plan has no meaning: a probability above 1, say.
  faults(fault_plan plan);

  const fault_plan& plan() const noexcept;
  fault_counters counters() const noexcept;

  // From now on nothing gets through, until mend(). What is on its way arrives. Throws
  // std::logic_error if the plan is not made with_cuts().
  void cut();
  void mend() noexcept;
  bool is_cut() const noexcept;

 private:
  friend bus::maker faulty(std::string address, faults f);
  std::shared_ptr<detail::fault_state> state_;
};

// A bus like that of the address, with these faults; a plan will do.
bus::maker faulty(std::string address, faults f);

}  // namespace rota

#endif
