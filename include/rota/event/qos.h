// How messages get from a publisher to a subscriber.
//
//   const auto patient = rota::qos{}.with_depth(4).with_overflow(rota::overflow::block);
//   node.subscribe<scan>("/scan", patient, f);
//
// The subscriber's quality of service says what happens in its queue; the publisher's, whether the
// last message is kept for those who come later. A bus that cannot keep what is asked for says so
// when the publisher or subscriber is made: std::invalid_argument.
//
// Promised: no queue is longer than its depth, but for messages of behaviours (topic.h); what is
// dropped is counted. Threads: as any value.
#ifndef ROTA_EVENT_QOS_H
#define ROTA_EVENT_QOS_H

#include <chrono>
#include <cstddef>
#include <utility>

namespace rota {

enum class reliability {
  best_effort,  // the bus may lose messages on the way
  reliable,     // what is not delivered is counted, and never lost on the way
};

// What happens to a message for a subscriber whose queue is full.
enum class overflow {
  drop_oldest,  // it takes the place of the oldest, which is dropped and counted
  drop_newest,  // it is dropped and counted
  block,        // the publishing task waits, the publishing behaviour is muted
  fail,         // it is dropped and counted, and the publisher is told (delivery::refused)
};

// With setters rather than as an aggregate: see options.h of the pool.
class qos {
 public:
  // Messages that wait for the handler, at most.
  std::size_t depth = 16;

  rota::reliability reliability = rota::reliability::reliable;
  rota::overflow overflow = rota::overflow::drop_oldest;

  // Of a publisher: its last message is kept. Of a subscriber: it gets what was kept.
  bool late_joiner = false;

  // A message that is older when its turn comes is dropped and counted as expired. Zero: never.
  std::chrono::nanoseconds lifespan{0};

  // If no message comes for so long, that is counted and told to handler_options::on_event. Zero:
  // nobody waits.
  std::chrono::nanoseconds deadline{0};

  qos& with_depth(std::size_t messages) & { return depth = messages, *this; }
  qos&& with_depth(std::size_t messages) && { return depth = messages, std::move(*this); }
  qos& with_reliability(rota::reliability r) & { return reliability = r, *this; }
  qos&& with_reliability(rota::reliability r) && { return reliability = r, std::move(*this); }
  qos& with_overflow(rota::overflow o) & { return overflow = o, *this; }
  qos&& with_overflow(rota::overflow o) && { return overflow = o, std::move(*this); }
  qos& with_late_joiner(bool on = true) & { return late_joiner = on, *this; }
  qos&& with_late_joiner(bool on = true) && { return late_joiner = on, std::move(*this); }
  qos& with_lifespan(std::chrono::nanoseconds d) & { return lifespan = d, *this; }
  qos&& with_lifespan(std::chrono::nanoseconds d) && { return lifespan = d, std::move(*this); }
  qos& with_deadline(std::chrono::nanoseconds d) & { return deadline = d, *this; }
  qos&& with_deadline(std::chrono::nanoseconds d) && { return deadline = d, std::move(*this); }
};

}  // namespace rota

#endif
