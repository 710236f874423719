// Why no message waits for ever: `owned_` is set by who puts a message into a queue that nobody has
// in hand, and then triggers; it is cleared, under the same lock, only where the queue is seen to
// be empty. So while messages wait, the schedule has the handler or is about to get it.

#include <rota/event/subscription.h>

#include <rota/base/assert.h>
#include <rota/cown/pressure.h>
#include <rota/event/topic.h>
#include <rota/time/sleep.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "event/executor.h"
#include "event/times.h"
#include "task/activity.h"
#include "task/runtime_state.h"

namespace rota::detail {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_batch = 1ms;

}  // namespace

void run_clock::start() noexcept {
  if (!has_started()) began_ = sync::now();
}

bool run_clock::is_over() const noexcept {
  return has_started() && sync::now() - began_ > longest_batch;
}

// A cown that is never worked on: while it is pressed, who sends to it is muted.
struct subscription_base::gate {
  sync::mutex mutex;
  cown_ptr<int> cown = make_cown<int>(0);
  std::optional<pressure> pressed;  // guarded by mutex
};

// As many as are let in at once.
struct subscription_base::admitted {
  std::array<activity*, most_at_once> all;
  std::size_t count = 0;

  void wake() noexcept {
    for (std::size_t i = 0; i < count; ++i) make_ready(*all[i]);
    count = 0;
  }
};

subscription_base::subscription_base(executor& home, std::string name, const qos& q,
                                     const handler_options& o, bool held)
    : handler(handler_class::subscriber, std::move(name)),
      home_(home),
      qos_(q),
      budget_(o.budget),
      on_event_(o.on_event),
      opened_(!held),
      gate_(q.overflow == overflow::block ? std::make_unique<gate>() : nullptr) {}

subscription_base::~subscription_base() = default;

// --- the queue ----------------------------------------------------------------------------------

bool subscription_base::push(message_ref& m) noexcept {
  if (count_ == ring_.size()) {
    try {
      std::vector<slot> larger(std::max<std::size_t>(4, 2 * ring_.size()));
      for (std::size_t i = 0; i < count_; ++i)
        larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
      ring_.swap(larger);
      first_ = 0;
    } catch (...) {  // no memory: as if the queue were full
      return false;
    }
  }
  slot& s = ring_[(first_ + count_++) & (ring_.size() - 1)];
  s.message = std::move(m);
  if (qos_.lifespan > 0ns) s.since = sync::now();
  return true;
}

message_ref subscription_base::pop() noexcept {
  message_ref m = std::move(ring_[first_].message);
  first_ = (first_ + 1) & (ring_.size() - 1);
  --count_;
  return m;
}

void subscription_base::count(std::uint64_t notices::* what, std::uint64_t by) noexcept {
  news_.*what += by;
  all_.*what += by;
}

// Also if no message comes: the news is told by a run.
void subscription_base::count_and_tell(std::uint64_t notices::* what,
                                       trigger_list& first) noexcept {
  count(what);
  if (on_event_ && !closed_ && claims_trigger()) first.add(*this);
}

// Whether the caller is to trigger the handler.
bool subscription_base::claims_trigger() noexcept {
  return opened_ && !std::exchange(owned_, true);
}

message_sink::outcome subscription_base::offer(message_ref& m, trigger_list& first) noexcept {
  spin_guard guard{lock_};
  if (closed_) return outcome::dropped;
  if (qos_.deadline > 0ns) last_ = sync::now();
  const bool full = count_ >= qos_.depth || !senders_.empty();
  if (full && qos_.overflow == overflow::block) return outcome::full;
  if (full && qos_.overflow == overflow::drop_oldest) {
    first.discard(pop());
    count(&notices::dropped);
  } else if (full) {
    count(&notices::dropped);
    return qos_.overflow == overflow::fail ? outcome::refused : outcome::dropped;
  }
  if (!push(m)) {
    count(&notices::dropped);
    return outcome::dropped;
  }
  if (claims_trigger()) first.add(*this);
  guard.release();
  return outcome::taken;
}

