#include <rota/event/node.h>

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "event/bus_state.h"
#include "event/executor.h"
#include "event/names.h"

namespace rota {

using detail::counted_ptr;
using detail::handler;

class node::state : public detail::counted {
 public:
  state(counted_ptr<bus::state> b, std::string n, bool held)
      : on(std::move(b)),
        name(std::move(n)),
        phase(held ? node_phase::starting : node_phase::running) {}

  // The two halves of a client: what is asked, and the answers to those who do not wait.
  struct client_ends {
    counted_ptr<detail::client_state> calls;
    counted_ptr<detail::client_base> answers;
  };

  const counted_ptr<bus::state> on;
  const std::string name;
  const rota::group group;  // of all handlers that name none

  mutable sync::mutex mutex;
  // All below: guarded by mutex.
  node_phase phase;
  std::vector<counted_ptr<handler>> handlers;
  std::vector<client_ends> clients;
  std::size_t prune_at = 64;

  detail::executor& home() const noexcept { return on->handlers; }

  void set_up(detail::handler& h, const handler_options& o) const {
    h.keep(on);
    h.set_priority(o.priority);
    if (!h.set_group((o.group ? *o.group : group).get()))
      throw std::invalid_argument(h.name() + ": its group is used on another bus");
  }

  // With the mutex held.
  void check_open() const {
    if (phase == node_phase::draining || phase == node_phase::stopped)
      throw std::logic_error("node " + detail::quoted(name) +
                             " is stopped: it takes no more handlers");
  }
  void add(counted_ptr<handler> h) {
    if (handlers.size() >= prune_at) {
      std::erase_if(clients, [&](const client_ends& c) { return let_go(c); });
      std::erase_if(handlers, [&](const auto& old) { return home().schedule().is_over(*old); });
      prune_at = std::max<std::size_t>(64, 2 * handlers.size());
    }
    handlers.push_back(std::move(h));
    home().schedule().enlist();
  }
  // Nobody has the client any more, and all of its calls have ended and are answered. Then nobody
  // can make another call. The last function may still run: the handler stays until that has ended.
  bool let_go(const client_ends& c) const {
    if (!c.calls->is_alone() || c.answers->has_events()) return false;
    home().schedule().remove(*c.answers);
    return true;
  }
  // One that was held because the node was about to start may find that it has started.
  void open(detail::handler& h) const {
    if (phase != node_phase::running || !h.open()) return;
    detail::trigger_list first{home()};
    first.add(h);
  }
};

node::node(rota::bus& on, std::string name) {
  detail::check_name("node", name);
  state_ = detail::make_counted<state>(on.get(), std::move(name), false);
}

node::node(rota::bus& on, std::string name, hold_t) {
  detail::check_name("node", name);
  state_ = detail::make_counted<state>(on.get(), std::move(name), true);
}

node::~node() { stop(); }

const std::string& node::name() const noexcept { return state_->name; }

node_phase node::phase() const noexcept {
  const std::lock_guard guard{state_->mutex};
  return state_->phase;
}

// --- what can be asked for ----------------------------------------------------------------------

namespace {

void check_options(const handler_options& o, const std::string& what) {
  if (o.priority < -1 || o.priority > 1)
    throw std::invalid_argument(what + ": priority " + std::to_string(o.priority) +
                                " is none of -1, 0, 1");
  if (o.budget == 0) throw std::invalid_argument(what + ": a budget of 0 events; at least 1");
}

void check_qos(const endpoint& e, const transport_capabilities& can, const std::string& what) {
  const auto refuse = [&](const char* why) { throw std::invalid_argument(what + ": " + why); };
  if (e.qos.depth == 0) refuse("a queue of depth 0 takes no message; at least 1");
  if (e.qos.lifespan.count() < 0) refuse("the lifespan is negative");
  if (e.qos.deadline.count() < 0) refuse("the deadline is negative");
  if (!can.reliable && e.qos.reliability == reliability::reliable)
    refuse("the bus may lose messages; ask for reliability::best_effort");
  if (!can.late_joiner && e.qos.late_joiner) refuse("the bus keeps no message for late joiners");
  if (!can.blocks && e.qos.overflow == overflow::block)
    refuse("publishers cannot wait on this bus: overflow::block");
}

void check_types(const endpoint& e, const transport_capabilities& can, const std::string& what) {
  if (can.in_process) return;
  for (const detail::message_type* t : {e.type, e.reply})
    if (t && !t->support->is_described())
      throw std::invalid_argument(what + ": messages of type " + std::string(t->support->name()) +
                                  " cannot leave the process; write describe() for it");
}

}  // namespace

node::start_of node::check(const endpoint& e, const handler_options& o, const char* what) const {
  detail::check_name(e.reply ? "service" : "topic", e.name);
  const std::string text = std::string(what) + e.name + " in " + e.node;
  check_options(o, text);
  const auto can = state_->on->way->capabilities();
  if (!e.reply) check_qos(e, can, text);
  check_types(e, can, text);
  return {state_->home(), o.name.empty() ? text : o.name, phase() == node_phase::starting};
}

node::start_of node::check_timer(std::chrono::nanoseconds period, const handler_options& o) const {
  const std::string text = "timer in " + name();
  check_options(o, text);
  if (period.count() <= 0)
    throw std::invalid_argument(text + ": a period of " + std::to_string(period.count()) +
                                " ns; it has to be above zero");
  return {state_->home(), o.name.empty() ? text : o.name, phase() == node_phase::starting};
}

// --- ends ---------------------------------------------------------------------------------------

counted_ptr<detail::publisher_state> node::advertise(const endpoint& e) {
  detail::check_name("topic", e.name);
  const std::string text = "publisher of " + e.name + " in " + e.node;
  const auto can = state_->on->way->capabilities();
  check_qos(e, can, text);
  check_types(e, can, text);
  auto p = detail::make_counted<detail::publisher_state>();
  p->keep = state_->on;
  p->topic = e.name;
  p->to = state_->on->way->advertise(e);
  return p;
}

subscription node::add_subscription(const endpoint& e, const handler_options& o,
                                    counted_ptr<detail::subscription_base> h) {
  state_->set_up(*h, o);
  const std::lock_guard guard{state_->mutex};
  state_->check_open();
  state_->add(h);
  try {
    h->attach(state_->on->way->subscribe(e, *h));
  } catch (...) {
    state_->home().remove(*h);
    throw;
  }
  state_->open(*h);
  return {state_->home(), h};
}

server node::add_server(const endpoint& e, const handler_options& o,
                        counted_ptr<detail::server_base> h) {
  state_->set_up(*h, o);
  const std::lock_guard guard{state_->mutex};
  state_->check_open();
  // Held in any case until it knows where it is served.
  h->attach(state_->on->way->serve(e, *h, true));
  state_->add(h);
  state_->open(*h);
  return {state_->home(), h};
}

std::pair<counted_ptr<detail::client_state>, counted_ptr<detail::client_base>> node::add_client(
    const endpoint& e, std::size_t max_pending, const handler_options& o) {
  const start_of s = check(e, o, "client of ");
  if (max_pending == 0)
    throw std::invalid_argument(s.name + ": at most 0 calls under way; at least 1");
  counted_ptr<detail::client_base> h{new detail::client_base(s.home, s.name, o.budget)};
  state_->set_up(*h, o);
  const std::lock_guard guard{state_->mutex};
  state_->check_open();
  auto c = detail::make_counted<detail::client_state>(state_->on, s.home, *state_->on->way, e,
                                                      max_pending);
  state_->add(h);
  state_->clients.push_back({c, h});
  return {std::move(c), std::move(h)};
}

registration node::add_timer(const handler_options& o, counted_ptr<detail::ticker> h) {
  state_->set_up(*h, o);
  const std::lock_guard guard{state_->mutex};
  state_->check_open();
  state_->add(h);
  h->start();
  state_->open(*h);
  return {state_->home(), h};
}

// --- life ---------------------------------------------------------------------------------------

void node::start() {
  detail::trigger_list first{state_->home()};
  const std::lock_guard guard{state_->mutex};
  if (state_->phase != node_phase::starting) return;
  state_->phase = node_phase::running;
  for (const auto& h : state_->handlers)
    if (h->open()) first.add(*h);
}

task<void> node::drain() {
  const counted_ptr<state> self = state_;
  start();
  std::vector<counted_ptr<handler>> all;
  {
    const std::lock_guard guard{self->mutex};
    if (self->phase == node_phase::stopped) co_return;
    self->phase = node_phase::draining;
    all = self->handlers;
  }
  for (const auto& h : all) h->drain();
  for (const auto& h : all) {
    for (;;) {
      detail::idle_watch idle{detail::idle_watch::by::task};
      if (!self->home().schedule().watch(*h, idle)) break;
      std::exception_ptr stopped;
      try {
        co_await idle.ended();
      } catch (const cancelled&) {
        stopped = std::current_exception();
      }
      if (!stopped) continue;  // more may have come, as the answers to calls
      if (!self->home().schedule().unwatch(*h, idle)) {
        shield about_to_be_told;
        co_await idle.ended();
      }
      std::rethrow_exception(stopped);
    }
  }
  stop();
}

void node::stop() noexcept {
  std::vector<state::client_ends> clients;
  std::vector<counted_ptr<handler>> handlers;
  {
    const std::lock_guard guard{state_->mutex};
    state_->phase = node_phase::stopped;
    clients.swap(state_->clients);
    handlers.swap(state_->handlers);
  }
  for (const auto& c : clients) c.calls->close();
  // First nothing new comes, then each is waited for.
  for (const auto& h : handlers) h->close();
  for (const auto& h : handlers) state_->home().remove(*h);
}

}  // namespace rota
