// A link has a line: what cannot arrive at once waits there, by the time when it is due, and a task
// sleeps until then. The task is there only while something waits.
//
// Order: what may not be overtaken is due no earlier than what was sent before it, and arrives at
// once only if nothing of that kind waits. What may be overtaken does not count for that.
//
// Lifetimes: the task keeps the line, and what arrives does so under the line's lock, which whoever
// ends the link takes to close it. After that the line touches nothing but itself. Handlers that
// are to be triggered keep the bus until they are.

#include <rota/event/fault.h>

#include <rota/base/rng.h>
#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/event/transport.h>
#include <rota/task/errors.h>
#include <rota/task/task.h>
#include <rota/time/alarm.h>
#include <rota/time/sleep.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "event/executor.h"
#include "event/relay.h"

namespace rota {

namespace detail {

using std::chrono::nanoseconds;

// --- what is shared by all links ----------------------------------------------------------------

class fault_state {
 public:
  explicit fault_state(fault_plan p) : plan(std::move(p)) {}

  const fault_plan plan;

  void count(std::uint64_t fault_counters::* what) noexcept {
    spin_guard guard{lock_};
    ++(counters_.*what);
  }
  fault_counters counters() const noexcept {
    spin_guard guard{lock_};
    return counters_;
  }
  void set_cut(bool on) noexcept {
    spin_guard guard{lock_};
    cut_ = on;
  }
  bool is_cut() const noexcept {
    spin_guard guard{lock_};
    return cut_;
  }

 private:
  mutable spin_lock lock_;
  fault_counters counters_;  // guarded by lock_
  bool cut_ = false;         // guarded by lock_
};

namespace {

// What a link needs to know of its bus.
struct fault_context {
  std::shared_ptr<fault_state> faults;
  executor& home;
  sync::time_point made;
};

// What is to be done with one thing that is sent.
struct fate {
  int copies = 1;
  bool cut = false;
  bool overtaken = false;
  nanoseconds late{0};
};

// Draws the fates of a link: the same number of draws for each, so that one does not change those
// that follow.
class fate_source {
 public:
  fate_source(const fault_plan& plan, std::uint64_t seed) noexcept : plan_(plan), rng_(seed) {}

  fate draw() noexcept {
    fate f;
    const bool dropped = chance(plan_.drop);
    const bool twice = chance(plan_.duplicate);
    const bool delayed = chance(plan_.delay);
    const nanoseconds delay = between(plan_.delay_from, plan_.delay_until);
    f.overtaken = chance(plan_.reorder);
    const nanoseconds held = between(nanoseconds{0}, plan_.reorder_within);
    f.copies = dropped ? 0 : twice ? 2 : 1;
    if (delayed) f.late += delay;
    if (f.overtaken) f.late += held;
    return f;
  }

 private:
  bool chance(double p) noexcept { return static_cast<double>(rng_.next() >> 11) < p * 0x1p53; }
  nanoseconds between(nanoseconds from, nanoseconds until) noexcept {
    const auto width = static_cast<std::uint64_t>((until - from).count());
    return from + nanoseconds{rng_.below(width + 1)};
  }

  const fault_plan& plan_;
  rng rng_;
};

// --- lines --------------------------------------------------------------------------------------

// One way from one end to another.
class fault_line : public counted {
 public:
  fault_line(const fault_context& in, std::uint64_t seed,
             std::uint64_t fault_counters::* sent) noexcept
      : context_(in), fates_(in.faults->plan, seed), sent_(sent) {}

  // Nothing arrives any more.
  void close() noexcept {
    waiting_list gone;  // ends without the lock: it may be the last to have a message
    {
      spin_guard guard{lock_};
      closed_ = true;
      gone.swap(waiting_);
    }
    alarm_.cancel();
  }

 protected:
  // Called with the lock held, which is what keeps the other end there.
  using arrival = std::function<void(trigger_list& first)>;

  ~fault_line() override = default;

  // Sends something, with the lock held: decides what becomes of it, and holds it back if need be.
  // Gives how many copies are to arrive now; makes `later` only to hold it back. `cut` is set if it
  // is lost because the way is cut.
  template <class MakeArrival>
  int send(MakeArrival&& later, bool& cut) {
    fault_state& all = *context_.faults;
    fate f = fates_.draw();
    all.count(sent_);
    const sync::time_point now = sync::now();
    cut = is_cut(now);
    if (cut) f.copies = 0;
    if (f.copies == 0) {
      all.count(cut ? &fault_counters::cut : &fault_counters::dropped);
      return 0;
    }
    if (f.copies == 2) all.count(&fault_counters::duplicated);
    if (f.overtaken) all.count(&fault_counters::reordered);
    if (f.late > nanoseconds{0} && !f.overtaken) all.count(&fault_counters::delayed);
    if (f.late == nanoseconds{0} && (f.overtaken || ordered_ == 0)) return f.copies;
    for (int i = 0; i < f.copies; ++i) hold(after(f.late), f.overtaken, later());
    return 0;
  }

