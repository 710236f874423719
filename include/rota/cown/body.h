// What a behaviour runs: its function with the arguments, where the result goes, and what may stop
// it, as they lie behind the slots of a behaviour. A function that returns a task is run as one:
//
//   rota::when(a) << [](int& x) -> rota::task<> { co_await rota::sleep_for(1ms); ++x; };
//
// Promised: a body ends once, with a value, an exception or cancelled, also if its task is
// destroyed where it waits. What the function captured ends while the cowns are still held; then
// they are released; then the result is told.
//
// Threads: a body is run by one worker at a time.
#ifndef ROTA_COWN_BODY_H
#define ROTA_COWN_BODY_H

#include <rota/cown/core.h>
#include <rota/cown/result.h>
#include <rota/task/runtime.h>
#include <rota/task/spawn.h>
#include <rota/task/task.h>

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rota {

namespace detail {

// --- where results go ---------------------------------------------------------------------------

template <class T>
struct task_result {
  static constexpr bool is_task = false;
  using type = T;
};
template <class T>
struct task_result<task<T>> {
  static constexpr bool is_task = true;
  using type = T;
};

// Nobody wants it.
struct discard {
  template <class... Args>
  void set_value(Args&&...) const noexcept {}
  void fail(std::exception_ptr error, const char* name) const noexcept {
    report_unobserved(std::move(error), name, listener_here());
  }
  void cancel() const noexcept {}
  void publish() const noexcept {}
};

template <class R>
struct keep {
  result_state<R>* state;

  template <class... Args>
  void set_value(Args&&... args) const {
    state->set_value(std::forward<Args>(args)...);
  }
  void fail(std::exception_ptr error, const char*) const noexcept { state->fail(std::move(error)); }
  void cancel() const noexcept { state->cancel(); }
  void publish() const noexcept { state->publish(); }
};

// --- the behaviour ------------------------------------------------------------------------------

// The name of a function's type: with clang, where it was written.
template <class F>
const char* name_of() noexcept {
  return __PRETTY_FUNCTION__;
}

struct never_stopped {
  bool stop_requested() const noexcept { return false; }
};

template <class Body>
struct unless_begun;
template <class Body, class T>
task<void> run_as_task(unless_begun<Body> b, task<T> work);

template <class F, class Arguments, class Sink, class Stop>
struct body {
  using stop_type = Stop;
  using returned =
      decltype(std::declval<Arguments&>().call(std::declval<F&>(), std::declval<behaviour&>()));
  using result = task_result<returned>;
  static_assert(!std::is_reference_v<returned>,
                "a behaviour returns a value: what it refers to is somebody else's then");

  F function;
  [[no_unique_address]] Arguments arguments;
  [[no_unique_address]] Sink sink;
  [[no_unique_address]] Stop stop;

  static constexpr std::size_t offset(std::size_t slots) noexcept {
    static_assert(alignof(body) <= frame_granule, "what a behaviour captures is aligned to 16");
    return (behaviour::bytes(slots) + alignof(body) - 1) / alignof(body) * alignof(body);
  }

  // For how many slots there is room: with repeated cowns there are fewer.
  static std::size_t slots_of(const behaviour& b) noexcept {
    return fixed_slots != dynamic ? fixed_slots : b.count;
  }

  static body& in(behaviour& b) noexcept {
    return *std::launder(
        reinterpret_cast<body*>(reinterpret_cast<std::byte*>(&b) + offset(slots_of(b))));
  }

  static constexpr std::size_t dynamic = ~std::size_t{0};
  static constexpr std::size_t fixed_slots = [] {
    if constexpr (requires { Arguments::count; })
      return std::size_t{Arguments::count};
    else
      return dynamic;
  }();

  static const char* name() noexcept { return name_of<F>(); }

  // What a worker calls.
  static void run(void* frame) {
    behaviour& b = behaviour::resumed(frame);
    const bool odd = b.is(behaviour::says_name | behaviour::is_dropped);
    if (odd && b.says(name())) [[unlikely]]
      return;
    b.begin();
    body& self = in(b);
    if (odd || self.stop.stop_requested()) [[unlikely]] {
      self.sink.cancel();
      return finish(b);
    }
    if constexpr (fixed_slots > 1) b.will_touch_cowns(slots_of(b));
    bool begun = false;
    try {
      if constexpr (result::is_task) {
        if (b.is(behaviour::on_pump))
          throw std::logic_error("a behaviour that runs in a pump cannot be a coroutine");
        auto work = run_as_task(unless_begun<body>{&b}, self.arguments.call(self.function, b));
        b.set(behaviour::as_task);
        begun = true;
        rota::spawn(std::move(work));
        return;
      } else if constexpr (std::is_void_v<returned>) {
        self.arguments.call(self.function, b);
        self.sink.set_value();
      } else {
        self.sink.set_value(self.arguments.call(self.function, b));
      }
    } catch (...) {
      if (begun) return;  // the task could not be queued, and has ended the behaviour
      self.sink.fail(std::current_exception(), name());
    }
    finish(b);
  }

  // Ends what the function captured while the cowns are still ours, then releases them, then tells.
  static void finish(behaviour& b) noexcept {
    body& self = in(b);
    const Sink sink = self.sink;
    self.~body();
    if constexpr (fixed_slots == 1)
      complete_one(b);
    else
      complete(b);
    sink.publish();
  }
};

// --- behaviours that are tasks ------------------------------------------------------------------

struct stop_task {
  activity* a;
  void operator()() const noexcept { request_stop(*a); }
};

// Asks the running task to stop when the token does.
struct stop_with_nothing {
  explicit stop_with_nothing(never_stopped) noexcept {}
};
struct stop_with_token : std::stop_callback<stop_task> {
  explicit stop_with_token(const std::stop_token& token)
      : stop_callback(token, stop_task{current_activity()}) {}
};

// Ends the behaviour if its task is destroyed before the first step.
template <class Body>
struct unless_begun {
  behaviour* b;
  explicit unless_begun(behaviour* which) noexcept : b(which) {}
  unless_begun(unless_begun&& other) noexcept : b(std::exchange(other.b, nullptr)) {}
  unless_begun& operator=(unless_begun&&) = delete;
  ~unless_begun() {
    if (!b || !b->is(behaviour::as_task)) return;
    Body::in(*b).sink.cancel();
    Body::finish(*b);
  }
};

// Ends the behaviour with the task, also if that is destroyed where it waits.
template <class Body>
struct finish_at_end {
  behaviour* b;
  bool settled = false;  // the sink has a value or an exception
  explicit finish_at_end(behaviour* which) : b(which) { begin_behaviour(*which); }
  finish_at_end(const finish_at_end&) = delete;
  finish_at_end& operator=(const finish_at_end&) = delete;
  ~finish_at_end() {
    end_behaviour();
    if (!settled) Body::in(*b).sink.cancel();
    Body::finish(*b);
  }
};

template <class Body, class T>
task<void> run_as_task(unless_begun<Body> b, task<T> work) {
  finish_at_end<Body> end{std::exchange(b.b, nullptr)};
  Body& self = Body::in(*end.b);
  task<T> inner = std::move(work);  // its frame ends before the cowns are released
  try {
    const std::conditional_t<std::is_same_v<typename Body::stop_type, never_stopped>,
                             stop_with_nothing, stop_with_token>
        stop_with{self.stop};
    if constexpr (std::is_void_v<T>) {
      co_await std::move(inner);
      self.sink.set_value();
    } else {
      self.sink.set_value(co_await std::move(inner));
    }
  } catch (const cancelled&) {
    self.sink.cancel();
  } catch (...) {
    self.sink.fail(std::current_exception(), Body::name());
  }
  end.settled = true;
}

}  // namespace detail

}  // namespace rota

#endif
