// Requests and their answers.
//
//   node.serve<add, int>("/add", [](const add& a) { return a.x + a.y; });    // or a coroutine
//
//   auto sum = node.client<add, int>("/add");
//   rota::call_result<int> r = co_await sum.call(add{1, 2}, 200ms);
//   if (r) use(*r); else log(r.reason());
//
// Promised: every call ends, by its deadline at the latest. It is answered at most once, by one of
// the servers that share the name; a server that is idle takes the next call. A call waits without
// a worker, and lets other handlers of its group run meanwhile: a handler may call a service of its
// own node. At most `max_pending` calls of a client are under way, others wait for their turn,
// before the deadline.
// Not promised: that a request was not handled if its call did not end with ok.
//
// Threads: to await is for tasks. If the task is asked to stop, the call is taken back and throws
// rota::cancelled, as any wait does.
#ifndef ROTA_EVENT_SERVICE_H
#define ROTA_EVENT_SERVICE_H

#include <rota/base/spin_lock.h>
#include <rota/event/core.h>
#include <rota/event/handled.h>
#include <rota/event/message.h>
#include <rota/event/options.h>
#include <rota/event/registration.h>
#include <rota/event/subscription.h>
#include <rota/event/transport.h>
#include <rota/task/task.h>
#include <rota/time/alarm.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rota {

// How a call has ended.
enum class call_status : std::uint8_t {
  ok,
  timeout,       // its deadline has passed
  no_responder,  // there is no server of that name, or the last one left without taking it
  cancelled,     // the client was removed
  lost,  // a server took it and did not answer: it threw, or was removed; or the way was cut
};
std::string_view to_string(call_status s) noexcept;

template <class Reply>
class call_result {
 public:
  call_result(call_status s, std::string reason) : status_(s), reason_(std::move(reason)) {}
  explicit call_result(message<Reply> reply) noexcept
      : status_(call_status::ok), reply_(std::move(reply)) {}

  call_status status() const noexcept { return status_; }
  explicit operator bool() const noexcept { return status_ == call_status::ok; }

  // Only of a call that was answered.
  const Reply& operator*() const noexcept { return *reply_; }
  const Reply* operator->() const noexcept { return &*reply_; }
  Reply take() && { return std::move(reply_).take(); }

  // Why it was not: for people.
  const std::string& reason() const noexcept { return reason_; }

 private:
  call_status status_;
  message<Reply> reply_;
  std::string reason_;
};

namespace detail {

class client_state;

// What a call of a client has come to, without its type.
struct call_outcome {
  call_status status = call_status::lost;
  message_ref reply;
  std::string reason;
};

// One end of a service: shared by the copies of a client.
class client_state : public counted {
 public:
  // `keep` is what home and way are part of.
  client_state(counted_ptr<counted> keep, executor& home, transport& way, endpoint e,
               std::size_t max_pending);

  task<call_outcome> call(message_ref request, std::chrono::nanoseconds timeout);

  // Ends all calls, and those to come.
  void close() noexcept;
  bool is_closed() const noexcept {
    spin_guard guard{lock_};
    return closed_;
  }

  executor& home() const noexcept { return home_; }

 private:
  class pending_call;

  bool enlist(pending_call& c);
  void start(const call_ref& c) noexcept;
  void ended(pending_call& c) noexcept;

  const counted_ptr<counted> keep_;
  executor& home_;
  transport& way_;
  const endpoint endpoint_;
  const std::unique_ptr<reader> connection_;
  const std::size_t max_pending_;

  mutable spin_lock lock_;
  // All below: guarded by lock_.
  bool closed_ = false;
  std::size_t under_way_ = 0;
  std::deque<call_ref> queued_;
  pending_call* first_ = nullptr;  // all that have not ended
};

// The answers to calls that were made with a function.
class client_base : public handler {
 public:
  using job_function = std::function<void()>;

  client_base(executor& home, std::string name, std::size_t budget)
      : handler(handler_class::client, std::move(name)), home_(home), budget_(budget) {}

  // A call begins, and its answer comes. Until then the handler counts as one with events.
  void expect() noexcept;
  void answer(job_function f);

  run_end run() noexcept final;
  void close() noexcept final;
  void drain() noexcept final {}  // calls end by their deadlines, and their functions are called
  bool has_events() const noexcept final;
  handler_counters counters() const final;
  executor& home() const noexcept { return home_; }

 private:
  ~client_base() override = default;

  executor& home_;
  const std::size_t budget_;
  mutable spin_lock lock_;
  std::deque<job_function> answers_;  // guarded by lock_
  std::size_t expected_ = 0;          // guarded by lock_
  bool owned_ = false;                // guarded by lock_
  bool closed_ = false;               // guarded by lock_
  std::uint64_t events_ = 0;          // guarded by lock_
  std::uint64_t failed_ = 0;          // guarded by lock_
};

// A call that a server has taken. Dropped without an answer it is lost.
class taken_call {
 public:
  taken_call() noexcept = default;
  explicit taken_call(call_ref c) noexcept : call_(std::move(c)) {}
  taken_call(taken_call&&) noexcept = default;
  taken_call& operator=(taken_call&&) noexcept = default;
  ~taken_call() {
    if (call_) call_->complete(call_state::status::lost, {}, "the server ended without an answer");
  }
  message_ref& request() noexcept { return call_->request(); }
  message_ref take_request() noexcept { return std::move(call_->request()); }
  void answer(message_ref reply) noexcept {
    call_ref { std::move(call_) } -> complete(call_state::status::ok, std::move(reply));
  }
  void fail(std::exception_ptr error) noexcept;

