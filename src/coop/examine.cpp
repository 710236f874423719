// What fuzz() compares: a part of this file for each mode, and the program that goes through them.

#include <rota/coop/check.h>
#include <rota/coop/fuzz.h>
#include <rota/coop/log.h>
#include <rota/coop/parse.h>
#include <rota/coop/print.h>
#include <rota/coop/trace.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace rota::coop {

std::string_view name_of(fuzz_mode mode) noexcept {
  switch (mode) {
    case fuzz_mode::text:
      return "text";
    case fuzz_mode::fast:
      return "fast";
    case fuzz_mode::agree:
      return "agree";
    case fuzz_mode::check:
      return "check";
    case fuzz_mode::random:
      break;
  }
  return "random";
}

std::optional<fuzz_mode> fuzz_mode_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < fuzz_modes; ++i)
    if (const auto mode = static_cast<fuzz_mode>(i); name_of(mode) == name) return mode;
  return std::nullopt;
}

void fuzz_counts::add(const fuzz_counts& more) {
  programs += more.programs;
  runs += more.runs;
  steps += more.steps;
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += more.ends[i];
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += more.errors[i];
  periodic += more.periodic;
  agreed += more.agreed;
  apart += more.apart;
}

namespace {

using complaints = std::vector<std::pair<std::string, std::string>>;  // what, and in words

// --- text ---------------------------------------------------------------------------------------

bool is_same(const program& p, expression_code a, const program& q, expression_code b) {
  using operation_ = machine_operation;
  return a.depth == b.depth &&
         std::equal(p.operations() + a.begin, p.operations() + a.end, q.operations() + b.begin,
                    q.operations() + b.end, [&](const operation_& x, const operation_& y) {
                      return x.what == y.what && x.apply == y.apply && x.slot == y.slot &&
                             x.constant == y.constant && x.jump - a.begin == y.jump - b.begin;
                    });
}

// But for positions.
bool is_same(const program& p, const program& q) {
  const auto same_instruction = [&](const instruction& a, const instruction& b) {
    return a.head == b.head && a.next == b.next && a.body == b.body && a.target == b.target &&
           a.procedure == b.procedure && is_same(p, a.expression, q, b.expression);
  };
  const auto same_procedure = [](const procedure_code& a, const procedure_code& b) {
    return a.name == b.name && a.parameter == b.parameter && a.body == b.body;
  };
  return p.language() == q.language() && p.globals() == q.globals() && p.main() == q.main() &&
         std::equal(p.procedures().begin(), p.procedures().end(), q.procedures().begin(),
                    q.procedures().end(), same_procedure) &&
         std::equal(p.instructions().begin(), p.instructions().end(), q.instructions().begin(),
                    q.instructions().end(), same_instruction);
}

void examine_text(const syntax_tree& tree, complaints& found) {
  const std::string text = source_of(tree);
  const parsed again = parse(text);
  if (!again) {
    found.emplace_back("unreadable", to_string(again.errors.front(), "printed"));
    return;
  }
  if (!is_same(compile(tree, semantics::lagc_sched), compile(again.tree, semantics::lagc_sched)))
    found.emplace_back("meaning", "the printed program is another one");
  if (source_of(again.tree) != text)
    found.emplace_back("layout", "what is printed and read again is printed differently");
}

// --- what a run did -----------------------------------------------------------------------------

// Whether a task at this place waits for something.
bool waits(const program& p, continuation k) {
  const statement_kind head = p.at(k).head;
  return head == statement_kind::await || head == statement_kind::guard;
}

// Takes down what can be compared between schedulers.
class recorder : public run_observer {
 public:
  explicit recorder(const program& p) : program_(p) {}

  void start(const configuration& c) override { remember(c); }

  void step(const taken_step& s, const configuration& c) override {
    add_records(s.what, log);
    for (const update& u : s.what.updates)
      if (!is_binding(s.what, u)) updates.push_back(u);
    unsettled = unsettled || queues_before_a_wait(s.what);
    remember(c);
  }

  log_keeper log;
  std::vector<update> updates;  // but for the binding of parameters
  // A task was queued in front of an await or a guard at which it has not given way itself: Sos
  // goes past it in one step, Lagc gives way there.
  bool unsettled = false;

 private:
  void remember(const configuration& c) {
    active_ = c.active;
    rest_ = c.active == no_task ? empty_continuation : c.tasks[c.active].rest;
  }