void subscription_base::missed(trigger_list& first) noexcept {
  spin_guard guard{lock_};
  if (!closed_) count_and_tell(&notices::dropped, first);
}

void subscription_base::force(message_ref m) noexcept {
  bool is_long = false;
  {
    trigger_list first{home_};
    spin_guard guard{lock_};
    if (closed_) return;
    if (!push(m)) count(&notices::dropped);
    if (count_ > 0 && claims_trigger()) first.add(*this);
    is_long = count_ > qos_.depth;
    if (is_long) presses_ = true;
    guard.release();
  }
  if (!is_long) return;
  set_pressure();
  // The sender of this, the running behaviour, is muted when it ends.
  when(gate_->cown) << [](int&) {};
}

// Presses or relieves the gate, whichever is wanted by now.
void subscription_base::set_pressure() noexcept {
  const std::lock_guard guard{gate_->mutex};
  bool wanted = false;
  {
    spin_guard queue{lock_};
    wanted = presses_;
  }
  if (!wanted)
    gate_->pressed.reset();
  else if (!gate_->pressed)
    gate_->pressed.emplace(home_.home(), gate_->cown);
}

bool subscription_base::begin_wait(std::coroutine_handle<> leaf, room_wait& w) noexcept {
  trigger_list first{home_};
  spin_guard guard{lock_};
  if (closed_) {
    w.served = true;
    return false;
  }
  if (count_ < qos_.depth && senders_.empty()) {
    w.served = push(w.message);
    if (!w.served) count(&notices::dropped);
    w.served = true;
    if (count_ > 0 && claims_trigger()) first.add(*this);
    guard.release();
    return false;
  }
  return detail::begin_wait(senders_, leaf, wait_kind::send, &w);
}

void subscription_base::end_wait() noexcept {
  spin_guard guard{lock_};
  detail::end_wait(senders_);
}

void subscription_base::let_in(admitted& who) noexcept {
  while (count_ < qos_.depth && who.count < who.all.size()) {
    activity* const a = claim_first(senders_);
    if (!a) return;
    auto& w = *static_cast<room_wait*>(awaiter_of(*a));
    if (!push(w.message)) count(&notices::dropped);
    w.message = {};
    w.served = true;
    who.all[who.count++] = a;
  }
}

void subscription_base::drop_expired() noexcept {
  std::array<message_ref, most_at_once> old;
  std::size_t n = 0;
  do {
    old.fill({});  // not with the lock held: a message may be the last of its kind
    spin_guard guard{lock_};
    const auto oldest = sync::now() - qos_.lifespan;
    for (n = 0; count_ > 0 && n < old.size() && ring_[first_].since < oldest;) old[n++] = pop();
    count(&notices::expired, n);
  } while (n == old.size());
}

std::size_t subscription_base::take(message_base** out, std::size_t most, bool rests) noexcept {
  std::size_t n = 0;
  bool relieves = false;
  bool more = false;
  notices news;
  admitted in;
  do {
    if (qos_.lifespan > 0ns) [[unlikely]]
      drop_expired();
    in.wake();
    spin_guard guard{lock_};
    while (count_ > 0 && n < most) out[n++] = pop().release();
    events_ += n;
    if (qos_.overflow == overflow::block && !is_gone()) let_in(in);
    if (presses_ && count_ <= qos_.depth / 2) {
      presses_ = false;
      relieves = true;
    }
    if (on_event_) {
      news.dropped += news_.dropped, news.expired += news_.expired, news.late += news_.late;
      news_ = {};
    }
    more = n == 0 && count_ > 0;  // some were let in, where old ones had been
    if (rests && n == 0 && !more) owned_ = false;
    backlog_ = count_ > 0;
  } while (more);
  in.wake();
  if (relieves) set_pressure();
  if (news.any()) tell(news);
  return n;
}

void subscription_base::give_up(std::size_t taken) noexcept {
  spin_guard guard{lock_};
  events_ -= taken;
  count(&notices::dropped, taken);
}

