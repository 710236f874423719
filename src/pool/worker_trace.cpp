// What a worker writes down for a trace. A step is written when the next one begins, or when the
// worker has nothing to do: so a worker without a trace has nothing to look at when a step ends.

#include "pool/pool.h"
#include "pool/worker.h"

namespace rota::detail {

void worker::look_for_trace() noexcept {
  tracer* const t = home_.existing_tracer();
  trace_ring* const to = t ? t->ring(index_) : nullptr;
  if (to == trace_) [[likely]]
    return;
  trace_ = to;
  step_.subject = nullptr;
  plain_ = !strict_ && !home_.watched_ && !trace_;
}

[[gnu::noinline]] void worker::note(trace_kind kind, const void* subject,
                                    std::uint32_t number) noexcept {
  trace_->add({.at = trace_time(), .subject = subject, .number = number, .kind = kind});
}

void worker::begin_traced_step(const job& j, const char* name) noexcept {
  const trace_record before = end_traced_step();
  step_ = {.at = before.subject ? before.until : trace_time(), .subject = &j, .text = name};
  if (name) return;  // a behaviour
  const task_identity who = home_.hooks_.identify(j);
  step_.number = who.number;
  step_.text = who.name;
  step_.where = running_where();
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
