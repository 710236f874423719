#include "event/inproc.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "event/names.h"

namespace rota::detail {

namespace {

[[noreturn]] void wrong_type(const char* what, const std::string& name, std::string_view there,
                             const endpoint& e) {
  throw std::invalid_argument(std::string(what) + " " + quoted(name) + " carries " +
                              std::string(there) + ", but node " + quoted(e.node) + " asks for " +
                              std::string(e.type->support->name()) +
                              (e.reply ? " -> " + std::string(e.reply->support->name()) : ""));
}

// Takes an element out of a list of pointers.
template <class T>
void take_out(std::vector<T*>& all, const T* one) noexcept {
  all.erase(std::find(all.begin(), all.end(), one));
}

}  // namespace

// --- topics -------------------------------------------------------------------------------------

class inproc::topic : public counted {
 public:
  topic(inproc& home, const endpoint& e) : name(e.name), type(e.type), home_(home) {}
  ~topic() override { home_.forget(home_.topics_, *this); }

  const std::string name;
  const message_type* const type;

  spin_lock lock;
  // All below: guarded by lock.
  std::vector<topic_writer*> writers;
  std::vector<topic_reader*> readers;
  message_ref last;  // for late joiners

 private:
  inproc& home_;
};

class inproc::topic_reader final : public reader {
 public:
  topic_reader(counted_ptr<topic> t, const endpoint& e, message_sink& s, executor& home)
      : topic_(std::move(t)), node(e.node), depth(e.qos.depth), sink(s) {
    trigger_list first{home};
    topic_->lock.lock();
    try {
      topic_->readers.push_back(this);
    } catch (...) {
      topic_->lock.unlock();
      throw;
    }
    if (e.qos.late_joiner && topic_->last) {
      message_ref last = topic_->last;
      sink.offer(last, first);
    }
    topic_->lock.unlock();
  }
  ~topic_reader() override {
    spin_guard guard{topic_->lock};
    take_out(topic_->readers, this);
  }

 private:
  const counted_ptr<topic> topic_;

 public:
  const std::string node;
  const std::size_t depth;
  message_sink& sink;
};

class inproc::topic_writer final : public writer {
 public:
  topic_writer(counted_ptr<topic> t, const endpoint& e, executor& home)
      : topic_(std::move(t)), home_(home), keeps_last_(e.qos.late_joiner), node(e.node) {
    spin_guard guard{topic_->lock};
    topic_->writers.push_back(this);
  }
  ~topic_writer() override {
    spin_guard guard{topic_->lock};
    take_out(topic_->writers, this);
  }

  void write(message_ref m, written& outcome) override {
    trigger_list first{home_};
    message_ref before;  // ends after the lock is given back: it may be the last to have it
    spin_guard guard{topic_->lock};
    ++published;
    if (keeps_last_) before = std::exchange(topic_->last, m);
    for (topic_reader* r : topic_->readers) {
      const bool is_last = r == topic_->readers.back();
      message_ref shared = is_last ? std::move(m) : m;
      switch (r->sink.offer(shared, first)) {
        case message_sink::outcome::taken:
          ++outcome.taken;
          break;
        case message_sink::outcome::dropped:
          break;
        case message_sink::outcome::refused:
          ++outcome.refused;
          break;
        case message_sink::outcome::full: {
          handler& owner = r->sink.owner();
          owner.add_ref();
          outcome.full.push_back({counted_ptr<handler>{&owner}, shared});
          break;
        }
      }
      first.discard(std::move(shared));  // if nobody has it, it ends without the lock
    }
    guard.release();
  }

 private:
  const counted_ptr<topic> topic_;
  executor& home_;
  const bool keeps_last_;

 public:
  const std::string node;
  std::uint64_t published = 0;  // guarded by the lock of the topic
};

// With the mutex held, which keeps the memory of those that are about to go.
template <class T>
counted_ptr<T> inproc::find_or_make(std::map<std::string, T*>& known, const endpoint& e) {
  const auto found = known.find(e.name);
  if (found != known.end() && found->second->try_add_ref()) return counted_ptr<T>{found->second};
  auto fresh = make_counted<T>(*this, e);
  known.insert_or_assign(e.name, fresh.get());
  return fresh;
}

// Called when the last pointer to a topic or service is gone.
template <class T>
void inproc::forget(std::map<std::string, T*>& known, const T& gone) noexcept {
  const std::lock_guard guard{mutex_};
  const auto found = known.find(gone.name);
  if (found != known.end() && found->second == &gone) known.erase(found);
}

counted_ptr<inproc::topic> inproc::topic_of(const endpoint& e) {
  counted_ptr<topic> t;  // if it is the last to know it, it ends without the lock
  const std::lock_guard guard{mutex_};
  t = find_or_make(topics_, e);
  if (!(*t->type == *e.type)) wrong_type("topic", e.name, t->type->support->name(), e);
  return t;
}

std::unique_ptr<writer> inproc::advertise(const endpoint& e) {
  return std::make_unique<topic_writer>(topic_of(e), e, home_);
}

std::unique_ptr<reader> inproc::subscribe(const endpoint& e, message_sink& sink) {
  return std::make_unique<topic_reader>(topic_of(e), e, sink, home_);
}

// --- services -----------------------------------------------------------------------------------

// Calls that nobody has taken, first in, first out, and who could take them.
class inproc::service : public counted {
 public:
  service(inproc& home, const endpoint& e)
      : name(e.name), request(e.type), reply(e.reply), home_(home) {}
  ~service() override {
    complete_all(take_all());
    home_.forget(home_.services_, *this);
  }

