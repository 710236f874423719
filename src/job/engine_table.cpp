// The table: restored, read anew, changed. The seed's AddJob, SetJob, Start and RemoveJob.
//
// After a restart (rule K3) the rows come before the definitions. A row that is due is held until
// the table says whether its job is still there. A launched row has its slot at once, unless
// nothing can run any more. What the launcher finds of it:
//   over      its end is taken, once the table is there to say who is due after it. If jobs come
//   one
//             by one, nobody can say that this one never will: after held_most its end is taken
//             without it
//   running   it is adopted
//   absent    in the same boot its program was never started: it is handed over again, and keeps
//             its slot, since a runner from before may be on its way. If its job is gone, it gets a
//             command with nothing in it: then either that runner was first, or nobody can be. In
//             another boot the file may have been lost with the power: unknown
//   dead      lost in the same boot, otherwise unknown
#include <algorithm>
#include <utility>

#include "job/engine_state.h"

namespace rota::job {

using event_kind = engine_event::kind;

namespace {

// FNV-1a, folded, of what makes a schedule: the same in each daemon. An @at may be written in
// several ways, and be written otherwise when it is kept, so it counts by its instant; @every by
// its period.
std::uint32_t hash_of_schedule(const definition& d) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
    hash = (hash ^ 0xFF) * 0x100'0000'01b3;  // in no text: where one ends counts
  };
  add(std::to_string(static_cast<int>(d.when.what())));
  if (d.when.what() == schedule::kind::cron) {
    add(d.text);
    add(d.when.zone().name());
    add(std::to_string(static_cast<int>(d.when.dst())));
  } else if (const auto at = d.when.next(instant{}, instant{})) {
    add(std::to_string(at->time_since_epoch().count()));
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

// --- the past ------------------------------------------------------------------------------------

void engine::state::restore(instant now) {
  saved_state saved = book.load();
  next_id_ = std::max(next_id_, saved.next_id);
  latest = std::max(latest, now);
  table.expect(saved.jobs.size());
  for (job_row& row : saved.jobs) {
    job_index i = table.find(row.name);
    if (i == no_job) i = table.insert(row.name);
    job_entry& e = table[i];
    e.cursor = row.cursor == instant{} ? now : row.cursor;
    e.anchor = row.anchor;
    e.last_success = row.last_success;
    e.known_since = row.known_since;
    e.paused = row.paused;
    e.failing = row.failing;
    e.absent = row.absent;
    e.schedule_hash = row.schedule;
    e.booted = !options.boot.empty() && row.boot == options.boot;
    e.saved = true;
    // A cursor in the future: the clock was set back while nobody looked (T4).
    latest = std::max(latest, e.cursor);
  }
  // A ledger of an earlier version has pauses in rows of jobs alone: find_pause() takes those over.
  for (const pause_row& p : saved.pauses) {
    pauses[p.owner][p.job] = p.away;
    if (const job_index i = table.find(p.job); i != no_job) table[i].paused = false;
  }
  seen = latest;
  for (run& row : saved.unfinished) take_over(std::move(row));
  held_back = true;
  held_until = now + held_most;
  ready = false;
}

void engine::state::take_over(run row) {
  next_id_ = std::max(next_id_, row.id + 1);
  job_index i = table.find(row.job);
  if (i == no_job) i = table.insert(row.job);
  live_run& r = hold(std::move(row), i);
  r.touched = false;
  plan.touched.pop_back();
  held[i].push_back(r.row.id);
  if (r.row.phase != phase::launched) return;

  r.at = live_run::place::launched;
  r.restored = true;
  r.handed = true;
  r.group = group_of(r.row.owner, {});  // release_held() knows more
  const bool same_boot = !options.boot.empty() && r.row.boot == options.boot;
  survey found = starter.look(r.row);
  if (found.what == finding::running) {
    r.row.pid = found.result.pid;
    r.row.started = found.result.started;
    return take_slot(r);
  }
  if (found.what == finding::absent && same_boot) {
    r.handed = false;
    return take_slot(r);
  }
  if (found.what != finding::over) {
    const bool lost = found.what == finding::dead && same_boot;
    found.result.outcome = lost ? outcome::lost : outcome::unknown;
    found.result.note = lost ? "its runner died: nobody knows what became of the program"
                             : "the machine went down: nobody knows whether it ran";
  }
  ending.insert(i);
  ends.emplace_back(r.row.id, found.result);
}

// M1: whether a row has waited over a restart for so long that it is not run any more. A run after
// another one is as old as its row: the instant is that of the other.
bool engine::state::too_old(const run& row, const rota::job::rules& r, instant now) {
  if (row.attempt > 1 || row.why == trigger::manual) return false;
  const instant since = row.why == trigger::after ? row.recorded : row.scheduled;
  return now - since > std::max(r.deadline, least_deadline);
}

// What waited for the table to say what its job is.
void engine::state::release_held(job_index i, instant now) {
  std::move(held_ends.begin(), held_ends.end(), std::back_inserter(ends));
  held_ends.clear();
  const auto at = held.find(i);
  if (at == held.end()) return;
  for (const run_id id : std::exchange(at->second, {})) {
    live_run& r = runs.at(id);
    if (r.row.owner != table.owner(i) && r.waits()) {
      end(r, outcome::skipped, reason::removed, now);
    } else if (r.at == live_run::place::launched) {
      if (!r.in_slot) continue;  // its end is next
      queue.group_uses(r.group, -1);
      r.group = group_of(i);
      queue.group_uses(r.group, 1);
      if (!r.handed) plan.starts.push_back(id);
    } else if (too_old(r.row, table.rules(i), now)) {
      end(r, outcome::skipped, reason::too_old, now);
    } else if (r.row.not_before > now) {
      r.at = live_run::place::later;
      ++table[i].retrying;
      retries.emplace(r.row.not_before, id);
    } else {
      enqueue(r);
    }
  }
  held.erase(i);
  if (table.rules(i).overlap == overlap_rule::replace && table[i].waiting > 0)
    for (const run_id id : runs_of(i))
      if (!runs.at(id).waits()) stop(runs.at(id), outcome::replaced);
}

// The whole table is there: what it does not have was removed.
void engine::state::decide_held(instant now) {
  if (!held_back) return;
  std::move(held_ends.begin(), held_ends.end(), std::back_inserter(ends));
  held_ends.clear();
  std::vector<run_id> rows;
  for (const auto& [i, ids] : std::exchange(held, {}))
    rows.insert(rows.end(), ids.begin(), ids.end());
  std::sort(rows.begin(), rows.end());
  for (const run_id id : rows) {
    live_run& r = runs.at(id);
    if (r.at != live_run::place::launched) {
      end(r, outcome::skipped, reason::removed, now);
    } else if (!r.handed) {
      plan.starts.push_back(id);
    }
  }
  held_back = false;  // from here on entries can go
  std::vector<job_index> unknown;
  table.each([&](job_index i) {
    if (table[i].status == job_status::none) unknown.push_back(i);
  });
  for (const job_index i : unknown) {
    if (table[i].saved) plan.forgotten.emplace(table.name(i));
    table[i].saved = false;
    drop_if_unused(i);
  }
}

// --- the table -----------------------------------------------------------------------------------

// Instants that have passed were the old table's.
void engine::state::before_change(instant now) {
  if (flush(now) && ready) tick(now);
}

void engine::state::set_jobs(std::vector<definition> all, instant now) {
  before_change(now);
  ++generation;
  table.expect(all.size());
  for (definition& d : all) put(fill_in(d), now);
  std::vector<definition>().swap(all);
  std::vector<job_index> gone;
  table.each([&](job_index i) {
    if (table[i].status != job_status::none &&
        table[i].generation != static_cast<std::uint16_t>(generation))
      gone.push_back(i);
  });
  remove(std::move(gone), now);
  decide_held(now);
  sweep_pauses(now);
  ready = true;
  step(now);
}

void engine::state::put(const definition& d, instant now) {
  job_index i = table.find(d.name);
  if (i == no_job) i = table.insert(d.name);
  if (table[i].status == job_status::none)
    add(i, d, now);
  else if (table.same(i, d))
    define(i, d);  // it may stand elsewhere, and be written otherwise
  else
    change(i, d, now);
  table[i].generation = static_cast<std::uint16_t>(generation);
}

// Whether the schedule is not written as the ledger has it.
bool engine::state::define(job_index i, const definition& d) {
  const std::uint32_t hash = hash_of_schedule(d);
  table.define(i, d);
  const std::uint32_t before = std::exchange(table[i].schedule_hash, hash);
  if (before != hash) touch(i);
  return before != hash && before != 0;
}

void engine::state::add(job_index i, const definition& d, instant now) {
  job_entry& e = table[i];
  const bool known = e.saved;
  if (!known) {
    e.cursor = e.anchor = e.known_since = now;
    e.last_success = {};
    e.paused = e.failing = e.absent = e.booted = false;
    touch(i);
  }
  // K4: what was changed while nobody ran does not reach back either.
  if (define(i, d) && known) {
    e.cursor = std::max(e.cursor, now);
    e.anchor = now;
  }
  if (!known && (generation != 1 || options.tell_first_table))
    tell(event_kind::job_added, table.name(i));
  find_pause(i, now);
  e.status = job_status::set;
  listen_to_others(i);
  set_next(i);
  e.status = job_status::no;
  arm(i);
  release_held(i, now);
  if (table.when(i).what() != schedule::kind::reboot || e.booted) return;
  // M2: at the daemon's start; a job that is added later waits for the next one.
  if (known || generation == 1) return reboot(i, now);
  e.booted = true;
  touch(i);
}

void engine::state::change(job_index i, const definition& d, instant now) {
  job_entry& e = table[i];
  const bool other_times = !(table.when(i) == d.when);
  // S1: what waits under another owner was to run that one's command.
  for (const run_id id : runs_of(i))
    if (live_run& r = runs.at(id); r.waits() && r.row.owner != d.owner)
      end(r, outcome::skipped, reason::removed, now);
  // What waits, waits by the new rules.
  std::vector<std::pair<run_id, std::uint32_t>> rows;
  for (const run_id id : runs_of(i))
    if (live_run& r = runs.at(id); r.at == live_run::place::queued) {
      rows.emplace_back(id, queue.find(r.key())->passed);
      unplace(r);
    }
  const bool other_owner = d.owner != table.owner(i);
  if (other_owner) leave_pause(i, now);
  define(i, d);
  tell(event_kind::job_changed, table.name(i));
  if (other_owner) find_pause(i, now);
  for (const auto& [id, passed] : rows) enqueue(runs.at(id), passed);
  listen_to_others(i);
  if (other_times) {
    e.cursor = std::max(e.cursor, now);
    e.anchor = now;
    e.booted |= table.when(i).what() == schedule::kind::reboot;
    set_next(i);
    touch(i);
  }
  arm(i);
}

void engine::state::remove(std::vector<job_index> gone, instant now) {
  if (gone.empty()) return;
  std::sort(gone.begin(), gone.end());
  std::vector<run_id> rows;
  for (const auto& [id, r] : runs)
    if (r.waits() && std::binary_search(gone.begin(), gone.end(), r.job)) rows.push_back(id);
  std::sort(rows.begin(), rows.end());
  for (const run_id id : rows) end(runs.at(id), outcome::skipped, reason::removed, now);
  for (const job_index i : gone) {
    plan.forgotten.emplace(table.name(i));
    tell(event_kind::job_removed, table.name(i));
    leave_pause(i, now);
    table.undefine(i);
    table[i].saved = false;
    drop_if_unused(i);
  }
}

// A job that is gone keeps its entry while a run of it is launched and not over.
void engine::state::drop_if_unused(job_index i) {
  const job_entry& e = table[i];
  if (e.status != job_status::none || e.running > 0 || held_back || ending.contains(i)) return;
  table.erase(i);
}

// --- pauses, by owner and name -------------------------------------------------------------------

// Nothing: it is over.
void engine::state::put_pause(const std::string& owner, const std::string& job,
                              std::optional<instant> away) {
  plan.pauses.emplace(owner, job);
  std::map<std::string, instant>& all = pauses[owner];
  if (away)
    all[job] = *away;
  else
    all.erase(job);
  if (all.size() > most_pauses) {
    const auto longest = std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return (a.second == instant{} ? never : a.second) <
             (b.second == instant{} ? never : b.second);
    });
    plan.pauses.emplace(owner, longest->first);
    all.erase(longest);
  }
  if (all.empty()) pauses.erase(owner);
}

