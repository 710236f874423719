// A wire that ends where it begins: whatever is sent over another transport becomes CDR bytes, and
// each receiver gets a message of its own made from them. For tests: what works over `loop:` will
// work over a real wire, as far as its types are concerned.
//
// Promised is what the transport underneath promises, for types that are described. A message whose
// bytes cannot be read counts as dropped at its receiver; a request or reply of that kind ends its
// call with `lost`.
#ifndef ROTA_EVENT_LOOPBACK_H
#define ROTA_EVENT_LOOPBACK_H

#include <rota/event/transport.h>

#include <memory>
#include <utility>

namespace rota::detail {

class loopback final : public transport {
 public:
  explicit loopback(std::unique_ptr<transport> way) noexcept : way_(std::move(way)) {}

  std::unique_ptr<writer> advertise(const endpoint& e) override;
  std::unique_ptr<reader> subscribe(const endpoint& e, message_sink& sink) override;
  std::unique_ptr<served> serve(const endpoint& e, request_sink& sink, bool held) override;
  std::unique_ptr<reader> connect(const endpoint& e) override { return way_->connect(e); }
  void call(const endpoint& client, const call_ref& c) override { way_->call(client, c); }
  void cancel(const endpoint& client, const call_ref& c) override { way_->cancel(client, c); }
  transport_capabilities capabilities() const override;
  rota::graph graph() const override { return way_->graph(); }

 private:
  class encoding_writer;
  class decoding_reader;
  class decoding_served;

  const std::unique_ptr<transport> way_;
};

}  // namespace rota::detail

#endif
