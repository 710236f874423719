#include <rota/coop/check_log.h>

#include <rota/base/assert.h>
#include <rota/coop/rules.h>

#include <algorithm>
#include <utility>

namespace rota::coop {

namespace {

std::string name_of_task(task_id f) { return "task " + std::to_string(f); }

// Counts turns. A task is enabled since the turn before which it could move, if it could before
// every turn from then on.
class turn_count {
 public:
  explicit turn_count(const log_options& options) : options_(options) {}

  // Task f gets a turn out of those that `found` allows; the text says who was overtaken too often.
  std::optional<std::string> give(task_id f, const std::vector<derivation>& found,
                                  const configuration& c) {
    if (options_.overtaking == overtaking::any) return {};
    const std::vector<waiting> old = std::exchange(waits_, std::vector<waiting>(c.tasks.size()));
    last_.resize(c.tasks.size());
    ++turns_;
    for (const derivation& d : found) {
      const bool waited = d.task < old.size() && old[d.task].since != 0;
      waits_[d.task] = waited ? old[d.task] : waiting{turns_, c.tasks.size() - live_in(c)};
    }
    waits_[f] = {};
    const std::uint64_t previous = std::exchange(last_[f], turns_);
    for (task_id e = 0; e < waits_.size(); ++e)
      if (waits_[e].since != 0 && is_too_much(waits_[e], previous, c))
        return name_of_task(e) + ", which could move at each of the last " +
               std::to_string(turns_ - waits_[e].since + 1) + " turns";
    return {};
  }

 private:
  struct waiting {
    std::uint64_t since = 0;        // a turn; 0 if the task is not enabled
    std::uint64_t gone_before = 0;  // how many tasks had ended then
  };

  // `previous` is the last turn of the task that has this one.
  bool is_too_much(const waiting& e, std::uint64_t previous, const configuration& c) const {
    if (options_.overtaking == overtaking::once) return previous >= e.since;
    const std::uint64_t live = c.tasks.size() - e.gone_before;  // at some time since
    return turns_ - e.since + 1 > live + options_.slack;
  }

  static std::uint64_t live_in(const configuration& c) {
    return static_cast<std::uint64_t>(
        std::count_if(c.tasks.begin(), c.tasks.end(),
                      [](const task_record& t) { return t.phase != phase::ended; }));
  }

  const log_options& options_;
  std::uint64_t turns_ = 0;
  std::vector<std::uint64_t> last_;  // turn of each task; 0 if it had none
  std::vector<waiting> waits_;
};

class replay {
 public:
  replay(const program& p, std::span<const log_record> log, const log_options& options)
      : program_(p.semantics() == semantics::lagc ? p : relation_of(p)),
        rules_(rules_of(program_)),
        log_(log),
        options_(options),
        turns_(options_),
        c_(initial_configuration(program_)) {}

  std::optional<log_fault> run() {
    for (run_observer* seen_by : options_.observers) seen_by->start(c_);
    std::uint64_t silent = 0;
    for (std::uint64_t n = 1;; ++n) {
      find_steps(rules_, program_, c_, found_);
      const bool at_end = next_ == log_.size();
      if (at_end && (is_quiescent(c_) || options_.end == ending::limit)) return check_end();
      const derivation* const d = is_quiescent(c_) ? named() : &found_.front();
      if (!d) return fault_;
      if (d->error) {
        if (at_end && options_.end == ending::error) return check_state();
        return fault("an error of " + name_of_task(d->task) + " that ends the run");
      }
      const std::size_t before = next_;
      if (!follow(*d)) return fault_;
      if (next_ != before) silent = 0;
      if (++silent > options_.bound)
        return fault(name_of_task(d->task) + " to compute on without a record");
      take_step(program_, c_, *d);
      for (run_observer* seen_by : options_.observers) seen_by->step({n, *d}, c_);
    }
  }