bool subscription_base::rest() noexcept {
  spin_guard guard{lock_};
  owned_ = count_ > 0;
  return owned_;
}

void subscription_base::tell(const notices& n) noexcept {
  try {
    on_event_({n.dropped, n.expired, n.late});
  } catch (...) {
    failed();
  }
}

void subscription_base::failed() noexcept {
  {
    spin_guard guard{lock_};
    ++failed_;
  }
  report_failure(home_, *this, std::current_exception());
}

// --- life ---------------------------------------------------------------------------------------

void subscription_base::close() noexcept {
  std::unique_ptr<reader> from;
  std::vector<slot> gone;
  bool pressed = false;
  for (bool more = true; more;) {
    activity* sender = nullptr;
    {
      spin_guard guard{lock_};
      closed_ = true;
      gone_.store(true, sync::memory_order_relaxed);
      if (from_) from = std::move(from_);
      pressed |= std::exchange(presses_, false);
      if (count_ > 0) count(&notices::dropped, count_);
      count_ = 0;
      if (gone.empty()) gone.swap(ring_);
      sender = claim_first(senders_);
      if (sender) static_cast<room_wait*>(awaiter_of(*sender))->served = true;
      more = !senders_.empty();
    }
    if (sender) make_ready(*sender);
  }
  if (pressed) set_pressure();
  deadline_.cancel();
}

void subscription_base::drain() noexcept {
  spin_guard guard{lock_};
  closed_ = true;
}

bool subscription_base::open() noexcept {
  spin_guard guard{lock_};
  opened_ = true;
  return count_ > 0 && claims_trigger();
}

bool subscription_base::has_events() const noexcept {
  spin_guard guard{lock_};
  return count_ > 0;
}

handler_counters subscription_base::counters() const {
  handler_counters c;
  home_.schedule().add_counters(*this, c);
  spin_guard guard{lock_};
  c.events = events_;
  c.dropped = all_.dropped;
  c.expired = all_.expired;
  c.late = all_.late;
  c.failed = failed_;
  c.pending = count_;
  return c;
}

void subscription_base::attach(std::unique_ptr<reader> from) {
  {
    spin_guard guard{lock_};
    from_.swap(from);
    last_ = sync::now();
  }
  if (qos_.deadline == 0ns) return;
  add_ref();
  home_.home().spawn(watch_deadline(counted_ptr<subscription_base>{this})).detach();
}

sync::time_point subscription_base::next_deadline() const noexcept {
  spin_guard guard{lock_};
  return later(last_, qos_.deadline);
}

task<void> subscription_base::watch_deadline(counted_ptr<subscription_base> self) {
  for (auto next = self->next_deadline();;) {
    const bool elapsed = co_await self->deadline_.sleep_until(next);
    if (!elapsed) co_return;
    const auto due = std::exchange(next, self->next_deadline());
    if (next > due) continue;
    self->tell_late();
    next = later(due, self->qos_.deadline);
  }
}

void subscription_base::tell_late() noexcept {
  trigger_list first{home_};
  spin_guard guard{lock_};
  count_and_tell(&notices::late, first);
  guard.release();
}

// --- the task of a run --------------------------------------------------------------------------

void detached_run::begin(executor& home, task<void> body) {
  home.home().spawn(std::move(body)).detach();
}

bool detached_run::enter(handler& h) {
  h.runs_here();
  set_purpose(&h);
  spin_guard guard{lock_};
  if (stopped_) return false;
  who_ = current_activity();
  return true;
}

void detached_run::leave() noexcept {
  for (;;) {
    {
      spin_guard guard{lock_};
      if (held_ == 0) {
        who_ = nullptr;
        return;
      }
    }
    sync::yield_thread();
  }
}

void detached_run::request_stop() noexcept {
  activity* who = nullptr;
  {
    spin_guard guard{lock_};
    stopped_ = true;
    who = who_;
    if (who) ++held_;
  }
  if (!who) return;
  detail::request_stop(*who);  // may call what the user has registered, so without the lock
  spin_guard guard{lock_};
  --held_;
}

}  // namespace rota::detail
