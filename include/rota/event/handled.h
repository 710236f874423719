// The three ways in which a handler does its work: by a function that returns at once, by a
// coroutine, by a behaviour on a cown. A program needs none of it.
//
// What the events are is the business of the source that a handler derives from: subscription.h,
// service.h, ticker.h. A source has
//
//   class event;                                    // what one call of the function is about
//   bool take_one(event& e);                        // false: there is none
//   std::size_t budget();                           // how many a run takes at most
//   run_end run_batch(f);                           // calls f(event&) until its budget is spent
//   bool rest();                                    // a run ends that was no batch: true if events
//                                                   // are left
//   void failed(event& e);                          // the function threw, in a catch block
//   static void apply(F& f, event& e, more...);     // calls the function, more arguments first
//   static task<void> apply_later(F& f, event& e);  // the same for a coroutine
//   using result<F> = ...;                          // what the function gives
#ifndef ROTA_EVENT_HANDLED_H
#define ROTA_EVENT_HANDLED_H

#include <rota/base/spin_lock.h>
#include <rota/base/sync.h>
#include <rota/cown/cown.h>
#include <rota/cown/when.h>
#include <rota/event/core.h>
#include <rota/task/task.h>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

namespace rota {

// A handler whose function runs as a behaviour: alone with the value of a cown.
//
//   node.subscribe<scan>("/scan", {}, rota::on(map, [](map_state& m, const scan& s) { ... }));
template <class T, class F>
struct on_cown {
  cown_ptr<T> cown;
  F function;
};
template <class T, class F>
on_cown<T, std::decay_t<F>> on(cown_ptr<T> cown, F&& function) {
  return {std::move(cown), std::forward<F>(function)};
}

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

// Reads the clock seldom: it costs as much as a short handler.
class run_clock {
 public:
  void start() noexcept;  // if it has not
  bool has_started() const noexcept { return began_ != sync::time_point{}; }

  // Whether more than a millisecond has passed since the start.
  bool is_over() const noexcept;

 private:
  sync::time_point began_{};
};

template <class Source, class F>
class function_handler final : public Source {
 public:
  template <class... Args>
  explicit function_handler(F f, Args&&... args)
      : Source(std::forward<Args>(args)...), function_(std::move(f)) {}

  run_end run() noexcept override {
    return this->run_batch([this](typename Source::event& e) {
      try {
        Source::apply(function_, e);
      } catch (...) {
        this->failed(e);
      }
    });
  }

 private:
  F function_;
};

// The task of a run: can be asked to stop, from outside, while it is there.
class detached_run {
 public:
  static void begin(executor& home, task<void> body);

  // The task begins: false if it was asked to stop before that.
  bool enter(handler& h);

  // It ends: after this nobody asks it to stop any more.
  void leave() noexcept;

  // Asks the task that is there, and those to come, to stop.
  void request_stop() noexcept;

 private:
  spin_lock lock_;
  activity* who_ = nullptr;  // guarded by lock_
  int held_ = 0;             // guarded by lock_: somebody is asking it to stop just now
  bool stopped_ = false;     // guarded by lock_
};

// Between two events: whoever else is ready has its turn.
struct turn_end {
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> leaf) const noexcept { return take_turns(leaf); }
  void await_resume() const noexcept {}
};

// One event after the other, in a task for each run.
template <class Source, class F>
class task_handler final : public Source {
 public:
  template <class... Args>
  explicit task_handler(F f, Args&&... args)
      : Source(std::forward<Args>(args)...), function_(std::move(f)) {}

  run_end run() noexcept override {
    this->runs_as_nobody();
    try {
      this->add_ref();
      run_at_end ends{counted_ptr<task_handler>{this}};
      detached_.begin(this->home(), body(std::move(ends)));
    } catch (...) {  // there was no memory for it: `ends` has ended the run, and others follow
    }
    return run_end::detached;
  }

  void close() noexcept override {
    Source::close();
    detached_.request_stop();
  }

