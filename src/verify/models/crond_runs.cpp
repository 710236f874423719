#include "verify/models/crond_runs.h"

#include <utility>

namespace rota::verify {

bool crond_runs::typed(const state& s) const {
  const auto job_ok = [this](const job& j) {
    return j.time <= count(times) && j.prog <= count(programs) && j.state <= run &&
           (j.t == 0 || j.t < j.time) && j.pending <= count(missed);
  };
  const auto slot_ok = [this](const slot& k) {
    return k.job <= count(ids) && k.prog <= count(programs) && k.f <= ended &&
           k.runners <= count(crashes) + 1;
  };
  return std::all_of(s.jobs.begin(), s.jobs.end(), job_ok) &&
         std::all_of(s.slots.begin(), s.slots.end(), slot_ok) && s.crashed <= count(crashes);
}

bool crond_runs::full(const state& s) const {
  unsigned used = 0;
  unsigned programs_seen = 0;
  for (const slot& k : s.slots) {
    if (!k.job) continue;
    if (is(mistake::adopted_not_counted) && !k.spawned && k.f != absent) continue;
    if (is(mistake::cap_counts_programs) && (programs_seen >> k.prog & 1)) continue;
    programs_seen |= 1u << k.prog;
    ++used;
  }
  return used >= count(max_aprogs);
}

// Whether the job's next firing has to be skipped: at most one waits, and with `skip` none runs.
bool crond_runs::busy(const state& s, unsigned i) const {
  return waits(s, i) ||
         (overlap == overlaps::skip && launched_of(s, i) > 0 && !is(mistake::overlap_ignored));
}

// One transaction: of the instants that have passed the last one is due and the others are
// skipped, and the cursor is beyond them.
crond_runs::state crond_runs::recorded(const state& s, unsigned i) const {
  state to = s;
  job& j = to.jobs[i];
  j.state = is(mistake::rearm_forgotten) ? yes : no;
  j.pending = is(mistake::catchup_twice) && j.pending > 1 ? 1 : 0;
  if (is(mistake::lose_when_full) && full(s)) return to;
  if (s.jobs[i].pending > 1) change_open(j, 1 - s.jobs[i].pending);
  unsigned at = 0;
  while (to.waiting[at].job) ++at;
  to.waiting[at].job = static_cast<std::uint8_t>(i + 1);
  return to;
}

crond_runs::state crond_runs::skipped(const state& s, unsigned i) const {
  state to = s;
  job& j = to.jobs[i];
  j.state = is(mistake::rearm_forgotten) ? yes : no;
  if (!is(mistake::skip_unrecorded)) change_open(j, -j.pending);
  j.pending = 0;
  return to;
}

// What has not started is skipped, what has started goes on.
crond_runs::state crond_runs::removed(const state& s, unsigned i) const {
  state to = s;
  job& j = to.jobs[i];
  change_open(j, -j.pending);
  if (!is(mistake::remove_leaves_due)) {
    const auto last = std::remove_if(to.waiting.begin(), to.waiting.end(),
                                     [i](const waiter& w) { return w.job == i + 1; });
    change_open(j, -static_cast<int>(to.waiting.end() - last));
    std::fill(last, to.waiting.end(), waiter{});
  }
  job gone;
  gone.open = j.open;
  gone.armed = j.armed && is(mistake::remove_leaves_timer);
  j = gone;
  return to;
}

void crond_runs::take_slot(state& s, unsigned i) {
  const auto free =
      std::find_if(s.slots.begin(), s.slots.end(), [](const slot& k) { return !k.job; });
  free->job = static_cast<std::uint8_t>(i + 1);
  free->prog = s.jobs[i].prog;
}

crond_runs::state crond_runs::execed(const state& s, unsigned at) const {
  state to = s;
  take_slot(to, s.waiting[at].job - 1u);
  std::move(to.waiting.begin() + at + 1, to.waiting.end(), to.waiting.begin() + at);
  to.waiting.back() = {};
  for (unsigned k = 0; k < most_ids && to.waiting[k].job; ++k) {
    waiter& w = to.waiting[k];
    w.since = static_cast<std::uint8_t>(std::min(w.since + 1u, bound() + 1));
    if (k < at) w.passed = static_cast<std::uint8_t>(std::min(w.passed + 1, passes));
  }
  return to;
}

crond_runs::state crond_runs::claimed(const state& s, unsigned k) const {
  state to = s;
  slot& r = to.slots[k];
  --r.runners;
  if (r.f != absent && !is(mistake::no_excl)) return to;
  if (r.f == absent) r.f = locked;
  r.starts = static_cast<std::uint8_t>(std::min(r.starts + 1, 2));
  change_open(to.jobs[r.job - 1u], -1);
  return to;
}

crond_runs::state crond_runs::after_crash(const state& s) const {
  state to = s;
  to.up = false;
  ++to.crashed;
  for (job& j : to.jobs) {
    if (j.state == yes || j.state == run) j.state = no;
    j.armed = false;
  }
  for (slot& k : to.slots)
    if (k.job) k.spawned = is(mistake::respawn_forgotten);
  if (is(mistake::queue_in_memory)) to.waiting.fill({});
  return to;
}

// The clock waits before an instant that would be one too many to remember.
bool crond_runs::clock_runs(const state& s) const {
  const auto scheduled = [](const job& j) { return j.state >= no; };
  const auto at_the_limit = [this](const job& j) {
    return j.state >= no && j.t + 1 == j.time && j.pending == count(missed);
  };
  return std::any_of(s.jobs.begin(), s.jobs.end(), scheduled) &&
         std::none_of(s.jobs.begin(), s.jobs.end(), at_the_limit);
}

crond_runs::state crond_runs::ticked(const state& s) const {
  state to = s;
  for (job& j : to.jobs) {
    if (j.state < no || ++j.t < j.time) continue;
    j.t = 0;
    ++j.pending;
    change_open(j, 1);
  }
  return to;
}

crond_runs::state crond_runs::renamed(const state& s,
                                      const std::array<std::uint8_t, most_ids + 1>& who,
                                      const std::array<std::uint8_t, 4>& what) const {
  state to = s;
  for (unsigned i = 0; i < count(ids); ++i) {
    job& j = to.jobs[who[i + 1] - 1u];
    j = s.jobs[i];
    j.prog = what[j.prog];
  }
  for (waiter& w : to.waiting) w.job = who[w.job];
  for (slot& k : to.slots) {
    k.job = who[k.job];
    k.prog = what[k.prog];
  }
  return to;
}

namespace {

// Numbers of some bits each, one after the other in a word.
class bit_writer {
 public:
  bit_writer& put(unsigned bits, unsigned value) {
    all |= word{value} << at_;
    at_ += bits;
    return *this;
  }
  word all = 0;

