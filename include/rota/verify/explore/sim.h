// Runs a whole program on virtual workers and in virtual time, the same way again for the same
// seed.
//
//   namespace sim = rota::sim;
//
//   const auto found = sim::explore(1'000, [] {       // a thousand seeds, until one fails
//     shop s;
//     rota::run(two_customers(s), rota::options{}.with_workers(2));
//     sim::check(s.stock() >= 0, "nothing is sold that is not there");
//   });
//   if (found.failed) std::puts(found.text().c_str());  // what, when, and the seed
//   sim::run(found.seed, program);                      // ... fails again, in the same way
//
// The program uses Rota as ever: rota::run() or a rota::runtime, tasks, channels, timers. It links
// rota::explored instead of rota::rota. Which worker goes on, which value an atomic shows and when
// a deadline comes is decided by the seed, at every access of the runtime to what its threads
// share. Time passes when everybody waits: an hour of sleep takes no time.
//
// Promised: a program that starts from nothing but what it makes itself, and asks nobody but Rota
// for time, threads and chance, does the same for the same seed, in every process of the same
// build. is_deterministic() tells whether a program is one. Not promised: that a failure is found.
// A seed is one schedule, and there are more than can be run.
//
// Found are: failed checks and assertions, exceptions that leave the program (rota::deadlock among
// them), hangs, leaks, use of atomics and mutexes that are gone.
//
// Threads: one simulation in a process at a time. A program may start 14 threads in all, its own
// and the workers of its runtimes included.
#ifndef ROTA_VERIFY_EXPLORE_SIM_H
#define ROTA_VERIFY_EXPLORE_SIM_H

#include <rota/verify/explore/explore.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace rota::sim {

struct options {
  std::uint64_t first_seed = 1;  // of explore()
  double max_seconds = 0;        // of explore(); 0: no limit

  rota::explore::memory memory = rota::explore::memory::weak;

  // A program that has not ended after twice as many steps, the later half of them in fair turns,
  // hangs.
  std::uint64_t max_steps = 1'000'000;

  // How often in a run a deadline may come while somebody could still run, as on a machine that
  // holds threads up. With 0, time passes only when everybody waits: a task that takes no longer
  // than its time limit, counted in sleeps, never reaches it, and of two sleeps the shorter ends
  // first. A deadline is also the nap of a worker, of some milliseconds.
  unsigned stalls = 0;

  unsigned processors = 2;  // workers of a runtime that does not say how many
  bool leaks = true;        // memory that is left at the end is a failure
  bool shrink = true;       // look for a simpler schedule that fails in the same way
};

struct result {
  bool failed = false;
  std::uint64_t seed = 0;         // the one that failed, else the last
  std::uint64_t seeds = 0;        // that were run
  std::uint64_t steps = 0;        // of all of them
  std::uint64_t fingerprint = 0;  // of all choices: equal for equal runs
  std::optional<rota::explore::failure> failure;
  std::string log;  // what the program noted in the schedule that failed, else in the last

  // What was run and how it ended, with the log if it failed. The single steps and the token, which
  // are long, are in failure->schedule and failure->token.
  std::string text() const;
};

// Runs the program once.
result run(std::uint64_t seed, std::function<void()> program, const options& o = {});

// Runs it with `seeds` seeds, or until one fails.
result explore(std::uint64_t seeds, std::function<void()> program, const options& o = {});

// Runs exactly the schedule of failure->token, once: for a debugger.
result replay(std::string_view token, std::function<void()> program, const options& o = {});

// Whether two runs of the program with this seed are the same, choice by choice.
bool is_deterministic(std::uint64_t seed, std::function<void()> program, const options& o = {});

// --- for the program ---

// Ends the run as a failure unless `condition` holds.
void check(bool condition, std::string_view what,
           std::source_location where = std::source_location::current());

// A line of the log, with the time.
void note(std::string_view what, std::source_location where = std::source_location::current());

// 0 to n - 1, by the seed, 0 most often: let it be what goes well.
unsigned choose(unsigned n);

// The virtual time. std::chrono's clocks would give the real one.
rota::explore::time_point now() noexcept;

// Both for the thread that runs the program, outside of tasks, beside a rota::runtime:
//
//   rota::runtime rt;
//   auto server = rt.spawn(serve());
//   sim::advance(59min);            // whatever is due until then has happened
//   sim::check(!expired, "a session lasts an hour");

// Returns when everybody else waits, for others or for time. No time passes.
void settle();

// Lets that much time pass; deadlines on the way come one after the other, each with all that
// follows from it.
void advance(std::chrono::nanoseconds by);

}  // namespace rota::sim

#endif
