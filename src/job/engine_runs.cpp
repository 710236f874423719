// Rows become runs, and runs end: Exec and Finish of specs/crond_runs, with retries (R1), what is
// due after them, and what they mean for the job.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "job/engine_state.h"

namespace rota::job {

using event_kind = engine_event::kind;

namespace {

bool is_failure(outcome o) {
  switch (o) {
    case outcome::failed:
    case outcome::signalled:
    case outcome::timed_out:
    case outcome::not_started:
    case outcome::lost:
    case outcome::unknown:
      return true;
    default:
      return false;
  }
}

}  // namespace

// --- starting ------------------------------------------------------------------------------------

void engine::state::wake_retries(instant now) {
  while (!retries.empty() && retries.begin()->first <= now) {
    live_run& r = runs.at(retries.begin()->second);
    retries.erase(retries.begin());
    --table[r.job].retrying;
    enqueue(r);
  }
}

// C1: a slot is taken here, and nowhere else given to somebody new.
void engine::state::launch(instant now) {
  if (draining) return;
  launch_at_once(now);
  while (used < std::max(options.max_active, 1u)) {
    const queued_run* next = queue.next();
    if (!next) return;
    const queued_run taken = queue.launch(next->key);
    do_launch(runs.at(taken.key.id), taken.group, now);
  }
}

void engine::state::launch_at_once(instant now) {
  for (auto at = at_once.begin(); at != at_once.end();) {
    live_run& r = runs.at(*at);
    const queued_run& waiting = *queue.find(r.key());
    if (waiting.alone && table[r.job].running > 0) {
      ++at;
      continue;
    }
    at = at_once.erase(at);
    const std::uint32_t group = waiting.group;
    queue.take(r.key());
    do_launch(r, group, now, "beyond the caps, asked for by " + r.row.requested_by);
  }
}

void engine::state::do_launch(live_run& r, std::uint32_t group, instant now, std::string text) {
  at_once.erase(r.row.id);
  --table[r.job].waiting;
  r.at = live_run::place::launched;
  r.group = group;
  r.row.phase = phase::launched;
  r.row.launched = now;
  r.row.boot = options.boot;
  take_slot(r);
  touch(r);
  plan.starts.push_back(r.row.id);
  tell(event_kind::run_launched, r.row.job, &r.row, std::move(text));
}

void engine::state::take_slot(live_run& r) {
  r.in_slot = true;
  ++used;
  ++table[r.job].running;
  queue.group_uses(r.group, 1);
  queue.job_is_busy(r.job, true);
}

void engine::state::free_slot(live_run& r) {
  if (!std::exchange(r.in_slot, false)) return;
  job_entry& e = table[r.job];
  --used;
  --e.running;
  queue.group_uses(r.group, -1);
  queue.job_is_busy(r.job, e.running > 0);
}

// --- the end -------------------------------------------------------------------------------------

void engine::state::take_ends(instant now) {
  const bool patient = held_back && now < held_until;
  if (!patient) {
    std::move(held_ends.begin(), held_ends.end(), std::back_inserter(ends));
    held_ends.clear();
  }
  for (auto& [id, result] : std::exchange(ends, {})) {
    const auto at = runs.find(id);
    if (at == runs.end() || at->second.at != live_run::place::launched) continue;
    live_run& r = at->second;
    if (patient && table[r.job].status == job_status::none) {
      if (r.in_slot) ending.insert(r.job);
      free_slot(r);
      held_ends.emplace_back(id, std::move(result));
      continue;
    }
    if (const auto waits = held.find(r.job); waits != held.end()) std::erase(waits->second, id);
    finish(r, result, now);
  }
}

void engine::state::finish(live_run& r, const run_result& result, instant now) {
  run& row = r.row;
  const job_index i = r.job;
  row.phase = phase::over;
  row.outcome = result.outcome == outcome::none ? outcome::unknown : result.outcome;
  if (row.outcome == outcome::cancelled && r.stopped != outcome::none) row.outcome = r.stopped;
  row.exit_code = result.exit_code;
  row.signal = result.signal;
  if (result.pid != 0) row.pid = result.pid;
  if (result.started != instant{}) row.started = result.started;
  row.finished = result.finished == instant{} ? now : result.finished;
  row.note = result.note;
  if (!r.in_slot) ending.erase(ending.find(i));
  free_slot(r);
  // S1: it says nothing about a job of the same name that is somebody else's by now.
  const bool ours = table[i].status == job_status::none || row.owner == table.owner(i);
  const bool again = ours && try_again(r, now);
  const run done = std::move(row);
  runs.erase(done.id);
  plan.forgets.push_back(done.id);
  tell(event_kind::run_over, done.job, &done);
  if (ours && !again) {
    judge(done, i);
    wake_dependents(done, now);
  }
  plan.over.push_back(done);
  drop_if_unused(i);
}

// Attempt n + 1 of the same key (R1), or the one that `rerun` asks for (K3).
bool engine::state::try_again(const live_run& r, instant now) {
  if (table[r.job].status == job_status::none) return false;
  const rota::job::rules& rule = table.rules(r.job);
  const run& row = r.row;
  bool wanted = false;
  milliseconds delay{0};
  if (row.outcome == outcome::lost || row.outcome == outcome::unknown) {
    wanted = rule.on_unknown == unknown_rule::rerun &&
             row.attempt <= std::uint64_t{rule.retry.count} + reruns_more;
    if (row.attempt > 1) delay = std::max(back_off(rule.retry, row.attempt - 1), least_rerun_delay);
  } else if (is_failure(row.outcome) && row.attempt <= rule.retry.count) {
    const std::vector<int>& codes = rule.retry.codes;
    wanted = codes.empty() || (row.outcome == outcome::failed &&
                               std::find(codes.begin(), codes.end(), row.exit_code) != codes.end());
    delay = back_off(rule.retry, row.attempt);
  }
  if (!wanted) return false;

  run next;
  next.id = next_id();
  next.job = row.job;
  next.scheduled = next.first = row.scheduled;
  next.attempt = row.attempt + 1;
  next.why = trigger::retry;
  next.recorded = now;
  next.requested_by = row.requested_by;
  next.owner = row.owner;
  if (delay > milliseconds{0}) next.not_before = now + delay;
  live_run& waiting = hold(std::move(next), r.job);
  tell(event_kind::run_due, waiting.row.job, &waiting.row);
  if (waiting.row.not_before <= now) {
    enqueue(waiting);
  } else {
    waiting.at = live_run::place::later;
    ++table[waiting.job].retrying;
    retries.emplace(waiting.row.not_before, waiting.row.id);
  }
  return true;
}

milliseconds engine::state::back_off(const retry_rule& rule, std::uint32_t attempt) {
  const double grown = static_cast<double>(rule.delay.count()) *
                       std::pow(std::max(rule.factor, 1.0), static_cast<double>(attempt - 1));
  const double bounded = std::min(grown, static_cast<double>(rule.most.count()));
  const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;  // in [0, 1)
  return milliseconds{std::llround(bounded * (1.0 + rule.jitter * (2.0 * share - 1.0)))};
}

// What the last attempt means for the job.
void engine::state::judge(const run& row, job_index i) {
  job_entry& e = table[i];
  if (e.status == job_status::none) return;
  if (row.outcome == outcome::success) {
    const bool recovered = e.failing || e.absent;
    e.last_success = row.finished;
    e.failing = e.absent = false;
    touch(i);
    arm(i);
    if (recovered) tell(event_kind::job_recovered, row.job, &row);
  } else if (is_failure(row.outcome)) {
    e.failing = true;
    touch(i);
    tell(event_kind::job_failed, row.job, &row);
  }
}

// Who was cancelled or replaced wakes nobody.
void engine::state::wake_dependents(const run& row, instant now) {
  const auto all = dependents.find(row.job);
  if (all == dependents.end()) return;
  const bool success = row.outcome == outcome::success;
  if (!success && !is_failure(row.outcome)) return;
  std::erase_if(all->second, [&](job_index i) {
    if (table[i].status == job_status::none) return true;
    bool listens = false;
    bool wanted = false;
    for (const dependency& d : table.rules(i).after) {
      if (d.job != row.job) continue;
      listens = true;
      wanted |= d.on == dependency_on::any || (d.on == dependency_on::success) == success;
    }
    if (wanted) make_room(i, admit(i, row.scheduled, trigger::after, now), now);
    return !listens;
  });
}

// --- on request ----------------------------------------------------------------------------------

void engine::state::unplace(live_run& r) {
  job_entry& e = table[r.job];
  switch (r.at) {
    case live_run::place::held:
      std::erase(held[r.job], r.row.id);
      break;
    case live_run::place::queued:
      queue.take(r.key());
      at_once.erase(r.row.id);
      --e.waiting;
      break;
    case live_run::place::later:
      retries.erase({r.row.not_before, r.row.id});
      --e.retrying;
      break;
    case live_run::place::launched:  // planned, and not by anybody seen
      free_slot(r);
      r.row.launched = {};
      r.row.boot.clear();
      break;
  }
}

void engine::state::end(live_run& r, outcome o, reason why, instant now) {
  const job_index i = r.job;
  unplace(r);
  run row = std::move(r.row);
  runs.erase(row.id);
  row.phase = phase::over;
  row.outcome = o;
  row.reason = why;
  row.finished = now;
  tell(o == outcome::skipped ? event_kind::run_skipped : event_kind::run_over, row.job, &row);
  plan.over.push_back(std::move(row));
  drop_if_unused(i);
}

void engine::state::stop(live_run& r, outcome o) {
  if (r.stopped == outcome::none) r.stopped = o;
  plan.stops.push_back(r.row.id);
}

bool engine::state::cancel(run_id id, instant now) {
  const auto at = runs.find(id);
  if (at == runs.end()) return false;
  if (at->second.waits())
    end(at->second, outcome::cancelled, reason::none, now);
  else
    stop(at->second, outcome::cancelled);
  return true;
}

}  // namespace rota::job
