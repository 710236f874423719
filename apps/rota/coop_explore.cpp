#include "coop_explore.h"

#include <rota/coop/explore.h>
#include <rota/coop/parse.h>
#include <rota/coop/program.h>
#include <rota/coop/trace.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "coop_parts.h"

namespace rota::app {

namespace {

struct explore_request {
  std::string file;
  std::string semantics = "lagc";
  coop::explore_options options;
  std::string dot;
  bool all_states = false;
  bool json = false;
};

// --- for people ---------------------------------------------------------------------------------

constexpr std::size_t columns = 100;
constexpr std::size_t most_shown = 20;  // outcomes, and choices of each; --json has all

// Prints a list, as many items to a line as there is room for.
void print_list(const std::string& indent, const std::vector<std::string>& items) {
  std::string line = indent;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? ", " : "");
    if (line.size() > indent.size() && line.size() + item.size() > columns + 1) {
      std::cout << line.substr(0, line.size() - 1) << '\n';
      line = indent;
    }
    line += item;
  }
  std::cout << line << '\n';
}

std::string text_of_picks(const coop::pick_list& picks) {
  std::string text;
  for (std::uint32_t pick : picks) text += (text.empty() ? "" : ",") + std::to_string(pick);
  return text;
}

// "20 steps, --picks 0,2,1", and below what was chosen.
void print_schedule(const char* name, const coop::schedule& s) {
  std::cout << "  " << name << ": " << counted(s.steps, "step");
  if (s.choices.empty()) {
    std::cout << ", nothing to choose\n";
    return;
  }
  std::cout << ", --picks " << text_of_picks(s.picks());
  // A step that fails is one more than those that are taken.
  if (s.steps >= coop::run_options{}.limit) std::cout << " --limit " << s.steps + 1;
  std::cout << '\n';
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < s.choices.size() && i < most_shown; ++i)
    chosen.push_back(s.choices[i].what);
  if (s.choices.size() > most_shown)
    chosen.push_back("and " + std::to_string(s.choices.size() - most_shown) + " more");
  print_list("    ", chosen);
}

// "task 1 awaits task 2 awaits task 1".
std::string text_of_cycle(const std::vector<coop::task_id>& cycle) {
  std::string text;
  for (coop::task_id f : cycle) text += "task " + std::to_string(f) + " awaits ";
  return text + "task " + std::to_string(cycle.front());
}

using variables = std::map<std::string, std::string>;

// What has the same value in every outcome that has a state is told once.
variables same_everywhere(const std::vector<coop::found_end>& ends) {
  variables same;
  bool first = true;
  for (const coop::found_end& e : ends) {
    if (e.what.end == coop::ending::error) continue;
    variables here;
    for (const auto& [name, v] : e.what.state) here[name] = to_string(v);
    if (std::exchange(first, false)) {
      same = here;
      continue;
    }
    std::erase_if(same, [&](const auto& known) {
      const auto at = here.find(known.first);
      return at == here.end() || at->second != known.second;
    });
  }
  return same;
}

void print_end(const coop::exploration& all, const coop::found_end& e, const variables& same) {
  const coop::outcome& o = e.what;
  std::vector<std::string> state;
  for (const auto& [name, v] : o.state)
    if (const auto at = same.find(name); at == same.end())
      state.push_back(name + " = " + to_string(v));
  if (o.end == coop::ending::error) {
    std::cout << "error at " << to_string(o.error.at) << " in task " << o.task << ": "
              << message_of(o.error.error) << " [" << name_of(o.error.error) << "]\n";
  } else {
    std::cout << name_of(o.end) << (state.empty() ? "" : ":") << '\n';
    if (!state.empty()) print_list("  ", state);
  }
  for (const coop::blocked_task& b : o.blocked) std::cout << "  " << text_of(b) << '\n';
  for (const auto& cycle : e.cycles) std::cout << "  cycle: " << text_of_cycle(cycle) << '\n';
  print_schedule("witness", all.witness(e));
}