 private:
  call_ref call_;
};

class server_base : public handler, public request_sink {
 public:
  server_base(executor& home, std::string name, std::size_t budget)
      : handler(handler_class::server, std::move(name)), home_(home), budget_(budget) {}

  // Before the first request can come.
  void attach(std::unique_ptr<served> from) noexcept { from_ = std::move(from); }

  handler& owner() noexcept final { return *this; }
  void close() noexcept override;
  void drain() noexcept final;
  bool open() noexcept final { return from_->rest(); }
  bool has_events() const noexcept final { return from_->is_busy(); }
  handler_counters counters() const final;
  executor& home() const noexcept { return home_; }

 protected:
  ~server_base() override = default;

  // --- the source of a handler: handled.h ---
  using event = taken_call;
  bool take_one(event& e) noexcept;
  std::size_t budget() const noexcept { return budget_; }
  template <class Answer>
  run_end run_batch(Answer&& answer) noexcept {
    run_clock clock;
    clock.start();
    for (std::size_t i = 1; i <= budget_; ++i) {
      event e;
      if (!take_one(e)) break;
      answer(e);
      if ((i & (i - 1)) == 0 && clock.is_over()) break;
    }
    return rest() ? run_end::more : run_end::done;
  }
  bool rest() noexcept { return from_->rest(); }
  void failed(event& e) noexcept;

 private:
  executor& home_;
  const std::size_t budget_;
  std::unique_ptr<served> from_;
  mutable spin_lock lock_;
  std::uint64_t events_ = 0;  // guarded by lock_
  std::uint64_t failed_ = 0;  // guarded by lock_
};

// Requests of one type, and answers of another.
template <class Request, class Reply>
class request_source : public server_base {
 public:
  using server_base::server_base;

  template <class F, class... More>
  using result = call_result_of<Request, F, More...>;

 protected:
  ~request_source() override = default;

  template <class F, class... More>
  static void apply(F& f, event& e, More&... more) {
    answer(e, call_with<Request>(f, message<Request>{e.take_request()}, more...));
  }
  template <class F>
  static task<void> apply_later(F& f, event& e) {
    return answer_later(e, call_later<Request>(f, e.request()));
  }

 private:
  static void answer(event& e, Reply reply) {
    e.answer(message_ref{message_of<Reply>::make(std::move(reply))});
  }

  // Does not know the function: g++ 12 warns of coroutines that know a lambda of a coroutine.
  template <class T>
  static task<void> answer_later(event& e, task<T> later) {
    answer(e, co_await std::move(later));
  }
};

}  // namespace detail

using server = registration;

// Calls a service. Copies share one end of it.
template <class Request, class Reply>
class client {
 public:
  client() noexcept = default;
  client(detail::counted_ptr<detail::client_state> s,
         detail::counted_ptr<detail::client_base> h) noexcept
      : state_(std::move(s)), answers_(std::move(h)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(state_); }

  // The answer, or why there is none.
  task<call_result<Reply>> call(Request request, std::chrono::nanoseconds timeout) const {
    return run(state_, loan<Request>{std::in_place, std::move(request)}.release(), timeout);
  }

  // The same for who does not wait: `f` is called with the result, as a handler of the node, unless
  // that is stopped before. From any thread.
  template <class F>
  void call(Request request, std::chrono::nanoseconds timeout, F f) const;

 private:
  static task<call_result<Reply>> run(detail::counted_ptr<detail::client_state> s,
                                      detail::message_ref request,
                                      std::chrono::nanoseconds timeout) {
    detail::call_outcome o = co_await s->call(std::move(request), timeout);
    if (o.status == call_status::ok)
      co_return call_result<Reply>{message<Reply>{std::move(o.reply)}};
    co_return call_result<Reply>{o.status, std::move(o.reason)};
  }
  template <class F>
  static task<void> run_for(detail::counted_ptr<detail::client_state> s,
                            detail::counted_ptr<detail::client_base> answers,
                            detail::message_ref request, std::chrono::nanoseconds timeout, F f) {
    call_result<Reply> r = co_await run(std::move(s), std::move(request), timeout);
    struct both {
      call_result<Reply> result;
      F function;
    };
    auto kept = std::make_shared<both>(both{std::move(r), std::move(f)});
    answers->answer([kept = std::move(kept)] { kept->function(std::move(kept->result)); });
  }

  detail::counted_ptr<detail::client_state> state_;
  detail::counted_ptr<detail::client_base> answers_;
};

namespace detail {
void spawn_call(executor& home, task<void> t);
}

template <class Request, class Reply>
template <class F>
void client<Request, Reply>::call(Request request, std::chrono::nanoseconds timeout, F f) const {
  if (state_->is_closed()) return;  // the runtime may be gone as well
  answers_->expect();
  detail::spawn_call(
      state_->home(),
      run_for(state_, answers_, loan<Request>{std::in_place, std::move(request)}.release(), timeout,
              std::move(f)));
}

}  // namespace rota

#endif
