// What transports that are made of others have in common: a server gets a call of its own, and what
// becomes of that is passed on to the call that the client made.
#ifndef ROTA_EVENT_RELAY_H
#define ROTA_EVENT_RELAY_H

#include <rota/event/transport.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace rota::detail {

// A call that stands for another one.
class relayed_call : public call_state {
 public:
  relayed_call(message_ref request, call_ref origin) noexcept
      : call_state(std::move(request), origin->deadline()), origin_(std::move(origin)) {}

 protected:
  ~relayed_call() override = default;
  const call_ref& origin() const noexcept { return origin_; }

 private:
  const call_ref origin_;
};

// The server's end, with other calls than those of the transport underneath.
class relayed_served : public served {
 public:
  explicit relayed_served(std::unique_ptr<served> from) noexcept : from_(std::move(from)) {}

  call_ref take() noexcept final {
    while (call_ref c = from_->take()) {
      try {
        if (call_ref relayed = relay(c)) return relayed;
      } catch (const std::exception& e) {  // nobody else will answer it
        c->complete(call_state::status::lost, {}, e.what());
      }
    }
    return {};
  }
  bool rest() noexcept final { return from_->rest(); }
  void withdraw() noexcept final { from_->withdraw(); }
  void drain() noexcept final { from_->drain(); }
  bool is_busy() const noexcept final { return from_->is_busy(); }

 protected:
  // What the server gets instead, or null if `c` was completed.
  virtual call_ref relay(const call_ref& c) = 0;

 private:
  const std::unique_ptr<served> from_;
};

}  // namespace rota::detail

#endif