void print_endless(const coop::endless_run& run) {
  switch (run.kind) {
    case coop::endless_kind::local:
      std::cout << "endless: a task never gives way\n";
      break;
    case coop::endless_kind::fair:
      std::cout << "endless, also under a fair scheduler\n";
      break;
    case coop::endless_kind::unfair:
      std::cout << "endless, but only if passed over for ever:";
      for (const coop::passed_over_task& w : run.whom)
        std::cout << (w == run.whom.front() ? " task " : ", task ") << w.task
                  << (w.at ? " at " + to_string(w.at) : "");
      std::cout << '\n';
      break;
    case coop::endless_kind::undecided:
      std::cout << "endless; whether a fair scheduler may do this is undecided within the limit\n";
      break;
  }
  print_schedule("first", run.prefix);
  print_schedule("then, again and again", run.cycle);
}

void print_summary(const explore_request& r, const coop::exploration& all) {
  std::cout << counted(all.states(), "state") << ", " << counted(all.steps(), "step") << "; in "
            << counted(all.choices(), "state") << " there is a choice\n";
  if (!all.complete())
    std::cout << "stopped at the limit ("
              << (all.states() >= r.options.max_states
                      ? "--max-states " + std::to_string(r.options.max_states)
                      : "--max-memory " + std::to_string(r.options.max_bytes))
              << "): there is more than what follows\n";
  const std::string more = all.complete() ? "" : " so far";
  std::cout << counted(all.ends().size(), "outcome") << more << ", "
            << (all.endless().empty() ? "no endless run" : "and endless runs") << more << '\n';
  const variables same = all.ends().size() > 1 ? same_everywhere(all.ends()) : variables{};
  if (!same.empty()) {
    std::vector<std::string> items;
    for (const auto& [name, v] : same) items.push_back(name + " = " + v);
    std::cout << "in all outcomes:\n";
    print_list("  ", items);
  }
  for (std::size_t i = 0; i < all.ends().size() && i < most_shown; ++i) {
    std::cout << '\n';
    print_end(all, all.ends()[i], same);
  }
  if (all.ends().size() > most_shown)
    std::cout << "\nand " << all.ends().size() - most_shown << " more (--json has all)\n";
  for (const coop::endless_run& run : all.endless()) {
    std::cout << '\n';
    print_endless(run);
  }
}

// --- for programs -------------------------------------------------------------------------------

using nlohmann::ordered_json;

ordered_json to_json(const coop::schedule& s) {
  ordered_json choices = ordered_json::array();
  for (const coop::choice& c : s.choices)
    choices.push_back({{"n", c.step}, {"pick", {c.index, c.count}}, {"what", c.what}});
  return {{"n", s.steps}, {"picks", s.picks()}, {"choices", choices}};
}

// The end of the trace of its witness, and the witness.
ordered_json to_json(const coop::exploration& all, const coop::found_end& e) {
  ordered_json one = ordered_json::parse(end_record(e.what));
  if (e.what.end == coop::ending::deadlock) one["cycles"] = e.cycles;
  one["witness"] = to_json(all.witness(e));
  return one;
}

ordered_json to_json(const coop::endless_run& run) {
  ordered_json one{{"kind", name_of(run.kind)}};
  for (const coop::passed_over_task& w : run.whom) {
    ordered_json task{{"f", w.task}};
    if (w.at) task["at"] = to_string(w.at);
    one["passed_over"].push_back(task);
  }
  one["prefix"] = to_json(run.prefix);
  one["cycle"] = to_json(run.cycle);
  return one;
}

ordered_json to_json(const explore_request& r, const coop::program& p,
                     const coop::exploration& all) {
  ordered_json result{{"language", name_of(p.language())},
                      {"semantics", name_of(p.semantics())},
                      {"max_states", r.options.max_states},
                      {"complete", all.complete()},
                      {"states", all.states()},
                      {"steps", all.steps()},
                      {"choices", all.choices()}};
  result["outcomes"] = ordered_json::array();
  for (const coop::found_end& e : all.ends()) result["outcomes"].push_back(to_json(all, e));
  result["endless"] = ordered_json::array();
  for (const coop::endless_run& run : all.endless()) result["endless"].push_back(to_json(run));
  return result;
}

// --- rota coop explore --------------------------------------------------------------------------

coop::semantics relation_named(const explore_request& r) {
  const auto how = coop::semantics_named(r.semantics);
  if (how && !is_scheduler(*how)) return *how;
  throw bad_input("--semantics: expected lagc or sos, not " + r.semantics +
                  (how ? "; a scheduler has one run, which rota coop run shows" : ""));
}

