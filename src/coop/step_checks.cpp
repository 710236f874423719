// Each class says at its head what it asserts. Numbers in brackets are rules.

#include "step_checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "mapping.h"
#include "trace_history.h"

namespace rota::coop {

std::string name_of_task(task_id f) { return "task " + std::to_string(f); }

namespace {

bool is_one_of(std::string_view rule, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), rule) != names.end();
}

// --- well-formedness ----------------------------------------------------------------------------

// One callEv for each task, then at most one callREv, then at most one compEv, then any number of
// compREv; identifiers 1, 2, 3; nothing of this for main.
class well_formedness_check : public step_check {
 public:
  well_formedness_check(std::shared_ptr<trace_history> history)
      : step_check(check_kind::well_formedness), history_(std::move(history)) {}

  // Before the step, since there may be no task that a wrong event could happen to.
  opinion allow(const derivation& d) override { return history_->add(d); }

 private:
  std::shared_ptr<trace_history> history_;  // noted here, read by the check of shape
};

// --- shape --------------------------------------------------------------------------------------

// Every task is where its events say: called and not started, a marker in the queue (Lemma 5);
// started and not removed, once in the configuration. The queue of coopwhile holds only suspended
// tasks and markers, and no completed one. At most one call is open.
class shape_check : public step_check {
 public:
  shape_check(const program& p, std::shared_ptr<const trace_history> history)
      : step_check(check_kind::shape), program_(p), history_(std::move(history)) {}

  opinion step(const seen_step& s) override {
    if (opinion wrong = check_calls(s.after)) return wrong;
    if (opinion wrong = count(s.after)) return wrong;
    for (task_id f = 0; f < history_->lives().size(); ++f)
      if (opinion wrong = check_place(s.after, f)) return wrong;
    for (task_id f : s.after.queue)
      if (opinion wrong = check_element(s.after, f)) return wrong;
    return {};
  }

 private:
  bool is_lagc() const { return program_.semantics() == semantics::lagc_sched; }
  bool is_cooperative() const { return program_.language() == language::coopwhile; }

  opinion check_calls(const configuration& c) const {
    if (!is_cooperative()) {
      if (c.open.size() > 1)
        return complaint{"at most one open call", std::to_string(c.open.size()) + " open calls"};
      if (c.open.size() != history_->open())
        return complaint{std::to_string(history_->open()) + " open calls, as the events say",
                         std::to_string(c.open.size())};
      return {};
    }
    if (!is_lagc() || c.pending == history_->pending()) return {};
    return complaint{text_of_pending(history_->pending()) + ", as the events say",
                     text_of_pending(c.pending)};
  }

  static std::string text_of_pending(task_id f) {
    return f == no_task ? "no pending call" : "a pending call of " + name_of_task(f);
  }

  opinion count(const configuration& c) {
    occurs_.assign(std::max(c.tasks.size(), history_->lives().size()), 0);
    if (c.active != no_task) ++occurs_[c.active];
    for (task_id f : c.queue) ++occurs_[f];
    for (task_id f = 0; f < occurs_.size(); ++f)
      if (occurs_[f] > 1)
        return complaint{name_of_task(f) + " once", std::to_string(occurs_[f]) + " times", f};
    return {};
  }

  opinion check_place(const configuration& c, task_id f) const {
    const trace_history::life& life = history_->lives()[f];
    const bool waits_for_marker = is_lagc() && f == history_->pending();
    const bool belongs = !life.gone && !waits_for_marker;
    const bool is_there = occurs_[f] != 0;
    if (belongs != is_there) {
      const std::string who = name_of_task(f);
      if (is_there) return complaint{who + " removed", who + " still in the configuration", f};
      return complaint{who + (life.started ? " in the queue or active" : " in the queue"),
                       who + " nowhere", f};
    }
    if (is_there && !life.started && c.active == f)
      return complaint{"a callREv before " + name_of_task(f) + " is active", "none", f};
    return {};
  }

