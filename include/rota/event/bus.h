// What nodes have in common: the transport that carries their messages, and the tasks that run
// their handlers.
//
//   rota::runtime rt;
//   rota::bus bus{rt};                    // "inproc:", within the process
//   rota::node camera{bus, "camera"};
//
// Lifetime: longer than its nodes, shorter than the runtime. Threads: everything is anyone's.
// Promised: nodes of one bus reach each other, those of two do not. `starvation_free` is one of a
// bus: its handlers share one schedule.
#ifndef ROTA_EVENT_BUS_H
#define ROTA_EVENT_BUS_H

#include <rota/event/transport.h>
#include <rota/task/runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace rota {

// What the handlers of a bus have done.
struct bus_statistics {
  std::size_t handlers = 0;
  std::size_t queued = 0;   // that wait for their turn
  std::uint64_t runs = 0;   // of handlers
  std::uint64_t steps = 0;  // in which triggered handlers were queued, all at once
  // Runs of others that came before a triggered handler's own, at most.
  std::uint64_t max_passed = 0;

  // What max_passed cannot exceed (`starvation_free`): each other handler once.
  std::uint64_t bound = 0;
};

class bus {
 public:
  // `address` names a transport: "inproc:", "loop:" for tests, or what an add-on has registered.
  // Throws std::invalid_argument if there is none of that name.
  explicit bus(runtime& rt, std::string_view address = "inproc:");

  // With a transport of one's own, or of rota::faulty (fault.h).
  using maker = std::function<std::unique_ptr<transport>(detail::executor&)>;
  bus(runtime& rt, const maker& make);

  bus(const bus&) = delete;
  bus& operator=(const bus&) = delete;
  ~bus();

  // All topics and services, and who is at their ends.
  rota::graph graph() const;

  transport_capabilities capabilities() const;
  bus_statistics statistics() const;
  runtime& home() const noexcept;

  // For the layers of Rota.
  class state;
  const detail::counted_ptr<state>& get() const noexcept { return state_; }

 private:
  // Shared with publishers and clients, which may outlive it.
  const detail::counted_ptr<state> state_;
};

}  // namespace rota

#endif
