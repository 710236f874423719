// Each walk has a generator of its own, seeded by its number. Walks are handed out in order and
// each is finished once begun, so the first violating walk is the same for any number of workers.

#include <rota/base/rng.h>
#include <rota/base/sync.h>
#include <rota/verify/checker/check.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <utility>

namespace rota::verify {

namespace {

class simulation {
 public:
  simulation(const system& s, const simulate_options& o) : system_(s), options_(o) {
    result_.taken.assign(s.actions().size(), 0);
    for (std::size_t p = 0; p < s.properties().size(); ++p) {
      const bool asked = o.properties.empty()
                             ? !s.properties()[p].known_to_fail
                             : std::count(o.properties.begin(), o.properties.end(), p);
      if (!asked) continue;
      result_.properties.push_back({p, verdict::unknown, 0, {}});
      if (s.properties()[p].kind == property_kind::invariant) invariants_.push_back(p);
      if (s.properties()[p].kind == property_kind::deadlock_free) deadlock_free_ = p;
    }
  }

  simulate_result run(unsigned workers) {
    std::vector<real_sync::thread> others;
    for (unsigned i = 1; i < workers; ++i) others.emplace_back([this] { work(false); });
    work(true);
    for (auto& t : others) t.join();
    if (failure_) std::rethrow_exception(failure_);
    for (property_result& p : result_.properties) {
      const auto at = violations_.find(p.property);
      if (at == violations_.end() || at->second.walk != first_) continue;
      p.result = verdict::violated;
      p.counterexample = std::move(at->second.way);
    }
    result_.stopped = options_.stop.stop_requested();
    result_.seconds = seconds();
    return std::move(result_);
  }

 private:
  struct violation {
    std::uint64_t walk;
    trace way;
  };

  double seconds() const {
    return std::chrono::duration<double>(real_sync::now() - began_).count();
  }

  void work(bool reports) {
    try {
      while (!over_) {
        const std::uint64_t number = next_.fetch_add(1);
        if (number >= options_.walks) break;
        walk(number);
        if (options_.stop.stop_requested()) over_ = true;
        if (reports) tell();
      }
    } catch (...) {
      const std::lock_guard guard{lock_};
      failure_ = std::current_exception();
      over_ = true;
    }
  }

  void walk(std::uint64_t number) {
    rota::detail::rng seeded{options_.seed};
    rota::detail::rng chance{seeded.next() ^ (number * 0x9e37'79b9'7f4a'7c15u)};
    step_list steps{system_.words()};
    std::vector<std::uint64_t> taken(system_.actions().size(), 0);
    trace way;
    system_.initial(steps);
    bool ended = false;
    bool broken = false;
    while (!broken) {
      if (steps.size() == 0) {
        ended = !way.steps.empty();
        if (ended && deadlock_free_) {
          violated(*deadlock_free_, number, way);
          broken = true;
        }
        break;
      }
      std::size_t i = chance.below(steps.size());
      if (!way.steps.empty())
        while (same(steps.state_of(i), way.steps.back().state.data())) i = (i + 1) % steps.size();
      trace_step step{std::nullopt, {steps.state_of(i), steps.state_of(i) + system_.words()}};
      if (!way.steps.empty()) {
        step.by = steps.label_of(i);
        ++taken[step.by->action];
      }
      way.steps.push_back(std::move(step));
      const word* here = way.steps.back().state.data();
      const std::span<const std::size_t> all{invariants_};
      for (std::size_t k = 0; (k += system_.first_violated(all.subspan(k), here)) < all.size();
           ++k) {
        violated(all[k], number, way);
        broken = true;
      }
      if (way.steps.size() > options_.depth || !system_.within(here)) break;
      steps.clear();
      system_.steps(here, steps);
      if (steps.size() > 0 && !leads_on(steps, here)) {
        ended = true;
        break;
      }
    }
    const std::lock_guard guard{lock_};
    const auto length = static_cast<std::uint32_t>(way.steps.empty() ? 0 : way.steps.size() - 1);
    ++result_.walks;
    result_.steps += length;
    result_.longest = std::max(result_.longest, length);
    result_.ended += ended;
    for (std::size_t a = 0; a < taken.size(); ++a) result_.taken[a] += taken[a];
  }

  bool same(const word* a, const word* b) const { return std::equal(a, a + system_.words(), b); }

  // Whether one of the steps changes something. A walk takes no others.
  bool leads_on(const step_list& steps, const word* here) const {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (!same(steps.state_of(i), here)) return true;
    return false;
  }

  void violated(std::size_t property, std::uint64_t number, const trace& way) {
    const std::lock_guard guard{lock_};
    over_ = true;
    first_ = std::min(first_, number);
    const auto at = violations_.find(property);
    if (at == violations_.end())
      violations_.emplace(property, violation{number, without_loops(way)});
    else if (number < at->second.walk)
      at->second = violation{number, without_loops(way)};
  }

  // The walk without what lies between two visits of a state.
  static trace without_loops(const trace& way) {
    std::map<std::vector<word>, std::size_t> last;
    for (std::size_t i = 0; i < way.steps.size(); ++i) last[way.steps[i].state] = i;
    trace shorter;
    for (std::size_t i = 0; i < way.steps.size(); ++i) {
      shorter.steps.push_back({way.steps[i].by, way.steps[i].state});
      i = last[way.steps[i].state];
    }
    return shorter;
  }

  void tell() {
    const auto now = real_sync::now();
    if (!options_.on_progress || now - told_ < std::chrono::milliseconds(500)) return;
    told_ = now;
    progress p;
    p.phase = "walks";
    p.seconds = seconds();
    {
      const std::lock_guard guard{lock_};
      p.distinct = result_.walks;
      p.generated = result_.steps;
      p.depth = result_.longest;
    }
    p.estimate = options_.walks;
    options_.on_progress(p);
  }

  const system& system_;
  const simulate_options& options_;
  std::vector<std::size_t> invariants_;
  std::optional<std::size_t> deadlock_free_;
  const real_sync::time_point began_ = real_sync::now();
  real_sync::time_point told_ = began_;

  real_sync::atomic<std::uint64_t> next_{0};
  real_sync::atomic<bool> over_{false};
  real_sync::mutex lock_;
  simulate_result result_;                       // guarded by lock_
  std::map<std::size_t, violation> violations_;  // by property; guarded by lock_
  std::uint64_t first_ = ~std::uint64_t{0};      // the first walk that violates; guarded by lock_
  std::exception_ptr failure_;                   // guarded by lock_
};

}  // namespace

simulate_result simulate(const system& s, const simulate_options& o) {
  const unsigned workers =
      o.workers ? o.workers : std::max(1u, real_sync::thread::hardware_concurrency());
  return simulation{s, o}.run(workers);
}

}  // namespace rota::verify