  bool is_closed() const noexcept { return closed_; }

  spin_lock lock_;
  const fault_context context_;

 private:
  struct held {
    arrival arrive;
    bool overtaken;
  };
  using waiting_list =
      std::multimap<sync::time_point, held>;  // of equal times the first comes first

  bool is_cut(sync::time_point now) const noexcept {
    const fault_plan& p = context_.faults->plan;
    const auto age = now - context_.made;
    return context_.faults->is_cut() || (age >= p.cut_from && age < p.cut_until);
  }

  void hold(sync::time_point due, bool overtaken, arrival a) {
    if (!overtaken) due = last_due_ = std::max(due, last_due_);
    const bool is_first = waiting_.empty() || due < waiting_.begin()->first;
    const auto at = waiting_.emplace(due, held{std::move(a), overtaken});
    try {
      if (!pumped_) context_.home.home().spawn(pump(counted_ptr<fault_line>::to(*this))).detach();
    } catch (...) {
      waiting_.erase(at);
      throw;
    }
    if (!overtaken) ++ordered_;
    if (std::exchange(pumped_, true) && is_first) alarm_.cancel();  // it sleeps for too long
  }

  // Lets one thing arrive that is due. False: none is, and the next is due at `next`.
  bool let_arrive(sync::time_point& next) noexcept {
    waiting_list gone;  // ends without the lock
    trigger_list first{context_.home};
    spin_guard guard{lock_};
    alarm_.reset();  // from here on, who comes before the first cancels it again
    next = waiting_.empty() ? sync::time_point::max() : waiting_.begin()->first;
    if (next > sync::now()) {
      pumped_ = !waiting_.empty();
      return false;
    }
    const auto taken = gone.insert(waiting_.extract(waiting_.begin()));
    try {
      taken->second.arrive(first);
    } catch (...) {
      // There was no memory for it: lost on the way.
    }
    if (!taken->second.overtaken) --ordered_;
    guard.release();
    return true;
  }

  static task<void> pump(counted_ptr<fault_line> self) {
    try {
      for (sync::time_point next;;) {
        while (self->let_arrive(next)) {
        }
        if (next == sync::time_point::max()) co_return;
        co_await self->alarm_.sleep_until(next);
      }
    } catch (const cancelled&) {
      self->close();  // the runtime ends
    }
  }

  fate_source fates_;  // all below: guarded by lock_
  std::uint64_t fault_counters::* const sent_;
  bool closed_ = false;
  bool pumped_ = false;  // the task is there
  waiting_list waiting_;
  std::size_t ordered_ = 0;  // of those that wait, how many may not be overtaken
  sync::time_point last_due_{};
  async_alarm alarm_;  // has a lock of its own
};

// From a topic to a subscriber.
class message_line final : public fault_line, public message_sink {
 public:
  message_line(const fault_context& in, std::uint64_t seed, message_sink& to) noexcept
      : fault_line(in, seed, &fault_counters::messages), to_(to) {}

  outcome offer(message_ref& m, trigger_list& first) noexcept override {
    spin_guard guard{lock_};
    if (is_closed()) return outcome::dropped;
    try {
      bool cut = false;
      const int now =
          send([&] { return [this, m](trigger_list& t) mutable { to_.offer(m, t); }; }, cut);
      outcome o = outcome::taken;
      for (int i = 1; i < now; ++i) {
        message_ref twin = m;
        o = to_.offer(twin, first);
      }
      if (now > 0) o = to_.offer(m, first);
      return o;
    } catch (...) {  // no memory to hold it back
      return outcome::dropped;
    }
  }
  void missed(trigger_list& first) noexcept override {
    spin_guard guard{lock_};
    if (!is_closed()) to_.missed(first);
  }
  handler& owner() noexcept override { return to_.owner(); }

 private:
  message_sink& to_;
};

// Another copy of a request: its answer is the caller's if it is the first.
class second_call final : public relayed_call {
 public:
  explicit second_call(const call_ref& c) noexcept : relayed_call(c->request(), c) {}

 private:
  ~second_call() override = default;
  void completed() noexcept override {
    if (result() == status::ok) origin()->complete(status::ok, take_reply());
  }
};

// From the clients of a node to a service.
class request_line final : public fault_line {
 public:
  request_line(const fault_context& in, std::uint64_t seed, transport& way, const endpoint& e)
      : fault_line(in, seed, &fault_counters::requests), way_(way), client_(e) {}

