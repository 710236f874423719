#include "coop.h"

#include <rota/coop/log.h>
#include <rota/coop/parse.h>
#include <rota/coop/program.h>
#include <rota/coop/run.h>
#include <rota/coop/trace.h>
#include <rota/coop/view.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "coop_check.h"
#include "coop_explore.h"
#include "coop_fuzz.h"
#include "coop_parts.h"
#include "coop_runner.h"

namespace rota::app {

namespace {

// What the command line asks for.
struct run_request {
  std::string file;
  std::string semantics = "lagc-sched";
  std::uint64_t seed = 1;
  std::uint64_t limit = 1000;
  std::string mutant;
  std::vector<std::string> picks;
  std::string trace;
  std::string log;
  std::string page;
  runner_words runner;
  bool json = false;
};

// --- the choices --------------------------------------------------------------------------------

// "0,2,1"; an empty text has no picks.
coop::pick_list picks_of(const run_request& r) {
  coop::pick_list picks;
  for (const std::string& text : r.picks) {
    std::istringstream words{text};
    for (std::string word; std::getline(words, word, ',');) {
      std::uint32_t pick = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pick);
      if (error != std::errc() || end != word.data() + word.size())
        throw bad_input("--picks: '" + word +
                        "' is no pick; expected numbers with commas between, as 0,2,1, not " +
                        text);
      picks.push_back(pick);
    }
  }
  return picks;
}

// What names a run. The picks are kept by the caller.
coop::run_options run_options_of(const run_request& r, const coop::pick_list& picks) {
  return {r.limit, r.seed, r.picks.empty() ? nullptr : &picks};
}

// --- how it ended -------------------------------------------------------------------------------

void print_summary(const coop::outcome& o) {
  std::cout << (o.end == coop::ending::limit ? "stopped" : name_of(o.end)) << " after "
            << counted(o.steps, "step");
  if (o.end == coop::ending::limit) std::cout << ", the limit (--limit)";
  std::cout << '\n';
  for (const coop::blocked_task& b : o.blocked) std::cout << "  " << text_of(b) << '\n';
  for (const auto& [name, v] : o.state) std::cout << name << " = " << to_string(v) << '\n';
}

// The end of the trace, and what it is the end of. A state may have a million variables: their text
// is written as it is, and no tree made of it.
void print_json(const run_request& r, const coop::program& p, const coop::outcome& o,
                const log_verdict* verdict = nullptr) {
  nlohmann::ordered_json run{{"language", name_of(p.language())},
                             {"semantics", name_of(p.semantics())}};
  if (!r.picks.empty())
    run["picks"] = picks_of(r);
  else if (!is_scheduler(p.semantics()))
    run["seed"] = r.seed;
  if (!r.mutant.empty()) run["mutant"] = r.mutant;
  if (verdict) {
    run["runner"] = r.runner.order;
    run["workers"] = r.runner.workers;
    run["log"] = name_of(verdict->is);
  }
  run["limit"] = r.limit;
  std::string head = run.dump();
  head.back() = ',';
  std::cout << head << end_record(o).substr(1) << '\n';
}

// --- a program to run ---------------------------------------------------------------------------

coop::semantics named_semantics(const run_request& r) {
  const auto how = coop::semantics_named(r.semantics);
  if (!how)
    throw bad_input("--semantics: expected lagc-sched, sos-sched, lagc or sos, not " + r.semantics);
  if (!r.picks.empty() && is_scheduler(*how))
    throw bad_input("--picks is for --semantics lagc and sos; " + r.semantics +
                    " leaves nothing to choose");
  return *how;
}

// --- rota coop run ------------------------------------------------------------------------------

// Steps are shown one by one if somebody wants to see them; otherwise the fast way is the same.
coop::outcome run_program(const run_request& r, const coop::program& p,
                          const coop::rule_table& rules, const coop::run_options& options,
                          sink& trace, sink& log) {
  coop::log_writer log_lines{log.stream(), p};
  if (!trace && r.mutant.empty() && is_scheduler(p.semantics()))
    return run(p, options, log ? &log_lines : nullptr);
  coop::trace_writer trace_lines{trace.stream(), p, options};
  coop::log_observer logged{log_lines};
  std::vector<coop::run_observer*> observers;
  if (trace) observers.push_back(&trace_lines);
  if (log) observers.push_back(&logged);
  return run_by_rules(p, rules, options, observers);
}

void refuse_what_collides(const run_request& r) {
  const int to_output = (r.trace == "-") + (r.log == "-") + (r.json ? 1 : 0);
  if (to_output > 1)
    throw bad_input("only one of --trace -, --log - and --json can go to standard output");
}

void refuse_what_tasks_cannot_do(const run_request& r, coop::language l) {
  if (!r.trace.empty()) throw bad_input("--trace shows rules, which tasks do not apply");
  if (r.semantics != "lagc-sched")
    throw bad_input("--runner takes no --semantics: tasks run as under lagc-sched");
  if (!r.mutant.empty()) throw bad_input("--mutant changes rules, which tasks do not apply");
  if (!r.picks.empty()) throw bad_input("--picks is for --semantics lagc and sos");
  if (l != coop::language::coopwhile)
    throw bad_input("--runner is for the language coopwhile; " + r.file + " is in " +
                    std::string(name_of(l)));
}

int run_file_on_tasks(const run_request& r) {
  const coop::parsed text = coop::parse(read_source(r.file));
  if (!text) return report(r.file, text.errors, r.json);
  refuse_what_tasks_cannot_do(r, text.tree.language);
  const coop::program p = compile(text.tree, coop::semantics::lagc_sched);
  const coop::runner_options options = options_of(r.runner, r.limit);
  sink log{r.log};
  coop::log_writer lines{log.stream(), p};
  const auto [end, verdict] = run_and_judge(p, options, log ? &lines : nullptr);
  log.close();
  if (r.json) {
    print_json(r, p, end, &verdict);
  } else if (r.log != "-") {
    print_summary(end);
    std::cout << "the log is " << verdict.text << '\n';
  }
  if (end.end == coop::ending::error) report_error(r.file, end);
  if (verdict.is != log_verdict::kind::wrong) return status_of(end.end);
  std::cerr << r.file << ": error: the log is " << verdict.text << '\n';
  return check_failed;
}

int run_file(const run_request& r) {
  refuse_what_collides(r);
  if (!r.runner.order.empty()) return run_file_on_tasks(r);
  const auto how = named_semantics(r);
  const coop::parsed text = coop::parse(read_source(r.file));
  if (!text) return report(r.file, text.errors, r.json);
  const coop::program p = compiled(r.file, text.tree, how);
  const coop::rule_table rules = rules_with(p, r.mutant);
  const coop::pick_list picks = picks_of(r);
  sink trace{r.trace};
  sink log{r.log};
  const coop::outcome o = run_program(r, p, rules, run_options_of(r, picks), trace, log);
  trace.close();
  log.close();
  if (r.json)
    print_json(r, p, o);
  else if (r.trace != "-" && r.log != "-")
    print_summary(o);
  if (o.end == coop::ending::error) report_error(r.file, o);
  return status_of(o.end);
}

constexpr const char* about_run =
    R"(FILE is a program in one of four languages; its first line says in which:

