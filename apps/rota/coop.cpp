#include "coop.h"

#include <rota/coop/log.h>
#include <rota/coop/parse.h>
#include <rota/coop/program.h>
#include <rota/coop/run.h>
#include <rota/coop/trace.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "coop_check.h"
#include "coop_parts.h"

namespace rota::app {

namespace {

// What the command line asks for.
struct request {
  std::string file;
  std::string semantics = "lagc-sched";
  std::uint64_t seed = 1;
  std::uint64_t limit = 1000;
  std::string trace;
  std::string log;
  bool json = false;
};

// A file that a run writes to, or standard output for "-", or nothing.
class sink {
 public:
  explicit sink(const std::string& path) : path_(path) {
    if (path.empty() || path == "-") return;
    file_.open(path, std::ios::binary);
    if (!file_) throw wrong_words("cannot write " + path);
  }

  explicit operator bool() const { return !path_.empty(); }
  std::ostream& stream() { return path_ == "-" ? std::cout : file_; }

  void close() {
    if (path_.empty()) return;
    stream().flush();
    if (!stream()) throw std::runtime_error("cannot write " + path_);
  }

 private:
  std::string path_;
  std::ofstream file_;
};

// --- how it ended -------------------------------------------------------------------------------

void print_summary(const coop::outcome& o) {
  std::cout << (o.end == coop::ending::limit ? "stopped" : name_of(o.end)) << " after "
            << counted(o.steps, "step");
  if (o.end == coop::ending::limit) std::cout << ", the limit (--limit)";
  std::cout << '\n';
  for (const coop::blocked_task& b : o.blocked) std::cout << "  " << text_of(b) << '\n';
  for (const auto& [name, v] : o.state) std::cout << name << " = " << text_of(v) << '\n';
}

// The end of the trace, and what it is the end of. A state may have a million variables: their text
// is written as it is, and no tree made of it.
void print_json(const request& r, const coop::program& p, const coop::outcome& o) {
  nlohmann::ordered_json run{{"language", name_of(p.language())},
                             {"semantics", name_of(p.semantics())}};
  if (!is_scheduler(p.semantics())) run["seed"] = r.seed;
  run["limit"] = r.limit;
  std::string head = run.dump();
  head.back() = ',';
  std::cout << head << end_record(o).substr(1) << '\n';
}

// --- rota coop run ------------------------------------------------------------------------------

// Steps are shown one by one if somebody wants to see them; otherwise the fast way is the same.
coop::outcome run_program(const coop::program& p, const coop::run_options& options, sink& trace,
                          sink& log) {
  coop::log_writer log_lines{log.stream(), p};
  if (!trace && is_scheduler(p.semantics())) return run(p, options, log ? &log_lines : nullptr);
  coop::trace_writer trace_lines{trace.stream(), p, options};
  coop::log_observer logged{log_lines};
  std::vector<coop::run_observer*> observers;
  if (trace) observers.push_back(&trace_lines);
  if (log) observers.push_back(&logged);
  return run_by_rules(p, rules_of(p), options, observers);
}

void refuse_what_collides(const request& r) {
  const int to_output = (r.trace == "-") + (r.log == "-") + (r.json ? 1 : 0);
  if (to_output > 1)
    throw wrong_words("only one of --trace -, --log - and --json can go to standard output");
}

int run_file(const request& r) {
  refuse_what_collides(r);
  const auto how = coop::semantics_named(r.semantics);
  if (!how)
    throw wrong_words("--semantics " + r.semantics +
                      ": there are lagc-sched, sos-sched, lagc, sos");
  const coop::parsed text = coop::parse(read_source(r.file));
  if (!text) return report(r.file, text.errors, r.json);
  if (!exists(*how, text.tree.language))
    throw wrong_words("--semantics " + r.semantics + " is for the language coopwhile; " + r.file +
                      " is in " + std::string(name_of(text.tree.language)) +
                      ", for which there are lagc-sched and lagc");
  const coop::program p = compile(text.tree, *how);
  sink trace{r.trace};
  sink log{r.log};
  const coop::outcome o = run_program(p, {r.limit, r.seed}, trace, log);
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
  lagc, sos    any step that is possible, chosen at random by --seed

Output: how the run ended and the final state; of the trace, the log and --json one can go to
standard output, with - for its file.

Exit status: 0 done, 1 wrong usage, 2 an error in the text (FILE:LINE:COL: error: ... [KIND]),
3 a run-time error, 4 a deadlock, 5 stopped at the limit.

  rota coop run program.cw
  rota coop run program.cw --trace - --limit 100
  echo '{ x := 6 * 7 }' | rota coop run - --json
)";

void add_run(command& coop) {
  auto r = std::make_shared<request>();
  command& run = coop.add("run", "runs a program and tells how it ended");
  run.usage_status(wrong_usage);
  run.option({.name = "FILE",
              .help = "the program; - for standard input",
              .value = &r->file,
              .required = true});
  run.option({.name = "--semantics",
              .type = "NAME",
              .help = "lagc-sched (the default), sos-sched, lagc or sos",
              .value = &r->semantics});
  run.option({.name = "--seed",
              .type = "N",
              .help = "the same seed makes the same choices under lagc and sos: 1",
              .value = &r->seed});
  run.option({.name = "--limit",
              .type = "N",
              .help = "stop after so many steps: 1000",
              .value = &r->limit});
  run.option({.name = "--trace",
              .type = "FILE",
              .help = "write every step, as lines of JSON; - for standard output",
              .value = &r->trace});
  run.option({.name = "--log",
              .type = "FILE",
              .help = "write what can be observed from outside, as lines of JSON",
              .value = &r->log});
  run.option({.name = "--json", .help = "print the result as JSON", .value = &r->json});
  run.footer([] { return about_run; });
  run.run([r]() -> int {
    try {
      return run_file(*r);
    } catch (const wrong_words& wrong) {
      std::cerr << "rota coop run: " << wrong.what() << '\n';
      return wrong_usage;
    }
  });
}

}  // namespace

void add_coop(command& program) {
  command& coop = program.add("coop", "runs programs in the languages of fair scheduling");
  coop.usage_status(wrong_usage);
  add_run(coop);
  add_coop_check(coop);
}

}  // namespace rota::app
