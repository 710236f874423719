#include <rota/coop/explore.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "state_graph.h"

namespace rota::coop {

namespace {

std::string quoted(std::string_view raw) {
  std::string safe;
  for (const char c : raw) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return '"' + safe + '"';
}

class drawing {
 public:
  drawing(const program& p, const rule_table& rules, const state_graph& graph, bool all_states)
      : program_(p), rules_(rules), graph_(graph), drawn_(graph.size(), all_states) {
    if (!all_states) choose_states();
  }

  std::uint64_t size() const {
    return static_cast<std::uint64_t>(std::count(drawn_.begin(), drawn_.end(), true));
  }

  void write(std::ostream& out, const dot_options& options) {
    out << "digraph states {\n"
        << "  label=" << quoted(options.title) << "; labelloc=t; fontname=monospace\n"
        << "  node [shape=box, fontname=monospace, fontsize=10]\n"
        << "  edge [fontname=monospace, fontsize=9]\n";
    for (state_number n = 0; n < graph_.size(); ++n)
      if (drawn_[n]) write_state(out, n);
    out << "}\n";
  }

 private:
  // --- which states -----------------------------------------------------------------------------

  // Where there is something to choose, or nothing to do, or no active task. Of a loop without any
  // of these, the state that one gets back to.
  void choose_states() {
    const bool cooperative = program_.language() == language::coopwhile;
    drawn_[0] = true;
    for (state_number n = 0; n < graph_.size(); ++n)
      if (graph_.edges(n).size() != 1 || graph_.edges(n)[0].to == unknown_state ||
          (cooperative && graph_.is_quiescent(n)))
        drawn_[n] = true;
    std::vector<state_number> passed_from(graph_.size(), no_state);
    for (state_number start = 0; start < graph_.size(); ++start) {
      state_number n = start;
      for (; is_passed(n) && passed_from[n] == no_state; n = graph_.edges(n)[0].to)
        passed_from[n] = start;
      if (is_passed(n) && passed_from[n] == start) drawn_[n] = true;
    }
  }

  // Has one step, which is part of an edge that begins elsewhere.
  bool is_passed(state_number n) const { return n < unknown_state && !drawn_[n]; }

  // --- what is written about one ----------------------------------------------------------------

  void write_state(std::ostream& out, state_number n) {
    const configuration c = graph_.at(n);
    std::vector<derivation> possible;
    find_steps(rules_, program_, c, possible);
    out << "  " << n << " [label=" << label_of(n, c) << style_of(n, c, possible) << "]\n";
    for (std::uint32_t i = 0; i < possible.size(); ++i) write_edge(out, {n, i}, possible);
  }

  std::string style_of(state_number n, const configuration& c,
                       const std::vector<derivation>& possible) const {
    std::string style;
    if (is_final(program_, c))
      style = ", style=\"filled,rounded\", fillcolor=palegreen";
    else if (possible.empty())
      style = ", style=\"filled,rounded\", fillcolor=orange";
    else if (is_quiescent(c))
      style = ", style=rounded";
    else
      style = ", style=dashed";
    return n == 0 ? style + ", penwidth=2" : style;
  }

  // The tasks that have not ended, a line each; then the variables that hold something.
  std::string label_of(state_number n, const configuration& c) const {
    std::string text = std::to_string(n);
    if (graph_.edges(n).empty()) text += is_final(program_, c) ? " done" : " deadlock";
    for (task_id f = 0; f < c.tasks.size(); ++f)
      if (c.tasks[f].phase != phase::ended) text += "\\l" + text_of(c, f);
    for (const call& o : c.open)
      text += "\\lcalled " + program_.procedures()[o.procedure].name + '(' + to_string(o.argument) +
              ')';
    std::string values;
    for (const auto& [name, v] : state_of(program_, c))
      if (v != value{}) values += (values.empty() ? "" : "  ") + name + '=' + to_string(v);
    return '"' + text + "\\l" + (values.empty() ? "" : values + "\\l") + '"';
  }

  // Names, numbers and places: nothing that needs to be quoted.
  std::string text_of(const configuration& c, task_id f) const {
    const task_record& t = c.tasks[f];
    const std::string who = f == 0 ? "main" : "task " + std::to_string(f);
    if (t.phase == phase::called) return who + " called";
    const instruction& i = program_.at(t.rest);
    std::string text = who + ' ' + std::string(name_of(i.head));
    if (i.at) text += ' ' + to_string(i.at);
    if (f == c.active) return text + ", active";
    return is_blocked(program_, c, f) ? text + ", blocked" : text;
  }

  void write_edge(std::ostream& out, graph_step step, const std::vector<derivation>& possible) {
    std::string label = in_words(program_, possible[step.index]);
    // Where tasks have no names, picks go by names of the run.
    if (possible.size() > 1 && graph_.names() == task_names::matter)
      label = std::to_string(step.index) + ": " + label;
    graph_step last = step;
    std::size_t steps = 1;
    for (; is_passed(graph_.edge(last).to); ++steps) last = {graph_.edge(last).to, 0};
    const state_number to = graph_.edge(last).to;
    if (to == no_state) --steps;  // the one that fails is not taken
    if (steps > 1) label += ", " + std::to_string(steps) + " steps";
    std::string target = std::to_string(to);
    if (to == no_state) {
      target = write_error(out, last);
    } else if (to == unknown_state) {
      target = std::to_string(step.from) + '_' + std::to_string(step.index);
      out << "  \"" << target << "\" [label=\"not explored\", style=dotted]\n";
    }
    out << "  " << step.from << " -> \"" << target << "\" [label=" << quoted(label) << "]\n";
  }

  // Drawn once, however many ways lead there. Gives its name.
  std::string write_error(std::ostream& out, graph_step failing) {
    std::vector<derivation> possible;
    find_steps(rules_, program_, graph_.at(failing.from), possible);
    const derivation& d = possible[failing.index];
    const std::string where = to_string(d.error->at);
    const std::string what(name_of(d.error->error));
    const auto [known, is_new] =
        errors_.try_emplace(what + ' ' + where + ' ' + std::to_string(d.task),
                            "error_" + std::to_string(errors_.size()));
    if (is_new)
      out << "  \"" << known->second
          << "\" [label=" << quoted(what + " at " + where + " in task " + std::to_string(d.task))
          << ", style=filled, fillcolor=tomato]\n";
    return known->second;
  }

  const program& program_;
  const rule_table& rules_;
  const state_graph& graph_;
  std::vector<bool> drawn_;
  std::map<std::string, std::string> errors_;  // what, where and who: the name in the drawing
};

}  // namespace

bool exploration::write_dot(std::ostream& out, const dot_options& options) const {
  drawing picture{program_, rules_, *graph_, options.all_states};
  if (picture.size() > options.most) return false;
  picture.write(out, options);
  return true;
}

}  // namespace rota::coop
