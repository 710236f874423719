// The engine is its model: jobs are added and removed, time passes, programs start and end, the
// daemon crashes, and after every transaction and every start what ledger, files and engine hold is
// mapped to a state of `crond_runs` (specs/crond_runs), which has to have steps that lead there,
// with all its invariants. The daemon may crash at any commit or start, and the ledger may fail. A
// broken promise shows as a divergence, with both sides and the events.
//
// The mapping:
//   crontab   the engine's statuses; `time` and `since` by the test's own reckoning. A job whose
//             rows are in the ledger is no longer in `run`, although the engine arms it only when
//             the commit has returned
//   pending   instants between the ledger's cursor and now
//   open      instants that have passed, less programs started, less rows that say "skipped"
//   due       the ledger's due rows by (scheduled, id); `passed` as the engine had it at the
//             commit, `others` counted
//   slots     the ledger's launched rows, in the first free place; files and runners as they are;
//             spawned: this engine has called start()
// Hidden: what one transaction does together (Sched, Record, Skip, Exec, Finish), and SetJob and
// Start. A restart forgets how often a run was passed, which the model does not: with "queue" and
// crashes that is left out, and so is the bound that rests on it.
//
// While rows wait for a ledger that fails, the clock stands: the engine records what passes then in
// the transaction after, the model would in this one.
//
// Each setting is gone through in two ways: every event in every state that is reached, as far as
// the test's time allows, and long random sequences.
#include <rota/base/rng.h>
#include <rota/verify/conform/refinement.h>

#include <deque>

#include "support/job_world.h"
#include "support/strength.h"
#include "support/stress.h"
#include "verify/models/crond_runs.h"

namespace rota::job::test {
namespace {

using model = verify::crond_runs;
using follower = verify::refinement<model>;
using rota::detail::rng;
using file = run_files::file;

struct event {
  enum class kind : std::uint8_t { tick, advance, add, remove, claim, end, crash, restart } what;
  unsigned job = 0;    // add, remove
  unsigned time = 0;   // add
  unsigned slot = 0;   // claim, end
  bool fails = false;  // the ledger cannot write
  unsigned dies = 0;   // the daemon crashes at so many-th commit or start
};

// Thrown out of the middle of the engine, which is then thrown away.
struct crash_here {};

std::string text_of(const event& e) {
  constexpr std::array names = {"tick",  "advance", "add",   "remove",
                                "claim", "end",     "crash", "restart"};
  return std::string(names[static_cast<unsigned>(e.what)]) + " " + std::to_string(e.job + e.slot) +
         (e.time ? " every " + std::to_string(e.time) : "") +
         (e.fails ? ", but the ledger fails" : "") +
         (e.dies ? ", dies at " + std::to_string(e.dies) : "");
}

std::string name_of(unsigned i) { return "job " + std::to_string(i + 1); }

unsigned many(int n) { return static_cast<unsigned>(n); }

class program {
 public:
  program(follower& f, std::uint64_t seed = 0)
      : follow_(f),
        model_(f.model()),
        w_({.max_active = many(model_.max_aprogs), .passes = many(model_.passes), .seed = seed}) {
    w_.files.claim_at_once = false;
    w_.book.on_commit = [this] {
      note_rows();
      observe("commit");
      may_die();
    };
    listen();
    w_.e->set_jobs({}, w_.now);
    follow_.begin(mapped());
  }

  // What can happen now.
  std::vector<event> enabled() const {
    using k = event::kind;
    std::vector<event> all;
    if (clock_runs()) all.push_back({k::tick});
    for (unsigned i = 0; i < many(model_.ids) && w_.e; ++i) {
      if (jobs_[i].time) all.push_back({.what = k::remove, .job = i});
      for (unsigned t = 1; !jobs_[i].time && t <= many(model_.times); ++t)
        all.push_back({.what = k::add, .job = i, .time = t});
    }
    for (unsigned n = 0; n < slots_.size(); ++n) {
      if (!slots_[n]) continue;
      const auto at = w_.files.all.find(slots_[n]);
      if (at == w_.files.all.end()) continue;
      if (at->second.runners > 0) all.push_back({.what = k::claim, .slot = n});
      if (at->second.f == file::locked) all.push_back({.what = k::end, .slot = n});
    }
    const auto call = w_.e ? k::advance : k::restart;
    all.push_back({call});
    all.push_back({.what = call, .fails = true});
    if (crashed_ == many(model_.crashes)) return all;
    for (unsigned n = 1; n <= 2; ++n) all.push_back({.what = call, .dies = n});
    if (w_.e) all.push_back({k::crash});
    return all;
  }

