#include <rota/base/rng.h>
#include <rota/coop/run.h>

#include <string>
#include <utility>

namespace rota::coop {

std::string_view name_of(ending e) noexcept {
  switch (e) {
    case ending::done:
      return "done";
    case ending::deadlock:
      return "deadlock";
    case ending::limit:
      return "limit";
    case ending::error:
      break;
  }
  return "error";
}

std::vector<blocked_task> blocked_tasks(const program& p, const configuration& c) {
  std::vector<blocked_task> all;
  for (task_id f : c.queue) {
    const instruction& i = p.at(c.tasks[f].rest);
    const bool awaits = i.head == statement_kind::await;
    all.push_back({f, i.head, i.at, awaits ? environment_of(c, f)[i.target].as_task() : no_task});
  }
  return all;
}

namespace {

// Decides between several steps: by a seed, or as it was told.
class chooser {
 public:
  chooser(const program& p, const run_options& options)
      : program_(p), picks_(options.picks), random_(options.seed) {}

  std::size_t choose(const std::vector<derivation>& possible, std::uint64_t step) {
    if (possible.size() == 1) return 0;
    if (!picks_) return random_.below(possible.size());
    const std::string where = "step " + std::to_string(step) + " is one of " + text_of(possible);
    if (used_ == picks_->size())
      throw wrong_picks("pick number " + std::to_string(used_ + 1) + " is missing: " + where);
    const std::uint32_t pick = (*picks_)[used_++];
    if (pick >= possible.size())
      throw wrong_picks("pick number " + std::to_string(used_) + " is " + std::to_string(pick) +
                        ", but " + where);
    return pick;
  }

  void end(ending how, std::uint64_t steps) const {
    if (!picks_ || used_ == picks_->size() || how == ending::limit) return;
    throw wrong_picks("pick number " + std::to_string(used_ + 1) +
                      " is one too many: the run ends (" + std::string(name_of(how)) + ") after " +
                      std::to_string(steps) + " steps");
  }

 private:
  std::string text_of(const std::vector<derivation>& possible) const {
    std::string all;
    for (std::size_t i = 0; i < possible.size(); ++i)
      all += (i > 0 ? "; " : "") + std::to_string(i) + ": " + in_words(program_, possible[i]);
    return all;
  }

  const program& program_;
  const pick_list* picks_;
  std::size_t used_ = 0;
  rota::detail::rng random_;
};

}  // namespace

outcome run_by_rules(const program& p, const rule_table& rules, const run_options& options,
                     const std::vector<run_observer*>& observers) {
  configuration c = initial_configuration(p);
  chooser choice{p, options};
  std::vector<derivation> possible;
  outcome o;
  const auto end = [&](ending how) {
    choice.end(how, o.steps);
    o.end = how;
    o.state = state_of(p, c);
    for (run_observer* seen_by : observers) seen_by->end(o);
    return std::move(o);
  };
  for (run_observer* seen_by : observers) seen_by->start(c);
  for (;;) {
    if (is_final(p, c)) return end(ending::done);
    find_steps(rules, p, c, possible);
    // Rules of our own always leave a step; those of a mutant may not.
    if (possible.empty() || is_deadlocked(p, c, possible)) {
      o.blocked = blocked_tasks(p, c);
      return end(ending::deadlock);
    }
    if (o.steps == options.limit) return end(ending::limit);
    const std::size_t count = possible.size();
    const std::size_t index = choice.choose(possible, o.steps + 1);
    const derivation& next = possible[index];
    if (next.error) {
      o.task = next.task;
      o.error = *next.error;
      return end(ending::error);
    }
    next.by->take(p, c, next);
    ++o.steps;
    for (run_observer* seen_by : observers) seen_by->step({o.steps, next, index, count}, c);
  }
}

}  // namespace rota::coop
