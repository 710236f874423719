#include "event/executor.h"

#include <rota/base/assert.h>
#include <rota/event/handled.h>
#include <rota/event/message.h>
#include <rota/task/errors.h>
#include <rota/task/spawn.h>

#include <string>
#include <utility>

#include "pool/pool.h"
#include "pool/worker.h"
#include "task/activity.h"
#include "task/runtime_state.h"

namespace rota::detail {

namespace {

const job* job_here() noexcept {
  if (const stand_in* here = stand_in::current()) return here->running();
  const worker* const w = worker::here();
  return w ? w->current() : nullptr;
}

}  // namespace

void handler::runs_here() noexcept { runs_as_.store(job_here(), sync::memory_order_relaxed); }

executor::executor(runtime& rt) : runtime_(rt), runners_(rt.workers()), leaving_(rt.workers()) {
  for (unsigned i = 0; i < rt.workers(); ++i) rt.spawn(runner(i, hand{*this}));
}

void executor::stop() noexcept {
  stopping_.store(true, sync::memory_order_relaxed);
  wakes_.release(runtime_.workers());
  worker* const w = worker::here();
  while (const std::uint32_t left = runners_.load(sync::memory_order_relaxed)) {
    if (w)
      w->help();
    else
      sync::futex_wait(runners_, left);
  }
  // acquire: pairs with leave(); the last access of each runner comes before the end.
  while (leaving_.load(sync::memory_order_acquire) != 0) sync::yield_thread();
  schedule_.drop_removed().settle();
}

void executor::leave() noexcept {
  // relaxed: the last access says more.
  runners_.fetch_sub(1, sync::memory_order_relaxed);
  sync::futex_wake(runners_, 1);
  // release: pairs with stop().
  leaving_.fetch_sub(1, sync::memory_order_release);
}

task<void> executor::runner(unsigned number, hand in) {
  this_task::set_name("event runner " + std::to_string(number));
  try {
    while (!stopping_.load(sync::memory_order_relaxed)) {
      aftermath then;
      in.taken = schedule_.take(then);
      settle(std::exchange(then, {}));
      while (in.taken) {
        const run_end end = run(*in.taken);
        in.taken = end == run_end::detached
                       ? schedule_.take(then)
                       : schedule_.finish_and_take(*in.taken, end == run_end::more, then);
        settle(std::exchange(then, {}));
        co_await turn_end{};
      }
      co_await wakes_.acquire();
    }
  } catch (const cancelled&) {
    // The runtime ends.
  }
}

// Not part of the coroutine, which must not know the worker.
[[gnu::noinline]] run_end executor::run(handler& h) noexcept {
  h.runs_on_ = this;
  h.runs_here();
  worker& w = *worker::here();
  if (!w.wants_names()) [[likely]]
    return h.run();
  const char* const name = state_of(runtime_).lasting(h.name());
  w.set_running_name(name);
  const std::int64_t began = trace_time();
  const run_end end = h.run();
  w.set_running_name(nullptr);
  if (trace_ring* const to = w.trace())
    to->add({.at = began, .until = trace_time(), .text = name, .kind = trace_kind::handler});
  return end;
}

void executor::settle(aftermath then) noexcept {
  then.settle();
  if (then.wakes) wakes_.release(then.wakes);
}

void executor::trigger(handler* all) noexcept {
  handler* kept;
  settle(schedule_.trigger(all, kept));
  if (kept) kept->drop_ref();
  while (handler* const h = all) {
    all = h->trigger_next_;
    h->drop_ref();
  }
}

void executor::remove(handler& h) noexcept {
  schedule_.remove(h);
  h.close();
  // A run that waits for itself would wait for ever.
  const job* const here = job_here();
  if (here && h.runs_as_.load(sync::memory_order_relaxed) == here) return;
  if (h.abandon()) finish(h, false);
  idle_watch ended{idle_watch::by::thread};
  if (!schedule_.watch(h, ended)) return;
  settle(schedule_.wait_for(h, here));
  ended.wait();
}

bool executor::leave_group(handler& h) noexcept {
  aftermath then;
  const bool left = schedule_.leave_group(h, then);
  settle(std::exchange(then, {}));
  return left;
}

bool executor::entry::await_suspend(std::coroutine_handle<> leaf) noexcept {
  return !schedule_.enter_group(handler_, current_activity(), [&] {
    // Not to be cancelled: a group is not held for long.
    current_activity()->begin_wait(*worker::here(), leaf, wait_kind::turn, this, false);
  });
}

handler* executor::running_here() noexcept { return static_cast<handler*>(purpose()); }

void trigger_list::discard(message_ref m) noexcept {
  message_base* const one = m.release();
  if (!one || !one->drop_ref_only()) return;
  one->next = std::exchange(gone_, one);
}

void trigger_list::flush() noexcept {
  last_ = nullptr;
  if (first_) home_.trigger(std::exchange(first_, nullptr));
  while (message_base* const one = gone_) {
    gone_ = one->next;
    one->end();
  }
}

bool is_removed(executor& home, const handler& h) noexcept { return home.schedule().is_removed(h); }

void finish_run(executor& home, handler& h, bool more) noexcept { home.finish(h, more); }

void report_failure(executor& home, const handler& h, std::exception_ptr error) noexcept {
  runtime_state::report_unobserved(std::move(error), h.name(),
                                   state_of(home.home()).on_unobserved().get());
}

}  // namespace rota::detail