  void take(const event& e) {
    trail_.push_back(text_of(e));
    dies_ = e.dies;
    w_.book.broken = e.fails;
    try {
      act(e);
    } catch (const crash_here&) {
      act({event::kind::crash});
    }
    dies_ = 0;
    w_.book.broken = false;
    observe(trail_.back());
  }

  bool diverged() const { return follow_.diverged().has_value(); }
  std::string fault() const {
    if (!follow_.diverged()) return {};
    std::string text = follow_.diverged()->text + "the events:";
    for (const std::string& e : trail_) text += "\n  " + e;
    return text;
  }

  model::state mapped() const {
    model::state s;
    s.up = w_.e != nullptr;
    s.crashed = static_cast<std::uint8_t>(crashed_);
    for (unsigned i = 0; i < many(model_.ids); ++i) map_job(i, s.jobs[i]);
    unsigned n = 0;
    for (const auto& [key, id] : queue())
      if (n < s.waiting.size()) s.waiting[n++] = map_waiter(id);
    for (unsigned k = 0; k < slots_.size(); ++k)
      if (slots_[k]) s.slots[k] = map_slot(slots_[k]);
    return s;
  }

 private:
  struct job {
    unsigned time = 0;  // 0: not in the table
    instant since{};    // when it was added
    int instants = 0;   // that have passed, of all jobs of this name
  };
  struct row {
    unsigned others = 0;
    unsigned passed = 0;
  };

  void act(const event& e) {
    using k = event::kind;
    switch (e.what) {
      case k::tick:
        w_.now += 1s;
        for (job& j : jobs_)
          if (j.time && (w_.now - j.since) % (j.time * 1s) == 0s) ++j.instants;
        break;
      case k::advance:
        w_.e->advance(w_.now);
        break;
      case k::add:
        jobs_[e.job].time = e.time;
        jobs_[e.job].since = w_.now;
        w_.e->add_job(definition_of(e.job), w_.now);
        break;
      case k::remove:
        w_.e->remove_job(name_of(e.job), w_.now);
        jobs_[e.job].time = 0;
        break;
      case k::claim:
        w_.files.claim(slots_[e.slot]);
        break;
      case k::end:
        if (w_.e)
          w_.launch->ends(slots_[e.slot], {.outcome = outcome::success, .note = {}});
        else
          w_.files.all.at(slots_[e.slot]) = {file::ended,
                                             w_.files.all.at(slots_[e.slot]).runners,
                                             1,
                                             {.outcome = outcome::success, .note = {}},
                                             false};
        break;
      case k::crash:
        w_.crash();
        ++crashed_;
        break;
      case k::restart:
        w_.start();
        listen();
        w_.e->restore(w_.now);
        w_.e->set_jobs(table(), w_.now);
        break;
    }
  }

  void listen() {
    w_.launch->on_start = [this](const run&) {
      observe("before a start");
      may_die();
    };
    w_.launch->after_start = [this] { observe("start"); };
  }

  void may_die() {
    if (dies_ > 0 && --dies_ == 0) throw crash_here{};
  }

  definition definition_of(unsigned i) const {
    rules r;
    using overlaps = model::overlaps;
    r.overlap = model_.overlap == overlaps::skip    ? overlap_rule::skip
                : model_.overlap == overlaps::queue ? overlap_rule::queue
                                                    : overlap_rule::allow;
    r.catchup_most = 1;  // so many of a job wait with "allow"
    definition d = job_of(name_of(i), "", r);
    d.when = schedule::every(jobs_[i].time * 1s);
    return d;
  }
  std::vector<definition> table() const {
    std::vector<definition> all;
    for (unsigned i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].time) all.push_back(definition_of(i));
    return all;
  }

  bool clock_runs() const {
    bool any = false;
    for (const job& j : jobs_) {
      if (!j.time) continue;
      any = true;
      const auto view =
          w_.e ? w_.e->find(name_of(static_cast<unsigned>(&j - jobs_.data()))) : std::nullopt;
      if (view && view->status == job_status::run) return false;
      const bool passes = (w_.now + 1s - j.since) % (j.time * 1s) == 0s;
      if (passes && pending(static_cast<unsigned>(&j - jobs_.data())) >= model_.missed)
        return false;
    }
    return any;
  }

  int pending(unsigned i) const {
    const job& j = jobs_[i];
    const auto kept = w_.book.jobs.find(name_of(i));
    if (!j.time || kept == w_.book.jobs.end()) return 0;
    const auto upto = [&](instant t) { return (t - j.since) / (j.time * 1s); };
    return static_cast<int>(upto(w_.now) - upto(kept->second.cursor));
  }