  static bool is_binding(const derivation& d, const update& u) {
    return u.slot == own_parameter && std::any_of(d.events.begin(), d.events.end(), [&](auto& e) {
             return (e.kind == event_kind::call || e.kind == event_kind::call_reaction) &&
                    e.task == u.owner;
           });
  }

  bool queues_before_a_wait(const derivation& d) const {
    if (d.queues_call && waits(program_, program_.procedures()[d.events[0].procedure].body))
      return true;
    return d.to == place::queue && d.task == active_ && d.rest != rest_ && waits(program_, d.rest);
  }

  const program& program_;
  task_id active_ = no_task;
  continuation rest_ = empty_continuation;
};

struct named_log {
  const std::vector<log_record>& records;
  std::string_view of;
};

// The first record in which two logs differ; one that was cut off may be shorter.
void compare_logs(const program& p, const named_log& a, const named_log& b, bool cut,
                  complaints& found) {
  const auto [shorter, longer] = std::minmax({a.records.size(), b.records.size()});
  for (std::size_t i = 0; i < (cut ? shorter : longer); ++i) {
    if (i < shorter && a.records[i] == b.records[i]) continue;
    const auto shown = [&](const named_log& log) {
      return (i < log.records.size() ? to_json(log.records[i], p) : "missing") + ' ' +
             std::string(log.of);
    };
    found.emplace_back("log",
                       "record " + std::to_string(i + 1) + " is " + shown(a) + ", " + shown(b));
    return;
  }
}

// --- fast ---------------------------------------------------------------------------------------

void examine_fast(const program& p, const outcome& by_rules, const recorder& seen,
                  std::uint64_t limit, complaints& found) {
  log_keeper log;
  const outcome fast = run(p, {.limit = limit}, &log);
  compare_logs(p, {log.records(), "by run()"}, {seen.log.records(), "by the rules"}, false, found);
  if (fast == by_rules) return;
  found.emplace_back(
      "end", "run() ends with " + end_record(fast) + ", the rules with " + end_record(by_rules));
}

// --- agree --------------------------------------------------------------------------------------

// The state without the parameters of tasks that did not start, which Sos has bound already.
named_state started(const program& p, const outcome& o, const std::vector<log_record>& log) {
  named_state state = o.state;
  for (const log_record& r : log) {
    if (r.kind != log_kind::call) continue;
    const bool is_started = std::any_of(log.begin(), log.end(), [&](const log_record& s) {
      return s.kind == log_kind::call_reaction && s.task == r.task;
    });
    if (is_started) continue;
    const std::string name = parameter_name(p, r.procedure, r.task);
    std::erase_if(state, [&](const auto& variable) { return variable.first == name; });
  }
  return state;
}

struct recorded {
  const program& p;
  const outcome& end;
  const recorder& seen;
};

void examine_agreement(const recorded& lagc, const recorded& sos, complaints& found) {
  const bool cut = lagc.end.end == ending::limit || sos.end.end == ending::limit;
  compare_logs(lagc.p, {lagc.seen.log.records(), "under lagc-sched"},
               {sos.seen.log.records(), "under sos-sched"}, cut, found);
  const auto& a = lagc.seen.updates;
  const auto& b = sos.seen.updates;
  const std::size_t common = std::min(a.size(), b.size());
  const auto at = static_cast<std::ptrdiff_t>(common);
  const auto same = [](const update& x, const update& y) {
    return x.owner == y.owner && x.slot == y.slot && x.to == y.to;
  };
  if ((!cut && a.size() != b.size()) ||
      !std::equal(a.begin(), a.begin() + at, b.begin(), b.begin() + at, same))
    found.emplace_back("updates", std::to_string(a.size()) + " updates under lagc-sched and " +
                                      std::to_string(b.size()) + " under sos-sched differ");
  if (cut) return;
  outcome x = lagc.end;
  outcome y = sos.end;
  x.steps = y.steps = 0;  // they have different rules
  x.state = started(lagc.p, x, lagc.seen.log.records());
  y.state = started(sos.p, y, sos.seen.log.records());
  if (x.state != y.state)
    found.emplace_back(
        "state", to_json(x.state) + " under lagc-sched, " + to_json(y.state) + " under sos-sched");
  x.state = y.state = {};
  if (!(x == y))
    found.emplace_back("end",
                       end_record(x) + " under lagc-sched, " + end_record(y) + " under sos-sched");
}

// --- check --------------------------------------------------------------------------------------

void examine_checks(const check_report& r, const outcome& by_rules, complaints& found) {
  for (const violation& v : r.violations) {
    // A task that never gives way is the program's doing, not the scheduler's.
    if (v.check == check_kind::local_computation) continue;
    found.emplace_back(name_of(v.check), "step " + std::to_string(v.step) + ", rule " + v.rule +
                                             ", at " + to_string(v.at) + ": expected " +
                                             v.expected + ", found " + v.found);
  }
  if (!found.empty() || r.repeats) return;
  if (!(r.end == by_rules))
    found.emplace_back("end", "the checked run ends with " + end_record(r.end) + ", another with " +
                                  end_record(by_rules));
}

// --- random -------------------------------------------------------------------------------------

// Holds the events of a run against each other, and the state against the updates. Knows of no
// rule but what section 5 of the languages' definition calls well-formed.
class witness : public run_observer {
 public:
  witness(const program& p, const run_options& options, complaints& found)
      : program_(p), limit_(options.limit), found_(found) {}