  void call(const call_ref& c) noexcept {
    bool cut = false;
    try {
      int now = 0;
      {
        spin_guard guard{lock_};
        bool first = true;
        const auto later = [&] {
          return [this, c, copy = !std::exchange(first, false)](trigger_list&) {
            if (c->is_pending()) go(c, copy);
          };
        };
        now = send(later, cut);
      }
      for (int i = 0; i < now; ++i) go(c, i > 0);
    } catch (...) {  // no memory: as if it were dropped
    }
    if (cut && !context_.faults->plan.silent)
      c->complete(call_state::status::lost, {}, "the way is cut");
  }

 private:
  void go(const call_ref& c, bool is_copy) {
    way_.call(client_, is_copy ? call_ref{new second_call{c}} : c);
  }

  transport& way_;
  const endpoint client_;
};

// From a server to whoever has called it.
class reply_line final : public fault_line {
 public:
  reply_line(const fault_context& in, std::uint64_t seed) noexcept
      : fault_line(in, seed, &fault_counters::replies) {}

  struct answer {
    call_ref to;
    call_state::status status;
    message_ref reply;
    std::string reason;

    void arrive() { to->complete(status, std::move(reply), std::move(reason)); }
  };

  void send_back(answer a) noexcept {
    const call_ref to = a.to;
    bool cut = false;
    try {
      int now = 0;
      {
        spin_guard guard{lock_};
        if (is_closed()) return;
        now = send([&] { return [a](trigger_list&) mutable { a.arrive(); }; }, cut);
      }
      if (now > 0) a.arrive();  // a second one would change nothing
    } catch (...) {             // no memory: as if it were dropped
    }
    if (cut && !context_.faults->plan.silent)
      to->complete(call_state::status::lost, {}, "the way is cut");
  }
};

// What a server gets: its answer goes back over the line.
class answered_call final : public relayed_call {
 public:
  answered_call(const call_ref& c, counted_ptr<reply_line> back) noexcept
      : relayed_call(c->request(), c), back_(std::move(back)) {}

 private:
  ~answered_call() override = default;
  void completed() noexcept override {
    back_->send_back({origin(), result(), take_reply(), take_reason()});
  }

  const counted_ptr<reply_line> back_;
};

// --- ends ---------------------------------------------------------------------------------------

class faulty_reader final : public reader {
 public:
  faulty_reader(counted_ptr<message_line> l) noexcept : line_(std::move(l)) {}
  ~faulty_reader() override {
    from_.reset();
    line_->close();
  }
  void attach(std::unique_ptr<reader> from) noexcept { from_ = std::move(from); }

 private:
  const counted_ptr<message_line> line_;
  std::unique_ptr<reader> from_;
};

class faulty_served final : public relayed_served {
 public:
  faulty_served(std::unique_ptr<served> from, counted_ptr<reply_line> back) noexcept
      : relayed_served(std::move(from)), back_(std::move(back)) {}

 private:
  call_ref relay(const call_ref& c) override { return call_ref{new answered_call{c, back_}}; }

  const counted_ptr<reply_line> back_;
};

// --- the transport ------------------------------------------------------------------------------

class faulty_transport final : public transport {
 public:
  faulty_transport(std::shared_ptr<fault_state> f, executor& home, std::unique_ptr<transport> way)
      : context_{std::move(f), home, sync::now()}, way_(std::move(way)) {}
  ~faulty_transport() override {
    for (const auto& [key, line] : replies_) line->close();
  }

  std::unique_ptr<writer> advertise(const endpoint& e) override { return way_->advertise(e); }

  std::unique_ptr<reader> subscribe(const endpoint& e, message_sink& sink) override {
    auto line = make_counted<message_line>(context_, seed_of("subscriber", e), sink);
    auto r = std::make_unique<faulty_reader>(line);
    r->attach(way_->subscribe(e, *line));
    return r;
  }

  std::unique_ptr<served> serve(const endpoint& e, request_sink& sink, bool held) override {
    return std::make_unique<faulty_served>(way_->serve(e, sink, held), replies_of(e));
  }

  std::unique_ptr<reader> connect(const endpoint& e) override {
    return std::make_unique<client_end>(way_->connect(e), connection_of(e));
  }

  void call(const endpoint& client, const call_ref& c) override {
    connection_of(client)->line->call(c);
  }
  void cancel(const endpoint& client, const call_ref& c) override { way_->cancel(client, c); }