  std::map<std::pair<instant, run_id>, run_id> queue() const {
    std::map<std::pair<instant, run_id>, run_id> all;
    for (const auto& [id, r] : w_.book.rows)
      if (r.phase == phase::due) all[{r.scheduled, id}] = id;
    return all;
  }

  // The ledger has changed: places of launched rows, and who was launched while others waited.
  void note_rows() {
    for (run_id& id : slots_)
      if (id && w_.book.rows.at(id).phase == phase::over) id = 0;
    std::map<std::pair<instant, run_id>, run_id> fresh;
    for (const auto& [id, r] : w_.book.rows)
      if (r.phase == phase::launched && std::find(slots_.begin(), slots_.end(), id) == slots_.end())
        fresh[{r.scheduled, id}] = id;
    for (const auto& [key, id] : fresh)
      if (const auto free = std::find(slots_.begin(), slots_.end(), 0); free != slots_.end())
        *free = id;
    std::map<run_id, row> now;
    for (const auto& [key, id] : queue()) {
      now[id] = waiting_[id];
      now[id].others += static_cast<unsigned>(fresh.size());
      now[id].passed = w_.e->passed(id).value_or(0);
    }
    waiting_.swap(now);
  }

  void map_job(unsigned i, model::job& to) const {
    const job& j = jobs_[i];
    int open = j.instants;
    for (const run& r : w_.book.of(name_of(i))) {
      if (r.outcome == outcome::skipped) open -= static_cast<int>(r.count);
      if (const auto f = w_.files.all.find(r.id); f != w_.files.all.end()) open -= f->second.starts;
    }
    to.open = static_cast<std::int8_t>(std::clamp(open, model::lowest_open, 7));
    if (!w_.book.jobs.contains(name_of(i))) return;
    to.time = static_cast<std::uint8_t>(j.time);
    to.prog = j.time ? 1 : 0;
    to.pending = static_cast<std::uint8_t>(std::clamp(pending(i), 0, 3));
    to.t = j.time ? static_cast<std::uint8_t>((w_.now - j.since) % (j.time * 1s) / 1s) : 0;
    to.state = w_.e ? model::none : model::no;
    if (!w_.e) return;
    if (const auto view = w_.e->find(name_of(i)))
      to.state = static_cast<model::status>(view->status);
    if (to.state == model::run && to.pending == 0) to.state = model::no;
    to.armed = to.state == model::yes;
  }

  model::waiter map_waiter(run_id id) const {
    const bool can_pass =
        model_.overlap == model::overlaps::queue && model_.max_aprogs > 1 && model_.ids > 1;
    const unsigned bound = many(model_.ids) - 1 + (can_pass ? many(model_.passes) : 0);
    const auto known = waiting_.find(id);
    const row r = known == waiting_.end() ? row{} : known->second;
    return {job_number(id), static_cast<std::uint8_t>(std::min(r.others, bound + 1)),
            static_cast<std::uint8_t>(r.passed)};
  }

  model::slot map_slot(run_id id) const {
    model::slot s;
    s.job = job_number(id);
    s.prog = 1;
    if (w_.launch) {
      const auto& started = w_.launch->started;
      s.spawned = std::find(started.begin(), started.end(), id) != started.end();
    }
    const auto f = w_.files.all.find(id);
    if (f == w_.files.all.end()) return s;
    s.f = static_cast<model::file>(f->second.f);
    s.runners = static_cast<std::uint8_t>(f->second.runners);
    s.starts = static_cast<std::uint8_t>(f->second.starts);
    return s;
  }

  std::uint8_t job_number(run_id id) const {
    return static_cast<std::uint8_t>(w_.book.rows.at(id).job.back() - '0');
  }

  void observe(std::string_view what) { follow_.observe(mapped(), what); }

