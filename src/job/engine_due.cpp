// Instants that have passed become rows: the seed's Sched, and Record and Skip of
// specs/crond_runs.
#include <algorithm>
#include <string>
#include <utility>

#include "job/engine_state.h"

namespace rota::job {

using event_kind = engine_event::kind;

namespace {

std::string hours_and_minutes(milliseconds d) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(d).count();
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace

// --- the clock (T4) ------------------------------------------------------------------------------

void engine::state::look_at_clock(instant now) {
  if (latest != long_ago) {
    if (now <= latest - rebase_step) return rebase(now);
    if (now <= seen - told_step)
      tell(event_kind::clock_back, {}, nullptr,
           "the clock was set back by " + hours_and_minutes(seen - now) +
               ": nothing runs again, schedules go on at " + rota::to_text(latest));
    const job_index first = table.first();
    if (now - latest > punctual && first != no_job && table[first].wake < now - punctual)
      tell(event_kind::clock_forward, {}, nullptr,
           "the clock went forward by " + hours_and_minutes(now - latest) +
               ", or the machine slept: what was due meanwhile was missed");
  }
  latest = std::max(latest, now);
  seen = now;
}

void engine::state::rebase(instant now) {
  const milliseconds back = latest - now;
  tell(event_kind::clock_back, {}, nullptr,
       "the clock was set back by " + hours_and_minutes(back) + ": schedules go on from now");
  table.each([&](job_index i) {
    job_entry& e = table[i];
    if (e.status == job_status::none) return;
    e.cursor = std::min(e.cursor, now);
    e.anchor = std::min(e.anchor, now);
    e.last_success = std::min(e.last_success, now);
    e.known_since = std::min(e.known_since, now);
    touch(i);
    set_next(i);
    arm(i);
  });
  for (const auto& [at, id] : std::exchange(retries, {})) {
    live_run& r = runs.at(id);
    r.row.not_before = at - back;
    touch(r);
    retries.emplace(r.row.not_before, id);
  }
  held_until = std::min(held_until, now + held_most);
  latest = seen = now;
}

// --- instants ------------------------------------------------------------------------------------

// No scan: who wakes first is on top (T5).
void engine::state::tick(instant now) {
  missed_budget budget;
  for (job_index i; (i = table.first()) != no_job && table[i].wake <= now;) {
    if (absent_at(i) <= now) notice_absence(i, now);
    if (table[i].next <= now)
      record(i, now, budget);
    else
      arm(i);
  }
}

void engine::state::notice_absence(job_index i, instant now) {
  job_entry& e = table[i];
  const bool once = e.last_success != instant{};
  const milliseconds since = now - std::max(e.last_success, e.known_since);
  e.absent = true;
  touch(i);
  tell(
      event_kind::job_absent, table.name(i), nullptr,
      (once ? "no success for " : "no success since it is known, for ") + hours_and_minutes(since));
}

void engine::state::record(job_index i, instant now, missed_budget& budget) {
  job_entry& e = table[i];
  table.disarm(i);
  e.status = job_status::run;
  const schedule when = table.when(i);
  const passed_by passed = instants_passed(
      when, table.rules(i),
      {.cursor = e.cursor, .anchor = e.anchor, .next = e.next, .paused = e.paused}, now, budget);
  e.cursor = passed.cursor;
  e.next = passed.next;
  touch(i);
  plan.recorded.push_back(i);
  for (const passed_instants& p : passed.rows) {
    if (p.reason != reason::none) {
      skip(i, p, now);
      continue;
    }
    // By Debian's rule an instant after a gap stands for each minute that the gap swallowed (T2).
    const bool once = when.dst() != dst_rule::vixie;
    for (std::uint32_t n = once ? 1 : std::max(when.times(p.last, e.anchor), 1u); n > 0; --n)
      make_room(i, admit(i, p.last, p.why, now), now);
  }
}

void engine::state::reboot(job_index i, instant now) {
  table[i].booted = true;
  touch(i);
  make_room(i, admit(i, now, trigger::reboot, now), now);
}

// --- rows ----------------------------------------------------------------------------------------

// T1: an instant is used once. It may have been before if the clock was set back, or by a run that
// somebody asked for; then the row has the next millisecond that is free.
instant engine::state::unused(job_index i, instant scheduled, run_id id) {
  const std::string name{table.name(i)};
  try {
    while (is_taken(name, scheduled)) scheduled += milliseconds{1};
  } catch (const ledger_error&) {
    while (plan.keys.contains({name, scheduled})) scheduled += milliseconds{1};
    run& doubt = plan.doubts.emplace_back();
    doubt.id = id;
    doubt.job = name;
    doubt.scheduled = scheduled;
  }
  plan.keys.emplace(name, scheduled);
  return scheduled;
}

bool engine::state::is_taken(const std::string& job, instant scheduled) {
  return plan.keys.contains({job, scheduled}) || book.has(job, scheduled);
}

// Nothing is written with a key in doubt: one that is taken would fail for ever.
void engine::state::settle_doubts() {
  while (!plan.doubts.empty()) {
    const run& row = plan.doubts.back();
    if (book.has(row.job, row.scheduled)) {
      instant to = row.scheduled;
      while (is_taken(row.job, to)) to += milliseconds{1};
      plan.keys.emplace(row.job, to);
      move_row(row.id, to);
    }
    plan.doubts.pop_back();
  }
}

// A row that is not written yet gets another instant, wherever it is by now.
void engine::state::move_row(run_id id, instant to) {
  const auto move = [&](run& row) {
    if (row.id != id) return;
    if (row.first == row.scheduled) row.first = to;
    row.scheduled = to;
  };
  for (engine_event& e : plan.events)
    if (e.run) move(*e.run);
  for (run& row : plan.over) move(row);
  const auto at = runs.find(id);
  if (at == runs.end()) return;
  live_run& r = at->second;
  if (r.at != live_run::place::queued) return move(r.row);
  queued_run waits = queue.take(r.key());
  move(r.row);
  waits.key = r.key();
  queue.push(waits, table[r.job].running > 0);
}

live_run& engine::state::hold(run row, job_index i) {
  const run_id id = row.id;
  live_run& r = runs[id];
  r.row = std::move(row);
  r.job = i;
  touch(r);
  return r;
}

void engine::state::enqueue(live_run& r, std::uint32_t passed) {
  job_entry& e = table[r.job];
  r.at = live_run::place::queued;
  ++e.waiting;
  queue.push({.key = r.key(),
              .job = r.job,
              .group = group_of(r.job),
              .alone = table.rules(r.job).overlap != overlap_rule::allow,
              .passed = passed},
             e.running > 0);
  if (r.at_once) at_once.insert(r.row.id);
}

// Why a first attempt is not due. Of one job at most so many wait: one with `skip` and `replace`,
// the queue's length with `queue`, catchup_most with `allow` and whenever all that was missed is
// made up for; of one owner at most owner_waiting.
reason engine::state::refusal(job_index i, trigger why) const {
  if (why == trigger::manual) return reason::none;
  const job_entry& e = table[i];
  const rota::job::rules& r = table.rules(i);
  if (e.paused) return reason::paused;
  if (too_many_wait(table.owner(i))) return reason::queue_full;
  const std::uint32_t many = std::max(r.catchup_most, 1u);
  if (why == trigger::catchup && r.catchup == catchup_rule::all)
    return e.waiting >= many ? reason::queue_full : reason::none;
  switch (r.overlap) {
    case overlap_rule::skip:
      return e.waiting + e.running > 0 ? reason::overlap : reason::none;
    case overlap_rule::queue:
      return e.waiting >= std::max(r.queue_length, 1u) ? reason::queue_full : reason::none;
    case overlap_rule::allow:
      return e.waiting >= many ? reason::queue_full : reason::none;
    case overlap_rule::replace:
      break;
  }
  return reason::none;
}

// 0: it was skipped.
run_id engine::state::admit(job_index i, instant scheduled, trigger why, instant now) {
  if (const reason no = refusal(i, why); no != reason::none) {
    skip(i, {scheduled, scheduled, 1, false, no, why}, now);
    return 0;
  }
  run row;
  row.id = next_id();
  row.job = table.name(i);
  row.owner = table.owner(i);
  row.scheduled = row.first = unused(i, scheduled, row.id);
  row.why = why;
  row.recorded = now;
  live_run& r = hold(std::move(row), i);
  enqueue(r);
  tell(event_kind::run_due, r.row.job, &r.row);
  return r.row.id;
}

void engine::state::make_room(job_index i, run_id due, instant now) {
  const rota::job::rules& r = table.rules(i);
  if (due == 0 || r.overlap != overlap_rule::replace) return;
  const bool in_line = runs.at(due).row.why == trigger::catchup && r.catchup == catchup_rule::all;
  if (in_line || table[i].waiting + table[i].running < 2) return;
  for (const run_id id : runs_of(i)) {
    live_run& other = runs.at(id);
    if (id == due || other.at == live_run::place::later) continue;
    if (other.waits())
      end(other, outcome::replaced, reason::none, now);
    else
      stop(other, outcome::replaced);
  }
}

void engine::state::skip(job_index i, const passed_instants& p, instant now) {
  run row;
  row.id = next_id();
  row.job = table.name(i);
  row.owner = table.owner(i);
  row.scheduled = unused(i, p.last, row.id);
  row.first = p.first;
  row.count = p.count;
  row.why = p.why;
  row.phase = phase::over;
  row.outcome = outcome::skipped;
  row.reason = p.reason;
  row.recorded = row.finished = now;
  if (p.at_least) row.note = "at least " + std::to_string(p.count) + " instants";
  tell(event_kind::run_skipped, row.job, &row);
  plan.over.push_back(std::move(row));
}

}  // namespace rota::job