  void call(const call_ref& c, executor& home);
  void forget() noexcept;
  call_ref take() noexcept;
  call_state* take_all() noexcept;
  static void complete_all(call_state* list) noexcept;
  void trigger_idle(trigger_list& first) noexcept;

  const std::string name;
  const message_type* const request;
  const message_type* const reply;

  spin_lock lock;
  // All below: guarded by lock.
  std::vector<service_server*> servers;
  std::vector<service_client*> clients;
  std::size_t next = 0;  // whose turn it is among the servers
  call_state* first = nullptr;
  call_state* last = nullptr;
  std::size_t waiting = 0;
  std::size_t forgotten = 0;  // of those, at most

 private:
  inproc& home_;
};

class inproc::service_server final : public served {
 public:
  service_server(counted_ptr<service> s, const endpoint& e, request_sink& to, bool held,
                 executor& home)
      : service_(std::move(s)), home_(home), node(e.node), sink(to), owned(held) {
    spin_guard guard{service_->lock};
    service_->servers.push_back(this);
  }
  ~service_server() override { withdraw(); }

  call_ref take() noexcept override {
    for (;;) {  // one that nobody waits for ends without the lock: its request is the user's
      call_ref c;
      {
        spin_guard guard{service_->lock};
        if (!withdrawn_) c = service_->take();
      }
      if (!c || c->is_pending()) return c;
    }
  }
  bool rest() noexcept override {
    spin_guard guard{service_->lock};
    const bool more = !withdrawn_ && service_->first;
    owned.store(more, sync::memory_order_relaxed);
    return more;
  }
  void withdraw() noexcept override { leave(false); }
  void drain() noexcept override { leave(true); }
  bool is_busy() const noexcept override {
    // relaxed: who has seen the call that it was triggered for sees this too.
    return owned.load(sync::memory_order_relaxed);
  }

 private:
  const counted_ptr<service> service_;
  executor& home_;

 public:
  const std::string node;
  request_sink& sink;
  // The schedule has its handler, or is about to. Written under the service's lock.
  sync::atomic<bool> owned;

 private:
  void leave(bool takes_the_rest) noexcept {
    trigger_list others{home_};
    call_state* left = nullptr;
    {
      spin_guard guard{service_->lock};
      if (withdrawn_) return;
      if (!std::exchange(unlisted_, true)) take_out(service_->servers, this);
      const bool is_last = service_->servers.empty();
      if (is_last && takes_the_rest) return;
      withdrawn_ = true;
      if (is_last)
        left = service_->take_all();
      else if (service_->first)
        service_->trigger_idle(others);
    }
    service::complete_all(left);
  }

  // Both guarded by the service's lock.
  bool unlisted_ = false;   // new calls are none of its business
  bool withdrawn_ = false;  // nor are those that wait
};

class inproc::service_client final : public reader {
 public:
  service_client(counted_ptr<service> s, const endpoint& e) : service_(std::move(s)), node(e.node) {
    spin_guard guard{service_->lock};
    service_->clients.push_back(this);
  }
  ~service_client() override {
    spin_guard guard{service_->lock};
    take_out(service_->clients, this);
  }

 private:
  const counted_ptr<service> service_;

 public:
  const std::string node;
};

// With the lock held.
void inproc::service::trigger_idle(trigger_list& to) noexcept {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    service_server& s = *servers[(next + i) % servers.size()];
    // relaxed: ordered by the lock.
    if (s.owned.exchange(true, sync::memory_order_relaxed)) continue;
    next = (next + i + 1) % servers.size();
    to.add(s.sink.owner());
    return;
  }
}

void inproc::service::call(const call_ref& c, executor& home) {
  trigger_list triggered{home};
  spin_guard guard{lock};
  if (servers.empty()) {
    guard.release();
    c->complete(call_state::status::no_responder, {}, "no server of " + quoted(name));
    return;
  }
  c->add_ref();
  c->next = nullptr;
  (last ? last->next : first) = c.get();
  last = c.get();
  ++waiting;
  trigger_idle(triggered);
  guard.release();
}

