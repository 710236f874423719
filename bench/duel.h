// What one contestant of a duel needs: its arguments, its clocks, its answer.
//
// A duel asks one question of several libraries. Each library is a program of
// its own, so that none disturbs another, and all speak one protocol:
//
//   peer_x SCENARIO [--workers N] [--n N] [--flavor F]   runs it, prints one line
//   peer_x --list                                        prints the scenarios it knows
//
// The line is a JSON object: what was asked, wall and CPU time of the measured
// part in nanoseconds, the answer, and whatever else the scenario reports.
// `bench/run` is the other side: it interleaves the rounds and checks the answers.
//
//   int main(int argc, char** argv) {
//     bench::contestant me{"asio", argc, argv};
//     me.add("yield", yield);            // void yield(bench::trial&)
//     return me.run();
//   }
//
//   void yield(bench::trial& t) {
//     ... make the runtime ...           // not measured
//     t.start();
//     ... t.n() yields ...
//     t.stop();
//     t.answer(steps);
//   }
//
// Threads: start() and stop() may be called by different threads, one after the
// other; everything else belongs to the thread that runs the scenario.
#ifndef ROTA_BENCH_DUEL_H
#define ROTA_BENCH_DUEL_H

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline std::int64_t read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Nanoseconds of the steady clock.
inline std::int64_t wall_now() { return read_clock(CLOCK_MONOTONIC); }

// Nanoseconds of CPU that all threads of this process have used.
inline std::int64_t cpu_now() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

// Bytes of memory that this process has resident.
inline std::int64_t resident_bytes() {
  long pages = 0;
  long resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return std::int64_t{resident} * sysconf(_SC_PAGESIZE);
}

// Keeps the compiler from leaving out the work that made `value`.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

// Spins for `ns` nanoseconds: a long task that never gives way. Returns the CPU time that this
// thread took for it.
inline std::int64_t spin_for(std::int64_t ns) {
  const std::int64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
  const std::int64_t until = wall_now() + ns;
  while (wall_now() < until) {
  }
  return read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

// One run of one scenario.
class trial {
 public:
  trial(std::string peer, std::string scenario, unsigned workers, std::int64_t n,
        std::string flavor)
      : peer_(std::move(peer)),
        scenario_(std::move(scenario)),
        flavor_(std::move(flavor)),
        workers_(workers),
        n_(n) {}

  unsigned workers() const { return workers_; }
  std::int64_t n() const { return n_; }
  const std::string& flavor() const { return flavor_; }

  // Begins and ends the measured part.
  void start() {
    cpu_ = -cpu_now();
    wall_ = -wall_now();
  }
  void stop() {
    stop_wall();
    stop_cpu();
  }

  // The same one by one. The CPU time of a thread that runs at that moment is known up to its last
  // tick only, some milliseconds: who leaves threads running lets them come to rest in between.
  void stop_wall() { wall_ += wall_now(); }
  void stop_cpu() { cpu_ += cpu_now(); }

  void answer(std::int64_t value) { answer_ = value; }

  // Another number or text to report beside the times.
  void report(const char* name, double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g", value);
    extra_ += std::string(",\"") + name + "\":" + text;
  }
  // What the long task itself took; the rest of the CPU time was burnt beside it.
  void report_own(std::int64_t cpu_ns) { report("own_ns", static_cast<double>(cpu_ns)); }
  void report_flag(const char* name) { extra_ += std::string(",\"") + name + "\":true"; }

  void print() const {
    std::printf(
        "{\"peer\":\"%s\",\"scenario\":\"%s\",\"workers\":%u,\"n\":%lld,\"ns\":%lld,\"cpu_ns\":%"
        "lld,"
        "\"answer\":%lld%s}\n",
        peer_.c_str(), scenario_.c_str(), workers_, static_cast<long long>(n_),
        static_cast<long long>(wall_), static_cast<long long>(cpu_),
        static_cast<long long>(answer_), extra_.c_str());
    std::fflush(stdout);
  }

 private:
  std::string peer_;
  std::string scenario_;
  std::string flavor_;
  unsigned workers_;
  std::int64_t n_;
  std::int64_t wall_ = 0;
  std::int64_t cpu_ = 0;
  std::int64_t answer_ = 0;
  std::string extra_;
};

// Reports how far beyond the request a row of sleeps went; the answer is how many.
inline void report_beyond(trial& t, std::vector<std::int64_t>& beyond_ns) {
  std::sort(beyond_ns.begin(), beyond_ns.end());
  const auto at = [&](std::size_t percent) {
    return static_cast<double>(beyond_ns[(beyond_ns.size() - 1) * percent / 100]) / 1000;
  };
  t.report("p50_us", at(50));
  t.report("p99_us", at(99));
  t.answer(static_cast<std::int64_t>(beyond_ns.size()));
}

// One library and the scenarios that it takes part in.
class contestant {
 public:
  using scenario = void (*)(trial&);

  contestant(const char* name, int argc, char** argv) : name_(name), args_(argv + 1, argv + argc) {}

  void add(const char* scenario_name, scenario f) { scenarios_.emplace_back(scenario_name, f); }

  // Runs what the command line asks for; the exit status of the program.
  int run() {
    if (args_.size() == 1 && std::strcmp(args_[0], "--list") == 0) {
      for (const auto& [scenario_name, f] : scenarios_) std::printf("%s\n", scenario_name);
      return 0;
    }
    unsigned workers = 1;
    std::int64_t n = 1000;
    std::string flavor;
    if (args_.empty() || args_.size() % 2 == 0) return usage();
    for (std::size_t i = 1; i + 1 < args_.size(); i += 2) {
      if (std::strcmp(args_[i], "--workers") == 0) {
        workers = static_cast<unsigned>(std::atoi(args_[i + 1]));
      } else if (std::strcmp(args_[i], "--n") == 0) {
        n = std::atoll(args_[i + 1]);
      } else if (std::strcmp(args_[i], "--flavor") == 0) {
        flavor = args_[i + 1];
      } else {
        return usage();
      }
    }
    for (const auto& [scenario_name, f] : scenarios_) {
      if (std::strcmp(scenario_name, args_[0]) != 0) continue;
      trial t{name_, scenario_name, workers, n, flavor};
      f(t);
      t.print();
      // Tasks that never end on purpose are left behind; nothing waits for them.
      _exit(0);
    }
    std::fprintf(stderr, "%s: no scenario \"%s\"; --list names them\n", name_, args_[0]);
    return 2;
  }

 private:
  int usage() const {
    std::fprintf(stderr, "usage: SCENARIO [--workers N] [--n N] [--flavor F] | --list\n");
    return 2;
  }

  const char* name_;
  std::vector<char*> args_;
  std::vector<std::pair<const char*, scenario>> scenarios_;
};

}  // namespace bench

#endif
