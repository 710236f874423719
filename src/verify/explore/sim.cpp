// A simulation is an exploration with the random strategy, which takes a seed a schedule, counting
// up. So the how-manyth schedule tells the seed.

#include <rota/verify/explore/sim.h>

#include <cstdio>
#include <tuple>
#include <utility>

#include "verify/explore/engine.h"

namespace rota::sim {

namespace {

using rota::explore::detail::active;
using rota::explore::detail::exploring;

// What the program has noted. Lives outside of the program's memory, which is gone after each run.
class log_book {
 public:
  log_book() { open = this; }
  log_book(const log_book&) = delete;
  log_book& operator=(const log_book&) = delete;
  ~log_book() { open = nullptr; }

  // The program with a fresh page for each run.
  std::function<void()> watching(const std::function<void()>& program) {
    return [this, &program] {
      exploring = false;
      lines_.clear();
      begin_ = active->time();
      exploring = true;
      program();
    };
  }

  void add(std::string_view what) {
    const std::chrono::duration<double> since = active->time() - begin_;
    char time[32];
    std::snprintf(time, sizeof time, "%9.3f s  ", since.count());
    lines_ += time;
    lines_ += what;
    lines_ += '\n';
  }

  std::string text() { return std::exchange(lines_, {}); }

  static inline log_book* open = nullptr;

 private:
  std::string lines_;
  rota::explore::time_point begin_;
};

rota::explore::options options_of(const options& o, std::uint64_t seed, std::uint64_t seeds) {
  rota::explore::options all;
  all.how = rota::explore::strategy::random;
  all.memory = o.memory;
  all.seed = seed;
  all.max_schedules = seeds;
  all.max_seconds = o.max_seconds;
  all.max_steps = o.max_steps;
  all.early_deadlines = o.stalls;
  all.leaks = o.leaks;
  all.processors = o.processors;
  all.shrink = o.shrink;
  return all;
}

result result_of(rota::explore::result ran, std::uint64_t first_seed, log_book& log) {
  result r;
  r.failed = ran.failed;
  r.seeds = ran.schedules;
  r.seed = first_seed + (ran.schedules > 0 ? ran.schedules - 1 : 0);
  r.steps = ran.steps;
  r.fingerprint = ran.fingerprint;
  r.failure = std::move(ran.failure);
  r.log = log.text();
  if (r.failure && r.failure->message.empty())
    r.failure->message =
        "the program failed, but not when it ran once more with the same schedule: it is not "
        "deterministic";
  return r;
}

}  // namespace

result run(std::uint64_t seed, std::function<void()> program, const options& o) {
  log_book log;
  return result_of(rota::explore::run(log.watching(program), options_of(o, seed, 1)), seed, log);
}

result explore(std::uint64_t seeds, std::function<void()> program, const options& o) {
  // An exploration of 0 schedules would have no limit.
  if (seeds == 0) return {};
  log_book log;
  return result_of(rota::explore::run(log.watching(program), options_of(o, o.first_seed, seeds)),
                   o.first_seed, log);
}

result replay(std::string_view token, std::function<void()> program, const options& o) {
  log_book log;
  return result_of(rota::explore::replay(token, log.watching(program), options_of(o, 0, 1)), 0,
                   log);
}

bool is_deterministic(std::uint64_t seed, std::function<void()> program, const options& o) {
  options once = o;
  once.shrink = false;
  const auto summary = [&] {
    const result r = run(seed, program, once);
    return std::tuple(r.failed, r.steps, r.fingerprint, r.log,
                      r.failure ? r.failure->message : std::string());
  };
  return summary() == summary();
}

std::string result::text() const {
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  if (!failed)
    return number(seeds) + (seeds == 1 ? " seed, " : " seeds, ") + number(steps) +
           " steps: none fails\n";
  std::string all = "seed " + number(seed) + " fails: " + std::string(name_of(failure->kind)) +
                    "\n" + failure->message + "\n";
  if (!log.empty()) all += "\n" + log;
  all += "\n" + number(seeds) + (seeds == 1 ? " seed; " : " seeds; ") + number(failure->choices) +
         " choices of note (" + number(failure->choices_found) +
         " when found)\nagain: rota::sim::run(" + number(seed) + ", program)\n";
  return all;
}

void check(bool condition, std::string_view what, std::source_location where) {
  rota::explore::check(condition, what, where);
}

void note(std::string_view what, std::source_location where) {
  if (!exploring) return;
  exploring = false;
  if (log_book::open) log_book::open->add(what);
  active->note({what.data(), what.size()}, where);
  exploring = true;
}

unsigned choose(unsigned n) { return rota::explore::choose(n); }

rota::explore::time_point now() noexcept { return rota::explore::now(); }

void settle() { rota::explore::settle(); }

void advance(std::chrono::nanoseconds by) { rota::explore::advance(by); }

}  // namespace rota::sim