void engine::state::find_pause(job_index i, instant now) {
  job_entry& e = table[i];
  const std::string name{table.name(i)};
  const std::string& owner = table.owner(i);
  const bool of_row = e.paused;
  e.paused = false;
  std::optional<instant> away;
  if (const auto all = pauses.find(owner); all != pauses.end())
    if (const auto at = all->second.find(name); at != all->second.end()) away = at->second;
  if (!away && !of_row) return;
  const bool was_away = away.value_or(instant{}) != instant{};
  if (was_away && now - *away > pause_outlives) return put_pause(owner, name, std::nullopt);
  e.paused = true;
  if (was_away || of_row) put_pause(owner, name, instant{});
  if (!was_away) return;
  touch(i);
  tell(event_kind::job_paused, name, nullptr, "as it was before it was away");
}

void engine::state::leave_pause(job_index i, instant now) {
  if (!table[i].paused) return;
  table[i].paused = false;
  put_pause(table.owner(i), std::string(table.name(i)), now);
}

// Those of jobs that went while nobody looked, and those that nobody waits for any more.
void engine::state::sweep_pauses(instant now) {
  std::vector<std::pair<std::string, std::string>> gone;
  std::vector<std::pair<std::string, std::string>> over;
  for (const auto& [owner, all] : pauses)
    for (const auto& [name, away] : all) {
      const job_index i = table.find(name);
      const bool there =
          i != no_job && table[i].status != job_status::none && table.owner(i) == owner;
      if (there) continue;
      if (away == instant{})
        gone.emplace_back(owner, name);
      else if (now - away > pause_outlives)
        over.emplace_back(owner, name);
    }
  for (const auto& [owner, name] : gone) put_pause(owner, name, now);
  for (const auto& [owner, name] : over) put_pause(owner, name, std::nullopt);
}