  opinion check_element(const configuration& c, task_id f) const {
    if (f >= history_->lives().size()) return complaint{"a call of " + name_of_task(f), "none", f};
    if (!is_cooperative()) return {};
    const trace_history::life& life = history_->lives()[f];
    if (life.completed) return complaint{"no completed task in the queue", name_of_task(f), f};
    const bool is_marker = c.tasks[f].phase == phase::called;
    if (is_marker == life.started)
      return complaint{"either a marker of " + name_of_task(f) + " or its callREv",
                       life.started ? "both" : "neither", f};
    if (is_lagc() && !is_marker && !is_suspended(program_, c.tasks[f].rest))
      return complaint{"only suspended tasks and markers in the queue",
                       name_of_task(f) + " at " + std::string(name_of(head(c, f))), f,
                       program_.at(c.tasks[f].rest).at};
    return {};
  }

  statement_kind head(const configuration& c, task_id f) const {
    return program_.at(c.tasks[f].rest).head;
  }

  const program& program_;
  std::shared_ptr<const trace_history> history_;
  std::vector<std::uint32_t> occurs_;  // how often each task does
};

// --- mapping ------------------------------------------------------------------------------------

// A configuration in short pieces of text, each of which stands for a part of it.
std::vector<std::string> pieces_of(const program& p, const configuration& c) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < c.globals.size(); ++i) {
    const value& v = c.globals[i];
    all.push_back(p.globals()[i] + " = " + (v.is_task() ? "task " : "") + std::to_string(v.number));
  }
  for (task_id f = 0; f < c.tasks.size(); ++f) {
    const task_record& t = c.tasks[f];
    std::string text = name_of_task(f);
    text += t.phase == phase::called ? " called" : t.phase == phase::live ? " live" : " ended";
    if (f == c.active) text += ", active";
    text += std::find(c.queue.begin(), c.queue.end(), f) != c.queue.end() ? ", waiting" : "";
    if (p.at(t.rest).at) text += " at " + to_string(p.at(t.rest).at);
    if (t.bound) text += ", parameter " + std::to_string(t.parameter.number);
    all.push_back(text);
  }
  all.push_back(std::to_string(c.open.size()) + " open calls");
  return all;
}

// The first piece in which two configurations differ.
complaint difference(const program& p, const configuration& expected, const configuration& found) {
  const std::vector<std::string> wanted = pieces_of(p, expected);
  const std::vector<std::string> seen = pieces_of(p, found);
  for (std::size_t i = 0; i < std::max(wanted.size(), seen.size()); ++i) {
    const std::string one = i < wanted.size() ? wanted[i] : "nothing";
    const std::string other = i < seen.size() ? seen[i] : "nothing";
    if (one != other) return {one, other};
  }
  return {"the same configuration", "another one"};
}

// The step is one of the relation, by the rule that corresponds to the scheduler's, on the mapped
// configuration and with the mapped result; or it is invisible there. Where the scheduler stops,
// the relation has no step either, or the one that fails.
class mapping_check : public step_check {
 public:
  mapping_check(const program& p, const configuration& initial)
      : step_check(check_kind::mapping),
        program_(p),
        relation_(relation_of(p)),
        rules_(rules_of(relation_)),
        before_(mapped(p, initial)) {}

  opinion step(const seen_step& s) override {
    const configuration before = std::exchange(before_, mapped(program_, s.after));
    const auto rule = mapped(s.what.by->name);
    if (!rule) return complaint{"a rule of the scheduler", "rule " + std::string(s.what.by->name)};
    return rule->is_visible() ? check_visible(s.what, rule->name, before)
                              : check_invisible(s.what, before);
  }

  opinion end(const configuration& c, const derivation* failed) override {
    find_steps(rules_, relation_, mapped(program_, c), possible_);
    if (!failed) {
      if (possible_.empty()) return {};
      return complaint{"a step by " + name_of_step(possible_[0]) + " of the relation", "the end",
                       possible_[0].task, possible_[0].at};
    }
    for (const derivation& d : possible_)
      if (d.task == failed->task && d.error == failed->error) return {};
    return complaint{"a step of the relation that fails so", "none"};
  }

 private:
  static std::string name_of_step(const derivation& d) {
    return "rule " + std::string(d.by->name) + " for " + name_of_task(d.task);
  }