  transport_capabilities capabilities() const override {
    transport_capabilities c = way_->capabilities();
    const fault_plan& p = context_.faults->plan;
    c.reliable = c.reliable && !p.loses();
    c.blocks = c.blocks && c.reliable && p.delay == 0;
    return c;
  }

  rota::graph graph() const override { return way_->graph(); }

 private:
  // Shared by the clients of a node that call the same service.
  struct connection {
    explicit connection(counted_ptr<request_line> l) noexcept : line(std::move(l)) {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { line->close(); }
    const counted_ptr<request_line> line;
  };

  class client_end final : public reader {
   public:
    client_end(std::unique_ptr<reader> at, std::shared_ptr<connection> by) noexcept
        : at_(std::move(at)), by_(std::move(by)) {}

   private:
    const std::unique_ptr<reader> at_;
    const std::shared_ptr<connection> by_;
  };

  static std::string key_of(std::string_view kind, const endpoint& e) {
    // Names have no blanks.
    return std::string(kind) + " " + e.node + " " + e.name;
  }

  // The same in every run: of the plan's seed, the names, and how many of these names there were.
  std::uint64_t seed_of(std::string_view kind, const endpoint& e) {
    const std::string key = key_of(kind, e);
    std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    const std::lock_guard guard{mutex_};
    rng mixed{context_.faults->plan.seed ^ hash};
    return mixed.next() + made_[key]++;
  }

  std::shared_ptr<connection> connection_of(const endpoint& e) {
    const std::string key = key_of("client", e);
    {
      const std::lock_guard guard{mutex_};
      if (const auto found = connections_.find(key); found != connections_.end())
        if (auto c = found->second.lock()) return c;
    }
    auto fresh = std::make_shared<connection>(
        make_counted<request_line>(context_, seed_of("client", e), *way_, e));
    const std::lock_guard guard{mutex_};
    std::weak_ptr<connection>& known = connections_[key];
    if (auto c = known.lock()) return c;
    known = fresh;
    return fresh;
  }

  // Not the server's own: its answers are on their way also if it leaves.
  counted_ptr<reply_line> replies_of(const endpoint& e) {
    auto fresh = make_counted<reply_line>(context_, seed_of("server", e));
    const std::lock_guard guard{mutex_};
    return replies_.emplace(key_of("server", e), std::move(fresh)).first->second;
  }

  const fault_context context_;
  const std::unique_ptr<transport> way_;
  sync::mutex mutex_;
  // As many as there are names. Guarded by mutex_.
  std::map<std::string, std::uint64_t> made_;
  std::map<std::string, counted_ptr<reply_line>> replies_;
  std::map<std::string, std::weak_ptr<connection>> connections_;
};

void check_plan(const fault_plan& p) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("fault plan: " + what);
  };
  const auto check_chance = [&](const char* what, double chance) {
    if (!(chance >= 0 && chance <= 1))
      refuse(std::string(what) + " has the probability " + std::to_string(chance) +
             ", which is none from 0 to 1");
  };
  const auto check_range = [&](const char* what, nanoseconds from, nanoseconds until) {
    if (from < nanoseconds{0} || until < from)
      refuse(std::string(what) + " from " + std::to_string(from.count()) + " ns until " +
             std::to_string(until.count()) + " ns; the first is at least 0, the second no less");
  };
  check_chance("drop", p.drop);
  check_chance("duplicate", p.duplicate);
  check_chance("delay", p.delay);
  check_chance("reorder", p.reorder);
  check_range("delay", p.delay_from, p.delay_until);
  check_range("reorder", nanoseconds{0}, p.reorder_within);
  check_range("cut", p.cut_from, p.cut_until);
}

}  // namespace
}  // namespace detail

// --- the handle ---------------------------------------------------------------------------------

faults::faults(fault_plan plan) {
  detail::check_plan(plan);
  state_ = std::make_shared<detail::fault_state>(std::move(plan));
}

const fault_plan& faults::plan() const noexcept { return state_->plan; }

fault_counters faults::counters() const noexcept { return state_->counters(); }

void faults::cut() {
  if (!state_->plan.cuts)
    throw std::logic_error("faults::cut: the plan has no cuts; make it with_cuts()");
  state_->set_cut(true);
}

void faults::mend() noexcept { state_->set_cut(false); }

bool faults::is_cut() const noexcept { return state_->is_cut(); }

bus::maker faulty(std::string address, faults f) {
  return [address = std::move(address), f = std::move(f)](detail::executor& home) {
    return std::make_unique<detail::faulty_transport>(f.state_, home,
                                                      make_transport(home, address));
  };
}

}  // namespace rota