void engine::state::listen_to_others(job_index i) {
  for (const dependency& d : table.rules(i).after) {
    std::vector<job_index>& all = dependents[d.job];
    if (std::find(all.begin(), all.end(), i) == all.end()) all.push_back(i);
  }
}

std::uint32_t engine::state::group_of(job_index i) {
  return group_of(table.owner(i), table.rules(i).group);
}

// Those who share both limits, that of the owner and that of the group.
std::uint32_t engine::state::group_of(const std::string& owner, const std::string& group) {
  const bool free = options.owner_cap == no_limit && options.owner_waiting == no_limit;
  const bool limited = !free && !owner.empty() && owner != "root";
  if (!limited && group.empty()) return 0;
  of_owner& o = owners[limited ? owner : std::string()];
  if (limited && !o.limit) o.limit = queue.add_limit(std::max(options.owner_cap, 1u));
  const auto [at, fresh] = o.groups.try_emplace(group, 0);
  if (!fresh) return at->second;
  std::vector<std::uint32_t> limits;
  if (limited) limits.push_back(*o.limit);
  if (!group.empty()) {
    const auto [limit, is_new] = group_limits.try_emplace(group, 0);
    if (is_new) limit->second = queue.add_limit(cap_of(group));
    limits.push_back(limit->second);
  }
  at->second = queue.add_group(std::move(limits));
  return at->second;
}

