// Transactions, and the calls from outside. What is planned elsewhere is written here.
#include <rota/job/engine.h>

#include <algorithm>
#include <utility>

#include "job/engine_state.h"

namespace rota::job {

using event_kind = engine_event::kind;

engine::state::state(engine_options o, ledger& l, launcher& s)
    : options(std::move(o)), book(l), starter(s), queue(options.passes), random(options.seed) {
  queue.add_group({});  // of jobs without a limit
  starter.listen(
      {.on_started =
           [this](run_id id, pid_t pid, instant at) {
             const auto found = runs.find(id);
             if (found == runs.end()) return;
             run& row = found->second.row;
             row.pid = pid;
             row.started = at;
             if (listener) listener({event_kind::run_started, row.job, row, {}, row.owner});
           },
       .on_over = [this](run_id id, const run_result& result) { ends.emplace_back(id, result); }});
}

// --- transactions --------------------------------------------------------------------------------

void engine::state::touch(job_index i) {
  if (table[i].touched) return;
  table[i].touched = true;
  plan.jobs.push_back(i);
}

void engine::state::touch(live_run& r) {
  if (std::exchange(r.touched, true)) return;
  plan.touched.push_back(r.row.id);
}

void engine::state::tell(event_kind what, std::string_view job, const run* r, std::string text) {
  if (!listener) return;
  const job_index i = r || job.empty() ? no_job : table.find(job);
  plan.events.push_back({what, std::string(job), r ? std::optional<run>(*r) : std::nullopt,
                         std::move(text),
                         r             ? r->owner
                         : i == no_job ? std::string()
                                       : table.owner(i)});
}

job_row engine::state::row_of(job_index i) const {
  const job_entry& e = table[i];
  return {.name = std::string(table.name(i)),
          .cursor = e.cursor,
          .anchor = e.anchor,
          .paused = e.paused,
          .last_success = e.last_success,
          .known_since = e.known_since,
          .failing = e.failing,
          .absent = e.absent,
          .boot = e.booted ? options.boot : std::string(),
          .schedule = e.schedule_hash};
}

// Rows are taken as they stand now: what changed twice is written once.
changes engine::state::planned() {
  changes c;
  c.runs.reserve(plan.over.size() + plan.touched.size());
  c.jobs.reserve(plan.jobs.size());
  c.runs = plan.over;
  for (const run_id id : plan.touched)
    if (const auto r = runs.find(id); r != runs.end()) c.runs.push_back(r->second.row);
  for (const job_index i : plan.jobs)
    if (table[i].touched && table[i].status != job_status::none) c.jobs.push_back(row_of(i));
  for (const std::string& name : plan.forgotten) {
    const job_index i = table.find(name);
    if (i == no_job || table[i].status == job_status::none) c.forgotten.push_back(name);
  }
  for (const auto& [owner, name] : plan.pauses) {
    const auto all_of_owner = pauses.find(owner);
    const bool there = all_of_owner != pauses.end() && all_of_owner->second.contains(name);
    (there ? c.pauses : c.resumed)
        .push_back({owner, name, there ? all_of_owner->second.at(name) : instant{}});
  }
  return c;
}

bool engine::state::flush(instant now) {
  if (changes c = planned(); !c.empty()) {
    try {
      if (!plan.doubts.empty()) {
        settle_doubts();
        c = planned();
      }
      book.commit(c);
    } catch (const ledger_error& e) {
      last_try = now;
      if (!std::exchange(failing, true) && listener)
        listener({event_kind::ledger_failed, {}, {}, e.what(), {}});
      return false;
    }
  }
  if (std::exchange(failing, false) && listener)
    listener({event_kind::ledger_works, {}, {}, {}, {}});
  release();
  return true;
}

void engine::state::release() {
  rota::job::plan done = std::exchange(plan, {});
  for (const job_index i : done.jobs) {
    table[i].touched = false;
    table[i].saved = table[i].status != job_status::none;
  }
  for (const run_id id : done.touched)
    if (const auto r = runs.find(id); r != runs.end()) r->second.touched = false;
  for (const job_index i : done.recorded) {
    if (table[i].status != job_status::run) continue;  // removed meanwhile
    table[i].status = job_status::no;
    arm(i);
  }
  for (const run_id id : done.starts) {
    const auto r = runs.find(id);
    if (r == runs.end() || std::exchange(r->second.handed, true)) continue;
    definition d = table.definition_of(r->second.job);
    if (d.owner != r->second.row.owner) d.command = {};  // S1: the job is somebody else's by now
    starter.start(r->second.row, d);
  }
  for (const run_id id : done.stops)
    if (runs.contains(id)) starter.stop(id);
  for (const run_id id : done.forgets) starter.forget(id);
  if (listener)
    for (const engine_event& e : done.events) listener(e);
}

void engine::state::step(instant now) {
  if (!flush(now)) {
    // What passes while nothing can be written is no jump of the clock.
    if (now > latest - rebase_step) latest = std::max(latest, now);
    return;
  }
  if (!ready) return;
  look_at_clock(now);
  take_ends(now);
  wake_retries(now);
  tick(now);
  launch(now);
  flush(now);
}

std::optional<instant> engine::state::wake_at() const {
  if (failing) return last_try + ledger_pause;
  if (!ready) return std::nullopt;
  if (!ends.empty()) return latest;
  instant at = never;
  if (table.first() != no_job) at = table[table.first()].wake;
  if (!retries.empty()) at = std::min(at, retries.begin()->first);
  if (!held_ends.empty()) at = std::min(at, held_until);
  return at == never ? std::nullopt : std::optional(at);
}

// --- the calls -----------------------------------------------------------------------------------

engine::engine(engine_options o, ledger& l, launcher& s)
    : state_(std::make_unique<state>(std::move(o), l, s)) {}

engine::~engine() { state_->starter.listen({}); }

void engine::on_event(std::function<void(const engine_event&)> f) {
  state_->listener = std::move(f);
}

void engine::restore(instant now) { state_->restore(now); }

void engine::set_jobs(std::vector<definition> all, instant now) {
  state_->set_jobs(std::move(all), now);
}

void engine::set_groups(std::map<std::string, std::uint32_t> caps) {
  state_->options.groups = std::move(caps);
  for (const auto& [name, limit] : state_->group_limits)
    state_->queue.set_cap(limit, state_->cap_of(name));
}

void engine::add_job(definition d, instant now) {
  state_->before_change(now);
  state_->put(fill_in(d), now);
  state_->ready = true;
  state_->step(now);
}

bool engine::remove_job(std::string_view name, instant now) {
  state& s = *state_;
  const job_index i = s.table.find(name);
  if (i == no_job || s.table[i].status == job_status::none) return false;
  s.before_change(now);
  s.remove({i}, now);
  s.step(now);
  return true;
}

std::optional<instant> engine::wake_at() const { return state_->wake_at(); }

void engine::advance(instant now) { state_->step(now); }

void engine::zones_changed(instant now) {
  state& s = *state_;
  s.table.each([&](job_index i) {
    const job_entry& e = s.table[i];
    if (e.status == job_status::none || e.when.what() != schedule::kind::cron) return;
    s.set_next(i);
    s.arm(i);
  });
  s.step(now);
}

// The row is written before anything else is planned, so that it can be taken back if it cannot be.
std::optional<run_id> engine::run_job(std::string_view name, std::string by, bool at_once,
                                      instant now) {
  state& s = *state_;
  const job_index i = s.table.find(name);
  if (i == no_job || s.table[i].status == job_status::none) return std::nullopt;
  if (!at_once && s.too_many_wait(s.table.owner(i)))
    throw too_many_waiting(std::to_string(s.options.owner_waiting) + " runs of " +
                           s.table.owner(i) + " wait already, and no more may");
  if (!s.flush(now)) throw ledger_error("the ledger cannot be written: no run can be added");
  const run_id id = s.admit(i, now, trigger::manual, now);
  live_run& r = s.runs.at(id);
  r.row.requested_by = std::move(by);
  r.at_once = at_once;
  if (at_once) s.at_once.insert(id);
  if (!s.flush(now)) {
    s.unplace(r);
    s.runs.erase(id);
    s.plan = {};
    throw ledger_error("the ledger cannot be written: no run can be added");
  }
  s.make_room(i, id, now);
  s.step(now);
  return id;
}

bool engine::pause(std::string_view name, instant now) { return state_->pause(name, true, now); }

bool engine::resume(std::string_view name, instant now) { return state_->pause(name, false, now); }

// What has passed before is judged by what held before.
bool engine::state::pause(std::string_view name, bool paused, instant now) {
  const job_index i = table.find(name);
  if (i == no_job || table[i].status == job_status::none) return false;
  before_change(now);
  if (table[i].paused != paused) {
    table[i].paused = paused;
    touch(i);
    put_pause(table.owner(i), std::string(name), paused ? std::optional(instant{}) : std::nullopt);
    tell(paused ? event_kind::job_paused : event_kind::job_resumed, name);
    arm(i);
  }
  step(now);
  return true;
}

bool engine::cancel(run_id id, instant now) {
  const bool found = state_->cancel(id, now);
  state_->step(now);
  return found;
}

void engine::drain() { state_->draining = true; }

// --- looking -------------------------------------------------------------------------------------

job_view engine::state::view(job_index i) const {
  const job_entry& e = table[i];
  return {.def = std::make_shared<const definition>(table.definition_of(i)),
          .row = row_of(i),
          .next = e.next == never ? std::nullopt : std::optional(e.next),
          .waiting = e.waiting + e.retrying,
          .running = e.running,
          .status = e.status};
}

std::optional<job_view> engine::find(std::string_view name) const {
  const job_index i = state_->table.find(name);
  if (i == no_job || state_->table[i].status == job_status::none) return std::nullopt;
  return state_->view(i);
}

void engine::each_job(const std::function<void(const job_view&)>& f) const {
  const state& s = *state_;
  s.table.each([&](job_index i) {
    if (s.table[i].status != job_status::none) f(s.view(i));
  });
}

std::size_t engine::job_count() const { return state_->table.size(); }

std::vector<run> engine::waiting() const {
  const state& s = *state_;
  std::vector<run> all;
  s.queue.each([&](const queued_run& r) { all.push_back(s.runs.at(r.key.id).row); });
  for (const auto& [at, id] : s.retries) all.push_back(s.runs.at(id).row);
  return all;
}

std::vector<run> engine::running() const {
  std::vector<run> all;
  for (const auto& [id, r] : state_->runs)
    if (r.in_slot) all.push_back(r.row);
  std::sort(all.begin(), all.end(), [](const run& a, const run& b) { return a.id < b.id; });
  return all;
}

std::optional<run> engine::find_run(run_id id) const {
  const auto r = state_->runs.find(id);
  return r == state_->runs.end() ? std::nullopt : std::optional(r->second.row);
}

std::optional<std::uint32_t> engine::passed(run_id id) const {
  const auto r = state_->runs.find(id);
  if (r == state_->runs.end()) return std::nullopt;
  const queued_run* waits = state_->queue.find(r->second.key());
  return waits ? std::optional(waits->passed) : std::nullopt;
}

std::string_view to_text(engine_event::kind k) noexcept {
  switch (k) {
    case event_kind::job_added:
      return "job_added";
    case event_kind::job_changed:
      return "job_changed";
    case event_kind::job_removed:
      return "job_removed";
    case event_kind::job_paused:
      return "job_paused";
    case event_kind::job_resumed:
      return "job_resumed";
    case event_kind::run_due:
      return "run_due";
    case event_kind::run_launched:
      return "run_launched";
    case event_kind::run_started:
      return "run_started";
    case event_kind::run_over:
      return "run_over";
    case event_kind::run_skipped:
      return "run_skipped";
    case event_kind::job_failed:
      return "job_failed";
    case event_kind::job_recovered:
      return "job_recovered";
    case event_kind::job_absent:
      return "job_absent";
    case event_kind::clock_back:
      return "clock_back";
    case event_kind::clock_forward:
      return "clock_forward";
    case event_kind::ledger_failed:
      return "ledger_failed";
    case event_kind::ledger_works:
      return "ledger_works";
  }
  return "?";
}

}  // namespace rota::job