  opinion check_invisible(const derivation& d, const configuration& before) const {
    for (const event& e : d.events)
      if (e.kind != event_kind::done) return complaint{"no event in the relation", "one"};
    if (before == before_) return {};
    return difference(relation_, before, before_);
  }

  opinion check_visible(const derivation& d, std::string_view name, const configuration& before) {
    find_steps(rules_, relation_, before, possible_);
    opinion nearest;
    for (const derivation& candidate : possible_) {
      if (candidate.by->name != name || candidate.task != d.task || candidate.error) continue;
      configuration result = before;
      candidate.by->take(relation_, result, candidate);
      if (result == before_ && same_events(candidate, d)) return {};
      nearest = result == before_ ? complaint{"the events of " + name_of_step(candidate), "others"}
                                  : difference(relation_, result, before_);
    }
    if (nearest) return nearest;
    return complaint{
        "a step by rule " + std::string(name) + " of the relation for " + name_of_task(d.task),
        possible_.empty() ? "that there is none" : "only " + name_of_step(possible_[0])};
  }

  static bool same_events(const derivation& a, const derivation& b) {
    return std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(),
                      [](const event& x, const event& y) {
                        return x.kind == y.kind && x.task == y.task && x.procedure == y.procedure &&
                               x.argument == y.argument;
                      });
  }

  const program& program_;
  const program relation_;
  const rule_table rules_;
  configuration before_;  // the last one, mapped
  std::vector<derivation> possible_;
};

// --- distance -----------------------------------------------------------------------------------

// Smaller ones come first in the order of the parts. The last two are 0 in spawn and guard.
using distance = std::array<std::int64_t, 4>;
using distances = std::vector<std::optional<distance>>;  // by task

std::string text_of(const distance& d) {
  std::ostringstream text;
  text << '(' << d[0] << ", " << d[1] << ", " << d[2] << ", " << d[3] << ')';
  return text.str();
}

// Every distance decreases, but for the one whose turn it was. Says who breaks this.
opinion check_decrease(const distances& before, const distances& after, task_id turn,
                       const char* measure) {
  for (task_id f = 0; f < before.size(); ++f) {
    if (!before[f] || f == turn) continue;
    if (f < after.size() && after[f] && *after[f] < *before[f]) continue;
    return complaint{
        std::string(measure) + " of " + name_of_task(f) + " below " + text_of(*before[f]),
        f < after.size() && after[f] ? text_of(*after[f]) : "none any more", f};
  }
  return {};
}

// Whose turn it was stood first.
opinion check_turn(const distances& before, task_id turn, std::int64_t second) {
  const bool has_distance = turn < before.size() && before[turn];
  if (has_distance && (*before[turn])[0] == 1 && (*before[turn])[1] == second &&
      (*before[turn])[2] == 0)
    return {};
  return complaint{name_of_task(turn) + " at distance (1, " + std::to_string(second) + ", 0)",
                   has_distance ? text_of(*before[turn]) : "no distance", turn};
}

// Lemmas 2 and 3: (pos, unm) of every continuation decreases, unless it was run by (6) or rotated
// by (10) at (1, 0).
class interleaved_distance_check : public step_check {
 public:
  interleaved_distance_check() : step_check(check_kind::distance) {}

  opinion step(const seen_step& s) override {
    const bool has_turn = is_one_of(s.what.by->name, {"6", "10"});
    const distances before = measure(s.before);
    if (has_turn)
      if (opinion wrong = check_turn(before, s.what.task, 0)) return wrong;
    return check_decrease(before, measure(s.after), has_turn ? s.what.task : no_task, "distance");
  }

 private:
  static distances measure(const configuration& c) {
    distances all(c.tasks.size());
    const auto unmatched = static_cast<std::int64_t>(c.open.size());
    for (std::size_t i = 0; i < c.queue.size(); ++i)
      if (const task_id f = c.queue[i]; c.tasks[f].rest != empty_continuation)
        all[f] = distance{static_cast<std::int64_t>(i) + 1, unmatched, 0, 0};
    return all;
  }
};