bool engine::state::too_many_wait(const std::string& owner) const {
  if (owner.empty()) return false;
  const auto o = owners.find(owner);
  return o != owners.end() && o->second.limit &&
         queue.waiting(*o->second.limit) >= options.owner_waiting;
}

std::uint32_t engine::state::cap_of(const std::string& group) const {
  const auto cap = options.groups.find(group);
  return cap == options.groups.end() ? 0xFFFF'FFFF : std::max(cap->second, 1u);
}

// --- the timer -----------------------------------------------------------------------------------

instant engine::state::absent_at(job_index i) const {
  const job_entry& e = table[i];
  const milliseconds most = table.rules(i).absence;
  if (most <= milliseconds{0} || e.absent || e.paused) return never;
  return std::max(e.last_success, e.known_since) + most;
}

void engine::state::set_next(job_index i) {
  job_entry& e = table[i];
  e.next = table.when(i).next(e.cursor, e.anchor).value_or(never);
}

// While its rows are not written a job stays in `run`; release() arms it.
void engine::state::arm(job_index i) {
  job_entry& e = table[i];
  if (e.status == job_status::run) return;
  e.wake = std::min(e.next, absent_at(i));
  e.status = e.next == never ? job_status::no : job_status::yes;
  table.arm(i);
}

std::vector<run_id> engine::state::runs_of(job_index i) const {
  std::vector<run_id> all;
  const job_entry& e = table[i];
  if (e.waiting + e.retrying + e.running == 0) return all;
  for (const auto& [id, r] : runs)
    if (r.job == i) all.push_back(id);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace rota::job