 private:
  // Whom the next record moves, if anybody.
  task_id mover() const {
    const log_record& r = log_[next_];
    switch (r.kind) {
      case log_kind::call_reaction:
      case log_kind::resume:
        return r.task;
      case log_kind::completion_reaction:
        return r.by;
      case log_kind::call:
      case log_kind::completion:
        break;
    }
    return no_task;
  }

  // The step that the next record names, where no task is active.
  const derivation* named() {
    const auto d = std::find_if(found_.begin(), found_.end(),
                                [f = mover()](const derivation& x) { return x.task == f; });
    if (d == found_.end()) {
      fault(whoever_can_move());
      return nullptr;
    }
    if (const auto overtaken = turns_.give(d->task, found_, c_)) {
      fault("a turn of " + *overtaken);
      return nullptr;
    }
    return &*d;
  }

  // Compares the records of a step. At the limit the log may end before them.
  bool follow(const derivation& d) {
    log_keeper shown;
    add_records(d, shown);
    for (const log_record& r : shown.records()) {
      if (next_ == log_.size() && options_.end == ending::limit) return true;
      if (next_ == log_.size() || !(log_[next_] == r)) {
        fault(to_json(r, program_));
        return false;
      }
      ++next_;
    }
    return true;
  }

  std::optional<log_fault> check_end() {
    switch (options_.end) {
      case ending::done:
        return is_final(program_, c_) ? check_state() : fault(whoever_can_move());
      case ending::deadlock:
        return is_deadlocked(program_, c_, found_) ? check_state() : fault(whoever_can_move());
      case ending::error:
        if (std::any_of(found_.begin(), found_.end(), [](const derivation& d) { return d.error; }))
          return check_state();
        return fault(whoever_can_move());
      case ending::limit:
        break;
    }
    return {};
  }

  std::optional<log_fault> check_state() {
    if (!options_.state) return {};
    const named_state state = state_of(program_, c_);
    if (state == *options_.state) return {};
    const auto differs =
        std::mismatch(state.begin(), state.end(), options_.state->begin(), options_.state->end());
    const bool exists = differs.first != state.end();
    return fault("another value of " + (exists ? *differs.first : *differs.second).first);
  }

  std::string whoever_can_move() const {
    if (found_.empty()) return is_final(program_, c_) ? "the end of the run" : "a deadlock";
    std::string all = "one of these to move:";
    for (const derivation& d : found_) all += ' ' + name_of_task(d.task);
    return all;
  }

  std::optional<log_fault> fault(std::string expected) {
    const bool at_end = next_ == log_.size();
    fault_ = log_fault{
        next_, std::move(expected),
        at_end ? "the end, " + std::string(name_of(options_.end)) : to_json(log_[next_], program_)};
    return fault_;
  }

  const program program_;
  const rule_table rules_;
  const std::span<const log_record> log_;
  const log_options& options_;
  turn_count turns_;
  configuration c_;
  std::vector<derivation> found_;
  std::size_t next_ = 0;
  std::optional<log_fault> fault_;
};

}  // namespace

std::optional<log_fault> check_log(const program& p, std::span<const log_record> log,
                                   const log_options& options) {
  ROTA_CHECK(p.language() == language::coopwhile && !is_sos(p.semantics()),
             "logs are checked for coopwhile, by the rules of lagc");
  return replay{p, log, options}.run();
}

void await_watch::step(const taken_step& s, const configuration& c) {
  awaited_.resize(c.tasks.size());
  std::vector<std::optional<value>> now(c.tasks.size());
  for (task_id f : c.queue) {
    const task_record& t = c.tasks[f];
    const instruction& i = program_.at(t.rest);
    if (t.phase != phase::live || i.head != statement_kind::await) continue;
    now[f] = environment_of(c, f)[i.target];
    // Whoever took the step may stand at another await by now.
    if (f != s.what.task && awaited_[f] && !(*awaited_[f] == *now[f])) stable_ = false;
  }
  awaited_ = std::move(now);
}

}  // namespace rota::coop
