#include <rota/event/service.h>

#include <rota/base/assert.h>
#include <rota/task/errors.h>
#include <rota/time/sleep.h>

#include <bit>
#include <stdexcept>
#include <utility>

#include "event/executor.h"
#include "event/names.h"

namespace rota {

std::string_view to_string(call_status s) noexcept {
  switch (s) {
    case call_status::ok:
      return "ok";
    case call_status::timeout:
      return "timeout";
    case call_status::no_responder:
      return "no_responder";
    case call_status::cancelled:
      return "cancelled";
    case call_status::lost:
      return "lost";
  }
  return "";
}

namespace detail {

// --- calls --------------------------------------------------------------------------------------

bool call_state::complete(status s, message_ref reply, std::string why) noexcept {
  std::uint8_t expected = code(status::pending);
  // relaxed: what follows is ordered by the release below; who loses touches nothing.
  if (!status_.compare_exchange_strong(expected, completing, sync::memory_order_relaxed,
                                       sync::memory_order_relaxed))
    return false;
  reply_ = std::move(reply);
  reason_ = std::move(why);
  // release: pairs with result().
  status_.store(code(s), sync::memory_order_release);
  completed();
  return true;
}

call_state::status call_state::result() const noexcept {
  std::uint8_t s = 0;
  // Whoever completes it is about to store the reply.
  while ((s = status_.load(sync::memory_order_acquire)) == completing) sync::pause();
  ROTA_ASSERT(s != code(status::pending), "the result of a call that has none");
  return static_cast<status>(s);
}

void taken_call::fail(std::exception_ptr error) noexcept {
  if (!call_) return;  // it was answered, and the exception came after
  std::string why = "the server threw an exception";
  try {
    std::rethrow_exception(std::move(error));
  } catch (const cancelled&) {
    why = "the server was removed";
  } catch (const std::exception& e) {
    try {
      why = std::string("the server threw: ") + e.what();
    } catch (...) {
      // Without memory for more, that is all there is to say.
    }
  } catch (...) {
    // What it is, nobody knows.
  }
  call_ref { std::move(call_) } -> complete(call_state::status::lost, {}, std::move(why));
}

// --- clients ------------------------------------------------------------------------------------

class client_state::pending_call final : public call_state {
 public:
  using call_state::call_state;

  async_alarm alarm;  // ends the wait of who calls

  // All below: guarded by the client's lock.
  bool started = false;
  pending_call* before = nullptr;
  pending_call* after = nullptr;

