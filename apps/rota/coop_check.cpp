#include "coop_check.h"

#include <rota/coop/check.h>
#include <rota/coop/mutants.h>
#include <rota/coop/parse.h>
#include <rota/coop/program.h>

#include <array>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "coop_parts.h"

namespace rota::app {

namespace {

struct coop_check_request {
  std::string file;
  std::string semantics = "lagc-sched";
  coop::check_options options;
  std::string mutant;
  bool mutants = false;
  bool json = false;
};

std::string_view end_of(const coop::check_report& r) {
  return r.repeats ? "periodic" : name_of(r.end.end);
}

constexpr auto all_kinds = std::to_array<coop::check_kind>(
    {coop::check_kind::determinism, coop::check_kind::well_formedness, coop::check_kind::shape,
     coop::check_kind::mapping, coop::check_kind::distance, coop::check_kind::overtaking,
     coop::check_kind::local_computation, coop::check_kind::fairness});

// --- for people ---------------------------------------------------------------------------------

std::string how_it_ended(const coop::check_report& r) {
  const std::string steps = counted(r.end.steps, "step");
  if (r.repeats)
    return "periodic: steps " + std::to_string(r.repeats->from + 1) + " to " +
           std::to_string(r.repeats->from + r.repeats->length) + " come again and again";
  if (r.end.end == coop::ending::limit)
    return "stopped after " + steps + (r.violations.empty() ? ", the limit (--limit)" : "");
  return std::string(name_of(r.end.end)) + " after " + steps;
}

// "FILE:3:5: error: step 7, rule 24, task 1: expected ..., found ... [distance]".
void print_violation(const coop_check_request& r, const coop::violation& v) {
  std::cerr << r.file << ':' << to_string(v.at) << ": error: step " << v.step;
  if (!v.rule.empty()) std::cerr << ", rule " << v.rule;
  if (v.task != coop::no_task) std::cerr << ", task " << v.task;
  std::cerr << ": expected " << v.expected << ", found " << v.found << " [" << name_of(v.check)
            << "]\n";
}

std::string result_of(const coop::check_report& r, coop::check_kind kind) {
  if (const coop::violation* const v = r.find(kind))
    return "fails at step " + std::to_string(v->step);
  const std::uint64_t times = r.times(kind);
  if (kind == coop::check_kind::fairness && times == 0) return "no verdict";
  return times == 0 ? "does not apply" : "holds, asserted " + counted(times, "time");
}

std::string answer_of(const coop::fairness_verdict& v, std::uint64_t steps) {
  switch (v.is) {
    case coop::verdict::fair:
      return "yes";
    case coop::verdict::undecided:
      return "undecided within " + counted(steps, "step");
    case coop::verdict::none:
      return "no verdict: nothing is quiescent";
    case coop::verdict::unfair:
      break;
  }
  std::string text = "no, starving:";
  for (const coop::starving_task& s : v.whom)
    text += (text.ends_with(':') ? " task " : ", task ") + std::to_string(s.task) + " at " +
            to_string(s.at);
  return text;
}

// One line if both readings agree on the verdict, one for each if not.
void print_fairness(const char* name, const coop::check_report& r,
                    coop::fairness_verdict coop::fairness_verdicts::* which) {
  constexpr int column = 20;
  const coop::fairness_verdict& tasks = r.by_tasks.*which;
  const coop::fairness_verdict& continuations = r.by_continuations.*which;
  std::cout << std::left << std::setw(column) << name << answer_of(tasks, r.end.steps) << '\n';
  if (tasks.is != continuations.is)
    std::cout << std::setw(column) << "  by continuations" << answer_of(continuations, r.end.steps)
              << '\n';
}

void print_summary(const coop_check_request& r, const coop::check_report& found) {
  constexpr int column = 20;
  for (const coop::violation& v : found.violations) print_violation(r, v);
  std::cout << how_it_ended(found) << '\n';
  for (const coop::blocked_task& b : found.end.blocked) std::cout << "  " << text_of(b) << '\n';
  for (coop::check_kind kind : all_kinds)
    std::cout << std::left << std::setw(column) << name_of(kind) << result_of(found, kind) << '\n';
  print_fairness("weakly fair", found, &coop::fairness_verdicts::weak);
  print_fairness("strongly fair", found, &coop::fairness_verdicts::strong);
  print_fairness("quiescent fair", found, &coop::fairness_verdicts::quiescent);
}

// --- for programs -------------------------------------------------------------------------------

nlohmann::ordered_json to_json(const coop::fairness_verdict& v) {
  nlohmann::ordered_json all{{"verdict", name_of(v.is)}};
  for (const coop::starving_task& s : v.whom)
    all["starving"].push_back({{"f", s.task}, {"at", to_string(s.at)}});
  return all;
}

nlohmann::ordered_json to_json(const coop::fairness_verdicts& v) {
  return {{"weak", to_json(v.weak)},
          {"strong", to_json(v.strong)},
          {"quiescent", to_json(v.quiescent)}};
}

nlohmann::ordered_json to_json(const coop::violation& v) {
  nlohmann::ordered_json one{{"check", name_of(v.check)}, {"step", v.step}};
  if (!v.rule.empty()) one["rule"] = v.rule;
  if (v.task != coop::no_task) one["f"] = v.task;
  one["at"] = to_string(v.at);
  one["expected"] = v.expected;
  one["found"] = v.found;
  return one;
}

nlohmann::ordered_json to_json(const coop_check_request& r, const coop::program& p,
                               const coop::check_report& found) {
  nlohmann::ordered_json all{{"language", name_of(p.language())},
                             {"semantics", name_of(p.semantics())},
                             {"limit", r.options.limit},
                             {"bound", r.options.bound},
                             {"end", end_of(found)},
                             {"n", found.end.steps}};
  if (!r.mutant.empty()) all["mutant"] = r.mutant;
  if (found.repeats)
    all["period"] = {{"from", found.repeats->from}, {"length", found.repeats->length}};
  for (coop::check_kind kind : all_kinds)
    all["asserted"][std::string(name_of(kind))] = found.times(kind);
  all["violations"] = nlohmann::ordered_json::array();
  for (const coop::violation& v : found.violations) all["violations"].push_back(to_json(v));
  all["fairness"] = {{"tasks", to_json(found.by_tasks)},
                     {"continuations", to_json(found.by_continuations)}};
  return all;
}

// --- rota coop check ----------------------------------------------------------------------------

coop::semantics scheduler_named(const coop_check_request& r) {
  const auto how = coop::semantics_named(r.semantics);
  if (how && is_scheduler(*how)) return *how;
  throw bad_input("--semantics: expected lagc-sched or sos-sched, not " + r.semantics +
                  (how ? "; the others schedule nothing that could be checked" : ""));
}

// Every mutant and which checks notice it. Not every mistake makes a difference to every program.
int check_mutants(const coop_check_request& r, const coop::program& p) {
  if (!r.mutant.empty()) throw bad_input("--mutant and --mutants do not go together");
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const coop::mutant& m : mutants_of(p)) {
    const coop::check_report found = check(p, mutated(p, m), r.options);
    std::vector<std::string> by;
    for (const coop::violation& v : found.violations) by.emplace_back(name_of(v.check));
    if (r.json) {
      table.push_back({{"mutant", m.name}, {"fails", by}});
      continue;
    }
    std::cout << std::left << std::setw(18) << m.name << (by.empty() ? "is not noticed" : "fails");
    for (const coop::violation& v : found.violations)
      std::cout << (&v == &found.violations.front() ? " " : ", ") << name_of(v.check) << " at step "
                << v.step;
    std::cout << '\n';
  }
  if (r.json) std::cout << table.dump(2) << '\n';
  if (!r.json && mutants_of(p).empty())
    std::cout << r.file << ": nothing is scheduled, so there are no mutants\n";
  return fine;
}

int check_file(const coop_check_request& r) {
  const coop::semantics how = scheduler_named(r);
  const coop::parsed text = coop::parse(read_source(r.file));
  if (!text) return report(r.file, text.errors, r.json);
  const coop::program p = compiled(r.file, text.tree, how);
  if (r.mutants) return check_mutants(r, p);
  const coop::check_report found = check(p, rules_with(p, r.mutant), r.options);
  if (r.json)
    std::cout << to_json(r, p, found).dump(2) << '\n';
  else
    print_summary(r, found);
  if (found.end.end == coop::ending::error) report_error(r.file, found.end);
  if (!found.violations.empty()) return check_failed;
  return found.repeats ? fine : status_of(found.end.end);
}

constexpr const char* about_check =
    R"(Runs FILE (see rota coop run --help) by the rules of a fair scheduler, and asserts at every step:

  determinism         exactly one rule allows exactly one step
  well-formedness     each task is called, starts and ends in this order, and once
  shape               each task is where its events say: active, in the queue, or nowhere
  mapping             the step is one of the semantics without a scheduler, or invisible there
  distance            each waiting task comes nearer to its turn            (lagc-sched)
  overtaking          while a task is enabled, every other gets at most one turn
  local-computation   the active task gives way within --bound steps        (coopwhile)

If the run ends or becomes periodic, it tells whether it is weakly fair (what is enabled for ever
happens), strongly fair (what is enabled again and again happens) and quiescent fair (what is enabled
whenever no task is active happens; coopwhile), for tasks, and for continuations where that differs.

  fairness            the run is as fair as proven: weakly in spawn and guard, quiescent in coopwhile

A check that fails prints FILE:LINE:COL: error: step, rule, task, what was expected and what was
found [CHECK]; of each check the first.

Exit status: 0 all holds, and the run is done or periodic; 1 wrong usage; 2 an error in the text; 6 a
check failed. If all holds: 3 the run ended with a run-time error, 4 in a deadlock, 5 at the limit,
with fairness undecided. With --mutants: 0, whatever was noticed.

  rota coop check program.cw
  rota coop check program.cw --mutant push-to-front
  rota coop check program.cw --semantics sos-sched --limit 100000 --json
)";

}  // namespace

void add_coop_check(command& coop) {
  auto r = std::make_shared<coop_check_request>();
  command& check =
      add_coop_command(coop, "check", "checks a program's scheduler at every step, and fairness",
                       [r] { return check_file(*r); });
  add_file(check, r->file);
  check.option({.name = "--semantics",
                .type = "NAME",
                .help = "lagc-sched (the default) or sos-sched",
                .value = &r->semantics,
                .words = {"lagc-sched", "sos-sched"}});
  check.option({.name = "--limit",
                .type = "N",
                .help = "stop after so many steps: 10000",
                .value = &r->options.limit});
  check.option({.name = "--bound",
                .type = "N",
                .help = "so many local steps are endless: 5000",
                .value = &r->options.bound});
  check.option({.name = "--mutant",
                .type = "NAME",
                .help = "check a scheduler with this mistake (rota coop run --help)",
                .value = &r->mutant});
  check.option({.name = "--mutants",
                .help = "plant each known mistake, and tell which checks notice it",
                .value = &r->mutants});
  check.option({.name = "--json", .help = "print JSON", .value = &r->json});
  check.footer([] { return about_check; });
}

}  // namespace rota::app
