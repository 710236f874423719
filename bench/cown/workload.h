// What every driver of the cown workloads has in common: chance, work, keys, clocks and the line
// that it prints. bench/cown/README.md has the workloads.
//
//   driver WORKLOAD [key=value ...]      prints a line of key=value words for each repetition
//   driver --list                        prints the workloads that it knows
//
//   void spawn(const bench::keys& k, bench::repetition& r) {
//     const auto n = k("n", 5'000'000);
//     r.start();
//     ... make the runtime, submit, wait for rest, end the runtime ...
//     r.stop();
//     r.ops = n;
//     r.check(count == n);
//   }
//   int main(int argc, char** argv) { return bench::drive("rota", argc, argv, {{"spawn", spawn}});
//   }
//
// Threads: everything belongs to the main thread, except rng, spin() and high_water.
#ifndef ROTA_BENCH_COWN_WORKLOAD_H
#define ROTA_BENCH_COWN_WORKLOAD_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../duel.h"

namespace bench {

using word = std::uint64_t;

// splitmix64: the same numbers in every driver.
class rng {
 public:
  explicit rng(word seed) : state_(seed) {}
  word next() {
    state_ += 0x9E3779B97F4A7C15;
    word z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  word below(word n) { return next() % n; }

 private:
  word state_;
};

// Dependent steps, each a multiplication.
inline void spin(word steps) {
  word x = steps;
  for (word i = 0; i < steps; ++i) {
    x = x * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(x));  // otherwise the compiler makes one step of several
  }
}

// How many messages were under way at most.
class high_water {
 public:
  void sent() {
    // relaxed: counters that order nothing.
    const word now = sent_.fetch_add(1, std::memory_order_relaxed) + 1;
    const word done = finished_.load(std::memory_order_relaxed);
    const word pending = now > done ? now - done : 0;
    word most = most_.load(std::memory_order_relaxed);
    while (pending > most &&
           !most_.compare_exchange_weak(most, pending, std::memory_order_relaxed)) {
    }
  }
  // The receiver's.
  void finished() {
    finished_.store(finished_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  word most() const { return most_; }

 private:
  std::atomic<word> sent_{0};
  std::atomic<word> finished_{0};
  std::atomic<word> most_{0};
};

// What the command line says. A key that no workload asks for is a mistake.
class keys {
 public:
  void set(std::string key, word value) { given_[std::move(key)] = value; }

  word operator()(const char* key, word otherwise) const {
    asked_.insert(key);
    const auto found = given_.find(key);
    return found == given_.end() ? otherwise : found->second;
  }

  // One that was given and that nobody has asked for, or null.
  const char* unknown() const {
    for (const auto& [key, value] : given_)
      if (!asked_.contains(key)) return key.c_str();
    return nullptr;
  }

 private:
  std::map<std::string, word> given_;
  mutable std::set<std::string> asked_;
};

// The most memory that this program had resident, in KiB. Not getrusage(), which remembers what ran
// here before exec.
inline long peak_kib() {
  long kib = 0;
  char line[256];
  std::FILE* const f = std::fopen("/proc/self/status", "r");
  if (!f) return 0;
  while (std::fgets(line, sizeof line, f))
    if (std::sscanf(line, "VmHWM: %ld", &kib) == 1) break;
  std::fclose(f);
  return kib;
}

// One run: what it took, and what came out.
class repetition {
 public:
  word ops = 0;

  void start() {
    cpu_ = -cpu_now();
    wall_ = -wall_now();
  }
  void stop() {
    wall_ += wall_now();
    cpu_ += cpu_now();
  }

  // All of them have to hold.
  void check(bool holds) { ok_ = ok_ && holds; }

  // Another word for the line.
  void report(const char* key, double value) {
    char text[64];
    std::snprintf(text, sizeof text, " %s=%.6g", key, value);
    more_ += text;
  }

  bool is_ok() const { return ok_; }

  void print(const char* lib, const char* workload, word threads) const {
    const double wall = static_cast<double>(wall_);
    std::printf(
        "lib=%s w=%s threads=%llu ops=%llu ns=%lld mops=%.4f cpu_ms=%.3f rss_kib=%ld check=%s%s\n",
        lib, workload, static_cast<unsigned long long>(threads),
        static_cast<unsigned long long>(ops), static_cast<long long>(wall_),
        static_cast<double>(ops) * 1000 / wall, static_cast<double>(cpu_) / 1e6, peak_kib(),
        ok_ ? "ok" : "FAIL", more_.c_str());
    std::fflush(stdout);
  }

 private:
  std::int64_t wall_ = 0;
  std::int64_t cpu_ = 0;
  bool ok_ = true;
  std::string more_;
};

// Latencies of wake.
inline void report_latencies(repetition& r, std::vector<std::int64_t>& ns) {
  std::sort(ns.begin(), ns.end());
  const auto at = [&](std::size_t percent) {
    return static_cast<double>(ns[(ns.size() - 1) * percent / 100]) / 1000;
  };
  if (ns.empty()) return;
  r.report("p50_us", at(50));
  r.report("p90_us", at(90));
  r.report("p99_us", at(99));
}

inline word fib_number(word n) {
  word a = 0;
  word b = 1;
  for (; n > 0; --n) {
    a += b;
    std::swap(a, b);
  }
  return a;
}

struct workload {
  const char* name;
  void (*run)(const keys& k, repetition& r);
};

// Runs what the command line asks for; the exit status of the program.
inline int drive(const char* lib, int argc, char** argv, std::initializer_list<workload> all) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s WORKLOAD [key=value ...] | --list\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1];
  if (name == "--list") {
    for (const workload& w : all) std::printf("%s\n", w.name);
    return 0;
  }
  keys k;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const auto sign = text.find('=');
    char* end = nullptr;
    const word value = sign == text.npos ? 0 : std::strtoull(&argv[i][sign + 1], &end, 10);
    if (!end || *end || end == &argv[i][sign + 1]) {
      std::fprintf(stderr, "%s: \"%s\" is not key=number\n", argv[0], argv[i]);
      return 2;
    }
    k.set(text.substr(0, sign), value);
  }
  for (const workload& w : all) {
    if (name != w.name) continue;
    const word threads = k("threads", 2);
    const word reps = k("reps", 5);
    bool ok = true;
    for (word i = 0; i < reps; ++i) {
      repetition r;
      w.run(k, r);
      if (const char* key = k.unknown()) {
        std::fprintf(stderr, "%s: %s has no key \"%s\"\n", argv[0], w.name, key);
        return 2;
      }
      r.print(lib, w.name, threads);
      ok = ok && r.is_ok();
    }
    return ok ? 0 : 1;
  }
  std::fprintf(stderr, "%s: no workload \"%s\"; --list names them\n", argv[0], argv[1]);
  return 2;
}

}  // namespace bench

#endif
