// Everything at once: jobs with all kinds of rules come, change and go, their programs end in all
// kinds of ways, people run, cancel and pause, clocks jump, the ledger fails, the daemon crashes.
// After every event, from what the ledger has:
//   - each instant of a job is in exactly one row, and no key is there twice
//   - at most max_active runs are launched, at most a group's cap of the group, and one of a job
//     that does not allow two
//   - a run is started once, and after its row said so
//   - attempts of a key are 1, 2, 3, ..., each after the end of the one before
//   - nobody is passed more than `passes` times, and nobody waits who could start
// In the end everything that was due is over. A failure prints its seed.
#include <rota/base/rng.h>

#include "support/job_world.h"
#include "support/strength.h"

namespace rota::job::test {
namespace {

using rota::detail::rng;
using file = run_files::file;
using seconds = std::chrono::seconds;

struct crash_here_too {};

class turmoil {
 public:
  explicit turmoil(std::uint64_t seed)
      : random_(seed),
        w_({.max_active = 1 + below(4),
            .passes = below(4),
            .groups = {{"g", 1}, {"h", 2}},
            .seed = seed}) {
    w_.files.claim_at_once = below(2) == 0;
    w_.book.on_commit = [this] { committed(); };
    listen();
    set_table();
  }

  void run(int events) {
    for (int n = 0; n < events && !testing::Test::HasFailure(); ++n) {
      dies_ = below(25) == 0 ? 1 + below(3) : 0;
      try {
        one_event();
      } catch (const crash_here_too&) {
        restart();
      }
      dies_ = 0;
      check();
    }
    if (!testing::Test::HasFailure()) finish();
  }

  std::size_t rows() const { return w_.book.rows.size(); }

 private:
  unsigned below(std::uint64_t n) { return static_cast<unsigned>(random_.below(n)); }
  template <class T>
  const T& any(const std::vector<T>& all) {
    return all[below(all.size())];
  }

  // --- what happens ---