  language while;       skip   x := e   if e { ... }   while e { ... }
  language spawn;       and spawn(m, e): tasks, interleaved after every statement
  language guard;       and :: e; the rest waits until e holds
  language coopwhile;   and spawn(m, e, x)   suspend   await x
                        one task is active; it gives way at suspend, await, :: and its end.
                        A program that does not say is in this one.

  m(p) { ... }          procedures, with one parameter, stand before the main block { ... }
  expressions           || && == != < <= > >= + - * / % ! - ( ) true false; 64-bit integers
  comments              // to the end of the line, /* ... */

Semantics:
  lagc-sched   the fair scheduler, rules (6)-(8), (10), (18)-(24)
  sos-sched    the scheduler of Figures 5 and 7, coopwhile only
  lagc, sos    any step that is possible, chosen at random by --seed, or as --picks says: a number
               for each time that there are several, in the order of their tasks, those that go on
               before those that start (lagc). A wrong or missing one is told with what there is.
               rota coop explore finds picks for each outcome.

Runners, for coopwhile, are not an interpreter but the tasks of Rota: coroutines that spawn, suspend,
await and stand at guards. Their log is checked:
  --runner strict              in strict order: it must be the one that lagc-sched writes
  --runner fair --workers N    in fair order: it must be one of a run of lagc; with one worker,
                               nobody who could run is overtaken for long
A task awaits the handle of the task that its variable holds when it gives way. The semantics reads
the variable again at each visit; so does --awaits guard. Steps are counted without rotations.

Output: how the run ended and the final state; of the trace, the log and --json one can go to
standard output, with - for its file.

Exit status: 0 done, 1 wrong usage, 2 an error in the text (FILE:LINE:COL: error: ... [KIND]),
3 a run-time error, 4 a deadlock, 5 stopped at the limit, 6 the log of a runner is wrong.

  rota coop run program.cw
  rota coop run program.cw --trace - --limit 100
  rota coop run program.cw --semantics lagc --picks 0,2,1
  rota coop run program.cw --runner strict
  echo '{ x := 6 * 7 }' | rota coop run - --json
)";