 private:
  void completed() noexcept override { alarm.cancel(); }
};

client_state::client_state(counted_ptr<counted> keep, executor& home, transport& way, endpoint e,
                           std::size_t max_pending)
    : keep_(std::move(keep)),
      home_(home),
      way_(way),
      endpoint_(std::move(e)),
      connection_(way.connect(endpoint_)),
      max_pending_(max_pending) {}

task<call_outcome> client_state::call(message_ref request, std::chrono::nanoseconds timeout) {
  const auto self = counted_ptr<client_state>::to(*this);
  const sync::time_point deadline = after(timeout);
  auto* const p = new pending_call(std::move(request), deadline);
  const call_ref c{p};
  // Others of the group may run while this one waits: the server may be among them.
  handler* const caller = executor::running_here();
  // That group may be of another bus.
  executor* const runs_on = caller ? &executor::home_of(*caller) : nullptr;
  const bool left = caller && runs_on->leave_group(*caller);
  if (enlist(*p)) start(c);
  bool stopped = false;
  try {
    co_await p->alarm.sleep_until(deadline);
  } catch (const cancelled&) {
    stopped = true;
  }
  if (p->complete(stopped ? call_state::status::cancelled : call_state::status::timeout))
    way_.cancel(endpoint_, c);
  ended(*p);
  if (left) {
    auto group = runs_on->enter_group(*caller);
    co_await group;
  }
  if (stopped) throw cancelled{};
  call_outcome o;
  switch (p->result()) {
    case call_state::status::ok:
      o.status = call_status::ok;
      break;
    case call_state::status::timeout:
      o.status = call_status::timeout;
      o.reason = "no answer of " + quoted(endpoint_.name) + " in time";
      co_return o;
    case call_state::status::no_responder:
      o.status = call_status::no_responder;
      break;
    case call_state::status::cancelled:
      o.status = call_status::cancelled;
      break;
    default:
      o.status = call_status::lost;
  }
  o.reply = p->take_reply();
  o.reason = p->take_reason();
  co_return o;
}

// Enlists the call. True if it may start now; otherwise it is queued, or was completed.
bool client_state::enlist(pending_call& c) {
  bool closed = false;
  {
    spin_guard guard{lock_};
    c.after = first_;
    if (first_) first_->before = &c;
    first_ = &c;
    closed = closed_;
    if (!closed && under_way_ < max_pending_) {
      ++under_way_;
      return c.started = true;
    }
    if (!closed) {
      c.add_ref();
      queued_.push_back(call_ref{&c});
    }
  }
  if (closed) c.complete(call_state::status::cancelled, {}, "the client was removed");
  return false;
}

// A transport that throws ends the call and nothing else: others may depend on the caller here.
void client_state::start(const call_ref& c) noexcept {
  std::string why = "an exception";
  try {
    return way_.call(endpoint_, c);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    // What it is, nobody knows.
  }
  c->complete(call_state::status::lost, {}, "the request was not sent: " + why);
}

// The call has ended: the next that waits may start.
void client_state::ended(pending_call& c) noexcept {
  call_ref next;
  std::vector<call_ref> gone;  // completed while they waited
  {
    spin_guard guard{lock_};
    (c.before ? c.before->after : first_) = c.after;
    if (c.after) c.after->before = c.before;
    if (c.started) --under_way_;
    while (!next && under_way_ < max_pending_ && !queued_.empty()) {
      call_ref candidate = std::move(queued_.front());
      queued_.pop_front();
      if (candidate->is_pending()) {
        static_cast<pending_call*>(candidate.get())->started = true;
        ++under_way_;
        next = std::move(candidate);
      } else {
        gone.push_back(std::move(candidate));
      }
    }
  }
  if (next) start(next);
}

void client_state::close() noexcept {
  for (;;) {
    call_ref c;
    {
      spin_guard guard{lock_};
      closed_ = true;
      for (pending_call* p = first_; p && !c; p = p->after) {
        if (!p->is_pending()) continue;
        p->add_ref();
        c = call_ref{p};
      }
    }
    if (!c) return;
    if (c->complete(call_state::status::cancelled, {}, "the client was removed"))
      way_.cancel(endpoint_, c);
  }
}

// --- answers for functions ----------------------------------------------------------------------

void client_base::expect() noexcept {
  spin_guard guard{lock_};
  ++expected_;
}

void client_base::answer(job_function f) {
  trigger_list first{home_};
  spin_guard guard{lock_};
  --expected_;
  if (closed_) return;
  answers_.push_back(std::move(f));
  if (!std::exchange(owned_, true)) first.add(*this);
  guard.release();
}

run_end client_base::run() noexcept {
  run_clock clock;
  clock.start();
  for (std::size_t i = 0;; ++i) {
    job_function f;
    {
      spin_guard guard{lock_};
      owned_ = !answers_.empty();
      if (!owned_) return run_end::done;
      if (i == budget_ || (std::has_single_bit(i) && clock.is_over())) return run_end::more;
      f = std::move(answers_.front());
      answers_.pop_front();
      ++events_;
    }
    try {
      f();
    } catch (...) {
      {
        spin_guard guard{lock_};
        ++failed_;
      }
      report_failure(home_, *this, std::current_exception());
    }
  }
}

void client_base::close() noexcept {
  std::deque<job_function> gone;
  spin_guard guard{lock_};
  closed_ = true;
  gone.swap(answers_);
  guard.release();
}

bool client_base::has_events() const noexcept {
  spin_guard guard{lock_};
  return !answers_.empty() || expected_ > 0;
}

handler_counters client_base::counters() const {
  handler_counters c;
  home_.schedule().add_counters(*this, c);
  spin_guard guard{lock_};
  c.events = events_;
  c.failed = failed_;
  c.pending = answers_.size();
  return c;
}

void spawn_call(executor& home, task<void> t) { home.home().spawn(std::move(t)).detach(); }

// --- servers ------------------------------------------------------------------------------------

bool server_base::take_one(event& e) noexcept {
  call_ref c = from_->take();
  if (!c) return false;
  e = taken_call{std::move(c)};
  spin_guard guard{lock_};
  ++events_;
  return true;
}

void server_base::failed(event& e) noexcept {
  e.fail(std::current_exception());
  {
    spin_guard guard{lock_};
    ++failed_;
  }
  report_failure(home_, *this, std::current_exception());
}

void server_base::close() noexcept {
  if (from_) from_->withdraw();
}

void server_base::drain() noexcept {
  if (from_) from_->drain();
}

handler_counters server_base::counters() const {
  handler_counters c;
  home_.schedule().add_counters(*this, c);
  spin_guard guard{lock_};
  c.events = events_;
  c.failed = failed_;
  return c;
}

}  // namespace detail
}  // namespace rota
