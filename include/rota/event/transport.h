// The port to what carries messages, requests and replies: within the process (`inproc:`), or
// further.
//
// A transport moves messages to sinks and calls to servers, and knows nothing of handlers: a sink
// only enqueues, and adds the handler that has got its first event to a trigger_list, which
// triggers when the transport has given its locks back. So whatever a transport calls here returns
// at once.
//
// A bus has one transport (bus.h).
//
//   rota::register_transport("can", [](detail::executor& home, std::string_view address) { ... });
//   rota::bus bus{rt, "can:vcan0"};
//
// Promised by every transport: what tests/event/transport_test.cpp asks of all of them.
// Threads: everything is anyone's.
#ifndef ROTA_EVENT_TRANSPORT_H
#define ROTA_EVENT_TRANSPORT_H

#include <rota/event/core.h>
#include <rota/event/message.h>
#include <rota/event/qos.h>
#include <rota/task/runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

class bus;

// What a transport can keep. To ask for more is an error when a publisher or subscriber is made.
struct transport_capabilities {
  bool reliable = true;     // loses nothing on the way
  bool late_joiner = true;  // keeps the last message
  bool blocks = true;       // a publisher can wait for a subscriber
  bool in_process = true;   // messages without a codec can be sent
};

// Who is at one end of a topic or service.
struct endpoint {
  std::string name;  // of the topic or service
  std::string node;
  const detail::message_type* type = nullptr;   // of messages, or of requests
  const detail::message_type* reply = nullptr;  // of services
  rota::qos qos;
};

// What there is on a bus: for people and tools.
struct graph {
  struct end {
    std::string node;
    handler_counters counters;
    std::size_t depth = 0;
  };
  struct topic {
    std::string name;
    std::string type;
    std::vector<end> publishers;  // events: what they have published
    std::vector<end> subscribers;
    const detail::message_type* messages = nullptr;  // if an end of it is in this process
  };
  struct service {
    std::string name;
    std::string request;
    std::string reply;
    std::vector<end> servers;
    std::vector<end> clients;
    const detail::message_type* requests = nullptr;  // if an end of it is in this process
    const detail::message_type* replies = nullptr;
  };
  std::vector<topic> topics;      // by name
  std::vector<service> services;  // by name
};

namespace detail {

// Where messages of a topic go: a subscription.
class message_sink {
 public:
  enum class outcome : std::uint8_t {
    taken,    // also if another one was dropped for it
    dropped,  // and counted
    refused,  // and counted; the publisher is to be told
    full,     // the publisher is to wait, or to be muted
  };

  // Takes the message, pointer and all, or leaves it. Its handler is added to `first` if this is
  // its first event.
  virtual outcome offer(message_ref& m, trigger_list& first) noexcept = 0;

  // A message for it came that nobody can read. It counts as dropped, and the handler's on_event is
  // told.
  virtual void missed(trigger_list& first) noexcept = 0;

  // Its handler: who keeps that keeps the sink.
  virtual handler& owner() noexcept = 0;

 protected:
  ~message_sink() = default;
};

// A subscriber without room, and what it should have got.
struct blocked {
  counted_ptr<handler> keep;  // the sink's
  message_ref message;
};

// What became of a message.
struct written {
  std::size_t taken = 0;
  std::size_t refused = 0;
  std::vector<blocked> full;
};

// A call on its way: who made it waits until it is completed, by whoever is first.
class call_state : public counted {
 public:
  enum class status : std::uint8_t { pending, ok, timeout, no_responder, cancelled, lost };

  call_state(message_ref request, sync::time_point deadline) noexcept
      : request_(std::move(request)), deadline_(deadline) {}

  // True for who completes it. `why` is for people.
  bool complete(status s, message_ref reply = {}, std::string why = {}) noexcept;

  // Whether nobody has completed it yet.
  bool is_pending() const noexcept {
    return status_.load(sync::memory_order_relaxed) == code(status::pending);
  }

  // For who was told that it is complete.
  status result() const noexcept;
  message_ref take_reply() noexcept { return std::move(reply_); }
  std::string take_reason() noexcept { return std::move(reason_); }

  // For who has taken the call: its own, to be moved from.
  message_ref& request() noexcept { return request_; }
  sync::time_point deadline() const noexcept { return deadline_; }

  call_state* next = nullptr;  // in the queue of whoever has the call

 protected:
  ~call_state() override = default;

  // Called once, by who has completed it.
  virtual void completed() noexcept = 0;

 private:
  static constexpr std::uint8_t code(status s) noexcept { return static_cast<std::uint8_t>(s); }
  static constexpr std::uint8_t completing = 0xFF;  // claimed; the reply is being stored

  sync::atomic<std::uint8_t> status_{0};
  message_ref request_;
  message_ref reply_;
  std::string reason_;
  const sync::time_point deadline_;
};

using call_ref = counted_ptr<call_state>;

// Where requests of a service go: a server.
class request_sink {
 public:
  // Its handler, which is triggered when there are requests to take.
  virtual handler& owner() noexcept = 0;

 protected:
  ~request_sink() = default;
};

}  // namespace detail

// One end of a topic or service. Its destructor takes it off the bus: after that its sink is not
// called any more.
class writer {
 public:
  virtual ~writer() = default;
  // The caller's pointer goes to the last subscriber: who is the only one to have the message may
  // change it.
  virtual void write(detail::message_ref m, detail::written& outcome) = 0;
};

class reader {
 public:
  virtual ~reader() = default;
};

class served {
 public:
  virtual ~served() = default;

  // The next request, or null.
  virtual detail::call_ref take() noexcept = 0;

  // The run has taken what it may. True if requests are left, or came meanwhile; otherwise the
  // server waits, and the next request triggers it.
  virtual bool rest() noexcept = 0;

  // No request is given to it any more; those that wait go to other servers, or end if there are
  // none.
  virtual void withdraw() noexcept = 0;

  // The same, but if there are no others it still gets what waits already.
  virtual void drain() noexcept = 0;

  // Whether its handler was triggered, or is about to be, and has not called rest() since. Takes no
  // lock.
  virtual bool is_busy() const noexcept = 0;
};

class transport {
 public:
  virtual ~transport() = default;

  virtual std::unique_ptr<writer> advertise(const endpoint& e) = 0;
  virtual std::unique_ptr<reader> subscribe(const endpoint& e, detail::message_sink& sink) = 0;
  // A server that is `held` is not triggered until it calls rest().
  virtual std::unique_ptr<served> serve(const endpoint& e, detail::request_sink& sink,
                                        bool held) = 0;

  // A client is there; its destructor takes it away.
  virtual std::unique_ptr<reader> connect(const endpoint& e) = 0;

  // Brings a call to a server, or completes it: no_responder if there is none.
  virtual void call(const endpoint& client, const detail::call_ref& c) = 0;

  // Nobody waits for the call any more; it was completed.
  virtual void cancel(const endpoint& client, const detail::call_ref& c) = 0;

  virtual transport_capabilities capabilities() const = 0;
  virtual rota::graph graph() const = 0;
};

// The transport of a bus whose address begins with `scheme`, made by `make` when a bus is. For
// add-ons; known already: inproc, and for tests loop. Throws std::invalid_argument if the scheme is
// taken.
using transport_factory =
    std::function<std::unique_ptr<transport>(detail::executor& home, std::string_view address)>;
void register_transport(std::string scheme, transport_factory make);

// What a bus of that address has: for transports that are made of others (fault.h). Throws
// std::invalid_argument if nobody has registered the scheme.
std::unique_ptr<transport> make_transport(detail::executor& home, std::string_view address);

}  // namespace rota

#endif