 private:
  unsigned at_ = 0;
};

class bit_reader {
 public:
  explicit bit_reader(word all) : all_(all) {}
  std::uint8_t get(unsigned bits) {
    const auto value = static_cast<std::uint8_t>(all_ & ((1u << bits) - 1));
    all_ >>= bits;
    return value;
  }

 private:
  word all_;
};

}  // namespace

crond_runs::packed crond_runs::pack(const state& s) {
  bit_writer jobs;
  for (const job& j : s.jobs)
    jobs.put(2, j.time)
        .put(2, j.prog)
        .put(3, j.state)
        .put(1, j.armed)
        .put(2, j.t)
        .put(2, j.pending)
        .put(4, static_cast<unsigned>(j.open - lowest_open));
  bit_writer rows;
  rows.put(1, s.up).put(2, s.crashed);
  for (const waiter& w : s.waiting) rows.put(3, w.job).put(3, w.since).put(2, w.passed);
  bit_writer slots;
  for (const slot& k : s.slots)
    slots.put(3, k.job)
        .put(2, k.prog)
        .put(2, k.f)
        .put(1, k.spawned)
        .put(2, k.runners)
        .put(2, k.starts);
  return {jobs.all, rows.all, slots.all};
}

crond_runs::state crond_runs::unpack(const packed& words) {
  state s;
  bit_reader jobs{words[0]};
  for (job& j : s.jobs) {
    j.time = jobs.get(2);
    j.prog = jobs.get(2);
    j.state = static_cast<status>(jobs.get(3));
    j.armed = jobs.get(1);
    j.t = jobs.get(2);
    j.pending = jobs.get(2);
    j.open = static_cast<std::int8_t>(jobs.get(4) + lowest_open);
  }
  bit_reader rows{words[1]};
  s.up = rows.get(1);
  s.crashed = rows.get(2);
  for (waiter& w : s.waiting) {
    w.job = rows.get(3);
    w.since = rows.get(3);
    w.passed = rows.get(2);
  }
  bit_reader slots{words[2]};
  for (slot& k : s.slots) {
    k.job = slots.get(3);
    k.prog = slots.get(2);
    k.f = static_cast<file>(slots.get(2));
    k.spawned = slots.get(1);
    k.runners = slots.get(2);
    k.starts = slots.get(2);
  }
  return s;
}

}  // namespace rota::verify