  void one_event() {
    switch (below(16)) {
      case 0:
        return set_table();
      case 1:
        w_.book.broken = !w_.book.broken && below(3) == 0;
        break;
      case 2:
        return request();
      case 3:
        return restart();
      case 4:
        w_.now += seconds{below(400)};  // the machine sleeps
        break;
      case 5:
        if (below(4) == 0) w_.now -= seconds{below(900)};
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        return end_one();
      default:
        w_.now += milliseconds{below(15'000)};
    }
    for (auto& [id, f] : w_.files.all)
      if (f.runners > 0 && below(2)) w_.files.claim(id);
    w_.e->advance(w_.now);
  }

  void request() {
    if (names_.empty()) return;
    const std::string name = any(names_);
    switch (below(5)) {
      case 0:
        w_.e->pause(name, w_.now);
        break;
      case 1:
        w_.e->resume(name, w_.now);
        break;
      case 2:
        if (!w_.book.rows.empty()) {
          const auto last = w_.book.rows.rbegin()->first;
          w_.e->cancel(std::max<run_id>(1, last - below(20)), w_.now);
        }
        break;
      default:
        try {
          const bool at_once = below(4) == 0;
          w_.e->run_job(name, at_once ? "who cannot wait" : "me", at_once, w_.now);
        } catch (const ledger_error&) {
          EXPECT_TRUE(w_.book.broken);
        }
    }
  }

  void end_one() {
    std::vector<run_id> all;
    for (const auto& [id, f] : w_.files.all)
      if (f.f == file::locked) all.push_back(id);
    if (!all.empty()) {
      const run_id id = any(all);
      run_result r{.pid = 7, .started = w_.now, .finished = w_.now, .note = {}};
      constexpr std::array outcomes = {outcome::success, outcome::success, outcome::failed,
                                       outcome::signalled, outcome::timed_out};
      r.outcome = w_.files.all.at(id).stopped ? outcome::cancelled : outcomes[below(5)];
      r.exit_code = r.outcome == outcome::failed ? static_cast<int>(1 + below(2)) : 0;
      w_.launch->ends(id, r);
    }
    w_.e->advance(w_.now);
  }

  void restart() {
    w_.book.broken = false;
    w_.crash();
    passed_.clear();
    if (below(4) == 0) {  // the machine was down
      w_.options.boot += "!";
      for (auto& [id, f] : w_.files.all) {
        f.runners = 0;
        if (f.f == file::locked) f.f = file::dead;
      }
    } else {
      for (auto& [id, f] : w_.files.all)
        if (f.f == file::locked && below(8) == 0) f.f = file::dead;
    }
    // After a restart nobody knows the group of a job that was removed.
    orphans_.clear();
    for (const auto& [id, r] : w_.book.rows)
      if (r.phase == phase::launched && !since_.contains(r.job))
        orphans_.insert(id), once_orphans_.insert(id);
    w_.now += seconds{below(300)};
    w_.start();
    listen();
    for (;;) {
      try {
        w_.e->restore(w_.now);
        w_.e->set_jobs(table_, w_.now);
        return;
      } catch (const crash_here_too&) {
        w_.crash();
        passed_.clear();
        w_.start();
        listen();
      }
    }
  }

  // Times stay, rules may change: then the instants of a job can be counted.
  void set_table() {
    std::vector<definition> next;
    names_.clear();
    for (unsigned n = 0; n < 6; ++n) {
      const std::string name = "job " + std::to_string(n);
      const auto old = std::find_if(table_.begin(), table_.end(),
                                    [&](const definition& d) { return d.name == name; });
      if (below(4) == 0 && !w_.book.broken) {
        since_.erase(name);
        continue;
      }
      if (old != table_.end() && below(2)) {
        next.push_back(*old);
      } else if (old == table_.end() && w_.book.broken) {
        continue;
      } else {
        constexpr std::array times = {"*/10 * * * * *", "* * * * *", "@every 7s", "", "@every 45s"};
        rules r;
        r.overlap = static_cast<overlap_rule>(n % 4);  // a job keeps it, and its group
        r.group = n % 3 == 0 ? "" : n % 3 == 1 ? "g" : "h";
        r.queue_length = 1 + below(2);
        r.catchup = static_cast<catchup_rule>(below(3));
        r.catchup_most = 1 + below(4);
        r.deadline = below(2) ? 86'400s : 60s;
        r.retry.count = below(3);
        r.retry.delay = 5s;
        if (below(2)) r.retry.codes = {1};
        r.on_unknown = static_cast<unknown_rule>(below(2));
        if (n > 2 && below(2)) r.after = {{"job " + std::to_string(below(3)), dependency_on::any}};
        if (below(3) == 0) r.absence = 100s;
        next.push_back(job_of(name, times[n % times.size()], r));
      }
      names_.push_back(name);
    }
    table_ = next;
    for (const definition& d : table_)
      if (!since_.contains(d.name)) since_[d.name] = {w_.now, next_row()};
    w_.e->set_jobs(table_, w_.now);
  }
  run_id next_row() const { return w_.book.rows.empty() ? 1 : w_.book.rows.rbegin()->first + 1; }

  void listen() {
    w_.launch->on_start = [this](const rota::job::run& r) {
      ASSERT_EQ(w_.book.rows.at(r.id).phase, phase::launched);
      may_die();
    };
  }
  void may_die() {
    if (dies_ > 0 && --dies_ == 0) throw crash_here_too{};
  }

  // --- what must hold ---

  void committed() {
    count_passes();
    std::map<std::string, unsigned> of_job;
    std::map<std::string, unsigned> of_group;
    unsigned all = 0;
    for (const auto& [id, r] : w_.book.rows) {
      if (r.phase != phase::launched) continue;
      if (++of_job[r.job] > 1) {
        EXPECT_EQ(overlap_of(r.job), overlap_rule::allow) << r.job;
      }
      if (may_be_beyond(r)) continue;
      ++all;
      if (!once_orphans_.contains(id)) ++of_group[group_of(r.job)];
    }
    EXPECT_LE(all, w_.options.max_active);
    EXPECT_LE(of_group["g"], 1u) << queue_text();
    EXPECT_LE(of_group["h"], 2u) << queue_text();
    may_die();
  }

  static bool may_be_beyond(const rota::job::run& r) { return r.requested_by == "who cannot wait"; }
  static unsigned number(const std::string& job) { return static_cast<unsigned>(job.back() - '0'); }
  static overlap_rule overlap_of(const std::string& job) {
    return static_cast<overlap_rule>(number(job) % 4);
  }
  static std::string group_of(const std::string& job) {
    return number(job) % 3 == 0 ? "" : number(job) % 3 == 1 ? "g" : "h";
  }

  // A launch passes all that are due and stand before it.
  void count_passes() {
    using key = std::pair<instant, run_id>;
    std::map<key, run_id> fresh;
    std::map<key, run_id> before;
    for (const auto& [id, r] : w_.book.rows) {
      if (r.phase == phase::due) before[{r.scheduled, id}] = id;
      if (r.phase == phase::launched && !launched_.contains(id)) {
        launched_.insert(id);
        if (!may_be_beyond(r)) fresh[{r.scheduled, id}] = id;
      }
    }
    for (const auto& [k, id] : fresh)
      for (const auto& [other, waits] : before) {
        if (other >= k) break;
        if (!w_.e->passed(waits)) continue;  // a retry before its time
        EXPECT_LE(++passed_[waits], w_.options.passes)
            << "run " << waits << " is passed by " << id << queue_text();
      }
  }

  void check() {
    const std::string where = "at " + std::to_string((w_.now - noon).count()) + " ms";
    SCOPED_TRACE(where);
    for (const auto& [id, f] : w_.files.all) EXPECT_LE(f.starts, 1) << "run " << id;
    if (++checked_ % 8 == 0) check_rows();
    if (!w_.book.broken) nobody_waits_in_vain();
  }

  // All of them, so not every time.
  void check_rows() {
    check_attempts();
    for (const definition& d : table_) check_instants(d);
  }

  void check_attempts() {
    std::map<std::pair<std::string, instant>, std::vector<const rota::job::run*>> keys;
    for (const auto& [id, r] : w_.book.rows) keys[{r.job, r.scheduled}].push_back(&r);
    for (const auto& [key, rows] : keys)
      for (std::size_t n = 0; n < rows.size(); ++n) {
        EXPECT_EQ(rows[n]->attempt, n + 1) << key.first;
        if (n + 1 < rows.size()) {
          EXPECT_EQ(rows[n]->phase, phase::over);
          EXPECT_NE(rows[n]->outcome, outcome::success);
          EXPECT_NE(rows[n]->outcome, outcome::skipped);
        }
      }
  }

  void check_instants(const definition& d) {
    const auto row = w_.book.jobs.find(d.name);
    if (row == w_.book.jobs.end() || !since_.contains(d.name)) return;
    const auto [since, first_row] = since_.at(d.name);
    std::map<instant, int> rows;
    for (const rota::job::run& r : w_.book.of(d.name)) {
      const bool by_schedule = r.why == trigger::schedule || r.why == trigger::catchup;
      if (!by_schedule || r.id < first_row) continue;
      // A key that was taken made way for the next millisecond.
      const auto t = d.when.prev(r.scheduled + 1ms, row->second.anchor);
      ASSERT_TRUE(t);
      EXPECT_LE(r.scheduled - *t, 50ms) << d.name;
      if (r.count == 1) ++rows[*t];
      std::uint32_t n = 0;
      for (auto at = std::optional(r.first); r.count > 1 && at && *at <= r.scheduled;
           at = d.when.next(*at, row->second.anchor), ++n)
        ++rows[*at];
      if (r.count > 1) {
        EXPECT_EQ(n, r.count);
      }
    }
    std::map<instant, int> expected;
    for (auto at = d.when.next(since, row->second.anchor); at && *at <= row->second.cursor;
         at = d.when.next(*at, row->second.anchor))
      expected[*at] = 1;
    EXPECT_EQ(rows, expected) << d.name;
  }

  void nobody_waits_in_vain() {
    if (w_.e->wake_at() && *w_.e->wake_at() <= w_.now) return;  // it has not seen all yet
    const auto running = w_.e->running();
    if (running.size() >= w_.options.max_active) return;
    for (const rota::job::run& r : w_.e->waiting()) {
      if (!w_.e->passed(r.id)) continue;
      bool held = false;
      unsigned in_group = 0;
      for (const rota::job::run& other : running) {
        held |= other.job == r.job && overlap_of(r.job) != overlap_rule::allow;
        in_group += group_of(other.job) == group_of(r.job) && !orphans_.contains(other.id);
      }
      held |= group_of(r.job) == "g" && in_group >= 1;
      held |= group_of(r.job) == "h" && in_group >= 2;
      ASSERT_TRUE(held) << "run " << r.id << " of " << r.job << " could start" << queue_text();
      if (*w_.e->passed(r.id) >= w_.options.passes) return;
    }
  }

  std::string queue_text() const {
    std::string all;
    for (const rota::job::run& r : w_.e->running())
      all += "\n  runs " + std::to_string(r.id) + " of " + r.job;
    for (const rota::job::run& r : w_.e->waiting())
      all += "\n  waits " + std::to_string(r.id) + " of " + r.job + ", scheduled " +
             std::to_string((r.scheduled - noon).count()) + ", not before " +
             std::to_string((r.not_before - noon).count()) + ", passed " +
             std::to_string(w_.e->passed(r.id).value_or(0)) + " of " +
             std::to_string(w_.options.passes);
    return all + "\n  at " + std::to_string((w_.now - noon).count()) + ", with " +
           std::to_string(w_.options.max_active) + " slots";
  }

  // Nothing new comes, and all programs end.
  void finish() {
    w_.book.broken = false;
    w_.e->advance(w_.now);
    for (definition& d : table_) {
      rules r = *d.rules;
      r.after.clear();
      d.rules = std::make_shared<const rules>(r);
    }
    w_.e->set_jobs(table_, w_.now);
    for (const std::string& name : names_) w_.e->pause(name, w_.now);
    for (int n = 0; n < 2'000; ++n) {
      for (auto& [id, f] : w_.files.all) {
        while (f.runners > 0) w_.files.claim(id);
        if (f.f == file::locked && w_.book.rows.at(id).phase == phase::launched)
          w_.launch->ends(id, {.outcome = outcome::success, .finished = w_.now, .note = {}});
      }
      w_.now += 10s;
      w_.e->advance(w_.now);
      if (w_.e->waiting().empty() && w_.e->running().empty()) break;
    }
    for (const auto& [id, r] : w_.book.rows)
      EXPECT_EQ(r.phase, phase::over) << "run " << id << " of " << r.job;
    check();
    check_rows();
  }

  rng random_;
  world w_;
  std::vector<definition> table_;
  std::vector<std::string> names_;
  std::map<std::string, std::pair<instant, run_id>> since_;  // when it came, and its first row
  std::set<run_id> orphans_;
  std::set<run_id> once_orphans_;
  std::set<run_id> launched_;
  std::map<run_id, unsigned> passed_;
  unsigned dies_ = 0;
  unsigned checked_ = 0;
};

TEST(EngineRandom, EverythingAtOnce) {
  const std::uint64_t seeds = rota::test::long_tests() ? 1'000 : rota::test::sanitized ? 15 : 60;
  std::size_t rows = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    turmoil t{seed};
    t.run(250);
    rows += t.rows();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(rows, seeds * 100);
}

}  // namespace
}  // namespace rota::job::test