 private:
  // Ends the run, also if the runtime ends and destroys the frame before it begins or where it
  // waits.
  struct run_at_end {
    counted_ptr<task_handler> self;

    explicit run_at_end(counted_ptr<task_handler> h) noexcept : self(std::move(h)) {}
    run_at_end(run_at_end&&) noexcept = default;
    ~run_at_end() {
      if (!self) return;
      self->detached_.leave();
      finish_run(self->home(), *self, self->rest());
    }
  };

  // Until nothing is left, or the budget or about a millisecond is spent.
  static task<void> body(run_at_end ends) {
    task_handler& self = *ends.self;
    if (!self.detached_.enter(self)) co_return;
    run_clock clock;
    for (std::size_t left = self.budget(); left > 0 && !clock.is_over(); --left) {
      typename Source::event e;
      if (!self.take_one(e)) co_return;
      clock.start();
      try {
        co_await Source::apply_later(self.function_, e);
      } catch (...) {
        self.failed(e);
      }
      co_await turn_end{};
    }
  }

  F function_;
  detached_run detached_;
};

// A behaviour for each run.
template <class Source, class T, class F>
class cown_handler final : public Source {
 public:
  template <class... Args>
  explicit cown_handler(on_cown<T, F> f, Args&&... args)
      : Source(std::forward<Args>(args)...), bound_(std::move(f)) {}

  run_end run() noexcept override {
    this->runs_as_nobody();
    try {
      this->add_ref();
      one_run all{counted_ptr<cown_handler>{this}};
      claim_.store(open, sync::memory_order_relaxed);
      // Of us and who removes the handler one sees the other, by the lock of the schedule. The
      // behaviour would wait, maybe for that one.
      if (!is_removed(this->home(), *this)) when(bound_.cown) << std::move(all);
    } catch (...) {  // there was no memory for it: what was to run has ended the run
    }
    return run_end::detached;
  }

  bool abandon() noexcept override { return claim_run(); }

 private:
  // A run is for one: the behaviour, or who removes the handler before that begins.
  enum : std::uint8_t { open, claimed };
  bool claim_run() noexcept {
    // acq_rel: who is late does nothing, and what the others did comes before that.
    return claim_.exchange(claimed, sync::memory_order_acq_rel) == open;
  }

  // Ends the run also if the behaviour is dropped.
  struct one_run {
    counted_ptr<cown_handler> self;

    explicit one_run(counted_ptr<cown_handler> h) noexcept : self(std::move(h)) {}
    one_run(one_run&&) noexcept = default;
    ~one_run() {
      if (self && self->claim_run()) finish_run(self->home(), *self, self->rest());
    }

    void operator()(T& value) {
      const counted_ptr<cown_handler> h = std::move(self);
      if (!h->claim_run()) return;
      h->runs_here();
      const run_end end = h->run_batch([&](typename Source::event& e) {
        try {
          Source::apply(h->bound_.function, e, value);
        } catch (...) {
          h->failed(e);
        }
      });
      finish_run(h->home(), *h, end == run_end::more);
    }
  };

  on_cown<T, F> bound_;
  sync::atomic<std::uint8_t> claim_{claimed};
};

// Makes the handler that fits the function; `more` are the arguments of the source.
template <class Source, class T, class F, class... More>
counted_ptr<Source> make_handler(on_cown<T, F> f, More&&... more) {
  static_assert(!is_task<typename Source::template result<F, T>>,
                "a behaviour that handles events is a function, not a coroutine");
  return counted_ptr<Source>{
      new cown_handler<Source, T, F>(std::move(f), std::forward<More>(more)...)};
}
template <class Source, class F, class... More>
counted_ptr<Source> make_handler(F f, More&&... more) {
  using handler_type = std::conditional_t<is_task<typename Source::template result<F>>,
                                          task_handler<Source, F>, function_handler<Source, F>>;
  return counted_ptr<Source>{new handler_type(std::move(f), std::forward<More>(more)...)};
}

}  // namespace detail
}  // namespace rota

#endif