void draw(const explore_request& r, const coop::exploration& all) {
  if (r.dot.empty()) return;
  const std::string title = r.file + ": " + counted(all.states(), "state") +
                            (all.complete() ? "" : ", not all") +
                            "; dashed: a task is active; green: done, orange: deadlock, red: error";
  const coop::dot_options options{title, r.all_states};
  std::ostringstream drawing;
  if (!all.write_dot(drawing, options))
    throw bad_input("--dot: more than " + std::to_string(options.most) +
                    " states are too many to draw" +
                    (r.all_states ? "; without --all-states there are fewer"
                                  : "; --max-states has to be less"));
  sink out{r.dot};
  out.stream() << drawing.str();
  out.close();
}

// What is not known comes before what went wrong.
int exploration_status(const coop::exploration& all) {
  if (!all.complete()) return step_limit;
  int status = fine;
  for (const coop::found_end& e : all.ends()) {
    if (e.what.end == coop::ending::error) return run_time_error;
    status = std::max(status, status_of(e.what.end));
  }
  return status;
}

int explore_file(const explore_request& r) {
  if (r.json && r.dot == "-")
    throw bad_input("only one of --dot - and --json can go to standard output");
  const coop::semantics how = relation_named(r);
  const coop::parsed text = coop::parse(read_source(r.file));
  if (!text) return report(r.file, text.errors, r.json);
  const coop::program p = compiled(r.file, text.tree, how);
  const coop::rule_table rules = rules_of(p);
  const coop::exploration all{p, rules, r.options};
  draw(r, all);
  if (r.json)
    std::cout << to_json(r, p, all).dump(2) << '\n';
  else if (r.dot != "-")
    print_summary(r, all);
  return exploration_status(all);
}

constexpr const char* about_explore =
    R"(Takes every step that is possible in FILE (see rota coop run --help) when nothing is scheduled, in
every order, and tells all that can come of it:

  done       the final states
  deadlock   who waits where for whom, and the cycles of tasks that await each other
  error      kind, task and place
  endless    runs that come back to a state: of a task that never gives way (coopwhile); that a fair
             scheduler may choose; that need a task to be passed over for ever. One of each.

Each has a witness, no longer than any other: picks, with which the run can be seen again, and what
they choose, in words.

  rota coop run FILE --semantics lagc --picks 0,2,1 --trace -
  rota coop view FILE --semantics lagc --picks 0,2,1 -o page.html

Two states are one if all that can come is the same, however they were reached. There are finitely
many if values are bounded and the program spawns finitely often; if not, or if there are too many,
--max-states or --max-memory ends the search. What was found until then is true, but not all.

--dot draws the states without active task (all states: --all-states) for Graphviz; an edge is named
by its first step, with its pick where there is a choice.

Exit status: 0 every run is done or endless; 1 wrong usage; 2 an error in the text; 5 stopped at
the limit. If all was explored: 3 a run can end with a run-time error; if none, 4 in a deadlock.

  rota coop explore program.cw
  rota coop explore program.cw --dot - | dot -Tsvg > states.svg
  rota coop explore program.cw --semantics sos --max-states 1000000 --json
)";

}  // namespace

void add_coop_explore(command& coop) {
  auto r = std::make_shared<explore_request>();
  command& explore =
      add_coop_command(coop, "explore", "finds all outcomes of a program, in any order of steps",
                       [r] { return explore_file(*r); });
  add_file(explore, r->file);
  explore.option({.name = "--semantics",
                  .type = "NAME",
                  .help = "lagc (the default) or sos",
                  .value = &r->semantics,
                  .words = {"lagc", "sos"}});
  explore.option({.name = "--max-states",
                  .type = "N",
                  .help = "stop with so many states: 100000",
                  .value = &r->options.max_states,
                  .least = 1,
                  .most = 4'000'000'000});
  explore.option({.name = "--max-memory",
                  .type = "SIZE",
                  .help = "stop when they take so many bytes: 500MB",
                  .value = &r->options.max_bytes,
                  .bytes = true});
  explore.option({.name = "--dot",
                  .type = "FILE",
                  .help = "write the states as a graph; - for standard output",
                  .value = &r->dot});
  explore.option({.name = "--all-states",
                  .help = "draw the states with an active task as well",
                  .value = &r->all_states,
                  .needs = "--dot"});
  explore.option({.name = "--json", .help = "print JSON", .value = &r->json});
  explore.footer([] { return about_explore; });
}

}  // namespace rota::app