  void start(const configuration& c) override {
    now_ = &c;
    globals_ = c.globals;
    lives_.resize(1);
    lives_[0] = {.what = {}, .begun = true};
  }

  void step(const taken_step& s, const configuration& c) override {
    now_ = &c;
    for (const event& e : s.what.events) happen(s, e);
    for (const update& u : s.what.updates) set(u);
    if (s.index >= s.count) complain("choice", s, "one of the steps there are");
  }

  void end(const outcome& o) override {
    if (globals_ != now_->globals || !parameters_are_as_set())
      found_.emplace_back("state", "the state is not what the updates make of it");
    if (!is_allowed(o)) found_.emplace_back("end", "a run may not end here: " + end_record(o));
  }

 private:
  struct life {
    call what;
    bool begun = false;
    bool completed = false;
    std::optional<value> parameter = {};
  };

  void happen(const taken_step& s, const event& e) {
    const bool has_identity = program_.language() == language::coopwhile;
    const call what{e.procedure, e.argument};
    switch (e.kind) {
      case event_kind::call:
        if (has_identity && e.task != lives_.size()) complain("call", s, "the next identifier");
        if (has_identity)
          lives_.push_back({.what = what});
        else
          open_.push_back(what);
        break;
      case event_kind::call_reaction:
        has_identity ? begin(s, e.task, what) : answer(s, what);
        break;
      case event_kind::completion:
        if (!is_known(e.task) || !lives_[e.task].begun || lives_[e.task].completed)
          return complain("completion", s, "the end of a task that has started, once");
        lives_[e.task].completed = true;
        break;
      case event_kind::completion_reaction:
        if (!is_known(e.task) || !lives_[e.task].completed)
          complain("completion-reaction", s, "that the awaited task has ended");
        break;
      case event_kind::done:
        break;
    }
  }

  bool is_known(task_id f) const { return f < lives_.size(); }

  void begin(const taken_step& s, task_id f, const call& what) {
    if (!is_known(f) || lives_[f].begun || !(lives_[f].what == what))
      return complain("call-reaction", s, "the start of a task that was called so, once");
    lives_[f].begun = true;
  }

  void answer(const taken_step& s, const call& what) {
    const auto at = std::find(open_.begin(), open_.end(), what);
    if (at == open_.end()) return complain("call-reaction", s, "an open call");
    open_.erase(at);
    lives_.push_back({.what = what, .begun = true});
  }

  void set(const update& u) {
    if (u.owner == no_task)
      globals_[u.slot] = u.to;
    else if (is_known(u.owner))
      lives_[u.owner].parameter = u.to;
  }

  bool parameters_are_as_set() const {
    for (std::size_t f = 0; f < now_->tasks.size(); ++f) {
      const task_record& t = now_->tasks[f];
      const std::optional<value> known = f < lives_.size() ? lives_[f].parameter : std::nullopt;
      if (t.bound != known.has_value() || (known && *known != t.parameter)) return false;
    }
    return true;
  }

  bool is_allowed(const outcome& o) const {
    const bool all_ended = std::all_of(lives_.begin(), lives_.end(),
                                       [&](const life& l) {
                                         return l.completed || &l == &lives_[0] ||
                                                program_.language() != language::coopwhile;
                                       }) &&
                           open_.empty() && now_->active == no_task && now_->queue.empty();
    switch (o.end) {
      case ending::done:
        return all_ended || program_.language() == language::while_;
      case ending::deadlock:
        return open_.empty() && now_->active == no_task && !now_->queue.empty() &&
               std::all_of(now_->queue.begin(), now_->queue.end(),
                           [&](task_id f) { return is_blocked(program_, *now_, f); }) &&
               std::all_of(lives_.begin(), lives_.end(),
                           [&](const life& l) { return l.begun || is_sos(program_.semantics()); });
      case ending::limit:
        return o.steps == limit_;
      case ending::error:
        break;
    }
    return is_known(o.task) && static_cast<bool>(o.error.at);
  }

