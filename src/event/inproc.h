// The transport within a process: messages are pointers, and a call is a place in a queue.
//
// A topic has a lock; a message is offered to all subscribers under it, so all see the same order.
// A service has one queue for all its servers: whoever is idle is triggered for the next call, and
// takes it. Handlers are triggered after the locks were given back.
#ifndef ROTA_EVENT_INPROC_H
#define ROTA_EVENT_INPROC_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/transport.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rota::detail {

class inproc final : public transport {
 public:
  explicit inproc(executor& home) noexcept : home_(home) {}
  ~inproc() override;

  std::unique_ptr<writer> advertise(const endpoint& e) override;
  std::unique_ptr<reader> subscribe(const endpoint& e, message_sink& sink) override;
  std::unique_ptr<served> serve(const endpoint& e, request_sink& sink, bool held) override;
  std::unique_ptr<reader> connect(const endpoint& e) override;
  void call(const endpoint& client, const call_ref& c) override;
  void cancel(const endpoint& client, const call_ref& c) override;
  transport_capabilities capabilities() const override { return {}; }
  rota::graph graph() const override;

 private:
  class topic;
  class topic_writer;
  class topic_reader;
  class service;
  class service_server;
  class service_client;

  counted_ptr<topic> topic_of(const endpoint& e);
  counted_ptr<service> service_of(const endpoint& e);
  counted_ptr<service> find_service(const std::string& name) const;

  template <class T>
  counted_ptr<T> find_or_make(std::map<std::string, T*>& known, const endpoint& e);
  template <class T>
  void forget(std::map<std::string, T*>& known, const T& gone) noexcept;
  template <class T>
  std::vector<counted_ptr<T>> all_of(const std::map<std::string, T*>& known) const;

  executor& home_;
  mutable sync::mutex mutex_;
  // Those that somebody uses. Guarded by mutex_.
  std::map<std::string, topic*> topics_;
  std::map<std::string, service*> services_;
};

}  // namespace rota::detail

#endif