// With the lock held.
call_ref inproc::service::take() noexcept {
  call_state* const c = first;
  if (!c) return {};
  first = c->next;
  if (!first) last = nullptr;
  --waiting;
  if (forgotten > 0 && !c->is_pending()) --forgotten;
  return call_ref{c};
}

// With the lock held, or by the last who knows it.
call_state* inproc::service::take_all() noexcept {
  waiting = forgotten = 0;
  last = nullptr;
  return std::exchange(first, nullptr);
}

void inproc::service::complete_all(call_state* list) noexcept {
  while (list) {
    const call_ref c{std::exchange(list, list->next)};
    c->complete(call_state::status::no_responder, {}, "the last server has left");
  }
}

// A call that waits here was completed. They go when half of the queue is such calls, so each costs
// constant time.
void inproc::service::forget() noexcept {
  call_state* gone = nullptr;
  {
    spin_guard guard{lock};
    if (++forgotten * 2 <= waiting) return;
    call_state* all = take_all();
    while (all) {
      call_state* const c = std::exchange(all, all->next);
      if (!c->is_pending()) {
        c->next = std::exchange(gone, c);
        continue;
      }
      c->next = nullptr;
      (last ? last->next : first) = c;
      last = c;
      ++waiting;
    }
  }
  while (gone) call_ref{std::exchange(gone, gone->next)};
}

counted_ptr<inproc::service> inproc::service_of(const endpoint& e) {
  counted_ptr<service> s;  // as in topic_of()
  const std::lock_guard guard{mutex_};
  s = find_or_make(services_, e);
  if (!(*s->request == *e.type && *s->reply == *e.reply))
    wrong_type(
        "service", e.name,
        std::string(s->request->support->name()) + " -> " + std::string(s->reply->support->name()),
        e);
  return s;
}

counted_ptr<inproc::service> inproc::find_service(const std::string& name) const {
  const std::lock_guard guard{mutex_};
  const auto found = services_.find(name);
  if (found == services_.end() || !found->second->try_add_ref()) return {};
  return counted_ptr<service>{found->second};
}

std::unique_ptr<served> inproc::serve(const endpoint& e, request_sink& sink, bool held) {
  return std::make_unique<service_server>(service_of(e), e, sink, held, home_);
}

std::unique_ptr<reader> inproc::connect(const endpoint& e) {
  return std::make_unique<service_client>(service_of(e), e);
}

void inproc::call(const endpoint& client, const call_ref& c) {
  if (const auto s = find_service(client.name)) return s->call(c, home_);
  c->complete(call_state::status::no_responder, {}, "no server of " + quoted(client.name));
}

void inproc::cancel(const endpoint& client, const call_ref&) {
  if (const auto s = find_service(client.name)) s->forget();
}

inproc::~inproc() = default;

// --- what there is ------------------------------------------------------------------------------

template <class T>
std::vector<counted_ptr<T>> inproc::all_of(const std::map<std::string, T*>& known) const {
  std::vector<counted_ptr<T>> all;
  const std::lock_guard guard{mutex_};
  for (const auto& [name, one] : known)
    if (one->try_add_ref()) all.push_back(counted_ptr<T>{one});
  return all;
}

// Counters are read under the lock of a topic or service, which keeps its ends where they are.
rota::graph inproc::graph() const {
  rota::graph g;
  for (const auto& t : all_of(topics_)) {
    rota::graph::topic& row = g.topics.emplace_back();
    row.name = t->name;
    row.type = t->type->support->name();
    row.messages = t->type;
    spin_guard inside{t->lock};
    for (const topic_writer* w : t->writers) {
      rota::graph::end e{w->node, {}, 0};
      e.counters.events = w->published;
      row.publishers.push_back(std::move(e));
    }
    for (const topic_reader* r : t->readers)
      row.subscribers.push_back({r->node, r->sink.owner().counters(), r->depth});
  }
  for (const auto& s : all_of(services_)) {
    rota::graph::service& row = g.services.emplace_back();
    row.name = s->name;
    row.request = s->request->support->name();
    row.reply = s->reply->support->name();
    row.requests = s->request;
    row.replies = s->reply;
    spin_guard inside{s->lock};
    for (const service_server* one : s->servers) {
      rota::graph::end e{one->node, one->sink.owner().counters(), 0};
      e.counters.pending = s->waiting;
      row.servers.push_back(std::move(e));
    }
    for (const service_client* one : s->clients) row.clients.push_back({one->node, {}, 0});
  }
  return g;
}

}  // namespace rota::detail