  void complain(const char* what, const taken_step& s, const char* expected) {
    found_.emplace_back(what, "step " + std::to_string(s.n) + ", rule " +
                                  std::string(s.what.by->name) + ", at " + to_string(s.what.at) +
                                  ": expected " + expected);
  }

  const program& program_;
  std::uint64_t limit_;
  complaints& found_;
  const configuration* now_ = nullptr;  // lives as long as the run
  std::vector<value> globals_;
  std::vector<life> lives_;
  std::vector<call> open_;
};

// --- a program ----------------------------------------------------------------------------------

class examiner {
 public:
  examiner(const syntax_tree& tree, const examine_options& options)
      : tree_(tree), options_(options) {}

  examined examine() {
    result_.counts.programs = 1;
    if (asks(fuzz_mode::text)) {
      complaints found;
      examine_text(tree_, found);
      add(fuzz_mode::text, semantics::lagc_sched, found);
    }
    examine_schedulers();
    if (asks(fuzz_mode::random))
      for (semantics how : {semantics::lagc, semantics::sos}) examine_random(how);
    return std::move(result_);
  }

 private:
  bool asks(fuzz_mode mode) const {
    return std::find(options_.modes.begin(), options_.modes.end(), mode) != options_.modes.end();
  }

  void add(fuzz_mode mode, semantics how, const complaints& found) {
    for (const auto& [what, detail] : found) result_.found.push_back({mode, how, what, detail});
  }

  void examine_schedulers() {
    if (!asks(fuzz_mode::fast) && !asks(fuzz_mode::agree) && !asks(fuzz_mode::check)) return;
    const program lagc = compile(tree_, semantics::lagc_sched);
    recorder lagc_seen{lagc};
    const outcome lagc_end = examine_scheduler(lagc, lagc_seen);
    if (!exists(semantics::sos_sched, tree_.language)) return;
    const program sos = compile(tree_, semantics::sos_sched);
    recorder sos_seen{sos};
    const outcome sos_end = examine_scheduler(sos, sos_seen);
    if (!asks(fuzz_mode::agree)) return;
    ++(sos_seen.unsettled ? result_.counts.apart : result_.counts.agreed);
    if (sos_seen.unsettled) return;
    complaints found;
    examine_agreement({lagc, lagc_end, lagc_seen}, {sos, sos_end, sos_seen}, found);
    add(fuzz_mode::agree, semantics::lagc_sched, found);
  }

  outcome examine_scheduler(const program& p, recorder& seen) {
    const rule_table rules = options_.rules(p);
    const outcome by_rules = run_by_rules(p, rules, {.limit = options_.limit}, {&seen});
    count(by_rules);
    ++result_.counts.ends[static_cast<std::size_t>(by_rules.end)];
    if (by_rules.end == ending::error)
      ++result_.counts.errors[static_cast<std::size_t>(by_rules.error.error)];
    if (asks(fuzz_mode::fast)) {
      complaints found;
      examine_fast(p, by_rules, seen, options_.limit, found);
      ++result_.counts.runs;
      add(fuzz_mode::fast, p.semantics(), found);
    }
    if (asks(fuzz_mode::check)) {
      complaints found;
      const check_report r = coop::check(p, rules, {.limit = options_.limit, .bound = 100});
      count(r.end);
      result_.counts.periodic += r.repeats ? 1 : 0;
      examine_checks(r, by_rules, found);
      add(fuzz_mode::check, p.semantics(), found);
    }
    return by_rules;
  }

  void examine_random(semantics how) {
    if (!exists(how, tree_.language)) return;
    const program p = compile(tree_, how);
    complaints found;
    const run_options options{.limit = options_.limit, .seed = options_.seed};
    witness seen{p, options, found};
    count(run_by_rules(p, options_.rules(p), options, {&seen}));
    add(fuzz_mode::random, how, found);
  }

  void count(const outcome& o) {
    ++result_.counts.runs;
    result_.counts.steps += o.steps;
  }

  const syntax_tree& tree_;
  const examine_options& options_;
  examined result_;
};

}  // namespace

examined examine(const syntax_tree& tree, const examine_options& options) {
  return examiner{tree, options}.examine();
}

}  // namespace rota::coop