// (pos, idle, unm, c) decreases between configurations without a pending call, so that (22) counts
// together with the (18) that follows it. In the order (pos', idle, c, unm) it decreases at every
// single step; pos' is one more for an active task that is about to give way while a call is
// pending. The exceptions are those of whom (19), (20), (21) or (22) is the turn.
class cooperative_distance_check : public step_check {
 public:
  cooperative_distance_check(const program& p, const configuration& initial)
      : step_check(check_kind::distance), program_(p), settled_(measure(initial, 0)) {}

  opinion step(const seen_step& s) override {
    const std::string_view rule = s.what.by->name;
    const std::int64_t c_before = c_;
    if (is_one_of(rule, {"19", "20"})) c_ = 0;
    if (rule == "22") --c_;
    const bool has_turn = is_one_of(rule, {"19", "20", "21", "22"});
    const task_id turn = has_turn ? s.what.task : no_task;
    opinion wrong = check_settled(s, turn);
    if (!wrong) wrong = check_each(s, turn, c_before);
    if (!wrong && s.after.c != c_)
      wrong = complaint{"the counter of local steps at " + std::to_string(c_),
                        std::to_string(s.after.c)};
    return wrong;
  }

 private:
  opinion check_each(const seen_step& s, task_id turn, std::int64_t c_before) const {
    if (turn != no_task) {
      const std::int64_t idle = s.what.by->name == "22" ? 0 : 1;
      if (opinion wrong = check_turn(measure(s.before, c_before), turn, idle)) return wrong;
    }
    return check_decrease(vary(s.before, c_before), vary(s.after, c_), turn,
                          "distance (pos', idle, c, unm)");
  }

  opinion check_settled(const seen_step& s, task_id turn) {
    if (turn != no_task) turn_ = turn;
    if (s.after.pending != no_task) return {};
    const distances before = std::exchange(settled_, measure(s.after, c_));
    return check_decrease(before, settled_, std::exchange(turn_, no_task),
                          "distance (pos, idle, unm, c)");
  }

  bool is_giving_way(const configuration& c) const {
    return c.active != no_task && is_suspended(program_, c.tasks[c.active].rest);
  }

  distances measure(const configuration& c, std::int64_t counter) const {
    distances all(c.tasks.size());
    const std::int64_t idle = is_quiescent(c) ? 1 : 0;
    const std::int64_t unmatched = c.pending == no_task ? 0 : 1;
    const auto length = static_cast<std::int64_t>(c.queue.size());
    for (std::int64_t i = length; i-- > 0;)
      all[c.queue[static_cast<std::size_t>(i)]] =
          distance{i + (idle ? 1 : 2), idle, unmatched, counter};
    if (!idle && c.tasks[c.active].rest != empty_continuation)
      all[c.active] = distance{is_giving_way(c) ? length + 2 : 1, idle, unmatched, counter};
    return all;
  }

  distances vary(const configuration& c, std::int64_t counter) const {
    distances all = measure(c, counter);
    for (auto& d : all)
      if (d) std::swap((*d)[2], (*d)[3]);
    if (is_giving_way(c)) (*all[c.active])[0] += c.pending == no_task ? 0 : 1;
    return all;
  }

  const program& program_;
  std::int64_t c_ = 0;      // as we count it
  distances settled_;       // at the last configuration without a pending call
  task_id turn_ = no_task;  // since then
};

// --- overtaking ---------------------------------------------------------------------------------

// While a task is enabled at every configuration at which a turn is given, each other gets at most
// one. Turns are counted; a task that gets one has overtaken e if its last was not before e became
// enabled.
class overtaking_check : public step_check {
 public:
  explicit overtaking_check(const program& p) : step_check(check_kind::overtaking), program_(p) {}

  opinion step(const seen_step& s) override {
    if (!gives_turns(s.before)) return {};
    look(s.before);
    const task_id f = s.what.task;
    return gets_turn(s) ? give_turn(f, s.n) : opinion{};
  }

 private:
  struct turn {
    std::uint64_t number = 0;  // from 1
    std::uint64_t step = 0;
  };

  bool is_cooperative() const { return program_.language() == language::coopwhile; }

  bool gives_turns(const configuration& c) const {
    return is_cooperative() ? is_quiescent(c) : c.open.empty();
  }

  bool gets_turn(const seen_step& s) const {
    return is_cooperative() ? s.after.active == s.what.task : s.what.by->name == "6";
  }

