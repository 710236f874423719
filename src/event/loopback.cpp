// What is on the wire is a message too, of bytes, so the transport underneath keeps it for late
// joiners and brings it to all sinks in the same order as any other. Sinks decode it, where a wire
// would end; who has no room is given the decoded message to wait with.
//
// A request becomes bytes when a server takes it: nobody can change it before, and the call that
// waits in the queue is the client's own, which knows when nobody waits for it any more.

#include "event/loopback.h"

#include <exception>
#include <string>

#include "event/relay.h"

namespace rota::detail {

namespace {

using wire_bytes = std::vector<std::byte>;

message_ref to_wire(const message_ref& m) {
  return message_ref{message_of<wire_bytes>::make(encode(*m))};
}

// Null if it cannot be read; then `error` says why.
message_ref from_wire(const message_ref& on_wire, const message_type& type,
                      std::string& error) noexcept {
  try {
    return decode(type, static_cast<message_of<wire_bytes>&>(*on_wire).value, error);
  } catch (const std::exception& e) {  // no memory, or a type that cannot be made
    error = e.what();
  } catch (...) {
    error = "an exception";
  }
  return {};
}

// There and back.
message_ref carried(const message_ref& m, std::string& error) {
  return from_wire(to_wire(m), *m->type, error);
}

// Encodes the answer on its way to the client.
class loop_call final : public relayed_call {
 public:
  using relayed_call::relayed_call;

 private:
  ~loop_call() override = default;

  void completed() noexcept override {
    const status s = result();
    if (s != status::ok) {
      origin()->complete(s, {}, take_reason());
      return;
    }
    std::string error;
    message_ref reply;
    try {
      reply = carried(take_reply(), error);
    } catch (const std::exception& e) {
      error = e.what();
    }
    if (reply)
      origin()->complete(status::ok, std::move(reply));
    else
      origin()->complete(status::lost, {}, "the reply cannot be read: " + error);
  }
};

}  // namespace

class loopback::encoding_writer final : public writer {
 public:
  encoding_writer(std::unique_ptr<writer> to, const message_type& type) noexcept
      : to_(std::move(to)), type_(type) {}

  void write(message_ref m, written& outcome) override {
    const message_ref on_wire = to_wire(m);
    to_->write(on_wire, outcome);
    outcome.refused += std::erase_if(outcome.full, [&](blocked& b) {
      std::string error;
      b.message = from_wire(on_wire, type_, error);
      return !b.message;  // it could be read when it was offered, so there is no memory now
    });
  }

 private:
  const std::unique_ptr<writer> to_;
  const message_type& type_;
};

class loopback::decoding_reader final : public reader, public message_sink {
 public:
  decoding_reader(const message_type& type, message_sink& to) noexcept : type_(type), to_(to) {}

  void attach(std::unique_ptr<reader> from) noexcept { from_ = std::move(from); }

  outcome offer(message_ref& on_wire, trigger_list& first) noexcept override {
    std::string error;
    message_ref m = from_wire(on_wire, type_, error);
    if (m) return to_.offer(m, first);
    to_.missed(first);
    return outcome::dropped;
  }
  void missed(trigger_list& first) noexcept override { to_.missed(first); }
  handler& owner() noexcept override { return to_.owner(); }

 private:
  const message_type& type_;
  message_sink& to_;
  std::unique_ptr<reader> from_;
};

class loopback::decoding_served final : public relayed_served {
 public:
  using relayed_served::relayed_served;

 private:
  call_ref relay(const call_ref& c) override {
    std::string error;
    message_ref request = carried(c->request(), error);
    if (request) return call_ref{new loop_call{std::move(request), c}};
    c->complete(call_state::status::lost, {}, "the request cannot be read: " + error);
    return {};
  }
};

std::unique_ptr<writer> loopback::advertise(const endpoint& e) {
  return std::make_unique<encoding_writer>(way_->advertise(e), *e.type);
}

std::unique_ptr<reader> loopback::subscribe(const endpoint& e, message_sink& sink) {
  auto r = std::make_unique<decoding_reader>(*e.type, sink);
  r->attach(way_->subscribe(e, *r));
  return r;
}

std::unique_ptr<served> loopback::serve(const endpoint& e, request_sink& sink, bool held) {
  return std::make_unique<decoding_served>(way_->serve(e, sink, held));
}

transport_capabilities loopback::capabilities() const {
  transport_capabilities c = way_->capabilities();
  c.in_process = false;
  return c;
}

}  // namespace rota::detail