// What names a run, in any command.
void add_run_options(command& c, run_request& r) {
  add_file(c, r.file);
  c.option({.name = "--semantics",
            .type = "NAME",
            .help = "lagc-sched (the default), sos-sched, lagc or sos",
            .value = &r.semantics,
            .words = {"lagc-sched", "sos-sched", "lagc", "sos"}});
  c.option({.name = "--seed",
            .type = "N",
            .help = "the same seed makes the same choices under lagc and sos: 1",
            .value = &r.seed});
  c.option({.name = "--picks",
            .type = "N,N,...",
            .help = "choose these instead: of the possible steps, from 0, where there are several",
            .value = &r.picks});
  c.option({.name = "--limit",
            .type = "N",
            .help = "stop after so many steps: 1000",
            .value = &r.limit});
  c.option({.name = "--mutant",
            .type = "NAME",
            .help = "by a scheduler with this mistake",
            .value = &r.mutant});
}

void add_run(command& coop) {
  auto r = std::make_shared<run_request>();
  command& run = add_coop_command(coop, "run", "runs a program and tells how it ended",
                                  [r] { return run_file(*r); });
  add_run_options(run, *r);
  run.option({.name = "--trace",
              .type = "FILE",
              .help = "write every step, as lines of JSON; - for standard output",
              .value = &r->trace});
  run.option({.name = "--log",
              .type = "FILE",
              .help = "write what can be observed from outside, as lines of JSON",
              .value = &r->log});
  run.option({.name = "--runner",
              .type = "ORDER",
              .help = "run on tasks of Rota: strict or fair",
              .value = &r->runner.order,
              .words = {"strict", "fair"}});
  run.option({.name = "--workers",
              .type = "N",
              .help = "of the runner, in fair order: 1",
              .value = &r->runner.workers,
              .least = 1,
              .most = 1024,
              .needs = "--runner"});
  run.option({.name = "--awaits",
              .type = "HOW",
              .help = "of the runner: handle (the default) or guard",
              .value = &r->runner.awaits,
              .needs = "--runner",
              .words = {"handle", "guard"}});
  run.option({.name = "--json", .help = "print JSON", .value = &r->json});
  run.footer([] { return std::string(about_run) + '\n' + about_mutants(); });
}

// --- rota coop view -----------------------------------------------------------------------------

int view_file(const run_request& r) {
  const auto how = named_semantics(r);
  const std::string source = read_source(r.file);
  const coop::parsed text = coop::parse(source);
  if (!text) return report(r.file, text.errors, r.json);
  const coop::program p = compiled(r.file, text.tree, how);
  const coop::rule_table rules = rules_with(p, r.mutant);
  const coop::pick_list picks = picks_of(r);
  sink page{r.page};
  const coop::run_options options = run_options_of(r, picks);
  const std::string title = r.mutant.empty() ? r.file : r.file + ", by the mutant " + r.mutant;
  coop::run_view view{p, options, {title, source}};
  const coop::outcome o = run_by_rules(p, rules, options, {&view});
  view.write_page(page.stream());
  page.close();
  if (r.page != "-")
    std::cout << r.page << ": " << (o.end == coop::ending::limit ? "stopped" : name_of(o.end))
              << " after " << counted(o.steps, "step") << '\n';
  return fine;
}

constexpr const char* about_view =
    R"(The page is one file that needs no other and no network. It has a lane for each task, where a
task is active, ready, blocked, not started or ended; and for each step its rule in words, events and
updates, the queue with what each task waits for and its scheduling distance, the state, and the
source with the places of all tasks.

  left, right   one step; with shift, or page up and down: ten        home, end   first, last
  up, down      chooses a task       n, p   its next, previous event        ?   all keys
  page.html#step=120&task=3   opens at a step

The languages, semantics and mutants are those of rota coop run.

Exit status: 0 the page is written, however the run ended; 1 wrong usage, 2 an error in the text.

  rota coop view program.cw -o page.html
  rota coop view program.cw -o page.html --limit 2000 --semantics lagc --seed 4
)";

void add_view(command& coop) {
  auto r = std::make_shared<run_request>();
  command& view = add_coop_command(coop, "view", "writes a page that shows a run step by step",
                                   [r] { return view_file(*r); });
  add_run_options(view, *r);
  view.option({.name = "-o,--output",
               .type = "PAGE",
               .help = "the file to write; - for standard output",
               .value = &r->page,
               .required = true});
  view.footer([] { return about_view; });
}

}  // namespace

void add_coop(command& program) {
  command& coop = program.add("coop", "runs programs in the languages of fair scheduling");
  coop.usage_status(wrong_usage);
  add_run(coop);
  add_coop_check(coop);
  add_coop_explore(coop);
  add_view(coop);
  add_coop_fuzz(coop);
}

}  // namespace rota::app