  bool is_enabled(const configuration& c, task_id f) const {
    const bool is_marker =
        program_.semantics() == semantics::lagc_sched && c.tasks[f].phase == phase::called;
    if (is_marker) return true;
    return c.tasks[f].rest != empty_continuation && !is_blocked(program_, c, f);
  }

  // Who is enabled now, and since when.
  void look(const configuration& c) {
    const std::vector<turn> old = std::exchange(since_, std::vector<turn>(c.tasks.size()));
    last_.resize(c.tasks.size());
    for (task_id f : c.queue) {
      if (!is_enabled(c, f)) continue;
      const bool was_enabled = f < old.size() && old[f].number != 0;
      since_[f] = was_enabled ? old[f] : turn{turns_ + 1, 0};
    }
  }

  opinion give_turn(task_id f, std::uint64_t step) {
    const turn previous = std::exchange(last_[f], {++turns_, step});
    since_[f] = {};
    for (task_id e = 0; e < since_.size(); ++e) {
      if (since_[e].number == 0 || previous.number < since_[e].number) continue;
      return complaint{
          "at most one turn of " + name_of_task(f) + " while " + name_of_task(e) + " is enabled",
          "turns at steps " + std::to_string(previous.step) + " and " + std::to_string(step), e};
    }
    return {};
  }

  const program& program_;
  std::uint64_t turns_ = 0;
  std::vector<turn> last_;   // of each task; 0 if it had none
  std::vector<turn> since_;  // the turn before which each became enabled; 0 if it is not
};

// --- local computation --------------------------------------------------------------------------

// The active task gives way after a number of steps.
class local_computation_check : public step_check {
 public:
  local_computation_check(const program& p, std::uint64_t bound)
      : step_check(check_kind::local_computation), program_(p), bound_(bound) {}

  opinion step(const seen_step& s) override {
    const task_id f = s.what.task;
    const bool local = is_one_of(s.what.by->name, {"22", "LOCAL", "SPAWNSTART"});
    if (!local) {
      if (is_quiescent(s.after)) steps_ = 0, rounds_.clear();
      return {};
    }
    note_loop(s.before.tasks[f].rest, s.what.rest);
    if (++steps_ <= bound_) return {};
    const auto loop = std::max_element(rounds_.begin(), rounds_.end(),
                                       [](auto a, auto b) { return a.second < b.second; });
    const position at = loop == rounds_.end() ? position{} : program_.at(loop->first).at;
    return complaint{
        name_of_task(f) + " gives way within " + std::to_string(bound_) + " local steps",
        "it goes on" + (at ? " in the loop at " + to_string(at) : std::string{}), f, at};
  }

 private:
  // Counts the rounds of the loops that the task is in.
  void note_loop(continuation from, continuation to) {
    const instruction& i = program_.at(from);
    if (i.head != statement_kind::while_) return;
    if (to == i.body)
      ++rounds_[from];
    else
      rounds_.erase(from);
  }

  const program& program_;
  const std::uint64_t bound_;
  std::uint64_t steps_ = 0;
  std::map<continuation, std::uint64_t> rounds_;
};

}  // namespace

std::vector<std::unique_ptr<step_check>> step_checks(const program& p, const configuration& initial,
                                                     const check_options& options) {
  const bool cooperative = p.language() == language::coopwhile;
  std::vector<std::unique_ptr<step_check>> all;
  if (p.language() != language::while_) {
    auto history = std::make_shared<trace_history>(p);
    all.push_back(std::make_unique<well_formedness_check>(history));
    all.push_back(std::make_unique<shape_check>(p, history));
  }
  all.push_back(std::make_unique<mapping_check>(p, initial));
  if (p.language() == language::while_) return all;
  if (!cooperative)
    all.push_back(std::make_unique<interleaved_distance_check>());
  else if (!is_sos(p.semantics()))
    all.push_back(std::make_unique<cooperative_distance_check>(p, initial));
  all.push_back(std::make_unique<overtaking_check>(p));
  if (cooperative) all.push_back(std::make_unique<local_computation_check>(p, options.bound));
  return all;
}

}  // namespace rota::coop