  follower& follow_;
  const model& model_;
  world w_;
  std::array<job, model::most_ids> jobs_{};
  std::array<run_id, model::most_slots> slots_{};  // launched rows
  std::map<run_id, row> waiting_;                  // due rows
  unsigned crashed_ = 0;
  unsigned dies_ = 0;
  std::vector<std::string> trail_;
};

follower::options what_is_hidden(const model& m) {
  follower::options o{
      .hidden = {model::set_job, model::start, model::sched, model::record, model::skip,
                 model::exec, model::finish},
      .most_hidden = 16,
  };
  if (m.overlap == model::overlaps::queue && m.crashes > 0) {
    o.invariants = {"TypeOK",    "BoundedPrograms",   "NoRunLost", "NoRunTwice",
                    "NoOverlap", "TimerRunsIffArmed", "NotEarly",  "RemovedIsGone"};
    o.forget = [](model::state& s) {
      for (model::waiter& w : s.waiting) w.passed = w.since = 0;
    };
  }
  return o;
}

struct setting {
  int cap;
  int ids;
  int times;
  model::overlaps overlap;
  int passes;
  int missed;
  int crashes;
};

model model_of(const setting& s) {
  model m;
  m.max_aprogs = s.cap;
  m.ids = s.ids;
  m.times = s.times;
  m.overlap = s.overlap;
  m.passes = s.passes;
  m.missed = s.missed;
  m.crashes = s.crashes;
  return m;
}

// All events in all states, breadth first, each path run from its beginning: engines cannot be
// copied. States are told apart as the model does; what the engine holds besides (times, ids) does
// not decide what it does.
std::size_t walk_everywhere(follower& follow, std::size_t most_states) {
  std::set<model::packed> seen;
  std::deque<std::vector<event>> paths = {{}};
  seen.insert(model::pack(program(follow).mapped()));
  while (!paths.empty()) {
    const std::vector<event> path = std::move(paths.front());
    paths.pop_front();
    std::vector<event> next;
    {
      program p{follow};
      for (const event& e : path) p.take(e);
      next = p.enabled();
    }
    for (const event& e : next) {
      program p{follow};
      for (const event& before : path) p.take(before);
      p.take(e);
      if (p.diverged()) {
        ADD_FAILURE() << p.fault();
        return seen.size();
      }
      if (seen.size() >= most_states || !seen.insert(model::pack(p.mapped())).second) continue;
      paths.push_back(path);
      paths.back().push_back(e);
    }
  }
  return seen.size();
}

void walk_at_random(follower& follow, std::uint64_t seed, int length) {
  rng random{seed};
  program p{follow};
  for (int n = 0; n < length; ++n) {
    const auto all = p.enabled();
    // Removing is rarer, so that something is going on, and so is a crash.
    event e = all[random.below(all.size())];
    if (e.what == event::kind::remove || e.what == event::kind::crash)
      if (random.below(4)) e = all[random.below(all.size())];
    p.take(e);
    if (p.diverged()) {
      ADD_FAILURE() << "seed " << seed << ": " << p.fault();
      return;
    }
  }
}

constexpr auto skip = model::overlaps::skip;
constexpr auto queue = model::overlaps::queue;
constexpr auto allow = model::overlaps::allow;

using rota::test::long_tests;

class EngineConform : public testing::TestWithParam<setting> {};

TEST_P(EngineConform, EveryEventInEveryStateIsTheModels) {
  const model m = model_of(GetParam());
  follower follow{m, what_is_hidden(m)};
  const std::size_t states = walk_everywhere(follow, long_tests() ? 6'000 : 700);
  EXPECT_GE(states, 100u);
  RecordProperty("states", static_cast<int>(states));
  RecordProperty("steps", static_cast<int>(follow.counts().steps));
}

TEST_P(EngineConform, LongRandomWalksAreTheModels) {
  const model m = model_of(GetParam());
  follower follow{m, what_is_hidden(m)};
  for (std::uint64_t seed = 0; seed < (long_tests() ? 500u : 60u); ++seed) {
    walk_at_random(follow, seed, 150);
    if (testing::Test::HasFailure()) return;
  }
  // The mapping covers the model.
  EXPECT_EQ(follow.never_taken(), m.crashes ? "" : "Crash Restart");
}

std::string name_of_setting(const testing::TestParamInfo<setting>& info) {
  const setting& s = info.param;
  constexpr std::array names = {"Skip", "Queue", "Allow"};
  return names[static_cast<unsigned>(s.overlap)] + std::to_string(s.cap) + "Slots" +
         std::to_string(s.ids) + "Jobs" + std::to_string(s.crashes) + "Crashes";
}

INSTANTIATE_TEST_SUITE_P(Settings, EngineConform,
                         testing::Values(setting{1, 2, 1, skip, 1, 2, 1},   //
                                         setting{2, 3, 2, skip, 1, 1, 0},   //
                                         setting{2, 2, 1, queue, 1, 2, 0},  //
                                         setting{2, 3, 1, queue, 2, 1, 0},  //
                                         setting{2, 2, 1, queue, 1, 1, 1},  //
                                         setting{2, 2, 1, allow, 1, 2, 1},  //
                                         setting{3, 2, 2, allow, 1, 2, 0}),
                         name_of_setting);

}  // namespace
}  // namespace rota::job::test
