#include "tour.h"

#include <rota/rota.h>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rota::app {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// What a stop of the tour found.
struct finding {
  std::string_view promise;
  bool kept = false;
  std::string seen;
};

double ms_since(steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady::now() - begin).count();
}

double cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](timeval t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

std::string text(const char* format, auto... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// --- quiescent_fair: a quiet task beside ten that never stop ------------------------------------

struct fairness_run {
  bool over = false;
  std::uint64_t hog_steps = 0;
  std::uint64_t longest = 0;
};

task<void> hog(fairness_run& run) {
  while (!run.over) {
    ++run.hog_steps;
    co_await suspend();
  }
}

task<void> quiet(fairness_run& run, channel<std::uint64_t>& wake) {
  while (auto sent_at = co_await wake.receive())
    run.longest = std::max(run.longest, run.hog_steps - *sent_at);
}

task<void> beside_hogs(fairness_run& run) {
  channel<std::uint64_t> wake{1};
  task_group group;
  for (int i = 0; i < 10; ++i) group.spawn(hog(run));
  group.spawn(quiet(run, wake));
  for (int i = 0; i < 1000; ++i) {
    co_await wake.send(run.hog_steps);
    for (int k = 0; k < 20; ++k) co_await suspend();
  }
  wake.close();
  run.over = true;
  co_await group.join();
}

finding fairness() {
  fairness_run run;
  runtime rt{options{}.with_workers(1)};
  rt.run(beside_hogs(run));
  const std::uint64_t bound = 13 + fairness_slack;
  const stats seen = rt.statistics();
  return {"quiescent_fair", run.longest <= bound && seen.max_ready_delay <= bound,
          text("1,000 wake-ups beside 10 hogs: at most %llu hog steps and %llu points; bound %llu",
               static_cast<unsigned long long>(run.longest),
               static_cast<unsigned long long>(seen.max_ready_delay),
               static_cast<unsigned long long>(bound))};
}

// --- no_lost_wakeup: a plain thread wakes sleeping workers --------------------------------------

task<std::uint64_t> count(channel<int>& in) {
  std::uint64_t received = 0;
  while (co_await in.receive()) ++received;
  co_return received;
}

finding wake_ups() {
  constexpr int rounds = 20'000;
  runtime rt{options{}.with_workers(2)};
  channel<int> in{1};
  std::thread sender([&, expected = outside{rt}] {
    for (int i = 0; i < rounds; ++i) {
      while (!in.try_send(i)) std::this_thread::yield();
      if (i % 64 == 0) std::this_thread::sleep_for(50us);  // long enough to fall asleep
    }
    in.close();
  });
  const std::uint64_t received = rt.run(count(in));
  sender.join();
  const stats seen = rt.statistics();
  return {"no_lost_wakeup", received == rounds,
          text("%d messages from another thread, %llu parks: all arrived", rounds,
               static_cast<unsigned long long>(seen.parks))};
}

// --- work_conserving: fork-join on all workers, and nothing when idle ---------------------------

task<std::uint64_t> sum(const std::uint32_t* begin, const std::uint32_t* end) {
  if (end - begin <= 2048) co_return std::accumulate(begin, end, std::uint64_t{0});
  const std::uint32_t* middle = begin + (end - begin) / 2;
  fork_scope forks;
  std::uint64_t left = 0;
  co_await forks.fork(left, sum(begin, middle));
  const std::uint64_t right = co_await sum(middle, end);
  co_await forks.join();
  co_return left + right;
}

finding fork_join() {
  std::vector<std::uint32_t> numbers(1 << 23);
  std::iota(numbers.begin(), numbers.end(), 0u);
  runtime rt;
  std::uint64_t total = 0;
  const auto begin = steady::now();
  for (int i = 0; i < 10; ++i) total = rt.run(sum(numbers.data(), numbers.data() + numbers.size()));
  const double took = ms_since(begin);
  const double before = cpu_ms();
  std::this_thread::sleep_for(300ms);
  const double idle = cpu_ms() - before;
  const std::uint64_t n = numbers.size();
  return {"work_conserving", total == n * (n - 1) / 2 && idle < 30,
          text("sum of 8 M numbers by %u workers in %.1f ms; idle for 300 ms: %.1f ms of CPU",
               rt.workers(), took / 10, idle)};
}

// --- bounded channels, timeouts, cancellation ---------------------------------------------------

task<void> sleep_long() { co_await sleep_for(1h); }

task<std::string> limits() {
  const auto begin = steady::now();
  task_group sleepers;
  for (int i = 0; i < 100'000; ++i) sleepers.spawn(sleep_long());
  co_await suspend();
  bool late = false;
  try {
    co_await with_timeout(5ms, sleep_long());
  } catch (const timed_out&) {
    late = true;
  }
  sleepers.request_stop();
  co_await sleepers.join();
  co_return late
      ? text("100,000 sleeping tasks, a limit of 5 ms kept, all stopped: %.0f ms", ms_since(begin))
      : std::string{};
}

finding stopping() {
  const std::string seen = run(limits());
  return {"cancellation", !seen.empty(), seen};
}

// --- deadlock_reported --------------------------------------------------------------------------

task<void> take_both(async_mutex& first, async_mutex& second, const char* name) {
  this_task::set_name(name);
  auto one = co_await first.lock();
  co_await sleep_for(1ms);
  auto two = co_await second.lock();
}

task<void> philosophers() {
  this_task::set_name("table");
  async_mutex left;
  async_mutex right;
  task_group group;
  group.spawn(take_both(left, right, "Plato"));
  group.spawn(take_both(right, left, "Zeno"));
  co_await group.join();
}

finding deadlocks(std::string& report) {
  try {
    run(philosophers());
  } catch (const deadlock& found) {
    report = found.what();
  }
  const bool names_both = report.find("Plato") != std::string::npos &&
                          report.find("Zeno") != std::string::npos &&
                          report.find("cycle") != std::string::npos;
  return {"deadlock_reported", names_both,
          names_both ? "two tasks that wait for each other's mutex: who, where, and the cycle"
                     : "no report"};
}

std::string indented(const std::string& lines) {
  std::istringstream in{lines};
  std::string out;
  for (std::string line; std::getline(in, line);) out += "    | " + line + "\n";
  return out;
}

int tour(bool json) {
  struct stop {
    const char* about;
    std::function<finding()> show;
  };
  std::string report;
  const stop stops[] = {
      {"A quiet task beside ten that only yield, on one worker", fairness},
      {"A plain thread sends to a task whose workers keep falling asleep", wake_ups},
      {"Fork-join on all workers, then nothing to do", fork_join},
      {"A hundred thousand sleepers, a time limit, and everybody is stopped", stopping},
      {"Two tasks wait for each other", [&report] { return deadlocks(report); }},
  };
  std::vector<finding> findings;
  for (const stop& s : stops) {
    if (!json) {
      std::printf("%s ...\n", s.about);
      std::fflush(stdout);
    }
    findings.push_back(s.show());
    if (!json) std::printf("    %s\n", findings.back().seen.c_str());
  }
  bool all = true;
  for (const finding& f : findings) all = all && f.kept;
  if (json) {
    std::printf("[");
    for (std::size_t i = 0; i < findings.size(); ++i)
      std::printf("%s\n  {\"promise\": \"%s\", \"kept\": %s, \"seen\": \"%s\"}", i ? "," : "",
                  std::string(findings[i].promise).c_str(), findings[i].kept ? "true" : "false",
                  findings[i].seen.c_str());
    std::printf("\n]\n");
    return all ? 0 : 1;
  }
  std::printf("%s\n", indented(report).c_str());
  std::printf("  %-18s %-5s %s\n", "promise", "kept", "seen");
  for (const finding& f : findings)
    std::printf("  %-18s %-5s %s\n", std::string(f.promise).c_str(), f.kept ? "yes" : "NO",
                f.seen.c_str());
  std::printf("\nNext: README.md has a program of your own; examples/ has five more.\n");
  return all ? 0 : 1;
}

}  // namespace

void add_tour(command& program) {
  auto json = std::make_shared<bool>(false);
  command& tour_command = program.add(
      "tour", "shows every promise of the task layer at work, in some seconds; ends with a table");
  tour_command.option({.name = "--json", .help = "print JSON", .value = json.get()});
  tour_command.run([json] { return tour(*json); });
}

}  // namespace rota::app
