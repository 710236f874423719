// What a worker tells those who look at it: a watchdog, a trace, `rota top`. Without any of them it
// is plain, and looks whether somebody has come once in many steps.
//
// A step is written into a trace when the next one begins, or when the worker has nothing to do: so
// a plain worker has nothing to look at when a step ends.

#include <utility>

#include "pool/pool.h"
#include "pool/worker.h"

namespace rota::detail {

void worker::look_for_observers() noexcept {
  tracer* const t = home_.existing_tracer();
  trace_ring* const to = t ? t->ring(index_) : nullptr;
  const bool named = home_.watched_ || home_.is_observed();
  if (to == trace_ && named == named_) [[likely]]
    return;
  if (to != trace_) step_.subject = nullptr;
  trace_ = to;
  named_ = named;
  plain_ = !strict_ && !named_ && !trace_;
}

[[gnu::noinline]] void worker::prepare_step(job* j) {
  if (!strict_) record_delay(j);
  if (!named_ && !trace_) return;
  const char* behaviour = nullptr;
  task_identity task;
  const std::uint32_t state = j->state_.load(sync::memory_order_relaxed);
  if (state & job::is_behaviour) {
    j->state_.store(state | job::says_name, sync::memory_order_relaxed);
    j->frame.resume();
    j->state_.store(state, sync::memory_order_relaxed);
    behaviour = reinterpret_cast<const char*>(std::exchange(j->link, nullptr));
  } else {
    where_.store(home_.hooks_.where(*j), sync::memory_order_relaxed);
    if (trace_ || home_.is_observed()) task = home_.hooks_.identify(*j);
  }
  name_.store(behaviour, sync::memory_order_relaxed);
  task_number_.store(task.number, sync::memory_order_relaxed);
  task_name_.store(task.name, sync::memory_order_relaxed);
  if (trace_) begin_traced_step(*j, behaviour ? task_identity{0, behaviour} : task);
}

worker_glance worker::glance() const noexcept {
  const auto get = [](const auto& c) { return c.load(sync::memory_order_relaxed); };
  worker_glance g;
  const std::uint64_t before = steps();
  g.points = before;
  g.parks = get(parks_);
  g.steals = get(steals_);
  g.queued = ring_.size() + (get(next_) != nullptr ? 1 : 0);
  g.is_asleep = idle_.has(index_);
  g.is_running = running() != nullptr;
  g.behaviour = get(name_);
  g.task = {get(task_number_), get(task_name_)};
  g.where = get(where_);
  g.is_exact = steps() == before;
  return g;
}

// --- traces -------------------------------------------------------------------------------------

[[gnu::noinline]] void worker::note(trace_kind kind, const void* subject,
                                    std::uint32_t number) noexcept {
  trace_->add({.at = trace_time(), .subject = subject, .number = number, .kind = kind});
}

void worker::begin_traced_step(const job& j, task_identity who) noexcept {
  const trace_record before = end_traced_step();
  step_ = {.at = before.subject ? before.until : trace_time(),
           .subject = &j,
           .text = who.name,
           .where = who.number ? running_where() : std::source_location{},
           .number = who.number};
}

trace_record worker::end_traced_step() noexcept {
  trace_record ended = step_;
  step_.subject = nullptr;
  if (!trace_ || !ended.subject) return {};
  ended.until = trace_time();
  trace_->add(ended);
  return ended;
}

void worker::resume_traced_step(const trace_record& outer) noexcept {
  end_traced_step();
  if (!trace_ || !outer.subject) return;
  step_ = outer;
  step_.at = trace_time();
}

}  // namespace rota::detail
