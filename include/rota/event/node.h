// A part of a program that handles events: messages of topics, requests of services, timers.
//
//   rota::node robot{bus, "robot"};
//   auto out = robot.advertise<pose>("/pose");
//   robot.subscribe<scan>("/scan", rota::qos{}.with_depth(4), [out](const scan& s) {
//     out.publish(locate(s));
//   });
//   robot.serve<add, int>("/add", [](const add& a) { return a.x + a.y; });
//   robot.every(100ms, [] { blink(); });
//
// A function handles an event and returns; a coroutine (rota::task<void>) may await in between and
// has the next event when it has ended; rota::on(cown, f) runs f as a behaviour, alone with the
// cown's value. Messages come as const M&, as rota::message<M> to be kept, or as M&& to be owned:
// moved if nobody else has it, otherwise copied. One that cannot be copied is not given to who
// wants to own it while others have it: that counts as a failure of the handler (message.h).
//
// Promised:
// - `starvation_free`: with N handlers on the bus, one that has an event is passed by at most N - 1
//   runs of others before its turn; bus::statistics counts. Among those that got their first event
//   together, timers come before subscribers, servers and clients.
// - `never_reentered`: one event of a handler at a time, and of the node one handler at a time
//   unless handler_options name another group.
// - A run takes at most handler_options::budget events, and about a millisecond.
// - A handler that throws is reported to options::on_unobserved, and goes on with the next event.
//
// Threads: everything is anyone's; to await is for tasks.
// Lifetime: shorter than the bus. The destructor stops the node: no handler runs any more when it
// returns, so what they refer to may end after it. Declare that before the node, and capture
// publishers and clients by value. Not from inside of one of its own handlers.
#ifndef ROTA_EVENT_NODE_H
#define ROTA_EVENT_NODE_H

#include <rota/event/bus.h>
#include <rota/event/core.h>
#include <rota/event/handled.h>
#include <rota/event/message.h>
#include <rota/event/options.h>
#include <rota/event/qos.h>
#include <rota/event/service.h>
#include <rota/event/subscription.h>
#include <rota/event/ticker.h>
#include <rota/event/topic.h>
#include <rota/event/transport.h>
#include <rota/task/task.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rota {

enum class node_phase : std::uint8_t {
  starting,  // events are kept, and no handler runs
  running,
  draining,  // nothing new comes in, what is there is handled
  stopped,   // nothing runs any more
};

// For a node that is to be started later: node robot{bus, "robot", rota::hold}.
struct hold_t {
  explicit hold_t() = default;
};
inline constexpr hold_t hold{};

class node {
 public:
  // Runs at once.
  node(rota::bus& on, std::string name);
  // Runs once start() is called: when all its handlers are there.
  node(rota::bus& on, std::string name, hold_t);
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  ~node();

  const std::string& name() const noexcept;
  node_phase phase() const noexcept;

  // --- its life ---

  void start();

  // Takes nothing new, handles what is there, then stops; starts first if it was held. For tasks;
  // elsewhere rt.run(node.drain()).
  task<void> drain();

  // Drops what waits, asks coroutines to stop, and waits until nothing runs.
  void stop() noexcept;

  // --- topics ---

  template <class M>
  publisher<M> advertise(std::string topic, const qos& q = {}) {
    return publisher<M>{advertise(end_of<M>(std::move(topic), q))};
  }

  template <class M, class F>
  subscription subscribe(std::string topic, const qos& q, F f) {
    return subscribe<M>(std::move(topic), q, handler_options{}, std::move(f));
  }
  template <class M, class F>
  subscription subscribe(std::string topic, const qos& q, const handler_options& o, F f) {
    const endpoint e = end_of<M>(std::move(topic), q);
    const start_of s = check(e, o, "subscriber of ");
    auto h =
        detail::make_handler<detail::message_source<M>>(std::move(f), s.home, s.name, q, o, s.held);
    return add_subscription(e, o, std::move(h));
  }

  // --- services ---

  template <class Request, class Reply, class F>
  server serve(std::string service, F f) {
    return serve<Request, Reply>(std::move(service), handler_options{}, std::move(f));
  }
  template <class Request, class Reply, class F>
  server serve(std::string service, const handler_options& o, F f) {
    const endpoint e = ends_of<Request, Reply>(std::move(service));
    const start_of s = check(e, o, "server of ");
    auto h = detail::make_handler<detail::request_source<Request, Reply>>(std::move(f), s.home,
                                                                          s.name, o.budget);
    return add_server(e, o, std::move(h));
  }

  // At most `max_pending` calls are under way at once. A client that nobody has any more is let go
  // once its calls have ended, so one may as well be made for each call.
  template <class Request, class Reply>
  rota::client<Request, Reply> client(std::string service, std::size_t max_pending = 64,
                                      const handler_options& o = {}) {
    const endpoint e = ends_of<Request, Reply>(std::move(service));
    auto [shared, answers] = add_client(e, max_pending, o);
    return rota::client<Request, Reply>{std::move(shared), std::move(answers)};
  }

  // --- timers ---

  // Calls f() or f(const firing&) every so often, without drift. At most one firing waits; those
  // that are missed meanwhile are counted (firing::missed).
  template <class F>
  registration every(std::chrono::nanoseconds period, F f) {
    return every(period, handler_options{}, std::move(f));
  }
  template <class F>
  registration every(std::chrono::nanoseconds period, const handler_options& o, F f) {
    const start_of s = check_timer(period, o);
    auto h = detail::make_handler<detail::ticker>(std::move(f), s.home, s.name, period, s.held);
    return add_timer(o, std::move(h));
  }

 private:
  // What a handler is made with.
  struct start_of {
    detail::executor& home;
    std::string name;
    bool held;
  };

  template <class M>
  endpoint end_of(std::string name, const qos& q) const {
    return {std::move(name), this->name(), &detail::message_of<M>::type_of(), nullptr, q};
  }
  template <class Request, class Reply>
  endpoint ends_of(std::string name) const {
    return {std::move(name),
            this->name(),
            &detail::message_of<Request>::type_of(),
            &detail::message_of<Reply>::type_of(),
            {}};
  }

  // Throw std::invalid_argument for what cannot be.
  start_of check(const endpoint& e, const handler_options& o, const char* what) const;
  start_of check_timer(std::chrono::nanoseconds period, const handler_options& o) const;

  detail::counted_ptr<detail::publisher_state> advertise(const endpoint& e);
  subscription add_subscription(const endpoint& e, const handler_options& o,
                                detail::counted_ptr<detail::subscription_base> h);
  server add_server(const endpoint& e, const handler_options& o,
                    detail::counted_ptr<detail::server_base> h);
  std::pair<detail::counted_ptr<detail::client_state>, detail::counted_ptr<detail::client_base>>
  add_client(const endpoint& e, std::size_t max_pending, const handler_options& o);
  registration add_timer(const handler_options& o, detail::counted_ptr<detail::ticker> h);

  class state;
  detail::counted_ptr<state> state_;
};

}  // namespace rota

#endif
