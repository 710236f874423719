// bounded_programs, every_due_run: six jobs, due twice a second, under a cap of two, started by a
// daemon of the tour's own that is killed with kill -9 while programs run. Each program writes a
// line when it starts and one when it ends; in the end these lines are compared with the ledger.
// Broken, three programs are under way in the lines, an instant has no row in the ledger or two, or
// a program has started twice, or not at all although the ledger says so.

#include <rota/job/sqlite_ledger.h>
#include <rota/job/wall_timer.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "../check_output.h"
#include "own_daemon.h"
#include "stops.h"

namespace rota::app {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t program_cap = 2;
constexpr int job_count = 6;
constexpr auto job_period = 500ms;

// What the programs wrote. Lines are appended in one piece, so that their order is that of what
// happened, without any clock.
struct world_lines {
  std::map<job::run_id, std::uint64_t> starts;
  std::map<job::run_id, std::uint64_t> ends;
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::uint64_t most = 0;  // at once
};

world_lines read_world(const std::filesystem::path& file) {
  world_lines w;
  std::ifstream in{file};
  std::string what;
  for (job::run_id run = 0; in >> what >> run;) {
    if (what == "start") {
      ++w.starts[run];
      ++w.started;
      w.most = std::max(w.most, w.started - w.ended);
    } else {
      ++w.ends[run];
      ++w.ended;
    }
  }
  return w;
}

// What the ledger says of it.
struct account_of_runs {
  std::uint64_t rows = 0;
  std::uint64_t ran = 0;
  std::uint64_t skipped = 0;
  std::uint64_t gaps = 0;
  std::uint64_t doubles = 0;
  std::uint64_t twice = 0;    // started more than once
  std::uint64_t untrue = 0;   // ran, and did not; or the other way round
  std::uint64_t unknown = 0;  // started, and not in the ledger
};

account_of_runs compare(const std::vector<job::run>& rows, const world_lines& world) {
  account_of_runs a;
  std::map<std::string, std::vector<instant>> instants;
  std::set<job::run_id> ids;
  for (const job::run& r : rows) {
    ids.insert(r.id);
    // Instants that were missed together are one row.
    const instant first = r.count > 1 ? r.first : r.scheduled;
    for (instant t = first; t <= r.scheduled; t += job_period) instants[r.job].push_back(t);
    const auto starts = world.starts.find(r.id);
    const std::uint64_t began = starts == world.starts.end() ? 0 : starts->second;
    const auto ends = world.ends.find(r.id);
    const std::uint64_t ended = ends == world.ends.end() ? 0 : ends->second;
    a.twice += began > 1;
    if (r.outcome == job::outcome::success) {
      ++a.ran;
      a.untrue += began != 1 || ended != 1;
    } else if (r.outcome == job::outcome::skipped) {
      a.skipped += r.count;
      a.untrue += began != 0;
    } else {
      ++a.untrue;  // nothing else can have become of it
    }
  }
  for (auto& [name, all] : instants) {
    a.rows += all.size();
    std::sort(all.begin(), all.end());
    for (std::size_t i = 1; i < all.size(); ++i) {
      a.doubles += all[i] == all[i - 1];
      a.gaps += all[i] - all[i - 1] > job_period;
    }
  }
  for (const auto& [run, count] : world.starts) a.unknown += !ids.contains(run);
  return a;
}

class killed_daemon {
 public:
  explicit killed_daemon(stage& s) : stage_(s), world_(daemon_.folder() / "world") {
    for (int i = 1; i <= job_count; ++i)
      daemon_.write_job("job" + std::to_string(i),
                        "schedule = \"@every 500ms\"\noverlap = \"queue\"\nqueue = 3\n"
                        "catchup = \"all\"\n"
                        "shell = \"echo start $ROTA_RUN >>'" +
                            world_.string() + "'; sleep 0.1; " + "echo end $ROTA_RUN >>'" +
                            world_.string() + "'\"\n");
  }

  findings run() {
    start();
    watch_until(0.4);
    // In the middle of something.
    while (!is_busy()) look("waiting for programs to be under way");
    const std::uint64_t under_way = world().started - world().ended;
    daemon_.kill_hard();
    const auto dead_until = stage::clock::now() + 2 * job_period;  // instants are missed meanwhile
    while (stage::clock::now() < dead_until) look("the daemon was killed");
    start();
    watch_until(1);
    settle();
    return judge(under_way);
  }

 private:
  world_lines world() const { return read_world(world_); }
  bool is_busy() const {
    const world_lines w = world();
    return w.started > w.ended;
  }

  void look(const std::string& what) {
    const world_lines w = world();
    stage_.show(what + ": " + grouped(w.ended) + " programs ended, " +
                grouped(w.started - w.ended) + " under way, at most " + grouped(w.most));
    std::this_thread::sleep_for(50ms);
  }

  void start() {
    daemon_.start([this] { look("the daemon starts"); });
  }

  // For this share of the time, and until some more programs have ended.
  void watch_until(double share) {
    const std::uint64_t before = world().ended;
    while (stage_.goes_on(world().ended - before, 6, share)) look("six jobs, two at a time");
  }

  // Without jobs nothing becomes due; what waits is recorded, and what runs comes to its end.
  void settle() {
    daemon_.remove_jobs();
    for (;;) {
      const own_daemon::load left = daemon_.ask();
      if (left.jobs + left.active + left.waiting == 0 && !is_busy()) break;
      look("the last ones");
    }
    daemon_.end();
  }

  findings judge(std::uint64_t under_way) const {
    job::sqlite_ledger ledger{daemon_.ledger(), {.now = job::wall_now()}};
    const job::history_page all = ledger.history({.limit = 1'000'000});
    const world_lines w = world();
    const account_of_runs a = compare(all.runs, w);
    const bool each_once =
        a.gaps + a.doubles + a.twice + a.untrue + a.unknown == 0 && a.ran > 0 && !all.more;
    std::string seen = grouped(a.rows) + " due instants of six jobs over a kill -9 with " +
                       grouped(under_way) + " programs under way: " + grouped(a.ran) + " ran, " +
                       grouped(a.skipped) + " skipped with a reason, ";
    if (each_once)
      seen += "none lost, none twice";
    else
      seen += grouped(a.gaps) + " LOST, " + grouped(a.doubles + a.twice) + " TWICE, " +
              grouped(a.untrue + a.unknown) + " UNTRUE";
    return {{"bounded_programs", w.most <= program_cap && w.started > 0,
             grouped(w.started) + " programs of six jobs: at most " + grouped(w.most) +
                 " at once, cap " + grouped(program_cap)},
            {"every_due_run", each_once, seen}};
  }

  stage& stage_;
  own_daemon daemon_{program_cap};
  const std::filesystem::path world_;
};

}  // namespace

findings show_programs(stage& s) {
  try {
    return killed_daemon{s}.run();
  } catch (const std::exception& error) {
    return {{"bounded_programs", false, error.what()}, {"every_due_run", false, error.what()}};
  }
}

}  // namespace rota::app
