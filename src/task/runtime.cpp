#include <rota/task/runtime.h>

#include <rota/base/assert.h>

#include <string>

#include "pool/worker.h"
#include "task/runtime_state.h"

namespace rota {

using detail::activity;
using detail::runtime_state;
using detail::worker;

namespace detail {

std::shared_ptr<run_record> make_run_record() { return std::make_shared<run_record>(); }

void signal_end(run_record& record) noexcept { record.signal(); }

runtime_state& state_of(runtime& rt) noexcept { return *rt.state_; }

}  // namespace detail

runtime::runtime(options o) : state_(std::make_unique<runtime_state>(std::move(o))) {}

runtime::~runtime() = default;

void runtime::wait_for(join_handle<void> root, detail::run_record& record) {
  ROTA_CHECK(!worker::here(), "run() inside a task blocks a worker: co_await or spawn() instead");
  state_->begin_run(record, true);
  record.wait();
  state_->end_run(record);
  root.detach();
  if (!record.deadlock_report.empty()) throw deadlock{record.deadlock_report};
}

void runtime::quiesce() {
  ROTA_CHECK(!worker::here(), "quiesce() inside a task would wait for itself");
  state_->wait_for_standstill();
}

stats runtime::statistics() const { return state_->workers().statistics(); }

std::string runtime::dump() const { return state_->dump(); }

void runtime::trace_to(const std::string& file) { state_->workers().tracer_or_new().start(file); }

trace_summary runtime::stop_trace() {
  detail::tracer* const t = state_->workers().existing_tracer();
  return t ? t->stop() : trace_summary{};
}

unsigned runtime::workers() const noexcept { return state_->workers().size(); }

outside::outside(runtime& rt) noexcept : state_(rt.state_.get()) {
  state_->workers().expect_outside(+1);
}

outside::outside() noexcept : state_(runtime_state::here()) {
  ROTA_CHECK(state_, "outside{} outside of a task: name the runtime");
  state_->workers().expect_outside(+1);
}

outside::outside(const outside& other) noexcept : state_(other.state_) {
  state_->workers().expect_outside(+1);
}

outside::~outside() { state_->workers().expect_outside(-1); }

observer::observer(runtime& rt) noexcept : state_(detail::state_of(rt)) {
  state_.workers().observe(+1);
}

observer::~observer() { state_.workers().observe(-1); }

overview observer::look(std::size_t most_tasks) const { return state_.look(most_tasks); }

namespace detail {

overview_part::overview_part(runtime& rt, std::function<void(overview&)> add)
    : home_(state_of(rt)), add_(std::move(add)) {
  home_.change_parts(*this, true);
}

overview_part::~overview_part() { home_.change_parts(*this, false); }

void trace_run(runtime& rt, const std::string& job, std::int64_t began) {
  runtime_state& home = state_of(rt);
  tracer* const t = home.workers().existing_tracer();
  if (!t || !t->is_on()) return;
  t->add({.at = began, .until = trace_time(), .text = home.lasting(job), .kind = trace_kind::run});
}

}  // namespace detail

namespace this_task {

namespace {

activity& task() noexcept {
  worker* const w = worker::here();
  ROTA_CHECK(
      w && w->current() &&
          !(w->current()->state_.load(sync::memory_order_relaxed) & detail::job::is_behaviour),
      "this_task is for code that a task runs");
  return activity::root_of(*detail::current_activity());
}

}  // namespace

std::stop_token stop_token() { return task().get_extras().stop.get_token(); }

bool stop_requested() noexcept { return detail::stop_requested(); }

std::uint32_t id() noexcept { return task().id_.load(sync::memory_order_relaxed); }

void set_name(std::string_view name) {
  detail::extras& e = task().get_extras();
  detail::spin_guard guard{e.lock};
  e.name = name;
}

std::string name() {
  detail::extras* e = task().existing_extras();
  if (!e) return {};
  detail::spin_guard guard{e->lock};
  return e->name;
}

}  // namespace this_task
}  // namespace rota
